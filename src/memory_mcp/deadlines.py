"""Deadlines of calls, whose errors say what the call waited for.

Code that waits for others (a lock, a server) wraps the wait in `waiting_for`. One deadline is set
around the whole call, and its error names the current wait.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeVar

from memory_mcp.errors import DeadlineError

T = TypeVar("T")

_LOG: Final = logging.getLogger("memory_mcp")
LOCK_PAUSE_SECONDS: Final = 0.01
"""Between two looks whether a lock of another process is free; it holds it for milliseconds."""

_waits: ContextVar[list[str] | None] = ContextVar("waits", default=None)
_overdue: Final = set[asyncio.Future[Any]]()
"""Tasks that go on after their deadline: the event loop itself keeps no reference to them."""


@contextmanager
def waiting_for(what: str) -> Generator[None]:
    """Name what the block waits for."""
    waits = _waits.get()
    if waits is None:
        yield
        return
    waits.append(what)
    try:
        yield
    finally:
        waits.remove(what)


@asynccontextmanager
async def time_limit(what: str, seconds: float) -> AsyncGenerator[None]:
    """Limit the block, which waits for `what`, to so many seconds.

    Raises:
        TimeoutError: the time is over.
    """
    with waiting_for(what):
        async with asyncio.timeout(seconds):
            yield


class CallLock(asyncio.Lock):
    """A lock between calls; a wait for it is named."""

    async def acquire(self) -> Literal[True]:
        with waiting_for("another call that writes"):
            return await super().acquire()


async def run_with_deadline(
    seconds: float, work: Callable[[], Awaitable[T]], *, name: str, writes: bool = False
) -> T:
    """The result of the work, unless it takes too long.

    Work that writes is not cancelled at its deadline: it goes on, and nobody waits for it.

    Raises:
        DeadlineError: it is not done by then; the message says what it waited for.
    """
    waits: list[str] = []
    token = _waits.set(waits)
    try:
        task = asyncio.ensure_future(_run(work))  # in a context with the list
    finally:
        _waits.reset(token)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    error = DeadlineError(name, seconds, waits, writes=writes)  # before a cancel empties `waits`
    _overdue.add(task)
    task.add_done_callback(_log_failure)
    if not writes:
        task.cancel()
    raise error


async def _run(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _log_failure(task: asyncio.Future[Any]) -> None:
    """Log how a task ended for which nobody waits."""
    _overdue.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.warning("after its deadline a call failed: %s", error)


async def wait_for_first(*waits: Awaitable[object], seconds: float | None = None) -> None:
    """Wait until the first of these is done, or that long; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def wait_for_lock(
    try_lock: Callable[[], AbstractAsyncContextManager[bool]], seconds: float
) -> AsyncGenerator[bool]:
    """Hold a lock between processes as soon as it is free; False if it is not within that time.

    `try_lock` does not wait. The others hold the lock for milliseconds, and tell nobody.
    """
    until = asyncio.get_running_loop().time() + seconds
    while True:
        async with try_lock() as held:
            if held or asyncio.get_running_loop().time() >= until:
                yield held
                return
        await asyncio.sleep(LOCK_PAUSE_SECONDS)
