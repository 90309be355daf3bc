"""Find the times that a text names ("8 May 2023") or means ("last week"), as terms.

Every day, week, month, season or year becomes terms of one form on both sides, so that a query
about May 2023 meets a memory of 8 May 2023 that said only "yesterday":

    20230508  202305  2023  2023w19  m05  m05d08

These terms never equal a word's: the month May is not the verb. A memory is indexed under all terms
of a time; a query asks for the most precise ones. A date that can be read in two ways (5/8/2023)
gives the terms of both. Words that name no certain day ("recently") give none.
"""

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

_SPEAKER_DAY: Final = compile_later(
    r"([^\W\d_][\w.' -]{0,40}?) ?(\([^()]{6,40}\)|\[[^\[\]]{6,40}\]):\s*"
)
_HOUR: Final = compile_later(r"\d:\d\d|\d ?[ap]\.?m\b", re.IGNORECASE)

_Terms = tuple[tuple[str, ...], tuple[str, ...]] | None
"""All terms of a time, and the most precise of them; None if there is no such time."""


def make_day_terms(day: date) -> tuple[str, ...]:
    """All terms of a day, the most precise first."""
    year, week, _ = day.isocalendar()
    return (
        f"{day:%Y%m%d}", f"{day:%Y%m}", f"{day:%Y}", f"{year}w{week:02}", f"m{day:%m}",
        f"m{day:%m}d{day:%d}",
    )  # fmt: skip


def _make_month_terms(year: int, month: int) -> tuple[str, ...]:
    return (f"{year}{month:02}", f"{year}", f"m{month:02}")


def _find_day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _on_day(day: date | None) -> _Terms:
    if day is None:
        return None
    terms = make_day_terms(day)
    return terms, terms[:2]


def _in_month(year: int, month: int) -> _Terms:
    terms = _make_month_terms(year, month)
    return terms, terms[:1]


def _add_months(own: date, months: int) -> tuple[int, int]:
    """Year and month, so many months from a day."""
    total = own.year * 12 + own.month - 1 + months
    return total // 12, total % 12 + 1


def _shift(own: date, count: int, unit: str) -> _Terms:
    """`count` days, weeks, months or years from a day, as precisely as people mean it."""
    try:
        if unit == "day":
            return _on_day(own + timedelta(days=count))
        if unit == "week":
            return _in_week(own + timedelta(weeks=count))
        if unit == "month":
            return _in_month(*_add_months(own, count))
        year = f"{own.year + count}"
    except OverflowError:
        return None
    return (year,), (year,)


def _in_week(day: date) -> _Terms:
    year, week, weekday = day.isocalendar()
    monday = day - timedelta(days=weekday - 1)
    ends = (monday, monday + timedelta(days=6))
    months = dict.fromkeys(t for at in ends for t in _make_month_terms(at.year, at.month))
    name = f"{year}w{week:02}"
    return (name, *months), (name,)


def _in_season(first: int, side: int, own: date) -> _Terms:
    """The three months of a season; of last and next the nearest that is over or to come."""
    year = own.year
    if side < 0 and _add_months(date(year, first, 1), 2) >= (own.year, own.month):
        year -= 1
    if side > 0 and first <= own.month:
        year += 1
    months = [_add_months(date(year, first, 1), step) for step in range(3)]
    every = dict.fromkeys(term for month in months for term in _make_month_terms(*month))
    return tuple(every), tuple(f"{y}{m:02}" for y, m in months)


def _on_weekend(own: date, side: int) -> _Terms:
    """Saturday and Sunday of the week before (-1), of this or of the next (1)."""
    saturday = own - timedelta(days=own.weekday()) + timedelta(days=5 + 7 * side)
    days = (make_day_terms(saturday), make_day_terms(saturday + timedelta(days=1)))
    return tuple(dict.fromkeys((*days[0], *days[1]))), (days[0][0], days[1][0])


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio janeiro",
            "february feb februar février fevrier febrero febbraio fevereiro",
            "march mar märz maerz mars marzo março marco",
            "april apr avril abril aprile",
            "may mai mayo maggio maio",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août aout agosto",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober okt octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember dez décembre decembre diciembre dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}
_ALONE: Final = (
    "january", "february", "april", "june", "july", "august", "september", "october", "november",
    "december", "januar", "februar", "märz", "juni", "juli", "oktober", "dezember", "enero",
    "febrero", "junio", "julio", "septiembre",
)  # fmt: skip
"""Months that are no other word: they count without a number beside them."""
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS: Final = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two couple", "three few", "four", "five", "six", "seven", "eight", "nine",
         "ten", "eleven", "twelve"),
    )
    for word in words.split()
}  # fmt: skip

_M: Final = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_N: Final = "(?:" + "|".join(_NUMBERS) + r"|\d{1,3})"
_Y: Final = r"(?:19|20)\d\d"


@frozen
class DateMention:
    """Where a text names a time, its terms, and the most precise of them."""

    start: int
    end: int
    terms: tuple[str, ...]
    precise: tuple[str, ...]


def _read_named(match: re.Match[str], own: date) -> _Terms:
    """8 May 2023, May 8, May 2023."""
    month = _MONTHS[match["month"].lower().rstrip(".")]
    year = int(match["year"]) if match["year"] else None
    day = int(match["day"]) if match["day"] else None
    of_month = f"m{month:02}"
    if day is None:
        return _in_month(year, month) if year else ((of_month,), (of_month,))
    if year:
        return _on_day(_find_day(year, month, day)) or _in_month(year, month)
    if _find_day(2000, month, day) is None:
        return None
    years = (own.year - 1, own.year, own.year + 1)
    near = [at for y in years if (at := _find_day(y, month, day))]
    precise = (f"{of_month}d{day:02}", of_month)
    return (make_day_terms(min(near, key=lambda at: abs(at - own))) if near else precise), precise


def _read_digits(match: re.Match[str], _own: date) -> _Terms:
    """2023-05-08, and 8/5/2023, which may be of two days."""
    if match["ymd"]:
        ymd = re.split(r"\D+", match["ymd"].rstrip("日"))[:3]
        return _on_day(_find_day(*(int(part) for part in ymd)))
    first, second, year = (int(part) for part in re.split(r"\D", match["dmy"]))
    readings = ((first, second), (second, first))
    days = [on_day for day, month in readings if (on_day := _on_day(_find_day(year, month, day)))]
    if not days:
        return None
    every = dict.fromkeys(term for on_day in days for term in on_day[0])
    return tuple(every), tuple(dict.fromkeys(term for on_day in days for term in on_day[1]))


def _read_year_month(match: re.Match[str], _own: date) -> _Terms:
    month = int(match["month"])
    return _in_month(int(match["year"]), month) if 1 <= month <= 12 else None  # noqa: PLR2004


def _read_year(match: re.Match[str], _own: date) -> _Terms:
    return (match[0],), (match[0],)


def _read_near_day(match: re.Match[str], own: date) -> _Terms:
    """Yesterday, tonight, the day after tomorrow, this morning."""
    shifts = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
    words = match[0].lower()
    if words.startswith("the day"):
        count = -2 if "before" in words else 2
    else:
        count = shifts.get(words, 0 if words.startswith("this") else -1)
    return _shift(own, count, "day")


def _read_side(match: re.Match[str], own: date) -> _Terms:
    """Last, this or next week, month, year, weekend, weekday, month's name or season."""
    sides = {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}
    side = sides.get(match["side"].lower(), 0)
    what = match["what"].lower().rstrip(".")
    if what in ("week", "month", "year"):
        return _shift(own, side, what)
    if what == "weekend":
        return _on_weekend(own, side)
    if what in _DAYS:
        ahead = (_DAYS.index(what) - own.weekday()) % 7
        away = ahead if side > 0 and ahead else ahead + 7 if side > 0 else ahead - 7 * (side < 0)
        return _on_day(own + timedelta(days=away))
    if what in _SEASONS:
        return _in_season(_SEASONS[what], side, own)
    month = _MONTHS[what]
    year = own.year - (side < 0 and month >= own.month) + (side > 0 and month <= own.month)
    return _in_month(year, month)


def _read_distance(match: re.Match[str], own: date) -> _Terms:
    """Two days ago, in a week, three years later."""
    if not (match["ahead"] or match["way"]):
        return None  # how long it took, not when
    count = match["count"].lower()
    number = int(count) if count.isdigit() else _NUMBERS[count]
    ahead = bool(match["ahead"]) or (match["way"] or "").lower() in ("later", "from now", "hence")
    return _shift(own, number if ahead else -number, match["unit"].lower())


_Reader = Callable[[re.Match[str], date], _Terms]
_CENTURIES: Final = ("19", "20")
_NEAR_DAYS: Final = ("yesterday", "tomorrow", "today", "tonight", "last night", "this ")
_SIDES: Final = ("last", "past", "previous", "this", "next", "coming")
_UNITS: Final = ("day", "week", "month", "year")
_FORMS: Final[tuple[tuple[Iterable[str], str, _Reader], ...]] = (
    (
        _CENTURIES,
        (
            rf"(?<![\d/.-])(?:(?P<ymd>{_Y}(?:[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?=$|T\d|[^\d/-])"
            r"|年\s?\d{1,2}月\s?\d{1,2}日))"
            rf"|(?P<dmy>\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_Y}))(?![\d/-])"
        ),
        _read_digits,
    ),
    (
        _MONTHS,
        (
            rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?(?:\s+(?:of|de|di))?[\s-]+(?P<month>{_M})"
            rf"(?:(?:,?\s*|-|\s+de[l]?\s+)(?P<year>{_Y}))?(?!\d)"
        ),
        _read_named,
    ),
    (
        _MONTHS,
        (
            rf"\b(?P<month>{_M})\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%])"
            rf"(?:,?\s*(?P<year>{_Y}))?(?!\d)"
        ),
        _read_named,
    ),
    (
        _MONTHS,
        rf"\b(?P<month>{_M})(?P<day>)(?:,|\s+of|\s+de|-)?\s*(?P<year>{_Y})(?!\d)",
        _read_named,
    ),
    (
        _CENTURIES,
        rf"(?<![\d-])(?P<year>{_Y})(?:-|年\s?)(?P<month>\d{{1,2}})(?:月)?(?![\d-])",
        _read_year_month,
    ),
    (
        _NEAR_DAYS,
        (
            r"\b(?:the day before yesterday|the day after tomorrow|yesterday|tomorrow|today"
            r"|tonight|last night|this (?:morning|afternoon|evening))\b"
        ),
        _read_near_day,
    ),
    (
        _SIDES,
        (
            r"\b(?P<side>last|past|previous|this|next|coming)\s+"
            rf"(?P<what>weekend|week|month|year|{'|'.join(_DAYS)}|{'|'.join(_SEASONS)}|{_M})(?!\w)"
        ),
        _read_side,
    ),
    (
        _UNITS,
        (
            rf"\b(?P<ahead>in\s+)?(?:about\s+)?(?P<count>{_N})\s+(?:of\s+)?(?P<unit>day|week|month|year)s?"
            r"(?:\s+(?P<way>ago|back|earlier|later|from now|hence))?\b"
        ),
        _read_distance,
    ),
    (_ALONE, rf"\b(?P<month>{'|'.join(_ALONE)})\b(?P<day>)(?P<year>)", _read_named),
    (
        _MONTHS,
        (
            r"(?-i:(?<=\b[Ii]n )|(?<=\b[Ss]ince )|(?<=\b[Dd]uring )|(?<=\bof ))"
            r"(?-i:(?P<month>May|March|Mar|Jan|Feb|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b)"
            r"(?P<day>)(?P<year>)"
        ),
        _read_named,
    ),
    (_CENTURIES, rf"(?<![\w.,/:$€£#-]){_Y}(?![\w%/:-]|[.,]\d)", _read_year),
)
"""What a text must hold one of, casefolded, for a form of a time; its pattern; what reads it.

To search a short text takes microseconds, and to compile a pattern up to a millisecond.
"""


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_HINT: Final = compile_later(
    rf"\d|\b(?:{'|'.join(_ALONE)}|yesterday|tomorrow|today|tonight|last|past|previous|this|next"
    r"|coming|ago|back|earlier|later|from now|May|March|(?:in|since|of) [A-Z])",
    re.IGNORECASE,
)
"""Most memories name no time: one search tells, before a dozen patterns are tried."""


def find_dates(text: str, own: date) -> list[DateMention]:
    """The times that a text names, in order; relative ones are counted from `own`."""
    if not _HINT.search(text):
        return []
    found: list[DateMention] = []
    folded = text.casefold()
    for needed, pattern, read in _FORMS:
        if not any(each in folded for each in needed):
            continue
        for match in _compile(pattern).finditer(text):
            start, end = match.span()
            overlaps = any(start < other.end and other.start < end for other in found)
            if not overlaps and (terms := read(match, own)):
                found.append(DateMention(start, end, *terms))
    return sorted(found, key=lambda mention: mention.start)


_TIME: Final = r"\d{1,2}(?::\d\d){0,2}\s*(?:[ap]\.?m\.?)?(?:\s*(?:UTC|Z))?"
_DATE: Final = (
    rf"{_Y}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_Y}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?(?:\s+of)?[\s-]+{_M},?[\s-]*{_Y}"
    rf"|{_M}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s*{_Y}|{_Y}年\d{{1,2}}月\d{{1,2}}日"
)
_WEEKDAY: Final = rf"(?:(?:{'|'.join(_DAYS)}|mon|tue|wed|thu|fri|sat|sun)\.?,?\s+)?"
_OPENING: Final = (
    rf"\s*(?P<open>[\[(])?\s*(?:(?:on|date:)\s+)?(?:{_TIME}\s*(?:on|,)?\s+)?{_WEEKDAY}(?P<date>{_DATE})"
    rf"(?:[T,\s]\s*(?:at\s+)?{_TIME}(?:[.]\d+)?Z?)?\s*"
    r"(?(open)[\])]\s*[:,-]?|(?::(?!\d)|\s[-\u2013\u2014|]|,(?=\s)|\n"
    r"|(?<=\s)(?=[^\W\d_][^\s:]*(?:\s[^\W\d_][^\s:]*){0,2}:\s)))\s*"
)


_HEAD_CHARS: Final = 12
"""More than the longest of the words that a day may begin with."""
_OPENING_WORDS: Final = ("on", "date:", *(day[:3] for day in _DAYS), *_MONTHS)


def find_leading_date(text: str) -> tuple[date | None, int]:
    """The day that a text begins with ("[8 May, 2023] …", "2023-05-08: …") and where it ends."""
    head = text.lstrip().removeprefix("[").removeprefix("(").lstrip()
    if not (head[:1].isdecimal() or head[:_HEAD_CHARS].casefold().startswith(_OPENING_WORDS)):
        return None, 0
    match = _compile(_OPENING).match(text)
    if match is None:
        return None, 0
    for mention in find_dates(match["date"], date(2000, 1, 1)):
        full = (t for t in mention.precise if len(t) == len("20230508") and t.isdigit())
        day = next(full, None)
        return (date.fromisoformat(day) if day else None), match.end()
    return None, 0


class DatedText(NamedTuple):
    """A text without the day that it begins with.

    `timed`: an hour stands beside the day, as before a turn of a talk or a line of a log.
    """

    day: date | None
    timed: bool
    text: str


def split_day(text: str) -> DatedText:
    """The day that stands before or right behind the speaker, and the text without it."""
    day, start = find_leading_date(text)
    if day is not None:
        return DatedText(day, _tells_hour(text[:start]), text[start:])
    if match := _SPEAKER_DAY.match(text):
        day, _ = find_leading_date(match[2])
        if day is not None:
            return DatedText(day, _tells_hour(match[2]), f"{match[1]}: {text[match.end() :]}")
    return DatedText(None, timed=False, text=text)


def _tells_hour(text: str) -> bool:
    return _HOUR.search(text) is not None
