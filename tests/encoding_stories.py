"""What stories about encoding have in common: writing, asking, and waiting until it is done."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.domain.drafts import Draft
from memory_mcp.domain.limits import LEASE_SECONDS
from memory_mcp.domain.outcomes import Added, Found
from memory_mcp.domain.record import Record
from memory_mcp.domain.views import Filters

__all__ = [
    "LEASE_OVER",
    "PATIENCE_SECONDS",
    "add",
    "encoding",
    "recalled",
    "until",
    "until_encoded",
]

PATIENCE_SECONDS: Final = 60
"""How long a test waits for what must come: no measure of speed."""
LEASE_OVER: Final = timedelta(seconds=LEASE_SECONDS, milliseconds=1)


async def add(rooms: Rooms, content: str) -> Record:
    """Remember one thing."""
    outcome = await app.add_memory(rooms, Draft(content))
    assert isinstance(outcome, Added)
    return outcome.record


async def recalled(rooms: Rooms, query: str) -> list[str]:
    """What a search finds, best first."""
    found = await app.search_memories(rooms, query, Filters(), 10)
    assert isinstance(found, Found)
    return [hit.record.content for hit in found.hits]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, for as long as a slow machine may take."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():  # noqa: ASYNC110  # what is waited for is in a file
            await asyncio.sleep(0.01)


async def until_encoded(rooms: Rooms) -> None:
    """Wait until nothing is left to be encoded."""

    async def done() -> bool:
        return await app.unencoded(rooms) == 0

    await until(done)


@asynccontextmanager
async def encoding(rooms: Rooms) -> AsyncGenerator[asyncio.Task[None]]:
    """A session's encoding beside the calls, as the server runs it; it ends when it leaves."""
    leaving = asyncio.Event()
    task = asyncio.create_task(app.keep_encoded(rooms, leaving))
    try:
        yield task
    finally:
        leaving.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await task
