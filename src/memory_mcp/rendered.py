"""The bootstrap that is rendered for hooks: its file, and whether it is still current.

A hook must be done before a server could have been imported, so it only prints, and this module is
standard library only, without the slower parts. The file records what the text was made from: the
head's file and the folders of the months. Once one of them has changed, the text is not printed.

The file is JSON: `branch`, `revision` (of the head), `text`, `tokens`, `zone` (IANA, or empty),
`until` (seconds since 1970, when something in it expires, or null) and `watched`. The text holds
the user's own memories and a team's, so `watched` names both: nobody else's hook prints it.
"""

import json
import os
import time
from binascii import crc32
from collections.abc import Iterable
from typing import Any, Final, TypedDict, cast

DATABASE_STATE_FILE: Final = "database-state"
"""Stands in a machine's folder for a head that is in a database, and changes with it."""
_FOLDER: Final = "rendered"
_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)
"""Devices on Windows, with any extension: no file can have these names."""
_NAME_CHARS_MAX: Final = 200
"""Of a file's name: with checksum and ending below the 255 bytes that file systems take."""
_MONTH_CHARS: Final = len("2026-01")


class Watched(TypedDict):
    """What a text was made from: the head's file, each folder with its months, user, home and team.

    `home` is MEMORY_HOME, or empty. `git` are the files that say where a work tree stands, if
    memory follows it.
    """

    head_file: str
    head: list[int] | None
    months: dict[str, dict[str, int]]
    user: str
    home: str
    team: str
    git: dict[str, list[int] | None]


class Rendered(TypedDict):
    """The bootstrap of one branch, and what it was made from."""

    branch: str
    revision: int
    text: str
    tokens: int
    zone: str
    until: float | None
    watched: Watched


def bootstrap_path(state_folder: str, branch: str) -> str:
    """The file of a branch's bootstrap. A long name is cut, and told from others by a checksum."""
    name = "".join(map(_encode_character, branch))
    if name.startswith("."):  # nobody lists a hidden file
        name = f"%2E{name[1:]}"
    if len(name) > _NAME_CHARS_MAX:
        name = f"{name[:_NAME_CHARS_MAX]}%{crc32(branch.encode(errors='surrogatepass')):08x}"
    device = name.partition(".")[0].lower() in _RESERVED
    return os.path.join(state_folder, _FOLDER, f"{'%' if device else ''}{name}.json")


def _encode_character(char: str) -> str:
    if char.isascii() and (char.isalnum() or char in "-._"):
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def snapshot_sources(
    head_file: str,
    memory_folders: list[str],
    user: str = "",
    home: str = "",
    git: Iterable[str] = (),
    *,
    team: str = "",
) -> Watched:
    """The state of the head's file and the record folders; taken before anything is read."""
    months = {folder: _stat_months(folder) for folder in memory_folders}
    return Watched(
        head_file=head_file,
        head=_stat(head_file),
        months=months,
        user=user,
        home=home,
        team=team,
        git={path: _stat(path) for path in git},
    )


def load_bootstrap(state_folder: str, branch: str) -> Rendered | None:
    """The bootstrap of the branch; None if there is none, or none that can be read."""
    try:
        with open(bootstrap_path(state_folder, branch), encoding="utf-8") as file:
            found: Any = json.load(file)
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not Rendered.__annotations__.keys() <= found.keys():
        return None
    rendered = cast("Rendered", found)
    watched: Any = rendered["watched"]
    if not isinstance(watched, dict) or not Watched.__annotations__.keys() <= watched.keys():
        return None
    return rendered if rendered["branch"] == branch else None


def is_current(rendered: Rendered) -> bool:
    """Whether nothing that it was made from has changed, and nothing in it has expired."""
    known = rendered["watched"]
    if rendered["until"] is not None and rendered["until"] <= time.time():
        return False
    now = snapshot_sources(
        known["head_file"], list(known["months"]), known["user"], known["home"], known["git"],
        team=known["team"],
    )  # fmt: skip
    return known == now


def _stat(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


def _stat_months(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: os.stat(entry.path).st_mtime_ns
                for entry in entries
                if len(entry.name) == _MONTH_CHARS and entry.name[4] == "-" and entry.is_dir()
            }
    except OSError:
        return {}
