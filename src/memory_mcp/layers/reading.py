"""Reads the layers of the caller's node.

The functions that begin with `list_` take a view that is there already; the others are use cases.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.layers import ArchivalRecord, CoreChange, CoreEntry, RecallEvent
from memory_mcp.domain.outcomes import SearchResults, Skipped
from memory_mcp.domain.record import CORE_PREFIX, Kind, Record
from memory_mcp.domain.search import Filters, Hit, View
from memory_mcp.engine.git import list_elsewhere
from memory_mcp.engine.head import load_view
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.records import load_newest, load_records
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.layers.selecting import ARCHIVE, CORE, EVENTS, find_successor
from memory_mcp.search import search_memories
from memory_mcp.search.truths import mark_hits
from memory_mcp.text.drafts import check_tags
from memory_mcp.text.layers import (
    check_core_key,
    read_archival,
    read_core,
    read_core_change,
    read_event,
    select_current,
)

NEWEST: Final = "*"
"""The query that stands for the newest."""

_ARCHIVED_SHOWN: Final = 20
"""Newest texts of the archive in a node's view; a search finds the others."""

_PREFERENCES: Final[frozenset[Kind]] = frozenset({"preference", "convention", "identity"})


async def load_core(
    workspace: Workspace, keys: Sequence[str] | None = None
) -> tuple[CoreEntry, ...] | Skipped:
    """The core by keys, or all of it.

    Raises:
        UnknownTargetError: no such node.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    entries = await list_core(workspace, await load_view(workspace))
    if keys is None:
        return entries
    wanted = {unicodedata.normalize("NFC", key) for key in keys}
    return tuple(each for each in entries if each.key in wanted)


async def list_core_history(workspace: Workspace, key: str) -> tuple[CoreChange, ...] | Skipped:
    """What became of a key on the chain of the node, oldest first.

    Raises:
        UnknownTargetError: no such node.
        InvalidRequestError: no key can be this.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    filters = replace(CORE, key=f"{CORE_PREFIX}{check_core_key(key)}", history=True)
    bank, view = workspace.project, await load_view(workspace)
    ids = await bank.index.find(view, filters, limits.HISTORY_RECORDS_MAX)
    return tuple(read_core_change(record) for record in await load_records(bank, sorted(ids)))


async def load_events(
    workspace: Workspace, k: int | None, *, history: bool = False
) -> tuple[RecallEvent, ...] | Skipped:
    """The newest events, newest first; with `history` evicted and summed up ones, too.

    Raises:
        UnknownTargetError: no such node.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    return await list_events(workspace, await load_view(workspace), k, history=history)


async def search_events(
    workspace: Workspace, query: str, k: int | None
) -> tuple[RecallEvent, ...] | Skipped:
    """The events that match best; `*` means the newest, and a `k` of None all.

    Raises:
        UnknownTargetError: no such node.
        InvalidRequestError: the query or `k` is out of range.
    """
    if query.strip() in (NEWEST, ""):
        return await load_events(workspace, k)
    most = limits.LISTED_MEMORIES_MAX
    found = await search_memories(workspace, query, EVENTS, k or most, limit_max=most)
    if isinstance(found, Skipped):
        return found
    return tuple(read_event(hit.record) for hit in found.hits)


async def search_archival(
    workspace: Workspace, query: str, tags: Sequence[str], k: int
) -> tuple[ArchivalRecord, ...] | Skipped:
    """The texts of the archive that match best, ranked as every search is.

    Raises:
        UnknownTargetError: no such node.
        InvalidRequestError: the query, a tag or `k` is out of range.
    """
    filters = Filters(layer="archival", tags=check_tags(tags))
    asked = "" if query.strip() == NEWEST else query
    most = limits.LISTED_MEMORIES_MAX
    found = await search_memories(workspace, asked, filters, k, limit_max=most)
    match found:
        case SearchResults(hits=hits):
            return tuple(map(_read_hit, hits))
        case Skipped():
            return found


async def get_archival(workspace: Workspace, record_id: str) -> ArchivalRecord | Skipped:
    """The text of the archive of that id; of one that was replaced, what stands in its place.

    Raises:
        UnknownMemoryError: the node does not see it.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    view = await load_view(workspace)
    try:
        record = await require_memory(workspace, record_id, view)
    except UnknownMemoryError:
        old = RecordId(record_id.strip().casefold())
        if (record := await find_successor(workspace, view, old)) is None:
            raise
    if record.layer != "archival":
        raise UnknownMemoryError(record_id, why=f"is of the layer {record.layer}")
    return read_archival(record)


async def list_core(
    workspace: Workspace, view: View, *, durable: bool = False
) -> tuple[CoreEntry, ...]:
    """The core as the view sees it, by key; with `durable`, the durable preferences after it."""
    bank = workspace.project
    ids = await bank.index.find(view, CORE, 2 * limits.CORE_KEYS_MAX)
    entries = select_current(map(read_core, await load_records(bank, ids)))
    return (*entries, *(await _list_preferences(workspace, view) if durable else ()))


async def list_events(
    workspace: Workspace, view: View, k: int | None, *, history: bool = False
) -> tuple[RecallEvent, ...]:
    """The newest events that the view sees, newest first; all for a `k` of None."""
    if k is not None and k < 1:
        raise InvalidRequestError(f"k is {k}; choose 1 or more, or None for all.")
    bank = workspace.project
    most = limits.EVENTS_MAX if k is None else k
    ids = await bank.index.find(view, replace(EVENTS, history=history), most)
    seen = await bank.index.visible(ids, view) if history else {*ids}
    return tuple(read_event(r, evicted=r.id not in seen) for r in await load_records(bank, ids))


async def list_archive(workspace: Workspace, view: View) -> tuple[ArchivalRecord, ...]:
    """The newest texts of the archive that the view sees, newest first."""
    bank = workspace.project
    ids = await bank.index.find(view, ARCHIVE, _ARCHIVED_SHOWN)
    return mark_archived(workspace, await load_records(bank, ids))


def mark_archived(workspace: Workspace, records: Sequence[Record]) -> tuple[ArchivalRecord, ...]:
    """These texts; of those that contradict each other each says so, as in a search."""
    away = list_elsewhere(workspace, records)
    return tuple(map(_read_hit, mark_hits([Hit(record) for record in records], away=away)))


def _read_hit(hit: Hit) -> ArchivalRecord:
    marks = {"outdated_by": hit.outdated_by, "disputed_with": hit.disputed_with}
    return replace(read_archival(hit.record, hit.score), **marks)


async def _list_preferences(workspace: Workspace, view: View) -> tuple[CoreEntry, ...]:
    """The durable preferences, which every node has beside its core, the important first."""
    filters = Filters(kinds=_PREFERENCES, durable=True)
    read = await load_newest(workspace, view, filters, limits.PREFERENCES_SHOWN, best=True)
    return tuple(
        replace(read_core(record), key=record.title or record.key or record.kind)
        for record in read.records
    )
