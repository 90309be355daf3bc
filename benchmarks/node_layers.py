"""Nodes of a search tree: the same work on a leaf of a small tree and of a large one.

Beside it the same work on a plain SQLite file with a recursive query over the ancestors.
"""

import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from house import QuickDisk, filled, settings_in
from report import Table, p50

from memory_mcp import layers
from memory_mcp.build import open_workspace
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.layers import ArchivalWrite, CoreSet, RecallAppend, Write
from memory_mcp.engine.workspace import Workspace

__all__ = ["measure_layers"]

_SMALL: Final = (10, 10, 1_000)
_LARGE: Final = (1_000, 50, 100_000)
"""Nodes, the depth of the leaf that is measured, and records."""
_TIMES: Final = 20
_WARM_UP: Final = 3
_BUDGET: Final = 8_000


async def measure_layers(folder: Path, most: int) -> Table:
    """Processor time of a fork, a write, a read and a prompt, small and large, ours and SQLite's.

    The large tree has its thousand nodes and its depth, and at most so many records.
    """
    shapes = [_SMALL, (*_LARGE[:2], min(most, _LARGE[2]))]
    ours: dict[str, list[float]] = {}
    plain: dict[str, list[float]] = {}
    for nodes, depth, records in shapes:
        own = folder / f"layers-{nodes}-{records}"
        leaf = await _grow(own, nodes, depth, records)
        async with open_workspace(settings_in(own)) as built:
            for name, took in (await _measure(built.workspace.at(leaf))).items():
                ours.setdefault(name, []).append(took)
        for name, took in _measure_sqlite(own / "plain.sqlite3", nodes, depth, records).items():
            plain.setdefault(name, []).append(took)
    columns = [f"{nodes:,} / {depth} / {records:,}" for nodes, depth, records in shapes]
    table = Table(
        f"Layers of a leaf, {_TIMES} of each (p50, ms of processor time; nodes / depth / records)",
        ("what", *columns, "large : small", *(f"SQLite {each}" for each in columns)),
        note="SQLite: a table of nodes and one of records, a recursive query for the ancestors; "
        "it keeps no history, no scope and no place for a second clone",
    )
    for name, (small, large) in ours.items():
        table.add(name, small, large, large / small, *plain[name])
    return table


async def _grow(own: Path, nodes: int, depth: int, records: int) -> BranchName:
    """A project with that many records, a chain of nodes below them, and the others beside it."""
    async with filled(own, records):
        pass
    async with open_workspace(settings_in(own), disk=QuickDisk()) as built:
        parent = "main"
        for number in range(depth):
            await layers.fork_node(built.workspace, parent, parent := f"deep-{number}")
        for number in range(nodes - depth):
            above = f"deep-{number % depth}"
            await layers.fork_node(built.workspace, above, f"wide-{number}")
    return BranchName(parent)


async def _measure(leaf: Workspace) -> dict[str, float]:
    numbers = iter(range(1_000_000))

    async def fork() -> None:
        await layers.fork_node(leaf, leaf.caller.branch, f"new-{next(numbers)}")

    async def write() -> None:
        number = next(numbers)
        event = RecallAppend(summary=f"Run {number} reached {number} points.", kind="result")
        text = ArchivalWrite(text=f"The loss of run {number} fell to {number}.", tags=("runs",))
        writes: list[Write] = [CoreSet(key="best", value=str(number)), event, text]
        await layers.write_node(leaf, writes)

    async def read() -> None:
        await layers.read_node(leaf)

    async def render() -> None:
        await layers.render_for_prompt(leaf, "", _BUDGET)

    steps = {"fork": fork, "write": write, "read": read, "render": render}
    return {name: await _take_time(step) for name, step in steps.items()}


async def _take_time(step: Callable[[], Awaitable[None]]) -> float:
    figures: list[float] = []
    for _ in range(_WARM_UP + _TIMES):
        begun = time.process_time()
        await step()
        figures.append(1_000 * (time.process_time() - begun))
    return p50(figures[_WARM_UP:])


_ANCESTORS: Final = """
WITH RECURSIVE chain(id, depth) AS (
  SELECT ?, 0 UNION ALL
  SELECT nodes.parent, depth + 1 FROM nodes JOIN chain ON nodes.id = chain.id
  WHERE nodes.parent IS NOT NULL)
SELECT layer, key, text FROM records JOIN chain ON node = chain.id
WHERE layer = ? ORDER BY at DESC LIMIT ?
"""


def _measure_sqlite(path: Path, nodes: int, depth: int, records: int) -> dict[str, float]:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE nodes (id TEXT PRIMARY KEY, parent TEXT)")
        base.execute("CREATE TABLE records (node TEXT, layer TEXT, key TEXT, text TEXT, at REAL)")
        base.execute("CREATE INDEX by_node ON records (node, layer, at)")
        chain = ["main", *(f"deep-{n}" for n in range(depth))]
        base.execute("INSERT INTO nodes VALUES ('main', NULL)")
        base.executemany("INSERT INTO nodes VALUES (?, ?)", zip(chain[1:], chain, strict=False))
        wide = ((f"wide-{n}", f"deep-{n % depth}") for n in range(nodes - depth))
        base.executemany("INSERT INTO nodes VALUES (?, ?)", wide)
        texts = (("main", "archival", "", f"Record {n} of the run.", n) for n in range(records))
        base.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", texts)
        base.commit()
        return _time_sqlite(base, chain[-1])


def _time_sqlite(base: sqlite3.Connection, leaf: str) -> dict[str, float]:
    numbers = iter(range(1_000_000))

    def fork() -> None:
        with base:
            base.execute("INSERT INTO nodes VALUES (?, ?)", (f"new-{next(numbers)}", leaf))

    def write() -> None:
        number = next(numbers)
        layers_ = ("core", "recall", "archival")
        rows = [(leaf, layer, "best", f"Run {number}", time.time()) for layer in layers_]
        with base:
            base.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)

    def read() -> list[tuple[str, str, str]]:
        wanted = (("core", 200), ("recall", 50), ("archival", 20))
        return [row for each in wanted for row in base.execute(_ANCESTORS, (leaf, *each))]

    def render() -> None:
        "\n".join(f"- {key}: {text}" for _, key, text in read())[:_BUDGET]

    def take(step: Callable[[], object]) -> float:
        figures: list[float] = []
        for _ in range(_WARM_UP + _TIMES):
            begun = time.process_time()
            step()
            figures.append(1_000 * (time.process_time() - begun))
        return p50(figures[_WARM_UP:])

    steps = {"fork": fork, "write": write, "read": read, "render": render}
    return {name: take(step) for name, step in steps.items()}
