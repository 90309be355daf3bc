"""How a server for many begins, works under load and ends."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doors import add, read, recalled, seal
from fake_embedder import FakeEmbedder
from hosted import Hosted, hosting
from http_cases import shows

from memory_mcp.config.settings import HttpSettings
from memory_mcp.domain.limits import HTTP_CONNECTIONS_OF_ONE_MAX
from memory_mcp.memories import add as adding
from memory_mcp.server.http.tenants import TenantLimits

pytestmark = pytest.mark.anyio


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncGenerator[Hosted]:
    async with hosting(tmp_path / "home") as served:
        yield served


@shows("sigterm-write", "sigterm-stream")
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_a_write_under_way_is_acknowledged_before_the_server_ends(
    tmp_path: Path, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams that are open meanwhile hold nothing up, and the port takes nobody new."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    real = adding.add_memory

    async def add_slowly(*given: Any, **named: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await real(*given, **named)

    async with hosting(tmp_path / "home", transport, drain_seconds=60) as hosted:
        token = hosted.add_token("ada", "alder")
        monkeypatch.setattr("memory_mcp.memories.add_memory", add_slowly)
        client = hosted.client(token, "legacy")
        async with client as one:
            await one.list_tools()  # a client checks an answer by them
            writing = asyncio.create_task(add(one, "Orders live in PostgreSQL."))
            await begun.wait()
            hosted.end()
            await until(lambda: not hosted.takes_connections())
            assert not hosted.front.gate.ready
            go_on.set()
            assert await writing
            await asyncio.wait([hosted.serving])
    monkeypatch.undo()
    async with hosting(tmp_path / "home") as again, again.client(token) as client:
        assert await recalled(client) == ["Orders live in PostgreSQL."]


async def until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110  # the server's own state, without an event
            await asyncio.sleep(0.02)


@shows("projects-bounded")
async def test_of_too_many_memories_the_idlest_is_closed_and_loses_nothing(tmp_path: Path) -> None:
    """It is opened again by the next request; one that is at work stays."""
    limits = TenantLimits(tenants=3, of_one=2, idle_seconds=3600)
    names = ["alder", "birch", "cedar", "dogwood"]
    async with hosting(tmp_path / "home", limits=limits) as hosted:
        ada, bob = hosted.add_token("ada", *names), hosted.add_token("bob", *names)
        tenants = hosted.front._tenants  # pyright: ignore[reportPrivateUsage]
        for token in (ada, bob):
            for name in names:
                async with hosted.client(token, project=name) as client:
                    await add(client, f"This is {name}.")
                assert tenants.count <= 3
        for name in names:
            async with hosted.client(ada, project=name) as client:
                assert await recalled(client) == [f"This is {name}."]


@shows("projects-bounded")
async def test_while_all_of_a_users_memories_are_in_use_another_waits(tmp_path: Path) -> None:
    """Nobody's work is closed under them, and nobody else is kept out."""
    limits = TenantLimits(tenants=3, of_one=1, idle_seconds=3600)
    async with hosting(tmp_path / "home", limits=limits) as hosted, AsyncExitStack() as streams:
        ada, bob = hosted.add_token("ada", "alder", "birch"), hosted.add_token("bob", "alder")
        session = (await hosted.ask(token=ada)).headers["mcp-session-id"]
        web = await streams.enter_async_context(httpx2.AsyncClient(timeout=None))
        headers = {"authorization": f"Bearer {ada}", "accept": "text/event-stream",
                   "mcp-session-id": session}  # fmt: skip
        await streams.enter_async_context(web.stream("GET", hosted.url, headers=headers))

        full = await hosted.ask(token=ada, params={"project": "birch"})
        assert (full.status_code, full.headers["retry-after"]) == (503, "10")
        assert (await hosted.ask(token=bob)).status_code == 200


async def test_a_memory_that_is_idle_is_closed(tmp_path: Path) -> None:
    """A server that runs for weeks holds what is used and no more."""
    async with hosting(tmp_path / "home", limits=TenantLimits(idle_seconds=0.05)) as hosted:
        async with hosted.client(hosted.add_token("ada", "alder")) as client:
            await add(client, "Orders live in PostgreSQL.")
        tenants = hosted.front._tenants  # pyright: ignore[reportPrivateUsage]
        await until(lambda: tenants.count == 0)


@shows("connections")
async def test_one_user_cannot_take_all_the_requests(tmp_path: Path) -> None:
    """Streams that stay open count; another user is still served."""
    async with hosting(tmp_path / "home") as hosted, AsyncExitStack() as streams:
        hosted.front._limits = replace(hosted.front._limits, requests_of_one=3)  # pyright: ignore[reportPrivateUsage]
        ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")
        web = await streams.enter_async_context(httpx2.AsyncClient(timeout=None))
        for _ in range(3):
            session = (await hosted.ask(token=ada)).headers["mcp-session-id"]
            headers = {"authorization": f"Bearer {ada}", "accept": "text/event-stream",
                       "mcp-session-id": session}  # fmt: skip
            stream = web.stream("GET", hosted.url, headers=headers)
            await streams.enter_async_context(stream)
        refused = await hosted.ask(token=ada)
        assert (refused.status_code, refused.text) == (429, "Too many requests at once.")
        assert (await hosted.ask(token=bob)).status_code == 200


@shows("sessions")
async def test_one_user_cannot_take_the_sessions_of_another(tmp_path: Path) -> None:
    """Of too many, that user's own oldest is closed."""
    async with hosting(tmp_path / "home", limits=TenantLimits(sessions=2)) as hosted:
        ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")
        body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})

        async def works(token: str, session: str) -> bool:
            asked = await hosted.ask(token=token, body=body, headers={"mcp-session-id": session})
            return asked.status_code == 200

        theirs = (await hosted.ask(token=bob)).headers["mcp-session-id"]
        mine = [(await hosted.ask(token=ada)).headers["mcp-session-id"] for _ in range(4)]
        assert [await works(ada, each) for each in mine] == [False, False, True, True]
        assert await works(bob, theirs)


# What no client of ours sends.


BAD = [
    b"", b"{", b"[]", b"[1]", b"null", b"1", b'"a"', b"{}", b"\xff\xfe", b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": []}',
    b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]',
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 7}}',
    b"{" * 10_000, b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ' + b"[" * 5_000 + b"]" * 5_000
    + b"}",
]  # fmt: skip


@shows("bad-json", "deep-json")
@pytest.mark.parametrize("version", ["", "2025-11-25", "2026-07-28", "1999-01-01", "x"])
async def test_what_is_no_message_is_the_clients_fault(hosted: Hosted, version: str) -> None:
    """By its status, or by an error of the protocol; the server goes on."""
    token = hosted.add_token("ada", "alder")
    headers = {"mcp-protocol-version": version} if version else {}
    for body in BAD:
        asked = await hosted.ask(token=token, body=body, headers=headers)
        told = asked.status_code == 200 and '"error":{"code":-32602' in asked.text
        assert told or 400 <= asked.status_code < 500, (body[:60], asked.text[:200])
    assert (await hosted.ask(token=token)).status_code == 200


@shows("methods")
async def test_an_unknown_way_in_says_so_and_nothing_else(hosted: Hosted) -> None:
    token = hosted.add_token("ada", "alder")
    for path in ("/", "/mcp/", "/mcp/x", "/MCP", "/sse", "/messages/", "/docs", "/openapi.json",
                 "/.well-known/oauth-protected-resource", "//mcp", "/%6dcp/x"):  # fmt: skip
        for method in ("GET", "POST", "PUT"):
            asked = await hosted.ask(method, token, path=path)
            assert (asked.status_code, asked.text) == (404, "Not found."), path
    for method in ("PUT", "PATCH", "TRACE", "OPTIONS", "HEAD", "X"):
        assert 400 <= (await hosted.ask(method, token)).status_code < 500, method


@shows("split")
@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: x\r\n", "Content-Length: -1\r\n", "Content-Length: 1e3\r\n",
        "Content-Length : 4\r\n", " folded: 1\r\n", "no colon\r\n", "a\x00b: 1\r\n",
    ],
)  # fmt: skip
async def test_a_request_that_could_be_read_as_two_is_read_as_none(
    hosted: Hosted, head: str
) -> None:
    """What comes after it on the connection is not answered."""
    token = hosted.add_token("ada", "alder")
    reader, writer = await asyncio.open_connection("127.0.0.1", hosted.port)
    inner = f"GET /readyz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    start = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
    writer.write(f"{start}{head}\r\n0\r\n\r\n{inner}".encode())
    async with asyncio.timeout(60):
        said = await reader.read()
    writer.close()

    assert said.count(b"HTTP/1.1 ") <= 1
    assert b"HTTP/1.1 200" not in said


async def test_a_home_that_was_copied_to_another_place_has_every_memory(tmp_path: Path) -> None:
    """A backup is a copy: no ledger of this machine has to come along, or to know the path."""
    async with hosting(tmp_path / "home") as hosted:
        token = hosted.add_token("ada", "alder")
        async with hosted.client(token) as client:
            await add(client, "Orders live in PostgreSQL.")
            await seal(client, "Storage chosen", phase=1)
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "state")
    async with hosting(tmp_path / "copy") as again, again.client(token) as client:
        assert "Orders live in PostgreSQL." in await recalled(client)
        assert "phase 1 is sealed" in await read(client, "memory_head")


async def test_all_memories_share_the_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model takes more room than all the rest; it is closed once, after the last of them."""
    made: list[FakeEmbedder] = []

    class Closing(FakeEmbedder):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    def build(_: object) -> FakeEmbedder:
        made.append(Closing())
        return made[-1]

    monkeypatch.setattr("memory_mcp.server.hosting.build_embedder", build)
    async with hosting(tmp_path / "home") as hosted:
        for name in ("ada", "bob"):
            async with hosted.client(hosted.add_token(name, "alder")) as client:
                await add(client, f"{name} drives an automobile.")
                await recalled(client, "which car?")
        (embedder,) = made
        assert isinstance(embedder, Closing)
        assert embedder.asked.count("which car?") == 2
        assert embedder.closed == 0
    assert embedder.closed == 1


@shows("per-address")
async def test_one_address_cannot_take_all_connections(hosted: Hosted) -> None:
    """One too many is closed before a byte of it is read; when one ends, there is room again."""
    most = HTTP_CONNECTIONS_OF_ONE_MAX
    async with AsyncExitStack() as stack:

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", hosted.port)
            stack.callback(writer.close)
            return reader, writer

        held = [await connect() for _ in range(most)]
        async with asyncio.timeout(30):
            one_too_many, _ = await connect()
            assert await one_too_many.read() == b""
            assert (await connect_from("127.0.0.2", hosted.port)).startswith(b"HTTP/1.1 200")
            held[0][1].close()
            await held[0][1].wait_closed()
            connections = hosted.web.server_state.connections
            while len(connections) >= most:  # noqa: ASYNC110  # uvicorn's own set tells nobody
                await asyncio.sleep(0.01)
            assert (await hosted.ask("GET", path="/healthz")).status_code == 200


async def connect_from(address: str, port: int) -> bytes:
    """What the server says to a program at another address of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    said = await reader.read()
    writer.close()
    return said


@shows("per-address")
async def test_one_client_of_a_proxy_cannot_take_all_requests(tmp_path: Path) -> None:
    """A proxy's connections stand for many; what it says of its clients counts if it was named."""
    http = HttpSettings(proxies=(ip_network("127.0.0.1"),))
    async with hosting(tmp_path / "home", http=http) as hosted, AsyncExitStack() as stack:
        assert hosted.front.proxies == http.proxies
        few = replace(hosted.front._limits, requests_from_one=1)  # pyright: ignore[reportPrivateUsage]
        hosted.front._limits = few  # pyright: ignore[reportPrivateUsage]
        ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "birch")
        one = {"x-forwarded-for": "203.0.113.1"}
        client = await stack.enter_async_context(hosted.client(ada, "auto", headers=one))
        async with asyncio.timeout(30), client.listen(resources_list_changed=True):
            said = await hosted.ask(token=bob, headers=one)
            assert (said.status_code, "from this address" in said.text) == (429, True)
            other = {"x-forwarded-for": "203.0.113.2"}
            assert (await hosted.ask(token=bob, headers=other)).status_code == 200
