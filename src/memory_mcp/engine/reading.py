"""From ids to records: what cannot be read is named, and never passes for nothing."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, Hit, RankedCandidate, View
from memory_mcp.engine.index_sync import RECORDS_GONE
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import StoreUnavailableError

T = TypeVar("T")


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """The answers, in order. A failure is raised when all are done: none may still be under way."""
    answers = await asyncio.gather(*asked, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


@asynccontextmanager
async def beside(asked: Coroutine[Any, Any, T]) -> AsyncGenerator[asyncio.Task[T]]:
    """The question as a task that is under way within the block, and over after it."""
    task = asyncio.create_task(asked)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


@dataclass(frozen=True)
class Read:
    """The records that could be read, and the ids of those that are indexed but could not."""

    records: Sequence[Record]
    unreadable: frozenset[RecordId]


async def newest(
    workspace: Workspace, view: View, filters: Filters, limit: int, *, best: bool = False
) -> Read:
    """The newest visible records of the pools that are wanted, newest first.

    With `best` the pinned, then the important ones come first.
    """

    def worth(record: Record) -> tuple[bool, int, RecordId]:
        return best and record.pinned, best * record.importance, record.id

    pools = workspace.pools_of(filters.reach)
    reads = await together(_first_of(pool, view, filters, limit, best=best) for pool in pools)
    records = sorted((r for read in reads for r in read.records), key=worth, reverse=True)
    return Read(records[:limit], frozenset[RecordId]().union(*(read.unreadable for read in reads)))


async def hits_of(
    ranked: Sequence[RankedCandidate], home: Mapping[RecordId, Pool], view: View, limit: int
) -> tuple[list[Hit], frozenset[RecordId]]:
    """The best hits, and which better ones could not be read."""
    hits: list[Hit] = []
    lost: set[RecordId] = set()
    while ranked and len(hits) < limit:
        wanted, ranked = ranked[: limit - len(hits)], ranked[limit - len(hits) :]
        read = await _read([place.id for place in wanted], home)
        hits += [
            Hit(read[place.id], place.score, parts=place.parts)
            for place in wanted
            if place.id in read
        ]
        lost.update(place.id for place in wanted if place.id not in read)
    unreadable = [
        await _unreadable(pool, {id_ for id_ in lost if home[id_] is pool}, view)
        for pool in dict.fromkeys(home[id_] for id_ in lost)
    ]
    return hits, frozenset[RecordId]().union(*unreadable)


async def require_records(workspace: Workspace, view: View) -> None:
    """An empty answer must not come of a folder that is not there: renamed, or not mounted.

    Raises:
        StoreUnavailableError: the index knows memories, and there is not one record.
    """
    for pool in workspace.pools:
        known = await pool.index.find(view, Filters(), 1)
        if known and not await load(pool, known) and not await pool.records.ids():
            raise StoreUnavailableError(RECORDS_GONE)


async def load(pool: Pool, record_ids: list[RecordId]) -> list[Record]:
    """The records of these ids that can be read, in their order."""
    known = {record.id: record async for record in pool.records.scan(record_ids)}
    return [known[id_] for id_ in record_ids if id_ in known]


async def _first_of(pool: Pool, view: View, filters: Filters, limit: int, *, best: bool) -> Read:
    wanted = limit
    while True:
        ids = await pool.index.find(view, filters, wanted, best=best)
        records = await load(pool, ids)
        lost = set(ids) - {record.id for record in records}
        if len(records) >= limit or len(ids) < wanted or not lost:
            return Read(records, await _unreadable(pool, lost, view))
        wanted = limit + 2 * len(lost)  # what cannot be read must not crowd out what can


async def _read(wanted: list[RecordId], home: Mapping[RecordId, Pool]) -> dict[RecordId, Record]:
    """What can be read of these, in one go for each pool."""
    found: dict[RecordId, Record] = {}
    for pool in dict.fromkeys(home[id_] for id_ in wanted):
        ids = [id_ for id_ in wanted if home[id_] is pool]
        found.update({record.id: record async for record in pool.records.scan(ids)})
    return found


async def _unreadable(pool: Pool, lost: set[RecordId], view: View) -> frozenset[RecordId]:
    """Those of the lost ones that should be there: not what was forgotten a moment ago."""
    if not lost:
        return frozenset()
    return frozenset(await pool.index.visible(lost, view) - set(await pool.index.to_erase()))
