"""The real Claude Code, killed: what it started ends with it, however it was installed.

`pytest -rs -m claude -k killed`
"""

import os
import select
import time
from pathlib import Path

import pytest
from driver import ClaudeCode
from messages_api import MessagesApi
from story import KEPT, answers

pytestmark = [
    pytest.mark.claude,
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs /proc and pidfd"),
]

GONE_SECONDS_MAX = 5.0
"""What is promised: whatever kills the client, all that it started is gone by then."""


@pytest.fixture
def added(binary: Path, tmp_path: Path, repository: Path, api: MessagesApi) -> ClaudeCode:
    """With the server as `claude mcp add` writes it down."""
    options = ["--allowedTools", "mcp__memory"]
    fresh = ClaudeCode(binary, tmp_path / "user", repository, api, "mcp__memory__", options)
    fresh.command("mcp", "add", "memory", "--", "memory-mcp")
    return fresh


@pytest.mark.parametrize("installation", ["added", "installed"])
@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_claude_leaves_no_server(
    installation: str, attempt: int, request: pytest.FixtureRequest
) -> None:
    """Seen 5 times of 5: one memory, SIGKILL, and the server was alive half an hour later."""
    del attempt
    claude: ClaudeCode = request.getfixturevalue(installation)
    with claude.session() as session:
        stored = session.ask("Hello", claude.call("add_memory", content=KEPT, kind="decision"))
        started = [os.pidfd_open(pid) for pid in session.started()]
        session.kill()
        left, until = set(started), time.monotonic() + GONE_SECONDS_MAX
        while left and (over := select.select(left, [], [], max(0, until - time.monotonic()))[0]):
            left.difference_update(over)

    for each in started:
        os.close(each)
    assert answers(stored)[0]["outcome"] == "inserted"
    assert started, "or it proved nothing"
    assert not left, f"{len(left)} of {len(started)} processes live on"
    with claude.session() as session:
        found = session.ask("And now?", claude.call("search_memories", query="orders"))
    assert KEPT in found.last.text
