"""Adding a memory, beside what the disk alone takes for a file of that size."""

import os
import time
from pathlib import Path
from typing import Final

from corpus import Corpus
from house import filled
from report import Table, p50, p95
from wire import SERVER, started

from memory_mcp import app
from memory_mcp.domain.outcomes import Added
from memory_mcp.wiring import Built

__all__ = ["measure_adds"]

_ADDS: Final = 200


async def measure_adds(folder: Path, sizes: list[int]) -> Table:
    """One add and one bare write in turn, in the same folder, with the same bytes."""
    table = Table(
        f"Durable add, {_ADDS} each, in turn with the bare disk (ms)",
        ("memories", "add p50", "p95", "disk p50", "p95", "ratio p50", "by MCP p50", "p95"),
        note="disk: write, fsync, rename, fsync of the folder; the memories already there were "
        "written without fsync",
    )
    for size in sizes:
        async with filled(folder / str(size), size) as built:
            adds, disk = await _in_turn(built)
        asked = _over_mcp(folder / str(size))
        table.add(
            size,
            *(p50(adds), p95(adds), p50(disk), p95(disk)),
            *(p50(adds) / p50(disk), p50(asked), p95(asked)),
        )
    return table


async def _in_turn(built: Built) -> tuple[list[float], list[float]]:
    corpus = Corpus(seed=2)
    adds: list[float] = []
    disk: list[float] = []
    for number in range(_ADDS + 10):
        begin = time.perf_counter()
        added = await app.add_memory(built.rooms, corpus.draft())
        took = time.perf_counter() - begin
        assert isinstance(added, Added)  # noqa: S101  # nothing here is set to skip writes
        owner = built.records[added.record.scope.project is None]
        path = owner.path(added.record.id)
        data = path.read_bytes()
        begin = time.perf_counter()
        _bare(path.with_suffix(".bare"), data)
        bare = time.perf_counter() - begin
        path.with_suffix(".bare").unlink()
        if number >= 10:  # the first ones open files and fill caches
            adds.append(took * 1e3)
            disk.append(bare * 1e3)
    return adds, disk


def _bare(path: Path, data: bytes) -> None:
    temporary = f"{path}.tmp"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(file, data)
    os.fsync(file)
    os.close(file)
    os.rename(temporary, path)  # noqa: PTH104  # bare is bare
    parent = os.open(path.parent, os.O_RDONLY)
    os.fsync(parent)
    os.close(parent)


def _over_mcp(folder: Path) -> list[float]:
    corpus = Corpus(seed=3)
    taken: list[float] = []
    with started(SERVER, folder) as wire:
        wire.hello()
        wire.ready()
        for number in range(_ADDS + 10):
            draft = corpus.draft()
            begin = time.perf_counter()
            wire.call("add_memory", content=draft.content, kind=draft.kind)
            if number >= 10:
                taken.append((time.perf_counter() - begin) * 1e3)
    return taken
