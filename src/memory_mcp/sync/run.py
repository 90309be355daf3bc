"""Brings this machine and the cloud in step: continuously beside a server, or once on request."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import field, replace
from typing import Final

from memory_mcp.bootstrap.views import render_if_stale
from memory_mcp.deadlines import wait_for_first
from memory_mcp.domain.cloud import MetadataCondition, NewEntry, OutboxCounts
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_IDS_MAX, DELIVERY_IDLE_SECONDS_MAX
from memory_mcp.engine.cloud import count_outboxes, describe_untrusted_cloud
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.records import gather_all
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import MemoryMcpError, RemoteError
from memory_mcp.frozen import frozen
from memory_mcp.sync.pull import PullResult, pull
from memory_mcp.sync.push import deliver_claim, drain, note_deletes
from memory_mcp.trust.erasing import PendingErasure, erase_pending, list_pending_erasures

_LOG: Final = logging.getLogger("memory_mcp")

_BATCH_SECONDS: Final = 0.1
"""What is noted within this time is delivered together."""

_HELD: Final = (
    "another session is delivering the rest, or was ended in the middle of it. Repeat in a minute."
)

_PAUSE_SECONDS_MIN: Final = 0.2
"""Between two looks that found nothing to do: another session may hold what is due."""


@frozen
class SyncReport:
    """What is still to be delivered, what was pulled, and why it ended early.

    `unmirrored` counts the records here that are neither in the cloud nor on their way. `waiting`
    are those that a record from the cloud would erase, `erased` those that were. `kept_out` says
    why nothing is pulled while the user does not trust the cloud.
    """

    counts: OutboxCounts
    unmirrored: int
    pulled: PullResult = field(default_factory=PullResult)
    stopped: str = ""
    waiting: tuple[PendingErasure, ...] = ()
    erased: tuple[PendingErasure, ...] = ()
    kept_out: str = ""


async def report_sync(
    workspace: Workspace, pulled: PullResult | None = None, stopped: str = ""
) -> SyncReport:
    """What is still to be delivered. Asks nothing of the cloud."""
    return SyncReport(
        await count_outboxes(workspace),
        sum([len(await _find_unmirrored(bank)) for bank in workspace.banks]),
        pulled or PullResult(),
        stopped,
        tuple(await list_pending_erasures(workspace)),
        kept_out=" ".join(describe_untrusted_cloud(workspace)),
    )


async def erase_forgotten_elsewhere(workspace: Workspace) -> SyncReport:
    """Erase what waits for the user's word. Asks nothing of the cloud."""
    erased = await erase_pending(workspace)
    return replace(await report_sync(workspace), erased=tuple(erased))


async def sync(
    workspace: Workspace, advance: Progress, *, push_all: bool = False, pull_all: bool = False
) -> SyncReport:
    """Pull what is new in the cloud, and deliver everything that waits here. May be repeated.

    `push_all` also delivers what was written before there was a cloud; `pull_all` looks at the
    whole of the cloud, as after a loss.
    """
    pulled = PullResult()
    try:
        for bank in workspace.banks:
            # first: what was forgotten elsewhere must not be sent again
            pulled += await pull(workspace, bank, advance, whole=pull_all)
            if push_all:
                await _note_unmirrored(bank, advance)
        await render_if_stale(workspace)  # what was forgotten elsewhere leaves the files here
        for bank in workspace.banks:
            await drain(bank, advance)
    except RemoteError as error:
        return await report_sync(workspace, pulled, str(error))
    counts = await count_outboxes(workspace)
    stopped = (counts.circuit.reason or _HELD) if counts.pending else ""
    return await report_sync(workspace, pulled, stopped)


async def keep_mirrored(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Deliver what any session notes, until this one leaves.

    Asks nothing of the cloud while there is nothing to deliver.
    """
    for bank in workspace.banks:
        await note_deletes(bank)
    while not leaving.is_set():
        delivered = [await _pull_and_deliver(workspace, bank) for bank in workspace.banks]
        if not any(delivered):
            await _wait_for_work(workspace, leaving)


async def _pull_and_deliver(workspace: Workspace, bank: MemoryBank) -> int:
    """Pull if that is due, and deliver one claim; how much was delivered."""
    try:
        if bank.mirror and bank.mirror.to_look:
            bank.mirror.looked()
            with suppress(RemoteError):  # the next search asks for it again
                await bank.mirror.looking(lambda: pull(workspace, bank))
        return await deliver_claim(bank)
    except MemoryMcpError as error:  # the outbox, not the cloud: it may be mended while we run
        _LOG.warning("%s", error)
        return 0


async def _wait_for_work(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Wait until something is noted here, is due again, or other sessions may have noted it."""
    mirror = workspace.project.mirror
    if mirror is None:
        return
    seconds = DELIVERY_IDLE_SECONDS_MAX
    with suppress(MemoryMcpError):
        counts = await count_outboxes(workspace)
        if counts.next_due is not None:
            due = max(counts.next_due, counts.circuit.paused_until) - mirror.now()
            seconds = min(seconds, max(due, _PAUSE_SECONDS_MIN))
    await wait_for_first(mirror.wake.wait(), leaving.wait(), seconds=seconds)
    if mirror.wake.is_set() and not leaving.is_set():
        await asyncio.sleep(_BATCH_SECONDS)
    mirror.wake.clear()


async def _find_unmirrored(bank: MemoryBank) -> set[RecordId]:
    if bank.mirror is None:
        return set()
    outbox = bank.mirror.outbox
    return await bank.records.ids() - await outbox.known() - await outbox.gone()


async def _note_unmirrored(bank: MemoryBank, advance: Progress) -> None:
    """Note an add for each record that the cloud does not hold, whatever the outbox knows."""
    mirror = bank.mirror
    if mirror is None:
        return
    known = await mirror.outbox.known()
    every = sorted(await bank.records.ids() - await mirror.outbox.gone())
    for start in range(0, len(every), BATCH_IDS_MAX):
        advance(start, len(every))
        ids = every[start : start + BATCH_IDS_MAX]
        listed = await mirror.remote.listing(
            mirror.namespace, [MetadataCondition("memory_id", ids)], 1
        )
        mirrored = {document.id for document in listed.documents if document.state != "failed"}
        await mirror.outbox.mark(mirrored)
        missing = [id_ for id_ in ids if id_ not in mirrored]
        doubted = [id_ for id_ in missing if id_ in known]  # a listing may lag: ask one by one
        found = await gather_all(mirror.remote.get(mirror.namespace, id_) for id_ in doubted)
        lost = {id_ for id_, document in zip(doubted, found, strict=True) if document is None}
        await mirror.outbox.unmark(lost)
        await mirror.outbox.note([NewEntry(id_, "add") for id_ in missing], mirror.now())
