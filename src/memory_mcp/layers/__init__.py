"""The layers of a node in a search tree: core, recall and archival, and how the tree ends."""

from memory_mcp.layers.compression import CompressionRequest, compress
from memory_mcp.layers.final import collect_final_memory
from memory_mcp.layers.nodes import fork_node, read_node, write_node
from memory_mcp.layers.prompt import render_for_prompt
from memory_mcp.layers.reading import (
    get_archival,
    list_core_history,
    load_core,
    load_events,
    search_archival,
    search_events,
)
from memory_mcp.layers.resources import take_snapshot, track_usage
from memory_mcp.layers.tree import discard_node, join_node
from memory_mcp.layers.updates import (
    apply_updates,
    memory_operation_instructions,
    parse_form,
    parse_node_write,
)

__all__ = [
    "CompressionRequest",
    "apply_updates",
    "collect_final_memory",
    "compress",
    "discard_node",
    "fork_node",
    "get_archival",
    "join_node",
    "list_core_history",
    "load_core",
    "load_events",
    "memory_operation_instructions",
    "parse_form",
    "parse_node_write",
    "read_node",
    "render_for_prompt",
    "search_archival",
    "search_events",
    "take_snapshot",
    "track_usage",
    "write_node",
]
