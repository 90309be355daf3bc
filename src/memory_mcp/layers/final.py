"""Collects what a node knows at the end of a run, for a report."""

from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import MEMORY_OFF, Workspace
from memory_mcp.layers.nodes import read_node
from memory_mcp.layers.reading import NEWEST, load_events, search_archival
from memory_mcp.render.final import FinalMemory


async def collect_final_memory(workspace: Workspace) -> FinalMemory | Skipped:
    """All that the caller's node sees: core, every event, the archive, and every node's lessons.

    Raises:
        UnknownTargetError: no such node.
    """
    view = await read_node(workspace, durable=True)
    events = await load_events(workspace, None, history=True)
    archive = await search_archival(workspace, NEWEST, (), limits.LISTED_MEMORIES_MAX)
    if isinstance(view, Skipped) or isinstance(events, Skipped) or isinstance(archive, Skipped):
        return Skipped(MEMORY_OFF)
    lessons = await load_newest(
        workspace,
        await load_view(workspace),
        Filters(kinds=frozenset({"lesson"})),
        limits.LISTED_MEMORIES_MAX,
    )
    return FinalMemory(
        view=view,
        at=workspace.clock.now(),
        events=sorted(events, key=lambda event: (event.ts, event.id)),
        archive=archive,
        lessons=[record.content for record in lessons.records],
    )
