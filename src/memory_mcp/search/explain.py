"""Explains one memory: from where it is, what it replaced, and what contradicts it."""

from collections.abc import Sequence

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryProvenance, Suppression
from memory_mcp.domain.record import Record
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.lookup import find_own_view
from memory_mcp.engine.records import choose_bank, load_records
from memory_mcp.engine.suppression import explain_suppression, find_reason
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search.disputes import list_disputes, list_possible


async def explain_memory(workspace: Workspace, record: Record) -> MemoryProvenance:
    """Where a memory is from, what ended it if it holds no more, and which it stands against.

    What it replaced and was made of is shown even where it holds no more: it is asked for by name.
    """
    timeline = (await load_head(workspace)).timeline
    view = make_view(workspace, timeline)
    there = await find_own_view(workspace, record, view, timeline)
    ended: Suppression | None = None
    if not await choose_bank(workspace, record).index.visible([record.id], there):
        ended = await explain_suppression(workspace, record, there)
    replaced = await _load(workspace, record.supersedes)
    made_of = [id_ for id_ in record.derived_from if id_ not in record.supersedes]
    against = [] if ended else [record]
    disputes = await list_disputes(workspace, view, against)
    newer = [each.newer for each in disputes if each.outdated and each.older.id == record.id]
    return MemoryProvenance(
        record=record,
        sources=await _load(workspace, made_of),
        replaced=replaced,
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
        ended=ended,
        reasons={each.id: await find_reason(workspace, each, there) for each in replaced},
    )


async def _load(workspace: Workspace, ids: Sequence[RecordId]) -> list[Record]:
    found = {
        record.id: record
        for bank in workspace.banks
        for record in await load_records(bank, list(ids))
    }
    return [found[id_] for id_ in ids if id_ in found]
