"""How long a search waits for a cloud that does not answer, and how often."""

from pathlib import Path

import pytest
from arrived import handed_over, mirror_of, remembered
from cloud import Cloud
from mirrored import mirrored
from project import make_project

from memory_mcp import search
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.cloud import CircuitState
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.search import Filters

pytestmark = pytest.mark.anyio


async def searched(built: BuiltWorkspace) -> SearchResults:
    """A search for what every test remembers."""
    found = await search.search_memories(built.workspace, "orders", Filters(), 5)
    assert isinstance(found, SearchResults)
    assert [hit.record.content for hit in found.hits] == ["orders rest in PostgreSQL"]
    return found


async def test_a_search_waits_once_for_a_cloud_that_hangs(tmp_path: Path, cloud: Cloud) -> None:
    """The deadline is over for both namespaces at once; the next searches do not wait at all."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        mirror = mirror_of(built)
        mirror.search_seconds = 0.2
        await remembered(built, "orders rest in PostgreSQL")
        await handed_over(built)
        cloud.faults.always("hang")
        first = await searched(built)
        asked = len(cloud.requests)
        second = await searched(built)

    assert "No answer within" in first.degraded
    assert "left alone for now" in second.degraded
    assert (first.mode, second.mode) == ("words+table", "words+table")
    assert len(cloud.requests) == asked


@pytest.mark.parametrize("paused", [0, 1])
async def test_a_cloud_that_one_pool_leaves_alone_is_not_waited_for_by_the_other(
    paused: int, tmp_path: Path, cloud: Cloud
) -> None:
    """It is one cloud: each with a pause of its own, a person would wait for it twice as often."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        await remembered(built, "orders rest in PostgreSQL")
        mirrors = [bank.mirror for bank in built.workspace.banks if bank.mirror]
        standing = CircuitState(
            failures=3, paused_until=mirrors[0].now() + 60, reason="It was down."
        )
        await mirrors[paused].outbox.save_circuit(standing)
        found = await searched(built)
        standings = [await mirror.outbox.circuit() for mirror in mirrors]

    assert found.degraded == "Supermemory is left alone for now. It was down."
    assert cloud.requests == []
    assert standings[paused] == standing
    assert standings[1 - paused] == CircuitState(), "what was not asked has not failed"


async def test_an_answer_ends_an_outage(tmp_path: Path, cloud: Cloud) -> None:
    """Else the next short one would be followed by the long pause that ended the last one."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        await remembered(built, "orders rest in PostgreSQL")
        await handed_over(built)
        mirror = mirror_of(built)
        over = CircuitState(failures=8, paused_until=mirror.now() - 1, reason="It was down.")
        await mirror.outbox.save_circuit(over)
        found = await searched(built)
        now = await mirror.outbox.circuit()

    assert found.mode == "words+table+supermemory"
    assert now == CircuitState()
