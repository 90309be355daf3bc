"""Plan what becomes of a client's configuration on install and uninstall: texts in, a text out.

An entry counts as ours if it starts memory-mcp, wherever that is installed.

An install leaves no note of what it did. So an uninstall repeats it: if putting the entry into the
copy from before gives the text of today, that copy is the answer, byte for byte. If others wrote
since, only the entry is removed, and the objects around it that the copy does not have.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Final, Protocol, cast

from memory_mcp.clients import jsonc, toml
from memory_mcp.clients.jsonc import Json, Path
from memory_mcp.clients.tables import Client, Scope
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

PROGRAM: Final = "memory-mcp"
PACKAGE: Final = "backtrack-memory"
"""The distribution: on PyPI the name of the command is somebody else's."""
_NAME: Final = compile_later(r"[A-Za-z0-9_-]{1,40}")
"""Every client takes such a name; it is a part of tools' names, which have 64 characters."""
_CACHE: Final = compile_later(r"(?:archive|environments|builds)-v\d+")
"""Folders in uv's cache, where uvx keeps what it runs."""
_RUNNERS: Final = ("uvx", "uv", "pipx")
_DEFAULTS: Final[Mapping[str, Json]] = {"type": "stdio", "args": [], "enabled": True}
"""What an entry means that leaves these keys out."""


class Editor(Protocol):
    """What reads and edits the text of a configuration; the modules `jsonc` and `toml` are these.

    Every byte that is not edited stays, and no text is returned that says anything else than was
    meant. Each raises where the text is not of its language, and
    `NotAnObjectError` where a path leads into something that has no members.
    """

    def is_blank(self, text: str) -> bool:
        """Whether there is nothing in the text, a byte order mark aside."""
        ...

    def get_value(self, text: str, path: Path) -> Json:
        """The value at the path; None if there is none."""
        ...

    def has_value(self, text: str, path: Path) -> bool:
        """Whether there is a value at the path."""
        ...

    def is_bare(self, text: str, path: Path) -> bool:
        """Whether what is at the path holds nothing, not even a comment."""
        ...

    def set_value(self, text: str, path: Path, value: Json) -> str:
        """The text with this value at the path."""
        ...

    def remove_value(self, text: str, path: Path) -> str:
        """The text without the value at the path; as it is, if there is none."""
        ...


EDITORS: Final[Mapping[str, Editor]] = {"json": jsonc, "toml": toml}
"""For each language of the table of clients."""


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
            f"{name!r} cannot be used. Take letters, digits, - and _, up to 40 of them."
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
        InvalidRequestError: a path that a configuration cannot hold.
    """
    for word in (command.program, *command.arguments):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidRequestError(
                f"{word!a} is no UTF-8, and {client.title} could not be told of it. Move it to a "
                "path that is."
            ) from None
    arguments = list(command.arguments)
    filled: dict[Json, Json] = {
        "{program}": command.program,
        "{arguments}": arguments,
        "{command line}": [command.program, *arguments],
    }
    return {
        key: filled.get(value, value) if isinstance(value, str) else value
        for key, value in client.entry.items()
    }


def is_ours(found: Json) -> bool:
    """Whether an entry starts memory-mcp, wherever that is installed."""
    if not isinstance(found, Mapping):
        return False
    fields = cast("Mapping[str, Json]", found)
    program, arguments = fields.get("command"), _list_words(fields.get("args"))
    if words := _list_words(program):  # opencode keeps the whole command line in one list
        program, *rest = words
        arguments = tuple(rest)
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


Plan = ConfigEdit | AlreadyInstalled | DifferentEntry | NotInstalled | OtherServer


def plan_install(
    text: str | None, path: Path, wanted: Mapping[str, Json], *, force: bool, editor: Editor = jsonc
) -> ConfigEdit | AlreadyInstalled | DifferentEntry:
    """Put the entry in. An older one of ours keeps what its owner added to it.

    Raises:
        NotJsonError, NotTomlError: the text is not of the editor's language.
        NotAnObjectError: the path leads into something that is no object.
    """
    before = text or ""
    if not editor.has_value(before, path):
        return ConfigEdit(editor.set_value(before, path, wanted))
    found = editor.get_value(before, path)
    what = find_differences(found, wanted)
    if not what:
        return AlreadyInstalled()
    if not force:
        return DifferentEntry(what, is_ours(found))
    if not is_ours(found):
        return ConfigEdit(editor.set_value(before, path, wanted))
    return ConfigEdit(amend(before, path, wanted, editor))


def plan_uninstall(
    text: str | None,
    path: Path,
    copies: Sequence[str],
    *,
    written: Collection[str] = ("type", "command", "args"),
    editor: Editor = jsonc,
) -> ConfigEdit | NotInstalled | OtherServer:
    """Remove the entry; `copies` are the texts from before installs, the newest first.

    `written` are the keys that we write; whatever else stands in an entry is its owner's.

    Raises:
        NotJsonError, NotTomlError: the text is not of the editor's language.
        NotAnObjectError: the path leads into something that is no object.
    """
    if text is None or not editor.has_value(text, path):
        return NotInstalled()
    found = editor.get_value(text, path)
    if not is_ours(found):
        return OtherServer()
    fields = cast("Mapping[str, Json]", found)
    wanted = {key: fields[key] for key in written if key in fields}

    def has_ours(copy: str) -> bool:
        return is_ours(editor.get_value(copy, path))

    def install_again(copy: str) -> str | None:
        if not has_ours(copy):
            return editor.set_value(copy, path, found)
        done = plan_install(copy, path, wanted, force=True, editor=editor)
        return done.text if isinstance(done, ConfigEdit) else None

    readable = list_readable(copies, path, editor)
    # copies without an entry of ours first: whoever replaced their own by it wants that back
    original = find_original(text, sorted(readable, key=has_ours), install_again)
    if original is not None:
        return ConfigEdit(original)
    if not copies and install_again("") == text:
        return ConfigEdit(None)
    after = text
    while is_ours(editor.get_value(after, path)):  # a key may stand twice
        after = editor.remove_value(after, path)
    return ConfigEdit(drop_empty(after, path, readable[0] if readable else None, editor))


def find_original(
    text: str, copies: Sequence[str], install_again: Callable[[str], str | None]
) -> str | None:
    """The copy that an install makes this text of; nobody else wrote since, then."""
    return next((copy for copy in copies if install_again(copy) == text), None)


def list_readable(copies: Sequence[str], path: Path, editor: Editor = jsonc) -> list[str]:
    """The copies that can be read; another one is from a day when the file itself was broken."""
    found: list[str] = []
    for copy in copies:
        with suppress(InvalidRequestError):
            editor.has_value(copy, path)
            found.append(copy)
    return found


def drop_empty(text: str, path: Path, before: str | None, editor: Editor = jsonc) -> str | None:
    """Remove the empty objects and lists that led to the path and were not there before."""
    for depth in range(len(path) - 1, 0, -1):
        if not editor.is_bare(text, path[:depth]) or editor.has_value(before or "", path[:depth]):
            break
        text = editor.remove_value(text, path[:depth])
    return before if editor.is_blank(before or "") and editor.is_bare(text, ()) else text


def amend(text: str, path: Path, wanted: Mapping[str, Json], editor: Editor = jsonc) -> str:
    """The text with these fields of an object as wanted, and its others as they are."""
    for key, value in wanted.items():
        if editor.get_value(text, (*path, key)) != value:
            text = editor.set_value(text, (*path, key), value)
    return text
