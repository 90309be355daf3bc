"""What the cloud recalls, judged here: nothing that is not visible from this head gets through."""

import asyncio
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memory_mcp.app.heads import current, view_of
from memory_mcp.app.rooms import Pool, Rooms
from memory_mcp.app.take_in import look_around, take_in_unknown
from memory_mcp.app.together import together
from memory_mcp.domain.cloud import RemoteHit, Test
from memory_mcp.domain.ids import ROOT, BranchName, RecordId
from memory_mcp.domain.limits import (
    LOOK_SECONDS_MIN,
    REMOTE_EXCLUDED_MAX,
    REMOTE_HITS_MAX,
    REMOTE_OVERFETCH,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Timeline
from memory_mcp.domain.views import Filters, Hit
from memory_mcp.errors import RemoteError, RemoteUnavailableError, StoreError
from memory_mcp.mirroring.backoff import after_failure, may_ask
from memory_mcp.retrieval.filters import passes

__all__ = ["Recalled", "excluded", "recall"]


@dataclass(frozen=True)
class Recalled:
    """Visible hits of the cloud, best first, and why they are not all there could be, if so.

    `unplaced` counts hits of another machine on a line of which nothing is known here yet.
    """

    hits: Sequence[Hit] = ()
    degraded: str = ""
    ran: bool = False
    unplaced: int = 0


async def recall(rooms: Rooms, query: str, filters: Filters, limit: int) -> Recalled:
    """Ask the cloud about both pools at once, within its time. Never raises for the cloud's sake.

    What is here is shown as it is here; what another machine wrote is taken in first.
    """
    answers = await together(_of_pool(rooms, pool, query, filters, limit) for pool in rooms.pools)
    failed = dict.fromkeys(answer.degraded for answer in answers if answer.degraded)
    hits = [hit for answer in answers for hit in answer.hits]
    hits.sort(key=lambda hit: (-hit.score, hit.record.id))
    return Recalled(
        hits,
        degraded=" ".join(failed),
        ran=any(answer.ran for answer in answers),
        unplaced=sum(answer.unplaced for answer in answers),
    )


def excluded(timeline: Timeline, branch: BranchName) -> list[Test]:
    """Keeps what was abandoned from crowding out the rest; who may be shown is judged here."""
    chain = timeline.chain(branch)
    left = sorted({ROOT, *timeline.segments} - chain, reverse=True)[:REMOTE_EXCLUDED_MAX]
    return [Test("segment", left, unlike=True)] if left else []


async def _of_pool(rooms: Rooms, pool: Pool, query: str, filters: Filters, limit: int) -> Recalled:
    mirror = pool.mirror
    if mirror is None:
        return Recalled()
    try:
        async with asyncio.timeout(mirror.search_seconds):
            return await _asked(rooms, pool, query, filters, limit)
    except TimeoutError:
        error = RemoteUnavailableError(f"no answer within {mirror.search_seconds:g} s.")
    except RemoteError as raised:
        error = raised
    except StoreError as raised:  # what it found could not be taken in, or not be judged
        return Recalled(degraded=f"Supermemory: {raised}")
    standing = await mirror.outbox.standing()
    if may_ask(standing, mirror.now()):
        chance = random.random()  # noqa: S311
        standing = after_failure(standing, error, now=mirror.now(), chance=chance)
        await mirror.outbox.stand(standing)
    return Recalled(degraded=f"Supermemory: {error}")


async def _asked(rooms: Rooms, pool: Pool, query: str, filters: Filters, limit: int) -> Recalled:
    mirror = pool.mirror
    if mirror is None:
        return Recalled()
    standing = await mirror.outbox.standing()
    if not may_ask(standing, mirror.now()):
        raise RemoteUnavailableError(f"left alone for now. {standing.reason}")
    tests = _tests(filters)
    if pool is rooms.project:
        tests += excluded((await current(rooms)).timeline, rooms.session.branch)
    wanted = min(REMOTE_HITS_MAX, REMOTE_OVERFETCH * limit)
    due = mirror.now() - mirror.looked_at > LOOK_SECONDS_MIN and not rooms.policy.meta
    looking = asyncio.ensure_future(look_around(rooms, pool) if due else asyncio.sleep(0))
    try:
        found = await mirror.remote.search(mirror.namespace, query, tests, wanted)
        await looking
    finally:
        looking.cancel()
    recalled = await _judged(rooms, pool, found, filters)
    if len(recalled.hits) < limit and len(found) == wanted < REMOTE_HITS_MAX:
        found = await mirror.remote.search(mirror.namespace, query, tests, REMOTE_HITS_MAX)
        recalled = await _judged(rooms, pool, found, filters)
    return recalled


async def _judged(
    rooms: Rooms, pool: Pool, found: Sequence[RemoteHit], filters: Filters
) -> Recalled:
    """One hit a memory, its best; only what is visible from here and wanted."""
    best: dict[RecordId, float] = {}
    for hit in found:
        best[hit.id] = max(hit.similarity, best.get(hit.id, 0.0))
    named = best.keys() - await pool.index.erased()
    unknown = named - await pool.index.ids()
    if unknown and not rooms.policy.meta:
        await take_in_unknown(rooms, pool, unknown)
        if await _unplaced(rooms, pool, unknown):
            await look_around(rooms, pool)
    view = await view_of(rooms)
    timeline = (await current(rooms)).timeline
    seen = await pool.index.visible(named, view)
    hits = [
        Hit(
            record,
            round(best[record.id], 4),
            _place(record, timeline) if record.id in unknown else "",
        )
        async for record in pool.records.scan(seen)
        if passes(record, filters)
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.record.id))
    return Recalled(hits, ran=True, unplaced=await _unplaced(rooms, pool, unknown))


async def _unplaced(rooms: Rooms, pool: Pool, record_ids: Collection[RecordId]) -> int:
    """How many of them lie on segments that this timeline does not know."""
    known = {ROOT, *(await current(rooms)).timeline.segments}
    segments = [r.segment async for r in pool.records.scan(record_ids) if r.segment]
    return sum(segment not in known for segment in segments)


def _place(record: Record, timeline: Timeline) -> str:
    """What is known about where another machine wrote it."""
    if record.segment is None:
        return "another machine, outside the timeline"
    before = timeline.ancestors([record.segment]) - {record.segment}
    sealed = [c.id for c in timeline.decided() if before.issuperset(c.seals)]
    after = f", after {sealed[-1]}" if sealed else ""
    return f"another machine, branch {record.branch}{after}"


def _tests(filters: Filters) -> list[Test]:
    """What is asked of the cloud; whether it was heard is judged here."""
    tests = [Test("recalled", [True])]
    if filters.category:
        tests.append(Test("category", [filters.category.casefold()]))
    if filters.tags:
        tests.append(Test("tags", [tag.casefold() for tag in filters.tags], contains=True))
    if filters.kinds:
        tests.append(Test("kind", sorted(filters.kinds)))
    if filters.phase is not None:
        tests.append(Test("phase", [filters.phase]))
    return tests
