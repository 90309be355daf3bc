"""Machines and folders that are not as they should be: one sentence each, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint
from doors import record_file

_EVERYDAY = (("search", "x"), ("add", "more"), ("head",), ("checkpoint", "s"), ("context",))


@pytest.fixture
def state(run: Run, project: Path) -> Path:
    """The state folder of a project in which something happened."""
    as_json(run, "add", "x")
    as_json(run, "checkpoint", "One", "--phase", "1")
    return project / ".state"


@pytest.mark.parametrize("command", [*_EVERYDAY, ("reindex",)], ids=lambda c: c[0])
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


def test_a_folder_in_the_place_of_the_history_stops_nothing(run: Run, state: Path) -> None:
    """The history is told to people; no answer rests on it."""
    path = state / "history.jsonl"
    path.unlink()
    path.mkdir()
    for command in (*_EVERYDAY, ("reindex",)):
        as_json(run, *command)
    (state / "memory-head.json").unlink()
    as_json(run, "head")

    status, out, error = run("doctor")
    assert (status, error) == (0, "")
    assert f"Cannot read {path}" in out


def test_a_folder_in_the_place_of_a_record_is_a_damaged_record(run: Run, project: Path) -> None:
    """It is named by the doctor; everything else works on."""
    path = record_file(project, as_json(run, "add", "Orders live in PostgreSQL.")["memoryId"])
    as_json(run, "add", "Sessions live in Redis.")
    path.unlink()
    path.mkdir()

    assert len(as_json(run, "search", "sessions")["results"]) == 1
    as_json(run, "reindex")
    status, out, error = run("doctor")
    assert (status, error) == (1, "")
    assert f"Cannot read {path}: a folder stands where a file must be" in out


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


@pytest.mark.parametrize("name", ["MEMORY_HOME", "MEMORY_DIR", "MEMORY_STATE_DIR"])
def test_the_home_of_nobody_is_no_folder(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A folder called `~nobody` would be a surprise."""
    monkeypatch.setenv(name, "~no-such-user/x")
    said = complaint(run, "search", "x")
    assert f"{name} is '~no-such-user/x'; it must be a folder; nobody here has that home" in said


def test_the_project_of_nobody_is_no_folder(run: Run) -> None:
    """The option takes what the setting takes."""
    said = complaint(run, "--project", "~no-such-user/x", "search")
    assert "--project is '~no-such-user/x'; it must be a folder" in said


def test_a_remote_that_is_no_address_is_no_identity(run: Run, project: Path) -> None:
    """A typing error in git's config must not stop the memory."""
    (project / ".git" / "config").write_text('[remote "origin"]\n\turl = https://[bad/x.git\n')
    as_json(run, "add", "x")
    assert as_json(run, "head")["project"].startswith("shop-")


def _typed(
    folder: Path, *arguments: str, **environment: bytes
) -> "subprocess.CompletedProcess[str]":
    given = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    given |= {os.fsencode(name): value for name, value in environment.items()}
    return subprocess.run(
        [sys.executable, "-m", "memory_mcp", "--project", str(folder), *arguments],
        env=given, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="environments there hold text, not bytes")
@pytest.mark.parametrize("name", ["MEMORY_USER", "CLAUDE_CODE_SESSION_ID"])
def test_bytes_that_are_no_text_are_spelt_out(project: Path, name: str) -> None:
    """A login name of an old machine must not keep its user from remembering."""
    for arguments in (("add", "Orders live in PostgreSQL."), ("search", "orders")):
        done = _typed(project, *arguments, **{name: b"Jos\xe9"})
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
    said = complaint(run, "search", "x")
    assert "MEMORY_DIR is 'relative'; it must be a whole path" in said
    monkeypatch.delenv("MEMORY_DIR")
    as_json(run, "--project", str(project), "search", "x")
    monkeypatch.setenv("MEMORY_ENABLED", "false")
    assert run("search", "x")[1].startswith("Memory is off")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("port", ["-1", "65536", "99999", "x", "²"])
def test_a_port_that_none_can_have_is_wrong_usage(run: Run, port: str) -> None:
    """Said before anything is started."""
    status, _, error = run("serve", "--transport", "sse", "--port", port)
    assert status == 2
    assert f"argument --port: {port!r} is no port; choose 1 to 65535" in error
