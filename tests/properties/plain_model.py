"""What a coherent memory is, told a second time and as simply as can be.

Written from the design (its glossary) and from the docstring of `timeline.visibility`; it shares no
code with the package, no index, no files, no folding of moves. Segments are numbers, a road is the
way from a segment back to the beginning.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

Seg = int
Place = Literal["project", "team", "user"]
Nature = Literal["memory", "summary", "unseen"]
"""A summary of a checkpoint is found but not counted; tombstones and pending ones are not found."""

BEGINNING: Final[Seg] = 0
DURABLE: Final = {"preference", "convention", "pattern", "identity", "lesson"}


@dataclass(frozen=True)
class Entry:
    """One record. `segment` is None for what lives outside the timeline."""

    number: int
    word: str
    kind: str
    nature: Nature
    bank: Place
    segment: Seg | None
    hides: frozenset[int] = frozenset()
    expires: datetime | None = None
    id: str = ""


@dataclass(frozen=True)
class Seal:
    """A checkpoint: pending, approved, auto or skipped."""

    id: str
    segment: Seg
    phase: int | None
    state: str
    branch: str
    word: str


@dataclass(frozen=True)
class Left:
    """A road that a backtrack or a restore left."""

    tip: Seg
    branch: str


@dataclass(frozen=True)
class Move:
    """Where a backtrack or a restore leads and what it does to the memories."""

    parent: Seg | None
    hidden: set[str]
    brought: set[str]
    doomed: set[Seg]
    erases: int


@dataclass
class PlainModel:
    entries: list[Entry] = field(default_factory=list[Entry])
    parents: dict[Seg, Seg | None] = field(default_factory=lambda: {BEGINNING: None})
    tips: dict[str, Seg] = field(default_factory=lambda: {"main": BEGINNING})
    seals: dict[str, Seal] = field(default_factory=dict[str, Seal])
    lines: dict[str, Left] = field(default_factory=dict[str, Left])
    forgotten: set[Seg] = field(default_factory=set[Seg])
    erased: set[str] = field(default_factory=set[str])
    written: int = 0

    # reading

    def road(self, start: Seg | None) -> set[Seg]:
        """The segment and all before it."""
        found: set[Seg] = set()
        while start is not None:
            found.add(start)
            start = self.parents[start]
        return found

    def on(self, branch: str) -> set[Seg]:
        return self.road(self.tips[branch])

    def holds(self, road: set[Seg], now: datetime) -> list[Entry]:
        """Everything that is found from here, in the order in which it was written."""
        reached = [e for e in self.entries if e.segment is None or e.segment in road]
        hidden = {number for e in reached for number in e.hides}
        return [
            e
            for e in reached
            if e.nature != "unseen"
            and e.number not in hidden
            and (e.expires is None or e.expires > now)
        ]

    def memories(self, road: set[Seg], now: datetime, bank: str = "project") -> set[str]:
        return {e.word for e in self.holds(road, now) if e.nature == "memory" and e.bank == bank}

    def valid(self, branch: str) -> list[Seal]:
        return [s for s in self._decided() if s.segment in self.on(branch)]

    def invalidated(self, branch: str) -> list[Seal]:
        road = self.on(branch)
        back = {seg for tip in self.left(branch).values() for seg in self.road(tip)}
        return [s for s in self._decided() if s.segment not in road and s.segment in back]

    def refuses(self, branch: str, phase: int | None) -> bool:
        """Whether the branch has sealed this phase or a later one."""
        if phase is None:
            return False
        return any(s.phase is not None and s.phase >= phase for s in self.valid(branch))

    def pending(self, branch: str) -> list[Seal]:
        road = self.on(branch)
        return [s for s in self.seals.values() if s.state == "pending" and s.segment in road]

    def left(self, branch: str) -> dict[str, Seg]:
        """The lines of the branch that can be brought back."""
        gone = self.forgotten.union(*(self.on(b) for b in self.tips))
        return {
            name: line.tip
            for name, line in self.lines.items()
            if line.branch == branch and line.tip not in gone
        }

    def carrying(self, branch: str, seal: Seal) -> list[Seg]:
        """The tips of the longest left lines that the checkpoint lies on."""
        tips = {tip for tip in self.left(branch).values() if seal.segment in self.road(tip)}
        return [t for t in tips if not any(self.road(t) < self.road(other) for other in tips)]

    def going_to(self, branch: str, target: Seg | None, now: datetime) -> Move:
        """What moving the branch to the target would do; `doomed` only if it is told to forget."""
        here, there = self.on(branch), self.road(target)
        before, after = self.memories(here, now), self.memories(there, now)
        hidden = here - there
        grown = {s for s in self.parents if self.road(s) & hidden}
        others = [b for b in self.tips if b != branch]
        kept = there.union(*(self.on(b) for b in others))
        kept |= {seg for b in others for tip in self.left(b).values() for seg in self.road(tip)}
        doomed = grown - kept
        erases = sum(e.segment in doomed for e in self.entries)
        return Move(target, before - after, after - before, doomed, erases)

    # writing

    def write(
        self,
        word: str,
        kind: str,
        *,
        nature: Nature = "memory",
        bank: Place = "project",
        segment: Seg | None = None,
        hides: Iterable[Entry] = (),
        expires: datetime | None = None,
        id_: str = "",
    ) -> None:
        numbers = frozenset(e.number for e in hides)
        self.written += 1
        self.entries.append(
            Entry(self.written, word, kind, nature, bank, segment, numbers, expires, id_)
        )

    def bury(self, target: Entry, branch: str, *, erase: bool) -> None:
        """Hide from here on, or take the memory's place and go on hiding what it hid."""
        place = target.segment if erase else self.tips[branch]
        segment = None if target.segment is None else place
        also = {e for e in self.entries if erase and e.number in target.hides}
        self.write(
            "", "tombstone", nature="unseen", bank=target.bank, segment=segment,
            hides={target, *also},
        )  # fmt: skip
        if erase:
            self._erase([target])
            # what was hidden stays hidden, though the one that hid it is no more
            grave = self.entries[-1]
            self.entries[-1] = replace(grave, kind="erasure", hides=grave.hides | target.hides)

    def seal(self, seal: Seal, branch: str, record_id: str) -> None:
        decided = seal.state in ("approved", "auto")
        self.seals[seal.id] = seal
        self.write(
            seal.word, "checkpoint", nature="summary" if decided else "unseen",
            segment=seal.segment, id_=record_id,
        )  # fmt: skip
        self.tips[branch] = self._grow(seal.segment)

    def decide(self, name: str, state: str, word: str) -> None:
        asked = self.seals[name]
        self.seals[name] = replace(asked, state=state, word=word)
        nature: Nature = "unseen" if state == "skipped" else "summary"
        self.write(word, "checkpoint", nature=nature, segment=asked.segment)

    def fork(self, branch: str, name: str, at: Seal | None) -> None:
        if at is None:  # both go on from here, each on its own
            here = self.tips[branch]
            self.tips[branch] = self._grow(here)
            self.tips[name] = self._grow(here)
        else:
            self.tips[name] = self._grow(at.segment)

    def move(self, branch: str, move: Move, *, line: str | None, forget: bool) -> None:
        if line is not None:
            self.lines[line] = Left(self.tips[branch], branch)
        self.tips[branch] = self._grow(move.parent)
        if forget:
            self.forgotten |= move.doomed
            self._erase([e for e in self.entries if e.segment in move.doomed])
            for seal in list(self.seals.values()):
                if seal.segment in move.doomed:
                    del self.seals[seal.id]

    def _decided(self) -> list[Seal]:
        return [s for s in self.seals.values() if s.state in ("approved", "auto")]

    def _grow(self, parent: Seg | None) -> Seg:
        segment = len(self.parents)
        self.parents[segment] = parent
        return segment

    def _erase(self, gone: list[Entry]) -> None:
        self.entries = [e for e in self.entries if e not in gone]
        left = {e.word for e in self.entries}
        self.erased |= {e.word for e in gone if e.word} - left
