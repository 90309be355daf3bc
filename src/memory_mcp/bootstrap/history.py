"""What happened on a line of the project: told in paragraphs, sealed, or captured as an episode.

Only what is of the project: what happened to the user elsewhere is no part of its history, and the
page of it may lie in a folder that is shared.
"""

from typing import Final

from memory_mcp.domain.outcomes import Happened, Skipped
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.head import view_of
from memory_mcp.engine.reading import newest
from memory_mcp.engine.workspace import Workspace, reads_refused

_HAPPENED: Final = (
    Filters(kinds=frozenset({"event"}), category="history", reach="project"),
    Filters(kinds=frozenset({"checkpoint", "episode"}), reach="project"),
)


async def happened(workspace: Workspace, limit: int) -> Happened | Skipped:
    """The newest of what happened on this session's line."""
    if skipped := reads_refused(workspace):
        return skipped
    return await happened_in(workspace, await view_of(workspace), limit)


async def happened_in(workspace: Workspace, view: View, limit: int) -> Happened:
    """The newest of what happened in this view, and how much there is of it."""
    found = [r for f in _HAPPENED for r in (await newest(workspace, view, f, limit)).records]
    found.sort(key=lambda record: record.id, reverse=True)
    total = sum([await workspace.project.index.count(view, each) for each in _HAPPENED])
    return Happened(found[:limit], total)
