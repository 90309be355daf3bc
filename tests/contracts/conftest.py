"""What the contracts are told of: an index, an outbox seen from two processes, a remote."""

import itertools
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from cloud import Cloud
from fakes import Scribe
from outboxes import Doors
from postgres import new_bank
from remotes import remote_of
from stores_in_memory import MemoryIndex

from memory_mcp.engine.fields import make_fields
from memory_mcp.ports import Outbox, SearchIndex
from memory_mcp.storage.postgres.index import PostgresIndex
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.supermemory.client import Supermemory

INDEXES: dict[str, Callable[[Path, pytest.FixtureRequest], SearchIndex]] = {
    "sqlite": lambda path, _: SqliteIndex(path, make_fields, lambda: None),
    "postgres": lambda _, request: PostgresIndex(
        new_bank(request.getfixturevalue("postgres_url")), make_fields
    ),
    "memory": lambda _, __: MemoryIndex(),
}
"""Every index there is. A new store is one line here, and obeys every suite below."""


@pytest.fixture(params=INDEXES)
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], SearchIndex]:
    """Makes an index over a file or a bank of its own."""
    files = itertools.count()
    return lambda: INDEXES[request.param](tmp_path / f"index{next(files)}.sqlite3", request)


@pytest.fixture
async def index(new_index: Callable[[], SearchIndex]) -> AsyncGenerator[SearchIndex]:
    """An index that was made and has nothing in it."""
    found = new_index()
    await found.mark_complete()
    yield found
    await found.aclose()


@pytest.fixture
def scribe() -> Scribe:
    return Scribe()


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncGenerator[Doors]:
    doors = Doors(tmp_path / "outbox.sqlite3")
    yield doors
    await doors.aclose()


@pytest.fixture
def outbox(doors: Doors) -> Outbox:
    return doors.open()


@pytest.fixture
def other(doors: Doors) -> Outbox:
    """Another process's outbox over the same file."""
    return doors.open()


@pytest.fixture
async def remote(cloud: Cloud) -> AsyncGenerator[Supermemory]:
    remote = remote_of(cloud.url)
    yield remote
    await remote.aclose()


@pytest.fixture(params=[True, False], ids=["own-ids", "vendor-ids"])
def own_ids(request: pytest.FixtureRequest, cloud: Cloud) -> bool:
    """Nobody knows yet by which ids the service calls documents in its answers."""
    cloud.answers_own_ids = request.param
    return request.param
