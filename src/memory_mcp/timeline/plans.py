"""Where a move would lead: planned from a timeline, carried out by `app`.

A plan is a value. The same plan answers "what would this hide?" before anybody agreed and becomes
the move afterwards, so the question and the deed cannot differ.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.timeline import Checkpoint, Line, Timeline
from memory_mcp.errors import InvalidRequestError, UnknownTargetError

__all__ = [
    "START",
    "Backtrack",
    "PhaseAgain",
    "Restore",
    "forgotten_by",
    "phase_again",
    "plan_backtrack",
    "require_branch",
    "target_checkpoint",
]

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


@dataclass(frozen=True)
class Restore:
    """Back onto a line that was left: `brings` returns, what was done since is hidden."""

    line: Line
    parents: tuple[SegmentId, ...]
    leaves: tuple[SegmentId, ...]
    hides: frozenset[SegmentId]
    brings: frozenset[SegmentId]
    undoes: tuple[RecordId, ...]


@dataclass(frozen=True)
class PhaseAgain:
    """A phase is being worked on that is at or below one already sealed on this branch."""

    phase: int
    sealed: Checkpoint


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


def plan_backtrack(timeline: Timeline, branch: BranchName, to: str) -> Backtrack | Restore:
    """Where `to` leads from this branch: a checkpoint, a phase, a left line, or `start`.

    Raises:
        UnknownTargetError: nothing of that name; the message lists what there is.
        InvalidRequestError: the name stands for several lines, or for a pending checkpoint.
    """
    wanted = to.strip()
    if wanted.lower() == START:
        return _back_to(timeline, branch, None)
    by_name = {c.id: c for c in timeline.valid(branch)}
    if wanted in by_name:
        return _back_to(timeline, branch, by_name[CheckpointId(wanted)])
    if line := _line_named(timeline, branch, wanted):
        return _restore(timeline, branch, line)
    if phase := _PHASE.fullmatch(wanted):
        return _back_to(timeline, branch, _sealing(timeline, branch, int(phase.group(1))))
    for waiting in timeline.pending(branch):
        if waiting.id == wanted:
            raise _undecided(waiting)
    raise _unknown(timeline, branch, wanted)


def target_checkpoint(timeline: Timeline, branch: BranchName, at: str) -> Checkpoint:
    """The checkpoint of the branch that a fork starts from: an id or a phase.

    Raises:
        UnknownTargetError: with the checkpoints there are.
    """
    wanted = at.strip()
    for checkpoint in timeline.valid(branch):
        if checkpoint.id == wanted:
            return checkpoint
    if phase := _PHASE.fullmatch(wanted):
        return _sealing(timeline, branch, int(phase.group(1)))
    raise _unknown(timeline, branch, wanted)


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
    """Whether this phase, or a later one, was already sealed on the branch."""
    if phase is None:
        return None
    sealed = [c for c in timeline.valid(branch) if c.phase is not None and c.phase >= phase]
    same = [c for c in sealed if c.phase == phase]
    return PhaseAgain(phase, (same or sealed)[-1]) if sealed else None


def _back_to(timeline: Timeline, branch: BranchName, checkpoint: Checkpoint | None) -> Backtrack:
    parents = checkpoint.seals if checkpoint else ()
    return Backtrack(
        checkpoint=checkpoint.id if checkpoint else None,
        phase=checkpoint.phase if checkpoint else None,
        parents=parents,
        leaves=timeline.tips(branch),
        hides=timeline.chain(branch) - timeline.ancestors(parents),
    )


def _restore(timeline: Timeline, branch: BranchName, line: Line) -> Restore:
    there = timeline.chain(branch)
    back = timeline.ancestors(line.tips) - timeline.forgotten
    return Restore(
        line=line,
        parents=line.tips,
        leaves=timeline.tips(branch),
        hides=there - back,
        brings=back - there,
        undoes=tuple(
            left.move for left in timeline.in_effect(branch) if back & timeline.given_up(left)
        ),
    )


def _line_named(timeline: Timeline, branch: BranchName, wanted: str) -> Line | None:
    """The left line of that id, or the one that carries the invalidated checkpoint of that id."""
    lines = [line for line in timeline.left_lines() if line.branch == branch]
    for line in lines:
        if line.id == wanted:
            return line
    lost = next((c for c in timeline.invalidated(branch) if c.id == wanted), None)
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
    timeline: Timeline, branch: BranchName, wanted: str, what: str = "checkpoint, phase or line"
) -> UnknownTargetError:
    lines = [LineId(line.id) for line in timeline.left_lines() if line.branch == branch]
    marked = [f"{c.id} (left)" for c in timeline.invalidated(branch)]
    known = [c.id for c in timeline.valid(branch)]
    return UnknownTargetError(
        what,
        wanted,
        known=[*known, *marked, *lines, f"{START} (before every checkpoint)"],
        nearest=_nearest(wanted, [*known, *lines]),
    )


def _nearest(wanted: str, known: list[str] | tuple[str, ...]) -> str:
    return next(iter(get_close_matches(wanted, known, n=1)), "")
