"""Adding a memory, beside what the disk alone takes for a file of that size."""

import os
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corpus import Corpus
from floor import measure_floor
from house import filled
from report import Table, p50, p95
from wire import SERVER, started

from memory_mcp import memories
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.deduplication import MergePolicy
from memory_mcp.domain.outcomes import AddOutcome, MemoryAdded

__all__ = ["measure_adds", "measure_floor_of_files", "write_bare"]

_ADDS: Final = 200
_RECORD_BYTES: Final = 1_000
_UNCOMPARED: Final = MergePolicy(topk=0, fallback_enabled=False)


async def measure_adds(folder: Path, sizes: list[int]) -> Table:
    """An add as it is, a plain one, and a bare write in turn, in the same folder.

    The plain one neither cleans nor compares. The bare one writes the bytes of the plain one.
    """
    table = Table(
        f"Durable add, {_ADDS} each, in turn (ms)",
        (
            *("memories", "add p50", "p95", "plain p50", "p95", "ratio p50"),
            *("disk p50", "p95", "by MCP p50", "p95", "merged or known"),
        ),
        note="add: with gate, redaction and comparison; plain: without all three; disk: write, "
        "fsync, rename, fsync of the folder; the memories already there were written without fsync",
    )
    for size in sizes:
        async with filled(folder / str(size), size) as built:
            adds, plain, disk, met = await _in_turn(folder / str(size), built)
            count = len(await built.workspace.project.records.ids())
        asked = _over_mcp(folder / str(size), seed=count)
        table.add(
            size,
            *(p50(adds), p95(adds), p50(plain), p95(plain), p50(adds) / p50(plain)),
            *(p50(disk), p95(disk), p50(asked), p95(asked), met),
        )
    return table


async def _in_turn(
    folder: Path, built: BuiltWorkspace
) -> tuple[list[float], list[float], list[float], int]:
    # what an earlier run left in a kept project would be known already
    corpus = Corpus(seed=len(await built.workspace.project.records.ids()))
    bare_policy = replace(built.workspace.policy, merging=_UNCOMPARED, secrets="allow")
    plain_workspace = replace(built.workspace, policy=bare_policy)
    adds: list[float] = []
    plain: list[float] = []
    disk: list[float] = []
    met = 0
    for number in range(_ADDS + 10):
        took, outcome = await _timed(
            memories.add_memory(built.workspace, corpus.draft(), gate=True)
        )
        met += not isinstance(outcome, MemoryAdded) or bool(outcome.replaced)
        took_plain, added = await _timed(memories.add_memory(plain_workspace, corpus.draft()))
        assert isinstance(added, MemoryAdded)  # noqa: S101  # nothing here is set to skip writes
        path = _find_file(folder, added.record.id)
        data = path.read_bytes()
        begin = time.perf_counter()
        write_bare(path.with_suffix(".bare"), data)
        bare = time.perf_counter() - begin
        path.with_suffix(".bare").unlink()
        if number >= 10:  # the first ones open files and fill caches
            adds.append(took)
            plain.append(took_plain)
            disk.append(bare * 1e3)
    return adds, plain, disk, met


async def measure_floor_of_files(folder: Path, size: int) -> Table:
    """An addition over stdio to the project of that many memories, beside the floor."""
    there = folder / str(size)
    async with filled(there, size):
        pass

    async def write() -> None:
        write_bare(there / "bare", b"x" * _RECORD_BYTES)

    return await measure_floor(there, f"Files, {size:,} memories", ("one durable write", write))


def _find_file(folder: Path, record_id: str) -> Path:
    (path,) = folder.rglob(f"{record_id}.json")
    return path


async def _timed(call: Coroutine[Any, Any, AddOutcome]) -> tuple[float, AddOutcome]:
    begin = time.perf_counter()
    outcome = await call
    return (time.perf_counter() - begin) * 1e3, outcome


def write_bare(path: Path, data: bytes) -> None:
    """What a durable write costs without anything around it."""
    temporary = f"{path}.tmp"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(file, data)
    os.fsync(file)
    os.close(file)
    os.rename(temporary, path)  # noqa: PTH104  # bare is bare
    parent = os.open(path.parent, os.O_RDONLY)
    os.fsync(parent)
    os.close(parent)


def _over_mcp(folder: Path, seed: int) -> list[float]:
    corpus = Corpus(seed)
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
