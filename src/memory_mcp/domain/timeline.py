"""The timeline as a value: segments, what was left or forgotten, checkpoints, left lines.

Everything in it is a set that only grows, so two clones that moved apart are brought together by
union. A branch has one tip; after such a union it may have several, and then all of them are seen
until the next checkpoint joins them. Planning a move is `timeline.plans`; this module only knows
what a timeline looks like.
"""

from collections.abc import Callable, Iterable

from pydantic import Field, PrivateAttr

from memory_mcp.domain.ids import MAIN, ROOT, BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.record import Approval, Frozen, Record, Timestamp

__all__ = ["Checkpoint", "Head", "Line", "Segment", "Timeline"]


class Segment(Frozen):
    """The stretch between two checkpoints. Two parents only where two clones were joined."""

    id: SegmentId
    parents: tuple[SegmentId, ...]
    branch: BranchName
    move: RecordId


class Checkpoint(Frozen):
    """A restore point: everything in the segments it `seals` and in their ancestors."""

    id: CheckpointId
    phase: int | None = None
    summary: str = ""
    approval: Approval
    seals: tuple[SegmentId, ...]
    branch: BranchName
    move: RecordId
    at: Timestamp


class Line(Frozen):
    """What a backtrack or a restore left, going `back_to` somewhere: its id brings it back."""

    id: LineId
    tips: tuple[SegmentId, ...]
    back_to: tuple[SegmentId, ...] = ()
    branch: BranchName
    move: RecordId
    at: Timestamp


class Timeline(Frozen):
    """All segments of a project and what became of them."""

    segments: dict[SegmentId, Segment] = Field(default_factory=dict[SegmentId, Segment])
    left: frozenset[SegmentId] = frozenset()
    forgotten: frozenset[SegmentId] = frozenset()
    checkpoints: dict[CheckpointId, Checkpoint] = Field(
        default_factory=dict[CheckpointId, Checkpoint]
    )
    lines: dict[LineId, Line] = Field(default_factory=dict[LineId, Line])
    undone: frozenset[RecordId] = frozenset()
    moves: frozenset[RecordId] = frozenset()

    _chains: dict[BranchName, frozenset[SegmentId]] = PrivateAttr(
        default_factory=dict[BranchName, frozenset[SegmentId]]
    )

    @property
    def branches(self) -> tuple[BranchName, ...]:
        """Every branch there is, `main` first."""
        names = {segment.branch for segment in self.segments.values()} - {MAIN}
        return (MAIN, *sorted(names))

    def tips(self, branch: BranchName) -> tuple[SegmentId, ...]:
        """Where the branch stands, newest last: one segment, or several after a union."""
        opened = sorted(s.id for s in self.segments.values() if s.branch == branch)
        begun = [ROOT, *opened] if branch == MAIN else opened
        open_ = tuple(s for s in begun if s not in self.left and s not in self.forgotten)
        return open_ if len(open_) <= 1 else self._holding(branch, open_)

    def ancestors(self, starts: Iterable[SegmentId]) -> frozenset[SegmentId]:
        """The segments given and everything before them."""
        return _closure(starts, self._parents)

    def chain(self, branch: BranchName) -> frozenset[SegmentId]:
        """What is on the branch: its tips and all their ancestors, less what was forgotten."""
        if branch not in self._chains:
            self._chains[branch] = self.ancestors(self.tips(branch)) - self.forgotten
        return self._chains[branch]

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
        found = [c for c in waiting if chain.issuperset(c.seals)]
        return sorted(found, key=lambda c: (c.at, c.move))

    def valid(self, branch: BranchName) -> list[Checkpoint]:
        """The approved checkpoints on the branch, oldest first."""
        chain = self.chain(branch)
        return [c for c in self.decided() if chain.issuperset(c.seals)]

    def invalidated(self, branch: BranchName) -> list[Checkpoint]:
        """The approved checkpoints on roads that the branch left and can restore, oldest first."""
        chain = self.chain(branch)
        roads = [self.ancestors(line.tips) for line in self.left_lines() if line.branch == branch]
        return [
            c
            for c in self.decided()
            if not chain.issuperset(c.seals) and any(road.issuperset(c.seals) for road in roads)
        ]

    def left_lines(self) -> list[Line]:
        """The lines that can be brought back: not forgotten and on no branch, oldest first."""
        held = frozenset[SegmentId]().union(*(self.chain(b) for b in self.branches))
        left = [
            line
            for line in self.lines.values()
            if not held.issuperset(line.tips) and not self.forgotten.intersection(line.tips)
        ]
        return sorted(left, key=lambda line: (line.at, line.move))

    def given_up(self, line: Line) -> frozenset[SegmentId]:
        """What going back from the line gave up, whatever has grown on it since elsewhere."""
        return self.ancestors(line.tips) - self.ancestors(line.back_to)

    def in_effect(self, branch: BranchName) -> list[Line]:
        """The lines of the branch that were left and not restored."""
        lines = [line for line in self.lines.values() if line.branch == branch]
        return [line for line in lines if line.move not in self.undone]

    def _holding(self, branch: BranchName, tips: tuple[SegmentId, ...]) -> tuple[SegmentId, ...]:
        """After a union: the tips that do not stand on what one of the clones has given up."""
        gone = self.forgotten.union(*(self.given_up(line) for line in self.in_effect(branch)))
        held = tuple(tip for tip in tips if not gone.intersection(self.ancestors([tip])))
        return held or tips[-1:]

    def _parents(self, segment: SegmentId) -> tuple[SegmentId, ...]:
        known = self.segments.get(segment)
        return known.parents if known else ()


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
    them one by one loses nothing: whoever looks next writes them.
    """

    project: str
    revision: int = 0
    timeline: Timeline = Timeline()
    last: Record | None = None
    with_last: tuple[Record, ...] = ()
