"""One SQLite file: opened on first use, and again when it vanished or was replaced.

Any number of processes share the file (WAL). Before each call its identity is compared with that
of the file on disk, because another process may have found it broken and begun a new one. This
module knows SQLite. It does not know what the tables of the index and the outbox mean.

The file may be anybody's, so it is opened as SQLite advises for untrusted files
(https://sqlite.org/security.html). Nothing of it runs before its schema is, to the letter, the one
that our statements make: a foreign trigger, view or index makes it a damaged file. No statement
runs for longer than its limit.
"""

import asyncio
import hashlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import aiosqlite

from memory_mcp.deadlines import waiting_for
from memory_mcp.disk import ANY_SETTING
from memory_mcp.domain.fields import escape_unprintable
from memory_mcp.domain.limits import (
    DATABASE_BYTES_MAX,
    INDEX_BUSY_SECONDS_MAX,
    STATEMENT_SECONDS_MAX,
)
from memory_mcp.errors import (
    NewerSchemaError,
    StoreError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from memory_mcp.frozen import frozen
from memory_mcp.storage.threads import run_in_daemon_thread

_DAMAGE: Final = (
    "Could not decode to UTF-8",
    "no such table",
    "no such column",
    "has no column",
)

_WAL_PAUSE_SECONDS: Final = 0.02
_ROWS_AT_ONCE: Final = 64
"""The batch of aiosqlite for rows that are asked for one by one. Nothing here does that."""

_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
_SUPER_JOURNAL: Final = bytes.fromhex("d9d505f920a163d7")
"""A rollback journal that ends with this names a second file, which SQLite would delete."""

_UNBOUNDED: Final = ("PRAGMA INTEGRITY_CHECK", "PRAGMA WAL_CHECKPOINT")
"""Statements that go through the whole file, and run nothing that a schema contains."""
_STEPS_BETWEEN_LOOKS: Final = 100_000
"""Instructions of SQLite between two looks at the clock: a few milliseconds."""
_KEPT_MAX: Final = 32
"""Queries whose rows a connection keeps; with the chain that was asked about each may be 300 kB."""
_ROWS_A_LIMIT: Final = 100
"""A batch may take the time of one statement for each so many rows."""

_DEFENSIVE_PRAGMAS: Final = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
)

Rows = list[Sequence[Any]]
_Query = tuple[str, Mapping[str, Any]]
"""A statement and its named values."""
T = TypeVar("T")
_Identity = tuple[int, int]
"""Device and inode: another file of the same name has another one while this one is open."""


@frozen
class DatabaseSpec:
    """How a file of one kind is made, and which errors its users get.

    `version` is kept in PRAGMA user_version. With `full_sync` a commit is on the medium when it
    returns, which a derivative does without. `busy` and `damaged` are the errors to raise, `advice`
    the last sentence of `busy`. A value that is a little longer than half of `page_bytes` takes up
    a whole page. The `opening` statements run each time the file is opened, with the values that
    the `Database` was given. A value of one of the names `lists` is a frozenset of texts: while a
    statement runs, a temporary table of that name has its members as `value`. `digest` is that of
    the tables that `schema` makes: a file that has it is one of these, and no table need be made to
    find that out.
    """

    schema: str
    version: int
    full_sync: bool
    busy: type[StoreError]
    damaged: type[StoreError]
    advice: str
    page_bytes: int = 4_096
    opening: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    digest: str = ""


class Database:
    """Runs statements on one file. `prepare` makes the folder before the file is created.

    Errors name the `setting` that moves the file.
    """

    def __init__(
        self,
        path: Path,
        spec: DatabaseSpec,
        prepare: Callable[[], None],
        values: Mapping[str, str] | None = None,
        *,
        setting: str = ANY_SETTING,
    ) -> None:
        self.path = path
        self._setting = setting
        self._values = values or {}
        self._spec = spec
        self._prepare = prepare
        self._db: aiosqlite.Connection | None = None
        self._opened: _Identity | None = None
        self._openings = 0
        self._opening = asyncio.Lock()

    @property
    def openings(self) -> int:
        """How often the file was opened; it rises when another file took its place.

        An inode does not tell that: the next file of that name may have the same one.
        """
        return self._openings

    async def rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        """Run one statement, atomically.

        Raises:
            StoreError: the file is busy for too long, damaged, or of another version: `busy` or
                `damaged` of the spec.
            StoreUnavailableError: the file system refused.
        """
        return await self._visit(lambda db: db.execute(statement, values).fetchall())

    async def rows_of_each(self, queries: Sequence[_Query]) -> list[Rows]:
        """Run several queries, which see one state of the file.

        SQLite takes longer to plan one long query than to run many short ones, and it plans those
        of the same text once.
        """

        def read(db: BoundedConnection) -> list[Rows]:
            with _transaction(db, "BEGIN"):
                return [db.execute(query, values).fetchall() for query, values in queries]

        return await self._visit(read)

    async def rows_kept(self, kept: _Query, *others: _Query) -> list[Rows]:
        """Run queries as `rows_of_each`; the rows of the first are kept until anybody writes.

        They are shared: whoever gets them changes none.
        """

        def read(db: BoundedConnection) -> list[Rows]:
            with _transaction(db, "BEGIN"):
                rest = [db.execute(query, values).fetchall() for query, values in others]
                return [db.recall(*kept), *rest]

        return await self._visit(read)

    async def write(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each of the rows: all or none, even if the call is cancelled."""

        def write(db: BoundedConnection) -> None:
            with _transaction(db, "BEGIN IMMEDIATE"):
                db.executemany(statement, rows)

        await (self.rows(statement, rows[0]) if len(rows) == 1 else self._visit(write))

    async def transact(self, statements: Sequence[str], values: Mapping[str, Any]) -> None:
        """Run the statements with the same values: all or none, even if the call is cancelled."""

        def run(db: BoundedConnection) -> None:
            with _transaction(db, "BEGIN IMMEDIATE"):
                for statement in statements:
                    db.execute(statement, values)

        await self._visit(run)

    async def wipe(self) -> None:
        """Remove what is deleted from the log.

        In the pages it is overwritten as it is deleted (`secure_delete`).
        """
        await self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    async def check_integrity(self) -> str:
        """SQLite's verdict on the file: `ok`, or what is wrong with it."""
        return str((await self.rows("PRAGMA integrity_check(1)"))[0][0])

    async def replace(self) -> None:
        """Replace the file by an empty one, unless another process has done so already."""
        broken, present = self._opened, self._identify()
        await self._close()
        if present is not None and broken in (None, present):
            await asyncio.to_thread(self._unlink)

    async def aclose(self) -> None:
        """Close the connection once what runs has ended; the next call opens another."""
        async with self._opening:  # what is just being opened is closed as well
            await self._close()

    async def _close(self) -> None:
        db, self._db, self._opened = self._db, None, None
        if db is not None:
            try:
                await db.close()
            except asyncio.CancelledError:
                db.stop()  # pyright: ignore[reportUnknownMemberType]  # its thread closes it
                raise

    async def _visit(self, work: Callable[["BoundedConnection"], T]) -> T:
        """Let the thread of the connection do this, from its begin to its end.

        It does one thing at a time, so nothing of another call comes between, and it ends what it
        began though nobody waits for it any more.
        """
        with self._translate_errors():
            db = await self._connection()
            return await db._execute(work, db._conn)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]  # what every method of it is made of

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            with waiting_for(f"the database {self.path}"):
                yield
        except sqlite3.Error as error:
            raise self._translate(error) from error
        except MemoryError as error:  # a length in a broken page, far more often than a full memory
            raise self._spec.damaged(f"{self.path} asks for more memory than there is.") from error
        except UnicodeEncodeError:  # a lone surrogate: nothing is wrong with the file
            raise
        except ValueError as error:  # closed in between: another call found it broken
            raise self._spec.damaged(f"{self.path} was replaced ({error}).") from error

    async def _connection(self) -> aiosqlite.Connection:
        if self._db is not None and self._identify() == self._opened:
            return self._db
        async with self._opening:
            if self._db is None or self._identify() != self._opened:
                await self._close()
                self._prepare()
                self._db = await _open(self.path, self._spec, self._values)
                self._opened = self._identify()
                self._openings += 1
            return self._db

    def _identify(self) -> _Identity | None:
        """The file that stands at the path now."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _unlink(self) -> None:
        for suffix in _SUFFIXES:
            try:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnavailableError(
                    f"{self.path} is damaged and cannot be replaced ({error.strerror}).",
                    "Close the other sessions of this project, then run `memory-mcp doctor "
                    "--reindex`.",
                ) from error

    def _translate(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and _means_damage(error):  # raised by Python: SQLite gave no code
            code = sqlite3.SQLITE_CORRUPT
        match code & 0xFF if isinstance(code, int) else None:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return self._spec.busy(
                    f"{self.path} has been busy for {INDEX_BUSY_SECONDS_MAX:.0f} s.",
                    self._spec.advice,
                )
            case sqlite3.SQLITE_ERROR if not _means_damage(error):
                return error  # a mistake in our statement: another file would not help
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
                return self._spec.damaged(
                    f"{self.path} cannot be read ({escape_unprintable(str(error))})."
                )
            case sqlite3.SQLITE_INTERRUPT:
                return self._spec.damaged(
                    f"{self.path} did not answer within {STATEMENT_SECONDS_MAX:.0f} s."
                )
            case int() as kind:
                read_only = kind == sqlite3.SQLITE_READONLY
                refused = StoreReadOnlyError if read_only else StoreUnavailableError
                return refused(
                    f"Cannot use {self.path}: {error}.",
                    f"{remedy_of(kind, self._setting)}; the memories themselves are not affected.",
                )
            case _:
                return error


def remedy_of(code: int, setting: str = ANY_SETTING) -> str:
    """What helps, by SQLite's primary error code."""
    match code:
        case sqlite3.SQLITE_FULL:
            return "Free some space on that disk and try again"
        case sqlite3.SQLITE_IOERR:
            return (
                "Reading or writing failed: check the disk, its free space and quota, and the "
                "limits on the size of files (ulimit -f)"
            )
        case sqlite3.SQLITE_CANTOPEN:
            return (
                "It cannot be opened: see that its folder exists and is writable, that no folder "
                "stands in its place, and that not too many files are open (ulimit -n)"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return f"Make its folder and the file writable, or set {setting} to a folder that is"
        case sqlite3.SQLITE_TOOBIG:
            return "A value is larger than SQLite takes"
        case _:
            return "Run `memory-mcp doctor`"


@contextmanager
def _transaction(db: sqlite3.Connection, begin: str) -> Generator[None]:
    """All or nothing of what is done within; left open, it would lock every other session out."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # over already
            db.rollback()
        raise


def _means_damage(error: sqlite3.Error) -> bool:
    """Whether an error without a code means that our tables are not as we made them."""
    return any(sign in str(error) for sign in _DAMAGE)


class BoundedConnection(sqlite3.Connection):
    """A connection on which no statement runs for longer than its limit.

    The time begins when a statement does, in the thread that runs it: waiting for another statement
    does not count.
    """

    _until = float("inf")
    _lists: tuple[str, ...] = ()

    def make_lists(self, names: tuple[str, ...]) -> None:
        """Make the temporary tables of these names."""
        self._lists = names
        self._fillings: dict[str, tuple[int, frozenset[str]]] = {}
        self._changed_in_lists = 0
        self._kept: dict[tuple[object, ...], Rows] = {}
        self._kept_of = (0, 0)
        super().execute("PRAGMA temp_store = MEMORY")
        for name in names:
            super().execute(f"CREATE TEMP TABLE {name} (value TEXT PRIMARY KEY) WITHOUT ROWID")
            super().execute(f"CREATE TEMP TABLE {name}_filling (number INTEGER)")

    def _fill_list(self, name: str, members: frozenset[str]) -> None:
        """Let the table of that name have these members; only those that differ are changed.

        The number of its filling stands in SQLite, because a transaction that is rolled back takes
        it along. None stands there while it is changed: where that is cut short, the next begins
        anew.
        """
        number, before = self._fillings.get(name, (0, frozenset[str]()))
        known = super().execute(f"SELECT number FROM {name}_filling").fetchone()
        if known == (number,) and (before is members or before == members):
            return
        changes = self.total_changes
        super().execute(f"DELETE FROM {name}_filling")
        if known != (number,):
            super().execute(f"DELETE FROM {name}")
            before = frozenset[str]()
        for change, some in (
            (
                f"DELETE FROM {name} WHERE value IN (SELECT value FROM json_each(?))",
                before - members,
            ),
            (f"INSERT INTO {name} SELECT value FROM json_each(?)", members - before),
        ):
            if some:
                super().execute(change, (json.dumps([*some]),))
        self._fillings[name] = number + 1, members
        super().execute(f"INSERT INTO {name}_filling VALUES (?)", (number + 1,))
        self._changed_in_lists += self.total_changes - changes

    def recall(self, statement: str, values: Mapping[str, Any]) -> Rows:
        """The rows of a query, from memory if nobody has written to the file since it ran."""
        (version,) = super().execute("PRAGMA data_version").fetchone()  # rises with others' writes
        state = version, self.total_changes - self._changed_in_lists
        if state != self._kept_of:
            self._kept_of = state
            self._kept.clear()
        key = statement, *values.items()
        if key not in self._kept:
            if len(self._kept) >= _KEPT_MAX:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self.execute(statement, values).fetchall()
        return self._kept[key]

    def start_clock(self) -> None:
        """Begin to interrupt statements that run out of time."""
        self.set_progress_handler(lambda: time.monotonic() > self._until, _STEPS_BETWEEN_LOOKS)

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        unbounded = statement.lstrip().upper().startswith(_UNBOUNDED)
        self._until = float("inf") if unbounded else time.monotonic() + STATEMENT_SECONDS_MAX
        given: Any = values
        named = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        for name in named.keys() & self._lists:
            self._fill_list(name, named[name])
        return super().execute(statement, values)

    def executemany(self, statement: str, rows: Any, /) -> sqlite3.Cursor:
        times = 1 + len(rows) / _ROWS_A_LIMIT
        self._until = time.monotonic() + STATEMENT_SECONDS_MAX * times
        return super().executemany(statement, rows)


async def _open(path: Path, spec: DatabaseSpec, values: Mapping[str, str]) -> aiosqlite.Connection:
    """Open a file that has our tables, made now if it is new.

    A cancelled call does not wait, for another process may hold the file: what it began is closed
    once it is there. SQLite opens the file before aiosqlite is asked, in one visit to a thread: the
    thread of a connection that cannot be opened, or that nobody waits for, would run on and answer
    to an event loop that may be closed by then.
    """
    opened = await run_in_daemon_thread(
        lambda: _open_file(path, spec, values), discard=sqlite3.Connection.close
    )
    connection = aiosqlite.Connection(lambda: opened, iter_chunk_size=_ROWS_AT_ONCE)
    connection._connection = opened  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # as awaiting it would do, a thread later
    thread = connection._thread  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    thread.daemon = True  # else a connection that nobody closed would keep the process alive
    thread.start()
    return connection


def _open_file(path: Path, spec: DatabaseSpec, values: Mapping[str, str]) -> sqlite3.Connection:
    """Open a file, whatever is in it, and leave it open only if it has our tables."""
    _require_files(path, spec)
    writable = _may_write(path)
    if writable:
        with suppress(OSError):  # SQLite says why; its other files get the rights of this one
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    db = sqlite3.connect(
        path if writable else _make_reading_address(path),
        uri=not writable,
        isolation_level=None,
        timeout=INDEX_BUSY_SECONDS_MAX,
        check_same_thread=False,
        factory=BoundedConnection,
    )
    try:
        db.start_clock()
        if configure := getattr(db, "setconfig", None):  # from Python 3.12
            configure(getattr(sqlite3, "SQLITE_DBCONFIG_DEFENSIVE"), True)  # noqa: B009, FBT003
        for statement in _DEFENSIVE_PRAGMAS:
            db.execute(statement)
        if writable:
            db.execute(f"PRAGMA page_size = {spec.page_bytes}")  # of a new file
            _set_wal(db)
            db.execute(f"PRAGMA synchronous = {'FULL' if spec.full_sync else 'NORMAL'}")
            db.execute(f"PRAGMA fullfsync = {int(spec.full_sync)}")  # macOS only
            db.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
        db.execute("BEGIN IMMEDIATE" if writable else "BEGIN")
        _require_tables(db, path, spec, values)
        db.execute("COMMIT")
        db.make_lists(spec.lists)
    except BaseException:
        db.close()
        raise
    return db


def _may_write(path: Path) -> bool:
    """Whether the file may be written, or is yet to be made; its log needs the folder as well."""
    return not path.is_file() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _make_reading_address(path: Path) -> str:
    """What SQLite opens to read a file that may not be written, by this user or at all.

    Without a log it takes no locks, for which it would have to write: whoever may write the file
    has closed it. With one it needs the files that stand beside it.
    """
    log = Path(f"{path}-wal")
    alone = "" if log.exists() and log.stat().st_size else "&immutable=1"
    return f"{path.absolute().as_uri()}?mode=ro{alone}"


def _require_tables(
    db: sqlite3.Connection, path: Path, spec: DatabaseSpec, values: Mapping[str, str]
) -> None:
    """Make our tables in a new file; in another one require that nothing else is there.

    Raises:
        StoreError: something else is there, or another version. Nothing of it was run.
    """
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, spec.version):
        if version > spec.version and spec.full_sync:  # not ours to begin anew
            raise NewerSchemaError(str(path), version, spec.version)
        raise spec.damaged(f"{path} is of version {version}, not {spec.version}.")
    found = frozenset(db.execute(_SCHEMA_ROWS).fetchall())
    known = version and compute_schema_digest(found) == spec.digest
    if not known and found != (make_schema(spec.schema) if version else frozenset()):
        raise spec.damaged(f"{path} has tables, views or triggers that are not ours.")
    db.execute("PRAGMA trusted_schema = ON")  # JSON in our own triggers
    if not version:
        for statement in _statements(spec.schema):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {spec.version}")
    for statement in spec.opening:
        db.execute(statement, values)


_SchemaRow = tuple[str, str, str, str | None]
_SCHEMA_ROWS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def compute_schema_digest(rows: Collection[_SchemaRow]) -> str:
    """The digest of the rows of a schema, whatever is in them."""
    return hashlib.sha256("".join(sorted(map(ascii, rows))).encode()).hexdigest()


@cache
def make_schema(script: str) -> frozenset[_SchemaRow]:
    """The rows of a schema that exactly these statements made."""
    db = sqlite3.connect(":memory:")
    try:
        for statement in _statements(script):
            db.execute(statement)
        return frozenset(db.execute(_SCHEMA_ROWS).fetchall())
    finally:
        db.close()


def _require_files(path: Path, spec: DatabaseSpec) -> None:
    """Refuse what is no file of ours before SQLite follows a link, waits for a pipe, or deletes.

    Raises:
        StoreUnavailableError: a link or a special file stands there; it is left as it is.
        StoreError: the file is larger than any of ours, or its journal names another file.
    """
    for suffix in _SUFFIXES:
        file = Path(f"{path}{suffix}")
        try:
            found = file.lstat()
        except OSError:  # none, or SQLite says why
            continue
        if not stat.S_ISREG(found.st_mode):
            raise StoreUnavailableError(
                f"{file} is a link, a folder or a device, which is not opened. Remove it; the "
                "memories themselves are not affected."
            )
        if found.st_size > DATABASE_BYTES_MAX:
            raise spec.damaged(f"{file} has {found.st_size:,} bytes, more than any of ours.")
        if suffix == "-journal" and _names_second_file(file):
            raise spec.damaged(f"{file} belongs to another program's transaction.")


def _names_second_file(journal: Path) -> bool:
    try:
        with journal.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_SUPER_JOURNAL)))
            return file.read() == _SUPER_JOURNAL
    except OSError:
        return False


def _set_wal(db: sqlite3.Connection) -> None:
    """Let readers and one writer work side by side (WAL).

    SQLite does not wait here as it does elsewhere: while another process makes the file, it says
    at once that the file is locked.
    """
    waited = 0.0
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if waited >= INDEX_BUSY_SECONDS_MAX or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_WAL_PAUSE_SECONDS)
            waited += _WAL_PAUSE_SECONDS
        else:
            return


@cache
def _statements(script: str) -> Sequence[str]:
    """The statements of a script, one by one: executescript would end the transaction."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
