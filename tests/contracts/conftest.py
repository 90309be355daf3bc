"""An outbox seen from two processes, and a client of the cloud."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from cloud import Cloud
from outboxes import Doors
from remotes import remote_of

from memory_mcp.ports import Outbox
from memory_mcp.stores.supermemory import Supermemory


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
