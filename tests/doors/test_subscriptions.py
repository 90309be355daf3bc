"""Clients hear of what has changed, in both eras, whoever changed it, and of nothing else."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doors import Era, add, call, seal
from dropping import Drop
from fakes import fake_workspace
from forked_server import forked_server
from listening import LIST, listener
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.server import MCPServer
from test_http import serving

from memory_mcp.config.settings import Settings
from memory_mcp.domain.limits import WATCHED_MAX
from memory_mcp.engine.workspace import Workspace
from memory_mcp.server.handlers import add_handlers
from memory_mcp.server.main import make_server
from memory_mcp.server.resources import CONTEXT, HEAD, HISTORY, PROFILE
from memory_mcp.server.subscriptions import ResourceWatch, Subscriptions

pytestmark = pytest.mark.anyio


@pytest.mark.protocol
async def test_what_changes_is_told_and_what_does_not_is_not(settings: Settings, era: Era) -> None:
    """A client reads again what it hears of: each needless word costs it tokens and time."""
    async with listener(partial(Client, make_server(settings), mode=era), era) as ears:
        await ears.watch(CONTEXT, HEAD, PROFILE, HISTORY)
        await add(ears.client, "Orders live in PostgreSQL.")
        await ears.until(CONTEXT, HEAD)
        assert await ears.rest() == []
        await add(ears.client, "My name is Ada.", scope="user", kind="preference")
        await ears.until(CONTEXT, HEAD, PROFILE)
        assert HISTORY not in await ears.rest()


async def test_a_backtrack_is_told_wherever_it_shows(settings: Settings, era: Era) -> None:
    """What was abandoned must leave a client's cache as well: the list, the head, the memory."""
    async with listener(partial(Client, make_server(settings), mode=era), era) as ears:
        client = ears.client
        await seal(client, "Storage chosen", phase=1)
        lost = f"memory://memory/{await add(client, 'Sessions live in Redis.')}"
        kept = f"memory://memory/{await add(client, 'Only cookies.', kind='preference')}"
        await ears.watch(LIST, CONTEXT, HEAD, lost, kept)
        assert "Redis" in str(await client.read_resource(lost))

        later = await seal(client, "Sessions chosen", phase=2)
        await ears.until(LIST, HEAD)
        await ears.rest()
        await call(client, "backtrack", to=1, mode="continue")
        await ears.until(LIST, CONTEXT, HEAD, lost)

        assert kept not in await ears.rest()
        with pytest.raises(MCPError, match="was left by a backtrack"):
            await client.read_resource(lost)
        assert "Redis" not in str(await client.read_resource(CONTEXT))
        assert later not in [each.name for each in (await client.list_resources()).resources]


async def test_a_correction_and_a_forget_are_told_of_the_memory(
    settings: Settings, era: Era
) -> None:
    """Its text is what a client keeps longest."""
    async with listener(partial(Client, make_server(settings), mode=era), era) as ears:
        first = await add(ears.client, "Orders live in PostgreSQL.")
        await ears.watch(f"memory://memory/{first}")
        said = await call(ears.client, "update_memory", memory_id=first, content="In SQLite.")
        await ears.until(f"memory://memory/{first}")
        second = said["memoryId"]
        await ears.watch(f"memory://memory/{second}")
        await call(ears.client, "forget_memory", memory_id=second)
        await ears.until(f"memory://memory/{second}")


async def test_who_unsubscribes_hears_no_more(settings: Settings, era: Era) -> None:
    """Of the one resource; of the others still."""
    async with listener(partial(Client, make_server(settings), mode=era), era) as ears:
        await ears.watch(CONTEXT, HEAD)
        await ears.leave(CONTEXT)
        await add(ears.client, "Orders live in PostgreSQL.")
        await ears.until(HEAD)
        assert await ears.rest() == []


async def test_another_process_is_heard_over_stdio(project: Path, era: Era) -> None:
    """Each session has a server of its own: most of what changes, others have written."""
    async with (
        listener(partial(Client, forked_server(project), mode=era), era) as ears,
        Client(forked_server(project), mode=era) as other,
    ):
        await ears.watch(LIST, CONTEXT)
        await add(other, "Orders live in PostgreSQL.")
        await ears.until(CONTEXT)
        assert "PostgreSQL" in str(await ears.client.read_resource(CONTEXT))
        await seal(other, "Storage chosen", phase=1)
        await ears.until(LIST)


@pytest.mark.protocol
async def test_another_client_is_heard_over_http(project: Path, era: Era) -> None:
    """One server for several clients: the one that writes and the one that listens differ."""
    with serving(project, "streamable-http") as (port, _):
        url = f"http://127.0.0.1:{port}/mcp"
        async with (
            listener(partial(Client, url, mode=era), era) as ears,
            Client(url, mode=era) as other,
        ):
            await ears.watch(CONTEXT)
            await add(other, "Orders live in PostgreSQL.")
            await ears.until(CONTEXT)


@pytest.mark.protocol
async def test_nobody_may_watch_without_end(settings: Settings, era: Era) -> None:
    """Each resource is read again after each write."""
    many = [f"memory://memory/{number}" for number in range(WATCHED_MAX + 1)]
    async with listener(partial(Client, make_server(settings), mode=era), era) as ears:
        with pytest.raises(MCPError, match="more than one client may watch"):
            await (ears.watch_at_once(many) if era == "auto" else ears.watch(*many))


async def test_a_memory_that_is_off_can_be_listened_to(settings: Settings, era: Era) -> None:
    """A client subscribes before anybody tells it that there will be nothing to hear."""
    off = Settings(enabled=False, project_dir=settings.project_dir, home=settings.home)
    async with listener(partial(Client, make_server(off), mode=era), era) as ears:
        await ears.watch(LIST, CONTEXT)
        assert "Memory is off" in str(await ears.client.read_resource(CONTEXT))


async def test_who_watches_takes_no_nudge(settings: Settings, era: Era, drop: Drop) -> None:
    """It is for the one who opens a session, not for the one who compares."""
    drop("tea.txt", "Is there any tea left?")
    async with listener(partial(Client, make_server(settings), mode=era), era) as ears:
        await ears.watch(CONTEXT)
        await add(ears.client, "Orders live in PostgreSQL.")
        await ears.until(CONTEXT)
        assert "Is there any tea left?" in str(await ears.client.read_resource(CONTEXT))


@pytest.mark.protocol
async def test_who_leaves_is_watched_for_no_more(era: Era) -> None:
    """A client that is gone, by whatever way, must not cost anything."""
    workspace, subscriptions = fake_workspace(), Subscriptions()

    @asynccontextmanager
    async def lifespan(_: MCPServer[Workspace]) -> AsyncGenerator[Workspace]:
        yield workspace

    server = MCPServer[Workspace](
        "x", lifespan=lifespan, subscriptions=subscriptions.bus, middleware=[subscriptions.observe]
    )
    add_handlers(server, subscriptions)
    async with listener(partial(Client, server, mode=era), era) as ears:
        await ears.watch(LIST, HEAD)
        assert subscriptions.watch_of(workspace).watched == {LIST, HEAD}

    assert subscriptions.watch_of(workspace).watched == frozenset()


class CountedLooks:
    """Implements `ports.ChangeWatch`: every look is counted, and finds something new."""

    count = 0

    async def watch(self) -> int:
        self.count += 1
        return self.count


async def test_nothing_is_looked_at_while_nobody_watches() -> None:
    """A server that idles must not keep a laptop awake."""
    looks = CountedLooks()
    leaving = asyncio.Event()
    workspace = fake_workspace()
    watching = ResourceWatch(workspace, Subscriptions().bus)
    keeping = asyncio.create_task(watching.keep_notifying(looks, leaving))
    await asyncio.sleep(0)
    workspace.project.changes.note()
    await asyncio.sleep(0.05)
    assert looks.count == 0
    async with asyncio.timeout(60), watching.watching([HEAD]):
        while not looks.count:  # noqa: ASYNC110  # another task looks
            await asyncio.sleep(0.01)
    leaving.set()
    async with asyncio.timeout(60):
        await keeping


async def test_a_client_of_sse_is_heard_as_well(project: Path, era: Era) -> None:
    """There each connection has a workspace of its own: what one writes, others find."""
    with serving(project, "sse") as (port, _):

        def client(**given: Any) -> Client:
            return Client(sse_client(f"http://127.0.0.1:{port}/sse"), mode=era, **given)

        async with listener(client, era) as ears, client() as other:
            await ears.watch(CONTEXT)
            await add(other, "Orders live in PostgreSQL.")
            await ears.until(CONTEXT)
