"""Where a backtrack or a restore would lead.

A plan is a value. The same plan answers "what would this hide?" and becomes the move once the user
agrees, so the preview and the move cannot differ. The use cases carry it out.
"""

import re
import shlex
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.domain.ids import (
    MAIN,
    BranchName,
    CheckpointId,
    LineId,
    RecordId,
    SegmentId,
    find_by_part,
    make_line_id,
    make_unique_name,
    parse_id_time,
)
from memory_mcp.domain.timeline import Checkpoint, Line, Timeline
from memory_mcp.errors import AmbiguousIdError, InvalidRequestError, UnknownTargetError
from memory_mcp.frozen import frozen
from memory_mcp.hints import address, name_decision, name_step
from memory_mcp.patterns import compile_later
from memory_mcp.timeline.graph import select_lines

START: Final = "start"
"""The target before the first checkpoint: it leaves everything on the timeline."""

_PHASE: Final = compile_later(r"(?:phase[\s_-]*)?(\d{1,4})", re.IGNORECASE)


@frozen
class BacktrackPlan:
    """Back to a checkpoint, to before a join, or to the start; hides what came after."""

    checkpoint: CheckpointId | None
    phase: int | None
    parents: tuple[SegmentId, ...]
    leaves: tuple[SegmentId, ...]
    hides: frozenset[SegmentId]
    join: RecordId | None = None
    keeps: frozenset[SegmentId] = frozenset()

    @property
    def undoes(self) -> tuple[RecordId, ...]:
        """The moves that it undoes: none."""
        return ()

    @property
    def gives_up(self) -> frozenset[SegmentId]:
        """The segments that it takes off the branch."""
        return self.hides


@frozen
class RestorePlan:
    """Back onto a left line: `brings` returns, and `hides` what was done since.

    A move that it undoes may have abandoned more than returns: that stays abandoned.
    """

    line: Line
    parents: tuple[SegmentId, ...]
    leaves: tuple[SegmentId, ...]
    hides: frozenset[SegmentId]
    brings: frozenset[SegmentId]
    undoes: tuple[RecordId, ...]
    gives_up: frozenset[SegmentId]
    keeps: frozenset[SegmentId] = frozenset()


@frozen
class PhaseRepetition:
    """The phase in progress is at or below one that this branch has sealed.

    `redo_from` is the backtrack target before the first attempt.
    """

    phase: int
    sealed: Checkpoint
    redo_from: str

    @property
    def said(self) -> str:
        """The choices, in one sentence."""
        choose = address("ask the user whether", "choose whether")
        return (
            f"Phase {self.phase} is being worked on, but {self.sealed.id} has sealed phase "
            f"{self.sealed.phase} already: if it is being redone, {choose} to leave the first "
            f"attempt ({name_step('backtrack', to=self.redo_from)}, which shows what that hides "
            f"and asks), or to seal the phase again beside it "
            f"({name_step('checkpoint', again=True)})."
        )


def require_branch(timeline: Timeline, branch: BranchName, step: str = "") -> None:
    """Refuse a branch that does not exist; `step` is what to do, other than to fork it first.

    Raises:
        UnknownTargetError: with the branches there are.
    """
    if branch not in timeline.branches:
        fork = address(
            f"mem_node_fork(parent_node_id={MAIN!r}, child_node_id={branch!r})",
            f"`memory-mcp --branch {MAIN} fork {shlex.quote(branch)}`",
        )
        step = step or f"Choose one, or fork it first: {fork}."
        nearest = find_nearest(branch, timeline.branches)
        raise UnknownTargetError(
            "branch", branch, known=timeline.branches, nearest=nearest, step=step
        )


def plan_by_name(
    timeline: Timeline, branch: BranchName, to: str
) -> BacktrackPlan | RestorePlan | None:
    """The plan for a checkpoint on the branch by its whole id, a move to take back, or `start`.

    None for whatever else `to` may mean: `plan_backtrack` looks for that among all there is.
    """
    wanted = to.strip()
    if wanted.lower() == START:
        return _plan_back_to(timeline, branch, None)
    if wanted in timeline.moves:
        return _plan_before_join(timeline, branch, wanted) or plan_rest(timeline, branch, wanted)
    if wanted not in timeline.checkpoints:
        return None
    found = next((c for c in reversed(timeline.valid(branch)) if c.id == wanted), None)
    return _plan_back_to(timeline, branch, found) if found else None


def plan_backtrack(
    timeline: Timeline,
    branch: BranchName,
    to: str,
    holding: Collection[SegmentId] = (),
    elsewhere: Container[CheckpointId] = (),
) -> BacktrackPlan | RestorePlan:
    """The plan for `to`: a checkpoint, a phase, a left line, a join to take back, or `start`.

    `holding` are the segments with records: one that is on no branch and no line makes its own. A
    phase stands for a checkpoint that is not `elsewhere`, if there is one.

    Raises:
        UnknownTargetError: nothing of that name; the message lists what there is.
        InvalidRequestError: the name stands for several lines, or for a pending checkpoint.
    """
    if plan := plan_by_name(timeline, branch, to):
        return plan
    wanted = to.strip()
    valid = {c.id: c for c in timeline.valid(branch)}
    if wanted not in timeline.checkpoints and wanted not in timeline.lines:
        names = [*valid, *(c.id for c in timeline.invalidated(branch, holding))]
        names += [c.id for c in timeline.pending(branch)]
        names += [line.id for line in timeline.left_lines(holding) if line.branch == branch]
        wanted = resolve_name("checkpoints and lines", wanted, names)
    if wanted in valid:
        return _plan_back_to(timeline, branch, valid[CheckpointId(wanted)])
    if line := _find_line(timeline, branch, wanted, holding):
        return plan_restore(timeline, branch, line)
    if (phase := read_phase(wanted)) is not None:
        checkpoint = require_phase(timeline, branch, phase, holding, elsewhere)
        return _plan_back_to(timeline, branch, checkpoint)
    for waiting in timeline.pending(branch):
        if waiting.id == wanted:
            raise _pending_error(waiting)
    raise _unknown_error(timeline, branch, wanted, holding=holding)


def require_checkpoint(
    timeline: Timeline, branch: BranchName, at: str, elsewhere: Container[CheckpointId] = ()
) -> Checkpoint:
    """The checkpoint on the branch of this id or phase; of a phase, one not `elsewhere` first.

    Raises:
        UnknownTargetError: with the checkpoints there are.
    """
    valid = {c.id: c for c in timeline.valid(branch)}
    wanted = at.strip()
    if wanted not in timeline.checkpoints:  # one of another branch may begin as one of this does
        wanted = resolve_name("checkpoints", wanted, valid)
    if wanted in valid:
        return valid[CheckpointId(wanted)]
    if (phase := read_phase(wanted)) is not None:
        return require_phase(timeline, branch, phase, elsewhere=elsewhere)
    raise _unknown_error(timeline, branch, wanted)


def resolve_name(what: str, part: str, names: Iterable[str]) -> str:
    """The name that a part of it stands for. A phase, and what fits none, is returned as it is.

    Raises:
        AmbiguousIdError: it fits several.
    """
    found = () if read_phase(part) is not None else find_by_part(part, names)
    if len(found) > 1:
        raise AmbiguousIdError(what, part, found)
    return found[0] if found else part


def spare_away(
    timeline: Timeline,
    branch: BranchName,
    plan: BacktrackPlan | RestorePlan,
    away: frozenset[SegmentId],
) -> BacktrackPlan | RestorePlan:
    """The plan that keeps what git keeps `away`: who does not see it here cannot mean to leave it.

    It may have grown from what is left; then the move names it.
    """
    kept = timeline.chain(branch) & away
    spared = kept & plan.gives_up
    if not spared:
        return plan
    gives_up = plan.gives_up - kept
    hides = plan.hides - kept
    tips = [tip for tip in plan.leaves if tip not in kept]
    # what was joined to the branch stays on it only if what is begun now stands on that
    joined = timeline.newest([s for s in spared if timeline.find_branch(s) != branch])
    parents = tuple(dict.fromkeys((*plan.parents, *joined)))
    leaves = tuple(dict.fromkeys((*timeline.newest(hides.difference(tips)), *tips)))
    keeps = timeline.descendants(gives_up) & kept
    match plan:
        case BacktrackPlan():
            return replace(plan, parents=parents, hides=hides, leaves=leaves, keeps=keeps)
        case RestorePlan():
            return replace(
                plan, parents=parents, hides=hides, leaves=leaves, gives_up=gives_up, keeps=keeps
            )


def find_forgotten_segments(
    timeline: Timeline,
    branch: BranchName,
    plan: BacktrackPlan | RestorePlan,
    away: frozenset[SegmentId] = frozenset(),
) -> frozenset[SegmentId]:
    """The segments that the plan erases with `forget`.

    They are what the move hides and every left line that grew from it, except what git keeps `away`
    and what another branch holds or could restore: forgetting here must not take from there.
    """
    others = (tip for li in timeline.left_lines() if li.branch != branch for tip in li.tips)
    kept = timeline.ancestors([*plan.parents, *others]) | timeline.held(but=branch)
    return timeline.descendants(plan.hides) - kept - away


def find_phase_repetition(
    timeline: Timeline, branch: BranchName, phase: int, elsewhere: Container[CheckpointId] = ()
) -> PhaseRepetition | None:
    """The repetition, if the branch has sealed this phase or a later one, and not `elsewhere`.

    Whoever went back to the checkpoint of the phase has it sealed behind them: a phase is redone
    from before its checkpoint.
    """
    valid = [c for c in timeline.valid(branch) if c.id not in elsewhere]
    sealed = [c for c in valid if c.phase is not None and c.phase >= phase]
    if not sealed:
        return None
    same = [c for c in sealed if c.phase == phase]
    first = valid.index(sealed[0])
    return PhaseRepetition(
        phase, (same or sealed)[-1], redo_from=valid[first - 1].id if first else START
    )


def _plan_back_to(
    timeline: Timeline, branch: BranchName, checkpoint: Checkpoint | None
) -> BacktrackPlan:
    parents = checkpoint.seals if checkpoint else ()
    return BacktrackPlan(
        checkpoint=checkpoint.id if checkpoint else None,
        phase=checkpoint.phase if checkpoint else None,
        parents=parents,
        leaves=timeline.tips(branch),
        hides=timeline.chain(branch) - timeline.ancestors(parents),
    )


def _plan_before_join(timeline: Timeline, branch: BranchName, move: str) -> BacktrackPlan | None:
    """Back to where the branch stood before this join; None if it is no join that the branch holds.

    The other node stays as it is: it goes on to see what both wrote until then.
    """
    chain, segments = timeline.chain(branch), timeline.segments
    own = {s for s in chain if timeline.find_branch(s) == branch}
    for opened in (segments[s] for s in own if s in segments and segments[s].move == move):
        before = tuple(parent for parent in opened.parents if parent in own)
        if before and len(before) < len(opened.parents):
            return BacktrackPlan(
                checkpoint=None,
                phase=None,
                parents=before,
                leaves=timeline.tips(branch),
                hides=chain - timeline.ancestors(before),
                join=opened.move,
            )
    return None


def plan_rest(timeline: Timeline, branch: BranchName, move: str) -> RestorePlan | None:
    """Back onto what this move hid and did not erase; None if the branch gave up nothing by it.

    Another branch holds such a line, so it was not left: its name leads nowhere, the move's does.
    """
    gone = timeline.given_up.get(RecordId(move))
    rest = gone.segments - timeline.forgotten if gone and gone.branch == branch else None
    opened = next((s for s in timeline.segments.values() if s.move == move), None)
    if not rest or opened is None or move in timeline.undone:
        return None
    at = parse_id_time(opened.move)
    name = make_unique_name(make_line_id(at), timeline.lines)
    line = Line(id=LineId(name), tips=timeline.newest(rest), branch=branch, move=opened.move, at=at)
    return plan_restore(timeline, branch, line)


def plan_restore(timeline: Timeline, branch: BranchName, line: Line) -> RestorePlan:
    """The plan to restore a line that the branch left."""
    chain = timeline.chain(branch)
    effect = timeline.find_restore_effect(branch, line)
    return RestorePlan(
        line=line,
        parents=line.tips,
        leaves=timeline.tips(branch),
        hides=chain - timeline.ancestors(line.tips),
        brings=effect.chain - chain,
        undoes=effect.undoes,
        gives_up=effect.gives_up,
    )


def _find_line(
    timeline: Timeline, branch: BranchName, wanted: str, holding: Collection[SegmentId]
) -> Line | None:
    """The left line of this id, or the one with the invalidated checkpoint of this id."""
    lines = [line for line in timeline.left_lines(holding) if line.branch == branch]
    for line in lines:
        if line.id == wanted:
            return line
    lost = next((c for c in timeline.invalidated(branch, holding) if c.id == wanted), None)
    if lost is None:
        return None
    reached = {line.id: timeline.ancestors(line.tips) for line in lines}
    sealing = [line for line in lines if reached[line.id].issuperset(lost.seals)]
    longest = [
        line
        for line in sealing
        if not any(reached[line.id] < reached[other.id] for other in sealing)
    ]
    if len(longest) > 1:
        names = ", ".join(line.id for line in longest)
        raise InvalidRequestError(
            f"Checkpoint {wanted!r} lies on several left lines: {names}. Name the line to restore."
        )
    return longest[0] if longest else None


def read_phase(name: str) -> int | None:
    """The phase that the name stands for (`2`, `phase 2`), if it is one."""
    found = _PHASE.fullmatch(name)
    return int(found[1]) if found else None


def require_phase(
    timeline: Timeline,
    branch: BranchName,
    phase: int,
    holding: Collection[SegmentId] = (),
    elsewhere: Container[CheckpointId] = (),
) -> Checkpoint:
    """The newest checkpoint of the phase on the branch; one that is `elsewhere` if all are.

    Raises:
        UnknownTargetError: with the checkpoints there are.
        InvalidRequestError: it is pending, or was left by a backtrack.
    """
    found = [c for c in timeline.valid(branch) if c.phase == phase]
    if found:
        return ([c for c in found if c.id not in elsewhere] or found)[-1]
    for waiting in timeline.pending(branch):
        if waiting.phase == phase:
            raise _pending_error(waiting)
    lost = [c.id for c in timeline.invalidated(branch) if c.phase == phase]
    if lost:
        raise InvalidRequestError(
            f"Phase {phase} has no valid checkpoint; these were left by a backtrack: "
            f"{', '.join(lost)}. To restore that road, name the checkpoint itself."
        )
    raise _unknown_error(timeline, branch, str(phase), "checkpoint of phase", holding)


def _pending_error(waiting: Checkpoint) -> InvalidRequestError:
    return InvalidRequestError(
        f"Checkpoint {waiting.id!r} is pending: nobody approved it yet. "
        f"Decide it first (save, edit, skip): {name_decision(waiting.id)}."
    )


def _unknown_error(
    timeline: Timeline,
    branch: BranchName,
    wanted: str,
    what: str = "checkpoint, phase or line",
    holding: Collection[SegmentId] = (),
) -> UnknownTargetError:
    left = [line for line in timeline.left_lines(holding) if line.branch == branch]
    lines = [line.id for line in (select_lines(timeline, left, holding) if holding else left)]
    lost = [f"{c.id} (left)" for c in timeline.invalidated(branch, holding)]
    valid = [c.id for c in timeline.valid(branch)]
    return UnknownTargetError(
        what,
        wanted,
        known=[*valid, *lost, *lines, f"{START} (before every checkpoint)"],
        nearest=find_nearest(wanted, [*valid, *lines]),
    )


def find_nearest(wanted: str, known: Sequence[str]) -> str:
    """The known name that is most like it; '' if none is."""
    from difflib import get_close_matches  # noqa: PLC0415  # few calls end so

    return next(iter(get_close_matches(wanted, known, n=1)), "")
