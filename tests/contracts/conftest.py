"""What the contracts are told of: an index, an outbox seen from two processes, a remote."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from cloud import Cloud
from fakes import Scribe
from outboxes import Doors
from remotes import remote_of
from stores_in_memory import MemoryIndex

from memory_mcp.index.sqlite import SqliteIndex
from memory_mcp.ports import Outbox, SearchIndex
from memory_mcp.ranking.analysis import extract_fields
from memory_mcp.stores.supermemory import Supermemory


@pytest.fixture(params=["sqlite", "memory"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[SearchIndex]:
    """An index that was made and has nothing in it."""
    found: SearchIndex = MemoryIndex()
    if request.param == "sqlite":
        found = SqliteIndex(tmp_path / "index.sqlite3", extract_fields, lambda: None)
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
