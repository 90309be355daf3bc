"""Read and edit JSON with comments and surplus commas; every byte that is not edited stays.

A text becomes a tree of values with their spans, and an edit replaces spans. A path leads to a
value: a name for a member of an object, a number for an item of a list, and `APPEND` for the item
after its last. Where a key stands twice the last one counts, as it does for every client.

Edits keep the text's line ends, indentation, layout and trailing commas. Removing a member right
after it was set restores the text, except for spaces in an empty object.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from memory_mcp.errors import InvalidRequestError
from memory_mcp.patterns import compile_later

Json = Mapping[str, "Json"] | Sequence["Json"] | str | float | bool | None
Path = Sequence[str | int]
APPEND: Final = -1

_TOKEN: Final = compile_later(
    r"""
    (?P<space>[ \t\r\n]+)
    | (?P<comment>//[^\r\n]*|/\*.*?\*/)
    | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    | (?P<sign>[{}\[\]:,])
    | (?P<word>[^\s{}\[\]:,"/]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = compile_later(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
_DEPTH_MAX: Final = 200
"""Deeper than any configuration; Python's own stack allows it."""
BYTE_ORDER_MARK: Final = "\ufeff"


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


_PLAIN: Final = json.JSONDecoder(parse_int=float, parse_constant=_refuse_constant)
"""Python's own reader, which knows plain JSON only, and is many times as fast."""


class NotJsonError(InvalidRequestError):
    """The text is no JSON, with or without comments. The message begins with the line."""

    language = "JSON"


class JsonGap(NamedTuple):
    """White space and comments between two tokens.

    `comments_end` is where the last comment ends, or the start without one. `line_comment`: that
    comment goes on to the end of its line.
    """

    start: int
    end: int
    comments_end: int
    line_comment: bool


class JsonMember(NamedTuple):
    """A key with its value, the gaps around them, and where its comma is.

    An item of a list has its number for a key.
    """

    key: str | int
    start: int
    value: "JsonNode"
    before: JsonGap
    after: JsonGap
    comma: int | None


class JsonNode(NamedTuple):
    """A value with its span; an object or list on the path that was asked for has its members too.

    `last` is the gap before the closing sign, after any comma.
    """

    start: int
    end: int
    data: Json
    members: tuple[JsonMember, ...] | None = None
    last: JsonGap = JsonGap(0, 0, 0, line_comment=False)

    def member(self, key: str | int) -> JsonMember | None:
        """The member that counts for this key."""
        found = [member for member in self.members or () if member.key == key]
        return found[-1] if found else None


class JsonDocument(NamedTuple):
    """A parsed text; `extra` is the first line with a comment or a surplus comma."""

    root: JsonNode
    extra: int | None


def is_blank(text: str) -> bool:
    """Whether there is nothing in the text, a byte order mark aside."""
    return not text.removeprefix(BYTE_ORDER_MARK).strip(" \t\r\n")


@lru_cache(maxsize=4)  # one edit reads few texts, but again and again
def parse_document(text: str, path: tuple[str | int, ...] = ()) -> JsonDocument:
    """The tree of a text, with the members of the objects along the path.

    Raises:
        NotJsonError: it is no JSON, even with comments and trailing commas allowed.
    """
    scanner = _Scanner(text)
    scanner.skip_gap()
    root = scanner.read_value(0, path)
    scanner.skip_gap()
    if scanner.kind:
        raise scanner.refuse("nothing may follow the first value")
    return JsonDocument(root, scanner.extra)


def read_data(text: str) -> Json:
    """What the text says.

    Raises:
        NotJsonError: it is no JSON, even with comments and trailing commas allowed.
    """
    return parse_document(text).root.data


class _Scanner:
    """Reads a text from left to right; `kind` and `piece` are the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
        self.kind = ""
        self.piece = ""
        self.extra: int | None = None
        self._end = self.at
        self._peek()

    def refuse(self, what: str) -> NotJsonError:
        return NotJsonError(f"line {self._line(self.at)}: {what}")

    def _line(self, at: int) -> int:
        return len(re.findall(r"\r\n|\r|\n", self.text[:at])) + 1

    def _peek(self) -> None:
        found = _TOKEN.match(self.text, self.at)
        if found is None and self.at < len(self.text):
            raise self.refuse(f"{self.text[self.at : self.at + 12]!r} is no JSON")
        self.kind = (found.lastgroup or "") if found else ""
        self.piece = found.group() if found else ""
        self._end = found.end() if found else self.at

    def _next(self) -> str:
        piece, self.at = self.piece, self._end
        self._peek()
        return piece

    def _expect(self, sign: str, what: str) -> int:
        at = self.at
        if self.piece != sign:
            raise self.refuse(what)
        self._next()
        return at

    def _note_extra(self, at: int) -> None:
        if self.extra is None:
            self.extra = self._line(at)

    def skip_gap(self) -> JsonGap:
        start = comments_end = self.at
        line_comment = False
        while self.kind in ("space", "comment"):
            if self.kind == "comment":
                self._note_extra(self.at)
                comments_end, line_comment = self._end, self.piece.startswith("//")
            self._next()
        return JsonGap(start, self.at, comments_end, line_comment)

    def read_value(self, depth: int, path: tuple[str | int, ...] = ()) -> JsonNode:
        if depth > _DEPTH_MAX:
            raise self.refuse(f"it is nested deeper than {_DEPTH_MAX}")
        start = self.at
        if not path and self.piece in ("{", "[") and (plain := self._read_plain()):
            return plain
        match self.kind, self.piece:
            case "sign", "{" | "[":
                return self._read_members(depth, path)
            case "string", _:
                data: Json = self._read_string()
            case "word", word if word in _WORDS:
                data = _WORDS[self._next()]
            case "word", word if _NUMBER.fullmatch(word):
                data = float(self._next())  # as the clients read it
            case _:
                raise self.refuse(f"a value is missing before {self.piece or 'the end'!r}")
        return JsonNode(start, self.at, data)

    def _read_string(self) -> str:
        try:
            text = cast("str", json.loads(self.piece))
        except ValueError:
            raise self.refuse(f"{self.piece[:40]} has an escape that JSON does not know") from None
        self._next()
        return text

    def _read_plain(self) -> JsonNode | None:
        """The whole value at once, if it is plain JSON; None if it has to be read in pieces."""
        start = self.at
        try:
            data, self._end = cast("tuple[Json, int]", _PLAIN.raw_decode(self.text, start))
        except (ValueError, RecursionError):
            return None
        members = () if self.piece == "{" else None
        self._next()
        return JsonNode(start, self.at, data, members)

    def _read_members(self, depth: int, path: tuple[str | int, ...]) -> JsonNode:
        """An object or a list."""
        start = self.at
        is_list = self._next() == "["
        members: list[JsonMember] = []
        last = self.skip_gap()
        while self.piece != ("]" if is_list else "}"):
            if members and members[-1].comma is None:
                where = "in a list" if is_list else f"after {members[-1].key!r}"
                raise self.refuse(f"a comma is missing {where}")
            before, at = last, self.at
            key = len(members) if is_list else self._read_key()
            value = self.read_value(depth + 1, path[1:] if path[:1] == (key,) else ())
            last = self.skip_gap()
            comma = self._expect(",", "") if self.piece == "," else None
            members.append(JsonMember(key, at, value, before, last, comma))
            last = last if comma is None else self.skip_gap()
        if members and (comma := members[-1].comma) is not None:
            self._note_extra(comma)
        self._next()
        items = [member.value.data for member in members]
        data: Json = items if is_list else {str(m.key): m.value.data for m in members}
        return JsonNode(start, self.at, data, tuple(members), last)

    def _read_key(self) -> str:
        """The key of a member, up to its value."""
        if self.kind != "string":
            raise self.refuse(f"a key in quotes is missing before {self.piece or 'the end'!r}")
        key = self._read_string()
        self.skip_gap()
        self._expect(":", f"a colon is missing after {key!r}")
        self.skip_gap()
        return key


class NotAnObjectError(InvalidRequestError):
    """The path leads into something that is no object. The message is the end of a sentence."""

    def __init__(self, path: Path, found: Json, wanted: str = "an object") -> None:
        where = f"its {'.'.join(map(repr, path))}" if path else "it"
        super().__init__(f"{where} is {_describe_kind(found)} where {wanted} must be")


def _describe_kind(value: object) -> str:
    kinds = (
        (bool, "true or false"), (str, "text"), ((int, float), "a number"),
        (Mapping, "an object"), (Sequence, "a list"), (type(None), "null"),
    )  # fmt: skip
    return next((name for kind, name in kinds if isinstance(value, kind)), "a date")  # in TOML


def get_value(text: str, path: Path) -> Json:
    """The value at the path; None if there is none."""
    found = _walk(text, path)
    return found[-1].data if len(found) > len(path) else None


def has_value(text: str, path: Path) -> bool:
    """Whether there is a value at the path, be it null."""
    return len(_walk(text, path)) > len(path)


def is_bare(text: str, path: Path) -> bool:
    """Whether the object or list at the path holds nothing, not even a comment."""
    found = _walk(text, path)
    return len(found) > len(path) and text[found[-1].start : found[-1].end] in ("{}", "[]")


def set_value(text: str, path: Path, value: Json) -> str:
    """The text with this value at the path of one or more steps.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: the path leads into something that is no object.
    """
    after = _set_value(text, path, value)
    before = None if is_blank(text) else read_data(text)
    if read_data(after) != _put(before, path, value):
        raise AssertionError(path)  # no slip of ours is written
    return after


def _set_value(text: str, path: Path, value: Json) -> str:
    if is_blank(text):
        eol = _find_eol(text)
        return text.rstrip(" \t\r\n") + _format(_nest(path, value), "  ", eol, "") + eol
    found = _walk(text, path)
    if len(found) > len(path):
        old = found[-1]
        indent = _find_indent(text, old.start)
        new = _format(value, _find_unit(text, found[0]), _find_eol(text), indent)
        if _is_inline(text, found[-2]):
            new = _format_inline(value, text)
        return text[: old.start] + new + text[old.end :]
    name = path[len(found) - 1]
    return _insert(text, found[0], found[-1], name, _nest(path[len(found) :], value))


def remove_value(text: str, path: Path) -> str:
    """The text without the value at the path; as it is, if there is none.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: the path leads into something that is no object.
    """
    if is_blank(text):
        return text
    found = _walk(text, path)
    if len(found) <= len(path):
        return text
    members = found[-2].members or ()
    at = next(i for i, m in reversed(list(enumerate(members))) if m.value.start == found[-1].start)
    return _remove(text, found[-2], at)


def _walk(text: str, path: Path) -> list[JsonNode]:
    """The values along the path, as far as there are any; the first is the whole text."""
    if is_blank(text):
        return []
    found = [parse_document(text, tuple(path)).root]
    for depth, name in enumerate(path):
        _require_kind(found[-1], name, path[:depth])
        member = found[-1].member(name)
        if member is None:
            break
        found.append(member.value)
    return found


def _require_kind(node: JsonNode, name: str | int, path: Path) -> None:
    if isinstance(name, str) and not isinstance(node.data, Mapping):
        raise NotAnObjectError(path, node.data)
    if isinstance(name, int) and (isinstance(node.data, Mapping) or node.members is None):
        raise NotAnObjectError(path, node.data, "a list")


def _nest(path: Path, value: Json) -> Json:
    for name in reversed(path):
        value = {name: value} if isinstance(name, str) else [value]
    return value


def _put(data: Json, path: Path, value: Json) -> Json:
    """The data with this value at the path."""
    if not path:
        return value
    name = path[0]
    if isinstance(name, int):
        items = list(cast("Sequence[Json]", data or ()))
        at = len(items) if name == APPEND else name
        items[at : at + 1] = [_put(items[at] if at < len(items) else None, path[1:], value)]
        return items
    inner: Mapping[str, Json] = data if isinstance(data, Mapping) else {}
    return {**inner, name: _put(inner.get(name), path[1:], value)}


def _insert(text: str, root: JsonNode, inner: JsonNode, name: str | int, value: Json) -> str:
    members, eol = inner.members or (), _find_eol(text)
    key = f"{json.dumps(name, ensure_ascii=False)}:" if isinstance(name, str) else ""
    if _is_inline(text, inner) if members else _is_inline(text, root):
        between = _find_gap(text, members) if members else ""
        new = f"{key}{_find_colon_space(text) if key else ''}{_format_inline(value, text)}"
        closing = ""
    else:
        own = _find_indent(text, inner.start)
        unit = _find_unit(text, root)
        indent = _find_indent(text, members[-1].start) if members else own + unit
        between = eol + indent
        new = f"{key}{' ' if key else ''}{_format(value, unit, eol, indent)}"
        closing = eol + own
    space = inner.last
    if not members:
        at = space.comments_end
        if space.line_comment and not between:
            between = eol
        # without a comment and a line of its own the brace gets one
        rest = text[at : space.end]
        own_line = closing if at == space.start and not re.search(r"[\r\n]", rest) else ""
        return text[:at] + between + new + own_line + ("" if own_line else rest) + text[space.end :]
    last = members[-1]
    if last.comma is None:
        text = f"{text[: last.value.end]},{text[last.value.end :]}"
        at, after = space.comments_end + 1, ""
    else:
        at, after = space.comments_end, ","
    if space.line_comment and not re.search(r"[\r\n]", between):
        between = eol
    return text[:at] + between + new + after + text[at:]


def _remove(text: str, inner: JsonNode, at: int) -> str:
    """The text without one member of an object or list, its comma, and the gap before it."""
    members = inner.members or ()
    member = members[at]
    before = member.before.comments_end
    end = member.value.end
    after = text[end:]
    if member.comma is not None:
        after = text[end : member.comma] + text[member.comma + 1 :]
    elif at > 0 and (comma := members[at - 1].comma) is not None:
        # the last of several gives back the comma that came with it
        head = text[:comma] + text[comma + 1 : before]
        return _join(head, text[before : member.start], after, member.before)
    if len(members) == 1 and not _has_comment(text, inner, member):
        return text[: inner.start + 1] + text[inner.end - 1 :]
    return _join(text[:before], text[before : member.start], after, member.before)


def _join(head: str, space: str, after: str, before: JsonGap) -> str:
    """Join both ends; a line comment in front must not swallow the rest."""
    swallows = before.line_comment and re.match(r"[ \t]*[\r\n]", after) is None
    return head + (space if swallows else "") + after


def _has_comment(text: str, inner: JsonNode, member: JsonMember) -> bool:
    around = text[inner.start + 1 : member.start] + text[member.value.end : inner.end - 1]
    return around.replace(",", "", 1).strip(" \t\r\n") != ""


def _format(value: Json, unit: str, eol: str, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{eol}{indent}".join(lines)


def _format_inline(value: Json, text: str) -> str:
    space = _find_colon_space(text)
    return json.dumps(value, ensure_ascii=False, separators=(f",{space}", f":{space}"))


def _find_eol(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found.group() if found else "\n"


def _find_colon_space(text: str) -> str:
    """What this text puts after a colon, and after a comma."""
    return " " if re.search(r'":[ \t\r\n]', text) or '":' not in text else ""


def _find_indent(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = re.compile(r"\ufeff?([ \t]*)").match(text, line_start)
    return found.group(1) if found else ""


def _is_inline(text: str, value: JsonNode) -> bool:
    """Whether its last member shares a line with what stands before it."""
    members = value.members or ()
    last = members[-1] if members else None
    return last is not None and not re.search(r"[\r\n]", text[last.before.start : last.start])


def _find_gap(text: str, members: Sequence[JsonMember]) -> str:
    """The gap between two members that share a line."""
    last = members[-1]
    if len(members) > 1:
        return text[last.before.comments_end : last.start]
    return _find_colon_space(text)


def _find_unit(text: str, root: JsonNode) -> str:
    """How far this text indents one level."""
    members = root.members or ()
    if members and not _is_inline(text, root):
        outer, inner = _find_indent(text, root.start), _find_indent(text, members[-1].start)
        if inner.startswith(outer) and inner != outer:
            return inner.removeprefix(outer)
    return "  "
