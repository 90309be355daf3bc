"""What the server takes of the machine: memory while idle and at work, and room on the disk."""

import subprocess
from pathlib import Path
from typing import Final

from corpus import Corpus
from house import filled
from report import Table
from wire import NOTHING, SERVER, Wire, started

from memory_mcp.build import INDEX_FILE

__all__ = ["measure_footprint", "resident_mb"]

_SEARCHES: Final = 100


async def measure_footprint(folder: Path, sizes: list[int]) -> tuple[Table, Table]:
    """Memory in use at 10,000 (or the largest size asked for), and bytes per memory."""
    room = Table(
        "Room on disk", ("memories", "index (MB)", "index per memory (bytes)", "file each (bytes)")
    )
    for size in sizes:
        async with filled(folder / str(size), size) as built:
            places = built.places
            indexes = [
                (each / INDEX_FILE).stat().st_size
                for each in (places.machine_dir, places.user_state_dir)
            ]
            files = [path.stat().st_size for path in places.memory_dir.glob("*/*.json")]
        # a short log may stand beside the index; it is folded into it when the server ends
        whole = sum(indexes)
        room.add(size, whole / 1e6, whole // size, sum(files) // max(1, len(files)))
    size = min(sizes, key=lambda size: abs(size - 10_000))
    use = Table(f"Memory in use at {size:,} memories (MB resident)", ("server", "when", "MB"))
    with started(NOTHING, folder / "nothing") as wire:
        _open(wire)
        use.add("do-nothing server", "idle", resident_mb(wire))
    corpus = Corpus(seed=99)
    with started(SERVER, folder / str(size)) as wire:
        _open(wire)
        use.add("memory-mcp serve", "idle, before the first call", resident_mb(wire))
        wire.call("memory_head")
        use.add("memory-mcp serve", "after one call", resident_mb(wire))
        for _ in range(_SEARCHES):
            wire.call("search_memories", query=corpus.question().text)
        use.add("memory-mcp serve", f"after {_SEARCHES} searches", resident_mb(wire))
    return room, use


def _open(wire: Wire) -> None:
    wire.hello()
    wire.ready()
    wire.ask("tools/list", {})


def resident_mb(wire: Wire) -> float:
    """The memory that a server takes now: as `ps` has it, which Linux and macOS share."""
    asked = ["ps", "-o", "rss=", "-p", str(wire.process.pid)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return int(said) / 1024
