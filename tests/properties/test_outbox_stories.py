"""The outbox, whatever is done to it and by whom, is what the plain model says."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from depth import depth, parts
from hypothesis import given, settings
from hypothesis import strategies as st
from outbox_model import PlainOutbox
from outboxes import Doors, some

from memory_mcp.domain.cloud import (
    Accepted,
    CircuitState,
    Confirmed,
    DeadLettered,
    DeliveryOutcome,
    Dropped,
    Lease,
    NewEntry,
    RetryLater,
    Vanished,
)
from memory_mcp.domain.ids import RecordId

T = TypeVar("T")

RECORDS = st.sampled_from(some(2))
LETTERS = st.lists(
    st.builds(NewEntry, RECORDS, st.sampled_from(["add", "add", "delete"]), st.booleans()),
    min_size=1,
    max_size=2,
)
DOORS = st.integers(0, 1)
SECONDS = st.integers(0, 3)

FATES: st.SearchStrategy[DeliveryOutcome] = st.one_of(
    st.builds(RetryLater, SECONDS, st.sampled_from(["", "later"]), st.booleans(), st.booleans()),
    st.builds(Accepted, SECONDS),
    st.builds(Vanished, SECONDS, st.just("lost")),
    st.just(Confirmed()),
    st.just(DeadLettered("dead")),
    st.just(Dropped()),
)


class TwoProcesses:
    """Two outboxes over one file, used in turn, and their claims, which may be late or stale."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory()
        self.doors = Doors(Path(self.temporary.name) / "outbox.sqlite3")
        self.open = [self.doors.open(), self.doors.open()]
        self.model = PlainOutbox()
        self.held: list[tuple[Lease, int, list[int]]] = []
        self.now = 0
        self.circuit = CircuitState()
        self.seen = ""

    def close(self) -> None:
        self.run(self.doors.aclose())
        self.runner.close()
        self.temporary.cleanup()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    def note(self, door: int, letters: list[NewEntry]) -> None:
        self.run(self.open[door].note(letters, self.now))
        self.model.note(letters, self.now)

    def claim(self, door: int, seconds: int) -> None:
        until = self.now + 1 + seconds
        found = self.run(self.open[door].claim(self.now, until))
        number, parcels = self.model.claim(self.now, until)
        ours = [replace(p, seq=0) for p in found.entries] if found else []
        assert ours == [replace(p, seq=0) for p in parcels], "their numbers are the file's affair"
        if found:
            assert {(found.op, found.stage)} == {(p.op, p.stage) for p in parcels}
            self.held.append((found, number, [p.seq for p in parcels]))

    def record_outcomes(self, door: int, pick: int, fates: list[DeliveryOutcome]) -> None:
        """One of the last claims, whether it still counts or not; any part of it."""
        if not self.held:
            return
        claimed, number, seqs = self.held[-1 - pick % min(3, len(self.held))]
        timed = [self.timed(fate) for fate in fates]
        theirs = [parcel.seq for parcel in claimed.entries]
        self.run(self.open[door].record_outcomes(claimed, dict(zip(theirs, timed, strict=False))))
        self.model.record_outcomes(number, dict(zip(seqs, timed, strict=False)))

    def timed(self, fate: DeliveryOutcome) -> DeliveryOutcome:
        """Drawn as seconds from now."""
        if isinstance(fate, Accepted | RetryLater | Vanished):
            return replace(fate, due=self.now + fate.due)
        return fate

    def carry(self, door: int, fates: list[DeliveryOutcome]) -> None:
        """Whatever waits has waited for long enough, and is carried out."""
        self.now += 5
        self.claim(door, 0)
        self.record_outcomes(door, 0, fates)

    def wait(self, door: int, seconds: int) -> None:
        del door
        self.now += seconds

    def make_all_due(self, door: int) -> None:
        self.run(self.open[door].make_all_due(self.now))
        self.model.make_all_due(self.now)

    def mark(self, door: int, record: RecordId) -> None:
        self.run(self.open[door].mark([record]))
        self.model.mark([record])

    def begin_again(self, door: int, failures: int) -> None:
        """A process leaves word and ends, and another one starts."""
        self.circuit, self.seen = CircuitState(failures, self.now, "b", "r"), str(failures)
        self.run(self.open[door].save_circuit(self.circuit))
        self.run(self.open[door].save_pull_cursor(self.seen))
        self.run(self.open[door].aclose())
        self.open[door] = self.doors.open()

    def look(self) -> None:
        """Both say what the model says."""
        told = replace(self.model.counts(), circuit=self.circuit)
        for outbox in self.open:
            assert self.run(outbox.counts()) == told
            assert self.run(outbox.known()) == self.model.known()
            assert self.run(outbox.gone()) == self.model.gone()
            assert self.run(outbox.load_pull_cursor()) == self.seen


_SOME_FATES = st.lists(FATES, min_size=1, max_size=2)
_WHAT: Final[dict[str, dict[str, st.SearchStrategy[Any]]]] = {
    "note": {"letters": LETTERS},
    "carry": {"fates": _SOME_FATES},
    "claim": {"seconds": SECONDS},
    "record_outcomes": {"pick": SECONDS, "fates": _SOME_FATES},
    "wait": {"seconds": SECONDS},
    "mark": {"record": RECORDS},
    "make_all_due": {},
    "begin_again": {"failures": SECONDS},
}
_OFTEN: Final = ("note", "carry", "note", "carry", "claim", "record_outcomes")
STEPS = st.sampled_from([*_WHAT, *_OFTEN]).flatmap(
    lambda name: st.tuples(st.just(name), st.fixed_dictionaries({"door": DOORS, **_WHAT[name]}))
)


def drive(examples: int, steps: int) -> None:
    """Long stories: rules that only meet after a while are the ones that go wrong."""

    @settings(max_examples=examples)
    @given(story=st.lists(STEPS, min_size=steps // 2, max_size=steps))
    def told(story: list[tuple[str, dict[str, Any]]]) -> None:
        both = TwoProcesses()
        try:
            for name, given_ in story:
                getattr(both, name)(**given_)
                both.look()
        finally:
            both.close()

    told()


@parts(6)
def test_an_outbox_is_what_the_plain_model_says(part: int) -> None:
    """Whichever process does what, in whatever order, and however late."""
    del part
    drive(examples=depth(8, 100), steps=depth(40, 60))
