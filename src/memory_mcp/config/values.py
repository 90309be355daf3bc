"""From the text of one setting to its value, or to an error that names the choices.

This module knows neither which settings there are nor the environment. A function that returns a
`Parser` is given the bounds or choices; the others are parsers themselves.
"""

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from memory_mcp.domain.forms import printable
from memory_mcp.domain.hosts import is_loopback, is_private
from memory_mcp.domain.limits import NAME_CHARS_MAX
from memory_mcp.domain.search import RerankWeights
from memory_mcp.errors import InvalidRequestError, SettingError
from memory_mcp.locations import why_unusable
from memory_mcp.storage.supermemory.keys import KEY, KEY_CHARS_MAX
from memory_mcp.text.drafts import check_branch

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


@dataclass(frozen=True)
class Variable:
    """A setting as it was given.

    `name` is the variable that was really set, because errors name it. `project` is the folder
    that Claude Code names: a relative folder is in there.
    """

    name: str
    value: str
    project: str = ""

    def wrong(self, must: str, *, shown: bool = True) -> SettingError:
        """The error that says what the value must be; it may hold a secret if it is not `shown`."""
        return SettingError(self.name, self.value if shown else None, must)


Parser = Callable[[Variable], object]


def text(given: Variable) -> str:
    """Any name that can be stored."""
    return plain(given.value)


def plain(value: str) -> str:
    """A name that can be stored: bytes that are no UTF-8, and unseen characters, are spelt out."""
    return printable(value.encode(errors="backslashreplace").decode(), NAME_CHARS_MAX - 1)


def choice(*choices: str) -> Callable[[Variable], str]:
    """One of these, in any case."""

    def parse(given: Variable) -> str:
        for known in choices:
            if given.value.casefold() == known.casefold():
                return known
        raise given.wrong(f"one of {', '.join(choices)}")

    return parse


def flag(words: str) -> Callable[[Variable], bool]:
    """Yes or no. `words` names the two that an error suggests."""

    def parse(given: Variable) -> bool:
        match given.value.casefold():
            case "1" | "true" | "yes" | "on":
                return True
            case "0" | "false" | "no" | "off":
                return False
            case _:
                raise given.wrong(words)

    return parse


def number(least: float, most: float) -> Callable[[Variable], float]:
    """A number between two others."""

    def parse(given: Variable) -> float:
        found = _float(given.value)
        if not least <= found <= most:  # true of no nan either
            raise given.wrong(f"a number from {least:g} to {most:g}")
        return found

    return parse


def whole(least: int, most: int) -> Callable[[Variable], int]:
    """A whole number between two others."""

    def parse(given: Variable) -> int:
        found = number(least, most)(given)
        if not _WHOLE.fullmatch(given.value):  # as hooks read it
            raise given.wrong(f"a whole number from {least} to {most}")
        return int(found)

    return parse


def seconds(most: float) -> Callable[[Variable], float]:
    """A time to wait."""

    def parse(given: Variable) -> float:
        found = _float(given.value)
        if not 0 < found <= most:  # true of no nan either
            raise given.wrong(f"seconds, more than 0 and at most {most:g}")
        return found

    return parse


def _float(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan


def names(given: Variable) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    parts = (part.strip() for part in given.value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def some_of(*choices: str) -> Callable[[Variable], tuple[str, ...]]:
    """Some of these, with commas between them."""

    def parse(given: Variable) -> tuple[str, ...]:
        found = names(given)
        for name in found:
            if name not in choices:
                raise SettingError(given.name, name, f"some of {', '.join(choices)}")
        return found

    return parse


def phase(given: Variable) -> int:
    """The number of a pipeline's phase."""
    found = _PHASE.fullmatch(given.value)
    if found is None:
        raise given.wrong("a whole number from 0 to 9999")
    return int(found.group(1))


def branch(given: Variable) -> str:
    """The name of a branch."""
    try:
        return check_branch(given.value)
    except InvalidRequestError as error:
        what = "a name of letters, digits and . _ / -, beginning with a letter or a digit"
        raise given.wrong(what) from error


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


def container(given: Variable) -> str:
    """The name of a container (a namespace of v5)."""
    if not _CONTAINER.fullmatch(given.value):
        raise given.wrong("1 to 100 ASCII letters, digits, `_`, `-` and `:`")
    return given.value


def origin(given: Variable) -> str:
    """An address without a path, where a key can be sent."""
    what = "https://host or https://host:port, without user, path or query"
    url = _address(given, what)
    if urlsplit(url).path:
        raise given.wrong(what, shown=False)
    return url


def queue(given: Variable) -> str:
    """The address of an Amazon SQS queue."""
    url = endpoint(given)
    if not urlsplit(url).path:
        what = "the URL of a queue, like https://sqs.eu-west-1.amazonaws.com/123456789012/nudges"
        raise given.wrong(what, shown=False)
    return url


def endpoint(given: Variable | None, default: str = "", *, private: bool = False) -> str:
    """An address with or without a path; `private`: its own network may see what is sent there."""
    if given is None:
        return default
    what = "https://host or https://host:port, with or without a path, without user or query"
    return _address(given, what, private=private)


def _address(given: Variable, what: str, *, private: bool = False) -> str:
    found = _ADDRESS.fullmatch(given.value)
    if found is None or not 0 < int(found.group(3) or 443) < 1 << 16:
        raise given.wrong(what, shown=False)  # it may hold a password, or be the key itself
    scheme, host, port, path = found.groups()
    url = f"{scheme}://{host}".lower() + (f":{int(port)}" if port else "")
    near = on_this_machine(url) or (private and is_private(urlsplit(url).hostname or ""))
    if scheme.lower() == "http" and not near:
        why = "https, because http shows the key to the network (only this machine may do without:"
        also = ", and without a key its own network" if private else ""
        raise given.wrong(f"{why} localhost, 127.0.0.0/8 or [::1]{also})")
    return url + path


def on_this_machine(base_url: str) -> bool:
    """Whether a base URL of ours leads to this very machine, where a server needs no key."""
    return is_loopback(urlsplit(base_url).hostname or "")


def folder(given: Variable) -> Path:
    """A folder that may not exist yet.

    A relative one is in the project that Claude Code names: its hooks run in other folders than we.
    """
    value = given.value
    if given.project and not value.startswith("~"):
        value = os.path.join(os.path.expanduser(given.project), value)  # noqa: PTH111, PTH118  # text
    return folder_named(given.name, value)


def own_folder(given: Variable) -> Path:
    """A folder for what is ours: it is there, or can be made."""
    found = folder(given)
    if must := why_unusable(given.value, str(found)):
        raise given.wrong(must)
    return found


def present_folder(given: Variable) -> Path:
    """A folder that must exist: a typing error would begin an empty memory elsewhere."""
    found = folder(given)
    if not os.path.isdir(found):  # noqa: PTH112  # never raises
        raise given.wrong("a folder that exists")
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


def weights(given: Variable) -> RerankWeights:
    """What counts for the order: names with figures, those left out as usual."""
    usual = RerankWeights()
    known = [each.name for each in fields(usual)]
    found: dict[str, float] = {}
    for pair in given.value.split(","):
        name, _, figure = (part.strip() for part in pair.partition("="))
        name = _SHORT_WEIGHTS.get(name.casefold(), name.casefold())
        try:
            found[name] = float(figure)
        except ValueError:
            found[""] = 0.0
    if not found.keys() <= set(known) or not all(0 <= f <= _WEIGHT_MAX for f in found.values()):
        what = f"some of {', '.join(known)}, each with a figure from 0 to {_WEIGHT_MAX}"
        raise given.wrong(f"{what}, like {known[0]}=1,{known[1]}=0.5")
    return replace(usual, **found)
