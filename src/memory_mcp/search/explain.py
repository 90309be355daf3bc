"""Explains one memory: from where it is, what it replaced, and what contradicts it."""

from collections.abc import Sequence

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryProvenance
from memory_mcp.domain.record import Record
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search.disputes import list_disputes, list_possible


async def explain_memory(workspace: Workspace, record: Record) -> MemoryProvenance:
    """Where a visible memory is from, and which others it stands against.

    What it replaced and was made of is shown even where it holds no more: it is asked for by name.
    """
    view = make_view(workspace, (await load_head(workspace)).timeline)
    made_of = [id_ for id_ in record.derived_from if id_ not in record.supersedes]
    disputes = await list_disputes(workspace, view, [record])
    newer = [each.newer for each in disputes if each.outdated and each.older.id == record.id]
    return MemoryProvenance(
        record=record,
        sources=await _load(workspace, made_of),
        replaced=await _load(workspace, record.supersedes),
        newer_than=[d.older for d in disputes if d.outdated and d.newer.id == record.id],
        outdated_by=newer[:1],
        possible=[] if newer else await list_possible(workspace, view, record),
        disputed_with=[
            other
            for each in disputes
            if not each.outdated
            for other in (each.older, each.newer)
            if other.id != record.id
        ],
    )


async def _load(workspace: Workspace, ids: Sequence[RecordId]) -> list[Record]:
    found = {
        record.id: record
        for bank in workspace.banks
        for record in await load_records(bank, list(ids))
    }
    return [found[id_] for id_ in ids if id_ in found]
