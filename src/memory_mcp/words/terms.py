"""Turn a text into terms: what the index holds, and what a query asks for.

A term is folded (case, accents), stemmed, and holds letters, digits and the marks that belong to a
letter. No part of a text is ever syntax to the index. Memories and queries both go through this
module, so that their terms agree.

An identifier (`parseUserConfig`, `src/app/main.py`) gives a term for the whole and one for each
part; a path also one for each of its last ends (`app/main.py`, `main.py`). Scripts without spaces
give overlapping pairs of characters.

The stemmer is Porter's (M. F. Porter, "An algorithm for suffix stripping", Program 14, 1980) after
a table of irregular English forms. It runs over words of every language, on both sides.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from memory_mcp.patterns import compile_later

_IRREGULAR_FORMS: Final = """
be am is are was were been; become became; begin began begun; bite bit bitten; blow blew blown;
break broke broken; bring brought; build built; burn burnt; buy bought; catch caught;
choose chose chosen; come came; deal dealt; dig dug; draw drew drawn; dream dreamt;
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; fly flew flown; forget forgot forgotten; freeze froze frozen;
get got gotten; give gave given; go goes went gone; grow grew grown; hang hung; have has had;
hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; learn learnt;
leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden;
ring rang rung; rise rose risen; run ran; say said; see saw seen; sell sold; send sent;
shake shook shaken; shoot shot; show shown; sing sang sung; sink sank sunk; sit sat;
sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck;
swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood;
wake woke woken; wear wore worn; win won; write wrote written; do does did done;
child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice;
goose geese; wife wives; life lives; knife knives; leaf leaves; shelf shelves; half halves;
wolf wolves; datum data; index indices; matrix matrices; vertex vertices; analysis analyses;
crisis crises; deploy deployment deployments; better best good; worse worst bad
"""

_VOWELS: Final = frozenset("aeiou")
_LENGTH_MIN: Final = 3
_LENGTH_MAX: Final = 40
"""Longer runs of letters are no words: nothing is cut off them."""

_DOUBLES: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_SINGLES: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip
_SUFFIXES: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
)  # fmt: skip


def _make_table(forms: str) -> dict[str, str]:
    """Each irregular form and its base form; bases stand for themselves."""
    table: dict[str, str] = {}
    for group in forms.split(";"):
        words = group.split()
        base = words[-1] if words[-1] in ("good", "bad") else words[0]
        table |= dict.fromkeys((word for word in words if word != base), base)
    return table


_BASES: Final = _make_table(_IRREGULAR_FORMS)


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of a folded word; itself if it is not made of the letters a to z."""
    word = _BASES.get(word, word)
    if not _LENGTH_MIN <= len(word) <= _LENGTH_MAX or not (word.isascii() and word.isalpha()):
        return word
    word = _strip_past(_strip_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(word, _DOUBLES)
    word = _replace_suffix(word, _SINGLES)
    return _strip_last(_strip_suffix(word))


def _strip_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return _restore(rest) if _has_vowel(rest) else word
    return word


def _restore(rest: str) -> str:
    """The rest of "hopping", "filing", "rating" becomes a word again."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "lsz" and not _is_vowel(rest, -1):
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _replace_suffix(word: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for suffix, replacement in pairs:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) > 0 else word
    return word


def _strip_suffix(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            stays = suffix == "ion" and not rest.endswith(("s", "t"))
            return rest if _measure(rest) > 1 and not stays else word
    return word


def _strip_last(word: str) -> str:
    """A last e and a double l go, where enough of the word is left."""
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _is_vowel(word: str, at: int) -> bool:
    letter = word[at]
    if letter in _VOWELS:
        return True
    at %= len(word)
    return letter == "y" and at > 0 and not _is_vowel(word, at - 1)


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, at) for at in range(len(word)))


def _measure(word: str) -> int:
    """How often consonants follow vowels: Porter's m."""
    count, was_vowel = 0, False
    for at in range(len(word)):
        is_vowel = _is_vowel(word, at)
        count += was_vowel and not is_vowel
        was_vowel = is_vowel
    return count


def _is_short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant (not w, x or y)."""
    return (
        len(word) > 2  # noqa: PLR2004
        and not _is_vowel(word, -3)
        and _is_vowel(word, -2)
        and not _is_vowel(word, -1)
        and word[-1] not in "wxy"
    )


TERM_CHARS_MAX: Final = 64
"""Longer runs (keys, encoded data) are known by their beginning."""

_MARKS: Final = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_DEPENDENT: Final = (range(0x0900, 0x0E00), range(0x0E00, 0x10A0), range(0x1780, 0x1800))
"""Where vowels are marks on a letter: Indic scripts, Thai, Lao, Tibetan, Burmese, Khmer."""
_UNSPACED: Final = compile_later(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
_HAN: Final = compile_later(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_PIECE: Final = r"[cCfFjJ](?:\+\+|\#)|[{0}](?:(?:[{0}'\u2019.:/\\@&+-]|(?<=\d),(?=\d))*[{0}])?"
"""A stretch without spaces that begins and ends in a letter or digit."""
_SYMBOL: Final = r"[\u2600-\u27bf\U0001f1e6-\U0001f3fa\U0001f400-\U0001faff]"
"""Pictures, but for the tone of a skin: each is a word of its own."""
_ONE_SYMBOL: Final = compile_later(_SYMBOL)
_ASCII_PIECE: Final = compile_later(_PIECE.format(r"\w"))
"""The same where no letter has a mark, compiled in a fifth of the time."""
_DROPPED: Final = compile_later(rf"[{_MARKS}]")
_SEPARATOR: Final = compile_later(r"[_.:/\\@&+,-]+")
_FOLDER: Final = compile_later(r"[/\\]+")
_ENDS_MAX: Final = 3
"""Ends of a path by which it is found: nobody types more of it."""
_JOINT: Final = compile_later(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])"
)
_NUMBER: Final = compile_later(r"v?\d+(?:[.,:]\d+)+")
_THOUSANDS: Final = compile_later(r"\d{1,3}(?:,\d{3})+")
_APOSTROPHE: Final = compile_later(r"['\u2019]")
_ELIDED: Final = frozenset({"l", "d", "j", "m", "n", "s", "t", "c", "qu"})
"""What Romance languages put before an apostrophe: l'eau, d'or."""
_CLITICS: Final = frozenset({"s", "re", "ve", "ll", "d", "m"})
_PLUS: Final = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp", "j#": "jsharp"}


def make_phase_term(number: int) -> str:
    """The term of a phase: `phase-2` and `phase2` give it too."""
    return f"phase{number}"


def fold(text: str) -> str:
    """Drop case and accents, but no marks that make another letter."""
    if text.isascii():
        return text.lower()
    plain = _DROPPED.sub("", unicodedata.normalize("NFKD", text.casefold()))
    # one letter may be a whole phrase (the ligatures of Arabic): a term has no spaces
    return "".join(unicodedata.normalize("NFC", plain).casefold().split())


@cache
def _compile_piece() -> re.Pattern[str]:
    codes = (chr(code) for block in _DEPENDENT for code in block)
    dependent = "".join(each for each in codes if unicodedata.category(each).startswith("M"))
    return re.compile(_PIECE.format(rf"\w{_MARKS}{dependent}") + f"|{_SYMBOL}")


def _choose_piece(text: str) -> re.Pattern[str]:
    return _ASCII_PIECE if text.isascii() else _compile_piece()


def find_pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """The stretches of a text that hold words, each with where it stands."""
    for match in _choose_piece(text).finditer(text):
        yield match.group(), match.start(), match.end()


def extract_terms(text: str) -> list[str]:
    """All terms of a text, in order, with repetitions."""
    found: list[str] = []
    for piece in _choose_piece(text).findall(text):
        found += split_terms(piece)
    return found


@lru_cache(maxsize=32_768)
def split_terms(piece: str) -> tuple[str, ...]:
    """The terms of one piece: one for a plain word, more for what is made of several."""
    if piece.isascii() and piece.isalpha() and (piece.islower() or piece[1:].islower()):
        return (stem(piece.lower())[:TERM_CHARS_MAX],)
    if piece.lower() in _PLUS:
        return (_PLUS[piece.lower()],)
    if _NUMBER.fullmatch(piece):
        return tuple(_split_number(piece))
    if len(piece) == 1 and _ONE_SYMBOL.match(piece):
        return (f"symbol{ord(piece):x}",)  # an index of words takes no other signs
    found: dict[str, None] = {}
    words = [part for part in _SEPARATOR.split(piece) if part.strip("'\u2019")]
    for word in words:
        found |= dict.fromkeys(_split_word(word))
    for end in (words, *_list_ends(piece)):
        joined = _APOSTROPHE.sub("", "".join(end))
        if len(end) > 1 and len(joined) <= TERM_CHARS_MAX and not joined.isdigit():
            found |= dict.fromkeys((stem(fold(joined)),))
    return tuple(term[:TERM_CHARS_MAX] for term in found if term)


def _list_ends(piece: str) -> Iterator[list[str]]:
    """The words of the file's name that a path ends in, and of the folders right before it."""
    names = _FOLDER.split(piece)[1:][-_ENDS_MAX:]
    for start in reversed(range(len(names))):
        yield [part for name in names[start:] for part in _SEPARATOR.split(name) if part]


def _split_number(piece: str) -> Iterator[str]:
    """1,200 is 1200; 2.3.1 is itself and 2.3; 7:30 is one thing, not a 7 and a 30."""
    if _THOUSANDS.fullmatch(piece):
        yield piece.replace(",", "")
        return
    bare = piece.removeprefix("v").replace(",", ".").replace(":", "h")
    parts = bare.split(".")
    for length in range(len(parts), 1, -1):
        yield "d".join(parts[:length])
    if len(parts) == 1:
        yield bare


def _split_word(word: str) -> Iterator[str]:
    """The terms of a word that has no separators: itself, then its parts if it has several."""
    halves = _APOSTROPHE.split(word)
    if len(halves) > 1:
        first, last = halves[0].casefold(), halves[-1].casefold()
        if last in _CLITICS or not last:
            halves = halves[:-1]
        elif first in _ELIDED and len(last) > 1:
            halves = halves[1:]
    word = "".join(halves)
    if not word:
        return
    if not word.isascii() and _UNSPACED.search(word):
        for run in filter(None, _UNSPACED.split(unicodedata.normalize("NFKC", word))):
            yield from _split_pairs(fold(run)) if _UNSPACED.match(run) else _split_word(run)
        return
    yield stem(fold(word))
    parts = _JOINT.split(word)
    if len(parts) > 1:
        yield from (stem(fold(part)) for part in parts)


def _split_pairs(run: str) -> Iterator[str]:
    """Overlapping pairs of characters, and each Han character, which is a word of its own."""
    if len(run) == 1:
        yield run
        return
    for at in range(len(run) - 1):
        yield run[at : at + 2]
    yield from _HAN.findall(run)
