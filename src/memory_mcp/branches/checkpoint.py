"""Sealing restore points, deciding pending ones, and beginning branches."""

from contextlib import nullcontext
from datetime import datetime
from functools import partial
from typing import Final, Literal

from memory_mcp.bootstrap.views import render_views
from memory_mcp.branches.closeout import Judged, carried_by, cleaned_closeout, hiding, judged
from memory_mcp.domain import limits
from memory_mcp.domain.ids import (
    BranchName,
    CheckpointId,
    RecordId,
    SegmentId,
    checkpoint_id,
    free_name,
)
from memory_mcp.domain.outcomes import (
    Branched,
    CheckpointOutcome,
    Closeout,
    Decided,
    PhaseSealed,
    Saved,
    Skipped,
)
from memory_mcp.domain.record import Approval, Move, Record
from memory_mcp.domain.timeline import Checkpoint, Head
from memory_mcp.engine.cleaning import cleaned_text
from memory_mcp.engine.head import Planned, current, move, moving_record, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.phases import phase_now
from memory_mcp.engine.workspace import Workspace, reads_refused, writes_refused
from memory_mcp.errors import InvalidRequestError, UnknownTargetError
from memory_mcp.text.closeouts import build_closeout_records
from memory_mcp.text.drafts import check_branch, check_phase, check_text
from memory_mcp.timeline.plans import named_once, phase_again, target_checkpoint

Decision = Literal["save", "edit", "skip"]
"""The user's word on a pending checkpoint."""

_NOTHING: Final = Closeout()


async def refused_checkpoint(
    workspace: Workspace, summary: str, phase: int | None, *, again: bool
) -> PhaseSealed | Skipped | None:
    """Why this checkpoint would not be sealed, before anybody is asked about it.

    Raises:
        InvalidRequestError: the summary or the phase cannot be stored.
    """
    if skipped := writes_refused(workspace):
        return skipped
    check_text("summary", summary, limits.SUMMARY_CHARS_MAX)
    check_phase(phase)
    head = await current(workspace)
    try:
        _refuse_again(workspace, head, await _phase(workspace, head, phase), again=again)
    except _PhaseSealedError as error:
        return error.outcome
    return None


async def checkpoint(
    workspace: Workspace,
    summary: str,
    phase: int | None,
    *,
    again: bool,
    approval: Approval,
    closeout: Closeout = _NOTHING,
) -> CheckpointOutcome:
    """Seal everything up to here as a restore point, and with it what closes the phase.

    All of it takes place in one step, or none. A `pending` one is sealed at this place too, and
    counts as a restore point only once somebody decides it; what is written with it counts at once.

    Raises:
        InvalidRequestError: the summary, the phase or the closeout cannot be stored.
    """
    if skipped := writes_refused(workspace):
        return skipped
    summary, cleaning = cleaned_text(workspace, summary)
    if refused := await refused_checkpoint(workspace, summary, phase, again=again):
        return refused
    closeout, told = await cleaned_closeout(workspace, closeout)
    with_it = Judged()

    async def plan(head: Head, id_: RecordId, at: datetime) -> Planned:
        nonlocal with_it
        number = await _phase(workspace, head, phase)
        _refuse_again(workspace, head, number, again=again)  # another session may have been first
        tips = head.timeline.tips(workspace.caller.branch)
        name = free_name(checkpoint_id(number, at), head.timeline.checkpoints)
        if closeout:
            place = partial(writing, workspace, head.timeline, at)
            parts = build_closeout_records(closeout, number, place)
            with_it = await judged(workspace, head.timeline, parts)
        step = Move(
            act="checkpoint",
            branch=workspace.caller.branch,
            opens={workspace.caller.branch: SegmentId(workspace.ids.new(at))},
            parents=tips,
            leaves=tips,
            carries=tuple(record.id for record in with_it.written),
            checkpoint=CheckpointId(name),
            phase=number,
            approval=approval,
        )
        record = moving_record(
            workspace, head, step, id_=id_, at=at, kind="checkpoint", content=summary
        )
        return Planned(record, with_it.written)

    try:
        # what is added at the same time must not be missed
        async with workspace.project.writing if closeout else nullcontext():
            head, record = await move(workspace, plan)
    except _PhaseSealedError as error:
        return error.outcome
    sealed = next(c for c in head.timeline.checkpoints.values() if c.move == record.id)
    notes = (
        *cleaning,
        *told,
        *with_it.notes,
        *_depth(head, workspace),
        *await pending_note(workspace),
    )
    return Saved(sealed, notes=notes, written=with_it.written, known=with_it.known)


async def decide(
    workspace: Workspace, pending: str, decision: Decision, summary: str, *, again: bool
) -> CheckpointOutcome:
    """Save a checkpoint that was left pending, save it with another summary, or skip it.

    What was written with it is hidden if it is skipped, and stays otherwise.

    Raises:
        UnknownTargetError: nothing of that name is pending.
        InvalidRequestError: an edit without a summary, or one that cannot be stored.
    """
    if skipped := writes_refused(workspace):
        return skipped
    summary, cleaning = cleaned_text(workspace, summary)
    if decision == "edit":
        check_text("summary", summary, limits.SUMMARY_CHARS_MAX)

    async def plan(head: Head, id_: RecordId, at: datetime) -> Planned:
        asked = _pending(head, workspace.caller.branch, pending)
        along: tuple[Record, ...] = ()
        if decision == "skip":
            carried = await carried_by(workspace, asked)
            along = hiding(carried, writing(workspace, head.timeline, at))
        else:
            _refuse_again(workspace, head, asked.phase, again=again)
        step = Move(
            act="decide",
            branch=asked.branch,
            parents=asked.seals,
            checkpoint=asked.id,
            decides=asked.move,
            carries=tuple(record.id for record in along),
            phase=asked.phase,
            approval="skipped" if decision == "skip" else "approved",
        )
        text = summary if decision == "edit" else asked.summary
        record = moving_record(
            workspace, head, step, id_=id_, at=at, kind="checkpoint", content=text
        )
        return Planned(record, along)

    try:
        head, record = await move(workspace, plan)
    except _PhaseSealedError as error:
        return error.outcome
    step = record.move
    done = next(c for c in head.timeline.checkpoints.values() if step and c.id == step.checkpoint)
    if decision == "skip":  # what it hid stands in no file when this returns
        cleaning += await render_views(workspace)
    return Decided(done, notes=cleaning)


async def fork(workspace: Workspace, name: str, at: str) -> Branched | Skipped:
    """Begin a branch at a checkpoint (or here). The caller stays where it is.

    Raises:
        InvalidRequestError: the name cannot be a branch, or is taken.
        UnknownTargetError: no such checkpoint on this branch.
    """
    if skipped := writes_refused(workspace):
        return skipped
    branch = check_branch(name)
    here = workspace.caller.branch
    from_: Checkpoint | None = None

    async def plan(head: Head, id_: RecordId, moment: datetime) -> Record:
        nonlocal from_
        timeline = head.timeline
        if branch in timeline.branches:
            raise InvalidRequestError(
                f"branch {name!r} exists already. Switch to it, or choose another name."
            )
        from_ = target_checkpoint(timeline, here, at) if at.strip() else None
        opens = {branch: SegmentId(workspace.ids.new(moment))}
        tips = timeline.tips(here)
        if from_ is None:  # what is written here from now on must not be seen from the new branch
            opens[here] = SegmentId(workspace.ids.new(moment))
        step = Move(
            act="fork",
            branch=branch,
            opens=opens,
            parents=from_.seals if from_ else tips,
            leaves=() if from_ else tips,
        )
        return moving_record(
            workspace, head, step, id_=id_, at=moment, kind="move", content=f"Fork {branch}."
        )

    await move(workspace, plan)
    return Branched(branch, from_.id if from_ else None)


async def switch(workspace: Workspace, name: str) -> Branched | Skipped:
    """The branch of that name, for the caller to go on with.

    Raises:
        UnknownTargetError: there is no such branch.
    """
    if skipped := reads_refused(workspace):
        return skipped
    branches = (await current(workspace)).timeline.branches
    if name not in branches:
        raise UnknownTargetError("branch", name, known=branches)
    return Branched(check_branch(name), None)


class _PhaseSealedError(Exception):
    """Carries the outcome out of a plan."""

    def __init__(self, outcome: PhaseSealed) -> None:
        super().__init__()
        self.outcome = outcome


def _refuse_again(workspace: Workspace, head: Head, phase: int | None, *, again: bool) -> None:
    found = phase_again(head.timeline, workspace.caller.branch, phase)
    if found is not None and not again:
        raise _PhaseSealedError(PhaseSealed(found.phase, found.sealed))


async def _phase(workspace: Workspace, head: Head, phase: int | None) -> int | None:
    """The phase that was given, else the one that this session or the project works on."""
    return (await phase_now(workspace, head.timeline)).worked_on if phase is None else phase


def _pending(head: Head, branch: BranchName, name: str) -> Checkpoint:
    waiting = {c.id: c for c in head.timeline.pending(branch)}
    meant = named_once("pending checkpoints", name.strip(), waiting)
    for asked in waiting.values():
        if asked.id == meant:
            return asked
    raise UnknownTargetError("pending checkpoint", name, known=list(waiting))


def _depth(head: Head, workspace: Workspace) -> tuple[str, ...]:
    depth = len(head.timeline.chain(workspace.caller.branch))
    if depth <= limits.CHAIN_SEGMENTS_WARN:
        return ()
    note = (
        f"{depth:,} segments lie on this branch; beyond {limits.CHAIN_SEGMENTS_WARN:,} reading "
        "slows down. Seal checkpoints more rarely."
    )
    return (note,)
