"""What waits for the user's word, in one list."""

from typing import Any, Final

from memory_mcp import branches, sessions
from memory_mcp.code import describe_stale, find_stale
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import MEMORY_KINDS, format_time
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.outcomes import render_record, render_trust_report
from memory_mcp.search import search_memories
from memory_mcp.trust import report_trust

Fields = dict[str, Any]

_STALE_MAX: Final = 50
"""Memories of stale citations shown at once."""

_COMPARED_MAX: Final = 300
"""The newest memories that are compared with each other for contradictions."""


async def read_waiting(workspace: Workspace, _form: object) -> Fields | Skipped:
    """What waits for the user's word: approvals, reviews, suggestions, trust."""
    report = await branches.report_head(workspace)
    if isinstance(report, Skipped):
        return report
    suggested = await sessions.list_suggestions(workspace)
    return {
        "pending": [
            {"id": each.id, "phase": each.phase, "summary": each.summary,
             "at": format_time(each.at), "branch": each.branch}
            for each in report.pending
        ],
        "reviews": [render_record(each) for each in report.reviews],
        "suggestions": [
            {"statement": each.statement, "category": each.category}
            for each in (() if isinstance(suggested, Skipped) else suggested)
        ],
        "trust": await _read_trust(workspace),
        "warnings": list(report.warnings),
    }  # fmt: skip


async def _read_trust(workspace: Workspace) -> Fields | None:
    """What came with the repository, if anything waits."""
    if workspace.strangers is None:
        return None
    report = await report_trust(workspace)
    if not (report.waiting or report.settings):
        return None
    return {"waiting": report.waiting, "message": render_trust_report(report)}


async def read_doubts(workspace: Workspace, _form: object) -> Fields | Skipped:
    """Memories that contradict another, or whose cited code is not as it was: takes a while."""
    found = await find_stale(workspace, _STALE_MAX)
    if isinstance(found, Skipped):
        return found
    rows = [{**render_record(each.record), "stale": describe_stale(each)} for each in found.stale]
    return {"stale": rows, "disputes": await _find_disputes(workspace)}


async def _find_disputes(workspace: Workspace) -> list[Fields]:
    """The newest memories that contradict another one: each pair once, the outdated one first."""
    wanted = Filters(kinds=MEMORY_KINDS)
    newest = await search_memories(workspace, "", wanted, _COMPARED_MAX, limit_max=_COMPARED_MAX)
    if isinstance(newest, Skipped):
        return []
    known = {hit.record.id: hit.record for hit in newest.hits}
    found: dict[frozenset[RecordId], Fields] = {}
    for hit in newest.hits:
        others = [hit.outdated_by] if hit.outdated_by else [*hit.disputed_with]
        for other in others:
            if other in known and (pair := frozenset({hit.record.id, other})) not in found:
                found[pair] = {
                    "relation": "outdated" if hit.outdated_by else "disputed",
                    "memories": [render_record(known[id_]) for id_ in (hit.record.id, other)],
                }
    return [*found.values()]
