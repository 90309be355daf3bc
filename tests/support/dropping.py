"""Nudges as files that other programs drop, and what then waits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_mcp import sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.nudges import WaitingNudges

__all__ = ["HEADING", "Drop", "drop", "waiting"]

HEADING = "## Left for the user by a program: bring it up once"
Drop = Callable[..., Path]


@pytest.fixture
def drop(tmp_path: Path) -> Drop:
    """Puts a file where programs put theirs; it has lain there for a while."""

    def dropped(name: str, content: str | bytes, age: float = 60) -> Path:
        path = tmp_path / "home" / "user-ada" / "nudges" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
        return path

    return dropped


async def waiting(settings: Settings) -> WaitingNudges:
    async with open_workspace(settings) as built:
        found = await sessions.list_nudges(built.workspace)
    assert isinstance(found, WaitingNudges)
    return found
