"""The contract of `ports.Outbox`: the file, what may happen to it, and what is said then."""

import asyncio
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from outboxes import Doors, claim, delivered, left, named, note, settle, some

from memory_mcp.domain.cloud import Dead, Standing
from memory_mcp.domain.ids import RecordId
from memory_mcp.errors import NewerSchemaError, StoreDamagedError, StoreUnavailableError
from memory_mcp.storage.sqlite import database
from memory_mcp.storage.sqlite.outbox import OUTBOX, SqliteOutbox

pytestmark = pytest.mark.anyio

A, B = some(2)


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from memory_mcp.domain.cloud import Letter
from memory_mcp.storage.sqlite.outbox import SqliteOutbox

async def main():
    outbox = SqliteOutbox(Path(sys.argv[1]), lambda: None)
    await outbox.note([Letter(record, "add") for record in sys.argv[2:]], 0)
    await outbox.claim(0, 10)
    os._exit(3)

asyncio.run(main())
"""


async def test_what_a_killed_process_noted_and_claimed_is_there(doors: Doors) -> None:
    """Durable when it returns: nothing is left to an orderly end."""
    command = [sys.executable, "-c", _KILLED, str(doors.path), A, B]
    killed = await asyncio.create_subprocess_exec(*command)
    assert await killed.wait() == 3

    outbox = doors.open()
    assert await outbox.claim(9, 60) is None
    claimed = await claim(outbox, 10)
    assert (named(claimed), claimed.stage) == ([A, B], "sent")


async def test_no_text_of_a_memory_can_be_in_it(doors: Doors) -> None:
    """What is forgotten need not be looked for in this file: it holds ids and states."""
    await note(doors.open(), A)
    with closing(sqlite3.connect(doors.path)) as db:
        names = {row[1] for row in db.execute("PRAGMA table_info(parcel)")}
    assert names == {
        "seq", "record", "op", "stage", "was", "quiet", "alone", "attempts", "lost", "noted_at",
        "due", "lease", "lease_until", "dead", "error",
    }  # fmt: skip


async def test_a_healthy_outbox_has_no_findings_and_the_undeliverable_are_some(
    doors: Doors,
) -> None:
    """What the cloud will never take is said where people look."""
    outbox = doors.open()
    assert await outbox.findings(repair=True) == []
    assert not doors.path.exists(), "to look at it makes no file"
    await note(outbox, A, B)
    assert await outbox.findings(repair=False) == []
    claimed = await claim(outbox)
    await settle(outbox, claimed, Dead("too blue"))

    found = await outbox.findings(repair=True)
    assert [f.code for f in found] == ["undelivered", "undelivered"]
    assert all("too blue" in f.what for f in found)
    assert {word for f in found for word in f.what.split()} >= {A, B}
    assert (await outbox.tally()).dead == 2


def overwrite(path: Path) -> None:
    path.write_bytes(b"nothing that SQLite knows" * 400)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def forget_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE ledger")
        db.commit()


def be_of_tomorrow(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("damage", [overwrite, cut, forget_a_table])
async def test_a_damaged_file_says_so_and_is_begun_anew_by_a_repair(
    doors: Doors, damage: Callable[[Path], None]
) -> None:
    """The memories are safe without it; delivery goes on once somebody looked."""
    outbox = doors.open()
    await note(outbox, A)
    await outbox.aclose()
    damage(doors.path)

    for call in (outbox.known(), note(outbox, B), delivered(outbox, B)):
        with pytest.raises(StoreDamagedError, match=r"outbox\.sqlite3"):
            await call
    (found,) = await outbox.findings(repair=False)
    assert (found.code, found.repaired) == ("outbox-damaged", False)
    with pytest.raises(StoreDamagedError):
        await outbox.tally()

    (found,) = await outbox.findings(repair=True)
    assert (found.code, found.repaired) == ("outbox-damaged", True)
    assert await outbox.findings(repair=True) == []
    await note(outbox, B)
    assert await left(outbox) == {(B, "add")}


async def test_a_repair_reaches_the_sessions_that_are_running(doors: Doors) -> None:
    """The file is another one then: they must not go on writing into the old."""
    running, doctor = doors.open(), doors.open()
    await note(running, A)
    forget_a_table(doors.path)
    assert [f.repaired for f in await doctor.findings(repair=True)] == [True]
    await note(running, B)

    assert await doctor.known() == {B}


async def test_a_file_of_a_newer_version_is_left_as_it_is(doors: Doors) -> None:
    """What it holds is waiting to be delivered by whoever wrote it."""
    outbox = doors.open()
    await note(outbox, A)
    await outbox.aclose()
    be_of_tomorrow(doors.path)
    with pytest.raises(NewerSchemaError, match="Update memory-mcp"):
        await note(outbox, B)
    (found,) = await outbox.findings(repair=True)
    assert (found.code, found.repaired) == ("outbox-unusable", False)
    with closing(sqlite3.connect(doors.path)) as db:
        db.execute(f"PRAGMA user_version = {OUTBOX.version}")

    assert await outbox.known() == {A}


async def test_what_is_known_of_one_cloud_says_nothing_of_another(tmp_path: Path) -> None:
    """Another address, another namespace: what is on its way begins anew, and no forget is done."""
    path = tmp_path / "outbox.sqlite3"
    here = SqliteOutbox(path, lambda: None, "https://a/ns/x")
    there = SqliteOutbox(path, lambda: None, "https://b/ns/x")
    await here.mark([A])
    await note(here, B)
    await claim(here)
    await here.see_until("1")
    await here.stand(Standing(failures=3))
    await here.aclose()

    assert await there.known() == {B}
    assert await there.seen_until() == ""
    assert await there.standing() == Standing()
    (parcel,) = (await claim(there)).parcels
    assert parcel.stage == "new"
    await there.aclose()
    assert await here.known() == {B}
    await here.aclose()


async def test_a_file_that_vanished_is_begun_anew(doors: Doors) -> None:
    """The folder is a derivative that people delete."""
    outbox = doors.open()
    await note(outbox, A)
    for path in doors.path.parent.glob("outbox.sqlite3*"):
        path.unlink()
    await note(outbox, B)

    assert await doors.open().known() == {B}


async def test_a_file_that_is_locked_for_too_long_is_said_to_be(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's transaction is waited for, but not for ever."""
    first = doors.open()
    await note(first, A)
    monkeypatch.setattr(database, "INDEX_BUSY_SECONDS_MAX", 0.05)
    outbox = doors.open()
    await outbox.known()
    with closing(sqlite3.connect(doors.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for call in (note(outbox, B), outbox.claim(0, 60), outbox.hurry(0)):
            with pytest.raises(StoreUnavailableError, match="try again"):
                await call
        assert await outbox.known() == {A}, "readers need not wait"
        other.execute("ROLLBACK")

    await note(outbox, B)
    assert await first.known() == {A, B}


async def test_what_the_file_system_refuses_is_said_in_one_sentence(tmp_path: Path) -> None:
    """A file where the folder should be, a folder where the file should be.

    No thread is left behind that would answer to an event loop which has ended by then.
    """
    (tmp_path / "a file").write_text("")
    (tmp_path / "a folder").mkdir()
    for path in (tmp_path / "a file" / "outbox.sqlite3", tmp_path / "a folder"):
        outbox = SqliteOutbox(path, lambda: None)
        with pytest.raises(StoreUnavailableError, match=path.name):
            await note(outbox, RecordId("x"))
        working = [thread.name for thread in threading.enumerate()]
        assert not [name for name in working if name.endswith("(_connection_worker_thread)")]


async def test_the_folder_is_made_before_the_file(tmp_path: Path) -> None:
    """Nobody makes a folder for a cloud that is never used."""
    folder = tmp_path / "state"
    outbox = SqliteOutbox(folder / "outbox.sqlite3", folder.mkdir)
    assert not folder.exists()
    await note(outbox, A)
    assert (folder / "outbox.sqlite3").is_file()
    await outbox.aclose()
