"""A database that is away: what waits on this machine, what is refused, and what becomes of it."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doors import add, agent, call, failed, read, recalled
from postgres import PrivateServer, private_server

from memory_mcp import memories, search
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.cloud import NewEntry
from memory_mcp.domain.outcomes import MemoryAdded, MemoryWaiting, SearchResults
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import DatabaseAwayError
from memory_mcp.maintenance import run_doctor

pytestmark = [pytest.mark.anyio, pytest.mark.files]  # it has a database of its own


@pytest.fixture(scope="module")
def server() -> Generator[PrivateServer]:
    with private_server() as server:
        yield server


@pytest.fixture
def away(server: PrivateServer, project: Path, tmp_path: Path) -> Settings:
    """A session that lets memories wait, on a project that is its own in that database."""
    return Settings(
        project_dir=project, home=tmp_path / "home", user=f"ada-{tmp_path.name}", approval="auto",
        provider="postgres", postgres_url=Secret(server.url), postgres_away="wait",
    )  # fmt: skip


@asynccontextmanager
async def stopped(server: PrivateServer) -> AsyncGenerator[None]:
    """Without the database, which was killed; it is back after the block."""
    await asyncio.to_thread(server.kill)
    try:
        yield
    finally:
        await asyncio.to_thread(server.start)


async def stored(built: BuiltWorkspace, query: str = "") -> list[Record]:
    found = await search.search_memories(built.workspace, query, Filters(), 10)
    assert isinstance(found, SearchResults)
    return [hit.record for hit in found.hits]


async def waits(built: BuiltWorkspace, draft: Draft) -> Record:
    outcome = await memories.add_memory(built.workspace, draft)
    assert isinstance(outcome, MemoryWaiting)
    return outcome.record


async def found_by(client: Any, text: str) -> list[dict[str, Any]]:
    """What a search finds, once it does: the server asks the database now and then."""
    async with asyncio.timeout(30):
        while True:
            results = (await call(client, "search_memories", query=text))["results"]
            if results:
                return results
            await asyncio.sleep(0.05)


async def test_a_memory_waits_and_is_stored_when_the_database_is_back(
    server: PrivateServer, away: Settings
) -> None:
    """The agent goes on; reads say that there is an outage, and how much waits."""
    async with agent(away, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        async with stopped(server):
            text = "Sessions live in Redis, password hunter2-Tr0ub4dor."
            receipt = await call(client, "add_memory", content=text, kind="decision")
            assert away.home
            (kept,) = away.home.rglob("waiting/*/*.json")
            assert "Tr0ub4dor" not in kept.read_text()  # secrets are taken out first
            refused = {
                await failed(client, "search_memories", query="orders"),
                await failed(client, "memory_context"),
                await failed(client, "checkpoint", summary="Storage is chosen."),
            }
        assert receipt["outcome"] == "waiting"
        assert "waits safely on this machine" in receipt["message"]
        for sentence in refused:
            assert "cannot be reached" in sentence
            assert "1 memory waits on this machine for the database" in sentence
        (hit,) = await found_by(client, "sessions redis")
        assert hit["memoryId"] == receipt["memoryId"]
        assert "waits on this machine" not in await read(client, "memory_head")
    assert not list(away.home.rglob("waiting/*/*.json"))


async def test_what_waits_survives_the_kill_of_its_process_and_is_stored_once(
    server: PrivateServer, away: Settings
) -> None:
    """It is acknowledged when it is on the disk; a delivery that is repeated changes nothing."""
    async with open_workspace(away) as built:
        await memories.add_memory(built.workspace, Draft("Orders live in PostgreSQL."))
    async with stopped(server):
        told = await asyncio.to_thread(run_and_kill, away, "Sessions live in Redis.")
        async with open_workspace(away) as built:  # nothing there tells of an empty memory
            with pytest.raises(DatabaseAwayError, match="1 memory waits on this machine"):
                await stored(built)
            with pytest.raises(DatabaseAwayError):
                await memories.deliver_waiting(built.workspace)
    async with open_workspace(away) as built, open_workspace(away) as other:
        note = await search.search_memories(built.workspace, "redis", Filters(), 5)
        assert isinstance(note, SearchResults)
        assert any("1 memory waits on this machine" in said for said in note.notes)
        both = (memories.deliver_waiting(each.workspace) for each in (built, other))
        assert sorted(await asyncio.gather(*both)) == [0, 1]
        (record,) = await stored(built, "redis")
        assert record.id == told
        await leave_again(built, record)
        await memories.deliver_waiting(built.workspace)
        assert [each.id for each in await stored(built, "redis")] == [told]
        assert await run_doctor(built.workspace) == []


def run_and_kill(settings: Settings, text: str) -> str:
    """A process that adds a memory, says its id, and is killed; the id."""
    script = """
import asyncio, json, sys
from pathlib import Path
from memory_mcp.domain.secret import Secret
from memory_mcp import memories
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.record import Draft

async def main(project, home, user, url, text):
    settings = Settings(project_dir=Path(project), home=Path(home), user=user, provider="postgres",
        postgres_url=Secret(url), postgres_away="wait")
    async with open_workspace(settings) as built:
        outcome = await memories.add_memory(built.workspace, Draft(text))
        print(json.dumps(outcome.record.id), flush=True)
        sys.stdin.read()

asyncio.run(main(*sys.argv[1:]))
"""
    url = settings.postgres_url.get_secret_value() if settings.postgres_url else ""
    given = (str(settings.project_dir), str(settings.home), settings.user, url, text)
    with subprocess.Popen(
        [sys.executable, "-c", script, *given], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as process:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    return told


async def leave_again(built: BuiltWorkspace, record: Record) -> None:
    """As if its delivery had been cut short before it was noted."""
    waiting = built.workspace.waiting
    assert waiting is not None
    await waiting.records.put(record)
    await waiting.outbox.unmark([record.id])
    await waiting.outbox.note([NewEntry(record.id, "add")], 0.0)
    assert (await waiting.outbox.counts()).pending == 1


async def test_what_was_forgotten_is_not_brought_back_by_a_repeated_delivery(
    server: PrivateServer, away: Settings
) -> None:
    """The user's word is newer than what waited."""
    async with open_workspace(away) as built:
        await stored(built)
        async with stopped(server):
            record = await waits(built, Draft("Invoices go to Hilda Examplewoman."))
        await memories.deliver_waiting(built.workspace)
        assert await stored(built, "invoices")
        await memories.forget_memory(built.workspace, record.id, "", erase=True)
        await leave_again(built, record)
        await memories.deliver_waiting(built.workspace)
        assert await stored(built, "invoices") == []
        counts = await built.workspace.waiting.outbox.counts() if built.workspace.waiting else None
        assert counts is not None
        assert counts.pending == 0


async def test_what_others_did_meanwhile_is_taken_into_account(
    server: PrivateServer, away: Settings
) -> None:
    """What waits is compared and placed when it is stored: known, or on the line as it is then."""
    async with open_workspace(away) as built, open_workspace(away) as other:
        old = await memories.add_memory(built.workspace, Draft("Orders live in MySQL."))
        assert isinstance(old, MemoryAdded)
        async with stopped(server):
            await waits(built, Draft("Carts live in Redis."))
            await waits(built, Draft("Orders live in PostgreSQL.", supersedes=(old.record.id,)))
            await waits(built, Draft("I like short commits.", kind="preference", reach="user"))
        await memories.add_memory(other.workspace, Draft("Carts live in Redis."))
        await memories.forget_memory(other.workspace, old.record.id, "", erase=True)
        await memories.deliver_waiting(built.workspace)
        texts = [record.content for record in await stored(other)]
        assert sorted(texts) == [
            "Carts live in Redis.", "I like short commits.", "Orders live in PostgreSQL.",
        ]  # fmt: skip


async def test_without_the_setting_a_memory_is_refused_and_what_waits_is_delivered_all_the_same(
    server: PrivateServer, away: Settings
) -> None:
    """By default nothing is kept elsewhere; whoever changes the setting back loses nothing."""
    refusing = replace(away, postgres_away="refuse")
    async with open_workspace(away) as built, open_workspace(refusing) as other:
        await stored(built)
        async with stopped(server):
            await waits(built, Draft("Carts live in Redis."))
            with pytest.raises(DatabaseAwayError):
                await memories.add_memory(other.workspace, Draft("Orders live in MySQL."))
    async with agent(refusing, "auto") as client:
        assert await found_by(client, "carts")
        assert await recalled(client) == ["Carts live in Redis."]


async def test_a_part_of_an_id_is_not_guessed_while_the_database_is_away(
    server: PrivateServer, away: Settings
) -> None:
    """What cannot be looked up cannot wait; the sentence says what would do."""
    async with agent(away, "auto") as client:
        known = await add(client, "Orders live in MySQL.")
        async with stopped(server):
            said = await client.call_tool(
                "add_memory", {"content": "Orders live in Redis.", "supersedes": [known[:13]]}
            )
    assert "Give the whole id" in str(said.content)
