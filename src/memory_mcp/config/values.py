"""Parsers of single settings: text in, a value or an error that names the choices out.

Those with bounds or choices are made by a function that returns a `Parser`. Nothing here knows
which settings there are, or the environment.
"""

import math
import os
import re
from collections.abc import Callable
from dataclasses import fields, replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from memory_mcp.domain.fields import escape_unprintable
from memory_mcp.domain.hosts import is_loopback, is_private
from memory_mcp.domain.limits import BRANCH_CHARS_MAX, NAME_CHARS_MAX
from memory_mcp.domain.search import RerankWeights
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import InvalidRequestError, SettingError
from memory_mcp.frozen import frozen
from memory_mcp.locations import explain_unusable_folder
from memory_mcp.patterns import compile_later
from memory_mcp.storage.supermemory.keys import KEY, KEY_CHARS_MAX
from memory_mcp.text.drafts import check_branch

Network = IPv4Network | IPv6Network

_PHASE: Final = compile_later(r"(?:phase[\s_-]*)?(\d{1,4})", re.ASCII | re.IGNORECASE)
"""As people write it, and as `backtrack` takes it."""

_WHOLE: Final = compile_later(r"[+-]?\d+", re.ASCII)

_ADDRESS: Final = compile_later(
    r"(https?)://([a-z0-9._-]+|\[::1\])(?::(\d{1,5}))?((?:/[a-z0-9._~-]+)*)/?",
    re.ASCII | re.IGNORECASE,
)
"""Scheme, host, port and path: no user, no query."""

_DATABASE: Final = compile_later(r"postgres(?:ql)?://[!-~]*/[!-~]+", re.ASCII)
"""Scheme, whoever and wherever, and the name of a database or options that name it."""

_CONTAINER: Final = compile_later(r"[A-Za-z0-9_:-]{1,100}")
"""What the service takes in the path of a request (v5)."""

_SHORT_WEIGHTS: Final = {
    "sim": "similarity", "imp": "importance", "rec": "recency", "pin": "pinned"
}  # fmt: skip

_WEIGHT_MAX: Final = 10
"""Ten times the default of similarity: nothing else would count."""


@frozen
class GivenSetting:
    """The text of a setting, and where it stands, as errors name it.

    A relative folder is in `project`, if that is set.
    """

    name: str
    value: str
    project: str = ""

    def error(self, must: str, *, shown: bool = True) -> SettingError:
        """The error that says what the value must be; a possible secret is not `shown`."""
        return SettingError(self.name, self.value if shown else None, must)


Parser = Callable[[GivenSetting], object]


def parse_text(variable: GivenSetting) -> str:
    """Any name that can be stored."""
    return escape_name(variable.value)


def escape_name(value: str) -> str:
    """A name that can be stored: invalid UTF-8 and unprintable characters are spelt out."""
    return escape_unprintable(value.encode(errors="backslashreplace").decode(), NAME_CHARS_MAX - 1)


def parse_choice(*choices: str) -> Callable[[GivenSetting], str]:
    """One of these, in any case."""

    def parse(variable: GivenSetting) -> str:
        for known in choices:
            if variable.value.casefold() == known.casefold():
                return known
        raise variable.error(f"one of {', '.join(choices)}")

    return parse


def parse_flag(words: str) -> Callable[[GivenSetting], bool]:
    """Yes or no. `words` are the two that an error suggests."""

    def parse(variable: GivenSetting) -> bool:
        match variable.value.casefold():
            case "1" | "true" | "yes" | "on":
                return True
            case "0" | "false" | "no" | "off":
                return False
            case _:
                raise variable.error(words)

    return parse


def parse_number(least: float, most: float) -> Callable[[GivenSetting], float]:
    """A number between two others."""

    def parse(variable: GivenSetting) -> float:
        found = _parse_float(variable.value)
        if not least <= found <= most:  # true of no nan either
            raise variable.error(f"a number from {least:g} to {most:g}")
        return found

    return parse


def parse_integer(least: int, most: int) -> Callable[[GivenSetting], int]:
    """A whole number between two others."""

    def parse(variable: GivenSetting) -> int:
        found = parse_number(least, most)(variable)
        if not _WHOLE.fullmatch(variable.value):  # as hooks read it
            raise variable.error(f"a whole number from {least} to {most}")
        return int(found)

    return parse


def parse_seconds(most: float) -> Callable[[GivenSetting], float]:
    """A time to wait."""

    def parse(variable: GivenSetting) -> float:
        found = _parse_float(variable.value)
        if not 0 < found <= most:  # true of no nan either
            raise variable.error(f"seconds, more than 0 and at most {most:g}")
        return found

    return parse


def _parse_float(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan


def parse_names(variable: GivenSetting) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    parts = (part.strip() for part in variable.value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def parse_choices(*choices: str) -> Callable[[GivenSetting], tuple[str, ...]]:
    """Some of these, with commas between them."""

    def parse(variable: GivenSetting) -> tuple[str, ...]:
        found = parse_names(variable)
        for name in found:
            if name not in choices:
                raise SettingError(variable.name, name, f"some of {', '.join(choices)}")
        return found

    return parse


def parse_phase(variable: GivenSetting) -> int:
    """The number of a pipeline's phase."""
    found = _PHASE.fullmatch(variable.value)
    if found is None:
        raise variable.error("a whole number from 0 to 9999")
    return int(found.group(1))


def parse_branch(variable: GivenSetting) -> str:
    """The name of a branch."""
    try:
        return check_branch(variable.value)
    except InvalidRequestError as error:
        what = f"a name of 1 to {BRANCH_CHARS_MAX} visible characters"
        raise variable.error(what) from error


def parse_key(name: str, value: str) -> Secret | None:
    """A key; None if it is blank.

    Raises:
        SettingError: no header can carry it. The message does not repeat it.
    """
    key = value.strip()
    if not key:
        return None
    if not KEY.fullmatch(key):
        what = f"ASCII letters, digits and signs without spaces, up to {KEY_CHARS_MAX:,} of them"
        raise SettingError(name, None, what)
    return Secret(key)


def parse_container(variable: GivenSetting) -> str:
    """The name of a container (a namespace in v5)."""
    if not _CONTAINER.fullmatch(variable.value):
        raise variable.error("1 to 100 ASCII letters, digits, `_`, `-` and `:`")
    return variable.value


def parse_origin(variable: GivenSetting) -> str:
    """An address without a path, to which a key may be sent."""
    what = "https://host or https://host:port, without user, path or query"
    url = _parse_address(variable, what)
    if urlsplit(url).path:
        raise variable.error(what, shown=False)
    return url


def parse_public_url(variable: GivenSetting) -> str:
    """The address under which clients reach this server, with its path."""
    what = "https://host/path, as clients call it, with or without a port"
    url = _parse_address(variable, what)
    if not urlsplit(url).path:
        raise variable.error(f"{what}; the path is missing", shown=False)
    return url


def parse_issuer(variable: GivenSetting) -> str:
    """The issuer of tokens, exactly as they name it: a slash at its end counts."""
    url = _parse_address(variable, "https://host, with or without a port and a path")
    return url + "/" * variable.value.endswith("/")


def parse_pages(variable: GivenSetting) -> tuple[str, ...]:
    """Origins of pages, with commas between them."""
    origins = (parse_origin(GivenSetting(variable.name, each)) for each in parse_names(variable))
    return tuple(origins)


def parse_networks(variable: GivenSetting) -> tuple[Network, ...]:
    """Addresses and networks of machines, with commas between them."""
    try:
        return tuple(ip_network(each) for each in parse_names(variable))
    except ValueError as error:
        what = "addresses or networks, like 127.0.0.1,10.0.0.0/8"
        raise variable.error(what) from error


def parse_database(variable: GivenSetting) -> Secret:
    """The URL of a PostgreSQL database, which may hold a password."""
    if not _DATABASE.fullmatch(variable.value):
        raise variable.error("postgresql://user@host:port/database", shown=False)
    return Secret(variable.value)


def parse_queue(variable: GivenSetting) -> str:
    """The address of an Amazon SQS queue."""
    url = parse_endpoint(variable)
    if not urlsplit(url).path:
        what = "the URL of a queue, like https://sqs.eu-west-1.amazonaws.com/123456789012/nudges"
        raise variable.error(what, shown=False)
    return url


def parse_endpoint(
    variable: GivenSetting | None, default: str = "", *, private: bool = False
) -> str:
    """An address with or without a path; `private` allows http in a private network."""
    if variable is None:
        return default
    what = "https://host or https://host:port, with or without a path, without user or query"
    return _parse_address(variable, what, private=private)


def _parse_address(variable: GivenSetting, what: str, *, private: bool = False) -> str:
    found = _ADDRESS.fullmatch(variable.value)
    if found is None or not 0 < int(found.group(3) or 443) < 1 << 16:
        raise variable.error(what, shown=False)  # it may hold a password, or be the key itself
    scheme, host, port, path = found.groups()
    url = f"{scheme}://{host}".lower() + (f":{int(port)}" if port else "")
    near = is_on_this_machine(url) or (private and is_private(urlsplit(url).hostname or ""))
    if scheme.lower() == "http" and not near:
        why = "https, because http shows the key to the network (only this machine may do without:"
        also = ", and without a key its own network" if private else ""
        raise variable.error(f"{why} localhost, 127.0.0.0/8 or [::1]{also})")
    return url + path


def is_on_this_machine(base_url: str) -> bool:
    """Whether a base URL leads to this machine, where a server needs no key."""
    return is_loopback(urlsplit(base_url).hostname or "")


def parse_folder(variable: GivenSetting) -> Path:
    """A folder that may not exist yet.

    A relative one is in the client's project, because hooks run in other folders than the server.
    """
    value = variable.value
    if variable.project and not value.startswith("~"):
        value = os.path.join(os.path.expanduser(variable.project), value)  # noqa: PTH111, PTH118  # text
    return resolve_folder(variable.name, value)


def parse_own_folder(variable: GivenSetting) -> Path:
    """A folder that is there, or can be made."""
    found = parse_folder(variable)
    if must := explain_unusable_folder(variable.value, str(found)):
        raise variable.error(must)
    return found


def parse_existing_folder(variable: GivenSetting) -> Path:
    """A folder that must exist: a misspelt one would begin an empty memory elsewhere."""
    found = parse_folder(variable)
    if not os.path.isdir(found):  # noqa: PTH112  # never raises
        raise variable.error("a folder that exists")
    return found


def resolve_folder(name: str, value: str) -> Path:
    """The folder that a setting or an option names, as an absolute path.

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


def parse_weights(variable: GivenSetting) -> RerankWeights:
    """The weights of ranking: names with figures; the rest keep their defaults."""
    defaults = RerankWeights()
    known = [each.name for each in fields(defaults)]
    found: dict[str, float] = {}
    for pair in variable.value.split(","):
        name, _, figure = (part.strip() for part in pair.partition("="))
        name = _SHORT_WEIGHTS.get(name.casefold(), name.casefold())
        try:
            found[name] = float(figure)
        except ValueError:
            found[""] = 0.0
    if not found.keys() <= set(known) or not all(0 <= f <= _WEIGHT_MAX for f in found.values()):
        what = f"some of {', '.join(known)}, each with a figure from 0 to {_WEIGHT_MAX}"
        raise variable.error(f"{what}, like {known[0]}=1,{known[1]}=0.5")
    return replace(defaults, **found)
