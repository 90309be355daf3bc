"""Lists what holds, newest first."""

from memory_mcp.domain.limits import LISTED_MEMORIES_MAX
from memory_mcp.domain.outcomes import MemoryList, Skipped
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.index_sync import takes_partial_answers
from memory_mcp.engine.records import describe_unindexed, gather_all, load_newest
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.trust.strangers import describe_strangers_once


@takes_partial_answers
async def list_memories(workspace: Workspace, filters: Filters, limit: int) -> MemoryList | Skipped:
    """The newest visible memories that pass the filters, and how many there are in all.

    Raises:
        InvalidRequestError: `limit` is out of range.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    if not 1 <= limit <= LISTED_MEMORIES_MAX:
        raise InvalidRequestError(f"limit must be 1 to {LISTED_MEMORIES_MAX:,}, not {limit}.")
    view = await load_view(workspace)
    unindexed = describe_unindexed(workspace)  # the index may be whole before the list is
    read = await load_newest(workspace, view, filters, limit)
    banks = workspace.banks_of(filters.reach)
    total = sum(await gather_all(bank.index.count(view, filters) for bank in banks))
    unindexed = unindexed or describe_unindexed(workspace)
    notes = await describe_strangers_once(workspace)
    return MemoryList(tuple(read.records), total, len(read.unreadable), unindexed, notes)
