"""What a call waits for, and until when it may.

Whoever waits for something that others hold or run says so with `waiting_for`; the call's deadline,
which is set once around all of it, names it when it comes.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeVar

from memory_mcp.errors import DeadlineError

T = TypeVar("T")

_LOG: Final = logging.getLogger("memory_mcp")
_waits: ContextVar[list[str] | None] = ContextVar("waits", default=None)
_left: Final = set[asyncio.Future[Any]]()
"""What goes on after its deadline: the event loop itself would not hold on to it."""


@contextmanager
def waiting_for(what: str) -> Generator[None]:
    """Say what is waited for within."""
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
async def patience(what: str, seconds: float) -> AsyncGenerator[None]:
    """Wait for it that long within.

    Raises:
        TimeoutError: that was not long enough.
    """
    with waiting_for(what):
        async with asyncio.timeout(seconds):
            yield


class CallLock(asyncio.Lock):
    """A lock that one call after the other holds; who waits for it says so."""

    async def acquire(self) -> Literal[True]:
        with waiting_for("another call that writes"):
            return await super().acquire()


async def within(
    seconds: float, work: Callable[[], Awaitable[T]], *, name: str, writes: bool = False
) -> T:
    """What the work gives, unless that takes too long.

    Work that writes is not cut short by its deadline: what is half done is done, and only nobody
    waits for it any more.

    Raises:
        DeadlineError: it is not done by then; the message says what it waited for.
    """
    waits: list[str] = []
    known = _waits.set(waits)
    try:
        task = asyncio.ensure_future(_awaited(work))  # which takes the list with it
    finally:
        _waits.reset(known)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    said = DeadlineError(name, seconds, waits, writes=writes)
    _left.add(task)
    task.add_done_callback(_over)
    if not writes:
        task.cancel()
    raise said


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _over(task: asyncio.Future[Any]) -> None:
    """It has ended, and nobody is left to hear how."""
    _left.discard(task)
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
