"""Searches the cloud. Every hit is checked here: only what is visible from the head is shown."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from memory_mcp.domain.cloud import (
    CircuitState,
    MetadataCondition,
    RemoteHit,
    allows_requests,
    record_failure,
)
from memory_mcp.domain.ids import ROOT, BranchName, RecordId
from memory_mcp.domain.limits import (
    REMOTE_EXCLUDED_MAX,
    REMOTE_HITS_MAX,
    REMOTE_OVERFETCH,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, Hit
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.cloud import accepts_cloud_records
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.records import gather_all
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import RemoteError, RemoteUnavailableError, StoreError
from memory_mcp.frozen import frozen
from memory_mcp.ranking.query import matches_filters

_CHECK_SECONDS: Final = 0.2
"""Part of the deadline that is kept for checking the hits."""


@frozen
class CloudResults:
    """Visible hits of the cloud, best first, and why there are not more of them.

    `ran` says that the cloud answered. `unplaced` counts hits of other machines that were not
    pulled in time or lie on an unknown line. `head` is the newest head if records were pulled
    meanwhile: what was searched on an older head must be searched again.
    """

    hits: Sequence[Hit] = ()
    degraded: str = ""
    ran: bool = False
    unplaced: int = 0
    head: Head | None = None


async def search_cloud(
    workspace: Workspace, head: Head, query: str, filters: Filters, limit: int
) -> CloudResults:
    """Search the cloud of both banks within the deadline. It never raises for the cloud's sake.

    A record that is here is returned as it is here. A record that another machine wrote is pulled
    first.
    """
    answers = await gather_all(
        _CloudQuery(workspace, bank, bank.mirror, query, filters, limit).search(head)
        for bank in workspace.banks_of(filters.reach)
        if bank.mirror and bank.mirror.may_use_cloud()
    )
    degraded = dict.fromkeys(answer.degraded for answer in answers if answer.degraded)
    hits = [hit for answer in answers for hit in answer.hits]
    hits.sort(key=lambda hit: (-(hit.score or 0), hit.record.id))
    heads = [answer.head for answer in answers if answer.head]
    return CloudResults(
        hits,
        degraded=" ".join(degraded),
        ran=any(answer.ran for answer in answers),
        unplaced=sum(answer.unplaced for answer in answers),
        head=max(heads, key=lambda newer: newer.revision, default=None),
    )


async def load_cloud_profile(workspace: Workspace, timeline: Timeline) -> list[str]:
    """The facts that the cloud derives from the memories, the project's first.

    They are in the cloud's words and cannot be checked here, so the question excludes what is not
    visible. There are none where that is too much to name, where something has yet to be removed
    from the cloud, or when the cloud fails or is too slow.
    """

    async def load_facts(bank: MemoryBank) -> list[str]:
        mirror = bank.mirror
        if mirror is None or not mirror.extract or not accepts_cloud_records(workspace, bank):
            return []
        with suppress(StoreError):
            hidden = await _build_hidden_tests(workspace, bank, timeline)
            if hidden is None or not allows_requests(await mirror.outbox.circuit(), mirror.now()):
                return []
            try:
                async with asyncio.timeout(mirror.search_seconds):
                    tests = [*_exclude_left_segments(timeline, workspace.caller.branch), *hidden]
                    found = await mirror.remote.profile(mirror.namespace, tests)
                    return [*found.static, *found.dynamic]
            except TimeoutError:
                seconds = mirror.search_seconds
                await _pause_cloud(mirror, RemoteUnavailableError(f"No answer in {seconds:g} s."))
            except RemoteError as error:
                await _pause_cloud(mirror, error)
        return []

    answers = await gather_all(load_facts(bank) for bank in workspace.banks)
    return list(dict.fromkeys(fact for facts in answers for fact in facts))


async def _build_hidden_tests(
    workspace: Workspace, bank: MemoryBank, timeline: Timeline
) -> list[MetadataCondition] | None:
    """Tests that exclude every hidden record; None if they cannot."""
    if bank.mirror is None or (await bank.mirror.outbox.counts()).pending:
        return None
    every = await bank.index.ids() - set(await bank.index.moves())
    hidden = sorted(every - await bank.index.visible(every, make_view(workspace, timeline)))
    if len(hidden) > REMOTE_EXCLUDED_MAX // 2:
        return None
    return [MetadataCondition("memory_id", hidden, negated=True)] if hidden else []


async def _pause_cloud(mirror: Mirror, error: RemoteError) -> None:
    """Let the next calls not wait for a cloud that is down."""
    standing = await mirror.outbox.circuit()
    if standing.paused_until <= mirror.now():
        import random  # noqa: PLC0415  # few processes have a cloud

        chance = random.random()  # noqa: S311
        standing = record_failure(standing, error, now=mirror.now(), chance=chance)
        await mirror.outbox.save_circuit(standing)


def _exclude_left_segments(timeline: Timeline, branch: BranchName) -> list[MetadataCondition]:
    """Tests that keep abandoned records from crowding out others; visibility is checked later."""
    chain = timeline.chain(branch)
    left = sorted({ROOT, *timeline.segments} - chain, reverse=True)[:REMOTE_EXCLUDED_MAX]
    return [MetadataCondition("segment", left, negated=True)] if left else []


@frozen
class _CloudQuery:
    """One search of one bank's namespace."""

    workspace: Workspace
    bank: MemoryBank
    mirror: Mirror
    query: str
    filters: Filters
    limit: int

    async def search(self, head: Head) -> CloudResults:
        """The visible hits, or why there are none."""
        mirror = self.mirror
        try:
            try:
                async with asyncio.timeout(mirror.search_seconds) as deadline:
                    return await self._search(head, deadline)
            except TimeoutError:
                error = RemoteUnavailableError(f"No answer within {mirror.search_seconds:g} s.")
            except RemoteError as raised:
                error = raised
            await _pause_cloud(mirror, error)
        except StoreError as raised:  # the hits could not be pulled or checked
            return CloudResults(degraded=f"Supermemory: {raised}")
        return CloudResults(degraded=f"Supermemory: {error}")

    async def _search(self, head: Head, deadline: asyncio.Timeout) -> CloudResults:
        mirror = self.mirror
        outboxes = [bank.mirror.outbox for bank in self.workspace.banks if bank.mirror]
        for standing in [await outbox.circuit() for outbox in outboxes]:  # it is one cloud
            if standing.paused_until > mirror.now():  # after the pause this search tries again
                reason = f"Supermemory is left alone for now. {standing.reason}"
                return CloudResults(degraded=reason)
        tests = _build_tests(self.filters)
        if self.bank is self.workspace.project:
            tests += _exclude_left_segments(head.timeline, self.workspace.caller.branch)
        wanted = min(REMOTE_HITS_MAX, REMOTE_OVERFETCH * self.limit)
        mirror.look_soon()
        found = await mirror.remote.search(mirror.namespace, self.query, tests, wanted)
        if await mirror.outbox.circuit() != CircuitState():
            await mirror.outbox.save_circuit(CircuitState())
        results = await self._check_hits(found, head, deadline)
        if len(results.hits) < self.limit and len(found) == wanted < REMOTE_HITS_MAX:
            found = await mirror.remote.search(mirror.namespace, self.query, tests, REMOTE_HITS_MAX)
            more = await self._check_hits(found, results.head or head, deadline)
            results = replace(more, head=more.head or results.head)
        return results

    async def _check_hits(
        self, found: Sequence[RemoteHit], head: Head, deadline: asyncio.Timeout
    ) -> CloudResults:
        """The hits that are visible and pass the filters: one for each memory, its best."""
        index, records = self.bank.index, self.bank.records
        best: dict[RecordId, float] = {}
        for hit in found:
            best[hit.id] = max(hit.similarity, best.get(hit.id, 0.0))
        named = best.keys() - await index.erased() - self.mirror.strangers
        unknown = named - await index.ids()
        newer: Head | None = None
        accepts = accepts_cloud_records(self.workspace, self.bank)
        if unknown and accepts and not self.workspace.policy.meta:
            await self._pull(deadline)
            newer = head = await load_head(self.workspace)  # moves may have been pulled too
        timeline = head.timeline
        seen = await index.visible(named, make_view(self.workspace, timeline))
        hits = [
            Hit(
                record,
                round(best[record.id], 4),
                _describe_origin(record, timeline) if record.id in unknown else "",
            )
            async for record in records.scan(seen)
            if matches_filters(record, self.filters)
        ]
        hits.sort(key=lambda hit: (-(hit.score or 0), hit.record.id))
        placed = {ROOT, None, *timeline.segments}
        known = {r.id async for r in records.scan(unknown) if r.segment in placed}
        unplaced = len(unknown - self.mirror.strangers - known)
        return CloudResults(hits, ran=True, unplaced=unplaced, head=newer)

    async def _pull(self, deadline: asyncio.Timeout) -> None:
        """Pull what other machines wrote, as far as there is time; the rest follows beside.

        What hides a memory is pulled before the memory, so nothing abandoned elsewhere is shown.
        """
        left = (deadline.when() or 0.0) - asyncio.get_running_loop().time() - _CHECK_SECONDS
        from memory_mcp.sync.pull import pull  # noqa: PLC0415  # few processes have a cloud

        look = self.mirror.looking(lambda: pull(self.workspace, self.bank))
        await asyncio.wait([look], timeout=max(0.0, left) if self.mirror.waits else 0.0)
        self.mirror.waited(in_vain=not look.done())
        if look.done() and not look.cancelled():
            look.exception()  # what could not be pulled is counted, not raised


def _describe_origin(record: Record, timeline: Timeline) -> str:
    """What is known about where another machine wrote the record."""
    if record.segment is None:
        return "another machine, outside the timeline"
    before = timeline.ancestors([record.segment]) - {record.segment}
    sealed = [c.id for c in timeline.decided() if before.issuperset(c.seals)]
    after = f", after {sealed[-1]}" if sealed else ""
    return f"another machine, branch {record.branch}{after}"


def _build_tests(filters: Filters) -> list[MetadataCondition]:
    """The filters as the cloud knows them; its answers are filtered again here."""
    tests = [MetadataCondition("recalled", [True])]
    if filters.category:
        tests.append(MetadataCondition("category", [filters.category.casefold()]))
    if filters.tags:
        tests.append(
            MetadataCondition("tags", [tag.casefold() for tag in filters.tags], contains=True)
        )
    if filters.kinds:
        tests.append(MetadataCondition("kind", sorted(filters.kinds)))
    if filters.phase is not None:
        tests.append(MetadataCondition("phase", [filters.phase]))
    return tests
