"""Plan what becomes of a client's configuration on install and uninstall: texts in, a text out.

An entry counts as ours if it starts memory-mcp, wherever that is installed.

An install leaves no note of what it did. So an uninstall repeats it: if putting the entry into the
copy from before gives the text of today, that copy is the answer, byte for byte. If others wrote
since, only the entry is removed, and the objects around it that the copy does not have.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Final, cast

from memory_mcp.clients.jsonc import (
    Json,
    Path,
    get_value,
    has_value,
    is_bare,
    is_blank,
    parse_document,
    remove_value,
    set_value,
)
from memory_mcp.clients.tables import Client, Scope
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen

PROGRAM: Final = "memory-mcp"
PACKAGE: Final = "backtrack-memory"
"""The distribution: on PyPI the name of the command is somebody else's."""
WRITTEN: Final = ("type", "command", "args")
"""The keys that we write; whatever else stands in an entry is its owner's."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Every client takes such a name; it is a part of tools' names, which have 64 characters."""
_CACHE: Final = re.compile(r"(?:archive|environments|builds)-v\d+")
"""Folders in uv's cache, where uvx keeps what it runs."""
_RUNNERS: Final = ("uvx", "uv", "pipx")
_DEFAULTS: Final[Mapping[str, Json]] = {"type": "stdio", "args": []}
"""What an entry means that leaves these keys out."""


@frozen
class Command:
    """How memory-mcp is started."""

    program: str
    arguments: tuple[str, ...] = ()


def check_name(name: str) -> str:
    """The name of the entry.

    Raises:
        InvalidRequestError: clients would not take it.
    """
    if not _NAME.fullmatch(name):
        raise InvalidRequestError(
            f"--name {name!r} cannot be used. Take letters, digits, - and _, up to 40 of them."
        )
    return name


def is_temporary(prefix: PurePath) -> bool:
    """Whether uvx or `pipx run` made this environment for one run only."""
    by_uvx = any(_CACHE.fullmatch(part) for part in prefix.parts)
    return by_uvx or ("pipx" in prefix.parts and "venvs" not in prefix.parts)


def make_arguments(client: Client, scope: Scope, project: str, toolsets: str) -> tuple[str, ...]:
    """The arguments of memory-mcp: whose memory it is, where the client does not say so."""
    folder = client.folder_variable if scope == "project" else project if scope == "user" else ""
    return (
        *(("--project", folder) if folder else ()),
        *(("serve", "--toolsets", toolsets) if toolsets else ()),
    )


def make_entry(client: Client, command: Command) -> dict[str, Json]:
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
    fields: dict[str, Json] = {"command": command.program, "args": list(command.arguments)}
    return {"type": "stdio", **fields} if client.typed else fields


def is_ours(found: Json) -> bool:
    """Whether an entry starts memory-mcp, wherever that is installed."""
    if not isinstance(found, Mapping):
        return False
    fields = cast("Mapping[str, Json]", found)
    program, arguments = fields.get("command"), _list_words(fields.get("args"))
    if not isinstance(program, str):
        return False
    name = _find_program_name(program)
    if name in (PROGRAM, PACKAGE):
        return True
    if name in _RUNNERS:
        return any(re.match(rf"{PACKAGE}(?:$|[=\[@ ])", word) for word in arguments)
    return name.startswith("python") and arguments[:2] == ("-m", "memory_mcp")


def find_differences(found: Json, wanted: Mapping[str, Json]) -> tuple[str, ...]:
    """In what an entry differs from the wanted one; its owner may have added to it."""
    if not isinstance(found, Mapping):
        return ("it is no object",)
    fields = cast("Mapping[str, Json]", found)
    if not is_ours(found):
        started = fields.get("command") or fields.get("url") or "nothing"
        return (f"it starts {started!r}, which is not memory-mcp",)
    return tuple(
        f"{key} is {fields.get(key)!r} there and {value!r} here"
        for key, value in wanted.items()
        if fields.get(key, _DEFAULTS.get(key)) != value
    )


def _find_program_name(command: str) -> str:
    """The name of a program, on whichever system its path was written."""
    last = PureWindowsPath(command).name if "\\" in command else PurePosixPath(command).name
    return re.sub(r"\.(?:exe|cmd|bat)$", "", last, flags=re.IGNORECASE).lower()


def _list_words(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return tuple(word for word in value if isinstance(word, str))


@frozen
class ConfigEdit:
    """The new text; None: no file."""

    text: str | None


@frozen
class AlreadyInstalled:
    """The entry is there, as wanted."""


@frozen
class DifferentEntry:
    """An entry of that name says something else."""

    what: tuple[str, ...]
    ours: bool


@frozen
class NotInstalled:
    """There is no entry of that name."""


@frozen
class OtherServer:
    """The entry of that name starts something else."""


def plan_install(
    text: str | None, path: Path, wanted: Mapping[str, Json], *, force: bool
) -> ConfigEdit | AlreadyInstalled | DifferentEntry:
    """Put the entry in. An older one of ours keeps what its owner added to it.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: the path leads into something that is no object.
    """
    before = text or ""
    if not has_value(before, path):
        return ConfigEdit(_verify(before, set_value(before, path, wanted), path, wanted))
    found = get_value(before, path)
    what = find_differences(found, wanted)
    if not what:
        return AlreadyInstalled()
    if not force:
        return DifferentEntry(what, is_ours(found))
    if not is_ours(found):
        return ConfigEdit(_verify(before, set_value(before, path, wanted), path, wanted))
    after = before
    for key, value in wanted.items():
        if get_value(after, (*path, key)) != value:
            after = set_value(after, (*path, key), value)
    return ConfigEdit(after)


def plan_uninstall(
    text: str | None, path: Path, copies: Sequence[str]
) -> ConfigEdit | NotInstalled | OtherServer:
    """Remove the entry; `copies` are the texts from before installs, the newest first.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: the path leads into something that is no object.
    """
    if text is None or not has_value(text, path):
        return NotInstalled()
    found = get_value(text, path)
    if not is_ours(found):
        return OtherServer()
    readable = [copy for copy in copies if _is_readable(copy, path)]
    # copies without an entry of ours first: whoever replaced their own by it wants that back
    for copy in sorted(readable, key=lambda copy: _has_ours(copy, path)):
        if _install_again(copy, path, text) == text:
            return ConfigEdit(copy)
    if not copies and set_value("", path, found) == text:
        return ConfigEdit(None)
    return ConfigEdit(_remove_entry(text, path, readable[0] if readable else None))


def _is_readable(copy: str, path: Path) -> bool:
    try:
        has_value(copy, path)
    except InvalidRequestError:  # from a day when the file itself was broken
        return False
    return True


def _has_ours(copy: str, path: Path) -> bool:
    return has_value(copy, path) and is_ours(get_value(copy, path))


def _install_again(copy: str, path: Path, text: str) -> str | None:
    """What an install makes of a copy; None if it would not change it."""
    if not _has_ours(copy, path):
        return set_value(copy, path, get_value(text, path))
    wanted = {
        key: get_value(text, (*path, key)) for key in WRITTEN if has_value(text, (*path, key))
    }
    match plan_install(copy, path, wanted, force=True):
        case ConfigEdit(after):
            return after
        case _:
            return None


def _remove_entry(text: str, path: Path, before: str | None) -> str | None:
    """Remove the entry, and the empty objects around it that were not there before."""
    while has_value(text, path) and is_ours(get_value(text, path)):  # a key may stand twice
        text = remove_value(text, path)
    for depth in range(len(path) - 1, 0, -1):
        if not is_bare(text, path[:depth]) or has_value(before or "", path[:depth]):
            return text
        text = remove_value(text, path[:depth])
    return before if is_blank(before or "") and is_bare(text, ()) else text


def _verify(before: str, after: str, path: Path, wanted: Mapping[str, Json]) -> str:
    """The new text, if it says what the old one said and the entry: no slip of ours is written."""
    old = None if is_blank(before) else parse_document(before).root.data
    if parse_document(after).root.data != _insert(old, path, wanted):
        raise AssertionError(path)
    return after


def _insert(data: Json, path: Path, value: Json) -> Json:
    if not path:
        return value
    inner: Mapping[str, Json] = data if isinstance(data, Mapping) else {}
    return {**inner, path[0]: _insert(inner.get(path[0]), path[1:], value)}
