"""Reads a sentence as the words that matter, so that two sentences can be aligned.

Articles, copulas and "now" are left out, inflection is cut off, and figures, dates and amounts are
one word each, with what they measure: "30 seconds" measures time, "4 May" is a day, "3.11" counts.
What measures one thing never replaces what measures another. Unlike the search's analysis this
keeps the order and everything that tells two things apart.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from memory_mcp.text.merge.lexicon import lexicon, stem
from memory_mcp.text.sentences import MONTHS, straighten_quotes

_FIGURE: Final = re.compile(r"([€$£]?)v?(\d+(?:[.,:]\d+)*)\.?(%|[€$£]|°?[A-Za-z/]*)")
_DATE: Final = re.compile(r"(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./](?:19|20)\d\d")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_ORDINAL: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?")
_CLOCK: Final = frozenset({"am", "pm", "uhr", "o'clock"})
_LONE_MONTH_CHARS_MIN: Final = 4
"""A shorter one is another word too: May, Jan, Mar."""


class Measure(NamedTuple):
    """A value: what it is compared by, as it was said, what it measures, of how many pieces."""

    key: str
    said: str
    measures: str
    pieces: int = 1


def read_figure(pieces: Sequence[tuple[str, str]], at: int) -> Measure | None:
    """The value that begins with this piece; pieces are given as said and folded."""
    said, low = pieces[at]
    after = [low for _, low in pieces[at + 1 : at + 3]]
    known = lexicon()
    if low in known.weekdays:
        return Measure(known.weekdays[low], said, "day")
    if day := _read_day(said, low, after):
        return day
    if low in known.numbers:
        return _read_measured(pieces, at, str(known.numbers[low]), "")
    match = _FIGURE.fullmatch(said)
    if match is None or (match[3] and match[3].casefold() not in known.units):
        return None
    return _read_measured(pieces, at, match[2].replace(",", ""), (match[1] or match[3]).casefold())


def _read_measured(pieces: Sequence[tuple[str, str]], at: int, number: str, unit: str) -> Measure:
    """A number with the unit that is part of it, or that follows."""
    said = pieces[at][0]
    known = lexicon()
    if ":" in number:
        return Measure(number, said, "clock")
    other, follows = pieces[at + 1] if at + 1 < len(pieces) else ("", "")
    if not unit and follows in known.units and _stands_alone(other):
        return Measure(f"{number} {stem(follows)}", f"{said} {other}", known.units[follows], 2)
    if not unit and follows in _CLOCK:
        return Measure(f"{number} {follows}", f"{said} {other}", "clock", 2)
    measures = "day" if _YEAR.fullmatch(said) else known.units.get(unit, "count")
    return Measure(f"{number} {unit}".strip(), said, measures)


def _stands_alone(unit: str) -> bool:
    """The "m" of "8 m" is a unit, a capital that begins a name is none."""
    return len(unit) > 1 or unit in "%€$£gmsh"


def _read_day(said: str, low: str, after: Sequence[str]) -> Measure | None:
    """4 May, May 4 2026, 2026-05-04, September."""
    if _DATE.fullmatch(low):
        return Measure(low, said, "day")
    follows = after[0] if after else ""
    for number, name in ((low, follows), (follows, low)):
        if name in MONTHS and (day := _ORDINAL.fullmatch(number)):
            year = after[1] if len(after) > 1 and _YEAR.fullmatch(after[1]) else ""
            key = f"{MONTHS[name]}-{day[1]} {year}".strip()
            return Measure(key, f"{said} {follows}", "day", 2 + bool(year))
    if low in MONTHS and _YEAR.fullmatch(follows):
        return Measure(f"{MONTHS[low]}/{follows}", f"{said} {follows}", "day", 2)
    if low in MONTHS and said[0].isupper() and len(low) >= _LONE_MONTH_CHARS_MIN:
        return Measure(str(MONTHS[low]), said, "day")
    return None


Kind = Literal["value", "identifier", "name", "preposition", "join", "verb", "not", "word"]
NOT: Final = "@not"
_MARKS: Final = frozenset(",;:()-")
_ANDS: Final = frozenset({"and", "or", "und", "oder"})
SENTENCE_CHARS_MAX: Final = 1_000
"""A longer one is a list, a log, a table: it is not read, and so never the same as another."""
_READ_KEPT: Final = 1_024
"""Sentences that are kept as they were read: a new one meets eight old ones, one after another."""

_PIECE: Final = re.compile(
    r"(?P<mark>[,;:()]|\s-\s)|(?P<more>>=|<=|[<>~=](?=\s?\d))"
    r"|(?P<word>(?:(?<!\S)[#/.~-]+)?[€$£]?\w(?:(?:[\w'.:/\\@&+#=-]|(?<=\d),(?=\d))*[\w%+#=])?|[€$£%#]|°C)"
)
_IDENTIFIER: Final = re.compile(r".*(?:[\d_/\\@=]|\w[.:]\w|[a-z][A-Z]|[A-Z]{2,}-|^[#.~-])")
_CONTRACTED: Final = (
    (re.compile(r"\bcan(?:no|')t\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\b(?:no longer|not any ?more|nicht mehr)\b", re.IGNORECASE), "not"),
    (re.compile(r"\b(?:any ?more|any longer)\b", re.IGNORECASE), " "),
    (re.compile(r"\bwith no\b", re.IGNORECASE), "without"),
    (re.compile(r"\b(?:this|the|in this) (?:project|repo(?:sitory)?)\b", re.IGNORECASE), "we"),
    (re.compile(r"\bin we\b", re.IGNORECASE), "we"),
    (re.compile(r"^(?:(?:the|der|dem) )?(?:user|(?:be)?nutzer)\b", re.IGNORECASE), "I"),
    (
        re.compile(
            r"^(?:my goal is to|goal: (?:to )?|I (?:aim|intend|hope|plan|would like|'d like) to)\b",
            re.IGNORECASE,
        ),
        "I want to ",
    ),
    (re.compile(r"\b([Ii])'(?:m|ve|d|ll)\b"), r"\1"),
    (re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)?(?!\w)"), ""),
    (re.compile(r"\b(kein\w*)\b(.*) mehr\b", re.IGNORECASE), r"\1\2"),
    (re.compile(r"\bfront[- ]end\b", re.IGNORECASE), "frontend"),
    (re.compile(r"\bback[- ]end\b", re.IGNORECASE), "backend"),
)


class Word(NamedTuple):
    """One word: what it is compared by, what it is, and as it was said.

    `measures` is the dimension of a value. `apart` says that a comma, an "and" or a copula stands
    before it, `article` which article does.
    """

    key: str
    kind: Kind
    said: str
    measures: str = ""
    apart: bool = False
    copula: bool = False
    article: str = ""


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence, where its predicate begins, and what its little words told.

    `event` says that something happened once, `past` that something was so, `listed` that an
    "and" joins things.
    """

    text: str
    words: tuple[Word, ...] = ()
    predicate: int | None = None
    copulas: int = 0
    verbs: int = 0
    spoken_by_us: bool = False
    event: bool = False
    past: bool = False
    listed: bool = False

    @property
    def keys(self) -> list[str]:
        """What the words are compared by."""
        return [word.key for word in self.words]


@lru_cache(maxsize=_READ_KEPT)
def read_sentence(text: str) -> Sentence:
    """One sentence; one that is too long to be one has no words."""
    if len(text) > SENTENCE_CHARS_MAX:
        return Sentence(text)
    plain = straighten_quotes(unicodedata.normalize("NFC", text))
    for pattern, instead in _CONTRACTED:
        plain = pattern.sub(instead, plain)
    pieces = _drop_label(list(_split_pieces(plain)))
    told = _Reader()
    at = 0
    while at < len(pieces):
        at += told.take(pieces, at)
    words = told.words
    predicate = (
        _find_predicate_after_noun(words) if told.predicate == 0 and words else told.predicate
    )
    return Sentence(
        text, tuple(words), predicate, told.copulas, told.verbs, told.ours, told.event, told.past,
        told.listed,
    )  # fmt: skip


@dataclass
class _Reader:
    """A sentence as far as it was read."""

    words: list[Word] = field(default_factory=list[Word])
    predicate: int | None = None
    copulas: int = 0
    verbs: int = 0
    ours: bool = False
    event: bool = False
    past: bool = False
    listed: bool = False
    reasoned: bool = False
    apart: bool = False
    copula: bool = False
    article: str = ""

    def take(self, pieces: Sequence[tuple[str, str]], at: int) -> int:
        """Read on; how many pieces that took."""
        said, low = pieces[at]
        if figure := read_figure(pieces, at):
            self._add(Word(figure.key, "value", figure.said, figure.measures))
            return figure.pieces
        known = lexicon()
        if low in known.we:
            self.ours = True
        elif low in known.copulas:
            self.copulas += 1
            self.copula = self.apart = True
            self.past = self.past or (low in known.past and not self.reasoned)
            self._begin_predicate()
        elif low in known.dropped:
            self.article = low if low in known.articles else self.article
        elif low in _MARKS or low in _ANDS:
            self.apart = True
            self.listed = self.listed or low in _ANDS
        else:
            self._add(self._word(said, low))
        return 1

    def _add(self, word: Word) -> None:
        if word.kind == "verb":
            happened = word.said.casefold()
            main = not self.copulas and not self.reasoned
            self.event = self.event or (main and _tells_of_past(happened, self.words))
            self.verbs += 1
            self._begin_predicate()
        self.reasoned = self.reasoned or word.kind == "join"
        marked = word._replace(apart=self.apart, copula=self.copula, article=self.article)
        self.words.append(marked)
        self.apart = self.copula = False
        self.article = ""

    def _begin_predicate(self) -> None:
        if self.predicate is None:
            self.predicate = len(self.words)

    def _word(self, said: str, low: str) -> Word:
        kind = _find_little_kind(low)
        if kind:
            return Word(NOT if kind == "not" else low, kind, said)
        if len(said) > 1 and _IDENTIFIER.match(said):
            return Word(low, "identifier", said)
        key = stem(low)
        known = lexicon()
        if (low in known.events or key in known.verbs) and not self._is_noun(low):
            return Word(key, "verb", said)
        name = said[0].isupper() and self.words and not key.startswith("@")
        return Word(key, "name" if name else "word", said)

    def _is_noun(self, low: str) -> bool:
        """Whether what may be a verb is none here: the build, on host atlas."""
        before = self.words[-1] if self.words else None
        behind = before is not None and before.kind == "preposition" and before.key != "to"
        return bool(self.article) or (behind and not low.endswith("ing"))


def _find_little_kind(low: str) -> Literal["not", "preposition", "join"] | None:
    known = lexicon()
    if low in known.negations:
        return "not"
    if low in known.prepositions:
        return "preposition"
    return "join" if low in known.joins else None


def _tells_of_past(low: str, words: list[Word]) -> bool:
    """Whether a verb tells of something that is over; "have moved" tells of now."""
    if low in lexicon().states or (words and words[-1].key in ("to", stem("have"))):
        return False
    return low in lexicon().events or low.endswith("ed")


def _find_predicate_after_noun(words: list[Word]) -> int:
    """Where the predicate begins if the verb at the beginning may be a noun: "Deploys go out"."""
    for at, word in enumerate(words[1:], start=1):
        if word.kind == "verb" or word.copula:
            return at
        if word.apart or word.kind in ("join", "preposition"):
            break
    return 0


def _split_pieces(plain: str) -> Iterator[tuple[str, str]]:
    for match in _PIECE.finditer(plain):
        said = match.group().strip()
        if match["more"] is None or match["more"].startswith("<"):
            yield said, said.casefold()


def _drop_label(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without the label that a note begins with."""
    if len(pieces) > 2 and pieces[1][0] == ":" and pieces[0][1] in lexicon().labels:  # noqa: PLR2004
        return pieces[2:]
    return pieces
