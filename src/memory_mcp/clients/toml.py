"""Read and edit TOML; every byte that is not edited stays.

The same functions as in `jsonc`, for paths of names. A table is added after the last line and cut
out with its lines, as text; tomlkit would take comments along with it. tomlkit edits what stands
within a line: a value, an inline table. Python's own reader reads the result of every edit, and an
edit that says anything else than was meant is not taken.
"""

import json
import re
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from memory_mcp.clients.jsonc import BYTE_ORDER_MARK, Json, NotAnObjectError, Path, is_blank
from memory_mcp.errors import InvalidRequestError
from memory_mcp.patterns import compile_later

_Edit = Callable[[str, Path, Json], str]
_TOKEN: Final = compile_later(
    r'''
    (?P<text>"""(?:\\.|[^\\])*?"{3,5}(?!") | \'\'\'.*?\'{3,5}(?!\')
           | "(?:\\.|[^"\\\n])*" | '[^'\n]*' | \#[^\n]*)
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<end>\n) | (?P<other>[^"'\#\[\]{}\n]+)
    ''',
    re.VERBOSE | re.DOTALL,
)
"""The tokens of a text that was read before, as far as they decide where a statement ends."""
_BARE: Final = compile_later(r"[A-Za-z0-9_-]+")


class NotTomlError(InvalidRequestError):
    """The text is no TOML. The message begins with the line."""

    language = "TOML"


class NotEditableError(InvalidRequestError):
    """There is no way to write this that leaves all else as it is. The end of a sentence."""

    def __init__(self, path: Path) -> None:
        where = ".".join(map(repr, path))
        super().__init__(f"its {where} cannot be written without touching the rest")


def read_data(text: str) -> Json:
    """What the text says.

    Raises:
        NotTomlError: it is no TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).rpartition(" (at ")
        line = re.match(r"line (\d+)", where)
        at = line[1] if line else text.count("\n") + 1
        raise NotTomlError(f"line {at}: {what}") from error
    except RecursionError as error:
        raise NotTomlError("line 1: it is nested too deep") from error


def get_value(text: str, path: Path) -> Json:
    """The value at the path; None if there is none."""
    found = _walk(text, path)
    return found[-1] if len(found) > len(path) else None


def has_value(text: str, path: Path) -> bool:
    """Whether there is a value at the path."""
    return len(_walk(text, path)) > len(path)


def is_bare(text: str, path: Path) -> bool:
    """Whether the whole text holds nothing. No table is left empty by a `remove_value`."""
    return not path and is_blank(text)


def set_value(text: str, path: Path, value: Json) -> str:
    """The text with this value at the path of one or more names.

    Raises:
        NotTomlError: the text is no TOML.
        NotAnObjectError: the path leads into something that is no table.
        NotEditableError: every way to write it would touch something else.
    """
    if isinstance(value, Mapping):
        text = remove_value(text, path)
    wanted = _put(read_data(text), path, value)
    return _try_edits(text, (_append_table, _edit), path, value, wanted)


def remove_value(text: str, path: Path) -> str:
    """The text without the value at the path; as it is, if there is none.

    Raises:
        NotTomlError: the text is no TOML.
        NotAnObjectError: the path leads into something that is no table.
        NotEditableError: every way to remove it would touch something else.
    """
    if not has_value(text, path):
        return text
    wanted = _put(read_data(text), path, None)
    return _try_edits(text, (_cut, _edit), path, None, wanted)


def _walk(text: str, path: Path) -> list[Json]:
    """The values along the path, as far as there are any; the first is the whole text."""
    found = [read_data(text)]
    for depth, name in enumerate(path):
        inner = found[-1]
        if not isinstance(inner, Mapping):
            raise NotAnObjectError(path[:depth], inner, "a table")
        if str(name) not in inner:
            break
        found.append(inner[str(name)])
    return found


def _put(data: Json, path: Path, value: Json) -> Json:
    """The data with this value at the path; None removes what is there."""
    if not path:
        return value
    inner = dict(data) if isinstance(data, Mapping) else {}
    below = _put(inner.pop(str(path[0]), None), path[1:], value)
    return inner if below is None else {**inner, str(path[0]): below}


def _try_edits(text: str, edits: tuple[_Edit, ...], path: Path, value: Json, wanted: Json) -> str:
    """The text after the first edit that says what is wanted, with the line ends of the text."""
    bare = text.removeprefix(BYTE_ORDER_MARK)
    for edit in edits:
        with suppress(Exception):  # tomlkit fails in many ways on a form that it does not know
            after = edit(bare, path, value)
            if "\r\n" in bare and not re.search(r"(?<!\r)\n", bare):
                after = re.sub(r"(?<!\r)\n", "\r\n", after)
            if _normalise(read_data(after), path) == _normalise(wanted, path):
                return text[: len(text) - len(bare)] + after
    raise NotEditableError(path)


def _normalise(data: Json, path: Path) -> str:
    """What is compared: NaN equals NaN, and an empty table on the way counts as none."""
    for depth in range(len(path) - 1, 0, -1):
        inner = data
        for name in path[:depth]:
            inner = inner.get(str(name)) if isinstance(inner, Mapping) else None
        if inner == {}:
            data = _put(data, path[:depth], None)
    return json.dumps(data, sort_keys=True, default=repr)


def _append_table(text: str, path: Path, value: Json) -> str:
    """The text with a table of its own after its last line."""
    items = value.items() if isinstance(value, Mapping) else ()
    lines = [f"{_format_key([key])} = {_format(item)}\n" for key, item in items]
    end = "" if text.endswith("\n") or not text else "\n"
    between = "\n" if text.strip() else ""
    return f"{text}{end}{between}[{_format_key(path)}]\n{''.join(lines)}"


def _edit(text: str, path: Path, value: Json) -> str:
    """The text with a value changed where it stands; None removes it."""
    import tomlkit  # noqa: PLC0415  # only a client with TOML pays for it

    document: Any = tomlkit.parse(text)
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = _make_item(value)
    return document.as_string()


def _make_item(value: Json) -> Any:
    import tomlkit  # noqa: PLC0415  # only a client with TOML pays for it

    if not isinstance(value, Mapping):
        return tomlkit.item(value)
    table: Any = tomlkit.inline_table()
    table.update(value)
    return table


def _format(value: Json) -> str:
    return _make_item(value).as_string()


def _format_key(path: Path) -> str:
    names = [str(name) for name in path]
    return ".".join(name if _BARE.fullmatch(name) else json.dumps(name) for name in names)


def _cut(text: str, path: Path, _: Json) -> str:
    """The text without the statements about this path alone, and the empty line before them."""
    kept: list[str] = []
    gap: list[str] = []
    table: list[str] = []
    cutting = False
    for statement in _split(text):
        if statement.strip()[:1] in ("", "#"):
            gap.append(statement)
            continue
        data = tomllib.loads(statement)
        is_header = statement.lstrip().startswith("[")
        if is_header:
            table = _find_names(data)
            data = {}
        for name in reversed(table):
            data = {name: data}
        ours = _find_names(data)[: len(path)] == list(path)
        if ours and is_header and not cutting and gap and not gap[-1].strip():
            gap.pop()
        if not (ours and cutting):
            kept += gap
        if not ours:
            kept.append(statement)
        gap, cutting = [], ours
    return "".join([*kept, *gap])


def _find_names(data: Any) -> list[str]:
    """The names that lead to the first value that is no table with one name."""
    names: list[str] = []
    while isinstance(data, dict) and len(cast("dict[str, Any]", data)) == 1:
        ((name, data),) = cast("dict[str, Any]", data).items()
        names.append(name)
    return names


def _split(text: str) -> Generator[str]:
    """The statements, each with the end of its line: headers, keys with values, comments."""
    start = depth = 0
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "end" if depth == 0:
                yield text[start : token.end()]
                start = token.end()
            case _:
                pass
    if start < len(text):
        yield text[start:]
