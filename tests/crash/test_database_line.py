"""The line between a machine and its database: cut in a call, dead without a word, slow."""

from collections.abc import AsyncGenerator
from urllib.parse import urlsplit, urlunsplit

import pytest
from fakes import Scribe
from postgres import new_bank, open_bank
from tcp_proxy import Line, Way, line_to

from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.fields import make_fields
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.storage.postgres import database as connections
from memory_mcp.storage.postgres.heads import PostgresHeads
from memory_mcp.storage.postgres.records import PostgresRecords
from memory_mcp.storage.postgres.rows import Bank

pytestmark = pytest.mark.anyio


@pytest.fixture
def scribe() -> Scribe:
    return Scribe()


@pytest.fixture
async def line(postgres_url: str) -> AsyncGenerator[Line]:
    parts = urlsplit(postgres_url)
    async with line_to(parts.hostname or "127.0.0.1", parts.port or 5432) as line:
        yield line


def by_line(url: str, line: Line, near: Bank) -> Bank:
    """The same bank, reached by the line; without TLS, whose pieces are no messages."""
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    there = parts._replace(netloc=f"{login}@127.0.0.1:{line.port}", query="sslmode=disable")
    return open_bank(urlunsplit(there), near.owner)


async def write(far: Bank, record: Record, head: Head) -> None:
    """Store a record and move the head, as one call does."""
    await PostgresRecords(far, make_fields).put(record)
    await PostgresHeads(far).replace(head, expected=head.revision - 1)


def make_move(scribe: Scribe, revision: int) -> Head:
    step = Move(act="fork", branch=BranchName(f"b{revision}"))
    return Head(project="shop", revision=revision, last=scribe.record("x", kind="move", move=step))


@pytest.mark.parametrize("way", ["to the server", "from the server"])
async def test_a_line_that_is_cut_anywhere_in_a_call_loses_and_doubles_nothing(
    postgres_url: str, line: Line, scribe: Scribe, way: Way
) -> None:
    """The commit may have arrived, or not: the caller gets the same answer, once."""
    near = new_bank(postgres_url)
    far = by_line(postgres_url, line, near)
    await far.number()
    stored: list[Record] = []
    for piece in range(1, 14):
        stored.append(scribe.record(f"number {piece}"))
        line.cut = (way, piece)
        await write(far, stored[-1], make_move(scribe, piece))
    await far.database.aclose()

    assert line.cuts > 5, "a call has so many pieces at least"
    assert await PostgresRecords(near, make_fields).ids() == {record.id for record in stored}
    (moved,) = await near.rows("SELECT count(*) FROM history WHERE bank = :bank")
    assert moved[0] == len(stored)
    await near.database.aclose()


async def test_a_line_that_is_dead_without_a_word_is_an_outage_and_not_for_long(
    postgres_url: str, line: Line, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firewall that forgets a connection tells neither side; what was acknowledged is there."""
    for name in ("STATEMENT_SECONDS_MAX", "DATABASE_CONNECT_SECONDS_MAX"):
        monkeypatch.setattr(connections, name, 0.15)
    near = new_bank(postgres_url)
    far = by_line(postgres_url, line, near)
    first, second = scribe.record("before"), scribe.record("meanwhile")
    await write(far, first, make_move(scribe, 1))
    line.silent = True
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        await write(far, second, make_move(scribe, 2))
    assert await PostgresRecords(near, make_fields).ids() >= {first.id}
    line.silent = False
    await write(far, second, make_move(scribe, 2))

    assert await PostgresRecords(near, make_fields).ids() == {first.id, second.id}
    (moved,) = await near.rows("SELECT count(*) FROM history WHERE bank = :bank")
    assert moved[0] == 2
    for bank in (near, far):
        await bank.database.aclose()


async def test_a_slow_line_is_only_slow(postgres_url: str, line: Line, scribe: Scribe) -> None:
    """A VPN to the other side of the world is no outage."""
    near = new_bank(postgres_url)
    far = by_line(postgres_url, line, near)
    line.pause_seconds = 0.02
    record = scribe.record("from far away")
    await write(far, record, make_move(scribe, 1))

    assert await PostgresRecords(near, make_fields).get(record.id) == record
    for bank in (near, far):
        await bank.database.aclose()
