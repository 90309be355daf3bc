"""What a command takes of the processor from start to end, beside what each must load.

Processor time of all threads, because other work on the machine changes it least. `before` names
the `src` of another checkout, whose commands are run in turn with these, each on its own project.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median
from typing import Final

from report import Table
from wire import NOTHING, started

__all__ = ["measure_commands"]

_RUNS: Final = 20
_MEMORIES: Final = 5
_MANY: Final = 200
_AMONG_MANY: Final = f"add among {_MANY}"
_FILL: Final = """
import asyncio, sys
from corpus import Corpus
from memory_mcp import Memory

async def fill(project, count):
    corpus = Corpus(seed=1)
    async with Memory.open(project) as memory:
        for _ in range(count):
            draft = corpus.draft()
            await memory.add_memory(draft.content, kind=draft.kind, title=draft.title)

asyncio.run(fill(sys.argv[1], int(sys.argv[2])))
"""
_SOURCES: Final = Path(__file__).resolve().parent.parent / "src"
_FLOOR: Final = {
    "python -c pass": "pass",
    "import asyncio, sqlite3, pydantic_core": "import asyncio, sqlite3, pydantic_core",
}
"""What no command of ours can do without."""


def measure_commands(folder: Path, before: Path | None = None) -> Table:
    """All in turn, so that what else the machine does falls on each."""
    sides = {"now": _SOURCES} if before is None else {"before": before, "now": _SOURCES}
    environments = {side: _prepare(folder / side, sources) for side, sources in sides.items()}
    crowds = {side: _prepare_crowd(folder / side, each) for side, each in environments.items()}
    taken: dict[tuple[str, str], list[float]] = {}
    for number in range(-1, _RUNS):  # the first compiles, and is not counted
        for side, environment in environments.items():
            for name, words in _list_commands(number).items():
                spent = _spend(words, crowds[side] if name == _AMONG_MANY else environment)
                if number >= 0:
                    taken.setdefault((name, side), []).append(spent)
        if number >= 0:
            taken.setdefault(("do-nothing server", "now"), []).append(_spend_on_nothing(folder))
    table = Table(
        f"A command from start to end, {_RUNS} runs each, in turn (ms of processor time)",
        ("command", *(f"{side}: {what}" for side in sides for what in ("mean", "median", "min"))),
        f"in a project of a few memories, or of {_MANY}; "
        "the do-nothing server until its first answer and its end",
    )
    for name in dict.fromkeys(name for name, _ in taken):
        runs = [taken.get((name, side), taken[name, "now"]) for side in sides]
        table.add(name, *(of(each) for each in runs for of in (mean, median, min)))
    return table


def _list_commands(number: int) -> Mapping[str, tuple[str, ...]]:
    ours = ("-m", "memory_mcp")
    statement = f"Service {number} of the shop listens on port {9000 + number}."
    return {name: ("-c", code) for name, code in _FLOOR.items()} | {
        "log": (*ours, "log"),
        "status": (*ours, "status"),
        "search": (*ours, "search", "which port does the service listen on"),
        "add": (*ours, "add", statement),
        _AMONG_MANY: (*ours, "add", statement),
    }


def _prepare(folder: Path, sources: Path) -> Mapping[str, str]:
    """A project of a few memories; what its commands are run with."""
    project = folder / "project"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    ours = ("MEMORY_", "ATOMIC_", "SUPERMEMORY_", "CLAUDE_")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith(ours)
    } | {
        "PYTHONPATH": str(sources),
        "MEMORY_PROJECT_DIR": str(project),
        "MEMORY_HOME": str(folder / "home"),
        "MEMORY_EMBEDDER": "none",
    }
    for number in range(_MEMORIES):
        words = ("-m", "memory_mcp", "add", f"The module part{number} is kept by team {number}.")
        _spend(words, environment)
    return environment


def _prepare_crowd(folder: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    """A project of many memories, beside the one of a few."""
    project = folder / "crowd" / "project"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    crowd = {
        **environment,
        "MEMORY_PROJECT_DIR": str(project),
        "MEMORY_HOME": str(folder / "crowd" / "home"),
    }
    paths = os.pathsep.join((environment["PYTHONPATH"], str(Path(__file__).resolve().parent)))
    _spend(("-c", _FILL, str(project), str(_MANY)), {**crowd, "PYTHONPATH": paths})
    return crowd


def _spend(words: tuple[str, ...], environment: Mapping[str, str]) -> float:
    begin = _read_clock()
    subprocess.run((sys.executable, *words), capture_output=True, check=True, env=environment)
    return _read_clock() - begin


def _spend_on_nothing(folder: Path) -> float:
    begin = _read_clock()
    with started(NOTHING, folder / "nothing") as wire:
        wire.hello()
    return _read_clock() - begin


def _read_clock() -> float:
    """The processor time of all processes that were waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (spent.ru_utime + spent.ru_stime) * 1e3
