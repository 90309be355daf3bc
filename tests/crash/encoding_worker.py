"""A session that encodes, as a process of its own, which is killed sooner or later.

    python encoding_worker.py ROOT NAME

It remembers and forgets without end, and encodes beside that as the server does, with a model that
is now quick and now slow: so it is killed with leases in its hand, and in the midst of a batch.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import haste  # the first of ours
from fake_embedder import FakeEmbedder, with_meaning
from project import WORD, opened

from memory_mcp import maintenance, memories
from memory_mcp.domain.outcomes import MemoryAdded, MemoryForgotten
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import PassageVectors
from memory_mcp.errors import IndexBusyError

PAUSE_SECONDS_MAX = 0.03
ENCODE_SECONDS_MAX = 0.1


def say(what: str, name: str) -> None:
    """One line for the parent, at once."""
    sys.stdout.write(f"{what} {name}\n")
    sys.stdout.flush()


class Unsteady(FakeEmbedder):
    """Takes its time now and then, and says what it made."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]:
        await asyncio.sleep(self._chance.choice([0, 0, self._chance.random() * ENCODE_SECONDS_MAX]))
        for text in texts:
            say("made", text)
        return await super().passages(texts)


async def work(root: Path, name: str) -> None:
    """Go on until killed."""
    chance = random.Random(name)  # noqa: S311  # repeatable, not secret
    async with opened(root) as built, asyncio.TaskGroup() as beside:
        workspace = with_meaning(built, Unsteady(chance))
        beside.create_task(maintenance.keep_encoded(workspace, asyncio.Event()))
        mine: list[str] = []
        for number in range(1_000_000):
            long = " and so on" * chance.choice([1, 1, 30])  # one chunk, or several
            try:
                outcome = await memories.add_memory(
                    workspace, Draft(f"{name} learnt {number} {WORD}{long}")
                )
                assert isinstance(outcome, MemoryAdded)
                say("memory", outcome.record.id)
                mine.append(outcome.record.id)
                if number % 7 == 6:
                    target = mine.pop(chance.randrange(len(mine)))
                    say("forgetting", target)
                    assert isinstance(
                        await memories.forget_memory(workspace, target, "", erase=True),
                        MemoryForgotten,
                    )
            except IndexBusyError:  # a slow machine
                continue
            await asyncio.sleep(chance.random() * PAUSE_SECONDS_MAX)


if __name__ == "__main__":
    haste.is_in_force()
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
