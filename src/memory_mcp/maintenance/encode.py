"""Makes vectors of records beside the calls: no write and no search waits for it.

A record is found by its words at once, and by its meaning once it is encoded. Any session encodes
what others left; a lease keeps two from encoding the same record.
"""

import asyncio
import logging
from datetime import timedelta
from functools import partial
from typing import Final

from memory_mcp.deadlines import wait_for_first
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import (
    EMBEDDER_UNUSED_DAYS_MAX,
    ENCODE_CHARS_MAX,
    ENCODE_IDLE_SECONDS_MAX,
    LEASE_SECONDS,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import PassageVectors
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_writes
from memory_mcp.errors import MemoryMcpError, ModelUnavailableError
from memory_mcp.ports import Embedder
from memory_mcp.ranking.analysis import make_encoder_text

_LOG: Final = logging.getLogger("memory_mcp.encode")

_CLAIM_RECORDS_MAX: Final = 16
"""Records leased at once: a few seconds of work, even if they are long."""

_PAUSE_SECONDS: Final = 0.3
"""Writes come in groups: encoding waits until none has come for this long."""

_PAUSES_MAX: Final = 10
"""Encoding is put off by no more than this many pauses."""


async def keep_encoded(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Encode what any session writes, until this one ends. A meta session encodes nothing."""
    meanings = [bank.meaning for bank in workspace.banks if bank.meaning]
    if refuse_writes(workspace) or not meanings or not await _is_usable(meanings[0].embedder):
        return
    while not leaving.is_set():
        done = 0
        try:
            for bank in workspace.banks:
                claimed = await _claim_records(workspace, bank) if not leaving.is_set() else []
                await _encode_claimed(bank, claimed, leaving)
                done += len(claimed)
            if not done:
                since = workspace.clock.now() - timedelta(days=EMBEDDER_UNUSED_DAYS_MAX)
                for meaning in meanings:
                    await meaning.vectors.drop_unused(meaning.embedder.identity, since)
        except MemoryMcpError as error:  # a model that is gone or an endpoint that is down
            _LOG.warning("%s", error)
            done = 0
        if not done:
            await _wait_for_records(meanings[0].wake, leaving)


async def _is_usable(embedder: Embedder) -> bool:
    """Whether the embedder can be used at all; one that is down for now can."""
    try:
        await embedder.passages([])
    except ModelUnavailableError as error:
        _LOG.warning("%s", error)
        return False
    return True


async def encode_all(workspace: Workspace, progress: Progress | None = None) -> int:
    """Encode everything that is not encoded yet; returns how many records that were.

    Raises:
        ModelUnavailableError: the embedder failed; vectors made before that stay.
    """
    total = await count_unencoded(workspace)
    done = 0
    never = asyncio.Event()
    for bank in workspace.banks:
        while claimed := await _claim_records(workspace, bank):
            done += await _encode_claimed(bank, claimed, never)
            if progress:
                progress(done, total)
    return done


async def count_unencoded(workspace: Workspace) -> int:
    """How many records a search by meaning cannot find yet."""
    found = 0
    for bank in workspace.banks:
        if meaning := bank.meaning:
            ask = partial(meaning.vectors.missing, meaning.embedder.identity)
            found += await bank.index.run(ask)
    return found


async def _claim_records(workspace: Workspace, bank: MemoryBank) -> list[RecordId]:
    if (meaning := bank.meaning) is None:
        return []
    now = workspace.clock.now()
    until = now + timedelta(seconds=LEASE_SECONDS)
    identity = meaning.embedder.identity
    return await bank.index.run(
        lambda: meaning.vectors.claim(identity, _CLAIM_RECORDS_MAX, now, until)
    )


async def _encode_claimed(bank: MemoryBank, claimed: list[RecordId], leaving: asyncio.Event) -> int:
    """Encode the records that can be read, batch by batch; returns how many."""
    if (meaning := bank.meaning) is None:
        return 0
    done = 0
    for batch in _split_batches(await load_records(bank, claimed)):
        if leaving.is_set():
            break
        made = await _encode_batch(meaning.embedder, batch)
        await bank.index.run(partial(meaning.vectors.keep, meaning.embedder.identity, made))
        done += len(made)
    return done


async def _encode_batch(embedder: Embedder, batch: list[Record]) -> dict[RecordId, PassageVectors]:
    """The vectors of these records. One text that the model refuses holds back no other.

    Raises:
        ModelUnavailableError: the model took none of them.
    """
    try:
        passages = await embedder.passages([make_encoder_text(record) for record in batch])
        return {record.id: passage for record, passage in zip(batch, passages, strict=True)}
    except ModelUnavailableError:
        if len(batch) == 1:
            raise
    made: dict[RecordId, PassageVectors] = {}
    for place, record in enumerate(batch):
        try:
            made |= await _encode_batch(embedder, [record])
        except ModelUnavailableError:
            if place and not made:  # two refused in a row: it is not their texts
                raise
    return made


def _split_batches(records: list[Record]) -> list[list[Record]]:
    """The records in order, in batches of no more than `ENCODE_CHARS_MAX` characters."""
    batches: list[list[Record]] = []
    room = 0
    for record in records:
        room -= len(record.content)
        if room < 0 or not batches:
            batches.append([])
            room = ENCODE_CHARS_MAX - len(record.content)
        batches[-1].append(record)
    return batches


async def _wait_for_records(wake: asyncio.Event, leaving: asyncio.Event) -> None:
    """Wait until writes came and then paused, or other processes may have written."""
    await wait_for_first(wake.wait(), leaving.wait(), seconds=ENCODE_IDLE_SECONDS_MAX)
    for _ in range(_PAUSES_MAX):
        if leaving.is_set() or not wake.is_set():
            break
        wake.clear()
        await asyncio.sleep(_PAUSE_SECONDS)
