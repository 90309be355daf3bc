"""What becomes of a configuration when memory-mcp is put in or taken out: texts in, a text out.

No note is kept of what an install did. An uninstall proves it instead: where putting the entry into
the copy from before gives the text of today, that copy is the answer, byte for byte. Where others
wrote since, only the entry goes, and what the copy shows to have come with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_mcp.clients.edit import holds, is_bare, put, read, take
from memory_mcp.clients.entries import WRITTEN, differences, is_ours
from memory_mcp.clients.jsonc import Json, is_blank, scan
from memory_mcp.errors import InvalidRequestError

Path = Sequence[str]


@dataclass(frozen=True)
class Edit:
    """The text to be; None: no file."""

    text: str | None


@dataclass(frozen=True)
class Known:
    """The entry is there, and says what it should."""


@dataclass(frozen=True)
class Differs:
    """An entry of that name says something else."""

    what: tuple[str, ...]
    ours: bool


@dataclass(frozen=True)
class Absent:
    """There is no entry of that name."""


@dataclass(frozen=True)
class Foreign:
    """The entry of that name starts something else."""


def install(
    text: str | None, path: Path, wanted: Mapping[str, Json], *, force: bool
) -> Edit | Known | Differs:
    """Put the entry in. An older one of ours keeps what its owner added to it.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    before = text or ""
    if not holds(before, path):
        return Edit(_checked(before, put(before, path, wanted), path, wanted))
    found = read(before, path)
    what = differences(found, wanted)
    if not what:
        return Known()
    if not force:
        return Differs(what, is_ours(found))
    if not is_ours(found):
        return Edit(_checked(before, put(before, path, wanted), path, wanted))
    after = before
    for key, value in wanted.items():
        if read(after, (*path, key)) != value:
            after = put(after, (*path, key), value)
    return Edit(after)


def uninstall(text: str | None, path: Path, copies: Sequence[str]) -> Edit | Absent | Foreign:
    """Take the entry out; `copies` are the texts from before installs, the newest first.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    if text is None or not holds(text, path):
        return Absent()
    found = read(text, path)
    if not is_ours(found):
        return Foreign()
    readable = [copy for copy in copies if _is_readable(copy, path)]
    for copy in sorted(readable, key=lambda copy: _had(copy, path)):
        if _redone(copy, path, text) == text:
            return Edit(copy)
    if not copies and put("", path, found) == text:
        return Edit(None)
    return Edit(_taken(text, path, readable[0] if readable else None))


def _is_readable(copy: str, path: Path) -> bool:
    try:
        holds(copy, path)
    except InvalidRequestError:  # from a day when the file itself was broken
        return False
    return True


def _had(copy: str, path: Path) -> bool:
    return holds(copy, path) and is_ours(read(copy, path))


def _redone(copy: str, path: Path, text: str) -> str | None:
    """What an install makes of a copy; one that knows no entry of ours comes before one that does.

    Who puts right an entry of their own and takes memory-mcp out again wants that entry back.
    """
    if not _had(copy, path):
        return put(copy, path, read(text, path))
    wanted = {key: read(text, (*path, key)) for key in WRITTEN if holds(text, (*path, key))}
    match install(copy, path, wanted, force=True):
        case Edit(after):
            return after
        case _:
            return None


def _taken(text: str, path: Path, before: str | None) -> str | None:
    """Without the entry, and without what was empty around it and not there before."""
    while holds(text, path) and is_ours(read(text, path)):  # a key may stand twice
        text = take(text, path)
    for depth in range(len(path) - 1, 0, -1):
        if not is_bare(text, path[:depth]) or holds(before or "", path[:depth]):
            return text
        text = take(text, path[:depth])
    return before if is_blank(before or "") and is_bare(text, ()) else text


def _checked(before: str, after: str, path: Path, wanted: Mapping[str, Json]) -> str:
    """The text, once it says what the old one said, and the entry: no slip of ours is written."""
    old = None if is_blank(before) else scan(before).root.data
    if scan(after).root.data != _with(old, path, wanted):
        raise AssertionError(path)
    return after


def _with(data: Json, path: Path, value: Json) -> Json:
    if not path:
        return value
    inner: Mapping[str, Json] = data if isinstance(data, Mapping) else {}
    return {**inner, path[0]: _with(inner.get(path[0]), path[1:], value)}
