"""Making vectors beside the calls: by whom, how often, and who never waits for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from depth import depth
from doors import machine_dir
from encoding_stories import (
    LEASE_OVER,
    PATIENCE_SECONDS,
    add,
    encoding,
    recalled,
    until,
    until_encoded,
)
from fake_embedder import FakeEmbedder, meaningful
from fakes import FakeClock, FakeIds, close_workspace

from memory_mcp import maintenance, memories
from memory_mcp.domain.record import Draft
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.storage.sqlite.index import SqliteIndex

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


@pytest.mark.nightly
async def test_two_sessions_encode_each_record_once(
    tmp_path: Path, workspace: Workspace, model: FakeEmbedder, clock: FakeClock
) -> None:
    """Over one folder, with both at it from the start, whoever wrote it."""
    other_model = FakeEmbedder()
    other = meaningful(tmp_path, other_model, clock, FakeIds(process=1))
    texts = [f"memory number {n} of these" for n in range(depth(40, 120))]
    for text in texts[:20]:
        await add(workspace, text)
    async with encoding(workspace), encoding(other):
        for number, text in enumerate(texts[20:]):
            await add(other if number % 2 else workspace, text)
        await until_encoded(workspace)

    assert model.encoded + other_model.encoded == Counter(texts)
    assert await maintenance.count_unencoded(other) == 0
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
    assert await maintenance.count_unencoded(workspace) == 3
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
    assert await maintenance.count_unencoded(meta) == 1
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
    assert await maintenance.count_unencoded(workspace) == 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize("refused", ["number 0", "number 7", "number 19"])
async def test_a_text_that_the_model_refuses_keeps_no_other_from_being_encoded(
    workspace: Workspace, model: FakeEmbedder, refused: str
) -> None:
    """An endpoint may dislike one text; the others must not wait for it for ever."""
    for number in range(20):
        await add(workspace, f"memory number {number} of many")
    model.refused = f"{refused} "

    assert await maintenance.encode_all(workspace) == 19
    assert await maintenance.count_unencoded(workspace) == 1


# Encoding when something is wrong, or over: a model that fails, a session that leaves.


async def test_encoding_goes_on_when_a_model_that_failed_is_back(
    workspace: Workspace, model: FakeEmbedder, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """An endpoint that is down for a while costs time, and nothing else."""
    model.failing = "The endpoint does not answer."
    async with encoding(workspace):
        first = await add(workspace, "Ann drives a red car.")

        async def said() -> bool:
            return model.failing in caplog.text

        await until(said)
        model.failing = ""
        clock.advance(LEASE_OVER)
        await add(workspace, "Bob visits a physician.")  # wakes it
        await until_encoded(workspace)

    assert (await recalled(workspace, "automobile"))[0] == first.content


async def test_encoding_all_says_what_is_wrong_and_keeps_what_it_did(
    workspace: Workspace, model: FakeEmbedder, clock: FakeClock
) -> None:
    """A run that was cut short is not begun anew."""
    for number in range(40):
        await add(workspace, f"memory number {number}")

    def fail_after_the_first(_done: int, _whole: int) -> None:
        model.failing = "The endpoint does not answer."

    with pytest.raises(ModelUnavailableError, match="endpoint"):
        await maintenance.encode_all(workspace, fail_after_the_first)
    done = sum(model.encoded.values())
    assert 0 < done < 40
    model.failing = ""
    clock.advance(LEASE_OVER)
    assert await maintenance.encode_all(workspace) == 40 - done
    assert set(model.encoded.values()) == {1}


@pytest.mark.nightly
async def test_encoding_ends_in_the_middle_when_the_session_leaves(
    workspace: Workspace, model: FakeEmbedder
) -> None:
    """After the text at hand, and without leasing more: a client does not wait for a long queue."""
    meaning = workspace.user.meaning
    assert meaning is not None
    mine = await add(workspace, "Short commits.", kind="preference", reach="user")
    for number in range(20):
        await add(workspace, f"memory number {number} " + "and more " * 400)
    model.gate.clear()
    leaving = asyncio.Event()
    task = asyncio.create_task(maintenance.keep_encoded(workspace, leaving))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await model.waiting.wait()
        leaving.set()
        model.gate.set()
        await task

    assert sum(model.encoded.values()) == 1, "no more than fits in one go"
    assert await maintenance.count_unencoded(workspace) == 20
    now = workspace.clock.now()
    assert await meaning.vectors.claim(model.identity, 9, now, now) == [mine.id]


async def test_a_session_that_is_cancelled_while_it_waits_leaves_no_task(
    workspace: Workspace,
) -> None:
    """The server gives encoding a second to end, then ends it."""
    await add(workspace, "Ann drives a red car.")
    before = asyncio.all_tasks()
    task = asyncio.create_task(maintenance.keep_encoded(workspace, asyncio.Event()))
    await until_encoded(workspace)

    async def it_waits() -> bool:
        return len(asyncio.all_tasks() - before) == 3

    await until(it_waits)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("how", ["deleted", "garbage"])
async def test_encoding_brings_an_index_that_is_gone_back_first(
    tmp_path: Path, workspace: Workspace, how: str
) -> None:
    """The vectors lie in the index's file: whoever encodes must not wait until somebody asks."""
    for number in range(5):
        await add(workspace, f"memory number {number}")
    await maintenance.encode_all(workspace)
    await close_workspace(workspace)
    for path in machine_dir(tmp_path / "project").glob("index.sqlite3*"):
        if how == "deleted":
            path.unlink()
        else:
            path.write_bytes(b"garbage " * 2_000)

    assert await maintenance.count_unencoded(workspace) == 5
    assert await maintenance.encode_all(workspace) == 5
    assert len(await recalled(workspace, "number")) == 5


async def test_encoding_lets_go_of_what_no_session_uses_any_more(
    tmp_path: Path, workspace: Workspace, clock: FakeClock
) -> None:
    """A week after the switch to another model, its vectors no longer take room."""
    await add(workspace, "Ann drives a red car.")
    await maintenance.encode_all(workspace)
    clock.advance(timedelta(days=8))
    newer = meaningful(tmp_path, FakeEmbedder("fake/2"), clock)
    index = SqliteIndex(
        machine_dir(tmp_path / "project") / "index.sqlite3", make_fields, lambda: None
    )

    async def gone() -> bool:
        rows = await index.file.rows("SELECT identity FROM embedder")
        return [row[0] for row in rows] == ["fake/2"]

    async with encoding(newer):
        await until(gone)

    assert await maintenance.count_unencoded(newer) == 0
    assert await maintenance.count_unencoded(workspace) == 1
    for each in (newer.project, newer.user):
        await each.index.aclose()
    await index.aclose()
