"""The real server in a process of its own, as a client starts it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TextIO

import pytest
from doors import Era, Json, User, add, call, machine_dir, process, read, recalled, refused, seal
from forked_server import forked_server
from mcp import Client

from memory_mcp import __version__

pytestmark = pytest.mark.anyio

HELLO: list[Json] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


async def test_the_main_job_over_stdio(project: Path, era: Era) -> None:
    """Add, search, seal, go on, go back: what still holds is recalled, by a second session too."""
    async with Client(process(project), mode=era) as client:
        told = client.server_info
        assert told is not None
        assert (told.name, told.version) == ("memory-mcp", __version__)
        await add(client, "Orders live in PostgreSQL.", kind="decision")
        await seal(client, "Storage chosen", phase=1)
        await add(client, "Sessions live in Redis.")
        said = await call(client, "backtrack", to="1", mode="continue", lesson="No Redis.")
        assert sorted(await recalled(client, "redis orders sessions")) == [
            "No Redis.",
            "Orders live in PostgreSQL.",
        ]
    async with Client(forked_server(project), mode=era) as client:
        assert "Sessions live in Redis." not in await recalled(client)
        await call(client, "backtrack", to=said["line"], mode="continue")
        assert "Sessions live in Redis." in await recalled(client)


@pytest.mark.nightly
async def test_two_servers_on_one_project_see_each_other(project: Path, era: Era) -> None:
    """One process a session is how clients work; several are open at once."""
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(Client(process(project), mode=era)) for _ in range(2)
        ]
        await add(one, "Orders live in PostgreSQL.")
        assert await recalled(two, "orders") == ["Orders live in PostgreSQL."]
        await seal(two, "Storage chosen", phase=1)
        assert "Storage chosen" in await read(one, "memory_head")
        await add(one, "Sessions live in Redis.")
        await call(two, "backtrack", to=1, mode="continue")
        assert await recalled(one, "redis") == []
        await add(one, "Sessions live in cookies.")
        assert await recalled(two, "sessions") == ["Sessions live in cookies."]


async def test_of_two_corrections_at_once_in_two_processes_one_holds(project: Path) -> None:
    """Two sessions that correct the same memory must not leave two versions of it side by side."""
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(Client(forked_server(project))) for _ in range(2)]
        facts = [f"Service {name} listens on port {8000 + n}." for n, name in enumerate("ABCDEFGH")]
        ids = [await add(both[0], fact) for fact in facts]

        async def correct(number: int, id_: str) -> bool:
            text = f"Service {number} of {id_[-4:]} has moved."
            given = {"memory_id": id_, "content": text}
            answer = (await both[number].call_tool("update_memory", given)).structured_content
            return bool(answer and answer["success"])

        for id_ in ids:
            assert sorted(await asyncio.gather(correct(0, id_), correct(1, id_))) == [False, True]
        assert len(await recalled(both[0], "has moved")) == len(ids)


@pytest.mark.protocol
async def test_the_user_is_asked_across_the_pipe(project: Path, era: Era) -> None:
    """The approval gate is the same over a real transport, in both eras."""
    user = User("accept", {"decision": "edit", "summary": "PostgreSQL it is"})
    server = forked_server(project, MEMORY_APPROVAL="ask")
    async with Client(server, mode=era, elicitation_callback=user) as client:
        said = await call(client, "checkpoint", summary="Storage chosen")
        assert await recalled(client) == ["PostgreSQL it is"]

    assert said["status"] == "approved"
    assert len(user.asked) == 1


async def test_what_was_acknowledged_survives_a_kill(project: Path) -> None:
    """A client ends its servers without mercy; success meant durable."""
    async with Client(forked_server(project)) as client:
        await add(client, "Orders live in PostgreSQL.")
        for state in machine_dir(project).glob("index.sqlite3*"):
            state.unlink()
    async with Client(forked_server(project)) as client:
        assert await recalled(client, "orders") == ["Orders live in PostgreSQL."]


@pytest.mark.nightly
async def test_the_origin_names_the_client_and_the_session(project: Path, era: Era) -> None:
    """Who taught us this is stamped from the first day."""
    async with Client(process(project, CLAUDE_CODE_SESSION_ID="s-1"), mode=era) as client:
        await add(client, "Orders live in PostgreSQL.")

    (path,) = (project / ".claude" / "memory").rglob("*.json")
    origin = json.loads(path.read_bytes())["origin"]
    assert origin == {"by": "assistant", "client": "mcp/0.1.0", "session": "s-1"}


@pytest.mark.nightly
async def test_serve_takes_toolsets(project: Path, era: Era) -> None:
    """The option of the command switches on the further tools."""
    async with Client(process(project, "serve", "--toolsets", "branches"), mode=era) as client:
        assert "switch_branch" in [tool.name for tool in (await client.list_tools()).tools]
        assert "argument 'x'" in await refused(client, "memory_head", x=1)


def test_stdout_carries_protocol_and_nothing_else(project: Path, tmp_path: Path) -> None:
    """One stray line and the client drops the connection."""
    asked = [
        *HELLO,
        _tool(2, "add_memory", {"content": "Orders\nlive in PostgreSQL."}),
        _tool(3, "search_memories", {"query": "orders"}),
        _tool(4, "backtrack", {"to": "nowhere"}),
        _tool(5, "no_such_tool", {}),
    ]
    log = tmp_path / "log"
    with (
        log.open("w") as stderr,
        _started(project, {"MEMORY_LOG_LEVEL": "DEBUG"}, stderr) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        for message in asked:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        lines = [server.stdout.readline() for _ in range(5)]
        server.stdin.close()
        lines += server.stdout.readlines()

    answers = [json.loads(line) for line in lines if line]
    assert {answer["id"] for answer in answers if "id" in answer} == {1, 2, 3, 4, 5}
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert log.stat().st_size > 0, "what is logged goes elsewhere"
    assert server.returncode == 0


def test_a_line_that_is_no_message_is_answered_and_logged(project: Path, tmp_path: Path) -> None:
    """The SDK drops it in silence, and its sender would wait without end. An empty one is none."""
    log = tmp_path / "log"
    with log.open("w") as stderr, _started(project, {}, stderr) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for line in ('{"token": "s3cret', "", '{"method": 7}', json.dumps(HELLO[0])):
            server.stdin.write(f"{line}\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(3)]
        server.stdin.close()

    wrong = [(each["id"], each["error"]["code"]) for each in answers if "error" in each]
    assert wrong == [(None, -32700), (None, -32600)]
    assert [each["id"] for each in answers if "result" in each] == [1]
    logged = log.read_text("utf-8")
    assert logged.count("WARNING memory_mcp.server: A line of the client was not carried out") == 2
    assert "s3cret" not in logged


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send there")
def test_an_interrupt_ends_it_quietly(project: Path) -> None:
    """Claude Code sends SIGINT, and SIGTERM 100 ms later; a traceback looks like a crash."""
    server = _started(project, {})
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(HELLO[0]) + "\n")
        server.stdin.flush()
        assert "serverInfo" in server.stdout.readline()
        assert server.stderr is not None
        server.send_signal(signal.SIGINT)
        server.wait(timeout=20)  # not communicate: it closes stdin, which is another way to end
        said = server.stderr.read()

    assert server.returncode == 130
    assert "Traceback" not in said
    assert said == "memory-mcp: Interrupted. What was reported as stored is stored.\n"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"MEMORY_PHASE": "two"}, "MEMORY_PHASE is 'two'; it must be a whole number"),
        pytest.param(
            {"MEMORY_TOOLSETS": "nope"},
            "MEMORY_TOOLSETS is 'nope'; it must be some of branches",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            {"MEMORY_PHAES": "2"},
            "MEMORY_PHAES is no setting. Did you mean MEMORY_PHASE?",
            marks=pytest.mark.nightly,
        ),
        pytest.param({"MEMORY_PROVIDER": "supermemory"}, "", marks=pytest.mark.nightly),
    ],
)
async def test_a_bad_setting_costs_itself_and_every_answer_says_so(
    project: Path, environment: dict[str, str], said: str
) -> None:
    """A memory that is off for one wrong letter is worse than one that says what is wrong."""
    async with Client(forked_server(project, **environment)) as client:
        answer = await call(client, "add_memory", content="Orders live in PostgreSQL.")
        head = await read(client, "memory_head")
        refusal = await client.call_tool("backtrack", {"to": "nowhere"})

    assert answer["outcome"] == "inserted"
    assert answer["note"].startswith(said or "MEMORY_PROVIDER is supermemory, but there is no key")
    assert head.endswith(f"Note: {answer['note']}")
    assert refusal.structured_content is not None
    assert refusal.structured_content["note"] == answer["note"]


def _tool(number: int, name: str, arguments: Json) -> Json:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _started(
    project: Path, environment: Mapping[str, str], stderr: int | TextIO = subprocess.PIPE
) -> "subprocess.Popen[str]":
    server = process(project, **environment)
    return subprocess.Popen(
        [server.command, *server.args],
        env={**os.environ, **(server.env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
    )
