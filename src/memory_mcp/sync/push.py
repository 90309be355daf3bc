"""Delivering what the outbox holds: one claim at a time, exactly once whatever goes wrong.

An add is marked as sent before it is sent. If its answer was lost, or the process killed, the next
one asks first whether the document is there. A delete counts once the document is really gone.
"""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from memory_mcp.domain.cloud import (
    Accepted,
    Claim,
    Dead,
    Done,
    Dropped,
    Fate,
    Later,
    Lost,
    Parcel,
    Standing,
    State,
    Tally,
    Test,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import (
    CONFIRM_ATTEMPTS_MAX,
    CONFIRM_SECONDS,
    LEASE_SECONDS,
    LITTER_SECONDS_MIN,
    LOST_MAX,
    REMOTE_DELIVERY_SECONDS_MAX,
    SYNC_WAIT_SECONDS_MAX,
    TOGETHER_ATTEMPTS_MAX,
)
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.reading import together
from memory_mcp.engine.workspace import Pool
from memory_mcp.errors import RemoteBlockedError, RemoteError, RemoteRejectedError, StoreError
from memory_mcp.storage.supermemory.backoff import after_failure, confirm_in, may_ask, pause
from memory_mcp.storage.supermemory.documents import document_of

_LOOK_SECONDS_MIN: Final = 0.05
_LOOK_SECONDS_MAX: Final = 0.25
"""While waiting: another session may be delivering what is pending."""


async def deliver(pool: Pool) -> int:
    """Carry out one claim; how many parcels it held. 0: nothing can be done now."""
    mirror = pool.mirror
    if mirror is None or not mirror.vouched() or not await _ready(mirror):
        return 0
    now = mirror.now()
    until = now + LEASE_SECONDS
    claim = await mirror.outbox.claim(now, until)
    if claim is None:
        return 0
    standing = await mirror.outbox.standing()
    try:
        fates = await _carried_out(pool, mirror, claim, until)
    except RemoteError as error:
        standing = _after(standing, error, mirror)
        await mirror.outbox.stand(standing)
        fates = {p.seq: _postponed(p, claim, error, standing, mirror) for p in claim.parcels}
    except asyncio.CancelledError:  # this session ends: the next need not wait for its lease
        await mirror.outbox.settle(claim, {p.seq: Later(now) for p in claim.parcels})
        raise
    else:
        if standing != Standing():
            await mirror.outbox.stand(Standing())
    await mirror.outbox.settle(claim, fates)
    return len(fates)


async def drain(pool: Pool, advance: Progress) -> Tally:
    """Deliver everything now, what rides along included, until only waiting would help.

    Raises:
        RemoteError: the cloud cannot be asked at all.
    """
    mirror = pool.mirror
    if mirror is None or not mirror.vouched():
        return Tally()
    await note_forgotten(pool)
    await mirror.outbox.hurry(mirror.now())
    tally = await mirror.outbox.tally()
    if tally.pending or tally.standing.blocked:
        await _probe(mirror)
    total = tally.pending
    while True:
        advance(max(0, total - tally.pending), total)
        if not await deliver(pool):
            tally = await mirror.outbox.tally()
            if not tally.pending:  # what was handed over is confirmed when that is due
                break
            wait = max(tally.next_due or 0.0, tally.standing.paused_until) - mirror.now()
            if tally.standing.blocked or wait > SYNC_WAIT_SECONDS_MAX:
                break
            await asyncio.sleep(min(max(wait, _LOOK_SECONDS_MIN), _LOOK_SECONDS_MAX))
        tally = await mirror.outbox.tally()
    return tally


async def note_forgotten(pool: Pool) -> None:
    """Note deletes for what was forgotten while nothing was mirrored, or in another clone."""
    if pool.mirror is not None:
        with suppress(StoreError):  # the next start looks again
            late = await pool.index.erased() - await pool.mirror.outbox.gone()
            if late:
                await pool.mirror.note_erased(late)


async def _ready(mirror: Mirror) -> bool:
    """Whether to ask now. What is blocked is probed when its time has come."""
    standing = await mirror.outbox.standing()
    if not standing.blocked or standing.paused_until > mirror.now():
        return may_ask(standing, mirror.now())
    with suppress(RemoteError):
        await _probe(mirror)
        return True
    return False


async def _probe(mirror: Mirror) -> None:
    try:
        await mirror.remote.probe()
    except RemoteError as error:
        # a server that knows no such route needs a person too
        why = RemoteBlockedError(str(error)) if isinstance(error, RemoteRejectedError) else error
        await mirror.outbox.stand(_after(await mirror.outbox.standing(), why, mirror))
        raise
    await mirror.outbox.stand(Standing())


def _after(standing: Standing, error: RemoteError, mirror: Mirror) -> Standing:
    return after_failure(standing, error, now=mirror.now(), chance=random.random())  # noqa: S311


def _postponed(
    parcel: Parcel, claim: Claim, error: RemoteError, standing: Standing, mirror: Mirror
) -> Fate:
    """What becomes of a parcel whose request failed as a whole.

    One whose answer was lost before stays sent: what was refused now may have been the question.
    """
    now = mirror.now()
    new = claim.stage == "new"
    match error:
        case RemoteRejectedError() if claim.stage == "accepted":
            return Later(now + CONFIRM_SECONDS[-1], str(error))
        case RemoteRejectedError() if len(claim.parcels) == 1:
            return Dead(str(error))
        case RemoteRejectedError():
            return Later(now, str(error), unsent=new, alone=True)
        case RemoteBlockedError():
            return Later(now, str(error), unsent=new)
        case _:
            # a parcel that fails again and again must not take the others down with it
            due = max(standing.paused_until, now + _patience(parcel))
            unsent = getattr(error, "refused", False) and new
            alone = parcel.attempts >= TOGETHER_ATTEMPTS_MAX
            return Later(due, str(error), unsent=unsent, alone=alone)


def _patience(parcel: Parcel) -> float:
    return pause(max(0, parcel.attempts - 1), chance=random.random())  # noqa: S311


async def _carried_out(pool: Pool, mirror: Mirror, claim: Claim, until: float) -> dict[int, Fate]:
    match claim.op, claim.stage:
        case "add", "accepted":
            return await _confirm(mirror, claim.parcels)
        case "add", _:
            return await _send(pool, mirror, claim, until)
        case "delete", "accepted":
            return await _verify(mirror, claim.parcels)
        case _:
            return await _erase(mirror, claim.parcels)


async def _send(pool: Pool, mirror: Mirror, claim: Claim, until: float) -> dict[int, Fate]:
    records = {r.id: r async for r in pool.records.scan([p.record for p in claim.parcels])}
    fates: dict[int, Fate] = {
        p.seq: await _without_record(pool, mirror, p)
        for p in claim.parcels
        if p.record not in records
    }
    to_send = [p for p in claim.parcels if p.record in records]
    if claim.stage == "sent":  # the answers were lost: did they arrive?
        there = await _asked_for(mirror, to_send)
        arrived = [p for p in to_send if there[p.record] is not None]
        fates |= {p.seq: _taken(there[p.record], p, mirror) for p in arrived}
        to_send = [p for p in to_send if there[p.record] is None]
    # past the lease (the machine slept) others have sent it, and perhaps removed it again since
    if to_send and mirror.now() < until - REMOTE_DELIVERY_SECONDS_MAX:
        documents = [document_of(records[p.record], extract=mirror.extract) for p in to_send]
        answers = await mirror.remote.deliver(mirror.namespace, documents)
        fates |= {p.seq: _answered(answers.get(p.record, ""), p, mirror) for p in to_send}
    return fates


def _answered(answer: str | None, parcel: Parcel, mirror: Mirror) -> Fate:
    match answer:
        case None:
            return Accepted(mirror.now() + confirm_in(0))
        case "":  # not named: whoever comes next asks whether it is there
            return Later(mirror.now() + confirm_in(0))
        case error if parcel.alone:
            return Dead(error)
        case error:
            return Later(mirror.now(), error, unsent=True, alone=True)


async def _asked_for(mirror: Mirror, parcels: Sequence[Parcel]) -> dict[RecordId, State | None]:
    """One by one, which is the sure way: how far the cloud is with each; None: it is not there."""
    found = await together(mirror.remote.get(mirror.namespace, p.record) for p in parcels)
    return {
        parcel.record: document.state if document else None
        for parcel, document in zip(parcels, found, strict=True)
    }


async def _without_record(pool: Pool, mirror: Mirror, parcel: Parcel) -> Fate:
    """Noted, but not there: forgotten, being written just now, never written; or an outage."""
    if parcel.record in await mirror.outbox.gone():  # its removal waits behind it
        return Dropped()
    old = mirror.now() - parcel.noted_at > LITTER_SECONDS_MIN
    if old and await pool.records.ids():
        return Dropped()
    unsent = parcel.stage == "new"
    return Later(mirror.now() + _patience(parcel), "its record is not there", unsent=unsent)


async def _listed(mirror: Mirror, parcels: Sequence[Parcel]) -> dict[RecordId, State]:
    wanted = [Test("memory_id", [parcel.record for parcel in parcels])]
    found = await mirror.remote.listing(mirror.namespace, wanted, 1)
    return {document.id: document.state for document in found.documents}


async def _confirm(mirror: Mirror, parcels: Sequence[Parcel]) -> dict[int, Fate]:
    """Whether the cloud is done with what it took. Listings may lag, so what they lack is asked."""
    states: dict[RecordId, State | None] = {**await _listed(mirror, parcels)}
    states |= await _asked_for(mirror, [p for p in parcels if p.record not in states])
    return {p.seq: _taken(states[p.record], p, mirror) for p in parcels}


def _taken(state: State | None, parcel: Parcel, mirror: Mirror) -> Fate:
    """What becomes of an add that the cloud had taken."""
    match state:
        case "done":
            return Done()
        case "processing" if parcel.stage != "accepted":
            return Accepted(mirror.now() + confirm_in(0))
        case "processing" if parcel.attempts < CONFIRM_ATTEMPTS_MAX:
            return Later(mirror.now() + confirm_in(parcel.attempts))
        case _ if parcel.lost >= LOST_MAX:
            return Dead("Supermemory took it, but could not process it.")
        case _:
            return Lost(mirror.now() + _patience(parcel), "taken, but not there")


async def _erase(mirror: Mirror, parcels: Sequence[Parcel]) -> dict[int, Fate]:
    failed = await mirror.remote.erase(mirror.namespace, [p.record for p in parcels])
    there = await _asked_for(mirror, [p for p in parcels if p.record in failed])
    fates: dict[int, Fate] = {}
    for parcel in parcels:
        if parcel.record not in failed:
            fates[parcel.seq] = Accepted(mirror.now() + confirm_in(0))
        elif there[parcel.record] is None:
            fates[parcel.seq] = Done()
        else:
            fates[parcel.seq] = Later(mirror.now() + _patience(parcel), failed[parcel.record])
    return fates


async def _verify(mirror: Mirror, parcels: Sequence[Parcel]) -> dict[int, Fate]:
    """Twice: what was still being processed may come up again after it was deleted."""
    states = await _listed(mirror, parcels)
    fates: dict[int, Fate] = {}
    for parcel in parcels:
        if parcel.record in states:
            fates[parcel.seq] = Lost(mirror.now(), "deleted, but still there")
        elif parcel.attempts <= 1:
            fates[parcel.seq] = Later(mirror.now() + CONFIRM_SECONDS[-1])
        else:
            fates[parcel.seq] = Done()
    return fates
