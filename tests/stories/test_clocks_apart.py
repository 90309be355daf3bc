"""Two machines on one memory, whose clocks differ by an hour."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes import START, FakeClock, FakeIds, close_workspace, real_workspace

from memory_mcp import branches, memories, search
from memory_mcp.domain.outcomes import CheckpointSaved, MemoryAdded, SearchResults
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)


@pytest.fixture(params=[HOUR, -HOUR], ids=["ahead", "behind"])
async def machines(
    tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncGenerator[tuple[Workspace, Workspace]]:
    """One whose clock is right, and one whose clock is an hour ahead or behind."""
    right = real_workspace(tmp_path, FakeClock(), FakeIds())
    wrong = real_workspace(tmp_path, FakeClock(START + request.param), FakeIds(process=1))
    yield right, wrong
    for each in (right, wrong):
        await close_workspace(each)


async def add(workspace: Workspace, content: str, **of: object) -> Record:
    added = await memories.add_memory(workspace, Draft(content=content, **of))  # pyright: ignore[reportArgumentType]
    assert isinstance(added, MemoryAdded), added
    return added.record


async def found(workspace: Workspace, query: str) -> list[str]:
    said = await search.search_memories(workspace, query, Filters(), 10)
    assert isinstance(said, SearchResults), said
    return [hit.record.content for hit in said.hits]


async def test_a_correction_counts_although_its_clock_says_it_came_before(
    machines: tuple[Workspace, Workspace],
) -> None:
    """What a record takes the place of is said by its id, never by a time."""
    for first, second in (machines, machines[::-1]):
        wrong = await add(first, f"Orders of {first.clock.now():%H} are in MySQL.")
        right = f"Orders of {first.clock.now():%H} are in PostgreSQL."
        await add(second, right, supersedes=(wrong.id,))
        for each in machines:
            orders = await found(each, f"orders of {first.clock.now():%H}")
            assert right in orders
            assert wrong.content not in orders


async def test_a_backtrack_hides_what_came_after_by_the_timeline_and_not_by_the_clock(
    machines: tuple[Workspace, Workspace],
) -> None:
    """An hour's difference must neither save what was abandoned nor hide what came before."""
    right, wrong = machines
    await add(wrong, "The queue is Kafka.")
    saved = await branches.checkpoint(right, "Queue chosen.", 1, again=True, approval="auto")
    assert isinstance(saved, CheckpointSaved)
    await add(wrong, "Sessions live in Redis.")
    await add(right, "The cache is Memcached.")
    await branches.backtrack(right, saved.checkpoint.id, "continue")

    for each in machines:
        everything = await found(each, "sessions in Redis, the cache, the queue")
        assert everything == ["The queue is Kafka."]


async def test_what_expires_is_hidden_when_the_readers_clock_says_so(
    machines: tuple[Workspace, Workspace],
) -> None:
    """A time is a time: nobody asks the writer's clock, or the database's."""
    right, wrong = machines
    until = max(right.clock.now(), wrong.clock.now()) + HOUR
    await add(right, "The freeze lasts until tonight.", expires_at=until)
    assert await found(wrong, "freeze tonight") == ["The freeze lasts until tonight."]
    for each in machines:
        assert isinstance(each.clock, FakeClock)
        each.clock.advance(until - each.clock.now())
        assert await found(each, "freeze tonight") == []
