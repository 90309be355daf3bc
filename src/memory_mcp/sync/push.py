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
    """Carry out one claim; returns how many entries it holds. 0: nothing can be done now."""
    mirror = bank.mirror
    if mirror is None or not mirror.may_use_cloud() or not await _may_ask_now(mirror):
        return 0
    now = mirror.now()
    until = now + LEASE_SECONDS
    claim = await mirror.outbox.claim(now, until)
    if claim is None:
        return 0
    circuit = await mirror.outbox.circuit()
    try:
        outcomes = await _carry_out(bank, mirror, claim, until)
    except RemoteError as error:
        circuit = await _note_failure(mirror, circuit, error)
        outcomes = {
            each.seq: _postpone(each, claim, error, circuit, mirror) for each in claim.entries
        }
    except asyncio.CancelledError:  # this session ends: others need not wait for its lease
        await mirror.outbox.record_outcomes(
            claim, {each.seq: RetryLater(now) for each in claim.entries}
        )
        raise
    else:
        if circuit != CircuitState():
            await mirror.outbox.save_circuit(CircuitState())
    await mirror.outbox.record_outcomes(claim, outcomes)
    return len(outcomes)


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
    counts = await mirror.outbox.counts()
    if counts.pending or counts.circuit.blocked:
        await _probe(mirror)
    total = counts.pending
    while True:
        advance(max(0, total - counts.pending), total)
        if not await deliver_claim(bank):
            counts = await mirror.outbox.counts()
            if not counts.pending:  # what the cloud took is confirmed later
                break
            wait = max(counts.next_due or 0.0, counts.circuit.paused_until) - mirror.now()
            if counts.circuit.blocked or wait > SYNC_WAIT_SECONDS_MAX:
                break
            await asyncio.sleep(min(max(wait, _POLL_SECONDS_MIN), _POLL_SECONDS_MAX))
        counts = await mirror.outbox.counts()
    return counts


async def note_deletes(bank: MemoryBank) -> None:
    """Note deletes for what was forgotten while nothing was mirrored, or in another clone."""
    if bank.mirror is not None:
        with suppress(StoreError):  # the next start tries again
            late = await bank.index.erased() - await bank.mirror.outbox.gone()
            if late:
                await bank.mirror.note_erased(late)


async def _may_ask_now(mirror: Mirror) -> bool:
    """Whether to ask the cloud now. A blocked one is probed when its pause is over."""
    circuit = await mirror.outbox.circuit()
    if not circuit.blocked or circuit.paused_until > mirror.now():
        return allows_requests(circuit, mirror.now())
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


async def _note_failure(mirror: Mirror, circuit: CircuitState, error: RemoteError) -> CircuitState:
    after = record_failure(circuit, error, now=mirror.now(), chance=_draw())
    await mirror.outbox.save_circuit(after)
    return after


def _postpone(
    entry: OutboxEntry, claim: Lease, error: RemoteError, circuit: CircuitState, mirror: Mirror
) -> DeliveryOutcome:
    """What becomes of an entry whose request failed as a whole.

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
            due = max(circuit.paused_until, now + _retry_delay(entry))
            unsent = getattr(error, "refused", False) and new
            # an entry that goes on failing must not take the others with it
            alone = entry.attempts >= BATCH_ATTEMPTS_MAX
            return RetryLater(due, str(error), unsent=unsent, alone=alone)


def _retry_delay(entry: OutboxEntry) -> float:
    return backoff_seconds(max(0, entry.attempts - 1), chance=_draw())


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
    records = {r.id: r async for r in bank.records.scan([each.record for each in claim.entries])}
    outcomes: dict[int, DeliveryOutcome] = {
        each.seq: await _judge_missing_record(bank, mirror, each)
        for each in claim.entries
        if each.record not in records
    }
    to_send = [each for each in claim.entries if each.record in records]
    if claim.stage == "sent":  # the answers were lost: ask what arrived
        states = await _fetch_states(mirror, to_send)
        arrived = [each for each in to_send if states[each.record] is not None]
        outcomes |= {each.seq: _judge_add(states[each.record], each, mirror) for each in arrived}
        to_send = [each for each in to_send if states[each.record] is None]
    # past the lease (the machine slept) others may have sent it, and even removed it again
    if to_send and mirror.now() < until - REMOTE_DELIVERY_SECONDS_MAX:
        documents = [to_document(records[each.record], extract=mirror.extract) for each in to_send]
        answers = await mirror.remote.deliver(mirror.namespace, documents)
        outcomes |= {
            each.seq: _judge_answer(answers.get(each.record, ""), each, mirror) for each in to_send
        }
    return outcomes


def _judge_answer(answer: str | None, entry: OutboxEntry, mirror: Mirror) -> DeliveryOutcome:
    match answer:
        case None:
            return Accepted(mirror.now() + confirmation_delay(0))
        case "":  # not named in the answer: the next attempt asks whether it is there
            return RetryLater(mirror.now() + confirmation_delay(0))
        case error if entry.alone:
            return DeadLettered(error)
        case error:
            return RetryLater(mirror.now(), error, unsent=True, alone=True)


async def _judge_missing_record(
    bank: MemoryBank, mirror: Mirror, entry: OutboxEntry
) -> DeliveryOutcome:
    """The record is forgotten, just being written, never written, or unreachable."""
    if entry.record in await mirror.outbox.gone():  # its delete comes next
        return Dropped()
    old = mirror.now() - entry.noted_at > TEMPORARY_FILE_SECONDS_MAX
    if old and await bank.records.ids():
        return Dropped()
    unsent = entry.stage == "new"
    return RetryLater(mirror.now() + _retry_delay(entry), "its record is not there", unsent=unsent)


async def _confirm_adds(
    mirror: Mirror, entries: Sequence[OutboxEntry]
) -> dict[int, DeliveryOutcome]:
    """Whether the cloud has processed what it took. Listings lag: what one lacks is fetched."""
    states: dict[RecordId, DocumentState | None] = {**await _list_states(mirror, entries)}
    states |= await _fetch_states(mirror, [each for each in entries if each.record not in states])
    return {each.seq: _judge_add(states[each.record], each, mirror) for each in entries}


def _judge_add(state: DocumentState | None, entry: OutboxEntry, mirror: Mirror) -> DeliveryOutcome:
    match state:
        case "done":
            return Confirmed()
        case "processing" if entry.stage != "accepted":
            return Accepted(mirror.now() + confirmation_delay(0))
        case "processing" if entry.attempts < CONFIRM_ATTEMPTS_MAX:
            return RetryLater(mirror.now() + confirmation_delay(entry.attempts))
        case _ if entry.lost >= LOST_RESENDS_MAX:
            return DeadLettered("Supermemory took it, but could not process it.")
        case _:
            return Vanished(mirror.now() + _retry_delay(entry), "taken, but not there")


async def _send_deletes(
    mirror: Mirror, entries: Sequence[OutboxEntry]
) -> dict[int, DeliveryOutcome]:
    failed = await mirror.remote.erase(mirror.namespace, [each.record for each in entries])
    states = await _fetch_states(mirror, [each for each in entries if each.record in failed])
    outcomes: dict[int, DeliveryOutcome] = {}
    for entry in entries:
        if entry.record not in failed:
            outcomes[entry.seq] = Accepted(mirror.now() + confirmation_delay(0))
        elif states[entry.record] is None:
            outcomes[entry.seq] = Confirmed()
        else:
            outcomes[entry.seq] = RetryLater(
                mirror.now() + _retry_delay(entry), failed[entry.record]
            )
    return outcomes


async def _confirm_deletes(
    mirror: Mirror, entries: Sequence[OutboxEntry]
) -> dict[int, DeliveryOutcome]:
    """Looks twice: a document deleted while it is processed may come up again."""
    states = await _list_states(mirror, entries)
    outcomes: dict[int, DeliveryOutcome] = {}
    for entry in entries:
        if entry.record in states:
            outcomes[entry.seq] = Vanished(mirror.now(), "deleted, but still there")
        elif entry.attempts <= 1:
            outcomes[entry.seq] = RetryLater(mirror.now() + CONFIRM_SECONDS[-1])
        else:
            outcomes[entry.seq] = Confirmed()
    return outcomes


async def _list_states(
    mirror: Mirror, entries: Sequence[OutboxEntry]
) -> dict[RecordId, DocumentState]:
    wanted = [MetadataCondition("memory_id", [entry.record for entry in entries])]
    found = await mirror.remote.listing(mirror.namespace, wanted, 1)
    return {document.id: document.state for document in found.documents}


async def _fetch_states(
    mirror: Mirror, entries: Sequence[OutboxEntry]
) -> dict[RecordId, DocumentState | None]:
    """The states, asked one by one, which is sure; None: the document is not there."""
    found = await gather_all(mirror.remote.get(mirror.namespace, each.record) for each in entries)
    return {
        entry.record: document.state if document else None
        for entry, document in zip(entries, found, strict=True)
    }


def _draw() -> float:
    """A number in 0-1, so that machines do not try again at the same moment."""
    import random  # noqa: PLC0415  # few processes have a cloud

    return random.random()  # noqa: S311
