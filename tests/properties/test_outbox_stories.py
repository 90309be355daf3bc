"""The outbox, whatever is done to it and by whom, is what the plain model says."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from outbox_model import PlainOutbox
from outboxes import Doors, some

from memory_mcp.domain.cloud import (
    Accepted,
    Claim,
    Dead,
    Done,
    Dropped,
    Fate,
    Later,
    Letter,
    Lost,
    Standing,
)
from memory_mcp.domain.ids import RecordId

T = TypeVar("T")

RECORDS = st.sampled_from(some(4))
LETTERS = st.lists(
    st.builds(Letter, RECORDS, st.sampled_from(["add", "delete"]), st.booleans()), max_size=4
)
DOORS = st.integers(0, 1)
SECONDS = st.integers(0, 5)

FATES: st.SearchStrategy[Fate] = st.one_of(
    st.builds(Accepted, SECONDS),
    st.just(Done()),
    st.builds(Later, SECONDS, st.just("later"), st.booleans(), st.booleans()),
    st.builds(Lost, SECONDS, st.just("lost")),
    st.just(Dead("dead")),
    st.just(Dropped()),
)


class TwoProcesses(RuleBasedStateMachine):
    """Two outboxes over one file, used in turn, and their claims, which may be late or stale."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory()
        self.doors = Doors(Path(self.temporary.name) / "outbox.sqlite3")
        self.open = [self.doors.open(), self.doors.open()]
        self.model = PlainOutbox()
        self.held: list[tuple[Claim, int, list[int]]] = []
        self.now = 0
        self.standing = Standing()
        self.seen = False

    def teardown(self) -> None:
        self.run(self.doors.aclose())
        self.runner.close()
        self.temporary.cleanup()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    @rule(letters=LETTERS, door=DOORS)
    def note(self, letters: list[Letter], door: int) -> None:
        self.run(self.open[door].note(letters, self.now))
        self.model.note(letters, self.now)

    @rule(door=DOORS, seconds=SECONDS)
    def claim(self, door: int, seconds: int) -> None:
        until = self.now + 1 + seconds
        found = self.run(self.open[door].claim(self.now, until))
        number, parcels = self.model.claim(self.now, until)
        ours = [replace(p, seq=0) for p in found.parcels] if found else []
        assert ours == [replace(p, seq=0) for p in parcels], "their numbers are the file's affair"
        if found:
            assert {(found.op, found.stage)} == {(p.op, p.stage) for p in parcels}
            self.held.append((found, number, [p.seq for p in parcels]))

    @rule(pick=st.integers(0, 99), fates=st.lists(FATES, min_size=1, max_size=4), door=DOORS)
    def settle(self, pick: int, fates: list[Fate], door: int) -> None:
        """Any claim that was ever made, the last ones rather; any part of it."""
        if not self.held:
            return
        claimed, number, seqs = self.held[-1 - pick % min(4, len(self.held))]
        timed = [self.timed(fate) for fate in fates]
        theirs = [parcel.seq for parcel in claimed.parcels]
        self.run(self.open[door].settle(claimed, dict(zip(theirs, timed, strict=False))))
        self.model.settle(number, dict(zip(seqs, timed, strict=False)))

    def timed(self, fate: Fate) -> Fate:
        if isinstance(fate, Accepted | Later | Lost):
            return replace(fate, due=self.now + fate.due)
        return fate

    @rule(seconds=SECONDS)
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(door=DOORS)
    def hurry(self, door: int) -> None:
        self.run(self.open[door].hurry(self.now))
        self.model.hurry(self.now)

    @rule(records=st.sets(RECORDS, max_size=2), door=DOORS)
    def mark(self, records: set[RecordId], door: int) -> None:
        self.run(self.open[door].mark(records))
        self.model.mark(records)

    @rule(door=DOORS)
    def begin_again(self, door: int) -> None:
        """A process ends, and another one starts."""
        self.run(self.open[door].aclose())
        self.open[door] = self.doors.open()

    @rule(door=DOORS, failures=SECONDS, done=st.booleans())
    def stand(self, door: int, failures: int, done: bool) -> None:  # noqa: FBT001  # drawn
        self.standing, self.seen = Standing(failures, self.now, "b", "r"), done
        self.run(self.open[door].stand(self.standing))
        self.run(self.open[door].see_all(done=done))

    @invariant()
    def both_say_what_the_model_says(self) -> None:
        told = replace(self.model.tally(), standing=self.standing)
        for outbox in self.open:
            assert self.run(outbox.tally()) == told
            assert self.run(outbox.known()) == self.model.known()
            assert self.run(outbox.gone()) == self.model.gone()
            assert self.run(outbox.seen_all()) is self.seen


def drive(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        TwoProcesses,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None),
    )


def test_an_outbox_is_what_the_plain_model_says() -> None:
    """Whichever process does what, in whatever order, and however late."""
    drive(examples=30, steps=40)


@pytest.mark.slow
def test_an_outbox_is_what_the_plain_model_says_for_long() -> None:
    """The same with many more and longer stories."""
    drive(examples=800, steps=60)
