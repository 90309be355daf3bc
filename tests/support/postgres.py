"""A PostgreSQL server for tests: the one that MEMORY_TEST_POSTGRES names, or one on this machine.

Each process of a run makes a database of its own there, and drops it in the end; and a role that
owns it, because a superuser is held to no policy. Where there is no server, tests that need one are
skipped, and say why.
"""

import asyncio
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest

from memory_mcp.config.places import name_folder
from memory_mcp.domain.secret import Secret
from memory_mcp.storage.postgres.database import Postgres, Principal, connect
from memory_mcp.storage.postgres.rows import Bank
from memory_mcp.storage.postgres.schema import NAMESPACE

SERVER: Final = os.environ.get("MEMORY_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
"""Read before a test's environment is emptied."""

PROVIDER: Final = os.environ.get("MEMORY_TEST_PROVIDER", "")
"""Where the stories of a run keep their memories: `postgres`, or (by default) files."""

_BANKS: Final = itertools.count()


@cache
def why_no_server() -> str:
    """Why there is no server to test with; '' if there is one."""
    try:
        execute(SERVER, "SELECT 1")
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return f"MEMORY_TEST_POSTGRES names no PostgreSQL server, and none is found ({error})"
    return ""


def execute(url: str, *statements: str) -> list[Any]:
    """Run statements outside of a transaction, each by itself; what the last one returns.

    On everyone's rows. In a thread, because a fixture may be asked for by a test whose loop runs.
    """

    async def run() -> list[Any]:
        connection = await connect(beside(name) if (name := _own_name(url)) else url)
        try:
            await connection.execute("SET memory_mcp.everyone = 'on'")
            return [await connection.fetch(statement) for statement in statements][-1]
        finally:
            await connection.close()

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(lambda: asyncio.run(run())).result()


def beside(name: str) -> str:
    """The URL of a database on the same server."""
    return f"{SERVER.rpartition('/')[0]}/{name}"


def _own_name(url: str) -> str:
    """The name of a database that this process made; '' for another one."""
    name = url.rpartition("/")[2]
    return name if name.startswith(_OWN) else ""


_OWN: Final = "memory_test_"


@pytest.fixture(scope="session")
def postgres_url() -> Generator[str]:
    """A database of this process, without any table."""
    if why := why_no_server():
        pytest.skip(why)
    name = f"{_OWN}{uuid4().hex[:12]}"
    parts = urlsplit(SERVER)
    execute(
        SERVER,
        f"CREATE ROLE {name} LOGIN PASSWORD '{parts.password or name}'",
        f"CREATE DATABASE {name} OWNER {name}",
        f"ALTER DATABASE {name} SET synchronous_commit = off",  # nothing here ends this server
    )
    host = parts.netloc.rpartition("@")[2]
    yield urlunsplit(parts._replace(netloc=f"{name}:{parts.password or name}@{host}", path=name))
    execute(SERVER, f"DROP DATABASE {name} WITH (FORCE)", f"DROP ROLE {name}")


@pytest.fixture
def clean_postgres(postgres_url: str) -> str:
    """The same database without any memory."""
    wipe(postgres_url)
    return postgres_url


_TABLES: Final = (
    "embedder", "entry", "term", "record", "head", "history", "head_set_aside", "erased",
    "journal", "bank",
)  # fmt: skip


def wipe(url: str) -> None:
    """Remove all memories from a database, if it has any."""
    emptied = "".join(f"DELETE FROM {NAMESPACE}.{table};" for table in _TABLES)
    execute(
        url, f"DO $$ BEGIN IF to_regclass('{NAMESPACE}.bank') IS NOT NULL THEN {emptied} "
        "END IF; END $$",
    )  # fmt: skip


def provider_settings() -> dict[str, Any]:
    """What leads the settings of a test to the provider of this run."""
    url = os.environ.get("MEMORY_POSTGRES_URL")
    return {"provider": "postgres", "postgres_url": Secret(url)} if url else {}


def in_database() -> bool:
    """Whether the memories of this test are in a database."""
    return "MEMORY_POSTGRES_URL" in os.environ


def rows_of(
    folder: Path, what: str = "json", table: str = "record", order: str = "bank"
) -> list[Any]:
    """The rows of the bank that stands for a folder of records, oldest first.

    A folder above those of several stands for all of them.
    """
    project = folder.parent.parent
    if folder.name == "memory" and folder.parent.name == ".claude":
        whose = f"b.project = '{name_folder(project)}'"
    elif folder.name == "home" or folder.parent.name.startswith("user-"):
        whose = "b.project IN ('', 'none')"
    else:
        whose = "true"
    order = "id" if table == "record" else order
    return execute(
        os.environ["MEMORY_POSTGRES_URL"],
        f"SELECT {what} FROM {NAMESPACE}.{table} JOIN {NAMESPACE}.bank b ON b.number = bank "
        f"WHERE {whose} ORDER BY {table}.{order}",
    )


def lose_head(project: Path) -> None:
    """The project's head is gone, be it a file or a row; its records are there."""
    if in_database():
        bank = f"SELECT number FROM {NAMESPACE}.bank WHERE project = '{name_folder(project)}'"
        execute(
            os.environ["MEMORY_POSTGRES_URL"],
            f"DELETE FROM {NAMESPACE}.head WHERE bank IN ({bank})",
        )
    else:
        (project / ".state" / "memory-head.json").unlink()


def tables_with(text: str, url: str = "") -> list[str]:
    """The tables of this test's database that hold a text anywhere in a row."""
    url = url or os.environ["MEMORY_POSTGRES_URL"]
    listed = f"SELECT tablename FROM pg_tables WHERE schemaname = '{NAMESPACE}'"
    quoted = text.replace("'", "''")
    return [
        name
        for (name,) in execute(url, listed)
        if execute(
            url,
            f"SELECT FROM {NAMESPACE}.{name} t WHERE strpos(t::text, '{quoted}') > 0 LIMIT 1",
        )
    ]


def new_bank(url: str, *, connections_max: int = 8) -> Bank:
    """A bank that nobody has used yet, by a connection that sees no other."""
    return open_bank(url, f"user-{os.getpid()}-{next(_BANKS)}", connections_max=connections_max)


def open_bank(url: str, owner: str, project: str = "shop", *, connections_max: int = 8) -> Bank:
    """This bank, by a connection that sees no other."""
    seen = Principal(owner, owner, project)
    return Bank(Postgres(url, seen, connections_max=connections_max), owner, project)


class PrivateServer:
    """A server of a test's own, which it may kill. It keeps its data in a folder of its own."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries = binaries
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.of_superuser = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.url = f"postgresql://memory@127.0.0.1:{self.port}/memory"

    def make(self, copy_of: "PrivateServer | None") -> None:
        """Begin with nothing, or as a standby of another server."""
        if copy_of is None:
            self._run("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
        else:
            self._run("pg_basebackup", "-R", "-c", "fast", "-d", copy_of.of_superuser)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-w", "-o", options, "-l", str(self._folder / "log"), "start")

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def crash(self) -> None:
        """SIGKILL all of its processes: nothing is left but what is on the disk."""
        lock = self._folder / "postmaster.pid"
        pid = int(lock.read_text("utf-8").split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()
        for each in (pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        lock.unlink()  # its process may stay as a zombie, which would count as alive

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(self._binaries / name), "-D", str(self._folder), *arguments]
        if os.getuid() == 0:  # which PostgreSQL refuses
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")


@contextmanager
def private_server(copy_of: PrivateServer | None = None) -> Generator[PrivateServer]:
    """A server that runs within the block."""
    named = filter(None, [shutil.which("pg_ctl")])
    found = [*map(Path, named), *Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
    if not found:
        pytest.skip("there is no pg_ctl to start a server with")
    if os.getuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    folder = Path(tempfile.mkdtemp(prefix="memory-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    server = PrivateServer(found[-1].parent, folder)
    try:
        server.make(copy_of)
        server.start()
        try:
            if copy_of is None:  # row-level security holds no superuser
                made = ("CREATE ROLE memory LOGIN", "CREATE DATABASE memory OWNER memory")
                execute(server.of_superuser, *made)
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder)
