"""That something was written reaches whoever waits for it."""

import asyncio

import pytest
from fakes import fake_workspace

from memory_mcp import memories
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Changes

pytestmark = pytest.mark.anyio


async def test_everyone_who_waits_hears_of_it() -> None:
    """Rendered files and subscribers wait at the same time."""
    changes = Changes()
    async with asyncio.timeout(60), asyncio.TaskGroup() as waiting:
        heard = [waiting.create_task(changes.after(0)) for _ in range(2)]
        await asyncio.sleep(0)
        changes.note()

    assert [task.result() for task in heard] == [1, 1]


async def test_what_came_before_is_heard_at_once_and_nothing_in_time() -> None:
    """Whoever was busy meanwhile misses nothing; whoever has other work is not kept."""
    changes = Changes()
    changes.note()

    assert await changes.after(0) == 1
    assert await changes.after(1, seconds_max=0.001) == 1


async def test_a_write_and_an_erasure_are_both_changes() -> None:
    """What was forgotten must leave whatever shows it."""
    workspace = fake_workspace()
    added = await memories.add_memory(workspace, Draft("We deploy on Fridays."))
    written = workspace.project.changes.count
    assert isinstance(added, MemoryAdded)
    await memories.forget_memory(workspace, added.record.id, reason="", erase=True)

    assert 0 < written < workspace.project.changes.count
