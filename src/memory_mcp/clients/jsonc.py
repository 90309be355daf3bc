"""JSON as people keep it: comments and commas too many are read, and every byte has its place.

A text becomes a tree of values with their spans. Whoever edits by spans leaves all else as it was;
a parser that gives only values cannot be edited by. Where a key stands twice the last one counts,
as it does for every client.
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
    value: "Value"
    before: Space
    after: Space
    """Between the value and what follows, a comma or the end of the object."""
    comma: int | None
    """Where its comma is."""


class Value(NamedTuple):
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

    root: Value
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

    def value(self, depth: int, way: tuple[str, ...] = ()) -> Value:
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
        return Value(start, self.at, data)

    def _string(self) -> str:
        try:
            text = cast("str", json.loads(self.piece))
        except ValueError:
            raise self.wrong(f"{self.piece[:40]} has an escape that JSON does not know") from None
        self._next()
        return text

    def _plain(self) -> Value | None:
        """All of it at once, if it is plain JSON; what it is else, reading it in pieces tells."""
        start = self.at
        try:
            data, self._end = cast("tuple[Json, int]", _PLAIN.raw_decode(self.text, start))
        except (ValueError, RecursionError):
            return None
        members = () if self.piece == "{" else None
        self._next()
        return Value(start, self.at, data, members)

    def _object(self, depth: int, way: tuple[str, ...]) -> Value:
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
        return Value(start, self.at, data, tuple(members), last)

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

    def _array(self, depth: int) -> Value:
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
        return Value(start, self.at, items)
