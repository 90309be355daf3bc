"""Seals restore points with their closeout, decides pending ones, and begins branches.

The records of a closeout lie in the segment that the checkpoint seals, so they hold exactly where
it does. Those of a pending checkpoint count at once; if the user skips it, the same step hides
them, until the user takes that back.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from memory_mcp.bootstrap.views import withdraw_removed
from memory_mcp.code import cite_places
from memory_mcp.domain import limits
from memory_mcp.domain.deduplication import find_rejection, makes_superfluous
from memory_mcp.domain.ids import (
    BranchName,
    CheckpointId,
    RecordId,
    SegmentId,
    make_checkpoint_id,
    make_unique_name,
)
from memory_mcp.domain.outcomes import (
    BranchReady,
    CheckpointDecided,
    CheckpointOutcome,
    CheckpointSaved,
    Closeout,
    ClosingDecision,
    Decision,
    DecisionPreview,
    PhaseSealed,
    Skipped,
)
from memory_mcp.domain.record import Approval, Move, Record, RecordContext
from memory_mcp.domain.timeline import Checkpoint, Head, Timeline
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.git import choose_segment, select_here
from memory_mcp.engine.head import load_head, load_head_to_write, make_view, make_writing, move_head
from memory_mcp.engine.moves import PlannedMove, build_move_record
from memory_mcp.engine.phases import find_phase, find_repetition
from memory_mcp.engine.records import load_records
from memory_mcp.engine.redaction import prepare_field, redact_with_note
from memory_mcp.engine.workspace import (
    Workspace,
    describe_no_project,
    refuse_reads,
    refuse_writes,
)
from memory_mcp.errors import InvalidRequestError, UnknownTargetError
from memory_mcp.frozen import frozen
from memory_mcp.text.closeouts import build_closeout_records, check_closeout
from memory_mcp.text.drafts import build_exclusion, check_branch, check_phase, check_text
from memory_mcp.timeline.plans import require_checkpoint, resolve_name

_NO_CLOSEOUT: Final = Closeout()
_REJECTED: Final = "Not stored: {!r} was rejected on {:%Y-%m-%d} ({})."
_REJECTED_CHARS_MAX: Final = 80
_SKIPPED: Final = "The checkpoint that it was written with was skipped."
_APPROVALS: Final[Mapping[Decision, Approval]] = {
    "save": "approved",
    "edit": "approved",
    "skip": "skipped",
    "reopen": "pending",
}


@frozen
class _CloseoutRecords:
    """The records of a closeout that are written, and visible ones that say the same already."""

    written: tuple[Record, ...] = ()
    known: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()


async def find_checkpoint_refusal(
    workspace: Workspace, summary: str, phase: int | None, *, again: bool
) -> PhaseSealed | Skipped | None:
    """Why this checkpoint would not be sealed; asked before the user is.

    Raises:
        InvalidRequestError: the summary or the phase cannot be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    check_text("summary", summary, limits.SUMMARY_CHARS_MAX)
    check_phase(phase)
    head = await load_head(workspace)
    try:
        await _resolve_phase(workspace, head, phase, again=again)
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
    closeout: Closeout = _NO_CLOSEOUT,
    cites: Sequence[str] = (),
) -> CheckpointOutcome:
    """Seal everything up to here as a restore point, together with the closeout of its phase.

    All of it takes place in one step, or none. A `pending` checkpoint is sealed here too, but
    counts as a restore point only once the user has decided it.

    Raises:
        InvalidRequestError: the summary, the phase or the closeout cannot be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    summary, cleaning = redact_with_note(workspace, summary)
    if refused := await find_checkpoint_refusal(workspace, summary, phase, again=again):
        return refused
    closeout, omitted = await clean_closeout(workspace, closeout)
    cited, uncited = cite_places(workspace, cites, workspace.origin().commit)

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[_CloseoutRecords]:
        # again: another session may have sealed it first
        number = await _resolve_phase(workspace, head, phase, again=again)
        tips = _order_sealed(workspace, head.timeline)
        name = make_unique_name(make_checkpoint_id(number, at), head.timeline.checkpoints)
        chosen = _CloseoutRecords()
        if closeout:
            place = partial(make_writing, workspace, head.timeline, at)
            records = build_closeout_records(closeout, number, place)
            chosen = await _select_new_records(workspace, head.timeline, records)
        step = Move(
            act="checkpoint",
            branch=workspace.caller.branch,
            opens={workspace.caller.branch: SegmentId(workspace.ids.new(at))},
            parents=tips,
            leaves=tips,
            carries=tuple(record.id for record in chosen.written),
            checkpoint=CheckpointId(name),
            phase=number,
            approval=approval,
        )
        record = build_move_record(
            workspace, head, step, id_=id_, at=at, kind="checkpoint", content=summary
        )
        record = record.model_copy(update={"cites": cited})
        return PlannedMove(record, chosen, chosen.written)

    try:
        # no memory may be added between the comparison and the write
        async with workspace.project.writing if closeout else nullcontext():
            await load_head_to_write(workspace)
            head, moved = await move_head(workspace, plan)
    except _PhaseSealedError as error:
        return error.outcome
    newest_first = reversed(head.timeline.checkpoints.values())
    sealed = next(c for c in newest_first if c.move == moved.record.id)
    chosen = moved.found
    notes = (*cleaning, *uncited, *omitted, *chosen.notes, *_warn_of_depth(head, workspace))
    notes += (*describe_no_project(workspace), *await describe_pending(workspace))
    return CheckpointSaved(sealed, notes=notes, written=chosen.written, known=chosen.known)


def _order_sealed(workspace: Workspace, timeline: Timeline) -> tuple[SegmentId, ...]:
    """The open segments, at last the one in which the caller writes: the checkpoint lies there."""
    own = choose_segment(workspace, timeline)
    tips = timeline.tips(workspace.caller.branch)
    return (*(tip for tip in tips if tip != own), own)


async def decide_checkpoint(
    workspace: Workspace, pending: str, decision: Decision, summary: str, *, again: bool
) -> CheckpointOutcome:
    """Save a pending checkpoint, save it with another summary, or skip it; or take that back.

    Skipping it hides the records of its closeout; saving keeps them. `reopen` lets a checkpoint
    that was decided wait again, as it was before.

    Raises:
        UnknownTargetError: nothing of that name is pending, or was decided.
        InvalidRequestError: an edit without a summary, or one that cannot be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    summary, cleaning = redact_with_note(workspace, summary)
    if decision == "edit":
        check_text("summary", summary, limits.SUMMARY_CHARS_MAX)

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[Checkpoint]:
        before = _require_asked(head.timeline, workspace.caller.branch, pending, decision)
        if decision in ("save", "edit"):
            await _refuse_sealed_phase(workspace, head, before.phase, again=again)
        text = summary if decision == "edit" else before.summary
        given = DecisionPreview(before, decision, text)
        return await _plan_decision(workspace, head, given, id_, at)

    try:
        head, moved = await move_head(workspace, plan)
    except _PhaseSealedError as error:
        return error.outcome
    if decision in ("skip", "reopen"):  # no file may show what it hid when this returns
        cleaning += await withdraw_removed(workspace, workspace.project)
    before = moved.found
    return CheckpointDecided(head.timeline.checkpoints[before.id], before, notes=cleaning)


async def _plan_decision(
    workspace: Workspace, head: Head, given: DecisionPreview, id_: RecordId, at: datetime
) -> PlannedMove[Checkpoint]:
    asked, decision, summary = given.checkpoint, given.decision, given.summary
    sealed = await _load_seal(workspace, asked)
    place = make_writing(workspace, head.timeline, at)
    undoes: tuple[RecordId, ...] = ()
    along: tuple[Record, ...] = ()
    if decision == "skip" and sealed.move is not None:
        carried = await load_records(workspace.project, list(sealed.move.carries))
        along = _hide(carried, place, because=id_)
    if decision == "reopen":
        answers = await _load_answers(workspace, head.timeline, asked)
        undoes, summary = tuple(record.id for record in answers), sealed.content
        along = (_bury(answers, place),)
    step = Move(
        act="decide",
        branch=asked.branch,
        parents=asked.seals,
        checkpoint=asked.id,
        decides=asked.move,
        undoes=undoes,
        carries=tuple(record.id for record in along),
        phase=asked.phase,
        approval=_APPROVALS[decision],
    )
    record = build_move_record(
        workspace, head, step, id_=id_, at=at, kind="checkpoint", content=summary
    )
    return PlannedMove(record.model_copy(update={"cites": sealed.cites}), asked, along)


async def preview_decision(
    workspace: Workspace, name: str, decision: Decision, summary: str = ""
) -> DecisionPreview | Skipped:
    """What that word on a checkpoint would make of it. Moves nothing.

    Raises:
        UnknownTargetError: nothing of that name is pending, or was decided.
        InvalidRequestError: it was approved when it was sealed.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    asked = _require_asked(timeline, workspace.caller.branch, name, decision)
    if decision == "reopen":
        await _load_answers(workspace, timeline, asked)
    return DecisionPreview(asked, decision, summary if decision == "edit" else asked.summary)


async def fork_branch(workspace: Workspace, name: str, at: str) -> BranchReady | Skipped:
    """Begin a branch at a checkpoint, or here without one. The caller stays where it is.

    Raises:
        InvalidRequestError: the name cannot be a branch, or is taken.
        UnknownTargetError: no such checkpoint on this branch.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    branch = check_branch(name)
    here = workspace.caller.branch

    async def plan(head: Head, id_: RecordId, now: datetime) -> PlannedMove[Checkpoint | None]:
        timeline = head.timeline
        if branch in timeline.branches:
            raise InvalidRequestError(
                f"branch {name!r} exists already{', and you are on it' if branch == here else ''}. "
                f"Choose another name{'' if branch == here else ', or switch to it'}."
            )
        elsewhere = (await place_checkpoints(workspace, timeline.valid(here))).marks
        start = require_checkpoint(timeline, here, at, elsewhere) if at.strip() else None
        opens = {branch: SegmentId(workspace.ids.new(now))}
        tips = timeline.tips(here)
        if start is None:  # the new branch must not see what is written here from now on
            opens[here] = SegmentId(workspace.ids.new(now))
        parents = start.seals if start else tips
        gives_up, keeps = timeline.find_fork_effect(here, parents)
        step = Move(
            act="fork",
            branch=branch,
            opens=opens,
            parents=parents,
            leaves=() if start else tips,
            gives_up=tuple(sorted(gives_up)),
            keeps=tuple(sorted(keeps)),
        )
        record = build_move_record(
            workspace, head, step, id_=id_, at=now, kind="move", content=f"Fork {branch}."
        )
        return PlannedMove(record, start)

    _, moved = await move_head(workspace, plan)
    return BranchReady(branch, moved.found.id if moved.found else None)


async def switch_branch(workspace: Workspace, name: str) -> BranchReady | Skipped:
    """The branch of that name, for the caller to go on with.

    Raises:
        UnknownTargetError: there is no such branch.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    branches = (await load_head(workspace)).timeline.branches
    if name not in branches:
        raise UnknownTargetError("branch", name, known=branches)
    return BranchReady(check_branch(name), None)


class _PhaseSealedError(Exception):
    """The phase has a checkpoint already. Carries the outcome out of a plan."""

    def __init__(self, outcome: PhaseSealed) -> None:
        super().__init__()
        self.outcome = outcome


async def _refuse_sealed_phase(
    workspace: Workspace, head: Head, phase: int | None, *, again: bool
) -> None:
    found = await find_repetition(workspace, head.timeline, phase)
    if found is not None and not again:
        raise _PhaseSealedError(PhaseSealed(found.phase, found.sealed))


async def _resolve_phase(
    workspace: Workspace, head: Head, phase: int | None, *, again: bool
) -> int | None:
    """The given phase, else the one that this session or the project works on.

    Raises:
        _PhaseSealedError: it is sealed already, and is not to be sealed again.
    """
    if phase is None:
        phase = (await find_phase(workspace, head.timeline)).worked_on
    await _refuse_sealed_phase(workspace, head, phase, again=again)
    return phase


def _require_asked(
    timeline: Timeline, branch: BranchName, name: str, decision: Decision
) -> Checkpoint:
    """The checkpoint that waits for this word; one that was decided for a `reopen`."""
    which = "decided" if decision == "reopen" else "pending"
    found = timeline.answered(branch) if decision == "reopen" else timeline.pending(branch)
    known = {str(c.id): c for c in found}
    if asked := known.get(resolve_name(f"{which} checkpoints", name.strip(), known)):
        return asked
    raise UnknownTargetError(f"{which} checkpoint", name, known=list(known))


async def _load_seal(workspace: Workspace, checkpoint: Checkpoint) -> Record:
    """The record that left the checkpoint pending.

    Raises:
        InvalidRequestError: it cannot be read.
    """
    for record in await load_records(workspace.project, [checkpoint.move]):
        return record
    raise InvalidRequestError(
        f"The record of checkpoint {checkpoint.id!r} cannot be read: run `memory-mcp doctor`."
    )


async def _load_answers(
    workspace: Workspace, timeline: Timeline, checkpoint: Checkpoint
) -> list[Record]:
    """The answers to the checkpoint that were not taken back, oldest first.

    Raises:
        InvalidRequestError: there is none: it was approved when it was sealed.
    """
    later = [id_ for id_ in timeline.moves if id_ > checkpoint.move]  # a move is made after others
    answers = {
        record.id: record
        async for record in workspace.project.records.scan(later)
        if record.move is not None and record.move.decides == checkpoint.move
    }
    for record in [*answers.values()]:
        if record.move is not None and record.move.undoes:
            del answers[record.id]
            for taken_back in record.move.undoes:
                answers.pop(taken_back, None)
    if not answers:
        raise InvalidRequestError(
            f"Checkpoint {checkpoint.id} was approved when it was sealed: there is no answer to "
            "take back. A backtrack to before it leaves it."
        )
    return [answers[id_] for id_ in sorted(answers)]


def _warn_of_depth(head: Head, workspace: Workspace) -> tuple[str, ...]:
    depth = len(head.timeline.chain(workspace.caller.branch))
    if depth <= limits.CHAIN_SEGMENTS_WARN:
        return ()
    note = (
        f"{depth:,} segments lie on this branch; beyond {limits.CHAIN_SEGMENTS_WARN:,} reading "
        "slows down. Seal checkpoints more rarely."
    )
    return (note,)


async def clean_closeout(
    workspace: Workspace, closeout: Closeout
) -> tuple[Closeout, tuple[str, ...]]:
    """The closeout as it may be stored, and notes on what was left out of it.

    Raises:
        InvalidRequestError: it cannot be stored, or it holds a secret and that is to be refused.
    """
    check_closeout(closeout)
    notes: list[str] = []

    async def clean(field: str, text: str) -> str:
        kept, said = await prepare_field(workspace, field, text)
        notes.extend(said)
        return kept

    async def clean_all(field: str, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple([kept for text in texts if (kept := await clean(field, text))])

    decisions = [
        ClosingDecision(text, await clean("rationale", decision.rationale))
        for decision in closeout.decisions
        if (text := await clean("decisions", decision.text))
    ]
    cleaned = Closeout(
        decisions=tuple(decisions),
        artifacts=await clean_all("artifacts", closeout.artifacts),
        issues=await clean_all("issues", closeout.issues),
        agents=await clean_all("agents", closeout.agents),
    )
    check_closeout(cleaned)  # a marker may be longer than the secret that it replaces
    return cleaned, tuple(dict.fromkeys(notes))


async def _select_new_records(
    workspace: Workspace, timeline: Timeline, records: Iterable[Record]
) -> _CloseoutRecords:
    """Leave out what is known word for word and what the user has rejected."""
    from memory_mcp.deduplication import find_exact_matches  # noqa: PLC0415  # no other move reads

    view = make_view(workspace, timeline)
    written: list[Record] = []
    known: list[Record] = []
    notes: list[str] = []
    for record in records:
        there = await find_exact_matches(workspace, workspace.project, record, view)
        here = select_here(workspace, there.records)
        tombstone = find_rejection(here)
        if tombstone is not None:
            shown = record.content[:_REJECTED_CHARS_MAX]
            notes.append(_REJECTED.format(shown, tombstone.created_at, tombstone.content))
        elif twin := next((one for one in here if _is_same(one, record)), None):
            known.append(twin)
        else:
            written.append(record)
    return _CloseoutRecords(tuple(written), tuple(known), tuple(notes))


def _is_same(known: Record, new: Record) -> bool:
    """Whether it is the same statement: an open issue in any phase, anything else in this one."""
    if new.kind == "decision":
        return makes_superfluous(known, new)
    if known.kind != new.kind:
        return False
    part = new.key.rpartition(":")[2]
    if part == "closeout":  # it counts what this very checkpoint closed
        return False
    return known.key == new.key or (part == "issues" == known.key.rpartition(":")[2])


def _hide(carried: Sequence[Record], place: RecordContext, because: RecordId) -> tuple[Record, ...]:
    """What hides the closeout as long as that answer stands: who sees the one sees the other."""
    if not carried:
        return ()
    first = carried[0]
    there = replace(place, segment=first.segment, branch=first.branch, lineage=first.lineage)
    return (build_exclusion([record.id for record in carried], there, _SKIPPED, because=[because]),)


def _bury(answers: Sequence[Record], place: RecordContext) -> Record:
    """The tombstone of answers that were taken back, in their own segment."""
    return Record(
        id=place.id,
        kind="tombstone",
        content="The answer to the checkpoint was taken back.",
        segment=answers[0].segment,
        branch=answers[0].branch,
        lineage=answers[0].lineage,
        supersedes=tuple(record.id for record in answers),
        scope=place.scope,
        origin=place.origin,
        created_at=place.at,
    )
