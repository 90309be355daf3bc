"""Carries out a document of updates as a model writes it."""

from collections.abc import Mapping
from typing import Any

from memory_mcp.domain.layers import UpdatesApplied
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace


async def apply_updates(
    workspace: Workspace, updates: Mapping[str, Any], phase: str = ""
) -> UpdatesApplied | Skipped:
    """Write all of it in one step, or nothing; answer what it asks as of after that.

    Raises:
        InvalidRequestError: an unknown key or a wrong type; names it and the right ones.
    """
    raise NotImplementedError
