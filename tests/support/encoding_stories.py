"""What stories about encoding have in common: writing, asking, and waiting until it is done."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from memory_mcp import maintenance, memories
from memory_mcp.domain.limits import LEASE_SECONDS
from memory_mcp.domain.outcomes import MemoryAdded, SearchResults
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search import search_memories

__all__ = [
    "CAR",
    "LEASE_OVER",
    "NOT_ENCODED",
    "OTHERS",
    "PATIENCE_SECONDS",
    "add",
    "encoding",
    "recalled",
    "search",
    "until",
    "until_encoded",
]

PATIENCE_SECONDS: Final = 60
"""How long a test waits for what must come: no measure of speed."""
CAR: Final = "Ann drives a red car to work."
OTHERS: Final = (
    "Bread is baked on Mondays.",
    "The roof leaks when it rains.",
    "Invoices go out in June.",
)
NOT_ENCODED: Final = "Records that are not encoded yet were looked for by their words only ({})."

LEASE_OVER: Final = timedelta(seconds=LEASE_SECONDS, milliseconds=1)


async def add(workspace: Workspace, content: str, **fields: object) -> Record:
    """Remember one thing."""
    outcome = await memories.add_memory(workspace, Draft(content, **fields))  # pyright: ignore[reportArgumentType]  # given by name
    assert isinstance(outcome, MemoryAdded)
    assert outcome.notes == ()
    return outcome.record


async def search(workspace: Workspace, query: str, filters: Filters | None = None) -> SearchResults:
    """What a search says."""
    found = await search_memories(workspace, query, filters or Filters(), 10)
    assert isinstance(found, SearchResults)
    return found


async def recalled(workspace: Workspace, query: str, filters: Filters | None = None) -> list[str]:
    """What a search finds, best first."""
    return [hit.record.content for hit in (await search(workspace, query, filters)).hits]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, for as long as a slow machine may take."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():  # noqa: ASYNC110  # what is waited for is in a file
            await asyncio.sleep(0.01)


async def until_encoded(workspace: Workspace) -> None:
    """Wait until nothing is left to be encoded."""

    async def done() -> bool:
        return await maintenance.count_unencoded(workspace) == 0

    await until(done)


@asynccontextmanager
async def encoding(workspace: Workspace) -> AsyncGenerator[asyncio.Task[None]]:
    """A session's encoding beside the calls, as the server runs it; it ends when it leaves."""
    leaving = asyncio.Event()
    task = asyncio.create_task(maintenance.keep_encoded(workspace, leaving))
    try:
        yield task
    finally:
        leaving.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await task
