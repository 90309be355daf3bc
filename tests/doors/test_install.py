"""`install` and `uninstall`: a client's own configuration, edited without losing anything in it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client_places import (
    CASES,
    PLACES,
    SAMPLES,
    file_of,
    files_in,
    given,
    home,
    linux,
    servers,
    write_later,
)
from command_line import Run, as_json, complaint
from moving import all_below

from memory_mcp.cli import client_files
from memory_mcp.cli.client_files import ClientFile
from memory_mcp.clients import toml
from memory_mcp.clients.jsonc import set_value

pytestmark = linux


__all__ = ["home"]  # a fixture


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("place", "sample"), CASES)
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("place", "sample"), CASES)
def test_what_others_wrote_meanwhile_stays(
    run: Run, home: Path, project: Path, place: tuple[str, str], sample: str
) -> None:
    """Claude Code writes its file all the time; the way back must not be the way to the copy."""
    client, scope = place
    path = file_of(home, project, client, scope)
    given(path, (SAMPLES / sample).read_bytes())
    before = servers(path)
    as_json(run, "install", client, "--scope", scope)
    write_later(path)

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

    bare: dict[str, Any] = {"command": own, "args": []}
    assert servers(home / ".codex/config.toml") == {"mcp_servers": {"memory": bare}}
    assert servers(home / ".gemini/settings.json") == {"mcpServers": {"memory": bare}}
    assert servers(home / ".codeium/windsurf/mcp_config.json") == {"mcpServers": {"memory": bare}}
    assert servers(home / ".config/zed/settings.json") == {"context_servers": {"memory": bare}}
    assert servers(home / ".config/opencode/opencode.json") == {
        "mcp": {"memory": {"type": "local", "command": [own], "enabled": True}}
    }
    for client, key in (("codex", "mcp_servers"), ("gemini", "mcpServers"),
                        ("zed", "context_servers")):  # fmt: skip
        path = file_of(home, project, client, "project")
        assert servers(path, key, "memory") == {"command": "memory-mcp", "args": []}


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


def test_opencode_is_told_in_the_file_that_it_has(run: Run, home: Path) -> None:
    """It reads both of its files; a second one beside the user's own would surprise."""
    path = home / ".config/opencode/opencode.jsonc"
    given(path, b"// mine\n{}\n")

    assert as_json(run, "install", "opencode")["file"] == str(path)
    asked = ("install", "opencode", "--toolsets", "session")
    assert "command is" in run(*asked)[2]
    as_json(run, *asked, "--force")
    own = str(Path(sys.executable).with_name("memory-mcp"))
    assert servers(path, "mcp", "memory", "command") == [own, "serve", "--toolsets", "session"]
    as_json(run, "uninstall", "opencode")
    assert path.read_bytes() == b"// mine\n{}\n"


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


# What `install` keeps of a file, and how `uninstall` brings it back.


def test_an_older_entry_of_ours_keeps_what_its_owner_added(run: Run, home: Path) -> None:
    """The command moves with a new installation; the environment is the owner's."""
    path = home / ".claude.json"
    mine = (
        '{\n  "mcpServers": {\n    "memory": {\n      "command": "/old/memory-mcp", // mine\n'
        '      "env": {"MEMORY_PHASE": "2"},\n      "alwaysLoad": true\n    }\n  }\n}\n'
    )
    given(path, mine.encode())
    old = path.read_bytes()

    status, _, error = run("install", "claude-code")
    assert status == 1
    assert "command is '/old/memory-mcp' there and" in error
    assert "--force puts that right and keeps the rest" in error

    as_json(run, "install", "claude-code", "--force")
    own = Path(sys.executable).with_name("memory-mcp")
    now = path.read_bytes()
    assert b"// mine" in now
    assert servers(path, "mcpServers", "memory") == {
        "command": str(own), "env": {"MEMORY_PHASE": "2"}, "alwaysLoad": True,
        "type": "stdio", "args": [],
    }  # fmt: skip
    status, out, _ = run("uninstall", "claude-code")
    assert (status, path.read_bytes()) == (0, old)
    assert "is again what it was before the install." in out
    assert files_in(home) == [".claude.json"]

    as_json(run, "install", "claude-code", "--force")
    given(path, path.read_bytes().replace(b"{", b'{"later": 1,', 1))
    status, out, _ = run("uninstall", "claude-code")
    assert servers(path) == {"later": 1, "mcpServers": {}}
    assert "before the install is still in .claude.json.memory-mcp.bak." in out


def test_a_second_install_of_ours_is_undone_to_the_file_without_any(run: Run, home: Path) -> None:
    """Who took a newer memory-mcp over an older one wants neither back."""
    path = home / ".claude.json"
    given(path, b"{}")
    as_json(run, "install", "claude-code")
    as_json(run, "install", "claude-code", "--toolsets", "session", "--force")
    as_json(run, "uninstall", "claude-code")
    assert path.read_bytes() == b"{}"


@pytest.mark.parametrize("client", ["cursor", "codex", "opencode"])
def test_a_file_of_ours_that_was_changed_by_hand_goes_too(
    run: Run, home: Path, client: str
) -> None:
    """What is left of it says nothing."""
    path = Path(as_json(run, "install", client, "--scope", "user")["file"])
    given(path, path.read_bytes().replace(b'memory-mcp"', b'memory-mcp.exe"'))
    as_json(run, "uninstall", client, "--scope", "user")
    assert files_in(home) == []


def test_the_first_copy_and_the_newest_are_kept(run: Run, home: Path) -> None:
    """Claude Code writes its file all the time, so each install has another one to keep."""
    path = home / ".claude.json"
    for turn in range(1, 6):
        given(path, f'{{"turn": {turn}}}'.encode())
        as_json(run, "install", "claude-code")
    first, newest = home / ".claude.json.memory-mcp.bak", home / ".claude.json.memory-mcp.5.bak"
    assert files_in(home) == sorted(each.name for each in (path, first, newest))
    assert (first.read_bytes(), newest.read_bytes()) == (b'{"turn": 1}', b'{"turn": 5}')
    as_json(run, "uninstall", "claude-code")
    assert path.read_bytes() == b'{"turn": 5}'


def test_a_copy_that_is_no_json_is_in_nobodys_way(run: Run, home: Path) -> None:
    """It was kept on a day when the file was broken, or is not ours at all."""
    path = home / ".claude.json"
    given(path, b'{"a": 1}')
    given(home / ".claude.json.memory-mcp.bak", b"from long ago")
    as_json(run, "install", "claude-code")
    given(path, set_value(path.read_text("utf-8"), ("later",), 1.0).encode())
    as_json(run, "uninstall", "claude-code")
    assert servers(path) == {"a": 1, "later": 1}


def test_a_copy_is_never_written_over(run: Run, home: Path) -> None:
    """The oldest copy is the one that somebody will look for."""
    path = home / ".cursor/mcp.json"
    given(path, b"{}")
    given(home / ".cursor/mcp.json.memory-mcp.bak", b"from long ago")
    said = as_json(run, "install", "cursor", "--scope", "user")
    assert said["backup"] == f"{path}.memory-mcp.2.bak"
    status, out, _ = run("uninstall", "cursor", "--scope", "user")
    assert (status, path.read_bytes()) == (0, b"{}")
    assert "is still in mcp.json.memory-mcp.bak." in out
    assert files_in(path.parent) == ["mcp.json", "mcp.json.memory-mcp.bak"]


# `install` and `uninstall` where something is in the way: said, and nothing half done.


_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def test_another_server_of_that_name_is_not_touched_unless_told_to(run: Run, home: Path) -> None:
    """`memory` is a name that others have as well."""
    path = home / ".claude.json"
    theirs = b'{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "server-memory"]}}}'
    given(path, theirs)

    status, _, error = run("install", "claude-code")
    assert (status, path.read_bytes()) == (1, theirs)
    assert "it starts 'npx', which is not memory-mcp" in error
    assert "--name" in error
    status, _, error = run("uninstall", "claude-code")
    assert (status, path.read_bytes()) == (1, theirs)
    assert "does not start memory-mcp" in error

    as_json(run, "install", "claude-code", "--force")
    assert "npx" not in path.read_text("utf-8")
    as_json(run, "uninstall", "claude-code")
    assert path.read_bytes() == theirs, "what was there before is there again"


_BAD: list[tuple[bytes, str]] = [
    (b'{"mcpServers": {', "is no JSON, line 1: a key in quotes is missing before 'the end'"),
    (b'{\n"a": 1\n"b": 2}', "is no JSON, line 3: a comma is missing after 'a'"),
    (b"servers: []", "is no JSON, line 1: a value is missing before 'servers'"),
    (b"[]", "is left as it is: it is a list where an object must be"),
    (b'{"mcpServers": []}', "its 'mcpServers' is a list where an object must be"),
    (b'{"mcpServers": null}', "its 'mcpServers' is null where an object must be"),
    (b'{"mcpServers": "x"}', "its 'mcpServers' is text where"),
    (b'{"mcpServers": 1}', "its 'mcpServers' is a number where"),
    (b'{"mcpServers": false}', "its 'mcpServers' is true or false where"),
    ("{}".encode("utf-16"), "is no UTF-8 (byte 0)"),
]


_BAD_TOML: list[tuple[bytes, str]] = [
    (b"[mcp_servers.a]\n\n[mcp_servers.a]\n", "is no TOML, line 3: Cannot declare"),
    (b"model = \n", "is no TOML, line 1: Invalid value"),
    (b"model = [1,\n", "is no TOML, line 2: Invalid value"),
    (b"a = " + b"[" * 5000, "is no TOML, line 1: it is nested too deep"),
    (b"mcp_servers = 1\n", "its 'mcp_servers' is a number where a table must be"),
    (b"mcp_servers = 2026-11-23\n", "its 'mcp_servers' is a date where a table must be"),
    (b"[[mcp_servers]]\n", "its 'mcp_servers' is a list where a table must be"),
    (b"model = 'gr\xf6\xdfe'\n", "is no UTF-8 (byte 11)"),
]


@pytest.mark.parametrize(("data", "said"), _BAD_TOML, ids=[said for _, said in _BAD_TOML])
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_toml_file_that_cannot_be_edited_is_left_alone(
    run: Run, home: Path, command: str, data: bytes, said: str
) -> None:
    """The same sentence, whichever language the client reads."""
    path = home / ".codex/config.toml"
    given(path, data)

    error = complaint(run, command, "codex")

    assert error.startswith(str(path))
    assert said in error
    assert "run this again" in error
    assert files_in(home) == [".codex/config.toml"]
    assert path.read_bytes() == data


def test_an_edit_that_says_anything_else_is_not_taken(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor of whole languages has faults; nobody's configuration pays for one."""
    path = home / ".codex/config.toml"
    given(path, b'model = "x"\n')

    def forget_all(*_: object) -> str:
        return "model = 'y'\n"

    for name in ("_append_table", "_edit"):
        monkeypatch.setattr(toml, name, forget_all)

    said = complaint(run, "install", "codex")

    assert "its 'mcp_servers'.'memory' cannot be written without touching the rest" in said
    assert path.read_bytes() == b'model = "x"\n'


def test_codex_keeps_its_file_where_its_variable_says(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Codex itself finds it."""
    monkeypatch.setenv("CODEX_HOME", str(home / "own"))
    assert as_json(run, "install", "codex")["file"] == str(home / "own/config.toml")
    assert as_json(run, "install", "codex", "--name", "x")["changed"] is True
    assert list(servers(home / "own/config.toml", "mcp_servers")) == ["memory", "x"]


@pytest.mark.parametrize(("data", "said"), _BAD, ids=[said for _, said in _BAD])
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_file_that_cannot_be_edited_is_left_alone(
    run: Run, home: Path, command: str, data: bytes, said: str
) -> None:
    """One sentence with the file, the place in it and the next step; nothing half done."""
    path = home / ".claude.json"
    given(path, data)

    error = complaint(run, command, "claude-code")

    assert error.startswith(str(path))
    assert said in error
    assert "run this again" in error
    assert path.read_bytes() == data
    assert files_in(home) == [".claude.json"]


def test_a_comment_that_the_client_cannot_read_is_pointed_at(run: Run, home: Path) -> None:
    """Claude Code calls such a file corrupted; Cursor reads it."""
    for path in (home / ".claude.json", home / ".cursor/mcp.json"):
        given(path, b'{\n  "a": 1, // one\n}\n')
    notes = as_json(run, "install", "claude-code")["notes"]
    assert notes[0].startswith("Claude Code reads plain JSON: what is in line 2 keeps it")
    assert len(as_json(run, "install", "cursor", "--scope", "user")["notes"]) == 1


def test_a_link_stays_a_link(run: Run, home: Path, tmp_path: Path) -> None:
    """Dotfiles are linked from a repository; the repository's file is the one to edit."""
    real = tmp_path / "dotfiles" / "claude.json"
    given(real, b"{}")
    (home / ".claude.json").symlink_to(real)

    said = as_json(run, "install", "claude-code")

    assert (home / ".claude.json").is_symlink()
    assert said["file"] == str(real)
    assert b"memory-mcp" in real.read_bytes()
    as_json(run, "uninstall", "claude-code")
    assert real.read_bytes() == b"{}"
    (home / ".claude.json").unlink()
    (home / ".claude.json").symlink_to(home / ".claude.json")
    assert "Cannot read" in complaint(run, "install", "claude-code")


def test_what_is_no_file_or_may_not_be_written_is_refused(run: Run, home: Path) -> None:
    """A file that its owner protected is not replaced behind the owner's back."""
    path = home / ".claude.json"
    given(path, b"{}")
    path.chmod(0o444)
    assert "is write-protected" in complaint(run, "install", "claude-code")
    assert path.read_bytes() == b"{}"
    path.unlink()
    path.mkdir()
    assert "is no file" in complaint(run, "install", "claude-code")
    given(home / ".cursor", b"a file")
    assert "Cannot read" in complaint(run, "install", "cursor", "--scope", "user")


@pytest.mark.skipif(not _ROOT, reason="only root gives files away")
def test_a_file_stays_its_owners(run: Run, home: Path) -> None:
    """`sudo` must not make a configuration root's: the client could not write it any more."""
    path = home / ".claude.json"
    given(path, b"{}")
    os.chown(path, 1234, 2345)
    for command in ("install", "uninstall"):
        as_json(run, command, "claude-code")
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_full_disk_changes_nothing(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said in words that fit a client's file, which no setting of ours moves."""
    path = home / ".claude.json"
    given(path, b"{}")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    said = complaint(run, "install", "claude-code")
    assert said.startswith(f"Cannot write {path}.memory-mcp.bak: No space left on device.")
    assert "MEMORY_DIR" not in said
    assert files_in(home) == [".claude.json"]


def test_what_another_program_writes_meanwhile_is_not_written_over(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen, looked at again and carried out on the newer text; after three times given up."""
    path = home / ".claude.json"
    given(path, b"{}")
    turns = 0
    original = client_files.open_client_file

    def meddled(most: int) -> Callable[..., ClientFile]:
        def opened(asked: Path, *, private: bool, root: str) -> ClientFile:
            nonlocal turns
            found = original(asked, private=private, root=root)
            if turns < most:
                turns += 1
                given(path, f'{{"turn": {turns}}}'.encode())
            return found

        return opened

    monkeypatch.setattr("memory_mcp.cli.clients.open_client_file", meddled(2))
    as_json(run, "install", "claude-code")
    assert servers(path)["turn"] == 2
    assert set(servers(path)) == {"turn", "mcpServers"}
    as_json(run, "uninstall", "claude-code")
    turns = 0
    monkeypatch.setattr("memory_mcp.cli.clients.open_client_file", meddled(99))
    assert "was changed by another program just now" in complaint(run, "install", "claude-code")
    assert b"memory" not in path.read_bytes()


def test_the_lock_of_claude_code_is_kept(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions write under that lock; one that was left behind stops nobody for long."""
    path, lock = home / ".claude.json", home / ".claude.json.lock"
    given(path, b"{}")
    monkeypatch.setattr(client_files, "_LOCK_SECONDS", 0.05)
    lock.mkdir()
    os.utime(lock, (2**33, 2**33))  # renewed all the time
    assert "Claude Code holds" in complaint(run, "install", "claude-code")
    assert path.read_bytes() == b"{}"
    os.utime(lock, (0, 0))
    assert as_json(run, "install", "claude-code")["changed"] is True
    assert not lock.exists()


def test_claude_code_is_told_where_it_looks(
    run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own folder and its older file, as its own command finds them."""
    (home / ".claude").mkdir()
    given(home / ".claude" / ".config.json", b"{}")
    assert as_json(run, "install", "claude-code")["file"] == str(home / ".claude/.config.json")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "own"))
    assert as_json(run, "install", "claude-code")["file"] == str(home / "own/.claude.json")
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    as_json(run, "install", "claude-code", "--scope", "local")
    assert list(servers(home / "own/.claude.json", "projects")) == [str(project)]


def test_what_is_local_is_told_for_all_work_trees_of_a_clone(
    run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Claude Code 2.1.329 looks under the first one, or where a bare clone lies."""
    bare = tmp_path / "shop.git"
    for clone, linked in ((project / ".git", "linked"), (bare, "of-bare")):
        given(clone / "worktrees" / linked / "commondir", b"../..\n")
        back = f"{tmp_path / linked / '.git'}\n"
        given(clone / "worktrees" / linked / "gitdir", back.encode())
        pointer = f"gitdir: {clone / 'worktrees' / linked}\n"
        given(tmp_path / linked / ".git", pointer.encode())
    given(project / ".git" / "modules" / "part" / "HEAD", b"ref: refs/heads/main\n")
    given(project / "part" / ".git", b"gitdir: ../.git/modules/part\n")
    (project / "deep").mkdir()
    for folder, place in (
        (tmp_path / "linked", project), (tmp_path / "of-bare", bare),
        (project / "part", project / "part"), (project / "deep", project), (home, home),
    ):  # fmt: skip
        said = as_json(run, "--project", str(folder), "install", "claude-code", "--scope", "local")
        assert said["success"]
        assert list(servers(home / ".claude.json", "projects")) == [str(place)]
        (home / ".claude.json").unlink()
    monkeypatch.chdir(tmp_path / "linked")
    as_json(run, "install", "claude-code", "--scope", "local")
    assert as_json(run, "--project", str(project), "uninstall", "claude-code", "--scope", "local")[
        "changed"
    ]


def test_nothing_is_local_to_a_work_tree_that_lost_its_main_one(
    run: Run, home: Path, tmp_path: Path
) -> None:
    """The entry would be under a name that Claude Code looks for no more once git is repaired."""
    given(tmp_path / "tree" / ".git", f"gitdir: {tmp_path}/gone/.git/worktrees/tree\n".encode())
    told = ("install", "claude-code", "--scope", "local")
    assert "git worktree repair" in complaint(run, "--project", str(tmp_path / "tree"), *told)
    assert not (home / ".claude.json").exists()


def test_what_cannot_be_meant_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with what to do instead."""
    assert "no scope 'project'; choose user" in complaint(
        run, "install", "claude-desktop", "--scope", "project", expected=2
    )
    assert "no scope 'local'; choose project or user" in complaint(
        run, "install", "cursor", "--scope", "local", expected=2
    )
    assert "no scope 'project'; choose user" in complaint(
        run, "install", "windsurf", "--scope", "project", expected=2
    )
    assert "no hooks for Cursor, only for claude-code" in complaint(
        run, "install", "cursor", "--hooks", expected=2
    )
    said = complaint(run, "install", "cursor", "--name", "a b", expected=2)
    assert "--name: 'a b' cannot be used. Take letters, digits" in said
    assert "'nope' is unknown; choose some of" in complaint(
        run, "install", "cursor", "--toolsets", "nope", expected=2
    )
    pinned = complaint(run, "--project", "/", "install", "claude-code", expected=2)
    assert "every project would get the memories of /" in pinned
    assert "--scope local or --scope project" in pinned
    monkeypatch.chdir("/")
    assert "There is no project here" in complaint(run, "install", "vscode")
    assert as_json(run, "uninstall", "claude-code")["changed"] is False


def test_texts_are_utf_8_whatever_the_locale_says(home: Path, project: Path) -> None:
    """A console of another code page must not decide what a client reads."""
    given(project / ".mcp.json", '{"größe": "鍵"}'.encode())
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C",
                   "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # fmt: skip
    command = [sys.executable, "-m", "memory_mcp", "install", "claude-code", "--scope", "project",
               "--project", str(project)]  # fmt: skip

    done = subprocess.run(command, env=environment, check=True, capture_output=True)

    assert done.stderr == b""
    assert json.loads((project / ".mcp.json").read_text("utf-8"))["größe"] == "鍵"


@pytest.mark.parametrize(("client", "place"), [
    ("cursor", ".cursor"), ("vscode", ".vscode"), ("cursor", ".cursor/mcp.json"),
    ("claude-code", ".mcp.json"), ("claude-code", ".mcp.json.memory-mcp.bak"),
    ("codex", ".codex"), ("codex", ".codex/config.toml"), ("opencode", "opencode.json"),
])  # fmt: skip
@pytest.mark.parametrize("inside", [False, True])
def test_a_link_of_a_repository_is_named_and_not_followed(
    run: Run, home: Path, project: Path, client: str, place: str, *, inside: bool
) -> None:
    """`.cursor` of a clone may be a link to ~/.ssh: nothing is read, written or copied there."""
    target = (project if inside else home) / "kept" / Path(place).name
    if place in (".cursor", ".vscode", ".codex"):
        given(target / ("config.toml" if place == ".codex" else "mcp.json"), b"")
    else:
        given(target, b"{}")
    link = project / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    if place.endswith(".bak"):
        given(project / ".mcp.json", b"{}")
    before = all_below(target.parent)

    for command in ("install", "uninstall"):
        said = run(command, client, "--scope", "project")[2]
        if command == "install" or not place.endswith(".bak"):
            assert said.count(f"{link} ") + said.count(f"{link}:") == 1, said
            assert "it is a link, which is not followed" in said
            assert "run this again" in said
    assert all_below(target.parent) == before
    assert link.is_symlink()


def test_a_pipe_in_a_repository_keeps_no_install_waiting(run: Run, project: Path) -> None:
    """Nobody would ever write to it."""
    (project / ".mcp.json").write_bytes(b"{}")
    os.mkfifo(project / ".mcp.json.memory-mcp.bak")
    said = complaint(run, "install", "claude-code", "--scope", "project")
    assert "it is no regular file" in said
