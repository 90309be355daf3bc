"""The SQLite file of an index: opened on first use, and anew when it vanished or was replaced.

Any number of processes share the file (WAL). Before each call its identity is compared with that
of the file on disk, because another process may have found it broken and begun a new one. This
module knows SQLite and its moods; what the tables mean is `index.sqlite`'s affair.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import aiosqlite

from memory_mcp.domain.limits import INDEX_BUSY_SECONDS_MAX
from memory_mcp.errors import IndexBusyError, IndexDamagedError, StoreUnavailableError
from memory_mcp.index.schema import SCHEMA, VERSION

__all__ = ["IndexFile", "Rows"]

_DAMAGE: Final = ("no such table", "no such column", "has no column", "vtable constructor failed")

_SHARE_PAUSE_SECONDS: Final = 0.02

Rows = list[Sequence[Any]]
_Identity = tuple[int, int]
"""Device and inode: another file of the same name has another one while this one is open."""


class IndexFile:
    """Statements in, rows out. `prepare` makes the folder before the file is created."""

    def __init__(self, path: Path, prepare: Callable[[], None]) -> None:
        self.path = path
        self._prepare = prepare
        self._db: aiosqlite.Connection | None = None
        self._opened: _Identity | None = None
        self._openings = 0
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()  # one connection: a batch must not take in others' rows

    @property
    def opening(self) -> int | None:
        """Stands for the open connection, as long as it is to the file that is on the disk.

        An inode may be used again for the next file of that name; this number is not.
        """
        return self._openings if self._db is not None and self._current() else None

    def _current(self) -> bool:
        return self._on_disk() == self._opened

    def _on_disk(self) -> _Identity | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    async def rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        """Run one statement, atomically.

        Raises:
            IndexBusyError: another process holds the file for too long.
            IndexDamagedError: it cannot be read, or is of another version.
            StoreUnavailableError: the file system refused.
        """
        try:
            db = await self._connection()
            return list(await db.execute_fetchall(statement, values))
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except UnicodeEncodeError:  # half a character: nothing is wrong with the file
            raise
        except ValueError as error:  # closed in between: another call found it broken
            raise IndexDamagedError(f"{self.path} was replaced ({error}).") from error

    async def write(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each of the rows, all or none of them; cancelled calls included."""
        await asyncio.shield(self._write(statement, rows))

    async def wipe(self) -> None:
        """Leave nothing of deleted text: in the full-text segments, in pages, or in the log."""
        async with self._writing:
            await self.rows("INSERT INTO text (text) VALUES ('optimize')")
            await self.rows("VACUUM")
            await self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    async def replace(self) -> None:
        """Begin anew with an empty file, unless another process has done so already."""
        broken, present = self._opened, self._on_disk()
        await self.aclose()
        if present is not None and broken in (None, present):
            await asyncio.to_thread(self._unlink)

    async def aclose(self) -> None:
        """Close the connection; the next call opens another one while this one is open."""
        db, self._db, self._opened = self._db, None, None
        if db is not None:
            await db.close()

    async def _write(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        async with self._writing:
            if len(rows) == 1:
                await self.rows(statement, rows[0])
                return
            await self.rows("BEGIN IMMEDIATE")
            try:
                db = await self._connection()
                await db.executemany(statement, rows)
                await self.rows("COMMIT")
            except BaseException as error:
                await self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise self._explained(error) from error
                raise

    async def _roll_back(self) -> None:
        """Left open, a transaction would lock every other session out."""
        if self._db is not None:
            with suppress(sqlite3.Error, ValueError):  # over already, or closed
                await self._db.rollback()

    async def _connection(self) -> aiosqlite.Connection:
        if self._db is not None and self._current():
            return self._db
        async with self._opening:
            if self._db is None or not self._current():
                await self.aclose()
                self._prepare()
                self._db = await _open(self.path)
                self._opened = self._on_disk()
                self._openings += 1
            return self._db

    def _unlink(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            try:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnavailableError(
                    f"{self.path} is damaged and cannot be replaced ({error.strerror}). Close the "
                    "other sessions of this project, then run `memory-mcp reindex`."
                ) from error

    def _explained(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", None)
        match code & 0xFF if isinstance(code, int) else None:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return IndexBusyError(
                    f"{self.path} has been busy for {INDEX_BUSY_SECONDS_MAX:.0f} s. "
                    "The memories are safe; try again."
                )
            case sqlite3.SQLITE_ERROR if not _tells_of_damage(error):
                return error  # a mistake in our statement: another file would not help
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
                return IndexDamagedError(f"{self.path} cannot be read ({error}).")
            case int():
                return StoreUnavailableError(
                    f"Cannot use {self.path}: {error}. Make its folder writable, or set "
                    "MEMORY_STATE_DIR; the memories themselves are not affected."
                )
            case _:
                return error


def _tells_of_damage(error: sqlite3.Error) -> bool:
    """Whether the plainest of SQLite's errors means that tables of ours are not as we made them."""
    return any(sign in str(error) for sign in _DAMAGE)


async def _open(path: Path) -> aiosqlite.Connection:
    """A connection to a file that has our tables, made now if it is new.

    A call that is cancelled here must not leave a half-opened connection, so it is waited for.
    """
    opening = asyncio.ensure_future(
        aiosqlite.connect(path, isolation_level=None, timeout=INDEX_BUSY_SECONDS_MAX)
    )
    try:
        db = await asyncio.shield(opening)
    except asyncio.CancelledError:
        await (await opening).close()
        raise
    try:
        await _share(db)
        await db.execute_fetchall("PRAGMA synchronous = NORMAL")  # a derivative may be made anew
        await db.execute_fetchall("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
        await db.execute_fetchall("BEGIN IMMEDIATE")
        version = next(iter(await db.execute_fetchall("PRAGMA user_version")))[0]
        if version == 0:
            for statement in _statements(SCHEMA):
                await db.execute_fetchall(statement)
            await db.execute_fetchall(f"PRAGMA user_version = {VERSION}")
        await db.execute_fetchall("COMMIT")
    except BaseException:
        await db.close()
        raise
    if version not in (0, VERSION):
        await db.close()
        raise IndexDamagedError(f"{path} is of index version {version}, not {VERSION}.")
    return db


async def _share(db: aiosqlite.Connection) -> None:
    """Let readers and one writer work side by side (WAL).

    SQLite does not wait here as it does elsewhere: where another process is just making the file,
    it says at once that it is locked.
    """
    waited = 0.0
    while True:
        try:
            await db.execute_fetchall("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if waited >= INDEX_BUSY_SECONDS_MAX or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            await asyncio.sleep(_SHARE_PAUSE_SECONDS)
            waited += _SHARE_PAUSE_SECONDS
        else:
            return


def _statements(script: str) -> Iterable[str]:
    """The statements of a script, one by one: executescript would end the transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
