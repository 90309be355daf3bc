"""Delivers what the outbox holds to the cloud, one claim at a time, each entry exactly once.

An add is marked as sent before it is sent. If its answer is lost, or the process killed, the next
attempt asks first whether the document is there. A delete counts once the document is really gone.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from memory_mcp.domain.cloud import (
    Accepted,
    CircuitState,
    Confirmed,
    DeadLettered,
    DeliveryOutcome,
    DocumentState,
    Dropped,
    Lease,
    MetadataCondition,
    OutboxCounts,
    OutboxEntry,
    RetryLater,
    Vanished,
    allows_requests,
    backoff_seconds,
    confirmation_delay,
    record_failure,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import (
    BATCH_ATTEMPTS_MAX,
    CONFIRM_ATTEMPTS_MAX,
    CONFIRM_SECONDS,
    LEASE_SECONDS,
    LOST_RESENDS_MAX,
    REMOTE_DELIVERY_SECONDS_MAX,
    SYNC_WAIT_SECONDS_MAX,
    TEMPORARY_FILE_SECONDS_MAX,
)
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.records import gather_all
from memory_mcp.engine.workspace import MemoryBank
from memory_mcp.errors import RemoteBlockedError, RemoteError, RemoteRejectedError, StoreError
from memory_mcp.storage.supermemory.documents import to_document

_POLL_SECONDS_MIN: Final = 0.05
_POLL_SECONDS_MAX: Final = 0.25
"""While draining: another session may be delivering what is pending."""


async def deliver_claim(bank: MemoryBank) -> int:
    """Carry out one claim; returns how many parcels it holds. 0: nothing can be done now."""
    mirror = bank.mirror
    if mirror is None or not mirror.may_use_cloud() or not await _may_ask_now(mirror):
        return 0
    now = mirror.now()
    until = now + LEASE_SECONDS
    claim = await mirror.outbox.claim(now, until)
    if claim is None:
        return 0
    standing = await mirror.outbox.circuit()
    try:
        fates = await _carry_out(bank, mirror, claim, until)
    except RemoteError as error:
        standing = await _note_failure(mirror, standing, error)
        fates = {p.seq: _postpone(p, claim, error, standing, mirror) for p in claim.entries}
    except asyncio.CancelledError:  # this session ends: others need not wait for its lease
        await mirror.outbox.record_outcomes(claim, {p.seq: RetryLater(now) for p in claim.entries})
        raise
    else:
        if standing != CircuitState():
            await mirror.outbox.save_circuit(CircuitState())
    await mirror.outbox.record_outcomes(claim, fates)
    return len(fates)


async def drain(bank: MemoryBank, advance: Progress) -> OutboxCounts:
    """Deliver everything now, until only waiting would help.

    Raises:
        RemoteError: the cloud cannot be asked at all.
    """
    mirror = bank.mirror
    if mirror is None or not mirror.may_use_cloud():
        return OutboxCounts()
    await note_deletes(bank)
    await mirror.outbox.make_all_due(mirror.now())
    tally = await mirror.outbox.counts()
    if tally.pending or tally.circuit.blocked:
        await _probe(mirror)
    total = tally.pending
    while True:
        advance(max(0, total - tally.pending), total)
        if not await deliver_claim(bank):
            tally = await mirror.outbox.counts()
            if not tally.pending:  # what the cloud took is confirmed later
                break
            wait = max(tally.next_due or 0.0, tally.circuit.paused_until) - mirror.now()
            if tally.circuit.blocked or wait > SYNC_WAIT_SECONDS_MAX:
                break
            await asyncio.sleep(min(max(wait, _POLL_SECONDS_MIN), _POLL_SECONDS_MAX))
        tally = await mirror.outbox.counts()
    return tally


async def note_deletes(bank: MemoryBank) -> None:
    """Note deletes for what was forgotten while nothing was mirrored, or in another clone."""
    if bank.mirror is not None:
        with suppress(StoreError):  # the next start tries again
            late = await bank.index.erased() - await bank.mirror.outbox.gone()
            if late:
                await bank.mirror.note_erased(late)


async def _may_ask_now(mirror: Mirror) -> bool:
    """Whether to ask the cloud now. A blocked one is probed when its pause is over."""
    standing = await mirror.outbox.circuit()
    if not standing.blocked or standing.paused_until > mirror.now():
        return allows_requests(standing, mirror.now())
    with suppress(RemoteError):
        await _probe(mirror)
        return True
    return False


async def _probe(mirror: Mirror) -> None:
    try:
        await mirror.remote.probe()
    except RemoteError as error:
        # a server without that route needs a person, as a blocked one does
        why = RemoteBlockedError(str(error)) if isinstance(error, RemoteRejectedError) else error
        await _note_failure(mirror, await mirror.outbox.circuit(), why)
        raise
    await mirror.outbox.save_circuit(CircuitState())


async def _note_failure(mirror: Mirror, standing: CircuitState, error: RemoteError) -> CircuitState:
    after = record_failure(standing, error, now=mirror.now(), chance=_draw())
    await mirror.outbox.save_circuit(after)
    return after


def _postpone(
    parcel: OutboxEntry, claim: Lease, error: RemoteError, standing: CircuitState, mirror: Mirror
) -> DeliveryOutcome:
    """What becomes of a parcel whose request failed as a whole.

    If an earlier answer was lost it stays marked as sent: what failed may have been the question
    whether it arrived.
    """
    now = mirror.now()
    new = claim.stage == "new"
    match error:
        case RemoteRejectedError() if claim.stage == "accepted":
            return RetryLater(now + CONFIRM_SECONDS[-1], str(error))
        case RemoteRejectedError() if len(claim.entries) == 1:
            return DeadLettered(str(error))
        case RemoteRejectedError():
            return RetryLater(now, str(error), unsent=new, alone=True)
        case RemoteBlockedError():
            return RetryLater(now, str(error), unsent=new)
        case _:
            due = max(standing.paused_until, now + _retry_delay(parcel))
            unsent = getattr(error, "refused", False) and new
            # a parcel that goes on failing must not take the others with it
            alone = parcel.attempts >= BATCH_ATTEMPTS_MAX
            return RetryLater(due, str(error), unsent=unsent, alone=alone)


def _retry_delay(parcel: OutboxEntry) -> float:
    return backoff_seconds(max(0, parcel.attempts - 1), chance=_draw())


async def _carry_out(
    bank: MemoryBank, mirror: Mirror, claim: Lease, until: float
) -> dict[int, DeliveryOutcome]:
    match claim.op, claim.stage:
        case "add", "accepted":
            return await _confirm_adds(mirror, claim.entries)
        case "add", _:
            return await _send_adds(bank, mirror, claim, until)
        case "delete", "accepted":
            return await _confirm_deletes(mirror, claim.entries)
        case _:
            return await _send_deletes(mirror, claim.entries)


async def _send_adds(
    bank: MemoryBank, mirror: Mirror, claim: Lease, until: float
) -> dict[int, DeliveryOutcome]:
    records = {r.id: r async for r in bank.records.scan([p.record for p in claim.entries])}
    fates: dict[int, DeliveryOutcome] = {
        p.seq: await _judge_missing_record(bank, mirror, p)
        for p in claim.entries
        if p.record not in records
    }
    to_send = [p for p in claim.entries if p.record in records]
    if claim.stage == "sent":  # the answers were lost: ask what arrived
        states = await _fetch_states(mirror, to_send)
        arrived = [p for p in to_send if states[p.record] is not None]
        fates |= {p.seq: _judge_add(states[p.record], p, mirror) for p in arrived}
        to_send = [p for p in to_send if states[p.record] is None]
    # past the lease (the machine slept) others may have sent it, and even removed it again
    if to_send and mirror.now() < until - REMOTE_DELIVERY_SECONDS_MAX:
        documents = [to_document(records[p.record], extract=mirror.extract) for p in to_send]
        answers = await mirror.remote.deliver(mirror.namespace, documents)
        fates |= {p.seq: _judge_answer(answers.get(p.record, ""), p, mirror) for p in to_send}
    return fates


def _judge_answer(answer: str | None, parcel: OutboxEntry, mirror: Mirror) -> DeliveryOutcome:
    match answer:
        case None:
            return Accepted(mirror.now() + confirmation_delay(0))
        case "":  # not named in the answer: the next attempt asks whether it is there
            return RetryLater(mirror.now() + confirmation_delay(0))
        case error if parcel.alone:
            return DeadLettered(error)
        case error:
            return RetryLater(mirror.now(), error, unsent=True, alone=True)


async def _judge_missing_record(
    bank: MemoryBank, mirror: Mirror, parcel: OutboxEntry
) -> DeliveryOutcome:
    """The record is forgotten, just being written, never written, or unreachable."""
    if parcel.record in await mirror.outbox.gone():  # its delete comes next
        return Dropped()
    old = mirror.now() - parcel.noted_at > TEMPORARY_FILE_SECONDS_MAX
    if old and await bank.records.ids():
        return Dropped()
    unsent = parcel.stage == "new"
    return RetryLater(mirror.now() + _retry_delay(parcel), "its record is not there", unsent=unsent)


async def _confirm_adds(
    mirror: Mirror, parcels: Sequence[OutboxEntry]
) -> dict[int, DeliveryOutcome]:
    """Whether the cloud has processed what it took. Listings lag: what one lacks is fetched."""
    states: dict[RecordId, DocumentState | None] = {**await _list_states(mirror, parcels)}
    states |= await _fetch_states(mirror, [p for p in parcels if p.record not in states])
    return {p.seq: _judge_add(states[p.record], p, mirror) for p in parcels}


def _judge_add(state: DocumentState | None, parcel: OutboxEntry, mirror: Mirror) -> DeliveryOutcome:
    match state:
        case "done":
            return Confirmed()
        case "processing" if parcel.stage != "accepted":
            return Accepted(mirror.now() + confirmation_delay(0))
        case "processing" if parcel.attempts < CONFIRM_ATTEMPTS_MAX:
            return RetryLater(mirror.now() + confirmation_delay(parcel.attempts))
        case _ if parcel.lost >= LOST_RESENDS_MAX:
            return DeadLettered("Supermemory took it, but could not process it.")
        case _:
            return Vanished(mirror.now() + _retry_delay(parcel), "taken, but not there")


async def _send_deletes(
    mirror: Mirror, parcels: Sequence[OutboxEntry]
) -> dict[int, DeliveryOutcome]:
    failed = await mirror.remote.erase(mirror.namespace, [p.record for p in parcels])
    states = await _fetch_states(mirror, [p for p in parcels if p.record in failed])
    fates: dict[int, DeliveryOutcome] = {}
    for parcel in parcels:
        if parcel.record not in failed:
            fates[parcel.seq] = Accepted(mirror.now() + confirmation_delay(0))
        elif states[parcel.record] is None:
            fates[parcel.seq] = Confirmed()
        else:
            fates[parcel.seq] = RetryLater(
                mirror.now() + _retry_delay(parcel), failed[parcel.record]
            )
    return fates


async def _confirm_deletes(
    mirror: Mirror, parcels: Sequence[OutboxEntry]
) -> dict[int, DeliveryOutcome]:
    """Looks twice: a document deleted while it is processed may come up again."""
    states = await _list_states(mirror, parcels)
    fates: dict[int, DeliveryOutcome] = {}
    for parcel in parcels:
        if parcel.record in states:
            fates[parcel.seq] = Vanished(mirror.now(), "deleted, but still there")
        elif parcel.attempts <= 1:
            fates[parcel.seq] = RetryLater(mirror.now() + CONFIRM_SECONDS[-1])
        else:
            fates[parcel.seq] = Confirmed()
    return fates


async def _list_states(
    mirror: Mirror, parcels: Sequence[OutboxEntry]
) -> dict[RecordId, DocumentState]:
    wanted = [MetadataCondition("memory_id", [parcel.record for parcel in parcels])]
    found = await mirror.remote.listing(mirror.namespace, wanted, 1)
    return {document.id: document.state for document in found.documents}


async def _fetch_states(
    mirror: Mirror, parcels: Sequence[OutboxEntry]
) -> dict[RecordId, DocumentState | None]:
    """The states, asked one by one, which is sure; None: the document is not there."""
    found = await gather_all(mirror.remote.get(mirror.namespace, p.record) for p in parcels)
    return {
        parcel.record: document.state if document else None
        for parcel, document in zip(parcels, found, strict=True)
    }


def _draw() -> float:
    """A number in 0-1, so that machines do not try again at the same moment."""
    import random  # noqa: PLC0415  # few processes have a cloud

    return random.random()  # noqa: S311
