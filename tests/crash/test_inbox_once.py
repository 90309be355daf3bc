"""What hooks left is worked off exactly once, whatever dies in between."""

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from crew import FAKES, crew_on
from depth import depth
from hooked import entry, transcript
from power import Remembered
from project import copy_project, machine_of, make_project, settings_in

from memory_mcp.build import open_workspace
from memory_mcp.hooks import files
from memory_mcp.sessions import process_inbox

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("inbox_worker.py")
PROCESSES = depth(2, 4)
EVENTS = depth(3, 12)
STEPS_MIN = 12
"""Two records and two removals with their fsyncs; fewer would mean that nothing was cut."""


def state_of(root: Path) -> str:
    return str(machine_of(root))


def leave(root: Path, session: str) -> None:
    """A session that was compacted and ended, as its hooks say it."""
    file = transcript(
        root / "claude",
        entry("a", None, "user", f"We decided to keep the table {session} in PostgreSQL."),
        entry("b", "a", "assistant", [{"type": "text", "text": f"Done: {session} is migrated."}]),
        session=session,
    )
    event = {"session": session, "branch": "main"}
    summary = f"The table {session} rests in PostgreSQL."
    files.leave_event(
        state_of(root), {**event, "event": "post-compact", "compact_summary": summary}
    )
    files.leave_event(
        state_of(root), {**event, "event": "session-end", "transcript_path": str(file)}
    )


def left(root: Path) -> list[Path]:
    return list(Path(state_of(root), "inbox").glob("*.json"))


def told(root: Path) -> dict[str, list[str]]:
    """Which sessions have which records, a session for each record there is."""
    found: dict[str, list[str]] = {"episode": [], "summary": []}
    for file in root.rglob("*.json"):
        if file.parent.name.startswith("20"):
            record: dict[str, Any] = json.loads(file.read_bytes())
            found.setdefault(record["kind"], []).append(record["origin"]["session"])
    return found


def worker(root: Path, cut: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(WORKER), str(root), cut, "one"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": FAKES},
    )  # fmt: skip


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_kill_at_any_step_leaves_the_rest_to_the_next_and_nothing_twice(tmp_path: Path) -> None:
    """Effect first, then the removal; the effect knows itself again."""
    template = tmp_path / "template"
    make_project(template)
    leave(template, "s1")
    for cut_at in itertools.count():
        root = tmp_path / f"cut-{cut_at}"
        copy_project(template, root)
        for event in left(root):  # the copy's transcript is its own
            event.write_text(event.read_text("utf-8").replace(str(template), str(root)), "utf-8")
        first = worker(root, str(cut_at))
        assert first.returncode in (0, -signal.SIGKILL), first.stderr
        second = worker(root, "999999")
        assert second.stdout == "done all\n", second.stderr

        assert told(root) == {"episode": ["s1"], "summary": ["s1"]}, cut_at
        assert left(root) == []
        if first.returncode == 0:
            assert cut_at >= STEPS_MIN
            return


@pytest.mark.nightly
def test_processes_that_work_together_and_are_killed_do_each_event_once(tmp_path: Path) -> None:
    """The lock goes with its process; nobody does what another has done."""
    make_project(tmp_path)
    sessions = [f"s{number}" for number in range(EVENTS)]
    with crew_on(WORKER, str(tmp_path), "-") as crew:
        crew.start(PROCESSES)
        for number, session in enumerate(sessions):
            leave(tmp_path, session)
            if number % 3 == 2:
                crew.hear(1)
                crew.kill(1)
                crew.start(1)
        crew.end()
    assert worker(tmp_path, "999999").stdout == "done all\n"

    found = told(tmp_path)
    assert sorted(found["episode"]) == sorted(sessions)
    assert sorted(found["summary"]) == sorted(sessions)
    assert left(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be synced on Windows")
async def test_what_a_hook_left_survives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook's own writer syncs the file, and the folder it stands in."""
    make_project(tmp_path)
    with Remembered(tmp_path) as remembered:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", remembered.watching(os.fsync))
            files.leave_event(
                state_of(tmp_path), {"event": "post-compact", "compact_summary": "It is so."}
            )
        remembered.forget_the_rest()
    async with open_workspace(settings_in(tmp_path)) as built:
        assert (await process_inbox(built.workspace)).done == 1
