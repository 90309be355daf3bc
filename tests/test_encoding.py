"""Making vectors beside the calls: by whom, how often, and who never waits for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from encoding_stories import LEASE_OVER, PATIENCE_SECONDS, add, encoding, recalled, until_encoded
from fake_embedder import FakeEmbedder, meaningful
from fakes import FakeClock, FakeIds, close_workspace

from memory_mcp import maintenance, memories
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Policy, Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def workspace(
    tmp_path: Path, model: FakeEmbedder, clock: FakeClock
) -> AsyncGenerator[Workspace]:
    found = meaningful(tmp_path, model, clock)
    yield found
    await close_workspace(found)


async def test_what_is_written_is_encoded_beside_the_calls(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """Without anybody asking for it, each text once, title first."""
    async with encoding(workspace):
        await add(workspace, "Ann drives a red car.")
        await memories.add_memory(workspace, Draft("Every Monday.", title="Bread", reach="user"))
        await until_encoded(workspace)
        assert (await recalled(workspace, "automobile"))[0] == "Ann drives a red car."
        await add(workspace, "Bob visits a physician.")
        await until_encoded(workspace)

    assert model.encoded == Counter(
        {"Ann drives a red car.": 1, "Bread: Every Monday.": 1, "Bob visits a physician.": 1}
    )


async def test_adding_and_searching_never_wait_for_a_slow_model(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """The model may take as long as it likes: here, for ever."""
    model.gate.clear()
    async with asyncio.timeout(PATIENCE_SECONDS):
        leaving = asyncio.Event()
        task = asyncio.create_task(maintenance.keep_encoded(workspace, leaving))
        await add(workspace, "Ann drives a red car.")
        await model.waiting.wait()
        for number in range(20):
            await add(workspace, f"Car {number} has scratches.")

        assert len(await recalled(workspace, "car")) == 10
    assert not model.encoded
    model.gate.set()
    await until_encoded(workspace)
    leaving.set()
    await task
    assert set(model.encoded.values()) == {1}


async def test_two_sessions_encode_each_record_once(
    tmp_path: Path, workspace: Workspace, model: FakeEmbedder, clock: FakeClock
) -> None:
    """Over one folder, with both at it from the start, whoever wrote it."""
    other_model = FakeEmbedder()
    other = meaningful(tmp_path, other_model, clock, FakeIds(process=1))
    texts = [f"memory number {n} of these" for n in range(120)]
    for text in texts[:80]:
        await add(workspace, text)
    async with encoding(workspace), encoding(other):
        for number, text in enumerate(texts[80:]):
            await add(other if number % 2 else workspace, text)
        await until_encoded(workspace)

    assert model.encoded + other_model.encoded == Counter(texts)
    assert await maintenance.unencoded(other) == 0
    await close_workspace(other)


async def test_what_a_killed_session_was_at_is_taken_over_after_its_lease(
    tmp_path: Path, workspace: Workspace, model: FakeEmbedder, clock: FakeClock
) -> None:
    """Nobody can tell a killed session from a slow one, so its lease decides."""
    for number in range(3):
        await add(workspace, f"memory number {number}")
    killed_model = FakeEmbedder()
    killed_model.gate.clear()
    killed = meaningful(tmp_path, killed_model, clock, FakeIds(process=1))
    task = asyncio.create_task(maintenance.keep_encoded(killed, asyncio.Event()))
    await killed_model.waiting.wait()
    task.cancel()
    await asyncio.wait([task])
    await add(workspace, "memory number 3")

    assert await maintenance.encode_all(workspace) == 1
    assert await maintenance.unencoded(workspace) == 3
    assert (await recalled(workspace, "number 1"))[0] == "memory number 1"
    clock.advance(LEASE_OVER)
    assert await maintenance.encode_all(workspace) == 3
    assert model.encoded == Counter(f"memory number {n}" for n in range(4))
    await close_workspace(killed)


async def test_a_meta_session_makes_no_vectors(
    tmp_path: Path, workspace: Workspace, clock: FakeClock
) -> None:
    """It reads the memory without leaving a trace, and finds by meaning what others encoded."""
    await add(workspace, "Ann drives a red car.")
    await maintenance.encode_all(workspace)
    await add(workspace, "Bread is baked on Mondays.")
    meta_model = FakeEmbedder()
    meta = meaningful(tmp_path, meta_model, clock, policy=Policy(meta=True))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await maintenance.keep_encoded(meta, asyncio.Event())  # ends by itself

    assert (await recalled(meta, "automobile"))[0] == "Ann drives a red car."
    assert not meta_model.encoded
    assert await maintenance.unencoded(meta) == 1
    await close_workspace(meta)


async def test_the_progress_of_encoding_all_reaches_the_whole(workspace: Workspace) -> None:
    """Whoever runs it by hand sees how far it is."""
    for number in range(40):
        await add(workspace, f"memory number {number}")
    told: list[tuple[int, int]] = []

    assert (
        await maintenance.encode_all(workspace, lambda done, whole: told.append((done, whole)))
        == 40
    )
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1] == (40, 40)
    assert {whole for _, whole in told} == {40}
    assert await maintenance.encode_all(workspace) == 0


async def test_a_record_that_cannot_be_read_keeps_no_other_from_being_encoded(
    tmp_path: Path, workspace: Workspace, model: FakeEmbedder
) -> None:
    """Its file is damaged; the doctor's affair. It is not counted as encoded."""
    records = [await add(workspace, f"memory number {number}") for number in range(20)]
    for record in (records[0], records[10], records[19]):
        [path] = (tmp_path / "project").rglob(f"{record.id}.json")
        path.write_bytes(b"not a record")

    assert await maintenance.encode_all(workspace) == 17
    assert sum(model.encoded.values()) == 17
    assert await maintenance.unencoded(workspace) == 3


@pytest.mark.parametrize("refused", ["number 0", "number 7", "number 19"])
async def test_a_text_that_the_model_refuses_keeps_no_other_from_being_encoded(
    workspace: Workspace, model: FakeEmbedder, refused: str
) -> None:
    """An endpoint may dislike one text; the others must not wait for it for ever."""
    for number in range(20):
        await add(workspace, f"memory number {number} of many")
    model.refused = f"{refused} "

    assert await maintenance.encode_all(workspace) == 19
    assert await maintenance.unencoded(workspace) == 1
