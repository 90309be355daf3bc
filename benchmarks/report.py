"""What the benchmarks ran on, and tables: drawn on a terminal, plain when piped."""

import os
import platform
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles

from rich import box
from rich.console import Console
from rich.table import Table as Drawn

__all__ = ["Table", "machine", "p50", "p95", "show"]

Cell = str | int | float


@dataclass
class Table:
    """Rows of figures under a title; `note` says what the reader must know about them."""

    title: str
    columns: Sequence[str]
    note: str = ""
    rows: list[tuple[Cell, ...]] = field(default_factory=list[tuple[Cell, ...]])

    def add(self, *cells: Cell) -> None:
        """One more row."""
        self.rows.append(cells)


def p50(figures: Sequence[float]) -> float:
    """The middle one."""
    return median(figures)


def p95(figures: Sequence[float]) -> float:
    """What one in twenty exceeds."""
    return quantiles(figures, n=20)[-1]


def show(table: Table) -> None:
    """Print it."""
    if not sys.stdout.isatty():
        _plain(table)
        sys.stdout.flush()  # a run of an hour shows what it has
        return
    drawn = Drawn(title=table.title, caption=table.note, box=box.SIMPLE, title_justify="left")
    for number, column in enumerate(table.columns):
        drawn.add_column(column, justify="right" if number else "left")
    for row in table.rows:
        drawn.add_row(*map(_text, row))
    Console().print(drawn)


def machine(folder: Path) -> Table:
    """What the figures hold for."""
    table = Table("Machine", ("what", "is"))
    table.add("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    table.add("processor", _processor())
    table.add("cores", os.cpu_count() or 0)
    table.add("system", platform.platform())
    table.add("file system", _file_system(folder))
    table.add("Python", f"{platform.python_implementation()} {platform.python_version()}")
    table.add("SQLite", sqlite3.sqlite_version)
    table.add("mcp", version("mcp"))
    return table


def _plain(table: Table) -> None:
    lines = [tuple(table.columns), *(tuple(map(_text, row)) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{table.title}")
    for line in lines:
        first, *rest = zip(line, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
        print("  " + "   ".join(cells).rstrip())
    if table.note:
        print(f"  ({table.note})")


def _text(cell: Cell) -> str:
    match cell:
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:,.0f}" if cell >= 1_000 else f"{cell:.2f}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _file_system(folder: Path) -> str:
    """The kind of file system that the temporary folder is on, where the system tells."""
    try:
        mounts = Path("/proc/mounts").read_text("utf-8").splitlines()
    except OSError:
        return "unknown"
    best = ("", "unknown")
    for _, place, kind, *_ in map(str.split, mounts):
        if folder.resolve().is_relative_to(place) and len(place) > len(best[0]):
            best = (place, kind)
    return best[1]
