"""Reads a sentence as the words that matter, so that two sentences can be aligned.

Articles, copulas and "now" are left out and inflection is cut off. Figures, dates and amounts are
one word each, with their dimension: "30 seconds" is a time, "4 May" a day, "3.11" a count. A value
never replaces one of another dimension. Unlike the analysis of the search this keeps the order.

The word lists are those of `data/merge.toml`, where each is described.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from memory_mcp.frozen import frozen, mutable
from memory_mcp.patterns import compile_later
from memory_mcp.text.sentences import MONTHS, straighten_quotes
from memory_mcp.text.tables import load_table, rewrite

_STEM_CHARS_MIN: Final = 3
_ENDINGS: Final = (("sses", "ss"), ("ies", "y"), ("ing", ""), ("ed", ""), ("s", ""))
_STEMS_KEPT: Final = 8_192


@cache
def words(name: str) -> frozenset[str]:
    """The words of a list: as they are written, their stems, or both; its section says which."""
    table = load_table("merge")
    if name in table["plain"]:
        return frozenset(table["plain"][name].split())
    if name in table["stems"]:
        return frozenset(map(stem, table["stems"][name].split()))
    both = table["both"][name].split()
    return frozenset(both) | frozenset(map(stem, both))


@cache
def phrases(name: str) -> tuple[tuple[str, ...], ...]:
    """The phrases of a list, each as the stems of its words."""
    return tuple(tuple(map(stem, form.split())) for form in load_table("merge")["forms"][name])


@cache
def toggles() -> Mapping[str, frozenset[int]]:
    """The groups in which a stem is one of two states that exclude each other."""
    numbered = _number_groups(load_table("merge")["groups"]["toggles"])
    return {stem(word): numbers for word, numbers in numbered.items()}


@cache
def opposites() -> Mapping[str, frozenset[int]]:
    """The groups in which a word or stem names one of several different things or places."""
    groups = load_table("merge")["groups"]
    numbered = _number_groups([*groups["places"], *groups["opposites"]])
    return numbered | {stem(word): numbers for word, numbers in numbered.items()}


@cache
def places() -> frozenset[str]:
    """The words and stems that say where something holds."""
    listed = {word for group in load_table("merge")["groups"]["places"] for word in group.split()}
    return frozenset(listed) | frozenset(map(stem, listed))


@lru_cache(maxsize=_STEMS_KEPT)
def stem(word: str) -> str:
    """A case-folded word without its inflection; synonyms have one stem."""
    aliases = _first_of_group("aliases")
    if word in aliases:
        return aliases[word]
    found = word
    for ending, replacement in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and _is_stem(rest, ending):
            found = rest + replacement
            if ending in ("ing", "ed") and found[-1] == found[-2] and found[-1] not in "lsz":
                found = found[:-1]
            break
    return aliases.get(found) or aliases.get(found + "e") or found.removesuffix("e") or found


def _is_stem(rest: str, ending: str) -> bool:
    """Whether the rest is a word: not the "str" of "string", nor the "statu" of "status"."""
    short = ending in ("s", "ies")
    if len(rest) < _STEM_CHARS_MIN - short or not any(vowel in rest for vowel in "aeiouy"):
        return False
    return not (ending == "s" and rest[-1] in "sui")


@cache
def _first_of_group(name: str) -> Mapping[str, str]:
    return find_first_of_groups(load_table("merge")["groups"][name])


def find_first_of_groups(groups: Iterable[str]) -> Mapping[str, str]:
    """For each word of a group, the first word of that group."""
    return {word: group.split()[0] for group in groups for word in group.split()}


def _number_groups(groups: Iterable[str]) -> dict[str, frozenset[int]]:
    """For each word, the numbers of the groups that it is in."""
    found: dict[str, frozenset[int]] = {}
    for number, group in enumerate(groups):
        for word in group.split():
            found[word] = found.get(word, frozenset()) | {number}
    return found


@cache
def _numbers() -> Mapping[str, int]:
    names = load_table("merge")["groups"]["numbers"]
    return {word: number for number, group in enumerate(names) for word in group.split()}


@cache
def units() -> Mapping[str, str]:
    """The dimension of each unit."""
    table = load_table("merge")["units"]
    return {unit: dimension for dimension, units in table.items() for unit in units.split()}


Kind = Literal["value", "identifier", "name", "preposition", "join", "verb", "not", "word"]
NOT: Final = "@not"
"""The key of every negation."""
SENTENCE_CHARS_MAX: Final = 1_000
"""A longer sentence is a list, a log or a table: it is not read, and never the same as another."""
_SENTENCES_KEPT: Final = 1_024
"""Sentences kept as read: a new one is compared with eight old ones, one after another."""

_FIGURE: Final = compile_later(r"([€$£]?)v?(\d+(?:[.,:]\d+)*|\.\d+)\.?(%|[€$£]|°?[A-Za-z/]*)")
_DATE: Final = compile_later(r"(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./](?:19|20)\d\d")
_YEAR: Final = compile_later(r"(?:19|20)\d\d")
_ORDINAL: Final = compile_later(r"(\d{1,2})(?:st|nd|rd|th|\.)?")
_LONE_MONTH_CHARS_MIN: Final = 4
"""A shorter month is another word too: May, Jan, Mar."""
_MARKS: Final = frozenset(",;:()-")
_TOKEN: Final = compile_later(
    r"(?P<mark>[,;:()]|\s-\s)|(?P<more>>=|<=|[<>~=](?=\s?\d))"
    r"|(?P<word>(?:(?<!\S)[#/.~-]+)?[€$£]?\w(?:(?:[\w'.:/\\@&+#=-]|(?<=\d),(?=\d))*[\w%+#=])?|[€$£%#]|°C)"
)
_IDENTIFIER: Final = compile_later(r".*(?:[\d_/\\@=]|\w[.:]\w|[a-z][A-Z]|[A-Z]{2,}-|^[#.~-])")


class Token(NamedTuple):
    """A piece of a sentence as written, and case-folded."""

    text: str
    folded: str


class Word(NamedTuple):
    """A word: what it is compared by, what it is, and how it is written.

    `dimension` is what a value measures. `set_off`: a comma, an "and" or a copula stands before
    it. `article` is the one that stands before it.
    """

    key: str
    kind: Kind
    text: str
    dimension: str = ""
    set_off: bool = False
    after_copula: bool = False
    article: str = ""


@frozen
class Sentence:
    """The words of a sentence, and what its little words say.

    `predicate` is the place of the first word of the predicate. `event`: something happened once.
    `past`: something was so. `lists`: an "and" joins things.
    """

    text: str
    words: tuple[Word, ...] = ()
    predicate: int | None = None
    copulas: int = 0
    verbs: int = 0
    by_us: bool = False
    event: bool = False
    past: bool = False
    lists: bool = False

    @property
    def keys(self) -> list[str]:
        """What the words are compared by."""
        return [word.key for word in self.words]


@lru_cache(maxsize=_SENTENCES_KEPT)
def read_sentence(text: str) -> Sentence:
    """The sentence as words; one that is too long has none."""
    if len(text) > SENTENCE_CHARS_MAX:
        return Sentence(text)
    plain = straighten_quotes(unicodedata.normalize("NFC", text))
    tokens = _drop_label(list(_split_tokens(rewrite(plain, "merge"))))
    reader = _Reader()
    at = 0
    while at < len(tokens):
        at += reader.read_token(tokens, at)
    return reader.finish(text)


@mutable
class _Reader:
    """A sentence as far as it was read, and the little words since its last word."""

    words: list[Word] = field(default_factory=list[Word])
    predicate: int | None = None
    copulas: int = 0
    verbs: int = 0
    by_us: bool = False
    event: bool = False
    past: bool = False
    lists: bool = False
    subordinate: bool = False
    set_off: bool = False
    after_copula: bool = False
    article: str = ""

    def read_token(self, tokens: Sequence[Token], at: int) -> int:
        """Read the word that begins here; return the number of its tokens."""
        if value := _read_value(tokens, at):
            self._add(value.key, "value", value.text, value.dimension)
            return value.tokens
        token = tokens[at]
        match _find_role(token.folded):
            case "we" if token.text != "US":  # the country's, not ours
                self.by_us = True
            case "copula" | "past copula" as role:
                self.copulas += 1
                self.after_copula = self.set_off = True
                self.past = self.past or (role == "past copula" and not self.subordinate)
                self._begin_predicate()
            case "article" if self.words and _is_label(tokens, at):
                self._add(token.folded, "name", token.text)
            case "article":
                self.article = token.folded
            case "dropped":
                pass
            case "mark" | "and" as role:
                self.set_off = True
                self.lists = self.lists or role == "and"
            case None | "we":
                self._add(*self._read_word(token))
        return 1

    def finish(self, text: str) -> Sentence:
        """The sentence, when all of it was read."""
        predicate = self.predicate
        if predicate == 0 and self.words:
            predicate = _find_predicate_after_noun(self.words)
        return Sentence(
            text, tuple(self.words), predicate, self.copulas, self.verbs, self.by_us, self.event,
            self.past, self.lists,
        )  # fmt: skip

    def _add(self, key: str, kind: Kind, text: str, dimension: str = "") -> None:
        if kind == "verb":
            main = not self.copulas and not self.subordinate
            past = _tells_of_past(text.casefold(), self.words)
            self.event = self.event or (main and past)
            self.verbs += 1
            self._begin_predicate()
        self.subordinate = self.subordinate or kind == "join"
        self.words.append(
            Word(key, kind, text, dimension, self.set_off, self.after_copula, self.article)
        )
        self.set_off = self.after_copula = False
        self.article = ""

    def _begin_predicate(self) -> None:
        if self.predicate is None:
            self.predicate = len(self.words)

    def _read_word(self, token: Token) -> tuple[str, Kind, str]:
        text, folded = token
        key, kind = _classify_alone(token)
        if kind == "verb" and self._is_noun(folded):
            kind = "word"
        if kind == "word" and text[0].isupper() and self.words and not key.startswith("@"):
            kind = "name"
        return key, kind, text

    def _is_noun(self, folded: str) -> bool:
        """Whether a word that may be a verb is a noun here: the build, on host atlas."""
        before = self.words[-1] if self.words else None
        governed = before is not None and before.kind == "preposition" and before.key != "to"
        return bool(self.article) or (governed and not folded.endswith("ing"))


_Role = Literal["we", "copula", "past copula", "article", "dropped", "mark", "and"]


@lru_cache(maxsize=_STEMS_KEPT)
def _find_role(folded: str) -> _Role | None:
    """What a little word does in a sentence; None for a word that is compared."""
    if folded in words("we"):
        return "we"
    if folded in words("copulas"):
        return "past copula" if folded in words("past") else "copula"
    if folded in words("dropped"):
        return "article" if folded in words("articles") else "dropped"
    if folded in _MARKS:
        return "mark"
    return "and" if folded in words("ands") else None


def _is_label(tokens: Sequence[Token], at: int) -> bool:
    """Whether what looks like an article is a name: "section A", but not "THIS IS A TEST"."""
    around = (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2])
    return tokens[at].text == "A" and any(each.text != each.text.upper() for each in around)


@lru_cache(maxsize=_STEMS_KEPT)
def _classify_alone(token: Token) -> tuple[str, Kind]:
    """What a word is compared by, and what it is as far as it tells without those before it."""
    text, folded = token
    if folded in words("negations"):
        return NOT, "not"
    if folded in words("prepositions"):
        return folded, "preposition"
    if folded in words("joins"):
        return folded, "join"
    if len(text) > 1 and _IDENTIFIER.match(text):
        return folded, "identifier"
    key = stem(folded)
    return key, "verb" if folded in words("events") or key in words("verbs") else "word"


def _tells_of_past(verb: str, before: Sequence[Word]) -> bool:
    """Whether a verb tells of something that is over; "have moved" tells of now."""
    if verb in words("states") or (before and before[-1].key in ("to", stem("have"))):
        return False
    return verb in words("events") or verb.endswith("ed")


def _find_predicate_after_noun(found: Sequence[Word]) -> int:
    """Where the predicate begins if the verb at the beginning may be a noun: "Deploys go out"."""
    for at, word in enumerate(found[1:], start=1):
        if word.kind == "verb" or word.after_copula:
            return at
        if word.set_off or word.kind in ("join", "preposition"):
            break
    return 0


def _split_tokens(plain: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(plain):
        text = match.group().strip()
        if match["more"] is None or match["more"].startswith("<"):
            yield Token(text, text.casefold())


def _drop_label(tokens: list[Token]) -> list[Token]:
    """The tokens without the label that a note begins with."""
    if len(tokens) > 2 and tokens[1].text == ":" and tokens[0].folded in words("labels"):  # noqa: PLR2004
        return tokens[2:]
    return tokens


class _Value(NamedTuple):
    """A figure, amount, day or hour, and the number of tokens that it takes."""

    key: str
    text: str
    dimension: str
    tokens: int = 1


def _read_value(tokens: Sequence[Token], at: int) -> _Value | None:
    """The value that begins at this token, if one does."""
    text, folded = tokens[at]
    if text.isalpha() and folded not in _value_names():
        return None  # nearly always
    if folded in _first_of_group("weekdays"):
        return _Value(_first_of_group("weekdays")[folded], text, "day")
    if day := _read_day(tokens, at):
        return day
    if folded in _numbers():
        return _read_amount(tokens, at, str(_numbers()[folded]), "")
    match = None if text.isalpha() else _FIGURE.fullmatch(text)
    if match is None or (match[3] and match[3].casefold() not in units()):
        return None
    return _read_amount(tokens, at, match[2].replace(",", ""), (match[1] or match[3]).casefold())


@cache
def _value_names() -> frozenset[str]:
    """The words that a value may begin with."""
    return frozenset({*_first_of_group("weekdays"), *_numbers(), *MONTHS})


def _read_amount(tokens: Sequence[Token], at: int, number: str, unit: str) -> _Value:
    """A number with the unit that is part of it, or that follows."""
    text = tokens[at].text
    follows = tokens[at + 1] if at + 1 < len(tokens) else Token("", "")
    both = f"{text} {follows.text}"
    if ":" in number and follows.folded in ("am", "pm"):
        return _Value(f"{number} {follows.folded}", both, "clock", 2)
    if ":" in number:
        return _Value(number, text, "clock")
    # the "m" of "8 m" is a unit; a capital that begins a name is none
    alone = len(follows.text) > 1 or follows.text in "%€$£gmsh"
    if not unit and follows.folded in units() and alone:
        return _Value(f"{number} {stem(follows.folded)}", both, units()[follows.folded], 2)
    if not unit and follows.folded in words("clock"):
        return _Value(f"{number} {follows.folded}", both, "clock", 2)
    dimension = "day" if _YEAR.fullmatch(text) else units().get(unit, "count")
    return _Value(f"{number} {unit}".strip(), text, dimension)


def _read_day(tokens: Sequence[Token], at: int) -> _Value | None:
    """A day, month or year: 4 May, May 4 2026, 2026-05-04, September."""
    text, folded = tokens[at]
    if not text.isalpha() and _DATE.fullmatch(folded):
        return _Value(folded, text, "day")
    after = [token.folded for token in tokens[at + 1 : at + 4]]
    comma = after[1:2] == [","]  # "May 4, 2026"
    if comma and len(after) > 2 and _YEAR.fullmatch(after[2]):  # noqa: PLR2004
        del after[1]
    else:
        comma = False
    follows = after[0] if after else ""
    for number, name in ((folded, follows), (follows, folded)):
        if name in MONTHS and (day := _ORDINAL.fullmatch(number)):
            year = after[1] if len(after) > 1 and _YEAR.fullmatch(after[1]) else ""
            key = f"{MONTHS[name]}-{day[1]} {year}".strip()
            said = f"{text} {follows} {year}".strip()
            return _Value(key, said, "day", 2 + bool(year) + (comma and bool(year)))
    if folded in MONTHS and _YEAR.fullmatch(follows):
        return _Value(f"{MONTHS[folded]}/{follows}", f"{text} {follows}", "day", 2)
    if folded in MONTHS and text[0].isupper() and len(folded) >= _LONE_MONTH_CHARS_MIN:
        return _Value(str(MONTHS[folded]), text, "day")
    return None
