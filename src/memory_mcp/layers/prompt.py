"""Makes the text for a prompt of what a node sees, within a budget."""

from dataclasses import replace

from memory_mcp.domain.layers import ArchivalRecord
from memory_mcp.domain.limits import LESSONS_SHOWN, PROMPT_HITS
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.layers.nodes import read_node
from memory_mcp.layers.reading import mark_archived, search_archival
from memory_mcp.render.node import NodePrompt, RenderLog, render_node


async def render_for_prompt(
    workspace: Workspace, task: str, budget_chars: int | None
) -> NodePrompt:
    """The node's layers; of the archive what fits the task, or else the newest.

    The newest lessons stand first in it, whatever the task: whoever explores one node of a tree
    cannot ask for what it does not know to have failed on another.

    Raises:
        InvalidRequestError: the budget is negative.
        UnknownTargetError: no such node.
    """
    if budget_chars is not None and budget_chars < 0:
        raise InvalidRequestError(f"budget_chars is {budget_chars}; give a number from 0.")
    view = await read_node(workspace, durable=True)
    if isinstance(view, Skipped):
        log = RenderLog(workspace.caller.branch, budget_chars, 0, note=view.reason)
        return NodePrompt("", log)
    if task.strip():
        found = await search_archival(workspace, task, (), PROMPT_HITS)
        if not isinstance(found, Skipped):
            view = replace(view, archival=found)
    return render_node(view, budget_chars, await _list_lessons(workspace))


async def _list_lessons(workspace: Workspace) -> tuple[ArchivalRecord, ...]:
    """The newest lessons, which every node sees."""
    view, filters = await load_view(workspace), Filters(kinds=frozenset({"lesson"}))
    read = await load_newest(workspace, view, filters, LESSONS_SHOWN)
    return mark_archived(workspace, read.records)
