"""Ends nodes: joins one into its parent, or discards it with a lesson.

A join is one move with two parents: both lines go on from there, and both see what either wrote.
What both changed is named before anything moves. With `prefer`, the version of the other side is
excluded in the same step, which says nothing against it in the history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain import limits
from memory_mcp.domain.ids import (
    MAIN,
    BranchName,
    LineId,
    RecordId,
    SegmentId,
    make_line_id,
    make_unique_name,
)
from memory_mcp.domain.layers import JoinConflict, NodeDiscarded, NodeJoined, Prefer
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import CORE_PREFIX, MEMORY_KINDS, Draft, Move, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.head import load_head, make_view, make_writing, move_head
from memory_mcp.engine.moves import PlannedMove, build_move_record
from memory_mcp.engine.records import load_records
from memory_mcp.engine.redaction import redact_with_note
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.layers.reading import list_core
from memory_mcp.layers.selecting import CORE
from memory_mcp.text.drafts import build_record, check_branch, check_text
from memory_mcp.text.layers import build_exclusion
from memory_mcp.timeline.nodes import find_fork, find_parent
from memory_mcp.timeline.plans import require_branch

_JOINED: Final = "A join preferred the other version."


@frozen
class _Side:
    """What one side of a join has changed since the two parted.

    `core` holds the records that give a changed key its value (none: it was deleted), `replaced`
    those that stand for a memory now (none: it was hidden).
    """

    segments: frozenset[SegmentId]
    view: View
    core: Mapping[str, Sequence[Record]]
    replaced: Mapping[RecordId, Sequence[Record]]


@frozen
class _Clash:
    """A conflict, and the records that show each side's version."""

    conflict: JoinConflict
    parent: Sequence[Record]
    child: Sequence[Record]


async def join_node(
    workspace: Workspace, into: str | None = None, prefer: Prefer | None = None
) -> NodeJoined | Skipped:
    """Make the line of the caller's node part of its parent's (or of `into`), in one move.

    Without `prefer` nothing is moved if both changed the same: the conflicts are returned.

    Raises:
        UnknownTargetError: no such node.
        InvalidRequestError: it is the root, or the same node.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    child = workspace.caller.branch
    timeline = (await load_head(workspace)).timeline
    parent = check_branch(into) if into is not None else find_parent(timeline, child)
    if parent is None or parent == child:
        raise InvalidRequestError(f"Node {child!r} has no parent to be joined into. Name another.")
    planned: list[tuple[list[_Clash], int]] = []  # the last plan is the one that was committed

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove:
        timeline = head.timeline
        require_branch(timeline, parent)
        mine = await _load_side(workspace, timeline, parent, child)
        theirs = await _load_side(workspace, timeline, child, parent)
        clashes = _find_clashes(mine, theirs)
        if clashes and prefer is None:
            raise _ConflictsError([clash.conflict for clash in clashes])
        await _require_room(workspace, parent, mine, theirs)
        losing = [c.child if prefer == "parent" else c.parent for c in clashes]
        losing += _find_repeats(mine, theirs)
        targets = tuple(dict.fromkeys(record.id for records in losing for record in records))
        place = make_writing(workspace.at(parent), timeline, at)
        along = (build_exclusion(targets, place, _JOINED),) if targets else ()
        brings = replace(_MEMORIES, segments=theirs.segments)
        planned.append((clashes, await workspace.project.index.count(theirs.view, brings)))
        tips = tuple(dict.fromkeys((*timeline.tips(parent), *timeline.tips(child))))
        effect = timeline.find_join_effect(parent, child)
        if effect.stranded:
            raise _StrandedError
        step = Move(
            act="join",
            branch=parent,
            opens={each: SegmentId(workspace.ids.new(at)) for each in (parent, child)},
            parents=tips,
            leaves=tips,
            gives_up=tuple(sorted(effect.gives_up)),
            undoes=effect.undoes,
            carries=tuple(record.id for record in along),
        )
        record = build_move_record(
            workspace, head, step, id_=id_, at=at, kind="move", content=f"Join {child} to {parent}."
        )
        return PlannedMove(record, along)

    try:
        async with workspace.project.writing:
            try:
                _, record = await move_head(workspace, plan)
            except _StrandedError:
                await _release_node(workspace, parent, child)
                _, record = await move_head(workspace, plan)
    except _ConflictsError as error:
        return NodeJoined(child, parent, conflicts=tuple(error.conflicts), joined=False)
    clashes, brings = planned[-1]
    conflicts = tuple(clash.conflict for clash in clashes)
    return NodeJoined(child, parent, brings, conflicts, move=record.id)


async def _release_node(workspace: Workspace, parent: BranchName, child: BranchName) -> None:
    """Let the node hold again what the other side has of it, and leave the rest.

    It is a move of its own before the join, because a move gives up what one branch held.
    """

    async def plan(head: Head, id_: RecordId, at: datetime) -> Record:
        timeline = head.timeline
        effect = timeline.find_join_effect(parent, child)
        tips = timeline.tips(child)
        step = Move(
            act="restore",
            branch=child,
            opens={child: SegmentId(workspace.ids.new(at))},
            parents=tips,
            leaves=tips,
            gives_up=tuple(sorted(effect.stranded)),
            undoes=effect.releases,
        )
        return build_move_record(
            workspace, head, step, id_=id_, at=at, kind="move", content=f"Before a join of {child}."
        )

    await move_head(workspace, plan)


async def discard_node(workspace: Workspace, lesson: str = "") -> NodeDiscarded | Skipped:
    """Leave what the caller's node wrote; the lesson is durable, and every node sees it.

    The node stands where it was forked; nodes below it go on to see what they saw. What is left can
    be restored as a line.

    Raises:
        UnknownTargetError: no such node.
        InvalidRequestError: it is the root, or the lesson cannot be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    node = workspace.caller.branch
    if node == MAIN:
        raise InvalidRequestError("The root cannot be discarded. Use backtrack to leave its work.")
    lesson, _ = redact_with_note(workspace, lesson)
    check_text("lesson", lesson, limits.LESSON_CHARS_MAX, required=False)
    hides: list[int] = []
    learnt: list[Record] = []

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove:
        timeline = head.timeline
        fork = find_fork(timeline, node)
        gone = timeline.chain(node) - timeline.ancestors(fork)
        hidden = replace(_MEMORIES, segments=gone)
        hides.append(await workspace.project.index.count(make_view(workspace, timeline), hidden))
        step = Move(
            act="backtrack",
            branch=node,
            opens={node: SegmentId(workspace.ids.new(at))},
            parents=fork,
            leaves=timeline.tips(node),
            gives_up=tuple(sorted(gone)),
            line=LineId(make_unique_name(make_line_id(at), timeline.lines)),
        )
        if lesson.strip():
            draft = Draft(lesson, kind="lesson", importance=4)
            learnt[:] = [build_record(draft, make_writing(workspace, timeline, at))]
        carried = tuple(record.id for record in learnt)
        record = build_move_record(
            workspace,
            head,
            step.model_copy(update={"carries": carried}),
            id_=id_,
            at=at,
            kind="move",
            content=f"Discard {node}.",
        )
        return PlannedMove(record, tuple(learnt))

    _, record = await move_head(workspace, plan)
    line = record.move.line if record.move else None
    return NodeDiscarded(node, hides[-1], learnt[0].id if learnt else None, line)


_MEMORIES: Final = Filters(kinds=MEMORY_KINDS)


class _ConflictsError(Exception):
    """Both sides changed the same. Carries the conflicts out of a plan."""

    def __init__(self, conflicts: list[JoinConflict]) -> None:
        super().__init__()
        self.conflicts = conflicts


class _StrandedError(Exception):
    """The node left other work behind what the other side has of it. Leaves a plan."""


async def _load_side(
    workspace: Workspace, timeline: Timeline, node: BranchName, other: BranchName
) -> _Side:
    """What the node has changed since it parted from the other."""
    index, view = workspace.project.index, make_view(workspace.at(node), timeline)
    own = view.chain - timeline.chain(other)
    filters = replace(CORE, segments=own, history=True)
    records = await load_records(
        workspace.project, sorted(await index.find(view, filters, limits.REFERENCES_MAX))
    )
    if await index.suppressed_by(own):
        records = await load_records(workspace.project, sorted(await index.ids_of_segments(own)))
    visible = await index.visible([record.id for record in records], view)
    core: dict[str, list[Record]] = {}
    replaced: dict[RecordId, list[Record]] = {}
    for record in records:
        stands = [each for each in _find_standing(record, records) if each.id in visible]
        if record.key.startswith(CORE_PREFIX):
            core.setdefault(record.key.removeprefix(CORE_PREFIX), []).extend(stands)
        else:
            for id_ in record.supersedes:
                replaced.setdefault(id_, []).extend(stands)
    return _Side(own, view, core, replaced)


def _find_standing(record: Record, records: Sequence[Record]) -> list[Record]:
    """What a record puts in the place of others: itself, or the summary that they yield to."""
    if record.kind != "exclusion":
        return [record]
    return [each for each in records if each.id in record.derived_from]


async def _require_room(
    workspace: Workspace, parent: BranchName, mine: _Side, theirs: _Side
) -> None:
    """Refuse a join after which the parent would have more keys than a core may have."""
    held = {entry.key for entry in await list_core(workspace, mine.view)}
    brought = {key for key, stands in theirs.core.items() if stands} - held
    if brought and len(held) + len(brought) > limits.CORE_KEYS_MAX:
        raise InvalidRequestError(
            f"The core of node {parent!r} has {len(held)} keys and would have "
            f"{len(held) + len(brought)}; the limit is {limits.CORE_KEYS_MAX}. Nothing was joined. "
            "Delete some on either side, or store them in the archive."
        )


def _find_clashes(parent: _Side, child: _Side) -> list[_Clash]:
    """What both changed, and not to the same."""
    clashes: list[_Clash] = []
    for key in sorted(parent.core.keys() & child.core.keys()):
        clashes += _compare("core", key, parent.core[key], child.core[key])
    for id_ in sorted(parent.replaced.keys() & child.replaced.keys()):
        clashes += _compare("memory", id_, parent.replaced[id_], child.replaced[id_])
    return clashes


def _find_repeats(parent: _Side, child: _Side) -> list[Sequence[Record]]:
    """The child's records that put the same in the place of a memory as the parent's."""
    both = parent.replaced.keys() & child.replaced.keys()
    return [
        child.replaced[id_]
        for id_ in sorted(both)
        if (values := _list_values(parent.replaced[id_]))
        and values == _list_values(child.replaced[id_])
    ]


def _compare(
    what: Literal["core", "memory"], name: str, parent: Sequence[Record], child: Sequence[Record]
) -> list[_Clash]:
    if _list_values(parent) == _list_values(child):
        return []
    return [_Clash(JoinConflict(what, name, _describe(parent), _describe(child)), parent, child)]


def _list_values(version: Sequence[Record]) -> tuple[object, ...]:
    """What the newest of a side says; nothing if nothing stands."""
    if not version:
        return ()
    newest = version[-1]
    return newest.content, newest.tags, newest.meta, newest.importance, newest.expires_at


def _describe(version: Sequence[Record]) -> str:
    """The newest of what stands for one side; '' if nothing does."""
    return version[-1].content if version else ""
