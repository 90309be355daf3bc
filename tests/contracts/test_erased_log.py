"""The contract of `ports.ErasedLog`, for the file and for the rows."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from fakes import Scribe
from postgres import new_bank

from memory_mcp.disk import Disk
from memory_mcp.ports import ErasedLog
from memory_mcp.storage.files.trust import LocalErasedLog
from memory_mcp.storage.postgres.heads import PostgresErasedLog

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["file", "postgres"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[ErasedLog]:
    if request.param == "file":
        yield LocalErasedLog(tmp_path, Disk())
        return
    bank = new_bank(request.getfixturevalue("postgres_url"))
    yield PostgresErasedLog(bank)
    await bank.database.aclose()


async def test_it_only_grows(log: ErasedLog, scribe: Scribe) -> None:
    """What was forgotten stays so, whichever record ordered it and wherever that went."""
    first, second = scribe.record().id, scribe.record().id
    assert await log.ids() == frozenset()
    await log.add({first})
    await log.add({first, second})
    await log.add([])

    assert await log.ids() == {first, second}
