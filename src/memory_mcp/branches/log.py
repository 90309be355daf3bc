"""Reads the timeline as a graph of branches, checkpoints, left lines and moves of git's."""

from collections.abc import Mapping

from memory_mcp.code import find_moved_ground
from memory_mcp.domain.ids import BranchName, SegmentId
from memory_mcp.domain.outcomes import (
    BranchTip,
    GitMove,
    LogNode,
    OlderNodes,
    Skipped,
    TimelineLog,
    TimelineStart,
)
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Checkpoint, Line, Timeline
from memory_mcp.engine.git import list_git_anchors
from memory_mcp.engine.head import make_view, view_head
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.timeline.graph import build_graph, limit_nodes, order_nodes
from memory_mcp.timeline.nodes import find_parents
from memory_mcp.timeline.plans import plan_restore


async def read_log(
    workspace: Workspace, limit: int, *, of_git: bool = False
) -> TimelineLog | Skipped:
    """The newest nodes of the timeline, at most `limit` (0: all), newest first. Moves nothing.

    The moves `of_git` are among them if they are asked for: nobody goes back to one.

    Raises:
        UnknownTargetError: the caller's branch does not exist.
        InvalidRequestError: the limit is negative.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    if limit < 0:
        raise InvalidRequestError(f"limit {limit} is negative. Give 1 or more, or 0 for all.")
    here = workspace.caller.branch
    timeline = (await view_head(workspace)).timeline
    newest = await workspace.project.index.segments(orders=False)
    nodes = build_graph(timeline, newest, list_git_anchors(workspace, timeline) if of_git else {})
    shown = limit_nodes(nodes, limit or len(nodes), here)
    known = {node.key: node for node in nodes}
    memories: dict[str, int] = {}
    for node in shown:
        # the limit may have left out what a node follows, and replaced its key
        before = _find_before(known, known[node.key]) if node.key in known else []
        memories[node.key] = await _count_memories(workspace, timeline, node, before)
    sealed = [n.shows for n in shown if isinstance(n.shows, Checkpoint) and not n.left]
    ground = await find_moved_ground(workspace, make_view(workspace, timeline), sealed)
    nodes = tuple(order_nodes(shown, here))
    moves = await _load_git_moves(workspace, nodes)
    return TimelineLog(here, nodes, memories, find_parents(timeline), ground, moves)


def _find_before(known: Mapping[str, LogNode], node: LogNode) -> list[LogNode]:
    """The nodes that it follows, past moves of git's: memories are counted since them."""
    found: dict[str, LogNode] = {}
    waiting, seen = [*node.parents], set[str]()
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        if isinstance(known[key].shows, GitMove):
            waiting += known[key].parents
        else:
            found[key] = known[key]
    return [*found.values()]


async def _load_git_moves(workspace: Workspace, nodes: tuple[LogNode, ...]) -> dict[str, Record]:
    keys = {node.shows.move: node.key for node in nodes if isinstance(node.shows, GitMove)}
    records = await load_records(workspace.project, list(keys)) if keys else []
    return {keys[record.id]: record for record in records}


async def _count_memories(
    workspace: Workspace, timeline: Timeline, node: LogNode, before: list[LogNode]
) -> int:
    """How many memories the node has, as seen from where it stands."""
    match node.shows:
        case BranchTip(branch):
            chain = timeline.chain(branch)
            return await _count_since(workspace, timeline, chain, before)
        case Checkpoint():
            chain = timeline.ancestors(node.segments)
            return await _count_since(workspace, timeline, chain, before)
        case Line(branch=branch) as line:
            return await _count_brought_back(workspace, timeline, branch, line)
        case GitMove(anchor=anchor):
            segments = frozenset(anchor.segments)
            view = View(chain=timeline.ancestors(segments), now=workspace.clock.now())
            filters = Filters(segments=segments, kinds=MEMORY_KINDS)
            return await workspace.project.index.count(view, filters)
        case TimelineStart() | OlderNodes():
            return 0


async def _count_since(
    workspace: Workspace,
    timeline: Timeline,
    chain: frozenset[SegmentId],
    before: list[LogNode],
) -> int:
    since = chain.difference(*(timeline.ancestors(node.segments) for node in before))
    view = View(chain=chain, now=workspace.clock.now())
    return await workspace.project.index.count(view, Filters(segments=since, kinds=MEMORY_KINDS))


async def _count_brought_back(
    workspace: Workspace, timeline: Timeline, branch: BranchName, line: Line
) -> int:
    """How many memories hold again once the line is restored."""
    plan = plan_restore(timeline, branch, line)
    after = View(
        chain=(timeline.chain(branch) - plan.hides) | plan.brings, now=workspace.clock.now()
    )
    brings = Filters(segments=plan.brings, kinds=MEMORY_KINDS)
    return await workspace.project.index.count(after, brings)
