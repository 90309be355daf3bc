"""Asking several at once."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

__all__ = ["together"]

T = TypeVar("T")


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """The answers, in order. A failure is raised when all are done: none may still be under way."""
    answers = await asyncio.gather(*asked, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]
