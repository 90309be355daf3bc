"""The contract of `ports.ImportJournal`, for the file and for the one in memory."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from fakes import Scribe
from postgres import new_bank
from stores_in_memory import MemoryJournal

from memory_mcp.disk import Disk
from memory_mcp.errors import NewerSchemaError, StoreDamagedError
from memory_mcp.ports import ImportJournal
from memory_mcp.storage.files.imports import JOURNAL_FILE, LocalImportJournal
from memory_mcp.storage.postgres.heads import PostgresImportJournal

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["file", "postgres", "memory"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[ImportJournal]:
    match request.param:
        case "file":
            yield LocalImportJournal(tmp_path / ".state", Disk())
        case "postgres":
            bank = new_bank(request.getfixturevalue("postgres_url"))
            yield PostgresImportJournal(bank)
            await bank.database.aclose()
        case _:
            yield MemoryJournal()


async def test_what_was_noted_is_there_until_it_is_cleared(journal: ImportJournal) -> None:
    """It is what a cut is completed from."""
    scribe = Scribe()
    records = [scribe.record(text) for text in ("one", "\n\t\n", "three")]
    async with journal.alone() as alone:
        assert alone
        assert not await journal.waiting()
        assert await journal.noted() == []
        await journal.note(records)
        assert await journal.waiting()
        assert await journal.noted() == records
        await journal.clear()
        await journal.clear()
        assert not await journal.waiting()
        assert await journal.noted() == []


async def test_only_one_at_a_time_holds_it(journal: ImportJournal) -> None:
    """Two that complete the same import could each take back what the other wrote."""
    async with journal.alone() as first, journal.alone() as second:
        assert (first, second) == (True, False)
    async with journal.alone() as again:
        assert again


async def test_it_is_gone_from_the_disk_once_it_is_cleared(tmp_path: Path) -> None:
    """It holds texts: what is forgotten later must not rest in it."""
    journal = LocalImportJournal(tmp_path / ".state", Disk())
    await journal.note([Scribe().record("a text")])
    await journal.clear()

    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []  # noqa: ASYNC240  # a test's own


def halved(text: str) -> str:
    return text[: len(text) // 2]


def without_a_line(text: str) -> str:
    return text.rsplit("\n", 2)[0] + "\n"


def emptied(text: str) -> str:
    return text[:0]


def newer(text: str) -> str:
    return text.replace('"schema_version": 1', '"schema_version": 9', 1)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (halved, StoreDamagedError),
        (without_a_line, StoreDamagedError),
        (emptied, StoreDamagedError),
        (newer, NewerSchemaError),
    ],
)
async def test_a_journal_that_cannot_be_read_stays_and_is_named(
    tmp_path: Path, change: Callable[[str], str], error: type[Exception]
) -> None:
    """Half of an import must not be completed as the whole of it."""
    journal = LocalImportJournal(tmp_path, Disk())
    scribe = Scribe()
    await journal.note([scribe.record("one"), scribe.record("two")])
    path = tmp_path / JOURNAL_FILE
    path.write_text(change(path.read_text("utf-8")), "utf-8")

    with pytest.raises(error):
        await journal.noted()
    assert await journal.waiting()
