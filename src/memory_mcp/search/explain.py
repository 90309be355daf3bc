"""Explains one memory: from where it is, what it replaced, and what contradicts it."""

from collections.abc import Sequence

from memory_mcp.domain.deduplication import rank_holding, states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryProvenance, Suppression
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import SearchFields, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.git import list_elsewhere
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.lookup import find_own_view
from memory_mcp.engine.records import choose_bank, load_records
from memory_mcp.engine.suppression import explain_suppression, find_reason
from memory_mcp.engine.workspace import Workspace
from memory_mcp.listing import find_rivals, list_disputes
from memory_mcp.search.truths import may_replace
from memory_mcp.text.truths import Disputes, Outdates, compare_records


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
        possible=[] if newer else await _list_possible(workspace, view, record),
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


async def _list_possible(workspace: Workspace, view: View, record: Record) -> list[Record]:
    """The visible memories that a search may put in its place, if both answer what is asked.

    Alone they do not contradict it: they are later, say that something changed, and may be of the
    same thing.
    """
    if not states_truth(record):
        return []
    near: list[Record] = []
    fields = dict[RecordId, SearchFields]()
    for reach in workspace.reaches:
        bank = workspace.bank_of(reach)
        found = (await find_rivals(bank, reach, [record], view)).get(record.id, {})
        fields |= {id_: each.fields for id_, each in found.items()}
        near += await load_records(bank, sorted(found.keys() - {record.id}))
    away = list_elsewhere(workspace, [record, *near])
    own = fields.get(record.id) or make_fields(record)
    return [
        each
        for each in near
        if states_truth(each)
        and rank_holding(each) > rank_holding(record)
        and (each.id in away) == (record.id in away)
        and not isinstance(compare_records(record, each), Outdates | Disputes)
        and may_replace(record, each, own, fields[each.id])
    ]


async def _load(workspace: Workspace, ids: Sequence[RecordId]) -> list[Record]:
    found = {
        record.id: record
        for bank in workspace.banks
        for record in await load_records(bank, list(ids))
    }
    return [found[id_] for id_ in ids if id_ in found]
