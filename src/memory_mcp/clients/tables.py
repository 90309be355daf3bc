"""The clients: where each keeps its list of servers, under which key, and in which form.

Paths are pure values: the caller says whose folders they are and which of them exist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final, Literal

from memory_mcp.errors import InvalidRequestError

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode"]
Scope = Literal["user", "project", "local"]
Platform = Literal["windows", "macos", "linux"]

_STORE_PACKAGE: Final = "Claude_pzs8sxrjxfjjc"
"""Claude Desktop as Windows installs it since 2026: it sees a folder of its own as %APPDATA%."""


@dataclass(frozen=True)
class Client:
    """What is particular about one client."""

    title: str
    scopes: tuple[Scope, ...]
    """Where it can be told of a server; the first is the usual one."""
    key: str = "mcpServers"
    typed: bool = True
    """Whether an entry says `"type": "stdio"`."""
    folder_variable: str = ""
    """What stands for the project's folder in a project's file; empty: it is told otherwise."""
    plain: bool = False
    """Whether it reads plain JSON only, so that a comment keeps it from starting."""
    finds_commands: bool = True
    """Whether it starts a command by its name alone, as a shell would."""
    next_step: str = ""
    """What its user does then."""


CLIENTS: Final[Mapping[ClientName, Client]] = {
    "claude-code": Client(
        "Claude Code", ("user", "project", "local"), plain=True,
        next_step="Start a new session; `claude mcp list` shows whether it connects.",
    ),
    "claude-desktop": Client(
        "Claude Desktop", ("user",), typed=False, plain=True, finds_commands=False,
        next_step="Quit Claude Desktop entirely and start it again.",
    ),
    "cursor": Client(
        "Cursor", ("project", "user"), folder_variable="${workspaceFolder}",
        next_step="Switch it on under Settings, Tools & MCP, if it is not on by itself.",
    ),
    "vscode": Client(
        "VS Code", ("project", "user"), key="servers", folder_variable="${workspaceFolder}",
        next_step="Run `MCP: List Servers` from the command palette, start it there and trust it.",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Folders:
    """Where things are on this machine."""

    platform: Platform
    home: PurePath
    project: PurePath | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    packages: Sequence[str] = ()
    """The names in %LOCALAPPDATA%\\Packages; Windows only."""
    present: frozenset[PurePath] = frozenset()
    """Which of `asked_for` exist."""


@dataclass(frozen=True)
class Target:
    """A file, and the way to the servers in it."""

    file: PurePath
    path: tuple[str, ...]


def find_target(name: ClientName, scope: Scope, folders: Folders) -> Target:
    """Where that client reads of its servers.

    Raises:
        InvalidRequestError: the scope asks for a project, and there is none.
    """
    client = CLIENTS[name]
    match name:
        case "claude-code":
            return _claude_code(scope, folders)
        case "claude-desktop":
            return Target(_claude_desktop(folders) / "claude_desktop_config.json", (client.key,))
        case "cursor":
            root = folders.home if scope == "user" else _project(folders)
            return Target(root / ".cursor" / "mcp.json", (client.key,))
        case "vscode" if scope == "user":
            return Target(_programs(folders) / "Code" / "User" / "mcp.json", (client.key,))
        case "vscode":
            return Target(_project(folders) / ".vscode" / "mcp.json", (client.key,))


def deciding_files(folders: Folders) -> tuple[PurePath, ...]:
    """The files whose presence decides which one counts."""
    return (_claude_code_folder(folders, ".claude") / ".config.json",)


def _claude_code(scope: Scope, folders: Folders) -> Target:
    if scope == "project":
        return Target(_project(folders) / ".mcp.json", ("mcpServers",))
    (older,) = deciding_files(folders)
    newer = _claude_code_folder(folders, "") / ".claude.json"
    file = older if older in folders.present else newer
    if scope == "user":
        return Target(file, ("mcpServers",))
    return Target(file, ("projects", _project(folders).as_posix(), "mcpServers"))


def _claude_code_folder(folders: Folders, below_home: str) -> PurePath:
    own = folders.variables.get("CLAUDE_CONFIG_DIR")
    return type(folders.home)(own) if own else folders.home / below_home


def _claude_desktop(folders: Folders) -> PurePath:
    if folders.platform == "windows":
        names = sorted(n for n in folders.packages if n.startswith("Claude_"))
        if names:
            name = _STORE_PACKAGE if _STORE_PACKAGE in names else names[0]
            packages = _local_programs(folders) / "Packages"
            return packages / name / "LocalCache" / "Roaming" / "Claude"
    return _programs(folders) / "Claude"


def _programs(folders: Folders) -> PurePath:
    """Where programs keep what they remember of a user."""
    match folders.platform:
        case "windows":
            return _named(folders, "APPDATA") or folders.home / "AppData" / "Roaming"
        case "macos":
            return folders.home / "Library" / "Application Support"
        case "linux":
            return _named(folders, "XDG_CONFIG_HOME") or folders.home / ".config"


def packages_folder(folders: Folders) -> PurePath:
    """Where Windows keeps the folders of programs from its store."""
    return _local_programs(folders) / "Packages"


def _local_programs(folders: Folders) -> PurePath:
    return _named(folders, "LOCALAPPDATA") or folders.home / "AppData" / "Local"


def _named(folders: Folders, variable: str) -> PurePath | None:
    """The folder a variable names; a relative one counts as none, as XDG says."""
    folder = type(folders.home)(folders.variables.get(variable, ""))
    return folder if folder.is_absolute() else None


def _project(folders: Folders) -> PurePath:
    if folders.project is None:
        raise InvalidRequestError(
            "There is no project here. Name its folder with --project DIR, or take --scope user."
        )
    return folders.project
