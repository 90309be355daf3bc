"""Moves a branch back to a checkpoint, or forward again onto a line that a backtrack left."""

import hashlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from memory_mcp.bootstrap.views import withdraw_branch, withdraw_removed
from memory_mcp.domain import limits
from memory_mcp.domain.ids import (
    BranchName,
    LineId,
    RecordId,
    SegmentId,
    make_line_id,
    make_unique_name,
)
from memory_mcp.domain.outcomes import (
    Backtracked,
    BacktrackOutcome,
    MoveAborted,
    MovePreview,
    Skipped,
)
from memory_mcp.domain.record import MEMORY_KINDS, Draft, Move, cut_title
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.git import find_away
from memory_mcp.engine.head import load_head, make_view, make_writing, move_head, view_chain
from memory_mcp.engine.members import count_authors
from memory_mcp.engine.moves import PlannedMove, build_move_record
from memory_mcp.engine.records import load_records
from memory_mcp.engine.recovery import find_records_of_segments
from memory_mcp.engine.redaction import redact_with_note
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import MemoryMcpError, StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.hints import name_step
from memory_mcp.text.drafts import build_record, check_text
from memory_mcp.timeline.plans import (
    BacktrackPlan,
    RestorePlan,
    find_forgotten_segments,
    plan_backtrack,
    plan_by_name,
    spare_away,
)

Choice = Literal["continue", "forget", "abort"]

_TITLE_CHARS_MAX: Final = 80
"""A title is one line in the list of what a backtrack hides."""

_LESSON_LOST: Final = (
    "The backtrack is done, but its lesson could not be stored: the disk is full or not writable. "
    "Mend that and store the lesson with {}."
)


@frozen
class _Prospect:
    """What a move would do: its plan, a preview, and, if it is to forget, what it erases.

    `erased_before` names what tombstones among the `erases` have erased: the move's record takes
    over ordering their erasure.
    """

    plan: BacktrackPlan | RestorePlan
    preview: MovePreview
    forgets: frozenset[SegmentId] = frozenset()
    erases: frozenset[RecordId] = frozenset()
    erased_before: frozenset[RecordId] = frozenset()


async def preview_backtrack(
    workspace: Workspace, to: str, lesson: str = ""
) -> MovePreview | Skipped:
    """What going to `to` would hide and bring back. Moves nothing.

    Raises:
        UnknownTargetError: no such checkpoint, phase or line.
        InvalidRequestError: the lesson could not be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    _clean_lesson(workspace, lesson)
    await _process_inbox(workspace)  # else the plan would differ once the user has agreed to it
    return (await _plan_move(workspace, await load_head(workspace), to)).preview


async def backtrack(
    workspace: Workspace, to: str, choice: Choice, *, lesson: str = "", token: str = ""
) -> BacktrackOutcome:
    """Carry out the user's choice.

    `continue` hides what came after, `forget` also erases it everywhere, `abort` does nothing.
    With the token of an earlier preview nothing is done if that preview is no longer true.

    Raises:
        UnknownTargetError: no such checkpoint, phase or line.
        InvalidRequestError: the lesson cannot be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    lesson, notes = _clean_lesson(workspace, lesson)
    if choice == "abort":
        return MoveAborted()
    forget = choice == "forget"
    if forget:  # what was stored and never indexed must not be left on disk
        await workspace.project.index.catch_up()
    await _process_inbox(workspace)
    try:
        head, moved = await _move_head(workspace, to, forget=forget, token=token)
    except _StalePreviewError as error:
        return replace(error.now, changed=True)
    erased = await _erase_forgotten(workspace, moved.found, head.timeline) if forget else 0
    learnt: RecordId | None = None
    if lesson.strip():
        try:
            learnt = await _store_lesson(workspace, lesson, head)
        except StoreUnavailableError:  # the head has moved: the call must not fail any more
            keep = name_step("add_memory", content=..., kind="lesson")
            notes += (_LESSON_LOST.format(keep),)
    if forget:  # no file may show the erased text when this returns
        notes += await withdraw_removed(workspace, workspace.project)
    else:
        notes += await withdraw_branch(workspace)
    notes += await describe_pending(workspace)
    record = moved.record
    return Backtracked(
        moved.found.preview,
        line=record.move.line if record.move else None,
        erased=erased,
        lesson=learnt,
        move=record.id,
        forget=forget,
        notes=notes,
    )


def _clean_lesson(workspace: Workspace, lesson: str) -> tuple[str, tuple[str, ...]]:
    lesson, notes = redact_with_note(workspace, lesson)
    check_text("lesson", lesson, limits.LESSON_CHARS_MAX, required=False)
    return lesson, notes


async def _process_inbox(workspace: Workspace) -> None:
    """Store what hooks left: it belongs to the line that is about to be left."""
    with suppress(MemoryMcpError):  # what cannot be stored now stays in the inbox
        if await workspace.inbox.waiting():
            from memory_mcp.sessions import process_inbox  # noqa: PLC0415  # most find none

            await process_inbox(workspace)


class _StalePreviewError(Exception):
    """The plan is no longer what the user agreed to. Carries the present one."""

    def __init__(self, now: MovePreview) -> None:
        super().__init__()
        self.now = now


async def _move_head(
    workspace: Workspace, to: str, *, forget: bool, token: str
) -> tuple[Head, PlannedMove[_Prospect]]:

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[_Prospect]:
        planned = await _plan_move(workspace, head, to, forget=forget)
        if token and token != planned.preview.token:
            raise _StalePreviewError(planned.preview)
        way = planned.plan
        forgets = tuple(sorted(planned.forgets))
        step = Move(
            act="restore" if isinstance(way, RestorePlan) else "backtrack",
            branch=workspace.caller.branch,
            opens={workspace.caller.branch: SegmentId(workspace.ids.new(at))},
            parents=way.parents,
            leaves=(*way.leaves, *forgets),
            gives_up=tuple(sorted(way.gives_up.union(forgets))),
            keeps=tuple(sorted(way.keeps)),
            forgets=forgets,
            undoes=way.undoes,
            checkpoint=way.checkpoint if isinstance(way, BacktrackPlan) else None,
            line=None
            if forget or not way.leaves
            else LineId(make_unique_name(make_line_id(at), head.timeline.lines)),
        )
        content = f"{step.act} to {to.strip()}"
        record = build_move_record(
            workspace, head, step, id_=id_, at=at, kind="move", content=content
        )
        erases = tuple(sorted(planned.erases | planned.erased_before))
        return PlannedMove(record.model_copy(update={"erases": erases}), planned)

    return await move_head(workspace, plan)


async def _plan_move(
    workspace: Workspace, head: Head, to: str, *, forget: bool = False
) -> _Prospect:
    timeline = head.timeline
    branch = workspace.caller.branch
    index = workspace.project.index
    plan = plan_by_name(timeline, branch, to)
    if plan is None:
        elsewhere = (await place_checkpoints(workspace, timeline.valid(branch))).marks
        plan = plan_backtrack(timeline, branch, to, await index.holding(), elsewhere)
    away = await find_away(workspace, head)
    plan = spare_away(timeline, branch, plan, away)
    now = make_view(workspace, timeline)
    chain = timeline.chain_after(branch, plan.parents, plan.gives_up, plan.undoes, plan.keeps)
    after = replace(view_chain(workspace, chain), now=now.now)
    hidden = Filters(segments=plan.hides, kinds=MEMORY_KINDS)
    suppressed = await find_suppressed_by_restore(workspace, plan, now, after)
    known = {*await index.find(now, hidden, limits.AUTHORS_COUNTED_MAX)}
    newest = sorted(known | suppressed, reverse=True)[: limits.TITLES_REPORTED_MAX]
    looked = await load_records(workspace.project, sorted(known.union(newest), reverse=True))
    named = [record for record in looked if record.id in newest]
    forgets = find_forgotten_segments(timeline, branch, plan, away)
    touched = await index.ids_by_segment(plan.hides | forgets)
    shared = plan.hides.intersection(touched) - forgets
    left = Filters(segments=shared, kinds=MEMORY_KINDS)
    preview = MovePreview(
        to=to.strip(),
        restores=plan.line.id if isinstance(plan, RestorePlan) else None,
        target=plan.checkpoint if isinstance(plan, BacktrackPlan) else None,
        join=plan.join if isinstance(plan, BacktrackPlan) else None,
        hides=await index.count(now, hidden) + len(suppressed),
        titles=tuple(cut_title(record, _TITLE_CHARS_MAX) for record in named),
        brings=await _count_brought_back(workspace, plan, now, after),
        erases=sum(len(touched.get(segment, ())) for segment in forgets),
        shared=sum(len(touched[segment]) for segment in shared),
        hides_only=await index.count(now, left) if shared else 0,
        stays_on=_list_branches_with(timeline, branch, shared),
        erases_titles=tuple(
            cut_title(record, _TITLE_CHARS_MAX) for record in named if record.segment in forgets
        ),
        leaves=bool(await index.holding(plan.hides)),
        others=count_authors(workspace, (record for record in looked if record.id in known)),
        token=_token(head, branch, plan, touched),
    )
    if not forget:
        return _Prospect(plan, preview)
    erases = await find_records_of_segments(workspace.project, forgets)
    erased_before = frozenset(await index.erased_by(erases))
    return _Prospect(plan, preview, forgets, frozenset(erases), erased_before)


def _list_branches_with(
    timeline: Timeline, but: BranchName, segments: frozenset[SegmentId]
) -> tuple[BranchName, ...]:
    """The other branches that hold any of these segments."""
    if not segments:
        return ()
    others = (branch for branch in timeline.branches if branch != but)
    return tuple(branch for branch in others if not segments.isdisjoint(timeline.chain(branch)))


async def find_suppressed_by_restore(
    workspace: Workspace, plan: BacktrackPlan | RestorePlan, now: View, after: View
) -> set[RecordId]:
    """What is visible now, outside the hidden segments, and suppressed by the restored line."""
    if not isinstance(plan, RestorePlan):
        return set()
    index = workspace.project.index
    # what lies on the line itself is not visible now: of a long line that is nearly all
    named = await index.suppressed_by(plan.brings, but=plan.hides | (plan.brings - now.chain))
    if not named:
        return named
    later = await index.visible(named, after)  # the view that was asked about last: it is there yet
    return await index.visible(named, now) - later


async def _count_brought_back(
    workspace: Workspace, plan: BacktrackPlan | RestorePlan, now: View, after: View
) -> int:
    """How many memories are visible afterwards that are not visible now."""
    index = workspace.project.index
    freed = await index.suppressed_by(plan.hides, but=plan.hides - after.chain)
    before = await index.visible(freed, now)  # first: what follows asks about the other view
    count = len(await index.visible(freed, after) - before)
    if isinstance(plan, RestorePlan):
        count += await index.count(after, Filters(segments=plan.brings, kinds=MEMORY_KINDS))
    return count


async def _erase_forgotten(workspace: Workspace, planned: _Prospect, timeline: Timeline) -> int:
    """Erase what the move names, and what was written on the line while the move took place.

    A tombstone that came late and erases more than the move names stays: no other record orders
    that erasure.
    """
    index = workspace.project.index
    late = await find_records_of_segments(workspace.project, planned.forgets & timeline.forgotten)
    named = planned.erases | planned.erased_before
    doomed = set(planned.erases)
    for id_ in late - planned.erases:
        if await index.erased_by([id_]) <= named:
            doomed.add(id_)
    await workspace.project.erase(doomed)
    return len(doomed)


async def _store_lesson(workspace: Workspace, lesson: str, head: Head) -> RecordId:
    draft = Draft(content=lesson, kind="lesson", importance=4)
    record = build_record(draft, make_writing(workspace, head.timeline, workspace.clock.now()))
    await workspace.project.keep(record)
    return record.id


def _token(
    head: Head,
    branch: str,
    plan: BacktrackPlan | RestorePlan,
    touched: Mapping[SegmentId, Collection[RecordId]],
) -> str:
    """Identifies the head, the move, and every record that the move hides or erases."""
    parts = [head.project, head.revision, branch, *sorted(plan.parents)]
    for segment in sorted(touched):  # each by itself: to sort all of them takes twice as long
        parts += sorted(touched[segment])
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:10]
