"""A session as a process of its own, which is killed sooner or later.

    python worker.py ROOT NAME

It remembers, seals, goes back and restores without end. Each memory and each move is printed once
it is acknowledged, and flushed, so that whoever reads the pipe knows what must not be lost.
"""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from operations import go_back, seal
from postgres import in_database
from project import WORD, head_of, opened

from memory_mcp import memories, sessions
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import (
    ConflictError,
    IndexBusyError,
    InvalidRequestError,
    StoreUnavailableError,
)

OUTAGES = (StoreUnavailableError,) if in_database() else ()
"""What a session says of a database that is killed, and goes on."""


def acknowledge(what: str, name: str) -> None:
    """One line for the parent, at once."""
    sys.stdout.write(f"{what} {name}\n")
    sys.stdout.flush()


async def remember(workspace: Workspace, text: str) -> None:
    """A memory, and what was noted about it: another session may have left the line meanwhile."""
    outcome = await memories.add_memory(workspace, Draft(f"{text} {WORD}"))
    assert isinstance(outcome, MemoryAdded)
    acknowledge("memory", outcome.record.id)
    for note in outcome.notes:
        acknowledge("note", note)


async def move(workspace: Workspace, number: int) -> None:
    """One of the moves, in turn. Others move as well, so a target may be gone or the head busy."""
    report = await head_of(workspace)
    try:
        match number % 4:
            case 0 | 2:
                acknowledge("sealed", await seal(workspace, f"step {number}"))
            case 1 if report.checkpoints:
                target = report.checkpoints[number % len(report.checkpoints)]
                acknowledge("line", await go_back(workspace, target.checkpoint.id))
            case 3 if report.lines:
                acknowledge("line", await go_back(workspace, report.lines[-1].line.id))
            case _:
                pass
    except (InvalidRequestError, ConflictError, IndexBusyError):
        return


async def work(root: Path, name: str) -> None:
    """Go on until killed."""
    async with opened(root) as built:
        # a slow machine: the server says so in its log, and goes on
        with suppress(IndexBusyError, *OUTAGES):
            await sessions.catch_up(built.workspace)
        number = 0
        while True:
            number += 1
            with suppress(*OUTAGES):
                await remember(built.workspace, f"{name} of {root.name} learnt {number}")
                if number % 3 == 0:
                    await move(built.workspace, number // 3)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
