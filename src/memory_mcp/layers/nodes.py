"""Begins nodes, and reads and writes all layers of one at once."""

from collections.abc import Sequence

from memory_mcp.domain.layers import LayerReceipt, LayerScope, NodeForked, NodeView, Write
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace


async def fork_node(
    workspace: Workspace,
    parent: str | None,
    child: str | None,
    ancestors: Sequence[str] = (),
    phase: str = "",
) -> NodeForked | Skipped:
    """Begin a node below its parent (None: the root); to repeat it changes nothing.

    `ancestors` are the nodes from the root to the parent: those that are missing are begun. A child
    of None gets an id.

    Raises:
        UnknownTargetError: no such parent, and no ancestors that would say where it belongs.
        InvalidRequestError: an id that cannot be one, or a child that has another parent.
    """
    raise NotImplementedError


async def read_node(workspace: Workspace, scope: LayerScope = "all") -> NodeView | Skipped:
    """What the caller's node sees of its layers.

    Raises:
        UnknownTargetError: no such node.
    """
    raise NotImplementedError


async def write_node(workspace: Workspace, writes: Sequence[Write]) -> LayerReceipt | Skipped:
    """Write to the layers of the caller's node: all of it in one step, or nothing.

    Raises:
        InvalidRequestError: one of them cannot be stored.
        UnknownTargetError: no such node.
        UnknownMemoryError: one of them names a memory that the node does not see.
    """
    raise NotImplementedError
