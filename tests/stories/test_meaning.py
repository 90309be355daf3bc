"""Recall by meaning: what is found, in which mode, and what never is."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest
from doors import machine_dir
from encoding_stories import CAR, NOT_ENCODED, OTHERS, add, recalled, search
from fake_embedder import FakeEmbedder, give_meaning, meaningful
from fakes import FakeClock, FakeIds, another_session, close_workspace, forked
from stores_in_memory import MemoryIndex
from vectors_in_memory import MemoryVectors

from memory_mcp import branches, maintenance, memories, sessions
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, MemoryAdded
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.workspace import SemanticIndex, Workspace
from memory_mcp.errors import IndexBusyError
from memory_mcp.models.embedders import AbsentEmbedder
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = pytest.mark.anyio


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
async def workspace(tmp_path: Path, model: FakeEmbedder) -> AsyncGenerator[Workspace]:
    found = meaningful(tmp_path, model)
    yield found
    await close_workspace(found)


async def sealed(workspace: Workspace) -> str:
    saved = await branches.checkpoint(workspace, "Before", None, again=True, approval="approved")
    assert isinstance(saved, CheckpointSaved)
    return saved.checkpoint.id


def holding(folder: Path, data: bytes) -> bool:
    """Whether any of the files of an index holds these bytes."""
    return any(data in file.read_bytes() for file in folder.rglob("index*"))


async def test_words_find_a_memory_at_once_and_meaning_once_it_is_encoded(
    workspace: Workspace,
) -> None:
    """Nobody waits for vectors, and the answer says what has none yet."""
    for text in (CAR, *OTHERS):
        await add(workspace, text)
    early = await search(workspace, "red car")
    assert early.hits[0].record.content == CAR
    assert early.notes == (NOT_ENCODED.format(4),)

    assert await maintenance.count_unencoded(workspace) == 4
    assert await maintenance.encode_all(workspace) == 4
    found = await search(workspace, "automobile")
    assert found.hits[0].record.content == CAR
    assert (found.mode, found.notes, found.degraded) == ("semantic", (), "")
    assert await maintenance.count_unencoded(workspace) == 0


class EmbedderHere(FakeEmbedder):
    """One that runs on this machine: a new memory is compared with its vectors, too."""

    @property
    def here(self) -> bool:
        return True


async def test_the_receipt_names_what_is_near_in_meaning(tmp_path: Path) -> None:
    """Words that no table knows are one to a model; nothing waits for what is not encoded yet."""
    # a name of which figures were learnt
    embedder = EmbedderHere("minilm-l6-v2/fake", synonyms=(("qzxv", "wvjq"),))
    workspace = meaningful(tmp_path, embedder)
    for text in ("Qzxv hums.", *OTHERS):
        await add(workspace, text)
    early = await memories.add_memory(workspace, Draft("Wvjq sleeps."))
    await maintenance.encode_all(workspace)
    told = await memories.add_memory(workspace, Draft("Wvjq drinks."))
    await close_workspace(workspace)

    assert isinstance(early, MemoryAdded)
    assert "Qzxv hums." not in [each.record.content for each in early.similar]
    assert isinstance(told, MemoryAdded)
    assert "Qzxv hums." in [each.record.content for each in told.similar]


async def test_a_new_memory_among_encoded_ones_is_found_and_counted(workspace: Workspace) -> None:
    """What stands beside what is encoded must not vanish because it is not."""
    for text in OTHERS:
        await add(workspace, text)
    await maintenance.encode_all(workspace)
    await add(workspace, CAR)

    found = await search(workspace, "red car")
    assert found.hits[0].record.content == CAR
    assert found.mode == "semantic"
    assert found.notes == (NOT_ENCODED.format(1),)


async def test_both_pools_are_found_by_meaning(workspace: Workspace) -> None:
    """What holds for the user everywhere is encoded and found like what is of this project."""
    await add(workspace, CAR, kind="preference", reach="user")
    await add(workspace, "The company vehicle is blue.")
    await maintenance.encode_all(workspace)

    assert set(await recalled(workspace, "automobile")) == {CAR, "The company vehicle is blue."}
    assert await recalled(workspace, "automobile", Filters(reach="user")) == [CAR]


async def test_nothing_abandoned_is_found_by_meaning_and_a_restore_brings_it_back(
    workspace: Workspace,
) -> None:
    """DESIGN 3.5, for the third way to find something."""
    before = await sealed(workspace)
    for text in (CAR, *OTHERS):
        await add(workspace, text)
    await maintenance.encode_all(workspace)
    assert (await recalled(workspace, "automobile"))[0] == CAR
    back = await branches.backtrack(workspace, before, "continue")
    assert isinstance(back, Backtracked)
    await add(workspace, "Bob visits a physician.")
    await maintenance.encode_all(workspace)
    assert set(await recalled(workspace, "automobile")) <= {"Bob visits a physician.", "Before"}

    await branches.backtrack(workspace, back.line or "", "continue")
    assert (await recalled(workspace, "automobile"))[0] == CAR


async def test_another_branch_is_not_found_by_meaning(workspace: Workspace) -> None:
    """Two sessions on two branches share vectors, and not what they see."""
    await sealed(workspace)
    other = another_session(workspace)
    other = await forked(other, "side", "")
    await add(other, CAR)
    await maintenance.encode_all(workspace)

    assert (await recalled(other, "automobile"))[0] == CAR


async def test_what_was_corrected_is_found_by_meaning_in_its_new_form_only(
    workspace: Workspace,
) -> None:
    """Before and after the correction is encoded."""
    old = await add(workspace, CAR)
    await maintenance.encode_all(workspace)
    await memories.update_memory(workspace, old.id, "Ann drives a blue car to work.")
    assert CAR not in await recalled(workspace, "automobile vehicle")
    await maintenance.encode_all(workspace)

    assert await recalled(workspace, "automobile") == ["Ann drives a blue car to work."]


async def test_what_has_expired_is_not_found_by_meaning(tmp_path: Path) -> None:
    """A clock decides, not a sweep."""
    clock = FakeClock()
    workspace = meaningful(tmp_path, FakeEmbedder(), clock)
    await add(workspace, CAR, expires_at=clock.now() + timedelta(hours=1))
    await maintenance.encode_all(workspace)
    assert await recalled(workspace, "automobile") == [CAR]
    clock.advance(timedelta(hours=1))

    assert await recalled(workspace, "automobile") == []
    await close_workspace(workspace)


@pytest.mark.parametrize("erase", [True, False])
async def test_what_was_forgotten_is_not_found_by_meaning(
    tmp_path: Path, workspace: Workspace, *, erase: bool
) -> None:
    """Nor are its vectors in any file, if it was erased."""
    kept = await add(workspace, "Bob sells cars and every other vehicle.")
    record = await add(workspace, CAR)
    await maintenance.encode_all(workspace)
    [whole] = (await FakeEmbedder().passages([CAR]))[0]
    assert holding(tmp_path, whole.tokens)
    await memories.forget_memory(workspace, record.id, "", erase=erase)

    assert await recalled(workspace, "automobile") == [kept.content]
    assert holding(tmp_path, whole.tokens) is not erase


async def test_a_new_model_encodes_all_anew_and_says_so_meanwhile(
    tmp_path: Path, workspace: Workspace
) -> None:
    """Vectors of two models are never compared; the old ones wait for a way back."""
    for text in (CAR, *OTHERS):
        await add(workspace, text)
    await maintenance.encode_all(workspace)
    newer = FakeEmbedder("fake/2")
    changed = meaningful(tmp_path, newer)

    between = await search(changed, "red car")
    assert between.notes == (NOT_ENCODED.format(4),)
    assert between.hits[0].record.content == CAR
    assert await maintenance.encode_all(changed) == 4
    assert sorted(newer.encoded.elements()) == sorted((CAR, *OTHERS))
    assert (await recalled(changed, "automobile"))[0] == CAR
    assert (await recalled(workspace, "automobile"))[0] == CAR, "who still has the old one uses it"
    assert await maintenance.count_unencoded(workspace) == 0
    await close_workspace(changed)


async def test_the_last_sentence_of_a_long_memory_is_found(workspace: Workspace) -> None:
    """It is cut into chunks, each with vectors of its own, and is one result."""
    filler = " ".join(f"word{n} and" for n in range(150))
    long = await add(workspace, f"{filler} finally the physician came.")
    for text in OTHERS:
        await add(workspace, text)
    await maintenance.encode_all(workspace)

    assert (await recalled(workspace, "doctor"))[0] == long.content
    assert (await recalled(workspace, "doctor")).count(long.content) == 1


async def test_vectors_of_other_people_are_theirs(tmp_path: Path) -> None:
    """Another project of the same user has an index of its own."""
    mine, other = (meaningful(tmp_path / name, FakeEmbedder()) for name in ("shop", "farm"))
    await add(other, CAR)
    await maintenance.encode_all(other)
    await add(mine, "The vehicle is green.")
    await maintenance.encode_all(mine)

    assert await recalled(mine, "automobile") == ["The vehicle is green."]
    for workspace in (mine, other):
        await close_workspace(workspace)


async def test_without_tokens_the_pooled_vectors_decide(tmp_path: Path) -> None:
    """What most endpoints give."""
    workspace = meaningful(tmp_path, FakeEmbedder(tokens=False), ids=FakeIds())
    for text in ("car", *OTHERS):
        await add(workspace, text)
    await maintenance.encode_all(workspace)

    assert (await recalled(workspace, "automobile"))[0] == "car"
    await close_workspace(workspace)


async def test_rooms_without_a_model_search_as_ever(workspace: Workspace) -> None:
    """Nothing is said about vectors that nobody asked for."""
    plain = replace(
        workspace,
        project=give_meaning(workspace.project, None),
        user=give_meaning(workspace.user, None),
    )
    await add(plain, CAR)

    found = await search(plain, "car")
    assert (found.mode, found.notes, found.degraded) == ("words+table", (), "")
    assert await maintenance.count_unencoded(plain) == await maintenance.encode_all(plain) == 0


# Recall by meaning when something is wrong: the words are left, and the answer says why.


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
    assert (found.mode, found.degraded) == ("words+table", model.failing)
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

    async with asyncio.timeout(60):
        await maintenance.keep_encoded(
            workspace, asyncio.Event()
        )  # ends at once, with nothing leased
    assert await maintenance.count_unencoded(workspace) == 1
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
        machine_dir(tmp_path / "project") / "index.sqlite3", make_fields, lambda: None
    )
    await index.file.rows("UPDATE vector_whole SET tokens = zeroblob(length(tokens))")
    await index.aclose()

    found = await search(workspace, "red car")
    assert found.hits[0].record.content == CAR
    assert found.notes == ("Damaged vectors were left out (4): run `memory-mcp doctor --reindex`.",)
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
        machine_dir(tmp_path / "project") / "index.sqlite3", make_fields, lambda: None
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
    meaning = SemanticIndex(model, BusyVectors(MemoryIndex()), asyncio.Event())
    busy = replace(workspace, project=give_meaning(workspace.project, meaning))

    found = await search(busy, "red car")
    assert [hit.record.content for hit in found.hits] == [CAR]
    assert (found.mode, found.degraded) == ("words+table", BUSY)
