"""The bootstrap as it lies ready for hooks: where it is, and whether it still holds.

A hook prints what is rendered already. It must be done before a server could have been imported, so
this module is standard library only, and none of its slower parts. Whoever renders notes what the
text was made from: the head's file and the folders of the months. Where one of them is another by
now, the text may show what no longer holds, and is not printed.

The file is JSON: `branch`, `revision` (of the head), `text`, `tokens`, `zone` (IANA, or empty),
`until` (seconds since 1970, when something in it expires, or null) and `watched`. What is the
user's own is in the text, so `watched` names the user too: another one's hook prints none of it.
"""

import json
import os
import time
from typing import Any, Final, TypedDict, cast

_FOLDER: Final = "rendered"
_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)
"""Devices on Windows, whatever follows behind a dot: no file can have these names."""
_MONTH_CHARS: Final = len("2026-01")


class Watched(TypedDict):
    """What a text was made from: the head's file, and each folder with its months.

    `user` is whose memories they are, and `home` what MEMORY_HOME says of where (or nothing).
    """

    head_file: str
    head: list[int] | None
    months: dict[str, dict[str, int]]
    user: str
    home: str


class Rendered(TypedDict):
    """The bootstrap of one branch, and what it was made from."""

    branch: str
    revision: int
    text: str
    tokens: int
    zone: str
    until: float | None
    watched: Watched


def file_of(state_folder: str, branch: str) -> str:
    """Where the bootstrap of a branch lies."""
    name = branch.replace("/", "%2F")
    device = name.partition(".")[0].lower() in _RESERVED
    return os.path.join(state_folder, _FOLDER, f"{'%' if device else ''}{name}.json")


def watch(head_file: str, memory_folders: list[str], user: str = "", home: str = "") -> Watched:
    """How the head's file and the folders of records look now; taken before anything is read."""
    months = {folder: _months(folder) for folder in memory_folders}
    return Watched(head_file=head_file, head=_stamp(head_file), months=months, user=user, home=home)


def read(state_folder: str, branch: str) -> Rendered | None:
    """What lies ready for the branch; None if nothing does, or nothing that can be read."""
    try:
        with open(file_of(state_folder, branch), encoding="utf-8") as file:
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


def still_holds(rendered: Rendered) -> bool:
    """Whether nothing it was made from has changed since, and nothing in it has expired."""
    known = rendered["watched"]
    if rendered["until"] is not None and rendered["until"] <= time.time():
        return False
    now = watch(known["head_file"], list(known["months"]), known["user"], known["home"])
    return known == now


def _stamp(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


def _months(folder: str) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: os.stat(entry.path).st_mtime_ns
                for entry in entries
                if len(entry.name) == _MONTH_CHARS and entry.name[4] == "-" and entry.is_dir()
            }
    except OSError:
        return {}
