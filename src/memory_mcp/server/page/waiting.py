"""What waits for the user's word, in one list."""

from typing import Any, Final

from memory_mcp import branches, sessions
from memory_mcp.code import describe_stale, find_stale
from memory_mcp.domain.outcomes import Dispute, Skipped
from memory_mcp.domain.record import format_time
from memory_mcp.engine.workspace import Workspace
from memory_mcp.listing import find_disputes
from memory_mcp.render.outcomes import render_record, render_trust_report
from memory_mcp.trust import report_trust

Fields = dict[str, Any]

_STALE_MAX: Final = 50
"""Memories of stale citations shown at once."""

_COMPARED_AT_ONCE: Final = 300
"""Memories that are compared with all others in one call; the page asks for the next ones."""


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


async def read_stale(workspace: Workspace, _form: object) -> Fields | Skipped:
    """Memories whose cited code is not as it was: every record is read for them."""
    found = await find_stale(workspace, _STALE_MAX)
    if isinstance(found, Skipped):
        return found
    rows = [{**render_record(each.record), "stale": describe_stale(each)} for each in found.stale]
    return {"stale": rows}


async def read_disputes(workspace: Workspace, form: Any) -> Fields | Skipped:
    """Pairs of memories that contradict each other; one of each pair is in this stretch of all."""
    found = await find_disputes(workspace, form.offset, _COMPARED_AT_ONCE)
    if isinstance(found, Skipped):
        return found
    pairs = [_render_dispute(each) for each in found.pairs]
    return {"disputes": pairs, "lookedAt": found.looked_at, "total": found.total}


def _render_dispute(dispute: Dispute) -> Fields:
    return {
        "relation": "outdated" if dispute.outdated else "disputed",
        "memories": [render_record(each) for each in (dispute.older, dispute.newer)],
    }
