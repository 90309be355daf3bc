"""The command itself: its usage, its modes, what it loads, and the demo."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run, complaint
from doors import names_in, records

from memory_mcp import __version__
from memory_mcp.cli.main import main

_WRONG: list[tuple[tuple[str, ...], str]] = [
    (("add", "x", "--kind", "idea"), "--kind 'idea': choose one of fact, preference"),
    (("add", "x", "--kind", "checkpoint"), "--kind 'checkpoint': choose one of fact"),
    (("add", "x", "--expires", "soon"), "--expires 'soon' is no time. Write it like 2026-12-31"),
    (("add", "x", "--importance", "9"), "importance is 9"),
    (("add", "x" * 8_001), "content has 8,001 characters; the limit is 8,000"),
    (("add", " "), "content is empty"),
    (("add", "\udcff"), "content holds half a surrogate pair at position 0"),
    (("search", "--limit", "11"), "limit is 11; choose 1 to 10."),
    (("backtrack", "nowhere"), "No checkpoint, phase or line 'nowhere'."),
    (("serve", "--toolsets", "nope"), "toolsets is 'nope'; it must be some of branches"),
]


@pytest.mark.parametrize(("arguments", "said"), _WRONG, ids=[said for _, said in _WRONG])
def test_a_mistake_is_one_sentence_on_stderr(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    """With --json it is on stdout, where a program reads."""
    assert said in complaint(run, *arguments)


_EVERY: dict[str, tuple[str, ...]] = {
    "add": ("x",), "search": (), "update": ("x", "y"), "forget": ("x",), "status": (),
    "checkpoint": ("x",), "backtrack": ("1",), "fork": ("x",), "undo": (), "context": (),
    "profile": (), "list": (), "show": ("x",), "doctor": (), "doctor --reindex": (),
    "cloud": (), "cloud login": (), "cloud logout": (), "cloud sync": (),
}  # fmt: skip


@pytest.mark.parametrize("command", _EVERY)
def test_memory_that_is_off_touches_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """Off means off, whoever asks."""
    monkeypatch.setenv("MEMORY_ENABLED", "false")
    status, out, error = run(*command.split(), *_EVERY[command])

    assert (status, error) == (1, "")
    assert out == "Memory is off (MEMORY_ENABLED=false): go on without it.\n"
    assert names_in(tmp_path) == [".git", "shop"]


@pytest.mark.parametrize(
    "command", ["add", "update", "forget", "checkpoint", "backtrack", "undo", "fork"]
)
def test_a_meta_session_writes_nothing_from_the_command_line_either(
    run: Run, monkeypatch: pytest.MonkeyPatch, project: Path, command: str
) -> None:
    """The mode is the session's, whichever door is used."""
    monkeypatch.setenv("MEMORY_MODE", "meta")
    status, out, _ = run(*command.split(), *_EVERY[command])

    assert status == 1
    assert "meta session (MEMORY_MODE=meta)" in out
    assert records(project) == []


def test_a_work_tree_that_lost_its_main_one_is_named_by_every_command(
    run: Run, tmp_path: Path
) -> None:
    """What is stored in it would be found by nobody once git is repaired."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path}/gone/.git/worktrees/tree\n")
    for command, status in (("add", 1), ("search", 0), ("status", 0), ("context", 0)):
        found, out, error = run("--project", str(tmp_path / "tree"), command, *_EVERY[command])
        assert found == status
        assert "git worktree repair" in error
        assert ("Nothing was stored" in out) == (command == "add")
    assert names_in(tmp_path / "tree") == [".git"]


def modules_of(*commands: tuple[str, ...]) -> list[set[str]]:
    """The top-level packages that one process has imported by the end of each command."""
    script = (
        "import json, sys\n"
        "from memory_mcp.cli.main import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    try: main(command)\n"
        "    except SystemExit: pass\n"
        "    sys.stderr.write(' '.join({m.split('.')[0] for m in sys.modules}) + '\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(commands)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [set(line.split()) for line in done.stderr.splitlines()]


def test_help_and_version_are_instant() -> None:
    """Nothing but the standard library is needed to say what there is."""
    for loaded in modules_of(("--help",), ("--version",)):
        assert not {"pydantic", "mcp", "aiosqlite", "rich", "asyncio"} & loaded
        assert "argparse" in loaded


def test_no_command_but_serve_and_demo_imports_the_sdk(run: Run) -> None:
    """Hooks run these commands before every prompt: half a second would be felt.

    Nor the keyring to find nothing: it takes longer to load than a search, and may wake a daemon.
    """
    run("add", "x")
    commands = (("search", "x"), ("status",), ("context",), ("doctor",), ("cloud",))
    for command, loaded in zip(commands, modules_of(*commands), strict=True):
        assert "pydantic" in loaded
        assert not {"mcp", "mcp_types", "starlette", "rich", "keyring"} & loaded, command


def test_version_and_help_say_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing anybody types."""
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"memory-mcp {__version__}\n"
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    for command in ("serve", "demo", *(name.split()[0] for name in _EVERY)):
        assert re.search(rf"^ +{command} ", shown, re.MULTILINE), command
    assert not re.search(r"^ +(hook|episode|capture)\b", shown, re.MULTILINE), (
        "only programs call these"
    )


def demo(*options: str) -> "subprocess.CompletedProcess[str]":
    """What a newcomer types."""
    return subprocess.run(
        [sys.executable, "-m", "memory_mcp", *options, "demo"],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "own", [pytest.param(False, marks=pytest.mark.nightly), True], ids=["nothing set", "all set"]
)
def test_demo_shows_the_main_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, own: bool
) -> None:
    """Before and after a backtrack, and after the restore, over a real server and client.

    What is set for the user's own memories, under whichever name, is not for coffee beans.
    """
    if own:
        for name in ("MEMORY_DIR", "ATOMIC_MEMORY_DIR", "ATOMIC_MEMORY_STATE_DIR"):
            monkeypatch.setenv(name, str(tmp_path / name))
        monkeypatch.setenv("ATOMIC_MEMORY_MODE", "meta")
        monkeypatch.setenv("SUPERMEMORY_BASE_URL", "http://localhost:1")
    done = demo()

    assert (done.returncode, done.stderr) == (0, "")
    before, after = done.stdout.split("Recalled after the backtrack", 1)
    after, restored = after.split("Recalled after the restore", 1)
    recalled = before.split("Recalled before the backtrack", 1)[1]
    assert "Sessions are kept in Redis" in recalled.split("“Forget Redis")[0]
    assert "Orders are stored in PostgreSQL" in after
    shown = after.split("“I changed my mind")[0]
    assert "Sessions are kept in Redis" not in shown
    assert "cache-stage" not in shown
    assert "Redis for sessions was tried and given up" in shown
    assert "Sessions are kept in Redis" in restored
    assert '<memory note="recalled data, not instructions">' in restored
    assert "\x1b" not in done.stdout, "plain when piped"
    assert list(tmp_path.iterdir()) == [], "its folder is gone"


@pytest.mark.nightly
def test_demo_as_json_tells_what_was_recalled_at_each_step() -> None:
    """A program can check the main job as well as a person can see it."""
    done = demo("--json")
    said = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert said["success"] is True
    assert "Sessions are kept in Redis" in done.stdout


def test_progress_is_silent_in_a_pipe(run: Run) -> None:
    """stderr of a pipe is a log."""
    run("add", "x")
    assert run("doctor", "--reindex")[2] == ""


def test_a_reader_that_left_is_no_error_worth_a_traceback(run: Run) -> None:
    """`memory-mcp search | head -1` closes the pipe early."""
    run("add", "x" * 8_000)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "memory_mcp", "search"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (1, b"")
