"""The contract of `ports.ErasedLog`, for the file and for the rows."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes import Scribe
from postgres import new_bank

from memory_mcp.disk import Disk
from memory_mcp.ports import ErasedLog
from memory_mcp.storage.files.trust import ERASED_FILE, LocalErasedLog
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


async def test_each_line_is_read_once(
    tmp_path: Path, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each forget asks for all that was ever forgotten, and adds to it."""
    first, second, third = (scribe.record().id for _ in range(3))
    mine, theirs = LocalErasedLog(tmp_path, Disk()), LocalErasedLog(tmp_path, Disk())
    lines: list[str] = []

    def loads(line: str) -> object:
        lines.append(line)
        return json.loads(line)

    monkeypatch.setattr("memory_mcp.storage.files.trust.json", SimpleNamespace(
        loads=loads, dumps=json.dumps))  # fmt: skip
    await mine.add({first})
    await theirs.add({second})
    for _ in range(3):
        assert await mine.ids() == {first, second}
    await mine.add({third})
    assert await mine.ids() == {first, second, third}
    assert len(lines) == 4  # one of them by the other

    (tmp_path / ERASED_FILE).unlink()
    assert await mine.ids() == frozenset()
    await mine.add({third})
    assert await theirs.ids() == {third}
