"""Begins nodes, and reads and writes all layers of one at once.

A node is a branch. To fork it begins the child's first segment and a new one of the parent, so the
child sees nothing of what the parent learns from then on.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import MAIN, BranchName, RecordId, SegmentId
from memory_mcp.domain.layers import (
    Consolidate,
    LayerReceipt,
    LayerScope,
    NodeForked,
    NodeView,
    RecallAppend,
    Write,
)
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.head import load_head, make_view, move_head, write_in_one_step
from memory_mcp.engine.moves import PlannedMove, build_move_record
from memory_mcp.engine.records import describe_line
from memory_mcp.engine.redaction import redact_text
from memory_mcp.engine.workspace import Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import InvalidRequestError
from memory_mcp.layers.cleaning import clean_writes
from memory_mcp.layers.planning import LayerPlan, plan_writes
from memory_mcp.layers.reading import list_archive, list_core, list_events
from memory_mcp.layers.selecting import ARCHIVE, EVENTS
from memory_mcp.text.drafts import check_branch, check_text
from memory_mcp.timeline.nodes import find_parent, list_ancestors
from memory_mcp.timeline.plans import require_branch

_NUMBER_CHARS_MAX: Final = 8
"""Of the number that ends the id of a node which was given none."""

_CHAIN_NEEDED: Final = (
    "Choose one, or give ancestor_chain: the nodes from the root to it, which are begun then."
)


async def fork_node(
    workspace: Workspace,
    parent: str | None,
    child: str | None,
    ancestors: Sequence[str] = (),
    phase: str = "",
) -> NodeForked | Skipped:
    """Begin a node below its parent (None: the root); to repeat it changes nothing.

    `ancestors` are the nodes from the root to the parent: those that are missing are begun. They
    may be given the other way round, too. A child of None gets an id.

    Raises:
        UnknownTargetError: no such parent, and no ancestors that would say where it belongs.
        InvalidRequestError: an id that cannot be one, or a node that has another parent; none was
            begun.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    root = workspace.at(MAIN)
    below = check_branch(parent) if parent is not None else MAIN
    phase = _check_label(workspace, phase)
    node = _check_node(workspace, child) if child is not None else None
    if node == MAIN == below:
        return NodeForked(MAIN, None)
    created: list[BranchName] = []
    missing: list[tuple[BranchName, BranchName]] = []
    timeline = (await load_head(root)).timeline
    if not ancestors:
        require_branch(timeline, below, _CHAIN_NEEDED)
    else:
        missing = _list_missing(workspace, timeline, below, ancestors)
        if node is not None:
            _require_parent(timeline, node, below)
    if node in (below, *(name for name, _ in missing)):
        raise InvalidRequestError(f"Node {node!r} cannot be its own ancestor. Name another.")
    for name, above in missing:
        created += await _fork_once(root.at(above), name, phase)
    created += await _fork_once(root.at(below), node, phase)
    return NodeForked(node or created[-1], below, tuple(created))


async def read_node(
    workspace: Workspace, scope: LayerScope = "all", *, durable: bool = False
) -> NodeView | Skipped:
    """What the caller's node sees of its layers; with `durable`, the preferences after its core.

    Raises:
        UnknownTargetError: no such node.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    view = make_view(workspace, timeline)
    index = workspace.project.index
    node = workspace.caller.branch

    def wants(layer: LayerScope) -> bool:
        return scope in ("all", layer)

    events = (
        await list_events(workspace, view, workspace.policy.recall_window)
        if wants("recall")
        else ()
    )
    return NodeView(
        node=node,
        chain=(node, *list_ancestors(timeline, node)),
        core=await list_core(workspace, view, durable=durable) if wants("core") else (),
        recall=events[::-1],
        archival=await list_archive(workspace, view) if wants("archival") else (),
        events=await index.count(view, EVENTS),
        archived=await index.count(view, ARCHIVE),
    )


async def write_node(workspace: Workspace, writes: Sequence[Write]) -> LayerReceipt | Skipped:
    """Write to the layers of the caller's node: all of it in one step, or nothing.

    Raises:
        InvalidRequestError: one of them cannot be stored.
        UnknownTargetError: no such node.
        UnknownMemoryError: one of them names a memory that the node does not see.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    cleaned, notes = await clean_writes(workspace, writes)
    async with workspace.project.writing:
        if len(cleaned) > 1 or any(map(_makes_several, cleaned)):
            plan = await _write_together(workspace, cleaned)
        else:  # one record is atomic by itself: the head need not hold it
            plan = await plan_writes(workspace, (await load_head(workspace)).timeline, cleaned)
            for record in plan.records:
                notes += await workspace.project.keep(record)
                notes += await describe_line(workspace, record)
    return plan.make_receipt((*notes, *await describe_pending(workspace)))


def _makes_several(write: Write) -> bool:
    match write:
        case RecallAppend(write_archival=double):
            return double
        case Consolidate():
            return True
        case _:
            return False


async def _write_together(workspace: Workspace, writes: Sequence[Write]) -> LayerPlan:
    """Plan the writes from the newest head and commit them with it."""

    async def plan(head: Head) -> tuple[tuple[Record, ...], LayerPlan]:
        planned = await plan_writes(workspace, head.timeline, writes)
        return tuple(planned.records), planned

    _, planned = await write_in_one_step(workspace, plan)
    return planned


def _check_node(workspace: Workspace, node: str) -> BranchName:
    """The id of a new node, if it can be one; it names lines in files, so it holds no secret."""
    name = check_branch(node)
    if workspace.policy.secrets != "allow" and redact_text(name, "redact").redactions:
        raise InvalidRequestError("The id of a node holds what looks like a secret. Use another.")
    return name


def _check_label(workspace: Workspace, phase: str) -> str:
    """The phase that a fork notes, without secrets."""
    label = redact_text(str(phase), workspace.policy.secrets, "phase").text
    return check_text("phase", label, limits.TAG_CHARS_MAX, required=False)


def _require_parent(timeline: Timeline, node: BranchName, parent: BranchName) -> None:
    """Refuse a node that has another parent."""
    if node not in timeline.branches:
        return
    if node == MAIN:
        raise InvalidRequestError(f"{MAIN!r} is the root, and below nothing. Choose another id.")
    if (known := find_parent(timeline, node)) != parent:
        raise InvalidRequestError(
            f"Node {node!r} exists already, below {known!r} and not below {parent!r}. "
            "Choose another id."
        )


def _choose_free_id(timeline: Timeline, parent: BranchName) -> BranchName:
    """An id for a node that was given none: its parent's, and a number."""
    stem = "node" if parent == MAIN else parent[: limits.BRANCH_CHARS_MAX - _NUMBER_CHARS_MAX]
    taken = {*timeline.branches}
    return BranchName(next(id_ for n in count(1) if (id_ := f"{stem}-{n}") not in taken))


def _list_missing(
    workspace: Workspace, timeline: Timeline, parent: BranchName, ancestors: Sequence[str]
) -> list[tuple[BranchName, BranchName]]:
    """The nodes of the chain to the parent that are to be begun, root first, each with its parent.

    A chain may begin at any node that is there.

    Raises:
        InvalidRequestError: there are too many of them, or one has another parent.
    """
    if parent in timeline.branches:
        return []
    if len(ancestors) > limits.NODE_DEPTH_MAX:
        raise InvalidRequestError(
            f"{len(ancestors):,} ancestors; the limit is {limits.NODE_DEPTH_MAX:,}."
        )
    chain = [_check_node(workspace, each) for each in ancestors]
    if chain[0] == parent and chain[-1] != parent:  # nearest first
        chain.reverse()
    below = [each for each in dict.fromkeys((*chain, parent)) if each != MAIN]
    first = find_parent(timeline, below[0]) if below[0] in timeline.branches else None
    pairs = [*zip(below, (first or MAIN, *below), strict=False)]
    for node, above in pairs:
        _require_parent(timeline, node, above)
    return [(node, above) for node, above in pairs if node not in timeline.branches]


async def _fork_once(
    workspace: Workspace, child: BranchName | None, phase: str
) -> list[BranchName]:
    """Begin a node below the caller's; nothing if it is there already. Returns what was begun.

    Raises:
        InvalidRequestError: it has another parent.
    """
    here = workspace.caller.branch

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[BranchName]:
        timeline = head.timeline
        if child is not None and child in timeline.branches:
            _require_parent(timeline, child, here)
            raise _NodeKnownError
        name = child or _choose_free_id(timeline, here)
        tips = timeline.tips(here)
        gives_up, keeps = timeline.find_fork_effect(here, tips)
        step = Move(
            act="fork",
            branch=name,
            opens={
                name: SegmentId(workspace.ids.new(at)),
                here: SegmentId(workspace.ids.new(at)),
            },
            parents=tips,
            leaves=tips,
            gives_up=tuple(sorted(gives_up)),
            keeps=tuple(sorted(keeps)),
        )
        record = build_move_record(
            workspace, head, step, id_=id_, at=at, kind="move", content=f"Fork {name}."
        )
        if phase:
            record = record.model_copy(update={"meta": {"phase": phase}})
        return PlannedMove(record, name)

    try:
        _, planned = await move_head(workspace, plan)
    except _NodeKnownError:
        return []
    return [planned.found]


class _NodeKnownError(Exception):
    """The node is there already, below the same parent. Leaves a plan."""
