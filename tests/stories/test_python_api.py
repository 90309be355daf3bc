"""The Python API: what a program does without a server."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memory_mcp import Memory
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, MemoryAdded, SearchResults
from memory_mcp.errors import InvalidRequestError, UnknownTargetError

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return {"MEMORY_HOME": str(tmp_path / "home"), "MEMORY_EMBEDDER": "none"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    return made


async def find(memory: Memory, query: str) -> list[str]:
    found = await memory.search_memories(query)
    assert isinstance(found, SearchResults)
    return [hit.record.content for hit in found.hits]


async def test_a_program_goes_back_and_what_it_learnt_since_is_hidden(
    folder: Path, settings: dict[str, str]
) -> None:
    """The story of the project, in a dozen lines of Python."""
    async with Memory.open(folder, settings) as memory:
        await memory.add_memory("Orders are stored in PostgreSQL.", kind="decision")
        assert isinstance(await memory.checkpoint("storage chosen", 1), CheckpointSaved)
        await memory.add_memory("Orders are cached in Redis.")

        assert isinstance(await memory.backtrack("phase 1"), Backtracked)

    async with Memory.open(folder, settings) as memory:
        assert await find(memory, "orders") == ["Orders are stored in PostgreSQL."]


async def test_two_branches_are_written_in_turn_and_nobody_is_moved(
    folder: Path, settings: dict[str, str]
) -> None:
    """A program that searches a tree writes to many branches at once."""
    async with Memory.open(folder, settings) as memory:
        await memory.add_memory("The root knows engines.")
        await memory.fork("left")
        await memory.fork("right")
        left, right = memory.at("left"), memory.at("right")
        for number in range(3):
            await left.add_memory(f"Left pear number {number} weighs {number * 7 + 100} grams.")
            await right.add_memory(f"Right plum number {number} weighs {number * 5 + 30} grams.")

        assert (memory.branch, left.branch, right.branch) == ("main", "left", "right")
        assert len(await find(left, "pear")) == len(await find(right, "plum")) == 3
        assert all("Left" in text for text in await find(left, "plum"))
        assert all("Right" in text for text in await find(right, "pear"))
        assert await find(memory, "pear") == []
        assert await find(right, "engines") == ["The root knows engines."]


async def test_a_correction_and_a_forget_by_id(folder: Path, settings: dict[str, str]) -> None:
    """What an outcome names can be handed to the next call."""
    async with Memory.open(folder, settings) as memory:
        added = await memory.add_memory("Standup is at nine.")
        assert isinstance(added, MemoryAdded)
        newer = await memory.update_memory(added.record.id, "Standup is at ten.")
        assert isinstance(newer, MemoryAdded)
        assert await find(memory, "standup") == ["Standup is at ten."]

        await memory.forget_memory(newer.record.id)
        assert "Standup is at ten." not in await find(memory, "standup")


async def test_bad_input_names_the_value(folder: Path, settings: dict[str, str]) -> None:
    """A program's author reads the message."""
    with pytest.raises(InvalidRequestError, match="'nowhere/at all' is no folder"):
        async with Memory.open("nowhere/at all", settings):
            pass
    async with Memory.open(folder, settings) as memory:
        with pytest.raises(UnknownTargetError, match="experiment"):
            await memory.at("experiment").add_memory("Nobody began this branch.")
        with pytest.raises(InvalidRequestError, match="U\\+0007 \\(a control character\\) at 5"):
            memory.at("bell \a")


async def test_a_choice_that_is_none_changes_nothing(
    folder: Path, settings: dict[str, str]
) -> None:
    """A typo must not go back, nor store for one project what the user said of all."""
    async with Memory.open(folder, settings) as memory:
        await memory.checkpoint("begun", 1)
        await memory.add_memory("The queue is RabbitMQ.")
        typo: Any = "Abort"
        with pytest.raises(InvalidRequestError, match="is 'Abort'; choose one of"):
            await memory.backtrack("phase 1", typo)
        scope: Any = "User"
        with pytest.raises(InvalidRequestError, match="is 'User'; choose one of"):
            await memory.add_memory("I prefer tabs.", scope=scope)
        with pytest.raises(InvalidRequestError, match="tags is the text 'abc'"):
            await memory.add_memory("I prefer spaces.", tags="abc")

        assert await find(memory, "queue") == ["The queue is RabbitMQ."]
    for wrong in ({"MEMORY_BOGUS": "1"}, {"MEMORY_PHASE": "x"}):
        with pytest.raises(InvalidRequestError, match=next(iter(wrong))):
            async with Memory.open(folder, settings | wrong):
                pass


async def test_files_follow_and_a_closed_memory_says_so(
    folder: Path, settings: dict[str, str]
) -> None:
    """What was abandoned stands in no page, whatever ends the program."""
    pages = folder / ".claude" / "memory"
    with suppress(KeyError):
        async with Memory.open(folder, settings) as memory:
            await memory.checkpoint("begun", 1)
            await memory.add_memory("The queue is RabbitMQ.", expires_at=datetime(2090, 1, 1))  # noqa: DTZ001
            raise KeyError
    assert "RabbitMQ" in (pages / "MEMORY.md").read_text("utf-8")

    async with Memory.open(folder, settings) as memory:
        await memory.backtrack("phase 1")
        assert "RabbitMQ" not in (pages / "MEMORY.md").read_text("utf-8")
    assert "RabbitMQ" not in (pages / "MEMORY.md").read_text("utf-8")
    with pytest.raises(InvalidRequestError, match="closed"):
        await memory.add_memory("Too late.")
