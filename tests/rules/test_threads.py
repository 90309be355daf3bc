"""Work beside the event loop: what nobody waits for any more is given back."""

import asyncio
import time

import pytest

from memory_mcp.storage.threads import run_in_daemon_thread

pytestmark = pytest.mark.anyio


async def test_what_came_in_the_moment_of_a_cancel_is_discarded() -> None:
    """The result is there, and the call that waits for it is cancelled before it goes on."""
    loop, discarded = asyncio.get_running_loop(), list[str]()
    calls = list[asyncio.Task[str]]()

    def work() -> str:
        loop.call_soon_threadsafe(lambda: loop.call_soon(calls[0].cancel))
        return "opened"

    calls.append(asyncio.create_task(run_in_daemon_thread(work, discarded.append)))
    await asyncio.sleep(0)  # it begins
    time.sleep(0.1)  # noqa: ASYNC251  # both calls of the thread wait for the loop
    with pytest.raises(asyncio.CancelledError):
        await calls[0]

    assert discarded == ["opened"]


async def test_what_comes_after_a_cancel_is_discarded() -> None:
    """Nobody waits for the thread."""
    begun, discarded = asyncio.Event(), list[str]()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def work() -> str:
        loop.call_soon_threadsafe(begun.set)
        time.sleep(0.05)
        return "opened"

    def discard(made: str) -> None:
        discarded.append(made)
        ended.set()

    call = asyncio.create_task(run_in_daemon_thread(work, discard))
    await begun.wait()
    call.cancel()
    async with asyncio.timeout(10):
        await ended.wait()

    assert discarded == ["opened"]
