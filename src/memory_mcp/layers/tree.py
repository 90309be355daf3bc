"""Ends nodes: joins one into its parent, or discards it with a lesson."""

from memory_mcp.domain.layers import NodeDiscarded, NodeJoined, Prefer
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace


async def join_node(
    workspace: Workspace, into: str | None = None, prefer: Prefer | None = None
) -> NodeJoined | Skipped:
    """Make the line of the caller's node part of its parent's (or of `into`), in one move.

    Without `prefer` nothing is moved if both changed the same: the conflicts are returned.

    Raises:
        UnknownTargetError: no such node.
    """
    raise NotImplementedError


async def discard_node(workspace: Workspace, lesson: str = "") -> NodeDiscarded | Skipped:
    """Leave what the caller's node wrote; the lesson is durable, and every node sees it."""
    raise NotImplementedError
