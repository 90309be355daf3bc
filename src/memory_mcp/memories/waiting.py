"""New memories that wait on this machine for a database that is away, and their delivery.

Write order, and why: the text first, then its entry in the outbox. Only then is the memory
acknowledged, so an entry always has its text, and a text without an entry was never acknowledged.
It is delivered, then the text is removed, then the entry. So an entry without a text was delivered.
A delivery that is cut short is repeated, and finds its id, or its statement, in the database.

What is delivered goes through everything that a new memory goes through, on its own branch as that
stands then: the head, and what is known, may have moved meanwhile.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from memory_mcp.deadlines import wait_for_first
from memory_mcp.domain.cloud import (
    Confirmed,
    DeadLettered,
    DeliveryOutcome,
    Lease,
    RetryLater,
)
from memory_mcp.domain.ids import MAIN, parse_id_time
from memory_mcp.domain.limits import LEASE_SECONDS, TEMPORARY_FILE_SECONDS_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.engine.cloud import describe_waiting
from memory_mcp.engine.workspace import WaitingRecords, Workspace, refuse_writes
from memory_mcp.errors import DatabaseAwayError, InvalidRequestError, MemoryMcpError
from memory_mcp.memories.add import store_waiting

_LOG: Final = logging.getLogger("memory_mcp")

_PAUSE_SECONDS_MIN: Final = 1.0
_PAUSE_SECONDS_MAX: Final = 30.0
"""Between two tries to deliver, doubling from the first to the second; a call that finds the
database back starts one at once."""


_REFUSED: Final = "Its file below MEMORY_HOME, in a folder `waiting`, holds the text."


async def keep_delivered(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Deliver what waits as soon as the database is back, until this session ends."""
    waiting, pause = workspace.waiting, _PAUSE_SECONDS_MIN
    while waiting is not None and not leaving.is_set():
        delivered = False
        try:
            delivered = await deliver_waiting(workspace) > 0
        except DatabaseAwayError as error:
            _LOG.info("%s", error)  # each call says so
        except MemoryMcpError as error:
            _LOG.warning("%s", error)
        pause = _PAUSE_SECONDS_MIN if delivered else pause
        await wait_for_first(waiting.wake.wait(), leaving.wait(), seconds=pause)
        pause = _PAUSE_SECONDS_MIN if waiting.wake.is_set() else min(2 * pause, _PAUSE_SECONDS_MAX)
        waiting.wake.clear()


async def deliver_waiting(workspace: Workspace) -> int:
    """Deliver what is due; how many memories are in the database now that waited.

    Raises:
        DatabaseAwayError: it is still away; what waits goes on waiting.
    """
    waiting, done = workspace.waiting, 0
    if waiting is None or refuse_writes(workspace):
        return 0
    now = workspace.clock.now().timestamp()
    while lease := await waiting.outbox.claim(now, now + LEASE_SECONDS):
        outcomes = dict[int, DeliveryOutcome]()
        try:
            async for seq, outcome in _deliver(workspace, waiting, lease):
                outcomes[seq] = outcome
                done += isinstance(outcome, Confirmed)
        finally:  # also if it is away, or this session ends: nobody need wait for the lease
            left = {entry.seq: RetryLater(now) for entry in lease.entries}
            await waiting.outbox.record_outcomes(lease, {**left, **outcomes})
        if not done:
            break
    await _remove_unacknowledged(waiting, now)
    return done


async def _remove_unacknowledged(waiting: WaitingRecords, now: float) -> None:
    """Remove texts without an entry, of writes that were cut short. A fresh one may get its own."""
    if (await waiting.outbox.counts()).dead:  # which keep theirs
        return
    left = await waiting.records.ids() - await waiting.outbox.known()
    old = now - TEMPORARY_FILE_SECONDS_MAX
    await waiting.records.erase([id_ for id_ in left if parse_id_time(id_).timestamp() < old])


async def _deliver(
    workspace: Workspace, waiting: WaitingRecords, lease: Lease
) -> AsyncIterator[tuple[int, DeliveryOutcome]]:
    later = workspace.clock.now().timestamp() + LEASE_SECONDS
    for entry in lease.entries:
        record = await waiting.records.get(entry.record)
        if record is None:
            yield entry.seq, Confirmed()
            continue
        if record.scope.team not in (None, workspace.caller.team):
            yield entry.seq, RetryLater(later)  # for no other team
            continue
        try:
            await _store(workspace, record)
        except InvalidRequestError as error:
            yield entry.seq, DeadLettered(str(error))
        else:
            await waiting.records.erase([record.id])
            yield entry.seq, Confirmed()


async def _store(workspace: Workspace, record: Record) -> None:
    bank = workspace.bank_of(record.scope.reach)
    if await bank.records.get(record.id) or record.id in await bank.index.logged():
        return  # an earlier delivery arrived, and may have been forgotten since
    with suppress(InvalidRequestError):
        await store_waiting(workspace, record)
        return
    # its branch is gone, or what it was to replace: the statement itself was acknowledged
    await store_waiting(workspace, record.model_copy(update={"branch": MAIN, "supersedes": ()}))


async def find_waiting_writes(workspace: Workspace) -> list[Finding]:
    """Deliver what can be delivered now, and name the rest."""
    if workspace.waiting is None:
        return []
    await deliver_waiting(workspace)
    counts = await workspace.waiting.outbox.counts()
    found = [Finding("writes-wait", "should", note, "They are stored as soon as it takes them.")
             for note in await describe_waiting(workspace)]  # fmt: skip
    for dead in counts.dead_letters:
        what = f"{dead.record} waited for the database and cannot be stored: {dead.error}"
        found.append(Finding("write-refused", "must", what, _REFUSED))
    return found
