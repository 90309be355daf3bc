"""Asking several at once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

__all__ = ["beside", "together"]

T = TypeVar("T")


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """The answers, in order. A failure is raised when all are done: none may still be under way."""
    answers = await asyncio.gather(*asked, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


@asynccontextmanager
async def beside(asked: Coroutine[Any, Any, T]) -> AsyncGenerator[asyncio.Task[T]]:
    """The question as a task that is under way within the block, and over after it."""
    task = asyncio.create_task(asked)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
