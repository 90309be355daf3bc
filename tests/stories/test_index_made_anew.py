"""An index that is lost is made anew beside the calls, the newest records first."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path

import pytest
from doors import record_file

from memory_mcp import branches, listing, memories, search, sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryList, SearchResults
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine import head, index_sync
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.block import Block
from memory_mcp.storage.files.records import LocalRecords
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = pytest.mark.anyio

WORDS = ("apple", "birch", "cedar", "daisy", "elder", "ferns", "grape", "hazel")


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Two records are indexed at once; from the third on, reading them waits for this."""
    opened = asyncio.Event()
    real = LocalRecords.scan
    read = 0

    async def scan(self: LocalRecords, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        nonlocal read
        task = asyncio.current_task()
        if task and task.get_name() == index_sync.CATCHING_UP:
            read += len(record_ids)
            if read > 2:
                await opened.wait()
        async for record in real(self, record_ids):
            yield record

    monkeypatch.setattr(LocalRecords, "scan", scan)
    monkeypatch.setattr(index_sync, "INDEX_BATCH", 2)
    monkeypatch.setattr(head, "INDEX_FOLLOW_SECONDS_MAX", 0.2)
    return opened


async def forget_the_index(settings: Settings, tmp_path: Path, gate: asyncio.Event) -> None:
    """A project of eight memories, the last of which replaces the first, and no index.

    The gate is open meanwhile, and closed then.
    """
    gate.set()
    async with open_workspace(settings) as built:
        ids: list[str] = []
        for word in WORDS:
            replaced = tuple(ids[:1]) if word == WORDS[-1] else ()
            draft = Draft(f"The tree of this day is the {word}.", supersedes=replaced)
            outcome = await memories.add_memory(built.workspace, draft)
            ids += [record.id for record in [getattr(outcome, "record", None)] if record]
    for file in tmp_path.rglob("index.sqlite3*"):  # noqa: ASYNC240  # nothing else runs
        file.unlink()
    gate.clear()


async def found(workspace: Workspace, query: str) -> SearchResults:
    """What a search finds."""
    results = await search.search_memories(workspace, query, Filters(), 10)
    assert isinstance(results, SearchResults)
    return results


def texts(results: SearchResults) -> list[str]:
    """The trees that were found, oldest first."""
    return [word for word in WORDS if any(word in hit.record.content for hit in results.hits)]


@pytest.mark.files
async def test_a_search_answers_from_what_is_there_and_says_how_much_is_missing(
    settings: Settings, tmp_path: Path, gate: asyncio.Event
) -> None:
    """The alternative is an error after twenty seconds, for a memory that is all there."""
    await forget_the_index(settings, tmp_path, gate)
    async with open_workspace(settings) as built:
        workspace = built.workspace
        early = await found(workspace, "which tree")
        again = await found(workspace, "")
        listed = await listing.list_memories(workspace, Filters(), 10)
        context = await sessions.memory_context(workspace)
        gate.set()
        async with asyncio.timeout(30):
            while (late := await found(workspace, "which tree")).degraded:  # noqa: ASYNC110  # it tells nobody
                await asyncio.sleep(0.01)

    assert texts(early) == texts(again) == ["grape", "hazel"], "the newest come first"
    for said in (early.degraded, again.degraded, getattr(listed, "degraded", "")):
        assert "the 6 oldest records are not in it yet" in said
    assert isinstance(listed, MemoryList)
    assert isinstance(context, Block)
    assert "6 oldest records" in context.text
    assert texts(late) == [*WORDS[1:]], "what was replaced is not shown at any time"


@pytest.mark.files
async def test_a_search_waits_for_the_ids_alone_where_there_are_very_many(
    settings: Settings, tmp_path: Path, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To list a hundred thousand takes longer than a reader waits, to index them minutes."""
    await forget_the_index(settings, tmp_path, gate)
    real = LocalRecords.ids

    async def ids(self: LocalRecords) -> set[RecordId]:
        await asyncio.sleep(2 * head.INDEX_FOLLOW_SECONDS_MAX)
        return await real(self)

    monkeypatch.setattr(LocalRecords, "ids", ids)
    async with open_workspace(settings) as built:
        async with asyncio.timeout(20):
            early = await found(built.workspace, "which tree")
        gate.set()

    assert "not in it yet" in early.degraded


@pytest.mark.files
async def test_a_reader_waits_until_there_is_something_to_answer_from(
    settings: Settings, tmp_path: Path, gate: asyncio.Event
) -> None:
    """An answer from nothing says nothing."""
    await forget_the_index(settings, tmp_path, gate)
    async with open_workspace(settings) as built:
        index = built.workspace.project.index
        assert not await index.follow(0)
        assert len(await index.ids()) == index_sync.INDEX_BATCH
        gate.set()


@pytest.mark.files
async def test_the_indexes_of_project_and_user_are_made_anew_at_once(
    settings: Settings, tmp_path: Path, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, a reader would wait as long for each."""
    await forget_the_index(settings, tmp_path, gate)
    gate.set()
    real = LocalRecords.ids
    under_way = asyncio.Barrier(2)

    async def ids(self: LocalRecords) -> set[RecordId]:
        task = asyncio.current_task()
        if task and task.get_name() == index_sync.CATCHING_UP:
            await under_way.wait()
        return await real(self)

    monkeypatch.setattr(LocalRecords, "ids", ids)
    async with open_workspace(settings) as built, asyncio.timeout(20):
        assert texts(await found(built.workspace, "which tree")) == [*WORDS[1:]]


@pytest.mark.files
async def test_no_batch_is_begun_that_would_keep_a_reader_waiting(
    settings: Settings, tmp_path: Path, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be at work while the answer is, which then takes twice as long."""
    await forget_the_index(settings, tmp_path, gate)
    gate.set()
    real = SqliteIndex.add
    added: list[int] = []

    async def add(self: SqliteIndex, records: Sequence[Record]) -> None:
        await real(self, records)
        added.append(len(records))
        await asyncio.sleep(0.4 * head.INDEX_FOLLOW_SECONDS_MAX)  # after a third it is too late

    monkeypatch.setattr(SqliteIndex, "add", add)
    monkeypatch.setattr(index_sync, "INDEX_PAUSE_SECONDS_MAX", 60.0)
    async with open_workspace(settings) as built:
        early = await found(built.workspace, "which tree")
        assert added in ([2], [2, 2])  # on a slow machine the first takes as long as both

    assert early.degraded


@pytest.mark.files
async def test_what_must_look_at_everything_waits(
    settings: Settings, tmp_path: Path, gate: asyncio.Event
) -> None:
    """A forget that did not find its memory would say that there is none."""
    await forget_the_index(settings, tmp_path, gate)
    async with open_workspace(settings) as built:
        early = await found(built.workspace, "which tree")
        report = asyncio.create_task(branches.report_head(built.workspace))
        await asyncio.sleep(0.3)
        assert early.degraded
        assert not report.done()
        gate.set()

        assert getattr(await report, "memories", 0) == len(WORDS) - 1


@pytest.mark.files
async def test_a_session_that_ends_leaves_the_rest_to_the_next(
    settings: Settings, tmp_path: Path, gate: asyncio.Event
) -> None:
    """A command is over with its answer; what it has indexed stays."""
    await forget_the_index(settings, tmp_path, gate)
    async with open_workspace(settings) as built:
        assert (await found(built.workspace, "which tree")).degraded
    gate.set()
    async with open_workspace(settings) as built:
        assert texts(await found(built.workspace, "which tree")) == [*WORDS[1:]]


@pytest.mark.files
async def test_what_git_takes_once_it_is_made_anew_is_noticed_at_once(
    settings: Settings, tmp_path: Path, gate: asyncio.Event
) -> None:
    """The call that sees it made looks at the folder, too: git may have moved meanwhile."""
    await forget_the_index(settings, tmp_path, gate)
    async with open_workspace(settings) as built:
        index = built.workspace.project.index
        hidden = (await found(built.workspace, "which tree")).hits[0].record
        gate.set()
        async with asyncio.timeout(30):
            while index_sync.CATCHING_UP in {task.get_name() for task in asyncio.all_tasks()}:  # noqa: ASYNC110  # it tells nobody
                await asyncio.sleep(0.01)
        assert hidden.id in await index.ids()
        record_file(tmp_path, hidden.id).unlink()
        await found(built.workspace, "which tree")
        assert hidden.id not in await index.ids()


async def test_making_it_anew_pauses_for_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch keeps the event loop, to which a search comes back a dozen times."""
    monkeypatch.setattr(index_sync, "INDEX_PAUSE_SECONDS_MAX", 60.0)
    read, begun = asyncio.Event(), asyncio.Event()

    @index_sync.takes_partial_answers
    async def reading() -> None:
        begun.set()
        await read.wait()

    reader = asyncio.create_task(reading())
    await begun.wait()
    batch = asyncio.create_task(index_sync.let_readers_pass())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not batch.done()
    read.set()
    await reader
    await batch
