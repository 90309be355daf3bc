"""Taking in what is in the cloud and not here: from other machines, or after a loss."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from memory_mcp.app.deliver import note_forgotten
from memory_mcp.app.heads import absorb
from memory_mcp.app.mirror import Mirror
from memory_mcp.app.rooms import Pool, Rooms
from memory_mcp.app.together import together
from memory_mcp.domain.cloud import Stored, Test
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_IDS_MAX
from memory_mcp.domain.record import Record
from memory_mcp.mirroring.documents import BOOKKEEPING, record_of

__all__ = ["TakenIn", "look_around", "pull", "take_in_unknown"]

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class TakenIn:
    """How many records came in, and which documents are no records of ours, or were changed."""

    records: int = 0
    unreadable: tuple[RecordId, ...] = ()

    def __add__(self, other: "TakenIn") -> "TakenIn":
        return TakenIn(self.records + other.records, (*self.unreadable, *other.unreadable))


async def pull(rooms: Rooms, pool: Pool, advance: Advance) -> TakenIn:
    """Everything of the pool that is in the cloud and not here. Repeating it goes on.

    What says what holds comes first, so that nothing abandoned is recalled if this is cut short.
    """
    mirror = pool.mirror
    done = TakenIn()
    if mirror is None:
        return done
    done += await look_around(rooms, pool, whole=True)
    seen = 0
    async for documents, total in _pages(mirror, (), newest_first=False):
        done += await _take_in(rooms, pool, documents)
        seen += len(documents)
        advance(min(seen, total), total)
    return done


async def look_around(rooms: Rooms, pool: Pool, *, whole: bool = False) -> TakenIn:
    """What other machines sealed, abandoned, restored and forgot, newest first.

    Ends at the first page that holds nothing new, unless the `whole` of it is wanted.
    """
    mirror = pool.mirror
    done = TakenIn()
    if mirror is None:
        return done
    mirror.looked_at = mirror.now()
    kinds = [Test("kind", BOOKKEEPING)]
    async for documents, _ in _pages(mirror, kinds, newest_first=not whole):
        fresh = await _take_in(rooms, pool, documents)
        done += fresh
        if not fresh.records and not whole:
            break
    return done


async def take_in_unknown(rooms: Rooms, pool: Pool, record_ids: Collection[RecordId]) -> TakenIn:
    """These documents, by name: a search found them, and they are not here."""
    mirror = pool.mirror
    if mirror is None or not record_ids:
        return TakenIn()
    tests = [Test("memory_id", sorted(record_ids)[:BATCH_IDS_MAX])]
    page = await mirror.remote.listing(mirror.namespace, tests, 1, content=True)
    return await _take_in(rooms, pool, page.documents)


async def _pages(
    mirror: Mirror, tests: Sequence[Test], *, newest_first: bool
) -> AsyncIterator[tuple[Sequence[Stored], int]]:
    page, more = 1, True
    while more:
        listing = await mirror.remote.listing(
            mirror.namespace, tests, page, content=True, newest_first=newest_first
        )
        yield listing.documents, listing.total
        page, more = page + 1, listing.more


async def _take_in(rooms: Rooms, pool: Pool, documents: Sequence[Stored]) -> TakenIn:
    """Write what is new: what moves, hides or erases first. A forgotten memory stays forgotten."""
    mirror = pool.mirror
    if mirror is None:
        return TakenIn()
    known = await pool.index.ids()
    missing = await _with_content(mirror, [d for d in documents if d.id not in known])
    found = {document.id: record_of(document) for document in missing}
    records = [record for record in found.values() if record and _belongs(rooms, pool, record)]
    erased = await pool.index.erased() | {id_ for record in records for id_ in record.erases}
    fresh = [record for record in records if record.id not in erased]
    for record in sorted(fresh, key=lambda r: (r.kind not in BOOKKEEPING, r.id)):
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
