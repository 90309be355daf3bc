"""A mirrored session that stops between the note for the cloud and the record, and says so.

    python half_written.py ROOT URL

Whoever reads the line kills it there.
"""

import asyncio
import sys
from pathlib import Path

from mirrored import mirrored

from memory_mcp import memories
from memory_mcp.disk import Access, Disk
from memory_mcp.domain.record import Draft


class Stopping(Disk):
    """Stops before the first byte of a record."""

    def write(self, path: Path, data: bytes, access: Access | None = None) -> None:
        if path.parents[1].name == "memory":
            sys.stdout.write("noted\n")
            sys.stdout.flush()
            sys.stdin.read()
        super().write(path, data, access)


async def half_a_memory(root: Path, url: str) -> None:
    """Never acknowledged."""
    async with mirrored(root, url, Stopping()) as built:
        await memories.add_memory(built.workspace, Draft("orders rest in PostgreSQL"))


if __name__ == "__main__":
    asyncio.run(half_a_memory(Path(sys.argv[1]), sys.argv[2]))
