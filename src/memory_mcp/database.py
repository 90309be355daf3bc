"""One SQLite file: opened on first use, and anew when it vanished or was replaced.

Any number of processes share the file (WAL). Before each call its identity is compared with that
of the file on disk, because another process may have found it broken and begun a new one. This
module knows SQLite and its moods; what the tables mean is the affair of `index` and of the outbox
in `stores`, which both stand on it.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiosqlite

from memory_mcp.domain.limits import INDEX_BUSY_SECONDS_MAX
from memory_mcp.errors import NewerSchemaError, StoreError, StoreUnavailableError

__all__ = ["Database", "Make", "Rows"]

_DAMAGE: Final = ("no such table", "no such column", "has no column", "vtable constructor failed")

_SHARE_PAUSE_SECONDS: Final = 0.02
_ROWS_AT_ONCE: Final = 64
"""What aiosqlite takes when rows are asked for one by one; here they never are."""

Rows = list[Sequence[Any]]
_Identity = tuple[int, int]
"""Device and inode: another file of the same name has another one while this one is open."""


@dataclass(frozen=True)
class Make:
    """How a file of this kind is made, and what is said when it is not to be had.

    `version` is kept in PRAGMA user_version. `full`: a commit is on the medium when it returns; a
    derivative, which may be made anew, goes without. `page_bytes`: what is a little longer than
    half a page takes up a whole one. `opening` statements are run, with the values
    that the file was opened with, each time it is.
    """

    schema: str
    version: int
    full: bool
    busy: type[StoreError]
    damaged: type[StoreError]
    comfort: str
    page_bytes: int = 4_096
    opening: tuple[str, ...] = ()


class Database:
    """Statements in, rows out. `prepare` makes the folder before the file is created."""

    def __init__(
        self,
        path: Path,
        make: Make,
        prepare: Callable[[], None],
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self._values = values or {}
        self._make = make
        self._prepare = prepare
        self._db: aiosqlite.Connection | None = None
        self._opened: _Identity | None = None
        self._openings = 0
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()  # one connection: a batch must not take in others' rows

    @property
    def openings(self) -> int:
        """How often the file was opened: changes when another one took its place.

        An inode may be used again for the next file of that name; this number is not.
        """
        return self._openings

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
            StoreError: the file is busy for too long, or damaged, or of another version: the two
                classes that `Make` names.
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
            raise self._make.damaged(f"{self.path} was replaced ({error}).") from error

    async def change(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        """Run one statement that writes, never within the transaction of another call's batch.

        What it returns is on the medium then, and no batch that fails takes it back.
        """
        async with self._writing:
            return await self.rows(statement, values)

    async def write(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each of the rows, all or none of them; cancelled calls included."""
        await asyncio.shield(self._write(statement, rows))

    async def wipe(self, *first: str) -> None:
        """Leave nothing of deleted text in pages or in the log, after the statements `first`."""
        async with self._writing:
            for statement in first:
                await self.rows(statement)
            await self.rows("VACUUM")
            await self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    async def integrity(self) -> str:
        """SQLite's own word on the file: `ok`, or what is wrong with it."""
        return str((await self.rows("PRAGMA integrity_check(1)"))[0][0])

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
                self._db = await _open(self.path, self._make, self._values)
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
                return self._make.busy(
                    f"{self.path} has been busy for {INDEX_BUSY_SECONDS_MAX:.0f} s. "
                    f"{self._make.comfort}"
                )
            case sqlite3.SQLITE_ERROR if not _tells_of_damage(error):
                return error  # a mistake in our statement: another file would not help
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
                return self._make.damaged(f"{self.path} cannot be read ({error}).")
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


async def _open(path: Path, make: Make, values: Mapping[str, str]) -> aiosqlite.Connection:
    """A connection to a file that has our tables, made now if it is new.

    A call that is cancelled here must not leave a half-opened connection, so it is waited for.
    """
    opening = asyncio.ensure_future(_connected(path))
    try:
        db = await asyncio.shield(opening)
    except asyncio.CancelledError:
        await (await opening).close()
        raise
    try:
        await db.execute_fetchall(f"PRAGMA page_size = {make.page_bytes}")  # of a new file
        await _share(db)
        await db.execute_fetchall(f"PRAGMA synchronous = {'FULL' if make.full else 'NORMAL'}")
        await db.execute_fetchall(f"PRAGMA fullfsync = {int(make.full)}")  # macOS only
        await db.execute_fetchall("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
        await db.execute_fetchall("BEGIN IMMEDIATE")
        version = next(iter(await db.execute_fetchall("PRAGMA user_version")))[0]
        if version == 0:
            for statement in _statements(make.schema):
                await db.execute_fetchall(statement)
            await db.execute_fetchall(f"PRAGMA user_version = {make.version}")
        if version in (0, make.version):
            for statement in make.opening:
                await db.execute_fetchall(statement, values)
        await db.execute_fetchall("COMMIT")
    except BaseException:
        await db.close()
        raise
    if version not in (0, make.version):
        await db.close()
        if version > make.version and make.full:  # not ours to begin anew
            raise NewerSchemaError(str(path), version, make.version)
        raise make.damaged(f"{path} is of version {version}, not {make.version}.")
    return db


async def _connected(path: Path) -> aiosqlite.Connection:
    """A connection to the file, whatever is in it.

    It is opened before aiosqlite has it: the thread of a connection that cannot be opened goes on
    unawaited, and would answer to an event loop that may be closed by then.
    """
    found = await asyncio.to_thread(
        sqlite3.connect,
        path,
        isolation_level=None,
        timeout=INDEX_BUSY_SECONDS_MAX,
        check_same_thread=False,
    )
    return await aiosqlite.Connection(lambda: found, iter_chunk_size=_ROWS_AT_ONCE)


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
