"""Plan what becomes of a client's configuration on install and uninstall: texts in, a text out.

An entry counts as ours if it starts memory-mcp, wherever that is installed.

An install leaves no note of what it did. An uninstall proves it instead: if putting the entry into
the copy from before gives the text of today, that copy is the answer, byte for byte. If others
wrote since, only the entry is removed, and what the copy shows to have come with it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Final, cast

from memory_mcp.clients.jsonc import Json, holds, is_bare, is_blank, put, read, scan, take
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


def check_name(given: str) -> str:
    """The name of the entry.

    Raises:
        InvalidRequestError: clients would not take it.
    """
    if not _NAME.fullmatch(given):
        raise InvalidRequestError(
            f"--name {given!r} cannot be used. Take letters, digits, - and _, up to 40 of them."
        )
    return given


def is_temporary(prefix: PurePath) -> bool:
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


Path = Sequence[str]


@dataclass(frozen=True)
class Edit:
    """The text to be; None: no file."""

    text: str | None


@dataclass(frozen=True)
class AlreadyInstalled:
    """The entry is there, and says what it should."""


@dataclass(frozen=True)
class DifferentEntry:
    """An entry of that name says something else."""

    what: tuple[str, ...]
    ours: bool


@dataclass(frozen=True)
class NotInstalled:
    """There is no entry of that name."""


@dataclass(frozen=True)
class OtherServer:
    """The entry of that name starts something else."""


def install(
    text: str | None, path: Path, wanted: Mapping[str, Json], *, force: bool
) -> Edit | AlreadyInstalled | DifferentEntry:
    """Put the entry in. An older one of ours keeps what its owner added to it.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    before = text or ""
    if not holds(before, path):
        return Edit(_check(before, put(before, path, wanted), path, wanted))
    found = read(before, path)
    what = differences(found, wanted)
    if not what:
        return AlreadyInstalled()
    if not force:
        return DifferentEntry(what, is_ours(found))
    if not is_ours(found):
        return Edit(_check(before, put(before, path, wanted), path, wanted))
    after = before
    for key, value in wanted.items():
        if read(after, (*path, key)) != value:
            after = put(after, (*path, key), value)
    return Edit(after)


def uninstall(
    text: str | None, path: Path, copies: Sequence[str]
) -> Edit | NotInstalled | OtherServer:
    """Take the entry out; `copies` are the texts from before installs, the newest first.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    if text is None or not holds(text, path):
        return NotInstalled()
    found = read(text, path)
    if not is_ours(found):
        return OtherServer()
    readable = [copy for copy in copies if _is_readable(copy, path)]
    for copy in sorted(readable, key=lambda copy: _holds_ours(copy, path)):
        if _install_again(copy, path, text) == text:
            return Edit(copy)
    if not copies and put("", path, found) == text:
        return Edit(None)
    return Edit(_take_out(text, path, readable[0] if readable else None))


def _is_readable(copy: str, path: Path) -> bool:
    try:
        holds(copy, path)
    except InvalidRequestError:  # from a day when the file itself was broken
        return False
    return True


def _holds_ours(copy: str, path: Path) -> bool:
    return holds(copy, path) and is_ours(read(copy, path))


def _install_again(copy: str, path: Path, text: str) -> str | None:
    """What an install makes of a copy; one that knows no entry of ours comes before one that does.

    Who puts right an entry of their own and takes memory-mcp out again wants that entry back.
    """
    if not _holds_ours(copy, path):
        return put(copy, path, read(text, path))
    wanted = {key: read(text, (*path, key)) for key in WRITTEN if holds(text, (*path, key))}
    match install(copy, path, wanted, force=True):
        case Edit(after):
            return after
        case _:
            return None


def _take_out(text: str, path: Path, before: str | None) -> str | None:
    """Without the entry, and without what was empty around it and not there before."""
    while holds(text, path) and is_ours(read(text, path)):  # a key may stand twice
        text = take(text, path)
    for depth in range(len(path) - 1, 0, -1):
        if not is_bare(text, path[:depth]) or holds(before or "", path[:depth]):
            return text
        text = take(text, path[:depth])
    return before if is_blank(before or "") and is_bare(text, ()) else text


def _check(before: str, after: str, path: Path, wanted: Mapping[str, Json]) -> str:
    """The text, once it says what the old one said, and the entry: no slip of ours is written."""
    old = None if is_blank(before) else scan(before).root.data
    if scan(after).root.data != _insert(old, path, wanted):
        raise AssertionError(path)
    return after


def _insert(data: Json, path: Path, value: Json) -> Json:
    if not path:
        return value
    inner: Mapping[str, Json] = data if isinstance(data, Mapping) else {}
    return {**inner, path[0]: _insert(inner.get(path[0]), path[1:], value)}
