"""A process that works off the inbox, and may be killed while it does.

    python inbox_worker.py ROOT CUT NAME

At the CUT-th step of the disk (0 is the first one) it is killed by itself, as by `kill -9`. Without
enough steps it says `done`. CUT `-` never cuts, and works on until it is killed from outside.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from project import settings_in

from memory_mcp import sessions
from memory_mcp.build import open_workspace
from memory_mcp.disk import Disk


class KilledDisk(Disk):
    """Kills its own process at the given step."""

    def __init__(self, cut_at: int) -> None:
        self._left = cut_at

    def step(self, name: str) -> None:
        del name
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def say(what: str) -> None:
    """One line for the parent, at once."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


async def work(root: Path, disk: Disk, *, again: bool) -> None:
    async with open_workspace(settings_in(root), disk) as built:
        while True:
            done = await sessions.process_inbox(built.workspace)
            if not again:
                break
            for _ in range(done.done):
                say("done one")
            await asyncio.sleep(0)
    say("done all")


if __name__ == "__main__":
    cut = sys.argv[2]
    asyncio.run(
        work(Path(sys.argv[1]), Disk() if cut == "-" else KilledDisk(int(cut)), again=cut == "-")
    )
