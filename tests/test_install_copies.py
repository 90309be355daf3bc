"""What `install` keeps of a file, and how `uninstall` brings it back."""

import sys
from pathlib import Path

from client_places import files_in, given, home, linux, servers
from command_line import Run, as_json

from memory_mcp.clients.jsonc import put

__all__ = ["home"]  # a fixture
pytestmark = linux


def test_an_older_entry_of_ours_keeps_what_its_owner_added(run: Run, home: Path) -> None:
    """The command moves with a new installation; the environment is the owner's."""
    path = home / ".claude.json"
    mine = (
        '{\n  "mcpServers": {\n    "memory": {\n      "command": "/old/memory-mcp", // mine\n'
        '      "env": {"MEMORY_PHASE": "2"},\n      "alwaysLoad": true\n    }\n  }\n}\n'
    )
    given(path, mine.encode())
    old = path.read_bytes()

    status, out, _ = run("install", "claude-code")
    assert status == 1
    assert "command is '/old/memory-mcp' there and" in out
    assert "--force puts that right and keeps the rest" in out

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
    given(path, put(path.read_text("utf-8"), ("later",), 1.0).encode())
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
