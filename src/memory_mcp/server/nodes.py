"""The tools of the toolset `layers`: an agent that searches a tree names its node in every call."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from memory_mcp import layers
from memory_mcp.domain.layers import LayerScope
from memory_mcp.domain.limits import RENDER_CHARS_DEFAULT
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.layers import render_layers, render_view
from memory_mcp.server.calls import answer_fields, answer_text, bind_caller
from memory_mcp.text.drafts import check_branch

NodeRequest = Context[Workspace]

NodeId = Annotated[str, Field(description="Any text, ≤ 200 characters")]


async def mem_node_fork(
    *,
    ctx: NodeRequest,
    parent_node_id: Annotated[str, Field(description="empty: the root")] = "",
    child_node_id: Annotated[str, Field(description="empty: one is made")] = "",
    ancestor_chain: Annotated[
        list[str] | None, Field(description="root to parent; missing ones are begun")
    ] = None,
    phase: str = "tree_structure",
) -> CallToolResult:
    """Begin a node of a search tree below its parent; to repeat it changes nothing.

    The child inherits what its ancestors know now, and never changes it.
    """
    outcome = await layers.fork_node(
        bind_caller(ctx), parent_node_id or None, child_node_id or None, ancestor_chain or (), phase
    )
    return answer_fields(render_layers(outcome))


async def mem_node_read(
    *,
    node_id: NodeId,
    ctx: NodeRequest,
    scope: LayerScope = "all",
    budget_chars: Annotated[int, Field(ge=0)] = RENDER_CHARS_DEFAULT,
) -> CallToolResult:
    """What a node sees: its core, its newest events and archive, inherited ones included.

    `left_out` counts what the budget has no room for.
    """
    node = bind_caller(ctx).at(check_branch(node_id))
    view = await layers.read_node(node, scope)
    if isinstance(view, Skipped):
        return answer_fields(render_layers(view))
    return answer_fields(render_view(view, budget_chars))


async def mem_node_write(
    *,
    node_id: NodeId,
    ctx: NodeRequest,
    core_updates: Annotated[
        dict[str, Any] | None, Field(description="key: text, or {value, ttl, importance}")
    ] = None,
    recall_event: Annotated[
        dict[str, Any] | None, Field(description="summary, text, kind, phase, refs, tags, …")
    ] = None,
    archival_records: Annotated[
        list[dict[str, Any] | str] | None, Field(description="text, tags, meta; or the text alone")
    ] = None,
) -> CallToolResult:
    """Write to the layers of a node: all of it in one step, or nothing."""
    writes = layers.parse_node_write(core_updates or {}, recall_event, archival_records or ())
    node = bind_caller(ctx).at(check_branch(node_id))
    return answer_fields(render_layers(await layers.write_node(node, writes)))


async def apply_llm_memory_updates(
    *,
    node_id: NodeId,
    updates: Annotated[
        dict[str, Any],
        Field(
            description="mem_core_set|get|del, mem_recall_append|search|evict, "
            "mem_archival_write|update|search, consolidate"
        ),
    ],
    ctx: NodeRequest,
    phase: str = "",
) -> CallToolResult:
    """Carry out a document of updates on a node: all writes in one step, or nothing.

    `results` answers what it asks.
    """
    node = bind_caller(ctx).at(check_branch(node_id))
    return answer_fields(render_layers(await layers.apply_updates(node, updates, phase)))


async def mem_node_render(
    *,
    node_id: NodeId,
    ctx: NodeRequest,
    task_hint: Annotated[str, Field(description="chooses from the archive")] = "",
    budget_chars: Annotated[int, Field(ge=0)] = RENDER_CHARS_DEFAULT,
) -> CallToolResult:
    """What a node sees as text for a prompt, within a budget: resources, core, events, archive."""
    node = bind_caller(ctx).at(check_branch(node_id))
    prompt = await layers.render_for_prompt(node, task_hint, budget_chars)
    return answer_text(prompt.text or prompt.log.note or "Nothing is known, or nothing fits.")
