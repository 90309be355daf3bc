"""Blocking work beside the event loop."""

import asyncio
from collections.abc import Callable
from functools import wraps
from threading import Thread
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_thread(work: Callable[P, T]) -> "Callable[P, CoroutineType[Any, Any, T]]":
    """Make a blocking method one that is awaited. The process waits for it before it ends."""

    @wraps(work)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(work, *args, **kwargs)

    return run


async def run_in_daemon_thread(
    work: Callable[[], T], discard: Callable[[T], object] | None = None
) -> T:
    """Do the work in a thread that keeps no process from ending.

    A cancelled call does not wait for it: what the work made then is left to `discard`.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def finish(result: T | None, error: BaseException | None) -> None:
        if answer.done():  # cancelled: nobody waits any more
            if error is None and discard:
                discard(result)  # pyright: ignore[reportArgumentType]  # None is a T here
        elif error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # pyright: ignore[reportArgumentType]  # None is a T here

    def run() -> None:
        result, raised = None, None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is raised where it is awaited
            raised = error
        try:
            loop.call_soon_threadsafe(finish, result, raised)
        except RuntimeError:  # the loop is closed
            if raised is None and discard:
                discard(result)  # pyright: ignore[reportArgumentType]  # None is a T here

    Thread(target=run, daemon=True).start()
    return await answer
