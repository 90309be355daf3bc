"""Making vectors beside the calls: by whom, how often, and who never waits for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from encoding_stories import LEASE_OVER, PATIENCE_SECONDS, add, encoding, recalled, until_encoded
from fake_embedder import FakeEmbedder, meaningful
from fakes import FakeClock, FakeIds, close_rooms

from memory_mcp import use_cases
from memory_mcp.domain.drafts import Draft
from memory_mcp.engine.workspace import Policy, Rooms

pytestmark = pytest.mark.anyio


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def rooms(tmp_path: Path, model: FakeEmbedder, clock: FakeClock) -> AsyncGenerator[Rooms]:
    found = meaningful(tmp_path, model, clock)
    yield found
    await close_rooms(found)


async def test_what_is_written_is_encoded_beside_the_calls(
    rooms: Rooms, model: FakeEmbedder
) -> None:
    """Without anybody asking for it, each text once, title first."""
    async with encoding(rooms):
        await add(rooms, "Ann drives a red car.")
        await use_cases.add_memory(rooms, Draft("Every Monday.", title="Bread", reach="user"))
        await until_encoded(rooms)
        assert (await recalled(rooms, "automobile"))[0] == "Ann drives a red car."
        await add(rooms, "Bob visits a physician.")
        await until_encoded(rooms)

    assert model.encoded == Counter(
        {"Ann drives a red car.": 1, "Bread: Every Monday.": 1, "Bob visits a physician.": 1}
    )


async def test_adding_and_searching_never_wait_for_a_slow_model(
    rooms: Rooms, model: FakeEmbedder
) -> None:
    """The model may take as long as it likes: here, for ever."""
    model.gate.clear()
    async with asyncio.timeout(PATIENCE_SECONDS):
        leaving = asyncio.Event()
        task = asyncio.create_task(use_cases.keep_encoded(rooms, leaving))
        await add(rooms, "Ann drives a red car.")
        await model.waiting.wait()
        for number in range(20):
            await add(rooms, f"Car {number} has scratches.")

        assert len(await recalled(rooms, "car")) == 10
    assert not model.encoded
    model.gate.set()
    await until_encoded(rooms)
    leaving.set()
    await task
    assert set(model.encoded.values()) == {1}


async def test_two_sessions_encode_each_record_once(
    tmp_path: Path, rooms: Rooms, model: FakeEmbedder, clock: FakeClock
) -> None:
    """Over one folder, with both at it from the start, whoever wrote it."""
    other_model = FakeEmbedder()
    other = meaningful(tmp_path, other_model, clock, FakeIds(process=1))
    texts = [f"memory number {n} of these" for n in range(120)]
    for text in texts[:80]:
        await add(rooms, text)
    async with encoding(rooms), encoding(other):
        for number, text in enumerate(texts[80:]):
            await add(other if number % 2 else rooms, text)
        await until_encoded(rooms)

    assert model.encoded + other_model.encoded == Counter(texts)
    assert await use_cases.unencoded(other) == 0
    await close_rooms(other)


async def test_what_a_killed_session_was_at_is_taken_over_after_its_lease(
    tmp_path: Path, rooms: Rooms, model: FakeEmbedder, clock: FakeClock
) -> None:
    """Nobody can tell a killed session from a slow one, so its lease decides."""
    for number in range(3):
        await add(rooms, f"memory number {number}")
    killed_model = FakeEmbedder()
    killed_model.gate.clear()
    killed = meaningful(tmp_path, killed_model, clock, FakeIds(process=1))
    task = asyncio.create_task(use_cases.keep_encoded(killed, asyncio.Event()))
    await killed_model.waiting.wait()
    task.cancel()
    await asyncio.wait([task])
    await add(rooms, "memory number 3")

    assert await use_cases.encode_all(rooms) == 1
    assert await use_cases.unencoded(rooms) == 3
    assert (await recalled(rooms, "number 1"))[0] == "memory number 1"
    clock.advance(LEASE_OVER)
    assert await use_cases.encode_all(rooms) == 3
    assert model.encoded == Counter(f"memory number {n}" for n in range(4))
    await close_rooms(killed)


async def test_a_meta_session_makes_no_vectors(
    tmp_path: Path, rooms: Rooms, clock: FakeClock
) -> None:
    """It reads the memory without leaving a trace, and finds by meaning what others encoded."""
    await add(rooms, "Ann drives a red car.")
    await use_cases.encode_all(rooms)
    await add(rooms, "Bread is baked on Mondays.")
    meta_model = FakeEmbedder()
    meta = meaningful(tmp_path, meta_model, clock, policy=Policy(meta=True))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await use_cases.keep_encoded(meta, asyncio.Event())  # ends by itself

    assert (await recalled(meta, "automobile"))[0] == "Ann drives a red car."
    assert not meta_model.encoded
    assert await use_cases.unencoded(meta) == 1
    await close_rooms(meta)


async def test_the_progress_of_encoding_all_reaches_the_whole(rooms: Rooms) -> None:
    """Whoever runs it by hand sees how far it is."""
    for number in range(40):
        await add(rooms, f"memory number {number}")
    told: list[tuple[int, int]] = []

    assert await use_cases.encode_all(rooms, lambda done, whole: told.append((done, whole))) == 40
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1] == (40, 40)
    assert {whole for _, whole in told} == {40}
    assert await use_cases.encode_all(rooms) == 0


async def test_a_record_that_cannot_be_read_keeps_no_other_from_being_encoded(
    tmp_path: Path, rooms: Rooms, model: FakeEmbedder
) -> None:
    """Its file is damaged; the doctor's affair. It is not counted as encoded."""
    records = [await add(rooms, f"memory number {number}") for number in range(20)]
    for record in (records[0], records[10], records[19]):
        [path] = (tmp_path / "project").rglob(f"{record.id}.json")
        path.write_bytes(b"not a record")

    assert await use_cases.encode_all(rooms) == 17
    assert sum(model.encoded.values()) == 17
    assert await use_cases.unencoded(rooms) == 3


@pytest.mark.parametrize("refused", ["number 0", "number 7", "number 19"])
async def test_a_text_that_the_model_refuses_keeps_no_other_from_being_encoded(
    rooms: Rooms, model: FakeEmbedder, refused: str
) -> None:
    """An endpoint may dislike one text; the others must not wait for it for ever."""
    for number in range(20):
        await add(rooms, f"memory number {number} of many")
    model.refused = f"{refused} "

    assert await use_cases.encode_all(rooms) == 19
    assert await use_cases.unencoded(rooms) == 1
