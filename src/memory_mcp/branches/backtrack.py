"""Going back, after the fact and without preparation; and the way forward again."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, assert_never

from memory_mcp.bootstrap.views import render_views
from memory_mcp.domain import limits
from memory_mcp.domain.ids import LineId, RecordId, SegmentId, free_name, line_id
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.outcomes import (
    Backtracked,
    BacktrackOutcome,
    NotMoved,
    Preview,
    Skipped,
)
from memory_mcp.domain.record import MEMORY_KINDS, Draft, Move, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.cleaning import cleaned_text
from memory_mcp.engine.head import current, move, moving_record, view_on, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.reading import load
from memory_mcp.engine.recovery import in_segments
from memory_mcp.engine.workspace import Workspace, writes_refused
from memory_mcp.errors import MemoryMcpError, StoreUnavailableError
from memory_mcp.sessions.inbox import work_off
from memory_mcp.text.drafts import build_record, check_text
from memory_mcp.timeline.plans import (
    Backtrack,
    Restore,
    forgotten_by,
    plan_backtrack,
)

Choice = Literal["continue", "forget", "abort"]

_TITLE_SHOWN: Final = 80
"""A title is one line of the list of what was hidden."""

_LESSON_LOST: Final = (
    "The backtrack is done, but its lesson could not be stored: the disk is full or not writable. "
    "Mend that and store the lesson with add_memory(kind='lesson')."
)


@dataclass(frozen=True)
class _Outlook:
    """A plan and what it means for the memories there are.

    `orders` names what tombstones among the `erases` had erased: the move goes on ordering it.
    """

    plan: Backtrack | Restore
    preview: Preview
    erases: frozenset[RecordId]
    orders: frozenset[RecordId]
    forgets: frozenset[SegmentId]


async def preview_backtrack(workspace: Workspace, to: str, lesson: str = "") -> Preview | Skipped:
    """What going to `to` would hide and bring back. Changes nothing.

    Raises:
        UnknownTargetError: no such checkpoint, phase or line.
        InvalidRequestError: the lesson could not be stored.
    """
    if skipped := writes_refused(workspace):
        return skipped
    lesson, _ = cleaned_text(workspace, lesson)
    check_text("lesson", lesson, limits.LESSON_CHARS_MAX, required=False)
    await _worked_off(
        workspace
    )  # else what waits would make another plan of it when it is agreed to
    return (await _outlook(workspace, await current(workspace), to)).preview


async def backtrack(
    workspace: Workspace, to: str, choice: Choice, *, lesson: str = "", token: str = ""
) -> BacktrackOutcome:
    """Carry out the user's choice.

    `continue` hides what came after, `forget` erases it everywhere as well, `abort` does nothing.
    With the token of an earlier preview nothing is done if that preview is no longer true.

    Raises:
        UnknownTargetError: no such checkpoint, phase or line.
        InvalidRequestError: the lesson cannot be stored.
    """
    if skipped := writes_refused(workspace):
        return skipped
    lesson, notes = cleaned_text(workspace, lesson)
    check_text("lesson", lesson, limits.LESSON_CHARS_MAX, required=False)
    match choice:
        case "abort":
            return NotMoved()
        case "continue" | "forget":
            pass
        case _:
            assert_never(choice)
    if choice == "forget":  # what was stored and never indexed must not be left on disk
        await workspace.project.index.catch_up()
    await _worked_off(workspace)
    try:
        outlook, head, record = await _carried_out(
            workspace, to, forget=choice == "forget", token=token
        )
    except _ChangedError as error:
        return replace(error.now, changed=True)
    erased = await _erase(workspace, outlook, head.timeline) if choice == "forget" else 0
    left = record.move.line if record.move else None
    learnt: RecordId | None = None
    if lesson.strip():
        try:
            learnt = await _keep_lesson(workspace, lesson, head)
        except StoreUnavailableError:  # the head was moved: no error may say that nothing was
            notes += (_LESSON_LOST,)
    notes += await render_views(workspace)
    notes += await pending_note(workspace)
    return Backtracked(outlook.preview, line=left, erased=erased, lesson=learnt, notes=notes)


async def _worked_off(workspace: Workspace) -> None:
    """What hooks left belongs on the line that is about to be left; what waits on is dropped."""
    with suppress(MemoryMcpError):
        await work_off(workspace)


class _ChangedError(Exception):
    """Carries out of a plan that it is no longer what the user agreed to."""

    def __init__(self, now: Preview) -> None:
        super().__init__()
        self.now = now


async def _carried_out(
    workspace: Workspace, to: str, *, forget: bool, token: str
) -> tuple[_Outlook, Head, Record]:
    outlook: _Outlook | None = None

    async def plan(head: Head, id_: RecordId, at: datetime) -> Record:
        nonlocal outlook
        outlook = await _outlook(workspace, head, to)
        if token and token != outlook.preview.token:
            raise _ChangedError(outlook.preview)
        goes = outlook.plan
        step = Move(
            act="restore" if isinstance(goes, Restore) else "backtrack",
            branch=workspace.caller.branch,
            opens={workspace.caller.branch: SegmentId(workspace.ids.new(at))},
            parents=goes.parents,
            leaves=(*goes.leaves, *sorted(outlook.forgets)) if forget else goes.leaves,
            gives_up=tuple(sorted(goes.gives_up.union(outlook.forgets if forget else ()))),
            forgets=tuple(sorted(outlook.forgets)) if forget else (),
            undoes=goes.undoes,
            checkpoint=goes.checkpoint if isinstance(goes, Backtrack) else None,
            line=None if forget else LineId(free_name(line_id(at), head.timeline.lines)),
        )
        record = moving_record(
            workspace,
            head,
            step,
            id_=id_,
            at=at,
            kind="move",
            content=f"{step.act} to {to.strip()}",
        )
        erases = tuple(sorted(outlook.erases | outlook.orders)) if forget else ()
        return record.model_copy(update={"erases": erases})

    head, record = await move(workspace, plan)
    if outlook is None:  # `move` plans at least once before it succeeds
        raise AssertionError("a move without a plan")
    return outlook, head, record


async def _outlook(workspace: Workspace, head: Head, to: str) -> _Outlook:
    timeline = head.timeline
    branch = workspace.caller.branch
    holding = await workspace.project.index.segments(orders=False)
    plan = plan_backtrack(timeline, branch, to, holding.keys())
    view = view_on(workspace, timeline)
    chain = timeline.chain_after(branch, plan.parents, plan.gives_up, plan.undoes)
    after = View(chain=chain, now=view.now)
    hidden = Filters(segments=plan.hides, kinds=MEMORY_KINDS)
    replaced = await replaced_by(workspace, plan, view, after)
    index = workspace.project.index
    count = await index.count(view, hidden) + len(replaced)
    newest = await index.find(view, hidden, limits.TITLES_REPORTED_MAX)
    newest = sorted({*newest, *replaced}, reverse=True)[: limits.TITLES_REPORTED_MAX]
    named = await load(workspace.project, newest)
    hides = plan.hides
    forgets = forgotten_by(timeline, branch, plan)
    erases = await in_segments(workspace.project, forgets)
    preview = Preview(
        to=to.strip(),
        restores=plan.line.id if isinstance(plan, Restore) else None,
        target=plan.checkpoint if isinstance(plan, Backtrack) else None,
        hides=count,
        titles=tuple(_title(record) for record in named),
        brings=await _brings(workspace, plan, view, after),
        erases=len(erases),
        leaves=bool(hides.intersection(holding)),
        token=_token(head, branch, plan, erases | await index.of_segments(plan.hides)),
    )
    return _Outlook(
        plan, preview, frozenset(erases), frozenset(await index.erased_by(erases)), forgets
    )


async def replaced_by(
    workspace: Workspace, plan: Backtrack | Restore, now: View, after: View
) -> set[RecordId]:
    """What stays in place, but was corrected or hidden on the road that is brought back."""
    if not isinstance(plan, Restore):
        return set()
    index = workspace.project.index
    named = await index.suppressed_by(plan.brings) - await index.of_segments(plan.hides)
    return await index.visible(named, now) - await index.visible(named, after)


async def _brings(workspace: Workspace, plan: Backtrack | Restore, now: View, after: View) -> int:
    """How many memories hold again afterwards that do not hold now."""
    index = workspace.project.index
    freed = await index.suppressed_by(plan.hides)
    again = await index.visible(freed, after) - await index.visible(freed, now)
    if isinstance(plan, Restore):
        return len(again) + await index.count(
            after, Filters(segments=plan.brings, kinds=MEMORY_KINDS)
        )
    return len(again)


async def _erase(workspace: Workspace, outlook: _Outlook, timeline: Timeline) -> int:
    """Erase what the move named, and what was written on the line while it was being given up.

    But for a tombstone that the move does not know: nobody else says what that one has erased.
    """
    index = workspace.project.index
    late = (
        await in_segments(workspace.project, outlook.forgets & timeline.forgotten) - outlook.erases
    )
    known = outlook.erases | outlook.orders
    doomed = {*outlook.erases, *[id_ for id_ in late if await index.erased_by([id_]) <= known]}
    await workspace.project.erase(doomed)
    return len(doomed)


async def _keep_lesson(workspace: Workspace, lesson: str, head: Head) -> RecordId:
    draft = Draft(content=lesson, kind="lesson", importance=4)
    record = build_record(draft, writing(workspace, head.timeline, workspace.clock.now()))
    await workspace.project.keep(record)
    return record.id


def _title(record: Record) -> str:
    return cut(" ".join((record.title or record.content).split()), _TITLE_SHOWN)


def _token(head: Head, branch: str, plan: Backtrack | Restore, touched: set[RecordId]) -> str:
    """Stands for exactly this: where the head is, the way, and every record it hides or erases."""
    parts = [head.project, head.revision, branch, *sorted(plan.parents), *sorted(touched)]
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:10]
