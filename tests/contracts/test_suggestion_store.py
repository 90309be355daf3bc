"""The contract of `ports.SuggestionStore`, for every adapter: memory, and a file."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from fakes import START
from suggestions_in_memory import MemorySuggestions

from memory_mcp.disk import Disk
from memory_mcp.domain.captures import Suggestion, Suggestions
from memory_mcp.ports import SuggestionStore
from memory_mcp.storage.files.suggestions import LocalSuggestions

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SuggestionStore:
    return MemorySuggestions() if request.param == "memory" else LocalSuggestions(tmp_path, Disk())


def suggestion(digest: str) -> Suggestion:
    return Suggestion(
        digest=digest, statement=f"It is {digest}.", state="waiting", at=START, user="ann",
        branch="main", segment="root",
    )  # fmt: skip


async def test_what_is_changed_is_there(store: SuggestionStore) -> None:
    """In its order, whole."""
    assert await store.load() == ()
    await store.change(lambda known: (*known, suggestion("a"), suggestion("b")))
    await store.change(lambda known: known[1:])

    assert await store.load() == (suggestion("b"),)


async def test_of_changes_at_once_none_is_lost(store: SuggestionStore) -> None:
    """Each sees what those before it made."""

    def add(digest: str) -> Awaitable[None]:
        def append(known: Suggestions) -> Suggestions:
            return (*known, suggestion(digest))

        return store.change(append)

    await asyncio.gather(*(add(str(number)) for number in range(8)))

    assert {each.digest for each in await store.load()} == set("01234567")
