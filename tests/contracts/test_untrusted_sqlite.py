"""A database that somebody else made, where the index and the outbox open theirs.

Nothing of such a file may be run, followed, waited for or deleted. The index is begun anew from the
records, the outbox says that it is damaged.
"""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from fakes import Scribe

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import INDEX_BUSY_SECONDS_MAX
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.errors import IndexDamagedError, StoreDamagedError, StoreUnavailableError
from memory_mcp.storage.sqlite.database import (
    Database,
    DatabaseSpec,
    compute_schema_digest,
    make_schema,
)
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.sqlite.outbox import OUTBOX_DATABASE, SqliteOutbox
from memory_mcp.storage.sqlite.schema import DIGEST, SCHEMA

pytestmark = pytest.mark.anyio

KNOWN: Final = RecordId("019c1476-4898-7000-8000-000000000000")
RECURSIVE: Final = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n"
)


async def made(path: Path) -> Path:
    """An index as we make it, with one record row; whoever gets it changes it."""
    index = SqliteIndex(path, make_fields, lambda: None)
    await index.mark_complete()
    await index.aclose()
    return path


def run(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def rewritten(what: str, old: str, new: str) -> tuple[str, ...]:
    """Statements that change the schema behind SQLite's back."""
    return (
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE name = '{what}'",
    )


CHANGES: Final[dict[str, tuple[str, ...]]] = {
    "a trigger more": (
        f"CREATE TRIGGER evil AFTER INSERT ON complete BEGIN DELETE FROM record; END -- {KNOWN}",
    ),
    "a temporary name for a trigger of ours": (
        "DROP TRIGGER record_delete",
        "CREATE TRIGGER record_delete AFTER DELETE ON record BEGIN SELECT 1; END",
    ),
    "a view in place of a table": ("DROP TABLE complete", "CREATE VIEW complete AS SELECT 1"),
    "a view without end": ("DROP TABLE erasure", f"CREATE VIEW erasure AS {RECURSIVE}"),
    "a view of ours that never ends": ("DROP VIEW terms", f"CREATE VIEW terms AS {RECURSIVE}"),
    "a table more": ("CREATE TABLE mine (x)",),
    "an index on an expression": ("CREATE INDEX evil ON record (abs(-9223372036854775808))",),
    "statistics that mislead": ("ANALYZE",),
    "the text of a trigger": rewritten("record_gone", "tag", "erasure"),
    "a default value": rewritten("complete", "since TEXT NOT NULL", "since TEXT DEFAULT (1)"),
    "what is no text": (
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_master (type, name, tbl_name, sql) VALUES (x'ff', 7, NULL, 1.5)",
    ),
    "text that is no schema": rewritten("complete", "CREATE", "CRASH"),
}


@pytest.mark.parametrize("how", CHANGES)
async def test_nothing_of_a_changed_schema_is_run(tmp_path: Path, how: str) -> None:
    """It is damaged, whatever the change would have done; begun anew, it answers."""
    path = await made(tmp_path / "index.sqlite3")
    run(path, *CHANGES[how])
    index = SqliteIndex(path, make_fields, lambda: None)

    for ask in (index.ids, index.to_erase, index.mark_complete):
        with pytest.raises(IndexDamagedError):
            await ask()
    await index.reset()
    assert await index.to_erase() == {}
    await index.aclose()


async def test_a_new_file_that_is_not_empty_is_none_of_ours(tmp_path: Path) -> None:
    """Version 0 with tables: our own statements would meet them."""
    path = tmp_path / "outbox.sqlite3"
    run(path, f"CREATE VIEW parcel AS {RECURSIVE}")
    outbox = SqliteOutbox(path, lambda: None)

    with pytest.raises(StoreDamagedError, match="not ours"):
        await outbox.counts()
    assert [finding.code for finding in await outbox.findings(repair=False)] == ["outbox-damaged"]
    await outbox.aclose()


async def test_a_trigger_in_the_outbox_of_somebody_else_never_fires(tmp_path: Path) -> None:
    """What opens the file runs statements that write, so the look at it comes before them."""
    path = tmp_path / "outbox.sqlite3"
    outbox = SqliteOutbox(path, lambda: None)
    await outbox.counts()
    await outbox.aclose()
    run(
        path,
        "CREATE TABLE trap (sprung)",
        "CREATE TRIGGER evil AFTER INSERT ON address BEGIN INSERT INTO trap VALUES (1); END",
    )
    again = SqliteOutbox(path, lambda: None, "elsewhere")
    with pytest.raises(StoreDamagedError):
        await again.counts()
    await again.aclose()

    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM trap").fetchone() == (0,)
    db.close()


def a_link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


SPECIAL: Final[dict[str, Callable[[Path], None]]] = {
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "a link": a_link,
}


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", SPECIAL)
async def test_a_link_or_a_special_file_is_neither_followed_nor_waited_for(
    tmp_path: Path, kind: str, suffix: str
) -> None:
    """It is named and left as it is, beside the file as well."""
    path = tmp_path / "index.sqlite3"
    strange = Path(f"{path}{suffix}")
    SPECIAL[kind](strange)
    index = SqliteIndex(path, make_fields, lambda: None)

    with pytest.raises(StoreUnavailableError, match="is a link, a folder or a device"):
        await index.ids()
    assert strange.name in os.listdir(tmp_path)  # noqa: PTH208  # a link to nowhere too
    assert not (tmp_path / "elsewhere").exists()
    await index.aclose()


async def test_a_journal_that_names_another_file_deletes_nothing(tmp_path: Path) -> None:
    """SQLite rolls such a journal back and then deletes the file that it names."""
    path = await made(tmp_path / "index.sqlite3")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    name = str(victim).encode()
    tail = (1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big")
    tail += sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    Path(f"{path}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(504) + tail)  # noqa: ASYNC240
    index = SqliteIndex(path, make_fields, lambda: None)

    with pytest.raises(IndexDamagedError, match="another program's transaction"):
        await index.ids()
    await index.reset()
    assert await index.ids() == set()
    assert victim.read_text() == "mine"
    await index.aclose()


async def test_the_log_of_another_file_brings_nothing_in(tmp_path: Path) -> None:
    """A log whose pages are not of this file is not read, or makes it a damaged one."""
    path = await made(tmp_path / "index.sqlite3")
    other = tmp_path / "other.sqlite3"
    db = sqlite3.connect(other, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE evil (x)")
    shutil.copyfile(f"{other}-wal", f"{path}-wal")
    db.close()
    index = SqliteIndex(path, make_fields, lambda: None)

    try:
        await index.ids()
    except IndexDamagedError:
        await index.reset()
    rows = await index.file.rows("SELECT count(*) FROM sqlite_master WHERE name = 'evil'")
    assert rows == [(0,)]
    await index.aclose()


JUNK: Final[dict[str, tuple[str, ...]]] = {
    "postings of no block": ("INSERT INTO posting VALUES (x'ff', 'a', randomblob(9), 'b', -1)",),
    "weights that are none": ("UPDATE posting SET weight = x'ff', length = 'long'",),
    "no texts, and less than no letters": ("UPDATE held SET texts = 0, letters = x'00'",),
    "nothing held": ("DELETE FROM held",),
    "spellings of no term": ("INSERT INTO spelling VALUES ('ord', 'x'), (x'ff', -7)",),
}


@pytest.mark.parametrize("what", JUNK)
async def test_junk_among_the_postings_does_no_harm(tmp_path: Path, what: str) -> None:
    """Their schema is ours, what they hold is anything: an answer, or a damaged index."""
    path = await made(tmp_path / "index.sqlite3")
    index = SqliteIndex(path, make_fields, lambda: None)
    await index.add([Scribe().record("The token is rotated.", segment=None)])
    await index.aclose()
    run(path, *JUNK[what])
    view = View(chain=frozenset(), now=datetime(2026, 1, 31, tzinfo=UTC))

    for _ in range(3):
        try:
            await index.spellings(["orders"])
            corpus = await index.corpus({"token", "rotat"}, view)
            await index.match(["token", "rotat"], corpus, view, Filters(), 5)
            await index.quote(["the", "token", "rotat"], view, Filters(), 5)
            await index.remove([KNOWN])
        except IndexDamagedError:
            await index.reset()
            await index.mark_complete()
    await index.aclose()


async def test_a_page_size_of_somebody_else_is_read_all_the_same(tmp_path: Path) -> None:
    """It costs room, and nothing else."""
    path = tmp_path / "outbox.sqlite3"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA page_size = 512")
    db.executescript(OUTBOX_DATABASE.schema)
    db.execute(f"PRAGMA user_version = {OUTBOX_DATABASE.version}")
    db.close()
    outbox = SqliteOutbox(path, lambda: None)

    assert (await outbox.counts()).pending == 0
    await outbox.aclose()


async def test_a_file_larger_than_any_of_ours_is_not_opened(tmp_path: Path) -> None:
    """A sparse file says that it is as large as it likes."""
    path = tmp_path / "index.sqlite3"
    with path.open("wb") as file:
        file.truncate(9_000_000_000)
    index = SqliteIndex(path, make_fields, lambda: None)

    with pytest.raises(IndexDamagedError, match="more than any of ours"):
        await index.ids()
    await index.aclose()


async def test_no_statement_runs_for_longer_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a file holds, whoever asks it gets an answer."""
    monkeypatch.setattr("memory_mcp.storage.sqlite.database.STATEMENT_SECONDS_MAX", 0.0)
    make = DatabaseSpec(
        SCHEMA, 5, full_sync=False, busy=StoreUnavailableError, damaged=IndexDamagedError, advice=""
    )
    file = Database(tmp_path / "index.sqlite3", make, lambda: None)

    with pytest.raises(IndexDamagedError, match="did not answer"):
        await file.rows(f"SELECT count(*) FROM ({RECURSIVE})")
    monkeypatch.undo()
    assert await file.rows("SELECT 1") == [(1,)]
    await file.aclose()


async def test_a_cancelled_opening_is_over_at_once_whatever_becomes_of_the_file(
    tmp_path: Path,
) -> None:
    """It waits for no lock of another process, and no failure takes the place of the cancel."""
    path = await made(tmp_path / "index.sqlite3")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    index = SqliteIndex(path, make_fields, lambda: None)
    waiting = asyncio.create_task(index.ids())
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, INDEX_BUSY_SECONDS_MAX / 2)
    other.close()

    assert await index.ids() == set()
    await index.aclose()


async def test_an_index_of_ours_is_known_without_making_its_tables(tmp_path: Path) -> None:
    """To make sixty tables, views and triggers takes a short command longer than to open it.

    After a change of the schema, `DIGEST` is what the first comparison shows.
    """
    assert compute_schema_digest(make_schema(SCHEMA)) == DIGEST
    path = await made(tmp_path / "index.sqlite3")
    make_schema.cache_clear()
    index = SqliteIndex(path, make_fields, lambda: None)

    await index.ids()

    assert make_schema.cache_info().misses == 0
    await index.aclose()
