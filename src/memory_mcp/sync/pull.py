"""Taking in what is in the cloud and not here: from other machines, or after a loss."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memory_mcp.domain.cloud import Listing, Stored, Test
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import LISTED_LATE_SECONDS_MAX, LISTED_PAGES_MAX
from memory_mcp.domain.record import Record, iso
from memory_mcp.engine.head import absorb
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.pending import lets_in
from memory_mcp.engine.reading import together
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import InvalidRequestError, RemoteUnavailableError
from memory_mcp.storage.supermemory.documents import record_of
from memory_mcp.sync.checks import check_record
from memory_mcp.sync.push import note_forgotten

_FIRST: Final = ("checkpoint", "move", "tombstone")
"""The kinds that say what holds, and where."""

_EVER: Final = "0"
"""A time before all others."""

_AGAIN_MAX: Final = 3
"""How often a listing is begun again because it shrank; a last one is taken as it is."""


@dataclass(frozen=True)
class TakenIn:
    """How many records came in, and which documents are no records that could be stored here.

    `unripe` are still being processed, and tell their text later; `looked_at` were listed at all.
    """

    records: int = 0
    unreadable: tuple[RecordId, ...] = ()
    unripe: int = 0
    looked_at: int = 0

    def __add__(self, other: "TakenIn") -> "TakenIn":
        return TakenIn(
            self.records + other.records,
            tuple(dict.fromkeys((*self.unreadable, *other.unreadable))),
            self.unripe + other.unripe,
            self.looked_at + other.looked_at,
        )


async def look_around(
    workspace: Workspace,
    pool: Pool,
    advance: Progress = lambda _done, _total: None,
    *,
    whole: bool = False,
) -> TakenIn:
    """Everything of the pool that is in the cloud and not here, if the user lets it in.

    What hides, moves and forgets comes in first, so that nothing is recalled that was abandoned
    elsewhere, however this ends. A look goes back to where the last whole one began; the `whole`
    of it after a loss, or where none was ever completed.
    """
    mirror = pool.mirror
    done = TakenIn()
    if mirror is None:
        return done
    mirror.looked()
    if not lets_in(workspace, pool):
        return done
    since = "" if whole else await mirror.outbox.seen_until()
    # after a loss the index may still know what is gone
    known = await pool.records.ids() if whole else await pool.index.ids()
    newest = since
    for kinds in (_FIRST, ()):
        async for listing, at in _pages(mirror, kinds, since):
            done += await _take_in(workspace, pool, listing.documents, known)
            newest = max(newest, at)
            if not kinds:
                advance(done.looked_at, listing.total)
        await put_in_place(workspace, pool)
    if not done.unripe:
        await mirror.outbox.see_until(_with_overlap(newest, workspace.clock.now()))
    return done


async def _pages(
    mirror: Mirror, kinds: Sequence[str], since: str
) -> AsyncIterator[tuple[Listing, str]]:
    """Pages of these kinds (none: of all), newest first, back to what the last look began with."""
    tests = [Test("kind", kinds)] if kinds else []
    page, more, most, again = 1, True, 0, _AGAIN_MAX
    seen: set[RecordId] = set()
    while more:
        listing = await mirror.remote.listing(
            mirror.namespace, tests, page, content=True, newest_first=True
        )
        if listing.total < most and again:  # something was removed, so the pages moved up
            page, most, again = 1, 0, again - 1
            seen.clear()
            continue
        most = listing.total
        ids = {document.id for document in listing.documents}
        more = not ids <= seen  # else it turns in a circle
        seen |= ids
        times = [document.created_at for document in listing.documents]
        yield listing, max(times, default="")
        page, more = page + 1, more and listing.more and min(times, default="") >= since
        if page > LISTED_PAGES_MAX:
            raise RemoteUnavailableError(f"The cloud's listing does not end ({page:,} pages).")


def _with_overlap(at: str, now: datetime) -> str:
    """A while before that time: what was taken then may have been listed late.

    Nothing was taken in times to come: a look that began there would never see anything new.
    """
    try:
        began = min(datetime.fromisoformat(at), now)
        return iso(began - timedelta(seconds=LISTED_LATE_SECONDS_MAX))
    # an empty namespace, or a clock that writes otherwise: look at all again
    except (ValueError, TypeError, OverflowError):
        return _EVER


async def put_in_place(workspace: Workspace, pool: Pool) -> None:
    """What came in moves the head and hides; what this machine's own records erase goes."""
    if pool is workspace.project:
        await absorb(workspace)
    if await pool.index.erase_late():
        pool.changes.note()
    await note_forgotten(pool)


async def _take_in(
    workspace: Workspace, pool: Pool, documents: Sequence[Stored], known: set[RecordId]
) -> TakenIn:
    """Write what is new. A forgotten memory stays forgotten."""
    mirror = pool.mirror
    if mirror is None:
        return TakenIn()
    missing = await _with_content(mirror, [d for d in documents if d.id not in known])
    ripe = [d for d in missing if d.content is not None or d.state != "processing"]
    found = await asyncio.to_thread(_records, ripe, workspace.clock.now())
    records = [record for record in found.values() if record and _belongs(workspace, pool, record)]
    erased = await pool.index.erased() | await mirror.outbox.gone()
    erased |= {id_ for record in records for id_ in record.erases}
    fresh = [record for record in records if record.id not in erased]
    await pool.index.note_pulled({record.id for record in fresh})  # before any of them is a file
    for record in fresh:
        await pool.records.put(record, of_this_machine=False)
    await pool.index.add(fresh)
    if fresh:
        pool.changes.note()
    known |= {record.id for record in fresh}
    lasting = {document.id for document in documents if document.state != "failed"}
    await mirror.outbox.mark(lasting & known)
    unreadable = tuple(id_ for id_, record in found.items() if record is None)
    mirror.strangers.update(found.keys() - {record.id for record in fresh})
    return TakenIn(len(fresh), unreadable, len(missing) - len(ripe), len(documents))


def _records(documents: Sequence[Stored], now: datetime) -> dict[RecordId, Record | None]:
    """The records of these documents; None for what no tool would have stored."""
    return {document.id: _acceptable(record_of(document), now) for document in documents}


def _acceptable(record: Record | None, now: datetime) -> Record | None:
    """The record, if it may be stored here: the cloud's word is held to the same as anybody's."""
    if record is None:
        return None
    try:
        check_record(record, now)
    except InvalidRequestError:
        return None
    return record


async def _with_content(mirror: Mirror, documents: Iterable[Stored]) -> list[Stored]:
    """The documents with their texts: a listing may leave them out."""

    async def whole(document: Stored) -> Stored:
        if document.content is not None:
            return document
        return await mirror.remote.get(mirror.namespace, document.id) or document

    return await together(whole(document) for document in documents)


def _belongs(workspace: Workspace, pool: Pool, record: Record) -> bool:
    """The namespace is the scope; a project's name here may have changed since."""
    return (record.scope.project is None) is (pool is workspace.user)
