"""What the cloud recalls, judged here: nothing that is not visible from this head gets through."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.cloud import RemoteHit, Standing, Test
from memory_mcp.domain.ids import ROOT, BranchName, RecordId
from memory_mcp.domain.limits import (
    REMOTE_EXCLUDED_MAX,
    REMOTE_HITS_MAX,
    REMOTE_OVERFETCH,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, Hit
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.pending import lets_in
from memory_mcp.engine.reading import together
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import RemoteError, RemoteUnavailableError, StoreError
from memory_mcp.ranking.query import matches_filters
from memory_mcp.storage.supermemory.backoff import after_failure, may_ask
from memory_mcp.sync.pull import pull

_SPARE_SECONDS: Final = 0.2
"""Of the deadline: for judging what was found."""


@dataclass(frozen=True)
class Recalled:
    """Visible hits of the cloud, best first, and why they are not all there could be, if so.

    `unplaced` counts hits of another machine that could not be taken in within the time, or lie on
    a line of which nothing is known here yet. `looked`: records may have come in meanwhile, so
    what was read before may hold no longer.
    """

    hits: Sequence[Hit] = ()
    degraded: str = ""
    ran: bool = False
    unplaced: int = 0
    looked: bool = False


async def recall(workspace: Workspace, query: str, filters: Filters, limit: int) -> Recalled:
    """Ask the cloud about both pools at once, within its time. Never raises for the cloud's sake.

    What is here is shown as it is here; what another machine wrote is taken in first.
    """
    answers = await together(
        _RemoteQuestion(workspace, pool, pool.mirror, query, filters, limit).answer()
        for pool in workspace.pools_of(filters.reach)
        if pool.mirror and pool.mirror.vouched()
    )
    failed = dict.fromkeys(answer.degraded for answer in answers if answer.degraded)
    hits = [hit for answer in answers for hit in answer.hits]
    hits.sort(key=lambda hit: (-hit.score, hit.record.id))
    return Recalled(
        hits,
        degraded=" ".join(failed),
        ran=any(answer.ran for answer in answers),
        unplaced=sum(answer.unplaced for answer in answers),
        looked=any(answer.looked for answer in answers),
    )


async def cloud_profile(workspace: Workspace, timeline: Timeline) -> list[str]:
    """What the cloud makes of the memories, if it may: of the project first, then of the user.

    Facts are its own words and cannot be judged here: what does not hold is excluded by what it is
    asked. Where that is too much to name, or something is still to be removed there, nothing is
    shown; nor what comes too late, or while it is left alone.
    """

    async def of_pool(pool: Pool) -> list[str]:
        mirror = pool.mirror
        if mirror is None or not mirror.extract or not lets_in(workspace, pool):
            return []
        with suppress(StoreError):
            hidden = await _hidden(workspace, pool, timeline)
            if hidden is None or not may_ask(await mirror.outbox.standing(), mirror.now()):
                return []
            try:
                async with asyncio.timeout(mirror.search_seconds):
                    tests = [*_excluded(timeline, workspace.caller.branch), *hidden]
                    found = await mirror.remote.profile(mirror.namespace, tests)
                    return [*found.static, *found.dynamic]
            except TimeoutError:
                seconds = mirror.search_seconds
                await _leave_alone(mirror, RemoteUnavailableError(f"No answer in {seconds:g} s."))
            except RemoteError as error:
                await _leave_alone(mirror, error)
        return []

    answers = await together(of_pool(pool) for pool in workspace.pools)
    return list(dict.fromkeys(fact for facts in answers for fact in facts))


async def _hidden(workspace: Workspace, pool: Pool, timeline: Timeline) -> list[Test] | None:
    """Keeps out what does not hold. None: it cannot be kept out."""
    if pool.mirror is None or (await pool.mirror.outbox.tally()).pending:
        return None
    every = await pool.index.ids() - set(await pool.index.moves())
    hidden = sorted(every - await pool.index.visible(every, view_on(workspace, timeline)))
    if len(hidden) > REMOTE_EXCLUDED_MAX // 2:
        return None
    return [Test("memory_id", hidden, unlike=True)] if hidden else []


async def _leave_alone(mirror: Mirror, error: RemoteError) -> None:
    """So that the next call does not wait for what is down."""
    standing = await mirror.outbox.standing()
    if standing.paused_until <= mirror.now():
        chance = random.random()  # noqa: S311
        standing = after_failure(standing, error, now=mirror.now(), chance=chance)
        await mirror.outbox.stand(standing)


def _excluded(timeline: Timeline, branch: BranchName) -> list[Test]:
    """Keeps what was abandoned from crowding out the rest; who may be shown is judged here."""
    chain = timeline.chain(branch)
    left = sorted({ROOT, *timeline.segments} - chain, reverse=True)[:REMOTE_EXCLUDED_MAX]
    return [Test("segment", left, unlike=True)] if left else []


@dataclass(frozen=True)
class _RemoteQuestion:
    """One search of one pool's namespace."""

    workspace: Workspace
    pool: Pool
    mirror: Mirror
    query: str
    filters: Filters
    limit: int

    async def answer(self) -> Recalled:
        """What can be shown, or why nothing can."""
        mirror = self.mirror
        try:
            try:
                async with asyncio.timeout(mirror.search_seconds) as patience:
                    return await self._asked(patience)
            except TimeoutError:
                error = RemoteUnavailableError(f"No answer within {mirror.search_seconds:g} s.")
            except RemoteError as raised:
                error = raised
            await _leave_alone(mirror, error)
        except StoreError as raised:  # what it found could not be taken in, or not be judged
            return Recalled(degraded=f"Supermemory: {raised}")
        return Recalled(degraded=f"Supermemory: {error}")

    async def _asked(self, patience: asyncio.Timeout) -> Recalled:
        mirror = self.mirror
        outboxes = [pool.mirror.outbox for pool in self.workspace.pools if pool.mirror]
        for standing in [await outbox.standing() for outbox in outboxes]:  # it is one cloud
            if standing.paused_until > mirror.now():  # over: this search finds out
                return Recalled(degraded=f"Supermemory is left alone for now. {standing.reason}")
        tests = _tests(self.filters)
        if self.pool is self.workspace.project:
            tests += _excluded(
                (await current(self.workspace)).timeline, self.workspace.caller.branch
            )
        wanted = min(REMOTE_HITS_MAX, REMOTE_OVERFETCH * self.limit)
        mirror.look_soon()
        found = await mirror.remote.search(mirror.namespace, self.query, tests, wanted)
        if await mirror.outbox.standing() != Standing():
            await mirror.outbox.stand(Standing())
        recalled = await self._judged(found, patience)
        if len(recalled.hits) < self.limit and len(found) == wanted < REMOTE_HITS_MAX:
            found = await mirror.remote.search(mirror.namespace, self.query, tests, REMOTE_HITS_MAX)
            recalled = await self._judged(found, patience)
        return recalled

    async def _judged(self, found: Sequence[RemoteHit], patience: asyncio.Timeout) -> Recalled:
        """One hit a memory, its best; only what is visible from here and wanted."""
        index, records = self.pool.index, self.pool.records
        best: dict[RecordId, float] = {}
        for hit in found:
            best[hit.id] = max(hit.similarity, best.get(hit.id, 0.0))
        named = best.keys() - await index.erased() - self.mirror.strangers
        unknown = named - await index.ids()
        if unknown and not self.workspace.policy.meta and lets_in(self.workspace, self.pool):
            await self._look(patience)
        timeline = (await current(self.workspace)).timeline
        seen = await index.visible(named, view_on(self.workspace, timeline))
        hits = [
            Hit(
                record,
                round(best[record.id], 4),
                _place(record, timeline) if record.id in unknown else "",
            )
            async for record in records.scan(seen)
            if matches_filters(record, self.filters)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.record.id))
        placed = {ROOT, None, *timeline.segments}
        known = {r.id async for r in records.scan(unknown) if r.segment in placed}
        unplaced = len(unknown - self.mirror.strangers - known)
        return Recalled(hits, ran=True, unplaced=unplaced, looked=bool(unknown))

    async def _look(self, patience: asyncio.Timeout) -> None:
        """Take in what other machines wrote, in the time there is; the rest comes in beside.

        What hides a memory comes in before it: nothing is shown that was abandoned elsewhere.
        """
        left = (patience.when() or 0.0) - asyncio.get_running_loop().time() - _SPARE_SECONDS
        look = self.mirror.looking(lambda: pull(self.workspace, self.pool))
        await asyncio.wait([look], timeout=max(0.0, left) if self.mirror.waits else 0.0)
        self.mirror.waited(in_vain=not look.done())
        if look.done() and not look.cancelled():
            look.exception()  # what it could not take in is counted, not raised


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
