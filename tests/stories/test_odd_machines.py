"""Machines and folders that are not as they should be: one sentence each, never a traceback."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint
from doors import agent, files_with, record_file, text_of
from hooked import hook

from memory_mcp.build import build_workspace
from memory_mcp.config.settings import read_settings
from memory_mcp.disk import Disk
from memory_mcp.hooks.place import find_place

_EVERYDAY = (("search", "x"), ("add", "more"), ("status",), ("checkpoint", "s"), ("context",))


@pytest.fixture
def state(run: Run, project: Path) -> Path:
    """The state folder of a project in which something happened."""
    as_json(run, "add", "x")
    as_json(run, "checkpoint", "One", "--phase", "1")
    return project / ".state"


@pytest.mark.files
@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", [*_EVERYDAY, ("doctor", "--reindex")], ids=lambda c: c[0])
def test_a_folder_in_the_place_of_the_head_is_named(
    run: Run, state: Path, command: tuple[str, ...]
) -> None:
    """Whoever moved it there can move it away."""
    path = state / "memory-head.json"
    path.unlink()
    path.mkdir()

    said = complaint(run, *command)
    assert f"Cannot read {path}: a folder stands where a file must be" in said
    status, out, error = run("doctor")
    assert (status, error) == (1, "")
    assert str(path) in out


@pytest.mark.files
def test_a_folder_in_the_place_of_the_history_stops_nothing(run: Run, state: Path) -> None:
    """The history is told to people; no answer rests on it."""
    path = state / "history.jsonl"
    path.unlink()
    path.mkdir()
    for command in (*_EVERYDAY, ("doctor", "--reindex")):
        as_json(run, *command)
    (state / "memory-head.json").unlink()
    as_json(run, "status")

    status, out, error = run("doctor")
    assert (status, error) == (0, "")
    assert f"Cannot read {path}" in out


@pytest.mark.files
def test_a_folder_in_the_place_of_a_record_is_a_damaged_record(run: Run, project: Path) -> None:
    """It is named by the doctor; everything else works on."""
    path = record_file(project, as_json(run, "add", "Orders live in PostgreSQL.")["memoryId"])
    as_json(run, "add", "Sessions live in Redis.")
    path.unlink()
    path.mkdir()

    assert len(as_json(run, "search", "sessions")["results"]) == 1
    as_json(run, "doctor", "--reindex")
    status, out, error = run("doctor")
    assert (status, error) == (1, "")
    assert f"Cannot read {path}: a folder stands where a file must be" in out


@pytest.mark.files
def test_git_goes_on_seeing_a_folder_that_is_not_ours(
    run: Run, monkeypatch: pytest.MonkeyPatch, project: Path, tmp_path: Path
) -> None:
    """A .gitignore of ours in the project's own folder would hide its new files from git."""
    (project / "main.py").touch()
    for folder, ignored in ((project, False), (tmp_path / "new", True), (project / ".state", True)):
        monkeypatch.setenv("MEMORY_STATE_DIR", str(folder))
        as_json(run, "add", "x")
        as_json(run, "checkpoint", "One")
        assert (folder / "memory-head.json").exists()
        assert (folder / ".gitignore").exists() is ignored, folder


_LONG = "a" * 300


@pytest.mark.parametrize("name", ["MEMORY_HOME", "MEMORY_DIR", "MEMORY_STATE_DIR"])
def test_a_path_that_is_too_long_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """It names the path, and the settings that make it shorter."""
    monkeypatch.setenv(name, str(tmp_path / _LONG))
    for command in (("add", "x"), ("add", "x", "--scope", "user"), ("search", "x"), ("doctor",)):
        status, out, error = run(*command)
        if status != 0:
            assert "Traceback" not in error
            assert _LONG in out + error
            assert "too long" in out + error


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["MEMORY_HOME", "MEMORY_DIR", "MEMORY_STATE_DIR"])
@pytest.mark.parametrize(
    "wrong",
    [
        ("$HOME/mem", "nothing puts a value in the place of '$HOME', so write it out"),
        ("x/${HOME}", "nothing puts a value in the place of '${HOME}', so write it out"),
        ("{file}", "it must be a folder; '{file}' is none"),
        ("{file}/below", "it must be a folder; '{file}' is none"),
    ],
)
def test_a_folder_that_cannot_be_one_is_named_and_costs_no_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, wrong: tuple[str, str]
) -> None:
    """By its setting, in each answer. A file that stands there may be the system's."""
    as_json(run, "add", "Orders live in PostgreSQL.")
    file = tmp_path / "file"
    file.write_bytes(b"mine")
    value, why = (text.replace("{file}", str(file)) for text in wrong)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, value)
    for command in (("search", "orders"), ("status",), ("context",), ("add", "Sessions expire.")):
        _, _, said = run(*command)
        assert said.startswith(f"memory-mcp: {name} is ")
        assert why in said
        assert "Move" not in said
    assert files_with(tmp_path, "Sessions expire") == []
    assert [found for found in tmp_path.rglob("*") if "$" in found.name] == []
    assert file.read_bytes() == b"mine"


@pytest.fixture
def no_home(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """MEMORY_HOME names a file, and the usual home has a memory; what is to be said of that."""
    monkeypatch.delenv("MEMORY_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    as_json(run, "add", "Tabs are what I prefer.", "--scope", "user")
    file = tmp_path / "file"
    file.write_bytes(b"mine")
    monkeypatch.setenv("MEMORY_HOME", str(file))
    return f"MEMORY_HOME is {str(file)!r}; it must be a folder; {str(file)!r} is none. Correct it"


def test_a_home_that_is_none_opens_no_other_one(run: Run, no_home: str, tmp_path: Path) -> None:
    """What is in the usual one is not what was asked for: it is neither read nor written."""
    before = sorted(tmp_path.rglob("*"))
    for command in (("list",), ("doctor",), ("token", "add", "ada"), ("trust", "--list"),
                    ("serve", "--transport", "sse", "--port", "0")):  # fmt: skip
        status, out, said = run(*command)
        assert (status, out) == (1, "")
        assert no_home in said
    assert no_home in run("config")[1]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.anyio
async def test_an_agent_without_a_home_goes_on_without_a_memory(no_home: str) -> None:
    """It reads why, and nothing of another home."""
    async with agent(read_settings(), "auto") as client:
        found = text_of(await client.call_tool("search_memories", {"query": "tabs"}))
    assert "Tabs" not in found
    assert no_home in found


@pytest.mark.parametrize("name", ["MEMORY_HOME", "MEMORY_STATE_DIR"])
def test_a_hook_believes_no_folder_that_the_server_does_not_believe(name: str) -> None:
    """It would begin another memory, which nobody reads."""
    with pytest.raises(ValueError, match=rf"{name} is '\$HOME/x'; it must be a folder"):
        find_place({name: "$HOME/x"}, {})


def test_a_long_user_has_a_memory_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is called after the user, and its name has an end."""
    for user in ("a" * 300, "a" * 301):
        monkeypatch.setenv("MEMORY_USER", user)
        as_json(run, "add", f"I am one of {len(user)}.", "--scope", "user")
        (found,) = as_json(run, "search", "one")["results"]
        assert found["content"] == f"I am one of {len(user)}."


@pytest.mark.parametrize(
    ("given", "place", "setting"),
    [
        ({}, "user_memory_dir", "HOME"),
        ({}, "machine_dir", "HOME"),
        ({}, "user_state_dir", "HOME"),
        ({}, "memory_dir", "HOME"),
        ({}, "state_dir", "HOME"),
        ({"MEMORY_PROJECT_DIR": "p"}, "memory_dir", "DIR"),
        ({"MEMORY_PROJECT_DIR": "p"}, "state_dir", "STATE_DIR"),
        ({"MEMORY_PROJECT_DIR": "p"}, "machine_dir", "HOME"),
        ({"MEMORY_DIR": "m"}, "memory_dir", "DIR"),
        ({"MEMORY_STATE_DIR": "s"}, "state_dir", "STATE_DIR"),
        (
            {"MEMORY_PROJECT_DIR": "p"},
            "project_dir",
            "HOME, MEMORY_DIR or MEMORY_STATE_DIR, whichever leads there,",
        ),
    ],
)
def test_the_advice_names_the_setting_that_moves_the_file(
    tmp_path: Path, given: dict[str, str], place: str, setting: str
) -> None:
    """Another one would change nothing."""
    (tmp_path / "p").mkdir()
    settings = {name: str(tmp_path / folder) for name, folder in given.items()}
    built = build_workspace(
        read_settings({"MEMORY_HOME": str(tmp_path / "h"), **settings}), disk := Disk(), tmp_path
    )  # fmt: skip
    path = getattr(built.places, place) / "2026-11" / "x"

    refused = disk.unavailable(PermissionError(errno.EACCES, "no"), path, "store")

    assert f"or set MEMORY_{setting} to one that is" in str(refused)


@pytest.mark.files
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="/proc takes no folder, even root's"
)
def test_a_folder_that_the_system_does_not_make_is_no_project_that_is_gone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, says the system, and then there is no such file."""
    monkeypatch.setenv("MEMORY_HOME", "/proc/nope")
    _, _, said = run("search", "x")

    assert "MEMORY_HOME" in said
    assert "renamed" not in said


@pytest.mark.parametrize("name", ["MEMORY_HOME", "MEMORY_DIR", "MEMORY_STATE_DIR"])
def test_the_home_of_nobody_is_no_folder(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """A folder called `~nobody` would be a surprise; so would a memory anywhere else."""
    monkeypatch.setenv(name, "~no-such-user/x")
    status, _, said = run("search", "x")
    assert status == (1 if name == "MEMORY_HOME" else 0)
    assert f"{name} is '~no-such-user/x'; it must be a folder; nobody here has that home" in said
    assert ("memory is off" if status else "Until then nothing is written") in said
    run("add", "Orders live in PostgreSQL.")
    assert files_with(tmp_path, "PostgreSQL") == []
    assert [found for found in tmp_path.rglob("*") if "no-such-user" in found.name] == []


def test_the_project_of_nobody_is_no_folder(run: Run) -> None:
    """The option takes what the setting takes."""
    said = complaint(run, "--project", "~no-such-user/x", "search")
    assert "--project is '~no-such-user/x'; it must be a folder" in said


def test_a_remote_that_is_no_address_is_no_identity(run: Run, project: Path) -> None:
    """A typing error in git's config must not stop the memory."""
    (project / ".git" / "config").write_text('[remote "origin"]\n\turl = https://[bad/x.git\n')
    as_json(run, "add", "x")
    assert as_json(run, "status")["project"].startswith("shop-")


def _typed(
    folder: Path, *arguments: str, **environment: bytes
) -> "subprocess.CompletedProcess[str]":
    given = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    given |= {os.fsencode(name): value for name, value in environment.items()}
    return subprocess.run(
        [sys.executable, "-m", "memory_mcp", "--project", str(folder), *arguments],
        env=given, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="environments there hold text, not bytes")
def test_bytes_that_are_no_text_are_spelt_out(project: Path) -> None:
    """A login name of an old machine must not keep its user from remembering."""
    odd = {"MEMORY_USER": b"Jos\xe9", "CLAUDE_CODE_SESSION_ID": b"Jos\xe9"}
    for arguments in (("add", "Orders live in PostgreSQL."), ("search", "orders")):
        done = _typed(project, *arguments, **odd)
        assert (done.returncode, done.stderr) == (0, "")
    assert "Orders live in PostgreSQL." in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_folder_that_is_gone_is_said_to_be_gone(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, project: Path
) -> None:
    """A terminal may stand in a folder that was removed meanwhile."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    said = complaint(run, "search", "x")
    assert said.startswith("The current folder no longer exists. Change to one that does")
    monkeypatch.setenv("MEMORY_DIR", "relative")
    status, out, said = run("search", "x")
    assert (status, out) == (1, "")
    assert "MEMORY_DIR is 'relative'; it must be a whole path" in said
    assert "memory-mcp: The current folder no longer exists. Change to one that does" in said
    monkeypatch.delenv("MEMORY_DIR")
    as_json(run, "--project", str(project), "search", "x")
    monkeypatch.setenv("MEMORY_ENABLED", "false")
    assert run("search", "x")[2].startswith("memory-mcp: Memory is off")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("port", ["-1", "65536", "99999", "x", "²"])
def test_a_port_that_none_can_have_is_wrong_usage(run: Run, port: str) -> None:
    """Said before anything is started."""
    status, _, error = run("serve", "--transport", "sse", "--port", port)
    assert status == 2
    assert f"argument --port: {port!r} is no port; choose 1 to 65535" in error


_PLACES = (
    ".state", ".state/memory-head.json", ".state/history.jsonl", ".state/.gitignore",
    ".claude", ".claude/memory", ".claude/memory/MEMORY.md", ".claude/memory/.gitignore",
    ".claude/session-context.md", ".git", ".git/config", ".gitignore", ".mcp.json", ".cursor",
    "month", "record",
)  # fmt: skip
_COMMANDS = (
    *_EVERYDAY, ("doctor", "--reindex"), ("doctor",), ("doctor", "--repair"), ("trust",),
    ("trust", "--list"), ("list",), ("show", "x"),
    ("backtrack", "start"), ("export", "notes/"), ("import", "CLAUDE.md"), ("profile",),
    ("install", "claude-code", "--scope", "project"), ("install", "cursor", "--scope", "project"),
)  # fmt: skip


@pytest.mark.files
@pytest.mark.sampled(93)
@pytest.mark.parametrize(("place", "kind"), [*product(_PLACES, ("file", "folder", "link", "pipe"))])
def test_whatever_stands_in_a_place_of_ours_every_command_ends_with_a_sentence(
    run: Run, state: Path, project: Path, place: str, kind: str
) -> None:
    """A repository can bring anything under any name: a traceback helps nobody."""
    (month,) = (project / ".claude" / "memory").glob("20*")
    special = {"month": month, "record": min(month.glob("*.json"))}
    path = special.get(place, state.parent / place)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    stand: dict[str, Callable[[], object]] = {
        "file": lambda: path.write_text("x\n", "utf-8"),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to(project.parent / "nowhere"),
        "pipe": lambda: os.mkfifo(path),
    }
    stand[kind]()
    (project / "CLAUDE.md").write_text("- Tabs, not spaces.\n", "utf-8")

    for command in _COMMANDS:
        status, out, error = run(*command)
        assert status in (0, 1), command
        assert out or error, command
    assert not (project.parent / "nowhere").exists()


@pytest.mark.files
@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", [".state", ".claude", ".claude/memory", "month", ".git"])
def test_hooks_go_on_whatever_stands_in_a_place_of_ours(
    run: Run, state: Path, project: Path, place: str
) -> None:
    """They fail open: one line at most, and the session goes on."""
    as_json(run, "context")
    (month,) = (project / ".claude" / "memory").glob("20*")
    path = month if place == "month" else state.parent / place
    shutil.rmtree(path)
    path.write_text("x\n", "utf-8")

    for event in ("session-start", "stop", "post-compact", "session-end"):
        answer = hook(event, {"source": "startup", "compact_summary": "We agreed."}, project)
        assert "Traceback" not in str(answer)
