"""Pulls what is in the cloud and not here: from other machines, or after a loss."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from memory_mcp.domain.cloud import DocumentPage, MetadataCondition, StoredDocument
from memory_mcp.domain.ids import RecordId, parse_id_time
from memory_mcp.domain.limits import LISTED_PAGES_MAX, LISTING_LAG_SECONDS_MAX
from memory_mcp.domain.record import Reach, Record, format_time
from memory_mcp.engine.cloud import accepts_cloud_records
from memory_mcp.engine.head import absorb_moves
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.records import gather_all
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import RemoteUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.storage.supermemory.documents import from_document
from memory_mcp.sync.push import note_deletes

_AHEAD_MAX: Final = timedelta(days=1)
"""How far clocks may differ."""

_MOVING_KINDS: Final = ("checkpoint", "move", "tombstone")
"""The kinds that decide what is visible."""

_BEGINNING: Final = "0"
"""A time before all others."""

_RESTARTS_MAX: Final = 3
"""How often a listing that shrank is begun again; the next one is taken as it is."""


@frozen
class PullResult:
    """How many records came in, and which documents are no records that could be stored here.

    `processing` documents have no text yet; `listed` counts all that were listed.
    """

    records: int = 0
    unreadable: tuple[RecordId, ...] = ()
    processing: int = 0
    listed: int = 0

    def __add__(self, other: "PullResult") -> "PullResult":
        return PullResult(
            self.records + other.records,
            tuple(dict.fromkeys((*self.unreadable, *other.unreadable))),
            self.processing + other.processing,
            self.listed + other.listed,
        )


async def pull(
    workspace: Workspace,
    bank: MemoryBank,
    advance: Progress = lambda _done, _total: None,
    *,
    whole: bool = False,
) -> PullResult:
    """Store every record of the bank that is in the cloud and not here, if the user trusts it.

    Records that hide, move and forget come first, so that nothing abandoned elsewhere is recalled,
    however this ends. Listings go back to where the last complete pull began; with `whole`, or
    where none was ever completed, to the beginning.
    """
    mirror = bank.mirror
    result = PullResult()
    if mirror is None:
        return result
    mirror.looked()
    if not accepts_cloud_records(workspace, bank):
        return result
    since = "" if whole else await mirror.outbox.load_pull_cursor()
    # after a loss the index may still know what is gone
    known = await bank.records.ids() if whole else await bank.index.ids()
    newest = since
    for kinds in (_MOVING_KINDS, ()):
        async for listing, at in _list_pages(mirror, kinds, since):
            result += await _store_new(workspace, bank, mirror, listing.documents, known)
            newest = max(newest, at)
            if not kinds:
                advance(result.listed, listing.total)
        await apply_incoming(workspace, bank)
    if not result.processing:
        await mirror.outbox.save_pull_cursor(_with_overlap(newest, workspace.clock.now()))
    return result


def describe_future_date(record: Record, now: datetime) -> str:
    """What is wrong with a record that is dated after today; empty for any other."""
    for at in (record.created_at, parse_id_time(record.id)):
        if at > now + _AHEAD_MAX:
            return f"It is dated {at:%Y-%m-%d}, and here it is {now:%Y-%m-%d}. Set the clock right."
    return ""


async def apply_incoming(workspace: Workspace, bank: MemoryBank) -> None:
    """Let incoming records move the head, and erase what this machine's own records erase."""
    if bank is workspace.project:
        await absorb_moves(workspace)
    if await bank.index.erase_late():
        bank.changes.note()
    await note_deletes(bank)


async def _list_pages(
    mirror: Mirror, kinds: Sequence[str], since: str
) -> AsyncIterator[tuple[DocumentPage, str]]:
    """Pages of these kinds (none: of all), newest first, each with its newest time.

    Ends with the page that reaches back to `since`.
    """
    tests = [MetadataCondition("kind", kinds)] if kinds else []
    page, more, total, restarts = 1, True, 0, _RESTARTS_MAX
    seen: set[RecordId] = set()
    while more:
        listing = await mirror.remote.listing(
            mirror.namespace, tests, page, content=True, newest_first=True
        )
        if listing.total < total and restarts:  # something was removed, so the pages moved up
            page, total, restarts = 1, 0, restarts - 1
            seen.clear()
            continue
        total = listing.total
        ids = {document.id for document in listing.documents}
        more = not ids <= seen  # else the pages repeat
        seen |= ids
        times = [document.created_at for document in listing.documents]
        yield listing, max(times, default="")
        page, more = page + 1, more and listing.more and min(times, default="") >= since
        if page > LISTED_PAGES_MAX:
            raise RemoteUnavailableError(f"The cloud's listing does not end ({page:,} pages).")


def _with_overlap(at: str, now: datetime) -> str:
    """A while before that time: documents may be listed late.

    Never after now: a pull that began in the future would never find anything new.
    """
    try:
        began = min(datetime.fromisoformat(at), now)
        return format_time(began - timedelta(seconds=LISTING_LAG_SECONDS_MAX))
    # an empty namespace, or another form of time: the next pull lists all again
    except (ValueError, TypeError, OverflowError):
        return _BEGINNING


async def _store_new(
    workspace: Workspace,
    bank: MemoryBank,
    mirror: Mirror,
    documents: Sequence[StoredDocument],
    known: set[RecordId],
) -> PullResult:
    """Store the records that are new, and add them to `known`. A forgotten one stays forgotten."""
    missing = await _fetch_content(mirror, [d for d in documents if d.id not in known])
    ready = [d for d in missing if d.content is not None or d.state != "processing"]
    found = await asyncio.to_thread(_parse_records, ready, workspace.clock.now())
    reach: Reach = "user" if bank is workspace.user else "project"  # which may have another name
    records = [r for r in found.values() if r and r.scope.reach == reach]
    erased = await bank.index.erased() | await mirror.outbox.gone()
    erased |= {id_ for record in records for id_ in record.erases}
    fresh = [record for record in records if record.id not in erased]
    await bank.index.note_pulled({record.id for record in fresh})  # before any of them is a file
    for record in fresh:
        await bank.records.put(record, of_this_machine=False)
    await bank.index.add(fresh)
    if fresh:
        bank.changes.note()
    known |= {record.id for record in fresh}
    lasting = {document.id for document in documents if document.state != "failed"}
    await mirror.outbox.mark(lasting & known)
    unreadable = tuple(id_ for id_, record in found.items() if record is None)
    mirror.strangers.update(found.keys() - {record.id for record in fresh})
    return PullResult(len(fresh), unreadable, len(missing) - len(ready), len(documents))


def _parse_records(
    documents: Sequence[StoredDocument], now: datetime
) -> dict[RecordId, Record | None]:
    """The record of each document; None for one that may not be stored here."""
    records = {document.id: from_document(document) for document in documents}
    return {
        id_: None if record is None or describe_future_date(record, now) else record
        for id_, record in records.items()
    }


async def _fetch_content(
    mirror: Mirror, documents: Sequence[StoredDocument]
) -> list[StoredDocument]:
    """The documents with their texts, which a listing may leave out."""

    async def fetch(document: StoredDocument) -> StoredDocument:
        if document.content is not None:
            return document
        return await mirror.remote.get(mirror.namespace, document.id) or document

    return await gather_all(fetch(document) for document in documents)
