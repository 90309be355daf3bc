"""The clients: where each keeps its list of servers, under which key, and in which form.

Paths are pure values: the caller says whose folders they are and which of them exist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import PurePath
from typing import Final, Literal

from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode"]
Scope = Literal["user", "project", "local"]
Platform = Literal["windows", "macos", "linux"]

_STORE_PACKAGE: Final = "Claude_pzs8sxrjxfjjc"
"""Claude Desktop as Windows installs it since 2026: it sees a folder of its own as %APPDATA%."""


@frozen
class Client:
    """What is particular about one client.

    `scopes` are where it reads of servers, the usual one first. `typed`: an entry says
    `"type": "stdio"`. `folder_variable` stands for the project's folder in a project's file; empty:
    the client passes it otherwise. `plain`: it reads plain JSON only, and a comment keeps it from
    starting. `finds_commands`: it starts a command by its name alone, as a shell would.
    """

    title: str
    scopes: tuple[Scope, ...]
    key: str = "mcpServers"
    typed: bool = True
    folder_variable: str = ""
    plain: bool = False
    finds_commands: bool = True
    next_step: str = ""


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


@frozen
class Folders:
    r"""Where things are on this machine.

    `packages` are the names in %LOCALAPPDATA%\Packages (Windows only); `present` are those of
    `list_deciding_files` that exist.
    """

    platform: Platform
    home: PurePath
    project: PurePath | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    packages: Sequence[str] = ()
    present: frozenset[PurePath] = frozenset()


@frozen
class Target:
    """A file, and the path to the servers in it."""

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
            root = folders.home if scope == "user" else _require_project(folders)
            return Target(root / ".cursor" / "mcp.json", (client.key,))
        case "vscode" if scope == "user":
            return Target(_settings_folder(folders) / "Code" / "User" / "mcp.json", (client.key,))
        case "vscode":
            return Target(_require_project(folders) / ".vscode" / "mcp.json", (client.key,))


def list_deciding_files(folders: Folders) -> tuple[PurePath, ...]:
    """The files whose presence decides which one counts."""
    return (_claude_code_folder(folders, ".claude") / ".config.json",)


def _claude_code(scope: Scope, folders: Folders) -> Target:
    if scope == "project":
        return Target(_require_project(folders) / ".mcp.json", ("mcpServers",))
    (older,) = list_deciding_files(folders)
    newer = _claude_code_folder(folders, "") / ".claude.json"
    file = older if older in folders.present else newer
    if scope == "user":
        return Target(file, ("mcpServers",))
    return Target(file, ("projects", _require_project(folders).as_posix(), "mcpServers"))


def _claude_code_folder(folders: Folders, below_home: str) -> PurePath:
    own = folders.variables.get("CLAUDE_CONFIG_DIR")
    return type(folders.home)(own) if own else folders.home / below_home


def _claude_desktop(folders: Folders) -> PurePath:
    if folders.platform == "windows":
        names = sorted(n for n in folders.packages if n.startswith("Claude_"))
        if names:
            name = _STORE_PACKAGE if _STORE_PACKAGE in names else names[0]
            packages = _local_settings_folder(folders) / "Packages"
            return packages / name / "LocalCache" / "Roaming" / "Claude"
    return _settings_folder(folders) / "Claude"


def _settings_folder(folders: Folders) -> PurePath:
    """Where programs keep a user's settings."""
    match folders.platform:
        case "windows":
            return _read_folder(folders, "APPDATA") or folders.home / "AppData" / "Roaming"
        case "macos":
            return folders.home / "Library" / "Application Support"
        case "linux":
            return _read_folder(folders, "XDG_CONFIG_HOME") or folders.home / ".config"


def find_packages_folder(folders: Folders) -> PurePath:
    """Where Windows keeps the folders of programs from its store."""
    return _local_settings_folder(folders) / "Packages"


def _local_settings_folder(folders: Folders) -> PurePath:
    return _read_folder(folders, "LOCALAPPDATA") or folders.home / "AppData" / "Local"


def _read_folder(folders: Folders, variable: str) -> PurePath | None:
    """The folder a variable names; a relative one counts as none, as XDG says."""
    folder = type(folders.home)(folders.variables.get(variable, ""))
    return folder if folder.is_absolute() else None


def _require_project(folders: Folders) -> PurePath:
    if folders.project is None:
        raise InvalidRequestError(
            "There is no project here. Name its folder with --project DIR, or take --scope user."
        )
    return folders.project
