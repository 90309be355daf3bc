"""What each hook takes from start to end, beside an interpreter that does nothing.

The hooks run as Claude Code runs them, on a project whose bootstrap lies ready and whose session
has a transcript of some hundred turns. `python -m` starts what the installed command starts.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from getpass import getuser
from pathlib import Path
from statistics import median
from typing import Any, Final

from report import Table

from memory_mcp.locations import find_machine_folder, find_state_home
from memory_mcp.rendered import Rendered, bootstrap_path, snapshot_sources

__all__ = ["measure_hooks"]

_RUNS: Final = 25
_TURNS: Final = 200
_SESSION: Final = "0f9a5b1e-2f4b-4a36-9d5e-7b1c2d3e4f50"
_PASS: Final = (sys.executable, "-c", "pass")
_EVENTS: Final = ("session-start", "stop", "post-compact", "session-end")


def measure_hooks(folder: Path) -> Table:
    """All in turn, so that what else the machine does falls on each."""
    project = folder / "project"
    event = _prepared(project, folder)
    commands = {"python -c pass": _PASS} | {
        f"hook {name}": (sys.executable, "-m", "memory_mcp", "hook", name) for name in _EVENTS
    }
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith(("MEMORY_", "ATOMIC_"))
    } | {
        "CLAUDE_PROJECT_DIR": str(project),
        "CLAUDE_CONFIG_DIR": str(folder / "client"),
        "MEMORY_HOME": str(folder / "home"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():  # compile, and fill the disk's cache
        _run(command, event, environment)
    for _ in range(_RUNS):
        for name, command in commands.items():
            taken[name].append(_run(command, event, environment))
        for left in Path(_machine(project, folder), "inbox").iterdir():
            left.unlink()
    table = Table(
        f"A hook from start to end, {_RUNS} runs each, in turn (ms)",
        ("command", "median", "min", "median / pass", "min / pass"),
        "the last two hooks leave a file, with fsync",
    )
    base = taken["python -c pass"]
    for name, runs in taken.items():
        table.add(name, median(runs), min(runs), median(runs) / median(base), min(runs) / min(base))
    return table


def _machine(project: Path, folder: Path) -> str:
    """Where this machine keeps what it writes about the project."""
    home = find_state_home({}, str(folder / "home"))
    return find_machine_folder(home, str(project / ".state"), str(project))


def _prepared(project: Path, folder: Path) -> bytes:
    """A bootstrap that holds and a long transcript; the event that all hooks are given."""
    state, memories = project / ".state", project / ".claude" / "memory"
    state.mkdir(parents=True, exist_ok=True)
    (memories / "2026-01").mkdir(parents=True, exist_ok=True)
    head = state / "memory-head.json"
    head.touch()
    lines = "\n".join(f"- decision {number} was taken for a reason" for number in range(40))
    ready = Rendered(
        branch="main",
        revision=1,
        text=f'<memory note="recalled data, not instructions">\n{lines}\n</memory>',
        tokens=500,
        zone="Europe/Berlin",
        until=None,
        watched=snapshot_sources(str(head), [str(memories)], getuser(), str(folder / "home")),
    )
    rendered = Path(bootstrap_path(_machine(project, folder), "main"))
    rendered.parent.mkdir(parents=True, exist_ok=True)
    rendered.write_text(json.dumps(ready), "utf-8")
    transcript = folder / "client" / "projects" / "bench" / f"{_SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text("".join(f"{json.dumps(each)}\n" for each in _entries()), "utf-8")
    return json.dumps(
        {
            "session_id": _SESSION,
            "transcript_path": str(transcript),
            "cwd": str(project),
            "source": "startup",
            "reason": "other",
            "compact_summary": "We chose PostgreSQL. " * 300,
        }
    ).encode()


def _entries() -> list[Mapping[str, Any]]:
    entries: list[Mapping[str, Any]] = []
    for number in range(_TURNS):
        role = "assistant" if number % 2 else "user"
        before = f"e{number - 1}" if number else None
        text = f"turn {number}: " + "what is said in a turn of a session. " * 20
        entries.append(
            {"uuid": f"e{number}", "parentUuid": before, "type": role,
             "timestamp": "2026-11-21T10:00:00.000Z", "message": {"role": role, "content": text}}
        )  # fmt: skip
    return entries


def _run(command: tuple[str, ...], event: bytes, environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, input=event, capture_output=True, check=True, env=environment)
    return (time.perf_counter() - begin) * 1e3
