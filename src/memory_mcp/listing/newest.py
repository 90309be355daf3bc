"""Lists what holds, newest first."""

from typing import Final

from memory_mcp.code import make_marker
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import LISTED_MEMORIES_MAX
from memory_mcp.domain.outcomes import DisputesFound, MemoryList, Skipped
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters, View, Wanted
from memory_mcp.engine.head import load_view
from memory_mcp.engine.index_sync import takes_partial_answers
from memory_mcp.engine.records import (
    describe_unindexed,
    gather_all,
    load_here_first,
    load_records,
)
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.listing.disputes import find_outdated, list_disputes
from memory_mcp.trust.strangers import describe_strangers_once

HISTORY_LOOKED_MAX: Final = 100_000
"""Of what is no longer visible, so many are looked at: more than a project ever has."""


@takes_partial_answers
async def list_memories(workspace: Workspace, filters: Filters, limit: int) -> MemoryList | Skipped:
    """The newest visible memories that pass the filters, and how many there are in all.

    What does not stand on this commit of git comes last.

    Raises:
        InvalidRequestError: `limit` is out of range.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    if not 1 <= limit <= LISTED_MEMORIES_MAX:
        raise InvalidRequestError(f"limit must be 1 to {LISTED_MEMORIES_MAX:,}, not {limit}.")
    view = await load_view(workspace)
    unindexed = describe_unindexed(workspace)  # the index may be whole before the list is
    (read,) = await load_here_first(workspace, view, [Wanted(filters, limit)])
    banks = workspace.banks_of(filters.reach)
    total = sum(await gather_all(bank.index.count(view, filters) for bank in banks))
    unindexed = unindexed or describe_unindexed(workspace)
    notes = await describe_strangers_once(workspace)
    mark = make_marker(workspace)
    return MemoryList(
        tuple(read.records), total, len(read.unreadable), unindexed, notes,
        {each.id: marked for each in read.records if (marked := mark(each))},
        await find_outdated(workspace, view, read.records),
    )  # fmt: skip


async def list_page(
    workspace: Workspace, view: View, filters: Filters, offset: int, limit: int
) -> MemoryList | Skipped:
    """A stretch of what is visible from the view, newest first, and how many there are in all.

    With `Filters.history` it is what was replaced, hidden or has expired there.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    found: dict[RecordId, MemoryBank] = {}
    total = 0
    for bank in workspace.banks_of(filters.reach):
        if filters.history:
            every = await bank.index.find(view, filters, HISTORY_LOOKED_MAX)
            holding = await bank.index.visible(every, view)
            ids = [id_ for id_ in every if id_ not in holding]
            total += len(ids)
        else:
            ids = await bank.index.find(view, filters, offset + limit)
            total += await bank.index.count(view, filters)
        found |= dict.fromkeys(ids, bank)
    wanted = sorted(found, reverse=True)[offset : offset + limit]
    there: dict[RecordId, Record] = {}
    for bank in dict.fromkeys(found[id_] for id_ in wanted):
        read = await load_records(bank, [id_ for id_ in wanted if found[id_] is bank])
        there |= {record.id: record for record in read}
    records = tuple(there[id_] for id_ in wanted if id_ in there)
    return MemoryList(records, total, len(wanted) - len(records), describe_unindexed(workspace))


async def find_disputes(workspace: Workspace, offset: int, limit: int) -> DisputesFound | Skipped:
    """The pairs of which one is among these visible memories, newest first: each pair once."""
    view = await load_view(workspace)
    page = await list_page(workspace, view, Filters(kinds=MEMORY_KINDS), offset, limit)
    if isinstance(page, Skipped):
        return page
    disputes = await list_disputes(workspace, view, page.records)
    return DisputesFound(disputes, min(offset + limit, page.total), page.total)
