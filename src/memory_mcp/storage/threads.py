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
    work: Callable[[], T], discard: Callable[[T], object] = lambda _: None
) -> T:
    """Do the work in a thread that keeps no process from ending.

    A cancelled call does not wait for it: what the work made then is left to `discard`.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        made, raised = list[T](), None
        try:
            made.append(work())
        except BaseException as error:  # noqa: BLE001  # it is raised where it is awaited
            raised = error
        try:
            loop.call_soon_threadsafe(_settle, answer, made, raised, discard)
        except RuntimeError:  # the loop is closed
            for one in made:
                discard(one)

    Thread(target=run, daemon=True).start()
    try:
        return await answer
    except asyncio.CancelledError:
        if _has_result(answer):  # it came in the same moment
            discard(answer.result())
        raise


def _settle(
    answer: asyncio.Future[T],
    made: list[T],
    error: BaseException | None,
    discard: Callable[[T], object],
) -> None:
    if answer.done():  # cancelled: nobody waits any more
        for one in made:
            discard(one)
    elif error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(made[0])


def _has_result(answer: asyncio.Future[Any]) -> bool:
    return answer.done() and not answer.cancelled() and not answer.exception()
