"""Bringing here and the cloud together: all the time beside a server, or at once on request."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from memory_mcp.bootstrap.views import render_if_behind
from memory_mcp.domain.cloud import Letter, Tally, Test
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_IDS_MAX, DELIVERY_IDLE_SECONDS_MAX
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.pending import kept_out, tally_of
from memory_mcp.engine.reading import together
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import MemoryMcpError, RemoteError
from memory_mcp.sync.pull import TakenIn, look_around
from memory_mcp.sync.push import deliver, drain, note_forgotten
from memory_mcp.trust.erasing import PendingErasure, erase_waiting, waiting_to_be_erased

_LOG: Final = logging.getLogger("memory_mcp")

_TOGETHER_SECONDS: Final = 0.1
"""What is noted in so short a time travels together."""

_HELD: Final = (
    "another session is delivering the rest, or was ended in the middle of it. Repeat in a minute."
)

_PAUSE_SECONDS_MIN: Final = 0.2
"""Between two looks that found nothing to do: another session may hold what is due."""


@dataclass(frozen=True)
class Synced:
    """What came of it: what is still to be delivered, what came in, and why it ended early.

    `unmirrored` counts the records here that are neither in the cloud nor on their way; `waiting`
    are those that something from the cloud would erase, `erased` those that went. `kept_out` says
    why nothing comes in, as long as the user does not trust the cloud.
    """

    tally: Tally
    unmirrored: int
    taken_in: TakenIn = field(default_factory=TakenIn)
    stopped: str = ""
    waiting: tuple[PendingErasure, ...] = ()
    erased: tuple[PendingErasure, ...] = ()
    kept_out: str = ""


async def sync_status(workspace: Workspace) -> Synced:
    """What is still to be delivered. Asks nothing of the cloud."""
    return await _synced(workspace)


async def erase_forgotten_elsewhere(workspace: Workspace) -> Synced:
    """Erase what waits for the user's word. Asks nothing of the cloud."""
    erased = await erase_waiting(workspace)
    return replace(await _synced(workspace), erased=tuple(erased))


async def _synced(
    workspace: Workspace, taken_in: TakenIn | None = None, stopped: str = ""
) -> Synced:
    return Synced(
        await tally_of(workspace),
        await _unmirrored(workspace),
        taken_in or TakenIn(),
        stopped,
        tuple(await waiting_to_be_erased(workspace)),
        kept_out=" ".join(kept_out(workspace)),
    )


async def sync(
    workspace: Workspace, advance: Progress, *, push_all: bool = False, pull_all: bool = False
) -> Synced:
    """Take in what is new there, and deliver everything that waits here. Repeating it goes on.

    With `push_all` also what was written before there was a cloud; with `pull_all` the whole of the
    cloud is looked at, as after a loss.
    """
    taken_in = TakenIn()
    try:
        for pool in workspace.pools:
            # first: what was forgotten elsewhere must not be sent again
            taken_in += await look_around(workspace, pool, advance, whole=pull_all)
            if push_all:
                await _note_all(pool, advance)
        await render_if_behind(workspace)  # what was forgotten elsewhere leaves the files here
        for pool in workspace.pools:
            await drain(pool, advance)
    except RemoteError as error:
        return await _synced(workspace, taken_in, str(error))
    tally = await tally_of(workspace)
    stopped = (tally.standing.reason or _HELD) if tally.pending else ""
    return await _synced(workspace, taken_in, stopped)


async def keep_mirrored(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Deliver what this session and others note, until it is time to leave.

    Nothing is asked of the cloud while there is nothing to deliver.
    """
    for pool in workspace.pools:
        await note_forgotten(pool)
    while not leaving.is_set():
        handled = [await _tended(workspace, pool) for pool in workspace.pools]
        if not any(handled):
            await _wait(workspace, leaving)


async def _tended(workspace: Workspace, pool: Pool) -> int:
    """Look around if that is due, and deliver once; how much was delivered."""
    try:
        if pool.mirror and pool.mirror.to_look:
            pool.mirror.looked()
            with suppress(RemoteError):  # the next search wants it again
                await pool.mirror.looking(lambda: look_around(workspace, pool))
        return await deliver(pool)
    except MemoryMcpError as error:  # the outbox, not the cloud: it may be mended while we run
        _LOG.warning("%s", error)
        return 0


async def _wait(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Until something is noted here, or it is time to look what others noted, or is due again."""
    mirror = workspace.project.mirror
    if mirror is None:
        return
    seconds = DELIVERY_IDLE_SECONDS_MAX
    with suppress(MemoryMcpError):
        tally = await tally_of(workspace)
        if tally.next_due is not None:
            due = max(tally.next_due, tally.standing.paused_until) - mirror.now()
            seconds = min(seconds, max(due, _PAUSE_SECONDS_MIN))
    waits = [asyncio.ensure_future(event.wait()) for event in (mirror.wake, leaving)]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    if mirror.wake.is_set() and not leaving.is_set():
        await asyncio.sleep(_TOGETHER_SECONDS)
    mirror.wake.clear()


async def _unmirrored(workspace: Workspace) -> int:
    return sum([len(await _missing(pool)) for pool in workspace.pools])


async def _missing(pool: Pool) -> set[RecordId]:
    if pool.mirror is None:
        return set()
    outbox = pool.mirror.outbox
    return await pool.records.ids() - await outbox.known() - await outbox.gone()


async def _note_all(pool: Pool, advance: Progress) -> None:
    """Note what the cloud does not hold, whatever was known of it; what it holds is not sent."""
    mirror = pool.mirror
    if mirror is None:
        return
    known = await mirror.outbox.known()
    every = sorted(await pool.records.ids() - await mirror.outbox.gone())
    for start in range(0, len(every), BATCH_IDS_MAX):
        advance(start, len(every))
        ids = every[start : start + BATCH_IDS_MAX]
        listed = await mirror.remote.listing(mirror.namespace, [Test("memory_id", ids)], 1)
        there = {document.id for document in listed.documents if document.state != "failed"}
        await mirror.outbox.mark(there)
        missing = [id_ for id_ in ids if id_ not in there]
        doubted = [id_ for id_ in missing if id_ in known]  # a listing may lag: asked one by one
        found = await together(mirror.remote.get(mirror.namespace, id_) for id_ in doubted)
        lost = {id_ for id_, document in zip(doubted, found, strict=True) if document is None}
        await mirror.outbox.unmark(lost)
        await mirror.outbox.note([Letter(id_, "add") for id_ in missing], mirror.now())
