"""The same tools over HTTP, on this machine only."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doors import Era, User, add, call, process, read, recalled, records, seal
from dropping import Drop
from forked import Started, start
from http_cases import shows
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from memory_mcp.cli.main import main
from memory_mcp.disk import Disk
from memory_mcp.errors import InvalidRequestError
from memory_mcp.server.admission import refuse_taken_port
from memory_mcp.server.http.asgi import Reply
from memory_mcp.server.http.gate import Gate, Names, refuse_foreign_request
from memory_mcp.server.http.sessions import Sessions
from memory_mcp.server.tokens import Identity, Project, TokenFile
from memory_mcp.server.tools import load_default_tools

pytestmark = pytest.mark.anyio

TRANSPORTS = ["streamable-http", pytest.param("sse", marks=pytest.mark.nightly)]
"""Where both are served by the same code, the older one is started nightly."""

_STARTED = re.compile(r"running on http://127\.0\.0\.1:(\d+)")


@contextmanager
def serving(
    project: Path, transport: str, entry: str = "", how: signal.Signals = signal.SIGTERM
) -> Generator[tuple[int, list[str]]]:
    """The real server on a free port of its own choice; yields the port.

    What it says is in the list once it has ended. `entry` is a program of our own instead, and
    `how` the signal that ends it.
    """
    server = process(project, "serve", "--transport", transport, "--port", "0",
                     MEMORY_APPROVAL="ask", MEMORY_LOG_LEVEL="INFO")  # fmt: skip
    arguments = server.args[server.args.index("serve") :]
    ours, theirs = os.pipe()
    with Path(os.devnull).open("r+b") as nothing, os.fdopen(ours, encoding="utf-8") as stderr:
        streams = nothing.fileno(), nothing.fileno(), theirs
        running: Started = (
            subprocess.Popen([server.command, "-c", entry, *arguments], env=server.env,
                             stdin=nothing, stdout=nothing, stderr=theirs)
            if entry else start(arguments, streams, server.env or {})
        )  # fmt: skip
        os.close(theirs)
        for line in stderr:
            if found := _STARTED.search(line):
                break
        else:
            raise AssertionError(f"{transport} did not start")
        said: list[str] = []
        try:
            yield int(found.group(1)), said
        finally:
            running.send_signal(how)
            said += stderr.read().splitlines()
            running.wait()


@pytest.mark.protocol
async def test_streamable_http_gives_the_same_tools(project: Path, era: Era) -> None:
    """One server, another transport: the names, the gate and the memory are the same."""
    user = User("accept", {"decision": "save", "summary": ""})
    with serving(project, "streamable-http") as (port, _):
        url = f"http://127.0.0.1:{port}/mcp"
        async with Client(url, mode=era, elicitation_callback=user) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            await add(client, "Orders live in PostgreSQL.")
            await seal(client, "Storage chosen", phase=1)
            await add(client, "Sessions live in Redis.")
            await call(client, "backtrack", to=1, mode="continue")
            assert await recalled(client, "orders redis") == ["Orders live in PostgreSQL."]

    assert names == [tool.name for tool in load_default_tools()]
    assert len(user.asked) == 1


async def test_sse_gives_the_same_tools(project: Path, era: Era) -> None:
    """Older clients still speak it."""
    with serving(project, "sse") as (port, _):
        url = f"http://127.0.0.1:{port}/sse"
        async with Client(sse_client(url), mode=era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            await add(client, "Orders live in PostgreSQL.")
            assert await recalled(client, "orders") == ["Orders live in PostgreSQL."]

    assert names == [tool.name for tool in load_default_tools()]


@pytest.mark.protocol
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_every_client_is_a_session_of_its_own(
    project: Path, drop: Drop, transport: str, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server for many: each opens once with what waits then, and writes under its own name.

    A request of the stateless revision belongs to no session: each shows what came since, once.
    """
    monkeypatch.setenv("MEMORY_USER", "ada")
    with serving(project, transport) as (port, _):

        def client() -> Client:
            url = f"http://127.0.0.1:{port}"
            if transport == "sse":
                return Client(sse_client(f"{url}/sse"), mode=era)
            return Client(f"{url}/mcp", mode=era)

        drop("tea.txt", "Is there any tea left?")
        async with client() as one, client() as other:
            first = await read(one, "memory_context")
            drop("build.txt", "The build broke.")
            second = await read(other, "memory_context")
            again = await read(one, "memory_context")
            for each, text in ((one, "Orders live in PostgreSQL."), (other, "We drink coffee.")):
                await add(each, text)

    stateless = transport == "streamable-http" and era == "auto"
    assert "- Is there any tea left?" in first
    assert "- The build broke." in second
    assert "tea" not in second
    assert (again == first) != stateless
    assert ("tea" in again) != stateless
    names = [
        record["origin"]["session"] for record in records(project) if record["content"][-1] == "."
    ]
    assert len(set(names)) == (1 if stateless else 2)
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_two_clients_of_one_server_write_to_two_branches_in_turn(
    project: Path, transport: str, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a caller is state of the process: one that switches moves nobody else.

    A client of the stateless revision names its branch in the address, since it has no session.
    """
    monkeypatch.setenv("MEMORY_TOOLSETS", "branches")
    stateless = transport == "streamable-http" and era == "auto"
    with serving(project, transport) as (port, _):

        def client(query: str = "") -> Client:
            url = f"http://127.0.0.1:{port}"
            if transport == "sse":
                return Client(sse_client(f"{url}/sse"), mode=era)
            return Client(f"{url}/mcp{query}", mode=era)

        async with client() as one:
            begun = await call(one, "switch_branch", name="try", create=True)
            assert begun["success"]
            assert ("?branch=try" in begun["message"]) == stateless
            if stateless:
                unmoved = await call(one, "switch_branch", name="try")
                assert not unmoved["success"]
            async with client("?branch=try" if stateless else "") as other:
                if not stateless:
                    await call(other, "switch_branch", name="try")
                    await call(one, "switch_branch", name="main")
                for number in range(3):
                    await add(one, f"Order {number} rests in PostgreSQL.")
                    await add(other, f"Cart {number} rests in Redis.")
                kept = [sorted(await recalled(each, "rests")) for each in (one, other)]

    assert kept[0] == [f"Order {number} rests in PostgreSQL." for number in range(3)]
    assert kept[1] == [f"Cart {number} rests in Redis." for number in range(3)]
    by_branch = {(r["branch"], r["content"][:4]) for r in records(project) if not r.get("move")}
    assert by_branch == {("main", "Orde"), ("try", "Cart")}


@pytest.mark.parametrize(
    ("transport", "method", "path"),
    [
        ("streamable-http", "POST", "/mcp"),
        pytest.param("sse", "GET", "/sse", marks=pytest.mark.nightly),
    ],
)
def test_only_programs_and_pages_of_this_machine_may_call(
    project: Path, transport: str, method: str, path: str
) -> None:
    """A page on the web can make the browser call 127.0.0.1, under its own name."""
    with serving(project, transport) as (port, _):
        here = f"127.0.0.1:{port}"
        assert _status(port, method, path, {"Host": "evil.example"}) == 421
        assert _status(port, method, path, {"Host": f"evil.example:{port}"}) == 421
        foreign = {"Host": here, "Origin": "https://evil.example"}
        assert _status(port, method, path, foreign) == 403
        for near in ("localhost.evil.example", "evil.example/localhost", "evil-localhost"):
            assert _status(port, method, path, {"Host": near}) == 421
            assert _status(port, method, path, {"Host": here, "Origin": f"http://{near}"}) == 403
        names = [here, f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"]
        for name in (*names, "localhost", "127.0.0.1", "[::1]"):
            own = {"Host": name, "Origin": f"http://{name}"}
            assert _status(port, method, path, own) == 200, name


def _status(port: int, method: str, path: str, headers: dict[str, str]) -> int:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps(hello) if method == "POST" else None
        accepts = "application/json, text/event-stream"
        common = {"Content-Type": "application/json", "Accept": accepts}
        connection.request(method, path, body, {**common, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com", ""])  # noqa: S104  # refused
@pytest.mark.parametrize("transport", ["sse", "streamable-http"])
def test_any_other_address_is_refused_without_tokens_with_the_reason(
    capsys: pytest.CaptureFixture[str], transport: str, host: str
) -> None:
    """Whoever reaches the port would read and write the memory."""
    status = main(["serve", "--transport", transport, "--host", host])

    out, said = capsys.readouterr()
    assert status == 1
    assert out == ""
    assert f"host {host!r} is refused: it would be open to whoever reaches the port" in said
    assert "Run `memory-mcp token add NAME`, or set MEMORY_HTTP_ISSUER" in said
    assert "--host 127.0.0.1" in said


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_every_name_of_this_machine_is_served(host: str) -> None:
    """And the address that the server was bound to."""
    own = f"[{host}]" if ":" in host else host
    for name in ("localhost", "LocalHost", "127.0.0.1", "[::1]", own):
        for authority in (name, f"{name}:1", f"{name}:65535"):
            asked = [(b"host", authority.encode()), (b"Origin", b"HTTP://" + authority.encode())]
            assert refuse_foreign_request(asked, Names(host)) is None, authority


STRANGE = (
    "localhost:evil", "localhost:80@evil", "localhost@evil", "evil@localhost", "x:y@localhost:80",
    "localhost.", "localhost.:80", "127.0.0.1.", "localhost.evil.example", "evil-localhost",
    "localhost:0", "localhost:", "localhost:65536", "localhost:080", "localhost:80:80",
    "localhost:\u0661", "localhost,evil", "localhost evil", "localhost/evil", "localhost#",
    "127.0.0.2", "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0", "::1", "[::1", "::1]", "[::]",  # noqa: S104  # refused
    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::1]x", "[::1]:evil", "[::1%25lo]", "", " ", "*",
    "null", "evil.example",
)  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_what_only_looks_like_a_name_of_this_machine_is_refused(name: str) -> None:
    """A page of the web chooses its own name, and may be resolved to this machine."""
    host = (b"host", b"localhost:8000")
    assert refuse_foreign_request([(b"host", name.encode())], Names("127.0.0.1")) == (
        421,
        "Invalid Host header",
    )
    for page in (f"http://{name}", name):
        refused = refuse_foreign_request([host, (b"origin", page.encode())], Names("127.0.0.1"))
        assert refused == (403, "Invalid Origin header")


def test_a_header_that_is_there_twice_or_not_at_all_is_refused() -> None:
    """Of two, each reader would believe another one."""
    host, page = (b"host", b"localhost"), (b"origin", b"http://localhost")
    assert refuse_foreign_request([host, page], Names("::1")) is None
    assert refuse_foreign_request([], Names("::1")) == (421, "Invalid Host header")
    assert refuse_foreign_request([host, host], Names("::1")) == (421, "Invalid Host header")
    assert refuse_foreign_request([host, page, page], Names("::1")) == (
        403,
        "Invalid Origin header",
    )
    for other in (
        b"https://localhost",
        b"ftp://localhost",
        b"http://localhost/",
        b"http:localhost",
    ):
        assert refuse_foreign_request([host, (b"origin", other)], Names("::1")) == (
            403,
            "Invalid Origin header",
        )


@pytest.mark.parametrize("transport", ["sse", "streamable-http"])
def test_a_port_that_is_taken_is_said_to_be_taken(
    capsys: pytest.CaptureFixture[str], transport: str
) -> None:
    """One sentence and status 1, like any other refusal."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status = main(["serve", "--transport", transport, "--port", str(port)])

    out, said = capsys.readouterr()
    assert (status, out) == (1, "")
    assert said.startswith(f"memory-mcp: Cannot serve on port {port} of 127.0.0.1: ")
    assert "choose another port with --port" in said


@pytest.mark.parametrize(
    ("host", "why"),
    [("not a host", "no address is known by that name"), ("203.0.113.7", "no address of this")],
)
def test_a_host_at_which_nothing_can_be_served_is_refused(host: str, why: str) -> None:
    """The web server would say it in a line of the log, and end with a status of its own."""
    with pytest.raises(InvalidRequestError, match=f"Cannot serve at host '{host}': .*{why}"):
        refuse_taken_port(host, 0)


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def test_a_client_that_leaves_in_the_middle_is_one_line_of_the_log(project: Path) -> None:
    """And costs the others nothing."""
    with serving(project, "streamable-http") as (port, said):
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port)) as half:
                head = f"POST /mcp HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 999\r\n"
                half.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n{")
            assert _status(port, "POST", "/mcp", {}) == 200

    lines = [line for line in said if "left in the middle of its request." in line]
    assert len(lines) == 3
    assert not [line for line in said if line.startswith(" ")], "no line is wrapped"
    assert not [line for line in said if "Traceback" in line or "ERROR" in line]


Message = dict[str, Any]


class Inner:
    """An application that opens a session for each `initialize` and ends those it is told to."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.asked: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        named = dict(scope["headers"]).get(b"mcp-session-id", b"").decode()
        self.asked.append(f"{scope['method']} {named}".strip())
        headers: list[tuple[bytes, bytes]] = []
        if b"initialize" in body:
            self.open.append(f"s{len(self.asked)}")
            headers = [(b"mcp-session-id", self.open[-1].encode())]
        if scope["method"] == "DELETE":
            self.open.remove(named)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "GET":
            await asyncio.Event().wait()
        await send({"type": "http.response.body", "body": b"{}", "more_body": False})


class Behind:
    """What stands behind the gate, where everybody may enter."""

    def __init__(self, inner: Inner, sessions_max: int = 3) -> None:
        self._sessions = Sessions(inner, "/mcp", sessions_max=sessions_max)

    async def admit(self, scope: Any) -> Reply | None:
        del scope
        return None

    async def answer(self, scope: Any, receive: Any, send: Any, body: bytes) -> None:
        await self._sessions.answer(scope, receive, send, body)


def make_gate(inner: Inner, **limits: Any) -> Gate:
    """The gate of a server on this machine."""
    return Gate(Behind(inner), Names("127.0.0.1"), **limits)


async def asked(
    gate: Gate, method: str = "POST", session: str = "", body: bytes | None = None
) -> list[Message]:
    """What the gate answers to a request."""
    headers = [(b"host", b"localhost")]
    if session:
        headers.append((b"mcp-session-id", session.encode()))
    if body is None:
        body = json.dumps(HELLO).encode() if method == "POST" and not session else b""
    scope = {"type": "http", "method": method, "path": "/mcp", "headers": headers}
    answers: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        answers.append(message)

    await gate(scope, receive, send)
    return answers


async def test_where_there_are_too_many_sessions_the_oldest_idle_one_is_closed() -> None:
    """The one that was used last stays, and one that listens goes after those that do not."""
    inner = Inner()
    gate = make_gate(inner)
    for _ in range(3):
        await asked(gate)
    listening = asyncio.create_task(asked(gate, "GET", "s1"))
    await asyncio.sleep(0)
    await asked(gate, "POST", "s2")
    assert inner.open == ["s1", "s2", "s3"]

    await asked(gate)
    assert inner.open[:2] == ["s1", "s2"]
    assert len(inner.open) == 3
    for _ in range(2):
        await asked(gate)
    assert "s1" in inner.open
    await asked(gate, "DELETE", inner.open[-1])
    await asked(gate)
    assert "s1" in inner.open
    assert len(inner.open) == 3
    listening.cancel()


@shows("slow-body")
async def test_a_body_that_does_not_come_is_given_up() -> None:
    """The inner application never hears of it."""
    inner = Inner()
    gate = make_gate(inner, body_seconds=0)
    answers: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
    await gate(scope, receive, send)

    assert answers[0]["status"] == 408
    assert (b"connection", b"close") in answers[0]["headers"]
    assert inner.asked == []


@shows("body-size")
async def test_a_body_that_is_too_long_is_refused() -> None:
    """While it comes: nobody has to say how long it is."""
    inner = Inner()
    answers = await asked(make_gate(inner), body=b"x" * (4 * 1024 * 1024 + 1))

    assert answers[0]["status"] == 413
    assert inner.asked == []


def test_a_body_that_says_that_it_is_too_long_is_refused_at_once(project: Path) -> None:
    """Nobody waits for what would be refused anyway."""
    with serving(project, "streamable-http") as (port, said):
        for size in ("9999999999", "4194305"):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as large:
                head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
                large.sendall(head.encode())
                answer = b"".join(iter(lambda: large.recv(1_000), b""))
            assert answer.startswith(b"HTTP/1.1 413")

    assert not [line for line in said if "Traceback" in line or "WARNING" in line]


async def test_a_crowd_of_sessions_is_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """However many have to go for it."""
    inner = Inner()
    gate = make_gate(inner)
    for _ in range(60):
        await asked(gate)

    assert len(inner.open) == 3
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("More than 3 sessions over HTTP")


@pytest.mark.nightly
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_session_too_many_closes_the_oldest_of_the_real_server(
    project: Path, transport: str
) -> None:
    """Its client is told so; the others work on."""
    with serving(project, transport, entry=SMALL) as (port, said):
        url = f"http://127.0.0.1:{port}"
        async with AsyncExitStack() as clients:
            opened = [
                await clients.enter_async_context(
                    Client(sse_client(f"{url}/sse"), mode="legacy")
                    if transport == "sse"
                    else Client(f"{url}/mcp", mode="legacy")
                )
                for _ in range(3)
            ]
            await add(opened[1], "Orders live in PostgreSQL.")
            assert await recalled(opened[2], "orders") == ["Orders live in PostgreSQL."]

    assert len([line for line in said if "idle for longest are closed" in line]) == 1
    assert not [line for line in said if "Traceback" in line]


HALF_A_HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
HALF_A_BODY = HALF_A_HEAD + b"Content-Length: 9\r\n\r\n{"


@shows("slow-body", "slow-headers")
@pytest.mark.nightly
def test_a_request_that_does_not_come_is_given_up_by_the_real_server(project: Path) -> None:
    """The connection is closed, and everybody else is served meanwhile."""
    sent = {"nothing": b"", "head": HALF_A_HEAD, "body": HALF_A_BODY}
    with (
        serving(project, "streamable-http", entry=HASTY) as (port, _),
        ExitStack() as connections,
    ):
        slow: dict[str, socket.socket] = {}
        for name, data in sent.items():
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            slow[name] = connections.enter_context(connection)
            connection.sendall(data)
        assert _status(port, "POST", "/mcp", {}) == 200
        said = {
            name: b"".join(iter(lambda c=connection: c.recv(1_000), b""))[:12]
            for name, connection in slow.items()
        }

    assert said == {"nothing": b"", "head": b"", "body": b"HTTP/1.1 408"}


HASTY = """
import sys
from memory_mcp.domain import limits
limits.HTTP_BODY_SECONDS_MAX = limits.HTTP_HEADER_SECONDS_MAX = 1.0
from memory_mcp.__main__ import main
sys.exit(main())
"""

SMALL = """
import sys
from memory_mcp.domain import limits
limits.HTTP_SESSIONS_MAX = 2
from memory_mcp.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to send there")
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sigterm_ends_it_in_order_though_clients_are_connected(
    project: Path, transport: str
) -> None:
    """With 0: who looks after it asked for that. The port is free afterwards."""
    server = process(project, "serve", "--transport", transport, "--port", "0", "--path", "/m",
                     MEMORY_LOG_LEVEL="INFO")  # fmt: skip
    running = subprocess.Popen(
        [server.command, *server.args],
        env=server.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stderr is not None
        port = next(int(found[1]) for line in running.stderr if (found := _STARTED.search(line)))
        assert _status(port, "POST", "/mcp", {}) == 404
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/m", headers={"Accept": "text/event-stream"})
        status = connection.getresponse().status
        running.send_signal(signal.SIGTERM)
        said = running.stderr.read()
        running.wait(60)
        connection.close()
        socket.create_server(("127.0.0.1", port)).close()

    assert status == (200 if transport == "sse" else 400)
    assert running.returncode == 0
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send there")
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_ctrl_c_ends_it_once_though_clients_are_connected(project: Path, transport: str) -> None:
    """With 130 and a sentence, as every command; a traceback looks like a crash."""
    server = process(project, "serve", "--transport", transport, "--port", "0",
                     MEMORY_LOG_LEVEL="INFO")  # fmt: skip
    running = subprocess.Popen(
        [server.command, *server.args],
        env=server.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stderr is not None
        port = next(int(found[1]) for line in running.stderr if (found := _STARTED.search(line)))
        connection = http.client.HTTPConnection("127.0.0.1", port)
        if transport == "sse":
            connection.request("GET", "/sse")
            assert connection.getresponse().status == 200
        else:
            connection.connect()
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
        running.wait(60)
        connection.close()

    assert running.returncode == 130
    assert "Traceback" not in said
    assert said.endswith("memory-mcp: Interrupted. What was reported as stored is stored.\n")


@shows("sigkill")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")
async def test_what_was_acknowledged_is_there_after_sigkill(project: Path) -> None:
    """Whoever read that it is stored may rely on it."""
    home = Path(os.environ["MEMORY_HOME"])
    identity = Identity(user="ada", projects=(Project(name="alder"),))
    _, token = TokenFile(home, Disk()).add("ada", identity, datetime.now(UTC))
    headers = {"authorization": f"Bearer {token}"}
    kept: list[str] = []
    for how in (signal.SIGKILL, signal.SIGTERM):
        with serving(project, "streamable-http", how=how) as (port, _):
            async with httpx2.AsyncClient(headers=headers, timeout=60) as web:
                url = f"http://127.0.0.1:{port}/mcp"
                async with Client(streamable_http_client(url, http_client=web)) as client:
                    kept.append(f"What was stored before {how.name} is there.")
                    await add(client, kept[-1])
                    assert sorted(await recalled(client)) == sorted(kept)


def test_a_server_says_where_it_serves(tmp_path: Path) -> None:
    """Whoever started it by hand wants to connect a client; with port 0 nobody could guess."""
    command = [sys.executable, "-m", "memory_mcp", "serve", "--transport", "streamable-http"]
    with subprocess.Popen(
        [*command, "--port", "0"], stderr=subprocess.PIPE, cwd=tmp_path, text=True
    ) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        server.terminate()
        server.communicate()

    assert re.fullmatch(
        r"memory-mcp: serving at http://127\.0\.0\.1:\d+/mcp; Ctrl-C ends it\.\n", said
    )
