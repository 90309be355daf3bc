"""Explains one memory: from where it is, what it replaced, and what contradicts it."""

from collections.abc import Sequence
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryProvenance
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.records import load_hits, load_records
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search.local import find_local
from memory_mcp.text.truths import mark_truths

_COMPARED_MAX: Final = 40
"""Memories most like it, with which it is compared."""


async def explain_memory(workspace: Workspace, record: Record) -> MemoryProvenance:
    """Where a visible memory is from, and which others it stands against.

    What it replaced and was made of is shown even where it holds no more: it is asked for by name.
    """
    view = make_view(workspace, (await load_head(workspace)).timeline)
    matches = await find_local(workspace, record.content[: limits.QUERY_CHARS_MAX], view, Filters())
    hits, _ = await load_hits(matches.ranked, matches.home, view, _COMPARED_MAX)
    made_of = [id_ for id_ in record.derived_from if id_ not in record.supersedes]
    near = {hit.record.id: hit.record for hit in hits} | {record.id: record}
    outlines = {id_: fields.outline for id_, fields in matches.fields.items()}
    marks = mark_truths(list(near.values()), outlines=outlines)
    newest = marks.outdated.get(record.id)
    return MemoryProvenance(
        record=record,
        sources=await _load(workspace, made_of),
        replaced=await _load(workspace, record.supersedes),
        newer_than=[near[old] for old, new in marks.outdated.items() if new == record.id],
        outdated_by=[near[newest]] if newest else [],
        disputed_with=[near[id_] for id_ in marks.disputed.get(record.id, ())],
    )


async def _load(workspace: Workspace, ids: Sequence[RecordId]) -> list[Record]:
    found = {
        record.id: record
        for bank in workspace.banks
        for record in await load_records(bank, list(ids))
    }
    return [found[id_] for id_ in ids if id_ in found]
