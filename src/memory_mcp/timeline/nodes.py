"""The tree of nodes: each branch below the one that it was forked from."""

from collections.abc import Iterator, Mapping

from memory_mcp.domain.ids import MAIN, BranchName, SegmentId
from memory_mcp.domain.timeline import Timeline


def find_parent(timeline: Timeline, node: BranchName) -> BranchName | None:
    """The node that a node was forked from; None for the root."""
    if node == MAIN:
        return None
    for segment in reversed(find_fork(timeline, node)):
        known = timeline.segments.get(segment)
        if known is not None and known.branch != node:
            return known.branch
    return MAIN


def find_fork(timeline: Timeline, node: BranchName) -> tuple[SegmentId, ...]:
    """The segments that a node was forked from."""
    first = timeline.find_first(node)
    known = timeline.segments.get(first) if first is not None else None
    return known.parents if known is not None else ()


def list_ancestors(timeline: Timeline, node: BranchName) -> Iterator[BranchName]:
    """The nodes that a node sees beside itself: its parent first, the root last."""
    seen = {node}
    while (parent := find_parent(timeline, node)) is not None and parent not in seen:
        seen.add(parent)
        yield parent
        node = parent


def find_parents(timeline: Timeline) -> Mapping[BranchName, BranchName]:
    """The parent of every node but the root."""
    parents = {node: find_parent(timeline, node) for node in timeline.branches}
    return {node: parent for node, parent in parents.items() if parent is not None}
