"""Text becomes terms: what the index holds, and what a question asks for.

A term is folded (case, accents), stemmed, and holds letters, digits and the marks that belong to a
letter, nothing else: nothing of a text is ever syntax to the index. Both sides, memories and
questions, go through this module, so that they cannot disagree.

An identifier (`parseUserConfig`, `src/app/main.py`) is known whole and by its parts. Scripts
without spaces are known by overlapping pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from memory_mcp.retrieval.stemming import stem

__all__ = ["TERM_CHARS_MAX", "fold", "phase_term", "pieces", "terms"]

TERM_CHARS_MAX: Final = 64
"""Longer runs (keys, encoded data) are known by their beginning."""

_MARKS: Final = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_DEPENDENT: Final = "".join(
    chr(code)
    for block in (range(0x0900, 0x0E00), range(0x0E00, 0x10A0), range(0x1780, 0x1800))
    for code in block
    if unicodedata.category(chr(code)).startswith("M")
)
"""Vowels that are marks on a letter: of Indic scripts, Thai, Lao, Tibetan, Burmese, Khmer."""
_UNSPACED: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_LETTERS: Final = rf"\w{_MARKS}{_DEPENDENT}"
_PIECE: Final = re.compile(
    rf"[cCfFjJ](?:\+\+|\#)|[{_LETTERS}](?:(?:[{_LETTERS}'\u2019.:/\\@&+-]|(?<=\d),(?=\d))*[{_LETTERS}])?"
)
"""A stretch without spaces that begins and ends in a letter or digit."""
_DROPPED: Final = re.compile(rf"[{_MARKS}]")
_SEPARATOR: Final = re.compile(r"[_.:/\\@&+,-]+")
_JOINT: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])"
)
_NUMBER: Final = re.compile(r"v?\d+(?:[.,:]\d+)+")
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_RUN: Final = re.compile(rf"[{_UNSPACED}]")
_APOSTROPHE: Final = re.compile(r"['\u2019]")
_ELIDED: Final = frozenset({"l", "d", "j", "m", "n", "s", "t", "c", "qu"})
"""What French and its sisters put before an apostrophe: l'eau, d'or."""
_CLITICS: Final = frozenset({"s", "re", "ve", "ll", "d", "m"})
_PLUS: Final = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp", "j#": "jsharp"}


def phase_term(number: int) -> str:
    """The term of a phase: what `phase-2` and `phase2` are known by as well."""
    return f"phase{number}"


def fold(text: str) -> str:
    """Case and accents are forgotten; marks that make another letter are not."""
    if text.isascii():
        return text.lower()
    plain = _DROPPED.sub("", unicodedata.normalize("NFKD", text.casefold()))
    # one letter may be a whole phrase (the ligatures of Arabic): a term has no spaces
    return "".join(unicodedata.normalize("NFC", plain).casefold().split())


def pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """The stretches of a text that hold words, each with where it stands."""
    for match in _PIECE.finditer(text):
        yield match.group(), match.start(), match.end()


def terms(text: str) -> list[str]:
    """All terms of a text, in order, with repetitions."""
    found: list[str] = []
    for piece in _PIECE.findall(text):
        found += terms_of(piece)
    return found


@lru_cache(maxsize=32_768)
def terms_of(piece: str) -> tuple[str, ...]:
    """The terms of one piece: one for a plain word, more for what is made of several."""
    if piece.isascii() and piece.isalpha() and (piece.islower() or piece[1:].islower()):
        return (stem(piece.lower())[:TERM_CHARS_MAX],)
    if piece.lower() in _PLUS:
        return (_PLUS[piece.lower()],)
    found: dict[str, None] = {}
    words = [part for part in _SEPARATOR.split(piece) if part.strip("'\u2019")]
    if _NUMBER.fullmatch(piece):
        return tuple(_number(piece))
    for word in words:
        found |= dict.fromkeys(_word(word))
    joined = _APOSTROPHE.sub("", "".join(words))
    if len(words) > 1 and len(joined) <= TERM_CHARS_MAX and not joined.isdigit():
        found |= dict.fromkeys((stem(fold(joined)),))
    return tuple(term[:TERM_CHARS_MAX] for term in found if term)


def _number(piece: str) -> Iterator[str]:
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


def _word(word: str) -> Iterator[str]:
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
    if _UNSPACED_RUN.search(word):
        for run in _RUN.findall(unicodedata.normalize("NFKC", word)):
            yield from _pairs(fold(run)) if _UNSPACED_RUN.match(run) else _word(run)
        return
    yield stem(fold(word))
    parts = _JOINT.split(word)
    if len(parts) > 1:
        yield from (stem(fold(part)) for part in parts)


def _pairs(run: str) -> Iterator[str]:
    """Overlapping pairs of characters, and each Han character, which is a word of its own."""
    if len(run) == 1:
        yield run
        return
    for at in range(len(run) - 1):
        yield run[at : at + 2]
    yield from _HAN.findall(run)
