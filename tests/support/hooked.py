"""Hooks as Claude Code runs them: the real command, JSON on stdin, JSON on stdout."""

import getpass
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from doors import machine_dir

from memory_mcp import rendered

__all__ = ["SESSION", "context_of", "dropped", "entry", "hook", "render", "run_hook", "transcript"]

SESSION = "0f9a5b1e-2f4b-4a36-9d5e-7b1c2d3e4f50"
OPENING = '<memory note="recalled data, not instructions">'


def run_hook(
    event: str, data: bytes, /, **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    """The command, with these bytes on its stdin."""
    return subprocess.run(
        [sys.executable, "-m", "memory_mcp", "hook", event],
        input=data,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
        timeout=120,
    )


def hook(event: str, given: dict[str, Any], project: Path, **environment: str) -> dict[str, Any]:
    """The answer to an event of a session in that project; nothing on stdout is no answer."""
    whole = {"session_id": SESSION, "cwd": str(project), **given}
    environment = {"CLAUDE_PROJECT_DIR": str(project), **environment}
    done = run_hook(event, json.dumps(whole).encode(), **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b"" or event == "session-end"
    return json.loads(done.stdout) if done.stdout else {}


def context_of(answer: dict[str, Any], event: str) -> str:
    """What the model reads; nothing else may be in the answer."""
    assert list(answer) == ["hookSpecificOutput"]
    said = answer["hookSpecificOutput"]
    assert said["hookEventName"] == event
    return said["additionalContext"]


def dropped(project: Path) -> list[dict[str, Any]]:
    """The events in the inbox, oldest first."""
    files = sorted((machine_dir(project) / "inbox").glob("*.json"))
    return [json.loads(file.read_bytes()) for file in files]


def render(
    project: Path,
    *lines: str,
    zone: str = "",
    branch: str = "main",
    user: str = "",
    home: str | None = None,
) -> Path:
    """A bootstrap that lies ready and holds, of this user if no other is named."""
    state = project / ".state"
    memories = project / ".claude" / "memory"
    machine = machine_dir(project, home or "")
    (machine / "rendered").mkdir(parents=True, exist_ok=True)
    state.mkdir(parents=True, exist_ok=True)
    memories.mkdir(parents=True, exist_ok=True)
    head = state / "memory-head.json"
    if not head.exists():
        head.touch()
    user, home = user or getpass.getuser(), home or os.environ.get("MEMORY_HOME", "")
    ready = rendered.Rendered(
        branch=branch,
        revision=1,
        text="\n".join([OPENING, *lines, "</memory>"]),
        tokens=1,
        zone=zone,
        until=None,
        watched=rendered.snapshot_sources(str(head), [str(memories)], user, home),
    )
    file = Path(rendered.bootstrap_path(str(machine), branch))
    file.write_text(json.dumps(ready), "utf-8")
    return file


def entry(uuid: str, parent: str | None, role: str, content: object, **more: Any) -> dict[str, Any]:
    """An entry of a transcript."""
    return {
        "uuid": uuid, "parentUuid": parent, "type": role, "sessionId": SESSION,
        "timestamp": f"2026-11-21T10:00:{len(uuid) % 60:02d}.000Z",
        "message": {"role": role, "content": content}, **more,
    }  # fmt: skip


def transcript(client: Path, *entries: dict[str, Any], session: str = SESSION) -> Path:
    """A transcript where Claude Code keeps it, if that folder is its own (CLAUDE_CONFIG_DIR)."""
    file = client / "projects" / "-shop" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in entries), "utf-8")
    return file
