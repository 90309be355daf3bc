"""Decides, by the user's word, whether what another member wrote stands in the user's contexts."""

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryReviewed, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.engine.head import load_view
from memory_mcp.engine.members import find_author, find_waiting
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace, refuse_writes


async def review_memory(
    workspace: Workspace, memory_id: str, *, keep: bool
) -> MemoryReviewed | Skipped | None:
    """Keep or drop a memory that waits for review; None if none of that id waits.

    Raises:
        StoreUnavailableError: the word could not be written.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    for record in await find_waiting(workspace, await load_view(workspace)):
        if record.id == memory_id.strip():
            workspace.reviews.note(record, "keep" if keep else "drop")
            return MemoryReviewed(record.id, find_author(workspace, record), keep)
    return None


async def withdraw_review(
    workspace: Workspace, memory_id: str, *, keep: bool
) -> Record | Skipped | None:
    """Take the user's word back: the memory waits again. None if that word was never said of it.

    Raises:
        StoreUnavailableError: it could not be written.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    word = "keep" if keep else "drop"
    for bank in workspace.banks:
        for record in await load_records(bank, [RecordId(memory_id.strip())]):
            if workspace.reviews.knows(record, word):
                workspace.reviews.withdraw(record, word)
                return record
    return None
