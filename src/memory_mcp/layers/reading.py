"""Reads single layers of the caller's node."""

from collections.abc import Sequence

from memory_mcp.domain.layers import ArchivalRecord, CoreChange, CoreEntry, RecallEvent
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace


async def load_core(
    workspace: Workspace, keys: Sequence[str] | None = None, *, durable: bool = False
) -> tuple[CoreEntry, ...] | Skipped:
    """The core by keys, or all of it; with `durable`, the durable preferences after it."""
    raise NotImplementedError


async def list_core_history(workspace: Workspace, key: str) -> tuple[CoreChange, ...] | Skipped:
    """What became of a key on the chain of the node, oldest first."""
    raise NotImplementedError


async def load_events(
    workspace: Workspace, k: int | None, *, history: bool = False
) -> tuple[RecallEvent, ...] | Skipped:
    """The newest events, newest first; with `history` evicted and summed up ones, too."""
    raise NotImplementedError


async def search_events(
    workspace: Workspace, query: str, k: int | None
) -> tuple[RecallEvent, ...] | Skipped:
    """The events that match best; `*` means the newest, and a `k` of None all."""
    raise NotImplementedError


async def search_archival(
    workspace: Workspace, query: str, tags: Sequence[str], k: int
) -> tuple[ArchivalRecord, ...] | Skipped:
    """The texts of the archive that match best, ranked as every search is."""
    raise NotImplementedError


async def get_archival(workspace: Workspace, record_id: str) -> ArchivalRecord | Skipped:
    """The text of the archive of that id.

    Raises:
        UnknownMemoryError: the node does not see it.
    """
    raise NotImplementedError
