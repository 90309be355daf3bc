"""What is known of clients: their folders on every system, and what is written there."""

import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest
from paths import ROOT

from memory_mcp.cli.client_files import FOLDERS
from memory_mcp.clients import jsonc
from memory_mcp.clients.jsonc import (
    APPEND,
    Json,
    NotAnObjectError,
    NotJsonError,
    remove_value,
    set_value,
)
from memory_mcp.clients.plans import (
    Command,
    check_name,
    find_differences,
    is_ours,
    is_temporary,
    make_arguments,
    make_entry,
)
from memory_mcp.clients.tables import (
    CLIENTS,
    PLATFORMS,
    Folders,
    Platform,
    Scope,
    find_packages_folder,
    find_target,
    list_deciding_files,
)
from memory_mcp.config.settings import CLIENT_VARIABLES, read_client_variables
from memory_mcp.errors import InvalidRequestError

WINDOWS = Folders(
    "windows",
    PureWindowsPath("C:/Users/Ada"),
    PureWindowsPath("D:/work/shop"),
    {"APPDATA": r"E:\Roaming", "LOCALAPPDATA": r"E:\Local"},
)
MAC = Folders("macos", PurePosixPath("/Users/ada"), PurePosixPath("/src/shop"))
LINUX = Folders("linux", PurePosixPath("/home/ada"), PurePosixPath("/src/shop"))

_FILES: list[tuple[Folders, str, Scope, str]] = [
    (WINDOWS, "claude-code", "user", r"C:\Users\Ada\.claude.json"),
    (WINDOWS, "claude-code", "project", r"D:\work\shop\.mcp.json"),
    (WINDOWS, "claude-desktop", "user", r"E:\Roaming\Claude\claude_desktop_config.json"),
    (WINDOWS, "cursor", "user", r"C:\Users\Ada\.cursor\mcp.json"),
    (WINDOWS, "cursor", "project", r"D:\work\shop\.cursor\mcp.json"),
    (WINDOWS, "vscode", "user", r"E:\Roaming\Code\User\mcp.json"),
    (WINDOWS, "vscode", "project", r"D:\work\shop\.vscode\mcp.json"),
    (MAC, "claude-code", "user", "/Users/ada/.claude.json"),
    (MAC, "claude-desktop", "user",
     "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"),
    (MAC, "vscode", "user", "/Users/ada/Library/Application Support/Code/User/mcp.json"),
    (LINUX, "claude-desktop", "user", "/home/ada/.config/Claude/claude_desktop_config.json"),
    (LINUX, "vscode", "user", "/home/ada/.config/Code/User/mcp.json"),
    (LINUX, "cursor", "project", "/src/shop/.cursor/mcp.json"),
    (WINDOWS, "codex", "user", r"C:\Users\Ada\.codex\config.toml"),
    (MAC, "codex", "project", "/src/shop/.codex/config.toml"),
    (LINUX, "gemini", "user", "/home/ada/.gemini/settings.json"),
    (WINDOWS, "gemini", "project", r"D:\work\shop\.gemini\settings.json"),
    (WINDOWS, "windsurf", "user", r"C:\Users\Ada\.codeium\windsurf\mcp_config.json"),
    (WINDOWS, "zed", "user", r"E:\Roaming\Zed\settings.json"),
    (MAC, "zed", "user", "/Users/ada/.config/zed/settings.json"),
    (LINUX, "zed", "project", "/src/shop/.zed/settings.json"),
    (WINDOWS, "opencode", "user", r"C:\Users\Ada\.config\opencode\opencode.json"),
    (LINUX, "opencode", "project", "/src/shop/opencode.json"),
]  # fmt: skip


@pytest.mark.parametrize(("folders", "client", "scope", "file"), _FILES)
def test_each_client_is_told_where_it_looks(
    folders: Folders, client: str, scope: Scope, file: str
) -> None:
    """The rules of three systems, on whichever one this runs."""
    assert str(find_target(client, scope, folders).file) == file


def test_the_folders_of_windows_are_where_the_variables_say_or_where_they_usually_are() -> None:
    """A relative or empty value names no folder."""
    home = WINDOWS.home
    for variables in ({}, {"APPDATA": "", "LOCALAPPDATA": "Local"}):
        bare = Folders("windows", home, None, variables)
        assert (
            find_target("vscode", "user", bare).file == home / "AppData/Roaming/Code/User/mcp.json"
        )
        assert find_packages_folder(bare) == home / "AppData/Local/Packages"
    xdg = Folders("linux", LINUX.home, None, {"XDG_CONFIG_HOME": "/conf"})
    assert str(find_target("vscode", "user", xdg).file) == "/conf/Code/User/mcp.json"


@pytest.mark.parametrize(
    ("packages", "chosen"),
    [
        (["Claude_pzs8sxrjxfjjc", "Microsoft.X_8wek"], "Claude_pzs8sxrjxfjjc"),
        (["Claude_aaa", "Claude_pzs8sxrjxfjjc"], "Claude_pzs8sxrjxfjjc"),
        (["Claude_other"], "Claude_other"),
    ],
)
def test_claude_desktop_from_the_store_sees_a_folder_of_its_own(
    packages: list[str], chosen: str
) -> None:
    """Since 2026 Windows installs it so; what lies in %APPDATA% itself is not read by it."""
    folders = Folders("windows", WINDOWS.home, None, WINDOWS.variables, packages)
    found = find_target("claude-desktop", "user", folders).file
    assert str(found) == (
        rf"E:\Local\Packages\{chosen}\LocalCache\Roaming\Claude\claude_desktop_config.json"
    )


@pytest.mark.parametrize(
    ("folders", "own", "older", "newer"),
    [
        (LINUX, {}, "/home/ada/.claude/.config.json", "/home/ada/.claude.json"),
        (LINUX, {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.config.json", "/c/.claude.json"),
        (WINDOWS, {"CLAUDE_CONFIG_DIR": r"F:\c"}, r"F:\c\.config.json", r"F:\c\.claude.json"),
    ],
)
def test_the_file_of_claude_code(
    folders: Folders, own: dict[str, str], older: str, newer: str
) -> None:
    """As `claude mcp add` of 2.1.329 finds it: the older file, where there is one."""
    seen = Folders(folders.platform, folders.home, folders.project, own)
    assert [str(path) for path in list_deciding_files("claude-code", "user", seen)] == [older]
    assert str(find_target("claude-code", "user", seen).file) == newer
    present = frozenset(list_deciding_files("claude-code", "local", seen))
    aged = Folders(folders.platform, folders.home, folders.project, own, (), present)
    found = find_target("claude-code", "local", aged)
    assert str(found.file) == older
    assert found.path == ("projects", str(folders.project).replace("\\", "/"), "mcpServers")


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [
        ("codex", "CODEX_HOME", "/own/config.toml"),
        ("gemini", "GEMINI_CLI_HOME", "/own/.gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "/own/opencode/opencode.json"),
    ],
)
def test_a_client_is_told_in_the_folder_that_its_variable_names(
    client: str, variable: str, file: str
) -> None:
    """As it finds its own files."""
    seen = Folders("macos", MAC.home, None, {variable: "/own"})
    assert str(find_target(client, "user", seen).file) == file


def test_the_file_that_exists_counts_before_the_usual_one() -> None:
    """opencode reads both of its files."""
    (other,) = list_deciding_files("opencode", "project", LINUX)
    seen = Folders("linux", LINUX.home, LINUX.project, {}, (), frozenset([other]))
    assert str(find_target("opencode", "project", seen).file) == "/src/shop/opencode.jsonc"
    assert list_deciding_files("cursor", "project", LINUX) == ()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_row_of_the_table_says_all_that_is_needed(client: str) -> None:
    """A row is data: nothing else would find a word that means nothing."""
    row = CLIENTS[client]
    command = Command("/x/memory-mcp", ("serve",))
    entry = make_entry(row, command)
    assert is_ours(entry)
    assert find_differences(entry, entry) == ()
    assert "{" not in str(list(entry.values()))
    assert row.title in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert row.next_step.endswith(".")
    page = (ROOT / "docs" / "clients.md").read_text("utf-8")
    assert f"\n| `{client}` | `{row.scopes[0]}`" in page
    assert client in (ROOT / "README.md").read_text("utf-8")
    for scope, place in row.places.items():
        assert set(place.file) == set(PLATFORMS)
        assert f"`{place.key[-1]}`" in page or f".{place.key[-1]}`" in page
        patterns = [place.hooks, *(each for files in place.file.values() for each in files)]
        assert set(re.findall(r"\$\{(\w+)", "".join(patterns))) <= set(CLIENT_VARIABLES)
        for folders in (WINDOWS, MAC, LINUX):
            file = find_target(client, scope, folders).file
            assert file.suffix in ((".toml",) if row.language == "toml" else (".json",))
            at_the_top = file.parent in (folders.home, folders.project)
            assert at_the_top or file.parent.name in FOLDERS


@pytest.mark.parametrize("platform", ["windows", "macos", "linux"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_scope_that_needs_a_project_says_so(client: str, platform: Platform) -> None:
    """And what to do about it."""
    nowhere = Folders(platform, LINUX.home)
    for scope in CLIENTS[client].scopes:
        if scope == "user":
            find_target(client, scope, nowhere)
        else:
            with pytest.raises(InvalidRequestError, match=r"no project here.*--project DIR"):
                find_target(client, scope, nowhere)


_OURS: list[tuple[Json, bool]] = [
    ({"command": "memory-mcp"}, True),
    ({"command": "/venv/bin/memory-mcp", "args": ["serve"]}, True),
    ({"command": r"C:\Py\Scripts\Memory-MCP.EXE"}, True),
    ({"command": "/usr/bin/uvx", "args": ["backtrack-memory"]}, True),
    ({"command": "uvx", "args": ["--from", "backtrack-memory[semantic]", "memory-mcp"]}, True),
    ({"command": r"C:\uv\uvx.exe", "args": ["backtrack-memory@0.1.0"]}, True),
    ({"command": "uv", "args": ["tool", "run", "backtrack-memory"]}, True),
    ({"command": "pipx", "args": ["run", "backtrack-memory==1"]}, True),
    ({"command": "/usr/bin/python3.12", "args": ["-m", "memory_mcp"]}, True),
    ({"command": "uvx", "args": ["memory-mcp"]}, False),
    ({"command": "uvx", "args": "memory-mcp"}, False),
    ({"command": "uvx"}, False),
    ({"command": "npx", "args": ["-y", "memory-mcp"]}, False),
    ({"command": "python", "args": ["-m", "memory_mcp_of_others"]}, False),
    ({"command": ["memory-mcp"]}, True),
    ({"type": "local", "command": ["uvx", "backtrack-memory", "serve"]}, True),
    ({"command": ["npx", "memory-mcp"]}, False),
    ({"command": []}, False),
    ({"url": "https://example.com/memory-mcp"}, False),
    ("memory-mcp", False),
    (None, False),
]


@pytest.mark.parametrize(("found", "ours"), _OURS)
def test_an_entry_is_known_by_what_it_starts(found: Json, *, ours: bool) -> None:
    """By its name alone, somebody else's server would be removed."""
    assert is_ours(found) is ours


def test_what_differs_is_named() -> None:
    """What the owner added differs from nothing; what is left out means the usual."""
    wanted = make_entry(CLIENTS["vscode"], Command("/new/memory-mcp"))
    assert wanted == {"type": "stdio", "command": "/new/memory-mcp", "args": []}
    assert find_differences({"command": "/new/memory-mcp", "env": {"A": "b"}}, wanted) == ()
    assert find_differences({"command": "/old/memory-mcp", "args": ["x"]}, wanted) == (
        "command is '/old/memory-mcp' there and '/new/memory-mcp' here",
        "args is ['x'] there and [] here",
    )
    assert find_differences({"url": "https://example.com"}, wanted) == (
        "it starts 'https://example.com', which is not memory-mcp",
    )
    assert find_differences({}, wanted) == ("it starts 'nothing', which is not memory-mcp",)
    assert find_differences("text", wanted) == ("it is no object",)


@pytest.mark.parametrize(
    ("prefix", "passing"),
    [
        (PurePosixPath("/home/ada/.cache/uv/archive-v0/Xy1"), True),
        (PurePosixPath("/data/uv-cache/environments-v2/ab12"), True),
        (PureWindowsPath(r"C:\Users\Ada\AppData\Local\uv\cache\archive-v0\Xy1"), True),
        (PurePosixPath("/home/ada/.local/share/pipx/.cache/0a1b"), True),
        (PurePosixPath("/home/ada/.cache/pipx/0a1b"), True),
        (PurePosixPath("/home/ada/.local/share/pipx/venvs/memory-mcp"), False),
        (PurePosixPath("/home/ada/.local/share/uv/tools/memory-mcp"), False),
        (PurePosixPath("/usr"), False),
        (PureWindowsPath(r"C:\shop\.venv"), False),
    ],
)
def test_an_environment_made_for_one_run_is_known(prefix: PurePath, *, passing: bool) -> None:
    """Its path would be gone with the next tidying up, and the client would start nothing."""
    assert is_temporary(prefix) is passing


def test_a_path_that_json_cannot_hold_is_refused() -> None:
    """A file name may be any bytes; a configuration is UTF-8."""
    with pytest.raises(InvalidRequestError, match="is no UTF-8, and Cursor could not be told"):
        make_entry(CLIENTS["cursor"], Command("/home/\udcff/memory-mcp"))


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "x" * 41, "a\n"])
def test_a_name_that_clients_refuse_is_refused_here(name: str) -> None:
    """They would say it later, and less clearly."""
    with pytest.raises(InvalidRequestError, match="cannot be used"):
        check_name(name)
    assert check_name("memory_2-x") == "memory_2-x"


def test_a_client_that_tells_the_project_is_not_told_it() -> None:
    """Claude Code names it in the environment, editors by a variable, Claude Desktop not at all."""
    told = {key: make_arguments(c, "project", "/p", "") for key, c in CLIENTS.items()}
    assert told["claude-code"] == ()
    assert told["cursor"] == told["vscode"] == ("--project", "${workspaceFolder}")
    assert make_arguments(CLIENTS["claude-desktop"], "user", "/p", "") == ("--project", "/p")
    assert make_arguments(CLIENTS["claude-code"], "local", "/p", "a,b") == (
        "serve",
        "--toolsets",
        "a,b",
    )


def test_only_what_says_where_clients_keep_theirs_is_read() -> None:
    """No other variable is any business of theirs."""
    environment = dict.fromkeys(CLIENT_VARIABLES, "x") | {"APPDATA": "", "HOME": "/h", "KEY": "k"}
    assert read_client_variables(environment) == {
        "CLAUDE_CONFIG_DIR": "x", "CODEX_HOME": "x", "GEMINI_CLI_HOME": "x",
        "LOCALAPPDATA": "x", "XDG_CONFIG_HOME": "x",
    }  # fmt: skip


_MANNERS: list[tuple[str, str]] = [
    ("", '{\n  "s": {\n    "m": {\n      "a": []\n    }\n  }\n}\n'),
    ('{"s":{}}', '{"s":{"m":{"a":[]}}}'),
    ('{ "s": { "x": 1 } }', '{ "s": { "x": 1, "m": {"a": []} } }'),
    ('{\r\n\t"s": {}\r\n}', '{\r\n\t"s": {\r\n\t\t"m": {\r\n\t\t\t"a": []\r\n\t\t}\r\n\t}\r\n}'),
    ('{\n "s": {\n  "x": 1, // one\n  // two\n }\n}',
     '{\n "s": {\n  "x": 1, // one\n  // two\n  "m": {\n   "a": []\n  },\n }\n}'),
    ('{\n "s": {\n  "x": 1 // one\n }\n}',
     '{\n "s": {\n  "x": 1, // one\n  "m": {\n   "a": []\n  }\n }\n}'),
    ('{\n   "s":\n   {\n      "x": 1\n   }\n}',
     '{\n   "s":\n   {\n      "x": 1,\n      "m": {\n         "a": []\n      }\n   }\n}'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "after"), _MANNERS)
def test_an_entry_is_written_in_the_manner_of_the_text(text: str, after: str) -> None:
    """Comments stay beside what they are about; indentation and line ends are the text's."""
    assert set_value(text, ("s", "m"), {"a": []}) == after
    assert remove_value(after, ("s", "m")) == (text or '{\n  "s": {}\n}\n')


def test_what_is_there_is_replaced_in_the_manner_of_its_line() -> None:
    """And what is not there is not taken out."""
    assert set_value('{"s": {"m": 1}}', ("s", "m"), {"a": [1]}) == '{"s": {"m": {"a": [1]}}}'
    assert set_value('{"s":{"m":1}}', ("s", "m"), {"a": [1, 2]}) == '{"s":{"m":{"a":[1,2]}}}'
    for text in ("", " ", "{}", '{"s": {}}'):
        assert remove_value(text, ("s", "m")) == text


_LISTS: list[tuple[str, str]] = [
    ("", '{\n  "s": [\n    {\n      "a": 1\n    }\n  ]\n}\n'),
    ('{"s":[]}', '{"s":[{"a":1}]}'),
    ('{ "s": [1, 2] }', '{ "s": [1, 2, {"a": 1}] }'),
    ('{\n "s": [\n  1, // one\n  2,\n ]\n}',
     '{\n "s": [\n  1, // one\n  2,\n  {\n   "a": 1\n  },\n ]\n}'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "after"), _LISTS)
def test_an_item_is_put_behind_the_last_of_a_list(text: str, after: str) -> None:
    """A list of hooks is somebody else's too."""
    assert set_value(text, ("s", APPEND), {"a": 1}) == after
    last = after.count("1, ") and 2
    if text:
        assert remove_value(after, ("s", last)) == text
        assert set_value(after, ("s", last, "a"), 2) == after.replace('"a":1', '"a":2').replace(
            '"a": 1', '"a": 2'
        )


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ('{"s": {}}', ("s", APPEND), "its 's' is an object where a list must be"),
        ('{"s": "x"}', ("s", APPEND), "its 's' is text where a list must be"),
        ('{"s": [[]]}', ("s", 0, "a"), "its 's'.0 is a list where an object must be"),
    ],
)
def test_a_list_and_an_object_are_told_apart(
    text: str, path: tuple[str | int, ...], said: str
) -> None:
    """Neither is written over by the other."""
    with pytest.raises(NotAnObjectError) as found:
        set_value(text, path, 1)
    assert str(found.value) == said


def test_no_slip_of_the_editor_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it made is read again; the file stays as it was."""

    def forget_all(*_: object) -> str:
        return "{}"

    monkeypatch.setattr(jsonc, "_set_value", forget_all)
    with pytest.raises(AssertionError):
        set_value("{}", ("a",), 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a" 1}', "line 1: a colon is missing after 'a'"),
        ('{"a": "\\x"}', 'line 1: "\\x" has an escape that JSON does not know'),
        ('{"a": [1 2]}', "line 1: a comma is missing in a list"),
        ('{"a": 01}', "line 1: a value is missing before '01'"),
        ('{"a": [\n01]}', "line 2: a value is missing before '01'"),
        ('{"a": {"b":\nNaN}}', "line 2: a value is missing before 'NaN'"),
        ('{\r\n"a": 1}\r\n}', "line 3: nothing may follow the first value"),
        ("{\n/* open", "line 2: '/* open' is no JSON"),
        ('{"a": "\t"}', "line 1: '\"\\t\"}' is no JSON"),
        ("{a: 1}", "line 1: a key in quotes is missing before 'a'"),
    ],
)
def test_what_is_no_json_is_said_with_its_line(text: str, said: str) -> None:
    """The file is somebody's to mend, and has hundreds of lines."""
    with pytest.raises(NotJsonError) as found:
        set_value(text, ("s", "m"), 1.0)
    assert str(found.value) == said
