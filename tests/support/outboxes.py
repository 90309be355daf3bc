"""Outboxes over one file, and short words for what tests do to them. Times are plain seconds."""

from pathlib import Path

from fakes import START, FakeIds

from memory_mcp.domain.cloud import Claim, Done, Fate, Letter, Op
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
    outbox: Outbox, *records: RecordId, op: Op = "add", quiet: bool = False, now: float = 0.0
) -> None:
    await outbox.note([Letter(record, op, quiet=quiet) for record in records], now)


async def claim(outbox: Outbox, now: float = 0.0, seconds: float = LEASE) -> Claim:
    """A claim where there must be one."""
    found = await outbox.claim(now, now + seconds)
    assert found is not None
    return found


async def settle(outbox: Outbox, claimed: Claim, fate: Fate) -> None:
    """The same fate for all of them."""
    await outbox.settle(claimed, {parcel.seq: fate for parcel in claimed.parcels})


async def delivered(outbox: Outbox, *records: RecordId, op: Op = "add", now: float = 0.0) -> None:
    """Note them and have them done, as if the cloud had been quick."""
    await note(outbox, *records, op=op, now=now)
    while claimed := await outbox.claim(now, now + LEASE):
        await settle(outbox, claimed, Done())


def named(claimed: Claim | None) -> list[RecordId]:
    """The records of a claim, in its order; of none: no records."""
    return [parcel.record for parcel in claimed.parcels] if claimed else []


async def left(outbox: Outbox, now: float = 0.0) -> set[tuple[RecordId, Op]]:
    """Everything that could be claimed now, which it is then."""
    found: set[tuple[RecordId, Op]] = set()
    while claimed := await outbox.claim(now, now + LEASE):
        found.update((parcel.record, parcel.op) for parcel in claimed.parcels)
    return found
