"""Figures, amounts, hours and days: one word each, known by what it measures.

"30 seconds" and "2 minutes" measure time, "4 May" and "2026-05-04" name a day, "3.11" counts. What
measures one thing never takes the place of what measures another.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from memory_mcp.ingestion.vocabulary import ALIASES, MONTHS, NUMBERS, UNITS, WEEKDAYS

__all__ = ["Figure", "figure_at", "key_of"]

_FIGURE: Final = re.compile(r"([€$£]?)v?(\d+(?:[.,:]\d+)*)\.?(%|[€$£]|°?[A-Za-z/]*)")
_DATE: Final = re.compile(r"(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./](?:19|20)\d\d")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_ORDINAL: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?")
_CLOCK: Final = frozenset({"am", "pm", "uhr", "o'clock"})
_LONE_MONTH_CHARS_MIN: Final = 4
"""A shorter one is another word too: May, Jan, Mar."""
_STEM_CHARS_MIN: Final = 3
_ENDINGS: Final = (("sses", "ss"), ("ies", "y"), ("ing", ""), ("ed", ""), ("s", ""))
_KEYS_KEPT: Final = 8_192


class Figure(NamedTuple):
    """A value: what it is compared by, as it was said, what it measures, of how many pieces."""

    key: str
    said: str
    measures: str
    pieces: int = 1


def figure_at(pieces: Sequence[tuple[str, str]], at: int) -> Figure | None:
    """The value that begins with this piece; pieces are given as said and folded."""
    said, low = pieces[at]
    after = [low for _, low in pieces[at + 1 : at + 3]]
    if low in WEEKDAYS:
        return Figure(WEEKDAYS[low], said, "day")
    if day := _day(said, low, after):
        return day
    if low in NUMBERS:
        return _measured(pieces, at, str(NUMBERS[low]), "")
    match = _FIGURE.fullmatch(said)
    if match is None or (match[3] and match[3].casefold() not in UNITS):
        return None
    return _measured(pieces, at, match[2].replace(",", ""), (match[1] or match[3]).casefold())


def _measured(pieces: Sequence[tuple[str, str]], at: int, number: str, unit: str) -> Figure:
    """A number with the unit that is part of it, or that follows."""
    said = pieces[at][0]
    if ":" in number:
        return Figure(number, said, "clock")
    other, follows = pieces[at + 1] if at + 1 < len(pieces) else ("", "")
    if not unit and follows in UNITS and _stands_alone(other):
        return Figure(f"{number} {key_of(follows)}", f"{said} {other}", UNITS[follows], 2)
    if not unit and follows in _CLOCK:
        return Figure(f"{number} {follows}", f"{said} {other}", "clock", 2)
    measures = "day" if _YEAR.fullmatch(said) else UNITS.get(unit, "count")
    return Figure(f"{number} {unit}".strip(), said, measures)


def _stands_alone(unit: str) -> bool:
    """The "m" of "8 m" is a unit, a capital that begins a name is none."""
    return len(unit) > 1 or unit in "%€$£gmsh"


def _day(said: str, low: str, after: Sequence[str]) -> Figure | None:
    """4 May, May 4 2026, 2026-05-04, September."""
    if _DATE.fullmatch(low):
        return Figure(low, said, "day")
    follows = after[0] if after else ""
    for number, name in ((low, follows), (follows, low)):
        if name in MONTHS and (day := _ORDINAL.fullmatch(number)):
            year = after[1] if len(after) > 1 and _YEAR.fullmatch(after[1]) else ""
            key = f"{MONTHS[name]}-{day[1]} {year}".strip()
            return Figure(key, f"{said} {follows}", "day", 2 + bool(year))
    if low in MONTHS and _YEAR.fullmatch(follows):
        return Figure(f"{MONTHS[low]}/{follows}", f"{said} {follows}", "day", 2)
    if low in MONTHS and said[0].isupper() and len(low) >= _LONE_MONTH_CHARS_MIN:
        return Figure(str(MONTHS[low]), said, "day")
    return None


@lru_cache(maxsize=_KEYS_KEPT)
def key_of(low: str) -> str:
    """A word without its inflection, by its usual name."""
    if low in ALIASES:
        return ALIASES[low]
    stem = low
    for ending, instead in _ENDINGS:
        rest = low.removesuffix(ending)
        if rest != low and _is_stem(rest, ending):
            stem = rest + instead
            if ending in ("ing", "ed") and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]
            break
    return ALIASES.get(stem) or ALIASES.get(stem + "e") or stem.removesuffix("e") or stem


def _is_stem(rest: str, ending: str) -> bool:
    """Whether what is left is a word: not the "str" of "string", nor the "statu" of "status"."""
    short = ending in ("s", "ies")
    if len(rest) < _STEM_CHARS_MIN - short or not any(vowel in rest for vowel in "aeiouy"):
        return False
    return not (ending == "s" and rest[-1] in "sui")
