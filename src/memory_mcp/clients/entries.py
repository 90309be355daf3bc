"""What is written of memory-mcp into a client's configuration, and how it is known again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Final, cast

from memory_mcp.clients.jsonc import Json
from memory_mcp.clients.tables import Client, Scope
from memory_mcp.errors import InvalidRequestError

PROGRAM: Final = "memory-mcp"
"""The command."""
PACKAGE: Final = "backtrack-memory"
"""What brings it: another name, because on PyPI that of the command is somebody else's."""
WRITTEN: Final = ("type", "command", "args")
"""What an entry of ours says; whatever else stands in it is its owner's."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""What every client takes; tools are called after it, and a tool's name has 64 characters."""
_CACHE: Final = re.compile(r"(?:archive|environments|builds)-v\d+")
"""Folders in uv's cache, where uvx keeps what it runs until somebody tidies up."""
_RUNNERS: Final = ("uvx", "uv", "pipx")


@dataclass(frozen=True)
class Command:
    """How memory-mcp is started."""

    program: str
    arguments: tuple[str, ...] = ()


def name_of(given: str) -> str:
    """The name of the entry.

    Raises:
        InvalidRequestError: clients would not take it.
    """
    if not _NAME.fullmatch(given):
        raise InvalidRequestError(
            f"--name {given!r} cannot be used. Take letters, digits, - and _, up to 40 of them."
        )
    return given


def is_passing(prefix: PurePath) -> bool:
    """Whether uvx or `pipx run` made this environment for one run only."""
    by_uvx = any(_CACHE.fullmatch(part) for part in prefix.parts)
    return by_uvx or ("pipx" in prefix.parts and "venvs" not in prefix.parts)


def arguments(client: Client, scope: Scope, project: str, toolsets: str) -> tuple[str, ...]:
    """What memory-mcp is told: whose memory it is, where the client does not tell it."""
    folder = client.folder_variable if scope == "project" else project if scope == "user" else ""
    return (
        *(("--project", folder) if folder else ()),
        *(("serve", "--toolsets", toolsets) if toolsets else ()),
    )


def entry(client: Client, command: Command) -> dict[str, Json]:
    """The entry as that client writes one itself.

    Raises:
        InvalidRequestError: a path that JSON cannot hold.
    """
    for word in (command.program, *command.arguments):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidRequestError(
                f"{word!a} is no UTF-8, and {client.title} could not be told of it. Move it to a "
                "path that is."
            ) from None
    told: dict[str, Json] = {"command": command.program, "args": list(command.arguments)}
    return {"type": "stdio", **told} if client.typed else told


def is_ours(found: Json) -> bool:
    """Whether an entry starts memory-mcp, wherever that is installed."""
    if not isinstance(found, Mapping):
        return False
    told = cast("Mapping[str, Json]", found)
    program, given = told.get("command"), _words(told.get("args"))
    if not isinstance(program, str):
        return False
    name = _program(program)
    if name in (PROGRAM, PACKAGE):
        return True
    if name in _RUNNERS:
        return any(re.match(rf"{PACKAGE}(?:$|[=\[@ ])", word) for word in given)
    return name.startswith("python") and given[:2] == ("-m", "memory_mcp")


def differences(found: Json, wanted: Mapping[str, Json]) -> tuple[str, ...]:
    """In what an entry is not what was asked for; whatever else its owner put there is fine."""
    if not isinstance(found, Mapping):
        return ("it is no object",)
    told = cast("Mapping[str, Json]", found)
    if not is_ours(found):
        return (f"it starts {_started(told)}, which is not memory-mcp",)
    return tuple(
        f"{key} is {told.get(key)!r} there and {value!r} here"
        for key, value in wanted.items()
        if told.get(key, _USUAL.get(key)) != value
    )


_USUAL: Final[Mapping[str, Json]] = {"type": "stdio", "args": []}
"""What an entry means that does not say it."""


def _started(told: Mapping[str, Json]) -> str:
    return repr(told.get("command") or told.get("url") or "nothing")


def _program(command: str) -> str:
    """The name of a program, on whichever system its path was written."""
    last = PureWindowsPath(command).name if "\\" in command else PurePosixPath(command).name
    return re.sub(r"\.(?:exe|cmd|bat)$", "", last, flags=re.IGNORECASE).lower()


def _words(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return tuple(word for word in value if isinstance(word, str))
