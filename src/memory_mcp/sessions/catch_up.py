"""Brings index and head in step with the records: at start, after a merge, on request."""

import logging
from contextlib import suppress
from typing import Final

from memory_mcp.bootstrap.views import render_if_stale
from memory_mcp.engine.head import absorb_moves, load_moves, log_missing_moves
from memory_mcp.engine.index_sync import CatchUpCounts, Progress
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import StoreError, StoreUnavailableError
from memory_mcp.sync.push import note_deletes
from memory_mcp.transfer.import_memories import complete_import

_LOG: Final = logging.getLogger("memory_mcp")


async def catch_up(
    workspace: Workspace, progress: Progress | None = None, *, render: bool = True
) -> CatchUpCounts:
    """Adopt records that others left in the folders, and complete what was cut short.

    With `render` the files that show it are rendered as well.
    """
    done = CatchUpCounts()
    with suppress(StoreError):  # the journal stays; the doctor names it
        await complete_import(workspace)
    for bank in workspace.banks:
        done += await bank.index.catch_up(progress)
        await note_deletes(bank)  # the cloud has yet to erase what was erased here
    await absorb_moves(workspace)
    with suppress(StoreUnavailableError):  # neither is needed to go on: the doctor names both
        for bank in workspace.banks:
            await bank.records.remove_litter()
        await log_missing_moves(workspace, await load_moves(workspace))
    # the rendered files may still show what a forget erased that was cut short
    for note in await render_if_stale(workspace) if render else ():
        _LOG.warning("%s", note)
    return done


async def reindex(workspace: Workspace, progress: Progress | None = None) -> CatchUpCounts:
    """Rebuild both indexes from the records."""
    for bank in workspace.banks:
        await bank.index.reset()
    return await catch_up(workspace, progress)
