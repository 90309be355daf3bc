"""An import as a process of its own, which is killed at a step of the disk.

    python importing.py ROOT SOURCE STEP

It kills itself right before that step, or says `done` if there were fewer.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from project import opened

from memory_mcp import transfer
from memory_mcp.disk import Disk
from memory_mcp.domain.transfer import ImportReport
from memory_mcp.formats.importers import read_source
from memory_mcp.storage.files.imports import read_material


class Deadly(Disk):
    """Ends the process as nothing else does: no handler runs."""

    def __init__(self, left: int) -> None:
        self._left = left

    def step(self, name: str) -> None:
        del name
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


async def take_in(root: Path, source: str, step: int) -> None:
    """Acknowledged by a line."""
    async with opened(root, Deadly(step)) as built:
        parsed = read_source(read_material(source), None, source)
        done = await transfer.import_memories(built.workspace, parsed, "project")
        assert isinstance(done, ImportReport)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    asyncio.run(take_in(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
