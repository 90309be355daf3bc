"""Where a move would lead: planned from a timeline, carried out by the use cases.

A plan is a value. The same plan answers "what would this hide?" before anybody agreed and becomes
the move afterwards, so the question and the deed cannot differ.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from memory_mcp.domain.ids import (
    BranchName,
    CheckpointId,
    LineId,
    RecordId,
    SegmentId,
    named_by_part,
)
from memory_mcp.domain.timeline import Checkpoint, Line, Timeline
from memory_mcp.errors import AmbiguousIdError, InvalidRequestError, UnknownTargetError

START: Final = "start"
"""The target before the first checkpoint: everything on the timeline is left."""

_PHASE: Final = re.compile(r"(?:phase[\s_-]*)?(\d{1,4})", re.IGNORECASE)


@dataclass(frozen=True)
class Backtrack:
    """Back to a checkpoint (or, without one, to the start): what came after is hidden."""

    checkpoint: CheckpointId | None
    phase: int | None
    parents: tuple[SegmentId, ...]
    leaves: tuple[SegmentId, ...]
    hides: frozenset[SegmentId]

    @property
    def undoes(self) -> tuple[RecordId, ...]:
        """The moves that it takes back: none."""
        return ()

    @property
    def gives_up(self) -> frozenset[SegmentId]:
        """What the branch does not hold from then on, and did."""
        return self.hides


@dataclass(frozen=True)
class Restore:
    """Back onto a line that was left: `brings` returns, what was done since is hidden.

    A move that it takes back (`undoes`) may have given up more than returns: that stays given up.
    """

    line: Line
    parents: tuple[SegmentId, ...]
    leaves: tuple[SegmentId, ...]
    hides: frozenset[SegmentId]
    brings: frozenset[SegmentId]
    undoes: tuple[RecordId, ...]
    gives_up: frozenset[SegmentId]


@dataclass(frozen=True)
class PhaseAgain:
    """A phase is being worked on that is at or below one already sealed on this branch."""

    phase: int
    sealed: Checkpoint
    redo_from: str
    """Where a backtrack leads before the first attempt."""

    @property
    def said(self) -> str:
        """What there is to choose from, in one sentence."""
        return (
            f"Phase {self.phase} is being worked on, but {self.sealed.id} has sealed phase "
            f"{self.sealed.phase} already: if it is being redone, ask the user whether to hide the "
            f"first attempt (backtrack to={self.redo_from!r}, mode='continue'), to erase it "
            "(mode='forget'), to go on as it is (mode='abort'), or to seal the phase again beside "
            "it (checkpoint with again=true)."
        )


def require_branch(timeline: Timeline, branch: BranchName) -> None:
    """Refuse a branch that does not exist.

    Raises:
        UnknownTargetError: with the branches there are.
    """
    if branch not in timeline.branches:
        begin = f"or begin it with `memory-mcp --branch main fork {branch}`"
        raise UnknownTargetError(
            "branch",
            branch,
            known=[*timeline.branches, begin],
            nearest=_nearest(branch, timeline.branches),
        )


def plan_backtrack(
    timeline: Timeline, branch: BranchName, to: str, holding: Collection[SegmentId] = ()
) -> Backtrack | Restore:
    """Where `to` leads from this branch: a checkpoint, a phase, a left line, or `start`.

    `holding` are the segments with records: where one is on no road, it makes a line of its own.

    Raises:
        UnknownTargetError: nothing of that name; the message lists what there is.
        InvalidRequestError: the name stands for several lines, or for a pending checkpoint.
    """
    wanted = to.strip()
    if wanted.lower() == START:
        return _back_to(timeline, branch, None)
    by_name = {c.id: c for c in timeline.valid(branch)}
    wanted = _named(timeline, branch, wanted, holding)
    if wanted in by_name:
        return _back_to(timeline, branch, by_name[CheckpointId(wanted)])
    if line := _line_named(timeline, branch, wanted, holding):
        return plan_restore(timeline, branch, line)
    if phase := _PHASE.fullmatch(wanted):
        return _back_to(timeline, branch, _sealing(timeline, branch, int(phase.group(1))))
    for waiting in timeline.pending(branch):
        if waiting.id == wanted:
            raise _undecided(waiting)
    raise _unknown(timeline, branch, wanted, holding=holding)


def target_checkpoint(timeline: Timeline, branch: BranchName, at: str) -> Checkpoint:
    """The checkpoint of the branch that a fork starts from: an id or a phase.

    Raises:
        UnknownTargetError: with the checkpoints there are.
    """
    valid = {c.id: c for c in timeline.valid(branch)}
    wanted = named_once("checkpoints", at.strip(), valid)
    for checkpoint in valid.values():
        if checkpoint.id == wanted:
            return checkpoint
    if phase := _PHASE.fullmatch(wanted):
        return _sealing(timeline, branch, int(phase.group(1)))
    raise _unknown(timeline, branch, wanted)


def named_once(what: str, part: str, names: Iterable[str]) -> str:
    """The name that is meant by a part of it. A phase, and what fits none, is left as it is.

    Raises:
        AmbiguousIdError: it fits several.
    """
    found = () if _PHASE.fullmatch(part) else named_by_part(part, names)
    if len(found) > 1:
        raise AmbiguousIdError(what, part, found)
    return found[0] if found else part


def forgotten_by(
    timeline: Timeline, branch: BranchName, plan: Backtrack | Restore
) -> frozenset[SegmentId]:
    """The segments that carrying out the plan with `forget` erases.

    That is what the move hides and every left line that grew from it, except what another branch
    stands on or could restore: forgetting on one branch must not take from another.
    """
    others = [timeline.chain(b) for b in timeline.branches if b != branch]
    others += [timeline.ancestors(li.tips) for li in timeline.left_lines() if li.branch != branch]
    kept = timeline.ancestors(plan.parents).union(*others)
    return timeline.descendants(plan.hides) - kept


def phase_again(timeline: Timeline, branch: BranchName, phase: int | None) -> PhaseAgain | None:
    """Whether this phase, or a later one, was already sealed on the branch.

    Whoever went back to the checkpoint of the phase is redoing it, and may seal it again.
    """
    if phase is None:
        return None
    valid = timeline.valid(branch)
    sealed = [c for c in valid if c.phase is not None and c.phase >= phase]
    if not sealed:
        return None
    if _went_back_to(timeline, branch, valid[-1]):
        sealed = [c for c in sealed if c.phase != phase]
        if not sealed:
            return None
    same = [c for c in sealed if c.phase == phase]
    first = valid.index(sealed[0])
    return PhaseAgain(
        phase, (same or sealed)[-1], redo_from=valid[first - 1].id if first else START
    )


def _went_back_to(timeline: Timeline, branch: BranchName, checkpoint: Checkpoint) -> bool:
    """Whether the branch stands where a backtrack to this checkpoint led.

    Sealing it opened a segment on the same place, by the checkpoint's own move.
    """
    tips = [timeline.segments[tip] for tip in timeline.tips(branch) if tip in timeline.segments]
    return checkpoint.branch == branch and any(
        tip.parents == checkpoint.seals and tip.move != checkpoint.move for tip in tips
    )


def _named(
    timeline: Timeline, branch: BranchName, wanted: str, holding: Collection[SegmentId]
) -> str:
    """The checkpoint or left line that is meant."""
    names = [c.id for c in (*timeline.valid(branch), *timeline.invalidated(branch, holding))]
    names += [c.id for c in timeline.pending(branch)]
    lines = [line.id for line in timeline.left_lines(holding) if line.branch == branch]
    return named_once("checkpoints and lines", wanted, [*names, *lines])


def _back_to(timeline: Timeline, branch: BranchName, checkpoint: Checkpoint | None) -> Backtrack:
    parents = checkpoint.seals if checkpoint else ()
    return Backtrack(
        checkpoint=checkpoint.id if checkpoint else None,
        phase=checkpoint.phase if checkpoint else None,
        parents=parents,
        leaves=timeline.tips(branch),
        hides=timeline.chain(branch) - timeline.ancestors(parents),
    )


def plan_restore(timeline: Timeline, branch: BranchName, line: Line) -> Restore:
    """Back onto a line that the branch left."""
    there = timeline.chain(branch)
    restoring = timeline.restoring(branch, line)
    return Restore(
        line=line,
        parents=line.tips,
        leaves=timeline.tips(branch),
        hides=there - timeline.ancestors(line.tips),
        brings=restoring.chain - there,
        undoes=restoring.undoes,
        gives_up=restoring.gives_up,
    )


def _line_named(
    timeline: Timeline, branch: BranchName, wanted: str, holding: Collection[SegmentId]
) -> Line | None:
    """The left line of that id, or the one that carries the invalidated checkpoint of that id."""
    lines = [line for line in timeline.left_lines(holding) if line.branch == branch]
    for line in lines:
        if line.id == wanted:
            return line
    lost = next((c for c in timeline.invalidated(branch, holding) if c.id == wanted), None)
    if lost is None:
        return None
    roads = {
        line.id: timeline.ancestors(line.tips)
        for line in lines
        if timeline.ancestors(line.tips).issuperset(lost.seals)
    }
    longest = [
        line for line in lines
        if line.id in roads and not any(roads[line.id] < road for road in roads.values())
    ]  # fmt: skip
    if len(longest) > 1:
        names = ", ".join(line.id for line in longest)
        raise InvalidRequestError(
            f"Checkpoint {wanted!r} lies on several left lines: {names}. Name the line to restore."
        )
    return longest[0] if longest else None


def _sealing(timeline: Timeline, branch: BranchName, phase: int) -> Checkpoint:
    """The newest checkpoint of the phase on the branch."""
    found = [c for c in timeline.valid(branch) if c.phase == phase]
    if found:
        return found[-1]
    for waiting in timeline.pending(branch):
        if waiting.phase == phase:
            raise _undecided(waiting)
    lost = [c.id for c in timeline.invalidated(branch) if c.phase == phase]
    if lost:
        raise InvalidRequestError(
            f"Phase {phase} has no valid checkpoint; these were left by a backtrack: "
            f"{', '.join(lost)}. To restore that road, name the checkpoint itself."
        )
    raise _unknown(timeline, branch, str(phase), what="checkpoint of phase")


def _undecided(waiting: Checkpoint) -> InvalidRequestError:
    return InvalidRequestError(
        f"Checkpoint {waiting.id!r} is pending: nobody approved it yet. "
        f"Decide it first with checkpoint(pending={waiting.id!r}, decision='save'|'edit'|'skip')."
    )


def _unknown(
    timeline: Timeline,
    branch: BranchName,
    wanted: str,
    what: str = "checkpoint, phase or line",
    holding: Collection[SegmentId] = (),
) -> UnknownTargetError:
    lines = [LineId(line.id) for line in timeline.left_lines(holding) if line.branch == branch]
    marked = [f"{c.id} (left)" for c in timeline.invalidated(branch, holding)]
    known = [c.id for c in timeline.valid(branch)]
    return UnknownTargetError(
        what,
        wanted,
        known=[*known, *marked, *lines, f"{START} (before every checkpoint)"],
        nearest=_nearest(wanted, [*known, *lines]),
    )


def _nearest(wanted: str, known: list[str] | tuple[str, ...]) -> str:
    return next(iter(get_close_matches(wanted, known, n=1)), "")
