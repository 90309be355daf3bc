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
    """How many records came in, and which documents are no records of ours, or were changed.

    `unripe` are still being processed, and tell their text later.
    """

    records: int = 0
    unreadable: tuple[RecordId, ...] = ()
    unripe: int = 0

    def __add__(self, other: "TakenIn") -> "TakenIn":
        return TakenIn(
            self.records + other.records,
            (*self.unreadable, *other.unreadable),
            self.unripe + other.unripe,
        )


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
    # after a loss the index may still know what is gone
    known = await pool.records.ids() if whole else await pool.index.ids()
    seen, page, more = 0, 1, True
    most = total = 0
    while more:
        listing = await mirror.remote.listing(
            mirror.namespace, (), page, content=True, newest_first=True
        )
        total, most = listing.total, max(most, listing.total)
        new = {document.id for document in listing.documents} - known - mirror.strangers
        if new and listing.more and not whole:
            await mirror.outbox.see_all(done=False)
        done += await _take_in(rooms, pool, listing.documents, known)
        known |= new
        seen += len(listing.documents)
        advance(min(seen, total), total)
        page, more = page + 1, listing.more and (whole or bool(new))
    # of what is removed meanwhile the pages move up, and something may be skipped
    await mirror.outbox.see_all(done=total == most and not done.unripe)
    return done


async def _take_in(
    rooms: Rooms, pool: Pool, documents: Sequence[Stored], known: set[RecordId]
) -> TakenIn:
    """Write what is new, the newest first. A forgotten memory stays forgotten."""
    mirror = pool.mirror
    if mirror is None:
        return TakenIn()
    missing = await _with_content(mirror, [d for d in documents if d.id not in known])
    ripe = [d for d in missing if d.content is not None or d.state != "processing"]
    found = {document.id: record_of(document) for document in ripe}
    records = [record for record in found.values() if record and _belongs(rooms, pool, record)]
    erased = await pool.index.erased() | await mirror.outbox.gone()
    erased |= {id_ for record in records for id_ in record.erases}
    fresh = [record for record in records if record.id not in erased]
    for record in sorted(fresh, key=lambda r: r.id, reverse=True):
        await pool.records.put(record)
    await pool.index.add(fresh)
    lasting = {document.id for document in documents if document.state != "failed"}
    await mirror.outbox.mark(lasting & (known | {record.id for record in fresh}))
    if any(record.erases for record in fresh):
        late = await pool.index.to_erase()
        await pool.records.erase(late)
        await pool.index.remove(late)
        await note_forgotten(pool)
    if any(record.move for record in fresh) and pool is rooms.project:
        await absorb(rooms)
    unreadable = tuple(id_ for id_, record in found.items() if record is None)
    mirror.strangers.update(found.keys() - {record.id for record in fresh})
    return TakenIn(len(fresh), unreadable, unripe=len(missing) - len(ripe))


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
