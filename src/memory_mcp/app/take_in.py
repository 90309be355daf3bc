"""Taking in what is in the cloud and not here: from other machines, or after a loss."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memory_mcp.app.deliver import note_forgotten
from memory_mcp.app.heads import absorb
from memory_mcp.app.mirror import Mirror
from memory_mcp.app.rooms import Pool, Rooms
from memory_mcp.app.together import together
from memory_mcp.domain.cloud import Stored
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.mirroring.documents import record_of

__all__ = ["TakenIn", "look_around"]

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class TakenIn:
    """How many records came in, and which documents are no records of ours, or were changed."""

    records: int = 0
    unreadable: tuple[RecordId, ...] = ()

    def __add__(self, other: "TakenIn") -> "TakenIn":
        return TakenIn(self.records + other.records, (*self.unreadable, *other.unreadable))


async def look_around(
    rooms: Rooms, pool: Pool, advance: Advance = lambda _done, _total: None, *, whole: bool = False
) -> TakenIn:
    """Everything of the pool that is in the cloud and not here, newest first.

    What hides or moves a memory is newer than the memory, so it comes in before it. Ends at the
    first page that holds nothing new, unless the `whole` is wanted, or the last look was cut short.
    """
    mirror = pool.mirror
    done = TakenIn()
    if mirror is None:
        return done
    mirror.looked()
    whole = whole or not await mirror.outbox.seen_all()
    seen, page, more = 0, 1, True
    while more:
        listing = await mirror.remote.listing(
            mirror.namespace, (), page, content=True, newest_first=True
        )
        new = {document.id for document in listing.documents} - await pool.index.ids()
        if new and listing.more and not whole:
            await mirror.outbox.see_all(done=False)
        done += await _take_in(rooms, pool, listing.documents)
        seen += len(listing.documents)
        advance(min(seen, listing.total), listing.total)
        page, more = page + 1, listing.more and (whole or bool(new))
    await mirror.outbox.see_all(done=True)
    return done


async def _take_in(rooms: Rooms, pool: Pool, documents: Sequence[Stored]) -> TakenIn:
    """Write what is new, the newest first. A forgotten memory stays forgotten."""
    mirror = pool.mirror
    if mirror is None:
        return TakenIn()
    known = await pool.index.ids()
    missing = await _with_content(mirror, [d for d in documents if d.id not in known])
    found = {document.id: record_of(document) for document in missing}
    records = [record for record in found.values() if record and _belongs(rooms, pool, record)]
    erased = await pool.index.erased() | await mirror.outbox.gone()
    erased |= {id_ for record in records for id_ in record.erases}
    fresh = [record for record in records if record.id not in erased]
    for record in sorted(fresh, key=lambda r: r.id, reverse=True):
        await pool.records.put(record)
    await pool.index.add(fresh)
    await mirror.outbox.mark([*(known & {d.id for d in documents}), *(r.id for r in fresh)])
    if any(record.erases for record in fresh):
        late = await pool.index.to_erase()
        await pool.records.erase(late)
        await pool.index.remove(late)
        await note_forgotten(pool)
    if any(record.move for record in fresh) and pool is rooms.project:
        await absorb(rooms)
    unreadable = tuple(id_ for id_, record in found.items() if record is None)
    mirror.strangers.update(found.keys() - {record.id for record in fresh})
    return TakenIn(len(fresh), unreadable)


async def _with_content(mirror: Mirror, documents: Iterable[Stored]) -> list[Stored]:
    """The documents with their texts: a listing may leave them out."""

    async def whole(document: Stored) -> Stored:
        if document.content is not None:
            return document
        return await mirror.remote.get(mirror.namespace, document.id) or document

    return await together(whole(document) for document in documents)


def _belongs(rooms: Rooms, pool: Pool, record: Record) -> bool:
    """A user's own records and those of no project share a namespace."""
    return record.scope.project == (None if pool is rooms.user else rooms.scope.project)
