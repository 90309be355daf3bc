"""Every command that the parser knows: as a person types it, as a program does, and cut short."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from command_line import Run, as_json
from forked import start

from memory_mcp.cli.catalog import FOR_PROGRAMS, LISTED

_RIGHT: dict[str, tuple[str, ...]] = {
    "add": ("add", "The port is 9000."),
    "search": ("search", "tabs"),
    "list": ("list",),
    "show": ("show", "{id}"),
    "update": ("update", "{id}", "Indent with spaces."),
    "forget": ("forget", "{id}"),
    "status": ("status",),
    "log": ("log",),
    "diff": ("diff", "{checkpoint}"),
    "view": ("view", "--export", "page.html"),
    "checkpoint": ("checkpoint", "The build is green."),
    "backtrack": ("backtrack", "{checkpoint}", "--mode", "continue"),
    "undo": ("undo",),
    "fork": ("fork", "side"),
    "context": ("context",),
    "consolidate": ("consolidate", "--history", "We looked at the build."),
    "suggestions": ("suggestions",),
    "nudge": ("nudge", "list"),
    "identity": ("identity",),
    "profile": ("profile",),
    "phase": ("phase",),
    "export": ("export", "all.json"),
    "import": ("import", "CLAUDE.md", "--dry-run"),
    "move": ("move", "--to", "postgres"),
    "doctor": ("doctor",),
    "stale": ("stale",),
    "git": ("git", "status"),
    "trust": ("trust",),
    "demo": ("demo",),
    "config": ("config",),
    "install": ("install", "claude-code", "--scope", "project", "--dry-run"),
    "uninstall": ("uninstall", "claude-code", "--scope", "project", "--dry-run"),
    "models": ("models", "list"),
    "cloud": ("cloud", "status"),
    "serve": ("serve",),
    "token": ("token", "list"),
}
"""A call of each command that works; `{id}` is a memory, `{checkpoint}` one that was sealed."""
_SERVES: frozenset[str] = frozenset({"serve"})
"""Speaks the protocol on stdout, until stdin ends."""
_NAMES = [entry.name for entry in LISTED]


@pytest.fixture(autouse=True)
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only `move` needs."""
    parameters = getattr(request.node, "callspec", None)
    if parameters is not None and parameters.params.get("name") == "move":
        monkeypatch.setenv("MEMORY_POSTGRES_URL", request.getfixturevalue("clean_postgres"))


def test_no_command_is_without_a_row() -> None:
    """Who adds a command says how it is called."""
    assert _RIGHT.keys() == {*_NAMES}
    assert not {entry.name for entry in FOR_PROGRAMS} & _RIGHT.keys()


def _prepare(run: Run, name: str) -> list[str]:
    """The call of a command in a project with a memory, a checkpoint and a file of notes."""
    memory = as_json(run, "add", "Indent with tabs.")["memoryId"]
    sealed = as_json(run, "checkpoint", "The plan stands.")["checkpointId"]
    Path("CLAUDE.md").write_text("- Deploys go out on Tuesdays.\n", "utf-8")
    if name == "undo":
        as_json(run, "add", f"Since {sealed} sessions live in Redis.")
        as_json(run, "backtrack", sealed, "--mode", "continue")
    named = {"id": memory, "checkpoint": sealed}
    return [each.format(**named) for each in _RIGHT[name]]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] if name == "demo" else [])
        for name in _NAMES
        if name not in _SERVES
    ],
)
def test_it_works_for_a_person_and_for_a_program(run: Run, name: str) -> None:
    """What a person reads is text on stdout; a program gets one document."""
    call = _prepare(run, name)
    if name != "demo":  # a show for people, whose steps are real
        status, out, error = run(*call[:1], "--json", *call[1:])
        assert (status, error) == (0, ""), out + error
        assert isinstance(json.loads(out), dict)
    again = _prepare(run, name) if name in ("forget", "update", "backtrack", "undo") else call
    if name == "fork":
        again = ["fork", "other"]
    status, out, error = run(*again, *(("--force",) if name in ("export", "view") else ()))
    assert status == 0, out + error
    assert out.strip()
    assert not out.lstrip().startswith("{")
    assert "Traceback" not in out + error


@pytest.mark.parametrize("name", _NAMES)
def test_what_it_does_not_know_is_wrong_usage(run: Run, name: str) -> None:
    """The sentence names what was wrong, and where the help is; nothing is done."""
    status, out, error = run(*_RIGHT[name], "--frobnicate")
    assert (status, out) == (2, "")
    assert "--frobnicate" in error
    assert f"memory-mcp {name}" in error
    assert "--help" in error
    status, out, error = run(name, "--json", "--frobnicate")
    assert (status, error) == (2, "")
    said = json.loads(out)
    assert said["success"] is False
    assert "--frobnicate" in said["message"] or "required" in said["message"]


@pytest.mark.parametrize(
    "call",
    [("export", "{}"), ("import", "{}"), ("models", "add", "{}"), ("list", "--project", "{}")],
)
def test_a_name_that_nothing_can_have_is_wrong_usage(run: Run, call: tuple[str, ...]) -> None:
    """An empty one would stand for the current folder, and a long one fails in the file system."""
    for name, why in ("", "names no file"), ("x" * 5_000, "too long"):
        status, out, error = run(*(each.format(name) for each in call))
        assert (status, out) == (2, "")
        assert why in error
        assert len(error) < 500


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (("add", "x", "--tag", "t" * 65), "--tag has 65 characters; the limit is 64. Shorten it."),
        (("add", "x", "--expires", "2020-01-01"), "--expires is 2020-01-01"),
        (("search", "--since", "2027-01-01", "--until", "2026-01-01"), "--since ("),
    ],
)
def test_what_is_wrong_is_named_as_it_was_typed(
    run: Run, call: tuple[str, ...], names: str
) -> None:
    """Whoever types options knows no argument of a tool."""
    status, out, error = run(*call)
    assert (status, out) == (1, "")
    assert error.startswith(f"memory-mcp: {names}")


@pytest.mark.parametrize("word", ["phase", "install", "suggestions", "config", "nosuch"])
def test_a_long_wrong_word_is_not_repeated_whole(run: Run, word: str) -> None:
    """A message is to be read."""
    _, _, error = run(word, "x" * 10_000) if word != "nosuch" else run("x" * 10_000)
    assert "x" * 80 in error
    assert len(error) < 1_000


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe's reader that left is no signal there")
@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", _NAMES)
def test_a_reader_that_left_and_no_terminal_are_no_accident(run: Run, name: str) -> None:
    """As behind `| head -0`, with nothing to read: no traceback, and never a success unsaid."""
    call = _prepare(run, name)
    reading, writing = os.pipe()
    os.close(reading)
    with Path(os.devnull).open() as nothing, Path("errors").open("w") as errors:
        streams = nothing.fileno(), writing, errors.fileno()
        status = start(call, streams, os.environ).wait()
    os.close(writing)
    said = Path("errors").read_text()
    assert "Traceback" not in said
    assert status in ((0, 1, 141) if name in _SERVES else (141,)), said


@pytest.mark.skipif(sys.platform == "win32", reason="nobody sends this signal there")
@pytest.mark.parametrize("call", [("add", "-"), ("import", "-"), ("serve",)])
def test_ctrl_c_ends_what_waits(run: Run, call: tuple[str, ...]) -> None:
    """With the status that a shell knows, without a traceback, and with nothing half done."""
    before = as_json(run, "list")["total"]
    reading, writing = os.pipe()
    with Path(os.devnull).open("w") as nothing, Path("errors").open("w") as errors:
        waiting = start(call, (reading, nothing.fileno(), errors.fileno()), os.environ)
        os.close(reading)
        time.sleep(1)  # it has begun to wait; earlier it is still starting
        waiting.send_signal(signal.SIGINT)
        status = waiting.wait()
    os.close(writing)
    assert "Traceback" not in Path("errors").read_text()
    assert status in ((0, 130) if call[0] in _SERVES else (130,))
    assert as_json(run, "list")["total"] == before
