"""Making vectors of what was written, beside the calls: nobody who stores or asks waits for it.

A record is found by its words at once, and by its meaning as soon as it is encoded. What a session
leaves undone, any other that is alive takes up; a lease keeps two from doing the same.
"""

import asyncio
import logging
from datetime import timedelta
from functools import partial
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import (
    EMBEDDER_UNUSED_DAYS_MAX,
    ENCODE_CHARS_MAX,
    ENCODE_IDLE_SECONDS_MAX,
    LEASE_SECONDS,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Passage
from memory_mcp.engine.index_sync import Progress
from memory_mcp.engine.reading import load
from memory_mcp.engine.workspace import Pool, Workspace, writes_refused
from memory_mcp.errors import MemoryMcpError, ModelUnavailableError
from memory_mcp.ports import Embedder
from memory_mcp.ranking.analysis import text_to_encode

_LOG: Final = logging.getLogger("memory_mcp.encode")

_CLAIMED: Final = 16
"""Records leased at once: a few seconds of work, even if they are long."""

_TOGETHER_SECONDS: Final = 0.3
"""Who adds one memory often adds another; encoding waits until they have paused this long."""

_PAUSES_MAX: Final = 10
"""Who never pauses is not waited for longer than this many times."""


async def keep_encoded(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Encode what any session writes, until this one ends. A meta session leaves no trace."""
    meanings = [pool.meaning for pool in workspace.pools if pool.meaning]
    if writes_refused(workspace) or not meanings or not await _usable(meanings[0].embedder):
        return
    while not leaving.is_set():
        done = 0
        try:
            for pool in workspace.pools:
                claimed = await _claim(workspace, pool) if not leaving.is_set() else []
                await _encode(pool, claimed, leaving)
                done += len(claimed)
            if not done:
                since = workspace.clock.now() - timedelta(days=EMBEDDER_UNUSED_DAYS_MAX)
                for meaning in meanings:
                    await meaning.vectors.let_go(meaning.embedder.identity, since)
        except MemoryMcpError as error:  # a model that is gone or an endpoint that is down
            _LOG.warning("%s", error)
            done = 0
        if not done:
            await _wait(meanings[0].wake, leaving)


async def _usable(embedder: Embedder) -> bool:
    """Whether there is an embedder at all; one that is only down for now is."""
    try:
        await embedder.passages([])
    except ModelUnavailableError as error:
        _LOG.warning("%s", error)
        return False
    return True


async def encode_all(workspace: Workspace, progress: Progress | None = None) -> int:
    """Encode everything that is not encoded yet; how many there were that could be read.

    Raises:
        ModelUnavailableError: the embedder does not work; what it did before that stays.
    """
    whole = await unencoded(workspace)
    done = 0
    never = asyncio.Event()
    for pool in workspace.pools:
        while claimed := await _claim(workspace, pool):
            done += await _encode(pool, claimed, never)
            if progress:
                progress(done, whole)
    return done


async def unencoded(workspace: Workspace) -> int:
    """How many records a search by meaning cannot find yet."""
    found = 0
    for pool in workspace.pools:
        if meaning := pool.meaning:
            ask = partial(meaning.vectors.missing, meaning.embedder.identity)
            found += await pool.index.healed(ask)
    return found


async def _claim(workspace: Workspace, pool: Pool) -> list[RecordId]:
    """Lease a few records."""
    if (meaning := pool.meaning) is None:
        return []
    now = workspace.clock.now()
    until = now + timedelta(seconds=LEASE_SECONDS)
    identity = meaning.embedder.identity
    return await pool.index.healed(lambda: meaning.vectors.claim(identity, _CLAIMED, now, until))


async def _encode(pool: Pool, claimed: list[RecordId], leaving: asyncio.Event) -> int:
    """Encode those of them that can be read, a little at a time; how many."""
    if (meaning := pool.meaning) is None:
        return 0
    done = 0
    for batch in _batches(await load(pool, claimed)):
        if leaving.is_set():
            break
        made = await _made(meaning.embedder, batch)
        await pool.index.healed(partial(meaning.vectors.keep, meaning.embedder.identity, made))
        done += len(made)
    return done


async def _made(embedder: Embedder, batch: list[Record]) -> dict[RecordId, Passage]:
    """The vectors of these records. A text that is refused by itself holds back no other.

    Raises:
        ModelUnavailableError: not one of them was taken.
    """
    try:
        passages = await embedder.passages([text_to_encode(record) for record in batch])
        return {record.id: passage for record, passage in zip(batch, passages, strict=True)}
    except ModelUnavailableError:
        if len(batch) == 1:
            raise
    made: dict[RecordId, Passage] = {}
    for place, record in enumerate(batch):
        try:
            made |= await _made(embedder, [record])
        except ModelUnavailableError:
            if place and not made:  # it is not the texts
                raise
    return made


def _batches(records: list[Record]) -> list[list[Record]]:
    """The records in their order, in lists of no more than a few thousand characters."""
    batches: list[list[Record]] = []
    room = 0
    for record in records:
        room -= len(record.content)
        if room < 0 or not batches:
            batches.append([])
            room = ENCODE_CHARS_MAX - len(record.content)
        batches[-1].append(record)
    return batches


async def _wait(wake: asyncio.Event, leaving: asyncio.Event) -> None:
    """Until something is written here and then no more for a moment, or others may have."""
    waits = [asyncio.ensure_future(event.wait()) for event in (wake, leaving)]
    try:
        await asyncio.wait(
            waits, timeout=ENCODE_IDLE_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for wait in waits:
            wait.cancel()
    for _ in range(_PAUSES_MAX):
        if leaving.is_set() or not wake.is_set():
            break
        wake.clear()
        await asyncio.sleep(_TOGETHER_SECONDS)
