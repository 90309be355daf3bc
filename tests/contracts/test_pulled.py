"""The contract of `ports.PulledRecords`."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from outboxes import some

from memory_mcp.ports import PulledRecords
from memory_mcp.storage.sqlite.outbox import OUTBOX_FILE, SqliteOutbox, SqlitePulledRecords

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pulled(tmp_path: Path) -> AsyncGenerator[PulledRecords]:
    found = SqlitePulledRecords(tmp_path / OUTBOX_FILE, lambda: None)
    yield found
    await found.aclose()


async def test_what_was_noted_stays_noted(pulled: PulledRecords, tmp_path: Path) -> None:
    """For every process, and twice is once."""
    one, other = some(2)
    await pulled.note([one])
    await pulled.note([one, other])
    await pulled.note([])

    again = SqlitePulledRecords(tmp_path / OUTBOX_FILE, lambda: None)
    assert await again.ids() == await pulled.ids() == {one, other}
    await again.aclose()


async def test_another_cloud_changes_nothing(pulled: PulledRecords, tmp_path: Path) -> None:
    """The outbox forgets what it knew of the first one; where a record came from stays."""
    (one,) = some(1)
    await pulled.note([one])
    for address in ("https://a.example/ns/x", "https://b.example/ns/x"):
        outbox = SqliteOutbox(tmp_path / OUTBOX_FILE, lambda: None, address)
        await outbox.save_pull_cursor("1")
        await outbox.aclose()

    assert await pulled.ids() == {one}


async def test_where_nothing_came_in_no_file_appears(tmp_path: Path) -> None:
    """A project without a cloud has no file, and none is made to find that out."""

    def refuse() -> None:
        raise AssertionError("a file was made")

    pulled = SqlitePulledRecords(tmp_path / OUTBOX_FILE, refuse)
    assert await pulled.ids() == set()
    await pulled.aclose()
