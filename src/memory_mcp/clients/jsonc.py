"""Read and edit JSON as people keep it; every byte that is not edited stays as it is.

Comments and surplus commas are read. A text becomes a tree of values with their spans, and an edit
replaces spans. Where a key stands twice the last one counts, as it does for every client.

`put` and `take` keep the text's line ends, indentation, layout and trailing commas. Taking a member
out right after it was put in restores the text, except for spaces in an empty object.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from memory_mcp.errors import InvalidRequestError

Json = Mapping[str, "Json"] | Sequence["Json"] | str | float | bool | None

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
    | (?P<comment>//[^\r\n]*|/\*.*?\*/)
    | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    | (?P<sign>[{}\[\]:,])
    | (?P<word>[^\s{}\[\]:,"/]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
_DEPTH_MAX: Final = 200
"""Deeper than any configuration; Python's own stack allows it."""
_MARK: Final = "\ufeff"


def _no_number(name: str) -> float:
    raise ValueError(name)


_PLAIN: Final = json.JSONDecoder(parse_int=float, parse_constant=_no_number)
"""Python's own reader, which knows plain JSON only, and is many times as fast."""


class NotJsonError(InvalidRequestError):
    """The text is no JSON, with or without comments. The message begins with the line."""


class Space(NamedTuple):
    """What stands between two tokens: white space and comments."""

    start: int
    end: int
    comments_end: int
    """Where its last comment ends; its start, if it has none."""
    line_comment: bool
    """Whether that last comment goes on to the end of its line."""


class Member(NamedTuple):
    """A key with its value, and what stands around them."""

    key: str
    start: int
    value: "JsonNode"
    before: Space
    after: Space
    """Between the value and what follows, a comma or the end of the object."""
    comma: int | None
    """Where its comma is."""


class JsonNode(NamedTuple):
    """A value with its span; an object on the way that was asked for has its members too."""

    start: int
    end: int
    data: Json
    members: tuple[Member, ...] | None = None
    last: Space = Space(0, 0, 0, False)  # noqa: FBT003  # nothing
    """Of an object, what stands before its closing brace and after any comma."""

    def member(self, key: str) -> Member | None:
        """The member that counts for this key."""
        found = [member for member in self.members or () if member.key == key]
        return found[-1] if found else None


class Scanned(NamedTuple):
    """A whole text."""

    root: JsonNode
    extra: int | None
    """The first line with a comment or a comma too many, which plain JSON does not allow."""


def is_blank(text: str) -> bool:
    """Whether there is nothing in the text, a byte order mark aside."""
    return not text.removeprefix(_MARK).strip(" \t\r\n")


@lru_cache(maxsize=4)  # one edit looks at few texts, but again and again
def scan(text: str, way: tuple[str, ...] = ()) -> Scanned:
    """The tree of a text, taken apart along the way; what is aside of it has its data alone.

    Raises:
        NotJsonError: it is no JSON, even where comments and trailing commas are let pass.
    """
    scanner = _Scanner(text)
    scanner.space()
    root = scanner.value(0, way)
    scanner.space()
    if scanner.kind:
        raise scanner.wrong("nothing may follow the first value")
    return Scanned(root, scanner.extra)


class _Scanner:
    """Reads a text from left to right; `kind` and `piece` are what comes next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = len(_MARK) if text.startswith(_MARK) else 0
        self.kind = ""
        self.piece = ""
        self.extra: int | None = None
        self._end = self.at
        self._look()

    def wrong(self, what: str) -> NotJsonError:
        return NotJsonError(f"line {self._line(self.at)}: {what}")

    def _line(self, at: int) -> int:
        return len(re.findall(r"\r\n|\r|\n", self.text[:at])) + 1

    def _look(self) -> None:
        found = _TOKEN.match(self.text, self.at)
        if found is None and self.at < len(self.text):
            raise self.wrong(f"{self.text[self.at : self.at + 12]!r} is no JSON")
        self.kind = (found.lastgroup or "") if found else ""
        self.piece = found.group() if found else ""
        self._end = found.end() if found else self.at

    def _next(self) -> str:
        piece, self.at = self.piece, self._end
        self._look()
        return piece

    def _expect(self, sign: str, what: str) -> int:
        at = self.at
        if self.piece != sign:
            raise self.wrong(what)
        self._next()
        return at

    def _noted(self, at: int) -> None:
        if self.extra is None:
            self.extra = self._line(at)

    def space(self) -> Space:
        start = comments_end = self.at
        line_comment = False
        while self.kind in ("space", "comment"):
            if self.kind == "comment":
                self._noted(self.at)
                comments_end, line_comment = self._end, self.piece.startswith("//")
            self._next()
        return Space(start, self.at, comments_end, line_comment)

    def value(self, depth: int, way: tuple[str, ...] = ()) -> JsonNode:
        if depth > _DEPTH_MAX:
            raise self.wrong(f"it is nested deeper than {_DEPTH_MAX}")
        start = self.at
        if not way and self.piece in ("{", "[") and (plain := self._plain()):
            return plain
        match self.kind, self.piece:
            case "sign", "{":
                return self._object(depth, way)
            case "sign", "[":
                return self._array(depth)
            case "string", _:
                data: Json = self._string()
            case "word", word if word in _WORDS:
                data = _WORDS[self._next()]
            case "word", word if _NUMBER.fullmatch(word):
                data = float(self._next())  # as the clients read it
            case _:
                raise self.wrong(f"a value is missing before {self.piece or 'the end'!r}")
        return JsonNode(start, self.at, data)

    def _string(self) -> str:
        try:
            text = cast("str", json.loads(self.piece))
        except ValueError:
            raise self.wrong(f"{self.piece[:40]} has an escape that JSON does not know") from None
        self._next()
        return text

    def _plain(self) -> JsonNode | None:
        """All of it at once, if it is plain JSON; what it is else, reading it in pieces tells."""
        start = self.at
        try:
            data, self._end = cast("tuple[Json, int]", _PLAIN.raw_decode(self.text, start))
        except (ValueError, RecursionError):
            return None
        members = () if self.piece == "{" else None
        self._next()
        return JsonNode(start, self.at, data, members)

    def _object(self, depth: int, way: tuple[str, ...]) -> JsonNode:
        start = self.at
        self._next()
        members: list[Member] = []
        last = self.space()
        while self.piece != "}":
            if members and members[-1].comma is None:
                raise self.wrong(f"a comma is missing after {members[-1].key!r}")
            members.append(self._member(depth, way, last))
            last = self.space() if members[-1].comma is not None else members[-1].after
        if members and (comma := members[-1].comma) is not None:
            self._noted(comma)
        self._next()
        data = {member.key: member.value.data for member in members}
        return JsonNode(start, self.at, data, tuple(members), last)

    def _member(self, depth: int, way: tuple[str, ...], before: Space) -> Member:
        start = self.at
        if self.kind != "string":
            raise self.wrong(f"a key in quotes is missing before {self.piece or 'the end'!r}")
        key = self._string()
        self.space()
        self._expect(":", f"a colon is missing after {key!r}")
        self.space()
        value = self.value(depth + 1, way[1:] if way[:1] == (key,) else ())
        after = self.space()
        comma = self._expect(",", "") if self.piece == "," else None
        return Member(key, start, value, before, after, comma)

    def _array(self, depth: int) -> JsonNode:
        start = self.at
        self._next()
        items: list[Json] = []
        comma: int | None = None
        self.space()
        while self.piece != "]":
            if items and comma is None:
                raise self.wrong("a comma is missing in a list")
            items.append(self.value(depth + 1).data)
            self.space()
            comma = self._expect(",", "") if self.piece == "," else None
            self.space()
        if comma is not None:
            self._noted(comma)
        self._next()
        return JsonNode(start, self.at, items)


Path = Sequence[str]


class NotAnObjectError(InvalidRequestError):
    """Something else stands where members should be. The message is the end of a sentence."""

    def __init__(self, path: Path, found: Json) -> None:
        where = f"its {'.'.join(map(repr, path))}" if path else "it"
        super().__init__(f"{where} is {_kind(found)} where an object must be")


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case float():
            return "a number"
        case _:
            return "a list"


def read(text: str, path: Path) -> Json:
    """What stands there; None if nothing does."""
    found = _walk(text, path)
    return found[-1].data if len(found) > len(path) else None


def holds(text: str, path: Path) -> bool:
    """Whether something stands there, be it null."""
    return len(_walk(text, path)) > len(path)


def is_bare(text: str, path: Path) -> bool:
    """Whether an object stands there that holds nothing, not even a comment."""
    found = _walk(text, path)
    return len(found) > len(path) and text[found[-1].start : found[-1].end] == "{}"


def put(text: str, path: Path, value: Json) -> str:
    """The text with this value at the path, which needs one name at least.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    if is_blank(text):
        eol = _eol(text)
        return text.rstrip(" \t\r\n") + _written(_nested(path, value), "  ", eol, "") + eol
    found = _walk(text, path)
    if len(found) > len(path):
        old = found[-1]
        indent = _indent(text, old.start)
        new = _written(value, _unit(text, found[0]), _eol(text), indent)
        if _is_inline(text, found[-2]):
            new = _compact(value, text)
        return text[: old.start] + new + text[old.end :]
    inner, name = found[-1], path[len(found) - 1]
    if inner.members is None:
        raise NotAnObjectError(path[: len(found) - 1], inner.data)
    return _inserted(text, found[0], inner, name, _nested(path[len(found) :], value))


def take(text: str, path: Path) -> str:
    """The text without what stands at the path; as it is, if nothing does.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    if is_blank(text):
        return text
    found = _walk(text, path)
    if len(found) <= len(path):
        return text
    members = found[-2].members or ()
    at = next(i for i, m in reversed(list(enumerate(members))) if m.value.start == found[-1].start)
    return _without(text, found[-2], at)


def _walk(text: str, path: Path) -> list[JsonNode]:
    """The values along the path, as far as there are any, from the whole text on."""
    if is_blank(text):
        return []
    found = [scan(text, tuple(path)).root]
    for depth, name in enumerate(path):
        if found[-1].members is None:
            raise NotAnObjectError(path[:depth], found[-1].data)
        member = found[-1].member(name)
        if member is None:
            break
        found.append(member.value)
    return found


def _nested(path: Path, value: Json) -> Json:
    for name in reversed(path):
        value = {name: value}
    return value


def _inserted(text: str, root: JsonNode, inner: JsonNode, name: str, value: Json) -> str:
    members, eol = inner.members or (), _eol(text)
    if _is_inline(text, inner) if members else _is_inline(text, root):
        between = _gap(text, members) if members else ""
        new = f"{_key(name)}:{_colon_space(text)}{_compact(value, text)}"
        closing = ""
    else:
        own = _indent(text, inner.start)
        unit = _unit(text, root)
        indent = _indent(text, members[-1].start) if members else own + unit
        between = eol + indent
        new = f"{_key(name)}: {_written(value, unit, eol, indent)}"
        closing = eol + own
    space = inner.last
    if not members:
        at = space.comments_end
        if space.line_comment and not between:
            between = eol
        # where there is no comment and no line of its own for the brace, it gets one
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


def _without(text: str, inner: JsonNode, at: int) -> str:
    """The text without one member of an object, its comma, and the space in front of it."""
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
        return _joined(head, text[before : member.start], after, member.before)
    if len(members) == 1 and not _has_comment(text, inner, member):
        return text[: inner.start] + "{}" + text[inner.end :]
    return _joined(text[:before], text[before : member.start], after, member.before)


def _joined(head: str, space: str, after: str, before: Space) -> str:
    """Both ends together; a line comment in front must not swallow what follows."""
    swallows = before.line_comment and re.match(r"[ \t]*[\r\n]", after) is None
    return head + (space if swallows else "") + after


def _has_comment(text: str, inner: JsonNode, member: Member) -> bool:
    around = text[inner.start + 1 : member.start] + text[member.value.end : inner.end - 1]
    return around.replace(",", "", 1).strip(" \t\r\n") != ""


def _written(value: Json, unit: str, eol: str, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{eol}{indent}".join(lines)


def _compact(value: Json, text: str) -> str:
    space = _colon_space(text)
    return json.dumps(value, ensure_ascii=False, separators=(f",{space}", f":{space}"))


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _eol(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found.group() if found else "\n"


def _colon_space(text: str) -> str:
    """What this text puts behind a colon, a comma too."""
    return " " if re.search(r'":[ \t\r\n]', text) or '":' not in text else ""


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    found = re.compile(r"\ufeff?([ \t]*)").match(text, _line_start(text, at))
    return found.group(1) if found else ""


def _is_inline(text: str, value: JsonNode) -> bool:
    """Whether its members share a line with each other; an empty text has no manner yet."""
    members = value.members or ()
    last = members[-1] if members else None
    return last is not None and not re.search(r"[\r\n]", text[last.before.start : last.start])


def _gap(text: str, members: Sequence[Member]) -> str:
    """The space between two members that share a line."""
    last = members[-1]
    if len(members) > 1:
        return text[last.before.comments_end : last.start]
    return _colon_space(text)


def _unit(text: str, root: JsonNode) -> str:
    """How far this text indents one level."""
    members = root.members or ()
    if members and not _is_inline(text, root):
        outer, inner = _indent(text, root.start), _indent(text, members[-1].start)
        if inner.startswith(outer) and inner != outer:
            return inner.removeprefix(outer)
    return "  "
