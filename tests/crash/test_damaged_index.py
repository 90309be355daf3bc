"""The index is a derivative: whatever becomes of it, the memories are found."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import anyio.lowlevel
import pytest
from depth import depth
from operations import begin, go_back
from project import add, found, machine_of, opened, see

from memory_mcp import sessions
from memory_mcp.engine.index_sync import CatchUpCounts

pytestmark = pytest.mark.anyio

TURNS_MIN = 5
"""Of the event loop; a rebuild that is done sooner was not cut at all."""


def _index(root: Path) -> Path:
    return machine_of(root) / "index.sqlite3"


def _another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 12345")


def _an_unfinished_one(path: Path) -> None:
    """As if the power had gone while it was being made: a row is there, the rest is not."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM complete")
        db.execute("DELETE FROM record WHERE rowid > 1")


def _without_its_rows(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM record")


def _without_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE suppression")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "of no length": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"no database at all " * 1000),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:6000]),
    "overwritten in the middle": lambda path: path.write_bytes(
        path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096)
    ),
    "of another version": _another_version,
    "unfinished": _an_unfinished_one,
    "without a table": _without_a_table,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_index_is_made_anew_from_the_records(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    """DESIGN 3.8: the first question is answered as if nothing had happened."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        await go_back(built.workspace, "phase 1")
        before = await see(built.workspace)
    damage(_index(tmp_path))

    async with opened(tmp_path) as built:
        assert await see(built.workspace) == before
        memory = await add(built.workspace, "vouchers expire")
        assert memory in [record.id for record in await found(built.workspace, "vouchers")]
        assert await sessions.catch_up(built.workspace) == CatchUpCounts()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_the_first_call_on_a_damaged_index_may_be_a_write(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    """What is added to an index that is being made anew is not the only thing in it afterwards."""
    await begin(tmp_path)
    damage(_index(tmp_path))

    async with opened(tmp_path) as built:
        memory = await add(built.workspace, "vouchers expire")
        assert memory in [record.id for record in await found(built.workspace, "vouchers")]
        assert len(await found(built.workspace)) == 6


async def test_an_index_deleted_under_a_running_session_is_made_anew(tmp_path: Path) -> None:
    """Delete it freely, says DESIGN 4; also while somebody is using it."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        before = await see(built.workspace)
        for path in _index(tmp_path).parent.glob("index.sqlite3*"):
            path.unlink()
        assert await see(built.workspace) == before
        assert await sessions.catch_up(built.workspace) == CatchUpCounts()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(Path.unlink, id="made anew"),
        pytest.param(_without_its_rows, id="in step again with files that were copied in"),
    ],
)
async def test_a_rebuild_cancelled_at_any_moment_leaves_an_index_that_works(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    """A client may give up a call, and a rebuild that takes too long is ended in the middle."""
    await begin(tmp_path)
    turns, completed = 0, False
    while not completed:
        turns += depth(4 + turns, 1 + turns // 4)
        damage(_index(tmp_path))
        async with opened(tmp_path) as built:
            rebuild = asyncio.create_task(built.workspace.project.index.catch_up())
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            completed = rebuild.done()
            rebuild.cancel()
            with suppress(asyncio.CancelledError):
                await rebuild
            memory = await add(built.workspace, f"vouchers expire {turns}")
            async with opened(tmp_path) as other:
                assert memory in [record.id for record in await found(other.workspace)]
    assert turns > TURNS_MIN
