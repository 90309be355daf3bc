"""Recall by meaning when something is wrong: the words are left, and the answer says why."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from doors import machine_dir
from encoding_stories import CAR, NOT_ENCODED, OTHERS, add, recalled, search
from fake_embedder import FakeEmbedder, give_meaning, meaningful
from fakes import close_workspace
from stores_in_memory import MemoryIndex
from vectors_in_memory import MemoryVectors

from memory_mcp import maintenance, sessions
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.workspace import Meaning, Workspace
from memory_mcp.errors import IndexBusyError
from memory_mcp.models.embedders import AbsentEmbedder
from memory_mcp.ranking.analysis import extract_fields
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = pytest.mark.anyio

BUSY = "The index has been busy for 5 s."
DAMAGES = {
    "the table is gone": "DROP TABLE vector",
    "the whole vectors are gone": "DROP TABLE vector_whole",
    "nothing is known of embedders": "DROP TABLE embedder",
}


class BusyVectors(MemoryVectors):
    """Others are writing all the time."""

    async def near(
        self, embedder: str, pooled: bytes, view: View, filters: Filters, limit: int
    ) -> NoReturn:
        del embedder, pooled, view, filters, limit
        raise IndexBusyError(BUSY)


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
async def workspace(tmp_path: Path, model: FakeEmbedder) -> AsyncGenerator[Workspace]:
    found = meaningful(tmp_path, model)
    yield found
    await close_workspace(found)


async def test_a_model_that_fails_leaves_the_words_and_says_why(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """Memory is an enhancement: a model that is down costs what it adds, and no more."""
    await add(workspace, CAR)
    await maintenance.encode_all(workspace)
    model.failing = "The model's endpoint does not answer."
    late = await add(workspace, "Bob repairs the car.")

    found = await search(workspace, "car")
    assert {hit.record.content for hit in found.hits} == {CAR, late.content}
    assert (found.mode, found.degraded) == ("lexical", model.failing)
    model.failing = ""
    assert await maintenance.encode_all(workspace) == 1
    assert (await search(workspace, "automobile")).mode == "semantic"


async def test_a_model_that_was_asked_for_and_is_not_there_says_what_to_do(
    tmp_path: Path,
) -> None:
    """A search without it is the usual one, with the next step beside it."""
    workspace = meaningful(
        tmp_path, AbsentEmbedder("minilm", "Run `memory-mcp models add minilm`.")
    )
    await add(workspace, CAR)
    found = await search(workspace, "car")
    assert found.degraded == "Run `memory-mcp models add minilm`."
    assert [hit.record.content for hit in found.hits] == [CAR]

    async with asyncio.timeout(30):
        await maintenance.keep_encoded(
            workspace, asyncio.Event()
        )  # ends at once, with nothing leased
    assert await maintenance.unencoded(workspace) == 1
    await close_workspace(workspace)


async def test_a_model_that_changes_the_size_of_its_vectors_ends_no_search(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """An endpoint may put another model behind the same name."""
    record = await add(workspace, CAR)
    meaning = workspace.project.meaning
    assert meaning is not None
    await maintenance.encode_all(workspace)
    [whole] = (await model.passages([CAR]))[0]
    other = replace(whole, pooled=whole.pooled[:-8], tokens=b"")
    await meaning.vectors.keep(model.identity, {record.id: (other,)})

    assert await recalled(workspace, "red car") == [CAR]


async def test_damaged_vectors_are_said_and_cost_only_themselves(
    tmp_path: Path, workspace: Workspace
) -> None:
    """The memory is found by its words; the answer says how the rest comes back."""
    for text in (CAR, *OTHERS):
        await add(workspace, text)
    await maintenance.encode_all(workspace)
    index = SqliteIndex(
        machine_dir(tmp_path / "project") / "index.sqlite3", extract_fields, lambda: None
    )
    await index.file.rows("UPDATE vector_whole SET tokens = zeroblob(length(tokens))")
    await index.aclose()

    found = await search(workspace, "red car")
    assert found.hits[0].record.content == CAR
    assert found.notes == ("4 damaged row(s) of vectors were left out: run `memory-mcp reindex`.",)
    await sessions.reindex(workspace)
    await maintenance.encode_all(workspace)
    assert (await recalled(workspace, "automobile"))[0] == CAR


@pytest.mark.parametrize("statement", DAMAGES.values(), ids=DAMAGES)
async def test_a_search_heals_the_tables_of_the_vectors(
    tmp_path: Path, workspace: Workspace, statement: str
) -> None:
    """Most of the index's file is vectors; damage to it must not stay until somebody repairs it."""
    for text in (CAR, *OTHERS):
        await add(workspace, text)
    await maintenance.encode_all(workspace)
    index = SqliteIndex(
        machine_dir(tmp_path / "project") / "index.sqlite3", extract_fields, lambda: None
    )
    await index.file.rows(statement)
    await index.aclose()

    found = await search(workspace, "red car")
    assert found.hits[0].record.content == CAR
    assert found.notes == (NOT_ENCODED.format(4),)
    assert await maintenance.encode_all(workspace) == 4
    assert (await recalled(workspace, "automobile"))[0] == CAR


async def test_vectors_that_are_not_to_be_had_now_leave_the_words(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """The answer names the reason; nothing is lost."""
    await add(workspace, CAR)
    meaning = Meaning(model, BusyVectors(MemoryIndex()), asyncio.Event())
    busy = replace(workspace, project=give_meaning(workspace.project, meaning))

    found = await search(busy, "red car")
    assert [hit.record.content for hit in found.hits] == [CAR]
    assert (found.mode, found.degraded) == ("lexical", BUSY)
