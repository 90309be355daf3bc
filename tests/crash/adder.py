"""A session as a process of its own, which adds each line that it is given.

    python adder.py ROOT

It says `added ID` or `known ID`, once the memory is safe.
"""

import asyncio
import sys
from pathlib import Path

from project import opened

from memory_mcp import memories
from memory_mcp.domain.outcomes import AlreadyKnown, MemoryAdded
from memory_mcp.domain.record import Draft


def say(what: str, name: str) -> None:
    """One line for the parent, at once."""
    sys.stdout.write(f"{what} {name}\n")
    sys.stdout.flush()


async def work(root: Path) -> None:
    """Go on until there are no more lines."""
    async with opened(root) as built:
        say("ready", "adder")
        while line := await asyncio.to_thread(sys.stdin.readline):
            match await memories.add_memory(built.workspace, Draft(line.strip())):
                case MemoryAdded(record=record):
                    say("added", record.id)
                case AlreadyKnown(record=record):
                    say("known", record.id)
                case other:
                    raise AssertionError(other)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1])))
