"""A PostgreSQL database: a bounded pool of connections for each event loop, and its failures.

What is run here may be run twice: a connection that is lost in the middle of a statement does not
tell whether that was carried out, so it is repeated once on another one. Every statement of this
package is written for that. No lock is held between two calls.

A connection says whose memories it may see before anything else, and the policies of the schema
hold it to that.

Errors name the database by its address, never by the user or the password in its URL.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from typing import Any, Final, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # it has none; `Connection` is what we use

from memory_mcp.deadlines import waiting_for
from memory_mcp.domain.fields import escape_unprintable
from memory_mcp.domain.hosts import name_database
from memory_mcp.domain.limits import (
    DATABASE_CONNECT_SECONDS_MAX,
    DATABASE_CONNECTIONS_MAX,
    DATABASE_IDLE_SECONDS_MAX,
    DATABASE_LOCK_SECONDS_MAX,
    DATABASE_LOOK_SECONDS_MAX,
    DATABASE_POOL_SECONDS_MAX,
    STATEMENT_SECONDS_MAX,
)
from memory_mcp.errors import DatabaseAwayError, StoreDamagedError, StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.storage.postgres.schema import (
    NAMESPACE,
    Connection,
    is_up_to_date,
    migrate,
)

T = TypeVar("T")
Rows = Sequence[Any]
Work = Callable[[Connection], Awaitable[T]]

SERVER_VERSION_MIN: Final = 14
_PARAMETER: Final = compile_later(r"(?<![:\w]):([a-z]\w*)")
"""A named value of a statement; not the type behind `::`."""

_LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""The connection is lost, or there is none."""
_REPEATABLE: Final = (*_LOST, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


@frozen
class Principal:
    """Whose memories a connection may see and write: a user's, a team's, and those of one project.

    A project without an owner is everyone's. Not every user has a team.
    """

    user: str
    owner: str
    project: str
    team: str = ""


class _SchemaBehindError(Exception):
    """The schema is older than this server."""


class Postgres:
    """Runs statements on the database at this URL, whose schema it brings up to date first.

    The database shows it the memories of this principal and no others. While it is away, its errors
    say what `describe_waiting` says.

    Errors of every method: `DatabaseAwayError` if the database cannot be reached, does not answer
    in time, or is a read-only standby; `StoreUnavailableError` if it refuses; `NewerSchemaError` if
    a newer memory-mcp made its tables; `StoreDamagedError` if PostgreSQL says that its files are
    broken.
    """

    def __init__(
        self,
        url: str,
        principal: Principal,
        *,
        connections_max: int = DATABASE_CONNECTIONS_MAX,
        describe_waiting: Callable[[], str] = lambda: "",
    ) -> None:
        self.url = url
        self.principal = principal
        self.name = name_database(url)
        self.speaker = f"memory-mcp {uuid4().hex[:8]}"
        said = {f"memory_mcp.{name}": value for name, value in vars(principal).items()}
        self._session = {**_SESSION, **said, "application_name": self.speaker}
        self._connections_max = connections_max
        self._describe_waiting = describe_waiting
        self._migrating: asyncio.Task[None] | None = None
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._opening: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        self._holders: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    async def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> Rows:
        """Run one statement, atomically. Its values are named, `:like_this`."""
        return await self.run(lambda connection: fetch(connection, statement, values or {}))

    async def transact(self, work: Work[T]) -> T:
        """Do the work in one transaction, which may be done twice."""

        async def within(connection: Connection) -> T:
            async with connection.transaction():
                return await work(connection)

        return await self.run(within)

    async def run(self, work: Work[T]) -> T:
        """Do the work with a connection; again with another one if that is lost meanwhile."""
        with self._translating(), waiting_for(f"the database {self.name}"):
            try:
                return await self._run(work)
            except _REPEATABLE as error:
                if isinstance(error, asyncpg.QueryCanceledError):
                    raise
                await self._forget_connections()
                return await self._run(work)

    async def listen(self, channel: str, hear: Callable[[str], None]) -> None:
        """Hear what others announce on this channel, until the connection ends.

        `hear` is called with '' at first, for what was announced before.
        """
        ended = asyncio.Event()

        def end(_connection: Any) -> None:
            ended.set()

        def receive(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
            hear(payload)

        with self._translating():
            connection = await connect(self.url)
        try:
            with self._translating():
                await self._prepare(connection)
                connection.add_termination_listener(end)
                await connection.add_listener(channel, receive)
                hear("")
                while not ended.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(DATABASE_LOOK_SECONDS_MAX / 3):
                            await ended.wait()
                    if not ended.is_set():  # a line that is dead says nothing by itself
                        await connection.execute("SELECT 1")
        finally:
            connection.terminate()

    @asynccontextmanager
    async def hold_lock(self, space: int, number: int) -> AsyncGenerator[bool]:
        """Hold a lock of the database within the block, and yield whether it was free.

        It ends with the connection, and so with the process. One connection is always left for what
        is done under such locks; nobody holds two.
        """
        holders = self._find_holders()
        async with AsyncExitStack() as stack:
            with waiting_for("other calls that hold locks"):
                await stack.enter_async_context(holders)
            with self._translating():
                connection = await stack.enter_async_context(self._connection())
                free = await connection.fetchval(
                    "SELECT pg_try_advisory_lock($1, $2)", space, number
                )
            try:
                yield free
            finally:
                if free:
                    with suppress(asyncpg.PostgresError, *_LOST):  # lost with the connection
                        await connection.execute("SELECT pg_advisory_unlock($1, $2)", space, number)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next call opens others."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is None:
            return
        try:
            async with asyncio.timeout(DATABASE_CONNECT_SECONDS_MAX):
                await pool.close()
        except (asyncpg.PostgresError, *_LOST):  # a server that is gone has closed them
            pool.terminate()

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Connection]:
        pool = await self._find_pool()
        try:
            connection = await self._acquire(pool)
        except TimeoutError as error:
            if pool.get_idle_size() or pool.get_size() < self._connections_max:
                raise
            raise DatabaseAwayError(
                f"All {self._connections_max} connections of this process to {self.name} have been "
                f"busy for {DATABASE_POOL_SECONDS_MAX:.0f} s. Nothing was changed; try again."
            ) from error
        try:
            yield connection
        finally:
            with suppress(asyncpg.PostgresError, *_LOST):
                await pool.release(connection, timeout=DATABASE_POOL_SECONDS_MAX)

    async def _acquire(self, pool: Any) -> Connection:
        try:
            return await _take(pool)
        except _SchemaBehindError:
            # with a million records this takes longer than a call may, and goes on without it
            self._migrating = self._migrating or asyncio.create_task(self._migrate())
            await asyncio.shield(self._migrating)
            return await _take(pool)

    async def _migrate(self) -> None:
        try:
            connection = await connect(self.url)
            try:
                await migrate(connection, self.name)
            finally:
                await connection.close()
        finally:
            self._migrating = None

    async def _run(self, work: Work[T]) -> T:
        async with self._connection() as connection:
            return await work(connection)

    def _find_holders(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        most = max(1, self._connections_max - 1)
        return self._holders.setdefault(loop, asyncio.Semaphore(most))

    async def _find_pool(self) -> Any:
        loop = asyncio.get_running_loop()
        async with self._opening.setdefault(loop, asyncio.Lock()):
            if loop not in self._pools:
                self._pools[loop] = await asyncpg.create_pool(  # pyright: ignore[reportUnknownMemberType]
                    self.url,
                    min_size=0,
                    max_size=self._connections_max,
                    init=self._prepare,
                    reset=_keep_session,
                    max_inactive_connection_lifetime=DATABASE_IDLE_SECONDS_MAX,
                    timeout=DATABASE_CONNECT_SECONDS_MAX,
                    command_timeout=STATEMENT_SECONDS_MAX + DATABASE_CONNECT_SECONDS_MAX,
                )
            return self._pools[loop]

    async def _prepare(self, connection: Connection) -> None:
        """Say whose connection it is, and see that the schema is up to date.

        Raises:
            StoreUnavailableError: the server is too old, or a standby.
            NewerSchemaError: a newer memory-mcp made the schema.
            _SchemaBehindError: it is to be brought up to date.
        """
        version = connection.get_server_version().major
        if version < SERVER_VERSION_MIN:
            raise StoreUnavailableError(
                f"{self.name} is PostgreSQL {version}; memory-mcp needs {SERVER_VERSION_MIN} or a "
                "newer one. Update that server, or name another in MEMORY_POSTGRES_URL."
            )
        names, values = list(self._session), list(self._session.values())
        if await connection.fetchval(_BEGIN_SESSION, names, values):
            raise DatabaseAwayError(_STANDBY.format(name=self.name))
        if not await is_up_to_date(connection, self.name):
            raise _SchemaBehindError

    async def _forget_connections(self) -> None:
        """Use no connection again that was opened before the last failure."""
        if pool := self._pools.get(asyncio.get_running_loop()):
            await pool.expire_connections()

    @contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except (asyncpg.PostgresError, *_LOST) as error:
            raise self._translate(error) from error

    def _translate(self, error: Exception) -> Exception:
        if isinstance(error, (asyncpg.SyntaxOrAccessError, asyncpg.DataError)) and not isinstance(
            error, asyncpg.InsufficientPrivilegeError
        ):
            return error  # a mistake in our statement
        says = escape_unprintable(str(error) or type(error).__name__)
        if isinstance(error, (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)):
            return StoreDamagedError(
                f"{self.name} says that its files are damaged ({says}). Restore it from a backup."
            )
        _, raised, sentence = next(each for each in _SENTENCES if isinstance(error, each[0]))
        waiting = self._describe_waiting() if raised is DatabaseAwayError else ""
        return raised(f"{sentence.format(name=self.name, says=says)} {waiting}".rstrip())


_STANDBY: Final = (
    "{name} is a read-only standby. Name the primary in MEMORY_POSTGRES_URL, or both with "
    "`target_session_attrs=read-write`; nothing was changed."
)
_SENTENCES: Final[tuple[tuple[Any, type[StoreUnavailableError], str], ...]] = (
    (asyncpg.ReadOnlySQLTransactionError, DatabaseAwayError, _STANDBY),
    (
        (asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError),
        DatabaseAwayError,
        "{name} did not do it in time ({says}). Nothing was changed; try again.",
    ),
    (
        asyncpg.TooManyConnectionsError,
        DatabaseAwayError,
        "{name} takes no more connections ({says}). Try again, or raise its max_connections.",
    ),
    (
        (
            asyncpg.InvalidAuthorizationSpecificationError,
            asyncpg.InvalidCatalogNameError,
            asyncpg.InsufficientPrivilegeError,
        ),
        StoreUnavailableError,
        "{name} refuses ({says}). Correct MEMORY_POSTGRES_URL, or give that role the right.",
    ),
    (
        _LOST,
        DatabaseAwayError,
        "{name} cannot be reached ({says}). What was acknowledged is safe there; try again later.",
    ),
    (
        Exception,
        StoreUnavailableError,
        "{name} refused a statement ({says}). Run `memory-mcp doctor`.",
    ),
)
"""What each kind of failure raises, and says; the first that fits."""

_BEGIN_SESSION: Final = """
    SELECT pg_is_in_recovery() FROM (
        SELECT count(set_config(name, value, false)) FROM unnest($1::text[], $2::text[])
            said (name, value)) begun"""
"""In a statement, because a pooler takes few settings at the start of a connection."""

_SESSION: Final = {
    "search_path": NAMESPACE,
    "timezone": "UTC",
    "statement_timeout": f"{STATEMENT_SECONDS_MAX:.0f}s",
    "lock_timeout": f"{DATABASE_LOCK_SECONDS_MAX:.0f}s",
    "idle_in_transaction_session_timeout": f"{STATEMENT_SECONDS_MAX:.0f}s",
    "default_transaction_isolation": "read committed",
    "jit": "off",  # no statement is long enough to gain by it
    "plan_cache_mode": "force_generic_plan",  # to plan most takes longer than to run them
}


async def _take(pool: Any) -> Connection:
    async with asyncio.timeout(DATABASE_POOL_SECONDS_MAX):  # the pool's own takes a task
        return await pool.acquire()


async def _keep_session(_connection: Connection) -> None:
    """Nothing here changes a session, so there is nothing to reset: a round trip less."""


async def connect(url: str) -> Any:
    """A connection by itself, outside of any pool.

    What is cancelled meanwhile waits for it and closes it: asyncpg, cut short just when the line
    stands, leaves an error behind that nobody can await.
    """
    begin: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    opening = asyncio.ensure_future(begin(url, timeout=DATABASE_CONNECT_SECONDS_MAX))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.wait([opening])
        if opening.exception() is None:
            opening.result().terminate()
        raise


async def fetch(connection: Connection, statement: str, values: Mapping[str, Any]) -> Rows:
    """Run a statement with named values on this connection."""
    text, names = _number_parameters(statement)
    return await connection.fetch(text, *(values[name] for name in names))


@lru_cache(maxsize=512)
def _number_parameters(statement: str) -> tuple[str, tuple[str, ...]]:
    """The statement with `$1` in place of the first name, and the names in order."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda found: numbers[found[1]], statement), names
