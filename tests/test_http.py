"""The same tools over HTTP, on this machine only."""

import http.client
import json
import re
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from doors import Era, User, add, call, process, read, recalled, records, seal
from dropping import Drop
from mcp import Client
from mcp.client.sse import sse_client
from mcp.server.transport_security import TransportSecuritySettings

from memory_mcp.cli.main import main
from memory_mcp.server.main import serve
from memory_mcp.server.tools import default_tools
from memory_mcp.settings import Settings

pytestmark = pytest.mark.anyio

_STARTED = re.compile(r"running on http://127\.0\.0\.1:(\d+)")


@contextmanager
def serving(project: Path, transport: str) -> Generator[int]:
    """The real server on a free port of its own choice; yields the port."""
    server = process(project, "serve", "--transport", transport, "--port", "0",
                     MEMORY_APPROVAL="ask", MEMORY_LOG_LEVEL="INFO")  # fmt: skip
    running = subprocess.Popen(
        [server.command, *server.args],
        env=server.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stderr is not None
        for line in running.stderr:
            if found := _STARTED.search(line):
                break
        else:
            raise AssertionError(f"{transport} did not start")
        try:
            yield int(found.group(1))
        finally:
            running.terminate()
            running.stderr.read()


async def test_streamable_http_gives_the_same_tools(project: Path, era: Era) -> None:
    """One server, another transport: the names, the gate and the memory are the same."""
    user = User("accept", {"decision": "save", "summary": ""})
    with serving(project, "streamable-http") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        async with Client(url, mode=era, elicitation_callback=user) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            await add(client, "Orders live in PostgreSQL.")
            await seal(client, "Storage chosen", phase=1)
            await add(client, "Sessions live in Redis.")
            await call(client, "backtrack", to=1, mode="continue")
            assert await recalled(client, "orders redis") == ["Orders live in PostgreSQL."]

    assert names == [tool.name for tool in default_tools()]
    assert len(user.asked) == 1


async def test_sse_gives_the_same_tools(project: Path, era: Era) -> None:
    """Older clients still speak it."""
    with serving(project, "sse") as port:
        url = f"http://127.0.0.1:{port}/sse"
        async with Client(sse_client(url), mode=era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            await add(client, "Orders live in PostgreSQL.")
            assert await recalled(client, "orders") == ["Orders live in PostgreSQL."]

    assert names == [tool.name for tool in default_tools()]


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_every_client_is_a_session_of_its_own(
    project: Path, drop: Drop, transport: str, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server for many: each opens once with what waits then, and writes under its own name.

    A request of the stateless revision belongs to no session: each shows what came since, once.
    """
    monkeypatch.setenv("MEMORY_USER", "ada")
    with serving(project, transport) as port:

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


@pytest.mark.parametrize(
    ("transport", "method", "path"), [("streamable-http", "POST", "/mcp"), ("sse", "GET", "/sse")]
)
def test_only_programs_and_pages_of_this_machine_may_call(
    project: Path, transport: str, method: str, path: str
) -> None:
    """A page on the web can make the browser call 127.0.0.1, under its own name."""
    with serving(project, transport) as port:
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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
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
def test_any_other_address_is_refused_with_the_reason(
    capsys: pytest.CaptureFixture[str], transport: str, host: str
) -> None:
    """Whoever reaches the port reads and writes the memory: there is no login yet."""
    status = main(["serve", "--transport", transport, "--host", host])

    out, said = capsys.readouterr()
    assert status == 1
    assert out == ""
    assert f"host {host!r} is refused: whoever reaches the port" in said
    assert "Choose 127.0.0.1, ::1 or localhost" in said


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost", "LOCALHOST"])
@pytest.mark.parametrize("transport", ["sse", "streamable-http"])
def test_every_name_of_this_machine_is_served_with_the_guard_on(
    monkeypatch: pytest.MonkeyPatch, transport: str, host: str
) -> None:
    """Binding elsewhere than the default would switch the SDK's own guard off."""
    ran: list[dict[str, object]] = []

    def note(_server: object, _transport: str, **how: object) -> None:
        ran.append(how)

    monkeypatch.setattr("mcp.server.MCPServer.run", note)
    serve(Settings(), transport, host, 1234)  # pyright: ignore[reportArgumentType]  # parametrised

    (how,) = ran
    guard = how["transport_security"]
    assert isinstance(guard, TransportSecuritySettings)
    assert (how["host"], how["port"]) == (host.lower(), 1234)
    assert guard.enable_dns_rebinding_protection is True
    assert f"{f'[{host}]' if ':' in host else host}:*" in guard.allowed_hosts


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
