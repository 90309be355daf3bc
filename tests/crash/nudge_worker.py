"""Sessions that begin, one after the other, in a process that may be killed.

    python nudge_worker.py ROOT NAME

It goes on until it is killed: it leaves two nudges and begins a session. If NAME is `told` it
leaves none, begins a session for each line on stdin, and says so too where none was shown.
"""

import asyncio
import os
import re
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

from project import settings_in

from memory_mcp import sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain import limits
from memory_mcp.render.block import Block

HEADING = re.compile(r"^## Left for the user.*\n- (.*)$", re.MULTILINE)


def say(what: str, name: str) -> None:
    """One line for the parent, at once."""
    sys.stdout.write(f"{what} {name}\n")
    sys.stdout.flush()


def settings(root: Path) -> Settings:
    return replace(settings_in(root), nudge_queue=os.environ.get("MEMORY_NUDGE_QUEUE", ""))


async def begin(root: Path) -> str:
    """What a session that begins now brings up."""
    async with open_workspace(settings(root)) as built:
        block = await sessions.memory_context(built.workspace, "", 500)
    assert isinstance(block, Block)
    found = HEADING.search(block.text)
    return found.group(1) if found else ""


async def leave(root: Path, *texts: str) -> None:
    """Nudges, as any program does."""
    async with open_workspace(settings(root)) as built:
        for text in texts:
            await sessions.add_nudge(built.workspace, text, 5, None)


def work(root: Path, name: str) -> None:
    """Until killed, or until there is no more to be told. Whose turn it is counts, not how fast."""
    for limit in ("NUDGE_SECONDS_MAX", "NUDGE_TAKE_SECONDS_MAX"):
        setattr(limits, limit, 60.0)
    if name == "told":
        say("ready", name)
        for _ in sys.stdin:
            say("shown", asyncio.run(begin(root)))
        return
    for number in count():
        asyncio.run(leave(root, f"{name} {number} one", f"{name} {number} other"))
        if shown := asyncio.run(begin(root)):
            say("shown", shown)


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2])
