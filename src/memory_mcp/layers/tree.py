"""Ends nodes: joins one into its parent, or discards it with a lesson.

A join is one move with two parents: both lines go on from there, and both see what either wrote.
What both changed is named before anything moves. With `prefer`, the version of the other side is
excluded in the same step, which says nothing against it in the history. A summary that loses is
buried instead: what it alone summed up is seen again.
"""

from collections.abc import Collection, Mapping, Sequence
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
from memory_mcp.text.drafts import (
    build_exclusion,
    build_on_timeline,
    build_record,
    check_branch,
    check_text,
)
from memory_mcp.timeline.moves import apply_move
from memory_mcp.timeline.nodes import find_fork, find_parent
from memory_mcp.timeline.plans import require_branch

_JOINED: Final = "A join preferred the other version."


@frozen
class _Version:
    """What one side put in the place of a key or a memory, one after the other.

    `stands` is what is left of it; none: it was deleted or hidden.
    """

    written: Sequence[Record]
    stands: Sequence[Record]

    @property
    def text(self) -> str:
        return self.stands[-1].content if self.stands else ""

    @property
    def values(self) -> tuple[object, ...]:
        """What the newest says; nothing if nothing stands."""
        if not self.stands:
            return ()
        newest = self.stands[-1]
        return newest.content, newest.tags, newest.meta, newest.importance, newest.expires_at


@frozen
class _Side:
    """What one side of a join has changed since the two parted: keys of the core, and memories."""

    segments: frozenset[SegmentId]
    view: View
    core: Mapping[str, _Version]
    replaced: Mapping[RecordId, _Version]


@frozen
class _Clash:
    """A conflict, and each side's version."""

    conflict: JoinConflict
    parent: _Version
    child: _Version


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

    async def plan(
        head: Head, id_: RecordId, at: datetime
    ) -> PlannedMove[tuple[list[_Clash], int]]:
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
        brings = replace(_MEMORIES, segments=theirs.segments)
        brought = await workspace.project.index.count(theirs.view, brings)
        tips = tuple(dict.fromkeys((*timeline.tips(parent), *timeline.tips(child))))
        effect = timeline.find_join_effect(parent, child)
        step = Move(
            act="join",
            branch=parent,
            opens={each: SegmentId(workspace.ids.new(at)) for each in (parent, child)},
            parents=tips,
            leaves=tips,
            gives_up=tuple(sorted(effect.gives_up)),
            undoes=effect.undoes,
        )
        record = build_move_record(
            workspace, head, step, id_=id_, at=at, kind="move", content=f"Join {child} to {parent}."
        )
        # each side hides what loses after the join, so that taking it back shows that again
        after = apply_move(timeline, record)
        along: tuple[Record, ...] = ()
        if effect.stranded:
            moved = head.model_copy(update={"timeline": after})
            along = (_leave_the_rest(workspace, moved, child, effect.stranded, at),)
            after = apply_move(after, along[0])
        both = (workspace.at(parent), workspace.at(child))
        along += tuple(each for side in both for each in _hide(side, after, at, losing))
        step = step.model_copy(update={"carries": tuple(each.id for each in along)})
        record = record.model_copy(update={"move": step})
        return PlannedMove(record, (clashes, brought), along)

    try:
        async with workspace.project.writing:
            _, planned = await move_head(workspace, plan)
    except _ConflictsError as error:
        return NodeJoined(child, parent, conflicts=tuple(error.conflicts), joined=False)
    clashes, brought = planned.found
    conflicts = tuple(clash.conflict for clash in clashes)
    return NodeJoined(child, parent, brought, conflicts, move=planned.record.id)


def _leave_the_rest(
    workspace: Workspace,
    head: Head,
    child: BranchName,
    stranded: Collection[SegmentId],
    at: datetime,
) -> Record:
    """The node's part of a join: what it had left, and the other side does not have, stays left.

    A move gives up what one branch held, so this is a record of its own, written with the join's.
    """
    step = Move(act="join", branch=child, gives_up=tuple(sorted(stranded)))
    return build_move_record(
        workspace,
        head,
        step,
        id_=workspace.ids.new(at),
        at=at,
        kind="move",
        content=f"What {child} had left before stays left.",
    )


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

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[int]:
        timeline = head.timeline
        fork = find_fork(timeline, node)
        gone = timeline.chain(node) - timeline.ancestors(fork)
        hidden = replace(_MEMORIES, segments=gone)
        hides = await workspace.project.index.count(make_view(workspace, timeline), hidden)
        step = Move(
            act="backtrack",
            branch=node,
            opens={node: SegmentId(workspace.ids.new(at))},
            parents=fork,
            leaves=timeline.tips(node),
            gives_up=tuple(sorted(gone)),
            line=LineId(make_unique_name(make_line_id(at), timeline.lines)),
        )
        learnt: tuple[Record, ...] = ()
        if lesson.strip():
            draft = Draft(lesson, kind="lesson", importance=4)
            learnt = (build_record(draft, make_writing(workspace, timeline, at)),)
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
        return PlannedMove(record, hides, learnt)

    _, planned = await move_head(workspace, plan)
    line = planned.record.move.line if planned.record.move else None
    learnt = planned.along[0].id if planned.along else None
    return NodeDiscarded(node, planned.found, learnt, line)


_MEMORIES: Final = Filters(kinds=MEMORY_KINDS)


class _ConflictsError(Exception):
    """Both sides changed the same. Carries the conflicts out of a plan."""

    def __init__(self, conflicts: list[JoinConflict]) -> None:
        super().__init__()
        self.conflicts = conflicts


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
        written = await index.ids_by_segment(own)
        records = await load_records(
            workspace.project, sorted(set[RecordId]().union(*written.values()))
        )
    visible = await index.visible([record.id for record in records], view)
    known = {record.id: record for record in records}
    buried = {id_ for each in records if each.kind == "tombstone" for id_ in each.supersedes}
    followers: dict[RecordId, list[Record]] = {}
    keys: dict[str, list[Record]] = {}
    for record in records:
        if record.key.startswith(CORE_PREFIX):
            keys.setdefault(record.key.removeprefix(CORE_PREFIX), []).append(record)
        elif _is_in_effect(record, known, buried):
            for id_ in record.supersedes:
                followers.setdefault(id_, []).append(record)
    placed = {id_: _find_placed(id_, followers, known) for id_ in followers}

    def make_version(written: Sequence[Record]) -> _Version:
        return _Version(written, [each for each in written if each.id in visible])

    return _Side(
        own,
        view,
        {key: make_version(written) for key, written in keys.items()},
        {id_: make_version(written) for id_, written in placed.items()},
    )


def _is_in_effect(
    record: Record, known: Mapping[RecordId, Record], buried: Collection[RecordId]
) -> bool:
    """Whether the summaries that an exclusion stands for still hold."""
    if record.kind == "exclusion" and not known.keys() >= {*record.derived_from}:
        return False
    sources = [known[id_] for id_ in record.derived_from if id_ in known]
    return not any(id_ in buried for id_ in record.derived_from) and all(
        _is_in_effect(each, known, buried) for each in sources
    )


def _find_placed(
    id_: RecordId, followers: Mapping[RecordId, Sequence[Record]], known: Mapping[RecordId, Record]
) -> list[Record]:
    """What was put in the place of a memory, and in the place of that, in the order of writing."""
    found: dict[RecordId, Record] = {}
    waiting = [id_]
    while waiting:
        for record in followers.get(waiting.pop(), ()):
            stands = record.derived_from if record.kind == "exclusion" else (record.id,)
            if record.kind == "tombstone":
                continue
            waiting += [each for each in stands if each not in found]
            found |= {each: known[each] for each in stands if each in known}
    return [found[each] for each in sorted(found)]


def _hide(
    workspace: Workspace, timeline: Timeline, at: datetime, losing: Sequence[_Version]
) -> tuple[Record, ...]:
    """The records that take the losing versions out of sight on the caller's line."""
    targets = {record.id: record for version in losing for record in version.written}
    summaries = tuple(id_ for id_, record in targets.items() if record.kind == "summary")
    others = tuple(id_ for id_ in targets if id_ not in summaries)
    hiding: list[Record] = []
    if others:
        hiding.append(build_exclusion(others, make_writing(workspace, timeline, at), _JOINED))
    if summaries:
        place = make_writing(workspace, timeline, at)
        hiding.append(build_on_timeline(place, "tombstone", _JOINED, supersedes=summaries))
    return tuple(hiding)


async def _require_room(
    workspace: Workspace, parent: BranchName, mine: _Side, theirs: _Side
) -> None:
    """Refuse a join after which the parent would have more keys than a core may have."""
    held = {entry.key for entry in await list_core(workspace, mine.view)}
    brought = {key for key, version in theirs.core.items() if version.stands} - held
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


def _find_repeats(parent: _Side, child: _Side) -> list[_Version]:
    """The child's versions that put the same in the place of a memory as the parent's."""
    both = parent.replaced.keys() & child.replaced.keys()
    return [
        child.replaced[id_]
        for id_ in sorted(both)
        if (values := parent.replaced[id_].values) and values == child.replaced[id_].values
    ]


def _compare(
    what: Literal["core", "memory"], name: str, parent: _Version, child: _Version
) -> list[_Clash]:
    if parent.values == child.values:
        return []
    return [_Clash(JoinConflict(what, name, parent.text, child.text), parent, child)]
