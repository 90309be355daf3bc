"""`install claude-code --hooks`: the plugin's hooks, with a command that is found."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from client_places import files_in, given, home, linux, servers
from command_line import Run, as_json, complaint
from paths import ROOT

from memory_mcp.cli.clients import HOOK_TOOLSETS

pytestmark = linux

__all__ = ["home"]  # a fixture

PLUGIN = ROOT / "integrations" / "claude-code"
OWN = str(Path(sys.executable).with_name("memory-mcp"))
THEIRS = b"""{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}
    ],
    "PreToolUse": [{ "matcher": "Bash", "hooks": [
        { "type": "command", "command": "guard.sh" } ] }]
  }
}
"""


def plugin_hooks() -> dict[str, Any]:
    return json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]


def hooks_for(command: str, server: str = "memory") -> dict[str, Any]:
    """The plugin's hooks, as they have to stand in the settings."""
    text = json.dumps(plugin_hooks()).replace("plugin:memory-mcp:memory", server)
    return json.loads(text.replace('"command": "memory-mcp"', f'"command": {json.dumps(command)}'))


@pytest.mark.parametrize(
    ("scope", "place", "command"),
    [
        ("user", "~/.claude/settings.json", OWN),
        ("project", ".claude/settings.json", "memory-mcp"),
        ("local", ".claude/settings.local.json", OWN),
    ],
)
def test_the_hooks_of_the_plugin_are_written_with_a_command_that_is_found(
    run: Run,
    home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    scope: str,
    place: str,
    command: str,
) -> None:
    """A virtual environment is on no PATH; a shared file holds no path of one machine."""
    monkeypatch.setenv("PATH", str(home / "bin"))
    path = home / place[2:] if place.startswith("~/") else project / place
    before = (files_in(home), files_in(project))

    said = as_json(run, "install", "claude-code", "--hooks", "--scope", scope)

    assert said["hooks_file"] == str(path)
    assert servers(path) == {"hooks": hooks_for(command)}
    assert said["args"] == ["serve", "--toolsets", "session,hooks"]
    assert any("on the PATH" in note for note in said["notes"]) is (scope == "project")
    assert not any("The plugin has hooks" in note for note in said["notes"])
    once = path.read_bytes()
    again = as_json(run, "install", "claude-code", "--hooks", "--scope", scope)
    assert (again["changed"], path.read_bytes()) == (False, once)
    assert "The hooks are in" in again["message"]

    assert as_json(run, "uninstall", "claude-code", "--scope", scope)["changed"] is True
    assert (files_in(home), files_in(project)) == before


def test_the_server_is_given_what_its_hooks_need(run: Run, home: Path) -> None:
    """As in the plugin; what was asked for besides is given too, each once."""
    plugin = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]["memory"]
    assert plugin["args"] == ["serve", "--toolsets", ",".join(HOOK_TOOLSETS)]

    said = as_json(
        run, "install", "claude-code", "--hooks", "--toolsets", "branches,hooks", "--name", "mem"
    )

    assert said["args"] == ["serve", "--toolsets", "branches,hooks,session"]
    assert servers(home / ".claude/settings.json")["hooks"] == hooks_for(OWN, "mem")


def test_there_is_one_hook_of_the_plugin_for_each_event() -> None:
    """`install` finds a hook of ours again by its event."""
    for groups in plugin_hooks().values():
        ((hook,),) = [group["hooks"] for group in groups]
        assert hook["type"] in ("command", "mcp_tool")


def test_other_hooks_are_not_touched(run: Run, home: Path) -> None:
    """Not a byte of them, while ours come and go."""
    path = home / ".claude/settings.json"
    given(path, THEIRS)

    as_json(run, "install", "claude-code", "--hooks")

    wanted = hooks_for(OWN)
    found = servers(path, "hooks")
    assert found["Stop"] == [*json.loads(THEIRS)["hooks"]["Stop"], *wanted["Stop"]]
    assert found["PreToolUse"] == json.loads(THEIRS)["hooks"]["PreToolUse"]
    for line in THEIRS.splitlines():
        assert line.rstrip(b"]}") in path.read_bytes()
    as_json(run, "uninstall", "claude-code")
    assert path.read_bytes() == THEIRS
    assert files_in(path.parent) == [path.name]


def test_what_others_wrote_into_the_settings_meanwhile_stays(run: Run, home: Path) -> None:
    """Claude Code writes a permission there whenever somebody grants one."""
    path = home / ".claude/settings.json"
    for before in (THEIRS, b'{"model": "opus"}', None):
        if before:
            given(path, before)
        as_json(run, "install", "claude-code", "--hooks")
        given(path, path.read_bytes().replace(b"{", b'{"later": 1,', 1))
        status, out, _ = run("uninstall", "claude-code")
        assert (status, servers(path)) == (0, {"later": 1, **json.loads(before or b"{}")})
        assert ("is still in settings.json.memory-mcp.bak" in out) is bool(before)
        for left in path.parent.iterdir():
            left.unlink()


def test_a_hook_that_shares_its_group_leaves_the_others_there(run: Run, home: Path) -> None:
    """Somebody may put theirs beside ours."""
    path = home / ".claude/settings.json"
    as_json(run, "install", "claude-code", "--hooks")
    data = servers(path)
    data["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say done"})
    given(path, json.dumps(data, indent=2).encode())

    as_json(run, "uninstall", "claude-code")

    theirs = [{"hooks": [{"type": "command", "command": "say done"}]}]
    assert servers(path) == {"hooks": {"Stop": theirs}}


def test_hooks_of_an_older_command_are_put_right_with_force(run: Run, home: Path) -> None:
    """A new environment has a new path; how long a hook may take is the user's."""
    path = home / ".claude/settings.json"
    old = hooks_for("/old/bin/memory-mcp")
    old["Stop"][0]["hooks"][0]["timeout"] = 60
    del old["SessionEnd"]
    given(path, json.dumps({"hooks": old}).encode())
    before = path.read_bytes()

    status, _, error = run("install", "claude-code", "--hooks")
    assert (status, path.read_bytes()) == (1, before)
    assert f"The hooks in {path} are others: command of SessionStart is '/old/bin/memory" in error
    assert "--force puts that right" in error
    assert not (home / ".claude.json").exists(), "nothing is half done"

    as_json(run, "install", "claude-code", "--hooks", "--force")
    wanted = hooks_for(OWN)
    wanted["Stop"][0]["hooks"][0]["timeout"] = 60
    assert servers(path, "hooks") == wanted
    as_json(run, "uninstall", "claude-code")
    assert servers(path) == {}


def test_hooks_that_ask_a_server_of_another_name_stay_with_it(run: Run, home: Path) -> None:
    """Whoever takes one of two entries out still has the other."""
    as_json(run, "install", "claude-code", "--hooks")
    as_json(run, "install", "claude-code", "--name", "second")
    given(home / ".claude/settings.json.memory-mcp.bak", b"from long ago")

    as_json(run, "uninstall", "claude-code", "--name", "second")
    assert servers(home / ".claude/settings.json", "hooks") == hooks_for(OWN)
    as_json(run, "uninstall", "claude-code")
    assert servers(home / ".claude/settings.json") == {}


def test_hooks_go_where_no_entry_is(run: Run, home: Path) -> None:
    """Somebody may have taken the entry out by hand; and an entry of another's stays."""
    path = home / ".claude/settings.json"
    for left in (b"{}", b'{"mcpServers": {"memory": {"command": "npx"}}}'):
        as_json(run, "install", "claude-code", "--hooks")
        given(home / ".claude.json", left)
        status, out, error = run("uninstall", "claude-code")
        assert status == (1 if b"npx" in left else 0)
        assert "The hooks are out of" in out + error
        assert not path.exists()
        (home / ".claude.json").unlink()


def test_a_dry_run_shows_both_files(run: Run, home: Path) -> None:
    """And writes neither."""
    _, out, _ = run("install", "claude-code", "--hooks", "--dry-run")
    assert f"+++ {home / '.claude.json'}" in out
    assert f"+++ {home / '.claude/settings.json'}" in out
    assert files_in(home) == []
    as_json(run, "install", "claude-code", "--hooks")
    assert out.count("memory-mcp") <= run("uninstall", "claude-code", "--dry-run")[1].count("-mcp")
    assert len(files_in(home)) == 2


def test_claude_codes_own_folder_has_the_settings_too(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where `CLAUDE_CONFIG_DIR` is set, nothing in ~/.claude is read."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "own"))
    said = as_json(run, "install", "claude-code", "--hooks")
    assert said["hooks_file"] == str(home / "own/settings.json")


_BAD: list[tuple[bytes, str]] = [
    (b'{"hooks": []}', "its 'hooks' is a list where an object must be"),
    (b'{"hooks": {"Stop": {}}}', "its 'hooks'.'Stop' is an object where a list must be"),
    (b'{"hooks": {"Stop": 1}}', "its 'hooks'.'Stop' is a number where a list must be"),
    (b'{"hooks": ', "is no JSON, line 1"),
]


@pytest.mark.parametrize(("data", "said"), _BAD, ids=[said for _, said in _BAD])
def test_settings_that_cannot_be_edited_are_left_alone(
    run: Run, home: Path, data: bytes, said: str
) -> None:
    """And nothing else is written either."""
    path = home / ".claude/settings.json"
    given(path, data)

    assert said in complaint(run, "install", "claude-code", "--hooks")
    assert path.read_bytes() == data
    assert files_in(home) == [".claude/settings.json"]


@pytest.mark.parametrize("data", [b'{"hooks": []}', b"{", b"{}"])
def test_settings_that_cannot_be_edited_keep_no_entry(run: Run, home: Path, data: bytes) -> None:
    """Some people generate that file, write-protected; most of them never asked for hooks."""
    path = home / ".claude/settings.json"
    given(path, data)
    path.chmod(0o444 if data == b"{}" else 0o644)
    as_json(run, "install", "claude-code")

    said = as_json(run, "uninstall", "claude-code")

    assert said["changed"] is True
    assert said["notes"][0].startswith("If there are hooks of memory-mcp, they stay. ")
    assert str(path) in said["notes"][0]
    assert files_in(home) == [".claude/settings.json"]


def test_forms_that_no_hook_has_are_passed_over(run: Run, home: Path) -> None:
    """They are Claude Code's to complain about."""
    path = home / ".claude/settings.json"
    theirs = b'{"hooks": {"Other": "x", "Stop": ["x", {"hooks": {"a": 1}}, {"hooks": ["y"]}]}}'
    given(path, theirs)
    as_json(run, "install", "claude-code", "--hooks")
    as_json(run, "uninstall", "claude-code")
    assert path.read_bytes() == theirs


def test_a_comment_in_the_settings_is_pointed_at(run: Run, home: Path) -> None:
    """Claude Code passes over the whole file then, and our hooks with it."""
    given(home / ".claude/settings.json", b'{\n  // mine\n  "a": 1\n}\n')
    notes = as_json(run, "install", "claude-code", "--hooks")["notes"]
    assert any("line 2 keeps it from reading settings.json" in note for note in notes)


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_link_below_the_project_is_not_followed(
    run: Run, home: Path, project: Path, scope: str
) -> None:
    """`.claude` of a clone may be a link to anywhere."""
    (home / "kept").mkdir()
    (project / ".claude").symlink_to(home / "kept")

    said = complaint(run, "install", "claude-code", "--hooks", "--scope", scope)

    assert "it is a link, which is not followed" in said
    assert files_in(home) == []


def test_a_memory_fetched_for_one_run_has_no_hooks(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To fetch it again takes longer than a hook may."""
    monkeypatch.setattr(sys, "prefix", "/home/ada/.cache/uv/archive-v0/q1w2")
    said = complaint(run, "install", "claude-code", "--hooks")
    assert "fetched for one run only. Install it for good" in said
    assert files_in(home) == []
