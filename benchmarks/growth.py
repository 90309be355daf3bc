"""What grows with memories, segments and branches: each use case in small and large projects.

`before` names the `src` of another checkout, whose use cases are run in turn with these, call by
call. Each side runs in a process of its own (`growth_steps`), on a project that its own code filled
with the same memories, because a format may have changed in between.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from growth_steps import LOST, ONCE, STEPS
from report import Table, p50

__all__ = ["SHAPES", "measure_growth"]

SHAPES: Final = ((100, 10, 0), (1_000, 10, 10), (10_000, 200, 100), (100_000, 2_000, 1_000))
"""Memories, segments on the main chain, and branches of a project."""
_USUAL: Final = 1_000
_TIMES: Final = 20
_WARM_UP: Final = 3
_SOURCES: Final = Path(__file__).resolve().parent.parent / "src"
_PROGRAM: Final = Path(__file__).with_name("growth_steps.py")

_Shape = tuple[int, int, int]
_Rows = dict[str, dict[str, float]]
"""What each use case took on each side, in ms."""


def measure_growth(folder: Path, sizes: list[int], before: Path | None = None) -> Table:
    """Every use case that writes or opens, in projects that grow in all three directions at once.

    The last columns are the largest beside the one with 1,000 memories and ten branches.
    """
    sides = {"now": _SOURCES} if before is None else {"before": before, "now": _SOURCES}
    shapes = [shape for shape in SHAPES if shape[0] in sizes]
    found = [_measure(folder, shape, sides) for shape in shapes]
    names = [f"{size:,} / {chain:,} / {others:,}" for size, chain, others in shapes]
    table = Table(
        f"Growth, {_TIMES} of each (p50, ms of processor time; memories / segments / branches)",
        ("use case", *(f"{s}: {what}" for what in (*names, "largest : 1,000") for s in sides)),
        note="processor time: of all threads; bare write: write, fsync, rename and fsync of the "
        "folder for the bytes of a record; doctor, the way back to the start, a lost index: once",
    )
    usual = next((place for place, shape in enumerate(shapes) if shape[0] == _USUAL), 0)
    for name in found[0]:
        figures = [rows[name][side] for rows in found for side in sides]
        times = [found[-1][name][side] / found[usual][name][side] for side in sides]
        table.add(name, *figures, *times)
    return table


def _measure(folder: Path, shape: _Shape, sides: dict[str, Path]) -> _Rows:
    rows: _Rows = {}
    with ExitStack() as running:
        steps = {
            side: running.enter_context(_started(folder / side, shape, sources))
            for side, sources in sides.items()
        }
        for name in STEPS:
            taken: dict[str, list[float]] = {side: [] for side in sides}
            for _ in range(1 if name in ONCE else _WARM_UP + _TIMES):
                for side, process in steps.items():
                    taken[side].append(_ask(process, name)[0])
            kept = 0 if name in ONCE else _WARM_UP
            rows[name] = {side: p50(each[kept:]) for side, each in taken.items()}
        for side, process in steps.items():
            own, until = _ask(process, LOST)
            rows.setdefault(LOST, {})[side] = own
            rows.setdefault(f"{LOST}, until it comes", {})[side] = until
    return rows


@contextmanager
def _started(folder: Path, shape: _Shape, sources: Path) -> Generator[subprocess.Popen[str]]:
    """A process with the project of this shape, filled if this is the first time."""
    own = folder / "-".join(map(str, shape))
    with subprocess.Popen(
        (sys.executable, str(_PROGRAM), str(own), *map(str, shape)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(sources)},
    ) as process:
        _hear(process)
        yield process


def _ask(process: subprocess.Popen[str], name: str) -> tuple[float, float]:
    """Run the step once; its ms of processor time and on the clock."""
    if process.stdin is None:
        raise AssertionError("no pipe")
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    own, clock = json.loads(_hear(process))
    return own, clock


def _hear(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise AssertionError(f"the measured process went away, code {process.wait()}")
    return line
