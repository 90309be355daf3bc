"""What one setting says: from the text that was given to a value, or to an error that says how.

Nothing here knows which settings there are, or reads the environment.
"""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from memory_mcp.domain.forms import printable
from memory_mcp.domain.hosts import is_loopback, is_private
from memory_mcp.domain.limits import NAME_CHARS_MAX
from memory_mcp.domain.search import RerankWeights
from memory_mcp.errors import InvalidRequestError, SettingError
from memory_mcp.locations import why_unusable
from memory_mcp.stores.keys import KEY, KEY_CHARS_MAX
from memory_mcp.text.drafts import check_branch

__all__ = [
    "Given",
    "Variable",
    "branch",
    "choice",
    "container",
    "endpoint",
    "figure",
    "flag",
    "folder",
    "folder_named",
    "key_in",
    "names",
    "on_this_machine",
    "origin",
    "own_folder",
    "phase",
    "plain",
    "present_folder",
    "seconds",
    "share",
    "text",
    "weights",
    "whole",
]

_PHASE: Final = re.compile(r"(?:phase[\s_-]*)?(\d{1,4})", re.ASCII | re.IGNORECASE)
"""As people write it, and as `backtrack` takes it."""

_WHOLE: Final = re.compile(r"[+-]?\d+", re.ASCII)

_ADDRESS: Final = re.compile(
    r"(https?)://([a-z0-9._-]+|\[::1\])(?::(\d{1,5}))?((?:/[a-z0-9._~-]+)*)/?",
    re.ASCII | re.IGNORECASE,
)
"""Scheme, host, port and path: no user, no query."""


_CONTAINER: Final = re.compile(r"[A-Za-z0-9_:-]{1,100}")
"""What the service takes in the path of a request (v5)."""
_SHORT_WEIGHTS: Final = {
    "sim": "similarity", "imp": "importance", "rec": "recency", "pin": "pinned"
}  # fmt: skip

_WEIGHT_MAX: Final = 10
"""Ten times what similarity usually counts: nothing else would be left."""


class Variable(NamedTuple):
    """A setting under the name that was really set: errors name that one."""

    name: str
    value: str


Given = Mapping[str, Variable]
"""The settings that were set, each by its own name."""


def text(given: Given, setting: str) -> str:
    """What it was set to; nothing if it was not."""
    return given[setting].value if setting in given else ""


def choice(given: Given, setting: str, choices: tuple[str, ...], default: str) -> str:
    """The one that was chosen, however it was capitalised."""
    name, value = given.get(setting, (setting, default))
    for known in choices:
        if value.casefold() == known.casefold():
            return known
    raise SettingError(name, value, f"one of {', '.join(choices)}")


def flag(given: Given, setting: str, words: str, *, default: bool) -> bool:
    """Yes or no, in any of the words for it."""
    match text(given, setting).casefold():
        case "":
            return default
        case "1" | "true" | "yes" | "on":
            return True
        case "0" | "false" | "no" | "off":
            return False
        case _:
            raise SettingError(*given[setting], words)


def phase(given: Variable | None) -> int | None:
    """The number of a pipeline's phase."""
    if given is None:
        return None
    found = _PHASE.fullmatch(given.value)
    if found is None:
        raise SettingError(*given, "a whole number from 0 to 9999")
    return int(found.group(1))


def key_in(name: str, value: str) -> SecretStr | None:
    """The key that a variable or a person gave; None if that is blank.

    Raises:
        SettingError: no header can carry it. The message does not repeat it.
    """
    key = value.strip()
    if not key:
        return None
    if not KEY.fullmatch(key):
        what = f"ASCII letters, digits and signs without spaces, up to {KEY_CHARS_MAX:,} of them"
        raise SettingError(name, None, what)
    return SecretStr(key)


def container(given: Variable | None) -> str:
    """The name of a container (a namespace of v5); nothing if none was given."""
    if given is None:
        return ""
    if not _CONTAINER.fullmatch(given.value):
        raise SettingError(*given, "1 to 100 ASCII letters, digits, `_`, `-` and `:`")
    return given.value


def origin(given: Variable | None, default: str) -> str:
    """An address without a path, where a key can be sent."""
    if given is None:
        return default
    url = _address(given, "https://host or https://host:port, without user, path or query")
    if urlsplit(url).path:
        what = "https://host or https://host:port, without user, path or query"
        raise SettingError(given.name, None, what)
    return url


def endpoint(given: Variable | None, default: str, *, private: bool = False) -> str:
    """An address with or without a path; `private`: its own network may see what is sent there."""
    if given is None:
        return default
    what = "https://host or https://host:port, with or without a path, without user or query"
    return _address(given, what, private=private)


def _address(given: Variable, what: str, *, private: bool = False) -> str:
    found = _ADDRESS.fullmatch(given.value)
    if found is None or not 0 < int(found.group(3) or 443) < 1 << 16:
        raise SettingError(given.name, None, what)  # it may hold a password, or be the key itself
    scheme, host, port, path = found.groups()
    url = f"{scheme}://{host}".lower() + (f":{int(port)}" if port else "")
    near = on_this_machine(url) or (private and is_private(urlsplit(url).hostname or ""))
    if scheme.lower() == "http" and not near:
        why = "https, because http shows the key to the network (only this machine may do without:"
        also = ", and without a key its own network" if private else ""
        raise SettingError(*given, f"{why} localhost, 127.0.0.0/8 or [::1]{also})")
    return url + path


def on_this_machine(base_url: str) -> bool:
    """Whether a base URL of ours leads to this very machine, where a server needs no key."""
    return is_loopback(urlsplit(base_url).hostname or "")


def seconds(given: Variable | None, default: float, most: float) -> float:
    """A time to wait."""
    if given is None:
        return default
    try:
        found = float(given.value)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:  # true of no nan either
        raise SettingError(*given, f"seconds, more than 0 and at most {most:g}")
    return found


def figure(given: Given, setting: str, default: float, least: float, most: float) -> float:
    """A number between two others."""
    if setting not in given:
        return default
    try:
        found = float(given[setting].value)
    except ValueError:
        found = math.nan
    if not least <= found <= most:  # true of no nan either
        raise SettingError(*given[setting], f"a number from {least:g} to {most:g}")
    return found


def share(given: Given, setting: str, default: float) -> float:
    """A part of a whole."""
    return figure(given, setting, default, 0, 1)


def whole(given: Given, setting: str, default: int, least: int, most: int) -> int:
    """A whole number between two others."""
    found = figure(given, setting, default, least, most)
    if setting in given and not _WHOLE.fullmatch(given[setting].value):  # as hooks read it
        raise SettingError(*given[setting], f"a whole number from {least} to {most}")
    return int(found)


def names(given: Given, setting: str) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    parts = (part.strip() for part in text(given, setting).split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def branch(given: Given, setting: str, default: str) -> str:
    """The name of a branch."""
    name, value = given.get(setting, (setting, default))
    try:
        return check_branch(value)
    except InvalidRequestError as error:
        what = "a name of letters, digits and . _ / -, beginning with a letter or a digit"
        raise SettingError(name, value, what) from error


def folder(given: Given, setting: str) -> Path | None:
    """A folder that may not exist yet.

    A relative one is in the project that Claude Code names: its hooks run in other folders than we.
    """
    if setting not in given:
        return None
    name, value = given[setting]
    project = given.get("CLAUDE_PROJECT_DIR")
    if project is not None and setting != "CLAUDE_PROJECT_DIR" and not value.startswith("~"):
        value = os.path.join(os.path.expanduser(project.value), value)  # noqa: PTH111, PTH118  # text
    return folder_named(name, value)


def own_folder(given: Given, setting: str) -> Path | None:
    """A folder for what is ours: it is there, or can be made."""
    found = folder(given, setting)
    if found is not None and (must := why_unusable(given[setting].value, str(found))):
        raise SettingError(*given[setting], must)
    return found


def present_folder(given: Given, setting: str) -> Path | None:
    """A folder that must exist: a typing error would begin an empty memory elsewhere."""
    found = folder(given, setting)
    if found is not None and not os.path.isdir(found):  # noqa: PTH112  # never raises
        raise SettingError(*given[setting], "a folder that exists")
    return found


def folder_named(name: str, value: str) -> Path:
    """The folder that a setting or an option names, wherever this process goes later.

    Raises:
        SettingError: a home nobody has, or a relative path while the current folder is gone.
    """
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise SettingError(name, value, "a folder; nobody here has that home") from error
    except FileNotFoundError as error:
        raise SettingError(
            name, value, "a whole path, because the current folder no longer exists"
        ) from error


def plain(value: str) -> str:
    """A name that can be stored: bytes that are no UTF-8, and unseen characters, are spelt out."""
    return printable(value.encode(errors="backslashreplace").decode(), NAME_CHARS_MAX - 1)


def weights(given: Variable | None) -> RerankWeights:
    """What counts for the order: names with figures, those left out as usual."""
    usual = RerankWeights()
    if given is None:
        return usual
    names = [each.name for each in fields(usual)]
    found: dict[str, float] = {}
    for pair in given.value.split(","):
        name, _, figure = (part.strip() for part in pair.partition("="))
        name = _SHORT_WEIGHTS.get(name.casefold(), name.casefold())
        try:
            found[name] = float(figure)
        except ValueError:
            found[""] = 0.0
    if not found.keys() <= set(names) or not all(0 <= f <= _WEIGHT_MAX for f in found.values()):
        what = f"some of {', '.join(names)}, each with a figure from 0 to {_WEIGHT_MAX}"
        raise SettingError(*given, f"{what}, like {names[0]}=1,{names[1]}=0.5")
    return replace(usual, **found)
