"""Four real servers on one project, each with a real client, killed between two answers."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from depth import depth
from mcp import Client, MCPError, StdioServerParameters
from project import (
    WORD,
    doctor_is_content,
    found,
    head_agrees_with_records,
    make_project,
    opened,
    record_files,
    settings_in,
)

from memory_mcp.domain.ids import RecordId
from memory_mcp.engine.index_sync import CatchUpCounts
from memory_mcp.sessions import catch_up

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("server.py")
SERVERS = depth(2, 4)
GENERATIONS = depth(1, 2)
ADDS = 6
"""Acknowledged by each server before it is killed, with a further one on its way."""

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows the latter ends a process at once
SECONDS_MAX = 60
TURNS = 5
"""Of the event loop, so that the last request is sent before the server is killed."""


def _parameters(root: Path, pid_file: Path) -> StdioServerParameters:
    settings = settings_in(root)
    folders = {
        "MEMORY_PROJECT_DIR": str(settings.project_dir),
        "MEMORY_HOME": str(settings.home),
        "MEMORY_USER": settings.user,
    }
    return StdioServerParameters(
        command=sys.executable,
        args=[str(SERVER), str(pid_file)],
        env={**os.environ, **folders},
    )


async def _add(client: Client, text: str, acknowledged: list[str]) -> None:
    answer = await client.call_tool("add_memory", {"content": f"{text} {WORD}"})
    said: dict[str, Any] = answer.structured_content or {}
    assert said["success"], answer
    acknowledged.append(str(said["memoryId"]))


async def _add_until_killed(root: Path, name: str, acknowledged: list[str]) -> None:
    pid_file = root / f"{name}.pid"
    async with Client(_parameters(root, pid_file)) as client:
        for number in range(ADDS):
            await _add(client, f"{name} learnt {number}", acknowledged)
        pid = int(await anyio.Path(pid_file).read_text("ascii"))
        async with anyio.create_task_group() as both:
            both.start_soon(_add_while_it_dies, client, name, acknowledged)
            for _ in range(TURNS):
                await anyio.lowlevel.checkpoint()
            os.kill(pid, KILL)


async def _add_while_it_dies(client: Client, name: str, acknowledged: list[str]) -> None:
    """Either an answer, which then counts, or an error."""
    with suppress(MCPError):
        await _add(client, f"{name} learnt at last", acknowledged)


async def test_nothing_acknowledged_is_lost_when_servers_are_killed(tmp_path: Path) -> None:
    """DESIGN 3.4, as clients meet it: what a call answered with success is there afterwards."""
    make_project(tmp_path)
    acknowledged: list[str] = []

    with anyio.fail_after(SECONDS_MAX):
        for generation in range(GENERATIONS):
            async with anyio.create_task_group() as sessions:
                for number in range(SERVERS):
                    name = f"server{generation}{number}"
                    sessions.start_soon(_add_until_killed, tmp_path, name, acknowledged)

    assert len(acknowledged) >= GENERATIONS * SERVERS * ADDS
    assert {path.stem for path in record_files(tmp_path)}.issuperset(acknowledged)
    async with opened(tmp_path) as built:
        await catch_up(built.workspace)
        assert await catch_up(built.workspace) == CatchUpCounts(), "nothing is left to do"
        for memory in acknowledged:
            record = await built.workspace.project.records.get(RecordId(memory))
            assert record is not None
            assert memory in [r.id for r in await found(built.workspace, record.content)]
        await head_agrees_with_records(built)
        await doctor_is_content(built.workspace)
