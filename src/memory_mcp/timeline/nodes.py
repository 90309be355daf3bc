"""The tree of nodes: each branch below the one that it was forked from."""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

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


def find_parents(
    timeline: Timeline, among: Collection[BranchName] | None = None
) -> Mapping[BranchName, BranchName]:
    """The parent of every node but the root; of some nodes, the nearest above each `among` them."""
    if among is None:
        among = timeline.branches
    parents: dict[BranchName, BranchName] = {}
    for node in among:
        for above in list_ancestors(timeline, node):
            if above in among:
                parents[node] = above
                break
    return parents


def select_nodes(timeline: Timeline, here: BranchName, limit: int) -> tuple[BranchName, ...]:
    """The nodes to name of what may be thousands, the root first and the others sorted.

    The root, this one, those it sees from the nearest on, and those that were last moved.
    """
    shown = dict.fromkeys((MAIN, here))
    for node in (*islice(list_ancestors(timeline, here), limit), *timeline.list_moved(limit)):
        if len(shown) < limit:
            shown[node] = None
    return (MAIN, *sorted(shown.keys() - {MAIN}))
