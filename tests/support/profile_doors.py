"""Ways in for tests of the profile: what was said, what is known of it, what rests on the disk."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from fakes import FakeClock, FakeIds, close_workspace, real_workspace

from memory_mcp import memories, profile, search
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import AlreadyKnown, MemoryAdded, MemoryForgotten, SearchResults
from memory_mcp.domain.record import Draft, Kind, Reach, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.workspace import Workspace


@asynccontextmanager
async def opened(
    folder: Path, clock: FakeClock | None = None, process: int = 0
) -> AsyncGenerator[Workspace]:
    """A session over real files below a folder, closed however the test ends."""
    workspace = real_workspace(folder, clock, FakeIds(process))
    try:
        yield workspace
    finally:
        await close_workspace(workspace)


async def say(
    workspace: Workspace,
    text: str,
    *,
    reach: Reach = "user",
    kind: Kind = "fact",
    instead_of: Sequence[str] = (),
    until: datetime | None = None,
) -> MemoryAdded:
    """Remember what the user said."""
    draft = Draft(text, kind=kind, reach=reach, supersedes=tuple(instead_of), expires_at=until)
    outcome = await memories.add_memory(workspace, draft)
    assert isinstance(outcome, MemoryAdded)
    return outcome


async def repeat(workspace: Workspace, text: str) -> AlreadyKnown:
    """Say again what is known."""
    outcome = await memories.add_memory(workspace, Draft(text, reach="user"))
    assert isinstance(outcome, AlreadyKnown)
    return outcome


async def correct(workspace: Workspace, memory_id: RecordId, text: str) -> MemoryAdded:
    outcome = await memories.update_memory(workspace, memory_id, text)
    assert isinstance(outcome, MemoryAdded)
    return outcome


async def forget(
    workspace: Workspace, memory_id: RecordId, *, erase: bool, reason: str = ""
) -> MemoryForgotten:
    outcome = await memories.forget_memory(workspace, memory_id, reason, erase=erase)
    assert isinstance(outcome, MemoryForgotten)
    return outcome


async def lines(workspace: Workspace) -> list[str]:
    """The profile as its facts read."""
    known = await profile.read_profile(workspace, await load_view(workspace))
    return [entry.fact.line for entry in known.entries]


async def fact_id(workspace: Workspace, line: str) -> RecordId:
    """The id of a fact's own memory."""
    known = await profile.read_profile(workspace, await load_view(workspace))
    (found,) = [entry.memory_id for entry in known.entries if entry.fact.line == line]
    return found


async def found(workspace: Workspace, query: str = "", category: str = "") -> list[str]:
    """The texts that a search returns."""
    outcome = await search.search_memories(workspace, query, Filters(category=category), 10)
    assert isinstance(outcome, SearchResults)
    return [hit.record.content for hit in outcome.hits]


async def stored(workspace: Workspace) -> list[Record]:
    """Every record of the user scope, visible or not, oldest first."""
    ids = await workspace.user.records.ids()
    return sorted([r async for r in workspace.user.records.scan(ids)], key=lambda r: r.id)
