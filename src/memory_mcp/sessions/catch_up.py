"""Bringing index and head in step with the records: at start, after a merge, on request."""

import logging
from contextlib import suppress
from typing import Final

from memory_mcp.bootstrap.views import render_if_stale
from memory_mcp.engine.head import absorb
from memory_mcp.engine.index_sync import CaughtUp, Progress
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import StoreError, StoreUnavailableError
from memory_mcp.sync.push import note_deletes
from memory_mcp.transfer.import_memories import complete_import

_LOG: Final = logging.getLogger("memory_mcp")


async def catch_up(workspace: Workspace, progress: Progress | None = None) -> CaughtUp:
    """Adopt what other clones, cuts and hands left in the folders; complete what was cut short."""
    done = CaughtUp()
    with suppress(StoreError):  # the journal stays; the doctor names it
        await complete_import(workspace)
    for pool in workspace.pools:
        done += await pool.index.catch_up(progress)
        await note_deletes(pool)  # what was completed here has yet to be completed in the cloud
    await absorb(workspace)
    with suppress(StoreUnavailableError):  # neither is needed to go on: the doctor names both
        for pool in workspace.pools:
            await pool.records.tidy()
        moves = [
            r async for r in workspace.project.records.scan(await workspace.project.index.moves())
        ]
        await workspace.heads.log(await workspace.heads.unlogged(moves))
    for note in await render_if_stale(
        workspace
    ):  # a forget that was cut short has yet to leave them
        _LOG.warning("%s", note)
    return done


async def reindex(workspace: Workspace, progress: Progress | None = None) -> CaughtUp:
    """Make both indexes anew from the records."""
    for pool in workspace.pools:
        await pool.index.reset()
    return await catch_up(workspace, progress)
