"""Outboxes over one file, and short words for what tests do to them. Times are plain seconds."""

from pathlib import Path

from fakes import START, FakeIds

from memory_mcp.domain.cloud import Confirmed, DeliveryOutcome, Lease, NewEntry, OutboxOperation
from memory_mcp.domain.ids import RecordId
from memory_mcp.ports import Outbox
from memory_mcp.storage.sqlite.outbox import SqliteOutbox

LEASE = 60.0


class Doors:
    """Each opening is a process's worth of outbox over the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: list[SqliteOutbox] = []

    def open(self) -> SqliteOutbox:
        self._opened.append(SqliteOutbox(self.path, lambda: None))
        return self._opened[-1]

    async def aclose(self) -> None:
        for outbox in self._opened:
            await outbox.aclose()


def some(number: int) -> list[RecordId]:
    """Ids of so many records, the same in every run, in order."""
    ids = FakeIds()
    return [ids.new(START) for _ in range(number)]


async def note(
    outbox: Outbox,
    *records: RecordId,
    op: OutboxOperation = "add",
    quiet: bool = False,
    now: float = 0.0,
) -> None:
    await outbox.note([NewEntry(record, op, quiet=quiet) for record in records], now)


async def claim(outbox: Outbox, now: float = 0.0, seconds: float = LEASE) -> Lease:
    """A claim where there must be one."""
    found = await outbox.claim(now, now + seconds)
    assert found is not None
    return found


async def settle(outbox: Outbox, claimed: Lease, fate: DeliveryOutcome) -> None:
    """The same fate for all of them."""
    await outbox.record_outcomes(claimed, {parcel.seq: fate for parcel in claimed.entries})


async def delivered(
    outbox: Outbox, *records: RecordId, op: OutboxOperation = "add", now: float = 0.0
) -> None:
    """Note them and have them done, as if the cloud had been quick."""
    await note(outbox, *records, op=op, now=now)
    while claimed := await outbox.claim(now, now + LEASE):
        await settle(outbox, claimed, Confirmed())


def named(claimed: Lease | None) -> list[RecordId]:
    """The records of a claim, in its order; of none: no records."""
    return [parcel.record for parcel in claimed.entries] if claimed else []


async def left(outbox: Outbox, now: float = 0.0) -> set[tuple[RecordId, OutboxOperation]]:
    """Everything that could be claimed now, which it is then."""
    found: set[tuple[RecordId, OutboxOperation]] = set()
    while claimed := await outbox.claim(now, now + LEASE):
        found.update((parcel.record, parcel.op) for parcel in claimed.entries)
    return found
