"""Recall by meaning: what is found, in which mode, and what never is."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from encoding_stories import CAR, NOT_ENCODED, OTHERS, add, recalled, search
from fake_embedder import FakeEmbedder, give_meaning, meaningful
from fakes import FakeClock, FakeIds, another_session, close_workspace, forked

from memory_mcp import branches, maintenance, memories
from memory_mcp.domain.outcomes import Backtracked, Saved
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace

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
    assert isinstance(saved, Saved)
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
    assert CAR not in await recalled(workspace, "automobile")

    assert await maintenance.unencoded(workspace) == 4
    assert await maintenance.encode_all(workspace) == 4
    found = await search(workspace, "automobile")
    assert found.hits[0].record.content == CAR
    assert (found.mode, found.notes, found.degraded) == ("semantic", (), "")
    assert await maintenance.unencoded(workspace) == 0


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

    assert CAR not in await recalled(workspace, "automobile")
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
    assert await maintenance.unencoded(workspace) == 0
    await close_workspace(changed)


async def test_the_last_sentence_of_a_long_memory_is_found(workspace: Workspace) -> None:
    """It is cut into chunks, each with vectors of its own, and is one result."""
    filler = " ".join(f"word{n} and" for n in range(150))
    long = await add(workspace, f"{filler} finally the physician came.")
    for text in OTHERS:
        await add(workspace, text)
    await maintenance.encode_all(workspace)

    assert (await recalled(workspace, "doctor"))[0] == long.content
    assert len(await recalled(workspace, "doctor")) == 4


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
    assert (found.mode, found.notes, found.degraded) == ("lexical", (), "")
    assert await maintenance.unencoded(plain) == await maintenance.encode_all(plain) == 0
