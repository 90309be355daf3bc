"""The clients: where each keeps its list of servers, under which key, and in which form.

All of it is data, in `clients.toml` beside this module. Paths are pure values: the caller says
whose folders they are and which of them exist.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from importlib import resources
from pathlib import PurePath
from typing import Any, Final, Literal

from memory_mcp.clients.jsonc import Json
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

Scope = Literal["user", "project", "local"]
Platform = Literal["windows", "macos", "linux"]
PLATFORMS: Final[tuple[Platform, ...]] = ("windows", "macos", "linux")

_VARIABLE: Final = compile_later(r"\$\{(\w+):-(.+?)\}/")
_ABSOLUTE: Final = ("APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME")
"""A relative value of these counts as none, as XDG says."""


@frozen
class ConfigPlace:
    """Where a client reads of its servers in one scope; `clients.toml` says what each field is."""

    file: Mapping[Platform, tuple[str, ...]]
    key: Sequence[str]
    hooks: str = ""


@frozen
class Client:
    """What is particular about one client; `clients.toml` says what each field is."""

    title: str
    places: Mapping[Scope, ConfigPlace]
    entry: Mapping[str, Json]
    next_step: str
    language: Literal["json", "toml"] = "json"
    comments: bool = True
    folder_variable: str = ""
    names_project: bool = False
    locks: bool = False
    store_package: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Where it reads of servers, the usual one first."""
        return tuple(self.places)


def load_clients(text: str) -> Mapping[str, Client]:
    """The rows of the table, by the name of the client on the command line."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {name: _load_client(**row) for name, row in rows.items()}


def _load_client(places: Mapping[Scope, dict[str, Any]], **more: Any) -> Client:
    return Client(places={scope: _load_place(**row) for scope, row in places.items()}, **more)


def _load_place(file: str | list[str] | dict[Platform, str], **more: Any) -> ConfigPlace:
    files = file if isinstance(file, dict) else dict.fromkeys(PLATFORMS, file)
    return ConfigPlace(
        {name: (it,) if isinstance(it, str) else tuple(it) for name, it in files.items()}, **more
    )


CLIENTS: Final = load_clients(
    resources.files("memory_mcp.clients").joinpath("clients.toml").read_text("utf-8")
)


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


def find_target(name: str, scope: Scope, folders: Folders) -> Target:
    """Where that client reads of its servers.

    Raises:
        InvalidRequestError: the scope asks for a project, and there is none.
    """
    files = _list_files(CLIENTS[name], scope, folders)
    found = [file for file in files if file in folders.present]
    key = CLIENTS[name].places[scope].key
    path = tuple(
        _require_project(folders).as_posix() if each == "{project}" else each for each in key
    )
    return Target((found or files[-1:])[0], path)


def list_deciding_files(name: str, scope: Scope, folders: Folders) -> tuple[PurePath, ...]:
    """The files whose presence decides which one counts."""
    return tuple(_list_files(CLIENTS[name], scope, folders)[:-1])


def find_hooks_file(name: str, scope: Scope, folders: Folders) -> PurePath | None:
    """Where that client reads of its hooks; None if it has none."""
    pattern = CLIENTS[name].places[scope].hooks
    return _resolve(pattern, folders) if pattern else None


def find_packages_folder(folders: Folders) -> PurePath:
    """Where Windows keeps the folders of programs from its store."""
    return _resolve("${LOCALAPPDATA:-~/AppData/Local}/Packages", folders)


def _list_files(client: Client, scope: Scope, folders: Folders) -> list[PurePath]:
    if client.store_package and (own := _find_store_folder(client.store_package, folders)):
        folders = replace(folders, variables={**folders.variables, "APPDATA": str(own)})
    return [_resolve(each, folders) for each in client.places[scope].file[folders.platform]]


def _find_store_folder(package: str, folders: Folders) -> PurePath | None:
    """What a program from the store of Windows sees as %APPDATA%, where one is installed."""
    publisher = package.partition("_")[0] + "_"
    names = sorted(name for name in folders.packages if name.startswith(publisher))
    if not names:
        return None
    name = package if package in names else names[0]
    return find_packages_folder(folders) / name / "LocalCache" / "Roaming"


def _resolve(pattern: str, folders: Folders) -> PurePath:
    """The path that a pattern of the table stands for."""
    if found := _VARIABLE.match(pattern):
        value = folders.variables.get(found[1], "")
        folder = type(folders.home)(value)
        if not value or (found[1] in _ABSOLUTE and not folder.is_absolute()):
            folder = _resolve(found[2], folders)
        return folder / pattern[found.end() :]
    if pattern.startswith("~"):
        return folders.home / pattern[2:]
    return _require_project(folders) / pattern


def _require_project(folders: Folders) -> PurePath:
    if folders.project is None:
        raise InvalidRequestError(
            "There is no project here. Name its folder with --project DIR, or take --scope user."
        )
    return folders.project
