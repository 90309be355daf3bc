"""Reads a value as what it is, however it is written: "1 hour" is "60 minutes", "2 pm" is "14:00".

Only what is the same to the letter once it is read is the same: a month has no number of days, and
nobody knows whether 05/04 is in April or in May.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import Final

from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import Word, stem
from memory_mcp.text.tables import load_table

_ISO_DAY: Final = compile_later(r"((?:19|20)\d\d)-(\d\d)-(\d\d)")
_DOTTED_DAY: Final = compile_later(r"(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)")
_NAMED_DAY: Final = compile_later(r"(\d{1,2})-(\d{1,2}) ((?:19|20)\d\d)")
_CLOCK: Final = compile_later(r"(\d{1,2})(?::(\d\d))?(?: (am|pm|uhr|o'clock))?")
_NOON: Final = 12
_KEPT: Final = 4_096


def say_same(one: Sequence[Word], other: Sequence[Word]) -> bool:
    """Whether the words are the same, but for the form of their values."""
    return len(one) == len(other) and all(
        mine.key == its.key or (mine.kind == its.kind == "value" and _is_same(mine, its))
        for mine, its in zip(one, other, strict=True)
    )


def _is_same(one: Word, other: Word) -> bool:
    found = read_amount(one.key, one.dimension)
    return bool(found) and found == read_amount(other.key, other.dimension)


@lru_cache(maxsize=_KEPT)
def read_amount(key: str, dimension: str) -> str:
    """The value in its plainest form; "" if there is none."""
    if dimension == "day":
        return _read_day(key)
    if dimension == "clock":
        return _read_clock(key)
    number, _, unit = key.partition(" ")
    if unit not in _units():
        return ""
    base, factor = _units()[unit]
    try:
        return f"{(Decimal(number) * factor).normalize():f} {base}"
    except InvalidOperation:  # "1.2.3"
        return ""


def _read_day(key: str) -> str:
    if found := _ISO_DAY.fullmatch(key):
        year, month, day = found.groups()
    elif found := _DOTTED_DAY.fullmatch(key):
        day, month, year = found.groups()
    elif found := _NAMED_DAY.fullmatch(key):
        month, day, year = found.groups()
    else:
        return ""
    return f"{year}-{int(month):02}-{int(day):02}"


def _read_clock(key: str) -> str:
    found = _CLOCK.fullmatch(key)
    if found is None:
        return ""
    hour = int(found[1])
    if found[3] in ("am", "pm"):
        hour = hour % _NOON + _NOON * (found[3] == "pm")
    return f"{hour}:{found[2] or '00'}"


@cache
def _units() -> Mapping[str, tuple[str, Decimal]]:
    """For each unit the one that it is read as, and how many of that it is."""
    found = dict[str, tuple[str, Decimal]]()
    for row in load_table("merge")["amounts"]["rows"]:
        base, factor, *units = row.split()
        for unit in units:
            found[unit] = found[stem(unit)] = base, Decimal(factor)
    return found
