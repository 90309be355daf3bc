"""A mirrored session as a process of its own, which is killed sooner or later.

    python cloud_worker.py ROOT URL NAME

It remembers and forgets without end on a branch of its own, and delivers beside that. Before it
forgets it says so, since it may be killed when that is done and before it can say that it is.
"""

import asyncio
import random
import sys
from pathlib import Path

import haste  # the first of ours
from mirrored import mirrored
from project import WORD

from memory_mcp import branches, memories, sessions, sync
from memory_mcp.domain.outcomes import (
    Backtracked,
    BranchReady,
    CheckpointSaved,
    MemoryAdded,
    MemoryForgotten,
)
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace

PAUSE_SECONDS_MAX = 0.3
"""Between two calls, as an agent thinks: else all would be said before anything is delivered."""


def say(what: str, *names: str) -> None:
    """One line each for the parent, at once."""
    sys.stdout.write("".join(f"{what} {name}\n" for name in names))
    sys.stdout.flush()


class Writer:
    """What this process has remembered and not forgotten yet."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._name = name
        self._mine: list[str] = []
        self._said = 0

    async def add(self) -> str:
        """One more memory."""
        self._said += 1
        text = f"{self._name} learnt {self._said} {WORD}"
        outcome = await memories.add_memory(self._workspace, Draft(text))
        assert isinstance(outcome, MemoryAdded)
        say("memory", f"{outcome.record.id} {text}")
        self._mine.append(outcome.record.id)
        return outcome.record.id

    async def forget(self, chance: random.Random) -> None:
        """One memory, an old or a new one: it may be anywhere on its way."""
        target = self._mine.pop(chance.randrange(len(self._mine)))
        say("forgetting", target)
        outcome = await memories.forget_memory(self._workspace, target, "", erase=True)
        assert isinstance(outcome, MemoryForgotten)
        say("forgot", target)

    async def give_up(self) -> None:
        """A short road that is left for good."""
        sealed = await branches.checkpoint(
            self._workspace, f"{self._name} at {self._said}", None, again=False, approval="auto"
        )
        assert isinstance(sealed, CheckpointSaved)
        road = [await self.add() for _ in range(2)]
        say("forgetting", *road)
        outcome = await branches.backtrack(self._workspace, sealed.checkpoint.id, "forget")
        assert isinstance(outcome, Backtracked)
        say("forgot", *road)
        self._mine = [memory for memory in self._mine if memory not in road]


async def work(root: Path, url: str, name: str) -> None:
    """Go on until killed, as the server does: catching up and delivering beside the calls."""
    chance = random.Random(name)  # noqa: S311  # repeatable, not secret
    async with mirrored(root, url) as built, asyncio.TaskGroup() as beside:
        workspace = built.workspace
        beside.create_task(sessions.catch_up(workspace))
        beside.create_task(sync.keep_mirrored(workspace, asyncio.Event()))
        begun = await branches.fork_branch(workspace, name, "")
        assert isinstance(begun, BranchReady)
        workspace = workspace.at(begun.branch)
        writer = Writer(workspace, name)
        number = 0
        while True:
            number += 1
            await writer.add()
            if number % 5 == 0:
                await writer.forget(chance)
            if number % 12 == 8:
                await writer.give_up()
            await asyncio.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))


if __name__ == "__main__":
    haste.is_in_force()
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
