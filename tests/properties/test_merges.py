"""No sequence of adds, merges, corrections and backtracks loses a fact that nobody contradicted."""

import asyncio
import tempfile
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from depth import depth
from fakes import FakeClock, FakeIds, close_workspace, real_workspace
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memory_mcp import branches, memories, search
from memory_mcp.domain.deduplication import MergePolicy
from memory_mcp.domain.outcomes import (
    AlreadyKnown,
    Backtracked,
    CheckpointSaved,
    MemoryAdded,
    SearchResults,
)
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Policy, Workspace

T = TypeVar("T")

_WAYS = {
    "city": "{} lives in {}.",
    "age": "{} is {} years old.",
    "game": "{} plays {} on Sundays.",
    "limit": "The retry limit of {} is {}.",
}
_VALUES = {
    "city": ["Berlin", "Hamburg", "Rome"],
    "age": ["30", "31", "32"],
    "game": ["chess", "go"],
    "limit": ["3", "5"],
}
_STATED = Filters(kinds=frozenset[Kind]({"fact"}))
_EAGER = Policy(approval="auto", merging=MergePolicy(check_low=0.3))


@dataclass(frozen=True)
class Fact:
    """Something that is true of somebody; another value contradicts it."""

    who: str
    what: str
    value: str

    @property
    def said(self) -> str:
        return _WAYS[self.what].format(self.who, self.value)

    def about_the_same_as(self, other: "Fact") -> bool:
        return (self.who, self.what) == (other.who, other.what)


@dataclass
class Road:
    """What was stated, in order, up to here."""

    stated: list[Fact] = field(default_factory=list[Fact])

    @property
    def holds(self) -> list[Fact]:
        """The last word on each thing."""
        return [
            fact
            for at, fact in enumerate(self.stated)
            if not any(fact.about_the_same_as(later) for later in self.stated[at + 1 :])
        ]


FACTS = st.sampled_from(
    [
        Fact(who, what, value)
        for who in ("Ada", "Bob")
        for what, values in _VALUES.items()
        for value in values
    ]
)


def one_each(facts: Sequence[Fact]) -> list[Fact]:
    """Nobody contradicts themselves in one breath."""
    return list({(fact.who, fact.what): fact for fact in facts}.values())


class MergingMemory(RuleBasedStateMachine):
    """Real use cases over real files; where they can be, two memories become one."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.workspace = self.open()
        self.other = self.open(process=1)
        self.road = Road()
        self.sealed: dict[str, list[Fact]] = {}
        self.left: dict[str, list[Fact]] = {}

    def open(self, process: int = 0) -> Workspace:
        folder = Path(self.temporary.name)
        return real_workspace(folder, self.clock, FakeIds(process), policy=_EAGER)

    def teardown(self) -> None:
        self.run(close_workspace(self.workspace))
        self.run(close_workspace(self.other))
        self.runner.close()
        self.temporary.cleanup()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    def seen(self) -> list[Record]:
        found: dict[str, Record] = {}
        for who in ("Ada", "Bob"):
            outcome = self.run(search.search_memories(self.workspace, who, _STATED, 10))
            assert isinstance(outcome, SearchResults)
            found.update((hit.record.id, hit.record) for hit in outcome.hits)
        outcome = self.run(search.search_memories(self.workspace, "", _STATED, 10))
        assert isinstance(outcome, SearchResults)
        return [*(found | {hit.record.id: hit.record for hit in outcome.hits}).values()]

    @rule(facts=st.lists(FACTS, min_size=1, max_size=3).map(one_each), other=st.booleans())
    def remember(self, facts: list[Fact], *, other: bool) -> None:
        self.clock.advance(timedelta(seconds=1))
        text = " ".join(fact.said for fact in facts)
        outcome = self.run(
            memories.add_memory(self.other if other else self.workspace, Draft(text))
        )
        assert isinstance(outcome, MemoryAdded | AlreadyKnown)
        if isinstance(outcome, MemoryAdded):
            assert not {record.id for record in self.seen()} & set(outcome.replaced)
        self.road.stated += facts

    @rule(pick=st.integers(0, 99))
    def forget(self, pick: int) -> None:
        """What a memory says goes with it, and nothing else does."""
        self.clock.advance(timedelta(seconds=1))
        if not (there := self.seen()):
            return
        gone = there[pick % len(there)]
        self.run(memories.forget_memory(self.workspace, gone.id, "", erase=True))
        said = [fact for fact in self.road.stated if fact.said.rstrip(".") in gone.content]
        self.road.stated = [
            fact
            for fact in self.road.stated
            if not any(fact.about_the_same_as(other) for other in said)
        ]
        self.sealed, self.left = {}, {}  # it may have been said on those roads as well

    @rule(fact=FACTS)
    def correct(self, fact: Fact) -> None:
        """The memory that holds the old value gets the new one."""
        self.clock.advance(timedelta(seconds=1))
        for old in self.road.holds:
            for record in self.seen():
                if fact.about_the_same_as(old) and old.said in record.content:
                    text = record.content.replace(old.said, fact.said)
                    self.run(memories.update_memory(self.workspace, record.id, text))
                    # whatever else it says is said again with it
                    self.road.stated += [f for f in self.road.holds if f.said in text]
                    self.road.stated.append(fact)
                    return

    @rule()
    def seal(self) -> None:
        self.clock.advance(timedelta(seconds=1))
        if len(self.sealed) < 4:
            done = self.run(
                branches.checkpoint(
                    self.workspace, "a place", None, again=True, approval="approved"
                )
            )
            assert isinstance(done, CheckpointSaved)
            self.sealed[done.checkpoint.id] = list(self.road.stated)

    @rule(pick=st.integers(0, 99))
    def go_back(self, pick: int) -> None:
        self.clock.advance(timedelta(seconds=1))
        if not self.sealed:
            return
        names = list(self.sealed)
        to = names[pick % len(names)]
        done = self.run(branches.backtrack(self.workspace, to, "continue"))
        assert isinstance(done, Backtracked)
        if done.line:
            self.left = {done.line: list(self.road.stated)}
        self.road = Road(list(self.sealed[to]))
        self.sealed = {name: self.sealed[name] for name in names[: names.index(to) + 1]}

    @rule()
    def come_back(self) -> None:
        self.clock.advance(timedelta(seconds=1))
        for line, stated in self.left.items():
            done = self.run(branches.backtrack(self.workspace, line, "continue"))
            assert isinstance(done, Backtracked)
            self.road = Road(list(stated))
        self.left = {}
        self.sealed = {}

    @rule()
    def another_session(self) -> None:
        self.run(close_workspace(self.workspace))
        for path in Path(self.temporary.name).rglob("index.sqlite3*"):
            path.unlink()
        self.workspace = self.open()

    @invariant()
    def nothing_that_holds_is_lost(self) -> None:
        texts = [record.content for record in self.seen()]
        for fact in self.road.holds:
            assert any(fact.said.rstrip(".") in text for text in texts), (fact.said, texts)


MergingMemory.TestCase.settings = settings(
    max_examples=depth(2, 25), stateful_step_count=18
)  # fmt: skip
TestMergingMemory = MergingMemory.TestCase
