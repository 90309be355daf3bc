"""From starting the process to its first answers, beside a server that does nothing."""

import time
from pathlib import Path
from statistics import median
from typing import Final

from report import Table
from wire import NOTHING, SERVER, started

__all__ = ["measure_start"]

_RUNS: Final = 25


def measure_start(folder: Path) -> Table:
    """Both servers in turn, so that what else the machine does falls on both."""
    commands = {"do-nothing server": NOTHING, "memory-mcp serve": SERVER}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for name, command in commands.items():  # compile, and fill the disk's cache
        _run(command, folder / name)
    for _ in range(_RUNS):
        for name, command in commands.items():
            taken[name].append(_run(command, folder / name))
    table = Table(
        f"Cold start, {_RUNS} runs each, in turn (ms)",
        ("server", "first answer: median", "min", "tools listed: median", "min"),
    )
    for name, runs in taken.items():
        first, listed = zip(*runs, strict=True)
        table.add(name, median(first), min(first), median(listed), min(listed))
    shares = [
        ours / theirs
        for ours, theirs in zip(*(table.rows[i][1:] for i in (1, 0)), strict=True)
        if isinstance(ours, float) and isinstance(theirs, float)
    ]
    table.add("ratio", *shares)
    return table


def _run(command: tuple[str, ...], folder: Path) -> tuple[float, float]:
    begin = time.perf_counter()
    with started(command, folder) as wire:
        wire.hello()
        first = time.perf_counter()
        wire.ready()
        wire.ask("tools/list", {})
        listed = time.perf_counter()
    return (first - begin) * 1e3, (listed - begin) * 1e3
