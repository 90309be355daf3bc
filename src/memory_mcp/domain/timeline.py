"""The timeline as a value: segments, checkpoints, left lines, and the phase that they lead to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, PrivateAttr

from memory_mcp.domain.forms import (
    Branch,
    CheckpointName,
    Id,
    LineName,
    Name,
    Number,
    Phase,
    Place,
    Places,
    Summary,
)
from memory_mcp.domain.ids import (
    MAIN,
    ROOT,
    BranchName,
    CheckpointId,
    LineId,
    RecordId,
    SegmentId,
    line_id,
    time_of,
)
from memory_mcp.domain.limits import LINEAGE_SEGMENTS_MAX, REVISION_MAX, TIMELINE_SEGMENTS_MAX
from memory_mcp.domain.record import Approval, Frozen, Lineage, Record, Timestamp

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Segment(Frozen):
    """The stretch between two checkpoints. Two parents only where two clones were joined."""

    id: Place
    parents: Places
    branch: Branch
    move: Id


class Checkpoint(Frozen):
    """A restore point: everything in the segments it `seals` and in their ancestors."""

    id: CheckpointName
    phase: Phase | None = None
    summary: Summary = ""
    approval: Approval
    seals: Places
    branch: Branch
    move: Id
    at: Timestamp


class Line(Frozen):
    """What a backtrack or a restore (`move`) left: its id brings it back."""

    id: LineName
    tips: Places
    branch: Branch
    move: Id | None = None
    at: Timestamp


_MANY: Final = Field(max_length=TIMELINE_SEGMENTS_MAX)


class GivenUp(Frozen):
    """What one backtrack or restore took off a branch."""

    branch: Branch
    segments: Annotated[frozenset[Place], _MANY]


class Restoring(NamedTuple):
    """Going back onto a left line: the moves it undoes, what it gives up, and what then holds."""

    undoes: tuple[RecordId, ...]
    gives_up: frozenset[SegmentId]
    chain: frozenset[SegmentId]


class Timeline(Frozen):
    """All segments of a project and what became of them.

    A branch holds what was begun on it and what it was forked from (`bases`), less what a move gave
    up (`given_up`) that was not taken back (`undone`), and what has grown on that. So it does not
    matter which other segments are known: of those between two nothing may be here, because
    another git branch has their files.
    """

    segments: Annotated[dict[SegmentId, Segment], _MANY] = Field(
        default_factory=dict[SegmentId, Segment]
    )
    left: Annotated[frozenset[Place], _MANY] = frozenset()
    forgotten: Annotated[frozenset[Place], _MANY] = frozenset()
    checkpoints: Annotated[dict[CheckpointId, Checkpoint], _MANY] = Field(
        default_factory=dict[CheckpointId, Checkpoint]
    )
    lines: Annotated[dict[LineId, Line], _MANY] = Field(default_factory=dict[LineId, Line])
    given_up: Annotated[dict[Id, GivenUp], _MANY] = Field(default_factory=dict[RecordId, GivenUp])
    undone: Annotated[frozenset[Id], _MANY] = frozenset()
    bases: Annotated[dict[Branch, frozenset[Place]], _MANY] = Field(
        default_factory=dict[BranchName, frozenset[SegmentId]]
    )
    moves: Annotated[frozenset[Id], _MANY] = frozenset()

    _standings: dict[BranchName, "_Standing"] = PrivateAttr(
        default_factory=dict[BranchName, "_Standing"]
    )
    _olders: dict[tuple[SegmentId, BranchName], list[SegmentId]] = PrivateAttr(
        default_factory=dict[tuple[SegmentId, BranchName], list[SegmentId]]
    )

    @property
    def branches(self) -> tuple[BranchName, ...]:
        """Every branch there is, `main` first."""
        names = {segment.branch for segment in self.segments.values()} - {MAIN}
        return (MAIN, *sorted(names))

    def tips(self, branch: BranchName) -> tuple[SegmentId, ...]:
        """Where the branch stands, newest last: one segment, or several after a union."""
        return self._standing(branch).tips

    def ancestors(self, starts: Iterable[SegmentId]) -> frozenset[SegmentId]:
        """The segments given and everything before them."""
        return _closure(starts, self._before)

    def chain(self, branch: BranchName) -> frozenset[SegmentId]:
        """What is on the branch."""
        return self._standing(branch).chain

    def descendants(self, starts: Iterable[SegmentId]) -> frozenset[SegmentId]:
        """The segments given and everything that grew from them."""
        children: dict[SegmentId, list[SegmentId]] = {}
        for segment in self.segments.values():
            for parent in segment.parents:
                children.setdefault(parent, []).append(segment.id)
        return _closure(starts, lambda segment: children.get(segment, ()))

    def decided(self) -> list[Checkpoint]:
        """The checkpoints somebody approved, oldest first."""
        found = [c for c in self.checkpoints.values() if c.approval in ("approved", "auto")]
        return sorted(found, key=lambda c: (c.at, c.move))

    def pending(self, branch: BranchName) -> list[Checkpoint]:
        """The checkpoints on the branch that nobody has decided yet, oldest first."""
        chain = self.chain(branch)
        waiting = [c for c in self.checkpoints.values() if c.approval == "pending"]
        found = [c for c in waiting if self._known(c.seals) <= chain]
        return sorted(found, key=lambda c: (c.at, c.move))

    def valid(self, branch: BranchName) -> list[Checkpoint]:
        """The approved checkpoints on the branch, oldest first."""
        chain = self.chain(branch)
        return [c for c in self.decided() if self._known(c.seals) <= chain]

    def invalidated(
        self, branch: BranchName, holding: Iterable[SegmentId] = ()
    ) -> list[Checkpoint]:
        """The approved checkpoints on roads that the branch left and can restore, oldest first."""
        chain = self.chain(branch)
        lines = self.left_lines(holding)
        roads = [self.ancestors(line.tips) for line in lines if line.branch == branch]
        return [
            c
            for c in self.decided()
            if not self._known(c.seals) <= chain and any(road.issuperset(c.seals) for road in roads)
        ]

    def left_lines(self, holding: Iterable[SegmentId] = ()) -> list[Line]:
        """The lines that can be brought back: not forgotten and on no branch, oldest first.

        Of the segments `holding` records, those that are on no branch and that none of these lines
        would bring make lines of their own: another clone wrote there, unaware that the road was
        left or forgotten, or the move that left them is a file of another git branch.
        """
        held = frozenset[SegmentId]().union(*(self.chain(b) for b in self.branches))
        left = [
            line
            for line in self.lines.values()
            if not held.issuperset(line.tips) and not self.forgotten.intersection(line.tips)
        ]
        lying = frozenset[SegmentId]().union(*(self.ancestors(line.tips) for line in left))
        adrift = frozenset(holding) - held - lying
        for line in left if adrift else ():
            adrift -= self.restoring(line.branch, line).chain
        left += self._adrift(adrift)
        return sorted(left, key=lambda line: (line.at, line.move or ""))

    def restoring(self, branch: BranchName, line: Line) -> "Restoring":
        """What going back onto a line that the branch left would take back, and give up."""
        back = self.ancestors(line.tips)
        undoes = self.undone_by(branch, back)
        freed = frozenset[SegmentId]().union(*(self.given_up[move].segments for move in undoes))
        gives_up = (self.chain(branch) | freed) - back
        return Restoring(undoes, gives_up, self.chain_after(branch, line.tips, gives_up, undoes))

    def undone_by(self, branch: BranchName, back: frozenset[SegmentId]) -> tuple[RecordId, ...]:
        """The moves in effect on the branch that gave up some of what is to come back."""
        return tuple(
            sorted(
                move
                for move, given_up in self.given_up.items()
                if given_up.branch == branch
                and move not in self.undone
                and given_up.segments & back
            )
        )

    def chain_after(
        self,
        branch: BranchName,
        parents: Iterable[SegmentId],
        gives_up: frozenset[SegmentId],
        undoes: Iterable[RecordId] = (),
    ) -> frozenset[SegmentId]:
        """What would be on the branch after a move."""
        standing = self._stands(branch, self._gone(branch, undoes) | gives_up)
        return self.ancestors(parents).union(standing.chain if standing else ())

    def lineage(self, branch: BranchName, segment: SegmentId | None = None) -> Lineage:
        """What a record on the branch tells of its place, so that it can do without other files.

        Of what was given up, of what was undone and of the base the newest count if it is too much.
        """
        known = self.segments.get(segment) if segment else None
        own = self._own(branch)
        base = sorted(self.chain(branch).difference(own), key=_age)
        given_up: dict[RecordId, tuple[SegmentId, ...]] = {}
        room = LINEAGE_SEGMENTS_MAX
        for move, each in sorted(self.given_up.items(), reverse=True):
            if each.branch == branch and move not in self.undone and room > 0:
                given_up[move] = tuple(sorted(each.segments, key=_age)[-room:])
                room -= len(given_up[move])
        undone = {m for m in self.undone if m not in self.given_up or self._is_on(m, branch)}
        return Lineage(
            move=known.move if known else None,
            parents=known.parents if known else (),
            given_up=given_up,
            undone=tuple(sorted(undone)[-LINEAGE_SEGMENTS_MAX:]),
            base=tuple(base[-LINEAGE_SEGMENTS_MAX:]) if branch != MAIN else (),
        )

    def _gone(self, branch: BranchName, undoes: Iterable[RecordId] = ()) -> frozenset[SegmentId]:
        """What moves on the branch gave up and nobody took back."""
        undone = self.undone.union(undoes)
        return frozenset[SegmentId]().union(
            *(
                given_up.segments
                for move, given_up in self.given_up.items()
                if given_up.branch == branch and move not in undone
            )
        )

    def _is_on(self, move: RecordId, branch: BranchName) -> bool:
        return self.given_up[move].branch == branch

    def _known(self, segments: Iterable[SegmentId]) -> set[SegmentId]:
        return {s for s in segments if s in self.segments or s == ROOT}

    def _own(self, branch: BranchName) -> list[SegmentId]:
        """What was begun on the branch, oldest first."""
        opened = sorted(s.id for s in self.segments.values() if s.branch == branch)
        return [ROOT, *opened] if branch == MAIN else opened

    def _standing(self, branch: BranchName) -> "_Standing":
        if branch not in self._standings:
            standing = self._stands(branch, self._gone(branch))
            if standing is None:  # in a union each clone has given up what the other stands on
                newest = tuple([s for s in self._own(branch) if s not in self.forgotten][-1:])
                standing = _Standing(newest, self.ancestors(newest))
            self._standings[branch] = standing
        return self._standings[branch]

    def _stands(self, branch: BranchName, gone: frozenset[SegmentId]) -> "_Standing | None":
        off = self.descendants(gone)
        holds = [segment for segment in self._own(branch) if segment not in off]
        if not holds:
            return None
        before = frozenset[SegmentId]().union(*(self._before(segment) for segment in holds))
        stood_on = self.ancestors(before)
        tips = tuple(segment for segment in holds if segment not in stood_on)
        base = self.bases.get(branch, frozenset[SegmentId]())
        return _Standing(tips, stood_on.union(tips, base) - off)

    def _adrift(self, segments: frozenset[SegmentId]) -> list[Line]:
        """A line for each of the newest of these segments."""
        stood_on = frozenset[SegmentId]().union(
            *(self.ancestors([segment]) - {segment} for segment in segments)
        )
        lines = [
            Line(
                id=LineId(f"{line_id(time_of(tip))}-{tip[-8:]}"),
                tips=(tip,),
                branch=self.segments[tip].branch,
                at=time_of(tip),
            )
            for tip in segments - stood_on
            if tip in self.segments
        ]
        if ROOT in segments - stood_on:
            lines.append(Line(id=line_id(_EPOCH), tips=(ROOT,), branch=MAIN, at=_EPOCH))
        return lines

    def _before(self, segment: SegmentId) -> Iterable[SegmentId]:
        """What the segment stands on.

        If one of its parents is not known, no record is here that could tell where that one stood.
        It stood on what is older on the same branch and was not given up without it.
        """
        known = self.segments.get(segment)
        if known is None:
            return () if segment == ROOT else self._before_unknown(segment)
        unknown = [p for p in known.parents if p not in self.segments and p != ROOT]
        older = [s for p in unknown for s in self._older(p, known.branch)]
        return (*known.parents, *older)

    def _before_unknown(self, segment: SegmentId) -> Iterable[SegmentId]:
        """A branch that was forked from it names all that it stood on; else as for a parent."""
        bases = [base for base in self.bases.values() if segment in base]
        if not bases:
            return self._older(segment, self._branch_of(segment))
        return [s for base in bases for s in base if _age(s) < _age(segment)]

    def _older(self, segment: SegmentId, branch: BranchName) -> list[SegmentId]:
        if (segment, branch) not in self._olders:
            gone_with = self._given_up_by(segment, branch)
            older = [
                s
                for s in self._own(branch)
                if _age(s) < _age(segment) and self._given_up_by(s, branch) <= gone_with
            ]
            self._olders[segment, branch] = [*older, *self.bases.get(branch, ())]
        return self._olders[segment, branch]

    def _given_up_by(self, segment: SegmentId, branch: BranchName) -> frozenset[RecordId]:
        return frozenset(
            move
            for move, given_up in self.given_up.items()
            if given_up.branch == branch
            and move not in self.undone
            and segment in given_up.segments
        )

    def _branch_of(self, unknown: SegmentId) -> BranchName:
        there = (g.branch for g in self.given_up.values() if unknown in g.segments)
        return next(there, MAIN)


@dataclass(frozen=True)
class _Standing:
    """The tips of a branch, and everything that it holds."""

    tips: tuple[SegmentId, ...]
    chain: frozenset[SegmentId]


def _age(segment: SegmentId) -> tuple[bool, SegmentId]:
    """Ids are made in the order of time; only the first segment has none."""
    return segment != ROOT, segment


def _closure(
    starts: Iterable[SegmentId], onward: Callable[[SegmentId], Iterable[SegmentId]]
) -> frozenset[SegmentId]:
    seen: set[SegmentId] = set()
    waiting = list(starts)
    while waiting:
        segment = waiting.pop()
        if segment not in seen:
            seen.add(segment)
            waiting.extend(onward(segment))
    return frozenset(seen)


class Head(Frozen):
    """Where a project stands: its timeline, numbered, with what was written last kept whole.

    `last` is the last move, and `with_last` are the records that were written in one step with it,
    or after it without a move. They are there so that a cut between replacing the head and writing
    them one by one loses nothing: whoever looks next writes them. Once they have their files the
    head lets go of them: a file that is missing later was taken away, by git or by hand, and nobody
    puts it back.
    """

    project: Name
    revision: Number = Field(default=0, ge=0, le=REVISION_MAX)
    timeline: Timeline = Timeline()
    last: Record | None = None
    with_last: tuple[Record, ...] = ()


@dataclass(frozen=True)
class CurrentPhase:
    """The phase and who says so: the session's setting, a transition, or the last checkpoint."""

    number: int | None = None
    by: Literal["setting", "transition", "checkpoint", ""] = ""

    @property
    def worked_on(self) -> int | None:
        """The phase that is under way; one that a checkpoint has sealed is not."""
        return None if self.by == "checkpoint" else self.number


@dataclass(frozen=True)
class PhaseStep:
    """The project moved to a phase, or a checkpoint sealed it."""

    at: datetime
    number: int
    sealed: CheckpointId | None = None


@dataclass(frozen=True)
class Phases:
    """The phase now, and how the project got there, oldest first."""

    now: CurrentPhase
    steps: tuple[PhaseStep, ...]


@dataclass(frozen=True)
class PhaseMoved:
    """The project is in that phase; without a record it was there already."""

    number: int
    record: Record | None
    notes: tuple[str, ...] = ()
