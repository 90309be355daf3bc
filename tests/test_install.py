"""`install` and `uninstall`: a client's own configuration, edited without losing anything in it."""

import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from client_places import NAMES, PLACES, SAMPLES, file_of, files_in, given, home, linux, servers
from command_line import Run, as_json
from depth import every_nth

from memory_mcp.clients.jsonc import is_blank, put, scan

__all__ = ["home"]  # a fixture
pytestmark = linux
_CASES = every_nth(4, product(PLACES, NAMES))


@pytest.mark.parametrize(("place", "sample"), _CASES)
def test_install_and_uninstall_leave_every_sample_byte_for_byte(
    run: Run, home: Path, project: Path, place: tuple[str, str], sample: str
) -> None:
    """Real configurations with all that people and programs put there."""
    data = (SAMPLES / sample).read_bytes()
    client, scope = place
    path = file_of(home, project, client, scope)
    given(path, data)
    path.chmod(0o640)
    asked = (client, "--scope", scope)

    said = as_json(run, "install", *asked)

    assert (said["changed"], said["file"]) == (True, str(path))
    assert path.read_bytes() != data
    assert Path(said["backup"]).read_bytes() == data
    assert {path.stat().st_mode & 0o777, Path(said["backup"]).stat().st_mode & 0o777} == {0o640}
    once = path.read_bytes()
    again = as_json(run, "install", *asked)
    assert (again["changed"], path.read_bytes()) == (False, once)

    assert as_json(run, "uninstall", *asked)["changed"] is True
    assert path.read_bytes() == data
    assert files_in(path.parent) == [path.name]


@pytest.mark.parametrize(("place", "sample"), _CASES)
def test_what_others_wrote_meanwhile_stays(
    run: Run, home: Path, project: Path, place: tuple[str, str], sample: str
) -> None:
    """Claude Code writes its file all the time; the way back must not be the way to the copy."""
    client, scope = place
    path = file_of(home, project, client, scope)
    given(path, (SAMPLES / sample).read_bytes())
    text = path.read_text("utf-8")
    before: Any = {} if is_blank(text) else scan(text).root.data
    as_json(run, "install", client, "--scope", scope)
    given(path, put(path.read_text("utf-8"), ("later",), 1.0).encode())

    as_json(run, "uninstall", client, "--scope", scope)

    assert servers(path) == {**before, "later": 1}


@pytest.mark.parametrize(("client", "scope"), PLACES)
def test_a_file_that_was_not_there_is_made_and_goes_again(
    run: Run, home: Path, project: Path, client: str, scope: str
) -> None:
    """Nothing of ours is left behind, and what may hold keys later is the user's alone."""
    path = file_of(home, project, client, scope)
    before = (files_in(home), files_in(project))

    said = as_json(run, "install", client, "--scope", scope)

    assert "backup" not in said
    assert path.stat().st_mode & 0o077 == (0 if scope != "project" else 0o044)
    assert as_json(run, "uninstall", client, "--scope", scope)["changed"] is True
    assert (files_in(home), files_in(project)) == before
    assert [each for each in home.rglob("*") if each.name not in (".config", ".claude")] == []
    assert sorted(each.name for each in project.iterdir()) == [".git"]


def test_what_each_client_is_told(run: Run, home: Path, project: Path) -> None:
    """The shape its own command would write; a project's file holds no path of this machine."""
    for client, scope in PLACES:
        as_json(run, "install", client, "--scope", scope)
    own = str(Path(sys.executable).with_name("memory-mcp"))
    mine: dict[str, Any] = {"type": "stdio", "command": own, "args": []}
    here = ["--project", "${workspaceFolder}"]

    code = servers(home / ".claude.json")
    assert code["mcpServers"] == {"memory": mine}
    assert code["projects"] == {str(project): {"mcpServers": {"memory": mine}}}
    desktop = servers(home / PLACES["claude-desktop", "user"][2:])
    assert desktop == {"mcpServers": {"memory": {"command": own, "args": []}}}
    assert servers(home / ".cursor/mcp.json") == {"mcpServers": {"memory": mine}}
    assert servers(home / ".config/Code/User/mcp.json") == {"servers": {"memory": mine}}
    assert servers(project / ".mcp.json", "mcpServers", "memory")["args"] == []
    assert servers(project / ".cursor/mcp.json", "mcpServers", "memory")["args"] == here
    assert servers(project / ".vscode/mcp.json", "servers", "memory")["args"] == here


def test_a_command_on_the_path_is_shared_by_its_name(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`.mcp.json` is committed: where the command is differs from machine to machine."""
    own = Path(sys.executable).with_name("memory-mcp")
    monkeypatch.setenv("PATH", str(own.parent))
    as_json(run, "install", "claude-code", "--scope", "project")
    assert servers(project / ".mcp.json", "mcpServers", "memory")["command"] == "memory-mcp"

    monkeypatch.setenv("PATH", "/nowhere")
    said = as_json(run, "install", "vscode")
    assert said["command"] == "memory-mcp"
    assert said["notes"][0] == (
        "VS Code will start nothing: others share this file, so it says memory-mcp and no path of "
        f"this machine. Put the folder of {own} on the PATH, or take --scope user."
    )
    assert str(own) not in (project / ".vscode/mcp.json").read_text("utf-8")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    said = as_json(run, "install", "claude-code", "--scope", "project", "--name", "other")
    assert "Put one on the PATH, or take --scope user or --scope local." in said["notes"][0]


def test_the_command_is_the_one_that_was_started(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before any other of that name; where there is none, the module is run."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    asked = ("install", "claude-desktop", "--dry-run")
    said = as_json(run, *asked)
    assert [said["command"], *said["args"]] == [sys.executable, "-m", "memory_mcp"]

    for folder in ("path", "bin", "started"):
        found = tmp_path / folder / "memory-mcp"
        given(found, b"#!/bin/sh\n")
        found.chmod(0o755)
        if folder == "path":
            monkeypatch.setenv("PATH", str(found.parent))
        if folder == "started":
            monkeypatch.setattr(sys, "argv", [str(found)])
        assert as_json(run, *asked)["command"] == str(found)


_SOURCES: list[tuple[str | None, list[str]]] = [
    (None, ["backtrack-memory"]),
    ('{"url": "file:///w/x.whl", "archive_info": {}}',
     ["--from", "backtrack-memory @ file:///w/x.whl", "memory-mcp"]),
    ('{"url": "https://h/r", "vcs_info": {"vcs": "git", "commit_id": "a1"}}',
     ["--from", "backtrack-memory @ git+https://h/r@a1", "memory-mcp"]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "words"), _SOURCES)
def test_what_was_fetched_for_one_run_is_fetched_by_the_client(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str | None, words: list[str]
) -> None:
    """Its folder is gone with the next tidying up; and another package may bear its name."""

    class Installed:
        def read_text(self, name: str) -> str | None:
            return source if name == "direct_url.json" else None

    def installed(_: str) -> Installed:
        return Installed()

    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("uvx", "pipx"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "prefix", "/home/ada/.cache/uv/archive-v0/q1w2")
    # a backport of the library may have put its own finder in front
    monkeypatch.setattr("memory_mcp.cli.clients.distribution", installed)

    said = as_json(run, "install", "claude-desktop", "--project", str(tmp_path), "--toolsets",
                   "session,branches")  # fmt: skip

    assert said["command"] == str(folder / "uvx")
    assert said["args"] == [*words, "--project", str(tmp_path), "serve", "--toolsets",
                            "session,branches"]  # fmt: skip
    assert "fetched for one run only" in said["notes"][0]
    assert as_json(run, "install", "cursor")["command"] == "uvx"
    assert as_json(run, "uninstall", "claude-desktop")["changed"] is True
    (folder / "uvx").unlink()
    words = ["run", "--spec", *words[1:]] if source else ["run", "backtrack-memory"]
    assert as_json(run, "install", "claude-code")["args"] == words
    assert as_json(run, "uninstall", "claude-code")["changed"] is True


def test_the_plugin_is_named_by_its_real_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has hooks, which an entry has not; a folder that is gone tomorrow is no marketplace."""
    notes = as_json(run, "install", "claude-code", "--dry-run")["notes"]
    found = re.search(r'claude plugin marketplace add "(.+?)" &&', notes[-1])
    assert found
    assert (Path(found.group(1)) / ".claude-plugin" / "marketplace.json").is_file()
    assert as_json(run, "install", "claude-code")["notes"][-1] == notes[-1]
    assert as_json(run, "install", "claude-code")["notes"] == notes
    monkeypatch.setattr(sys, "prefix", "/home/ada/.cache/uv/archive-v0/q1w2")
    notes = as_json(run, "install", "claude-code", "--name", "x", "--dry-run")["notes"]
    assert "install it for good first (uv tool install backtrack-memory)" in notes[-1]


def test_a_dry_run_shows_the_change_and_makes_none(run: Run, home: Path) -> None:
    """People look before they let anybody into their configuration."""
    sample = (SAMPLES / "claude-desktop-macos.json").read_bytes()
    path = home / ".config/Claude/claude_desktop_config.json"
    given(path, sample)

    status, out, _ = run("install", "claude-desktop", "--dry-run", "--name", "mem")

    own = Path(sys.executable).with_name("memory-mcp")
    assert status == 0
    assert out.splitlines() == [
        f"--- {path}", f"+++ {path}", "@@ -10,2 +10,6 @@", "       ]", "+    },",
        '+    "mem": {', f'+      "command": "{own}",', '+      "args": []', "     }",
    ]  # fmt: skip
    assert path.read_bytes() == sample
    assert files_in(path.parent) == [path.name]
    as_json(run, "install", "claude-desktop", "--name", "mem")
    whole = path.read_bytes()
    assert '-    "mem": {' in run("uninstall", "claude-desktop", "--name", "mem", "--dry-run")[1]
    assert path.read_bytes() == whole
    assert run("install", "cursor", "--dry-run")[1].startswith("--- /dev/null\n+++ ")
