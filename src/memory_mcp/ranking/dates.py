"""Find the times that a text names ("8 May 2023") or means ("last week"), as terms.

Every day, week, month, season or year becomes terms of one form on both sides, so that a question
about May 2023 meets a memory of 8 May 2023 that said only "yesterday":

    20230508  202305  2023  2023w19  m05  m05d08

These terms never equal a word's: the month May is not the verb. A memory is indexed under all
terms of a time; a question asks for the most exact ones. A date that can be read in two ways
(5/8/2023) gives the terms of both. Words that name no certain day ("recently") give none.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Final

Terms = tuple[tuple[str, ...], tuple[str, ...]] | None
"""All terms of a time, and those that say it most exactly; None if there is no such time."""


def day_terms(day: date) -> tuple[str, ...]:
    """All terms of a day, the most exact first."""
    year, week, _ = day.isocalendar()
    return (
        f"{day:%Y%m%d}", f"{day:%Y%m}", f"{day:%Y}", f"{year}w{week:02}", f"m{day:%m}",
        f"m{day:%m}d{day:%d}",
    )  # fmt: skip


def _month_terms(year: int, month: int) -> tuple[str, ...]:
    return (f"{year}{month:02}", f"{year}", f"m{month:02}")


def valid(year: int, month: int, day: int) -> date | None:
    """The day, if there is one."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def on(day: date | None) -> Terms:
    """The terms of a day."""
    if day is None:
        return None
    found = day_terms(day)
    return found, (found[0], found[1])


def in_month(year: int, month: int) -> Terms:
    """The terms of a month."""
    found = _month_terms(year, month)
    return found, found[:1]


def moved(own: date, months: int) -> tuple[int, int]:
    """Year and month, so many months from a day."""
    whole = own.year * 12 + own.month - 1 + months
    return whole // 12, whole % 12 + 1


def shifted(own: date, count: int, unit: str) -> Terms:
    """`count` days, weeks, months or years from a day, as exactly as people mean it."""
    try:
        if unit == "day":
            return on(own + timedelta(days=count))
        if unit == "week":
            return _week(own + timedelta(weeks=count))
        if unit == "month":
            return in_month(*moved(own, count))
        year = f"{own.year + count}"
    except OverflowError:
        return None
    return (year,), (year,)


def _week(day: date) -> Terms:
    year, week, weekday = day.isocalendar()
    monday = day - timedelta(days=weekday - 1)
    months = dict.fromkeys(
        term
        for at in (monday, monday + timedelta(days=6))
        for term in _month_terms(at.year, at.month)
    )
    name = f"{year}w{week:02}"
    return (name, *months), (name,)


def season(first: int, side: int, own: date) -> Terms:
    """The three months of a season; of last and next the nearest that is over or to come."""
    year = own.year
    if side < 0 and moved(date(year, first, 1), 2) >= (own.year, own.month):
        year -= 1
    if side > 0 and first <= own.month:
        year += 1
    months = [moved(date(year, first, 1), step) for step in range(3)]
    every = dict.fromkeys(term for month in months for term in _month_terms(*month))
    return tuple(every), tuple(f"{y}{m:02}" for y, m in months)


def weekend(own: date, side: int) -> Terms:
    """Saturday and Sunday of the week before (-1), of this or of the next (1)."""
    saturday = own - timedelta(days=own.weekday()) + timedelta(days=5 + 7 * side)
    days = (day_terms(saturday), day_terms(saturday + timedelta(days=1)))
    return tuple(dict.fromkeys((*days[0], *days[1]))), (days[0][0], days[1][0])


def day_of(terms: tuple[str, ...]) -> date | None:
    """The first full day among terms."""
    for term in terms:
        if len(term) == len("20230508") and term.isdigit():
            return date(int(term[:4]), int(term[4:6]), int(term[6:]))
    return None


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


@dataclass(frozen=True)
class DateMention:
    """Where a text names a time, the terms of it, and those of them that say it most exactly."""

    start: int
    end: int
    terms: tuple[str, ...]
    finest: tuple[str, ...]


def _numbered(match: re.Match[str], own: date) -> Terms:
    """8 May 2023, May 8, May 2023."""
    month = _MONTHS[match["month"].lower().rstrip(".")]
    year = int(match["year"]) if match["year"] else None
    day = int(match["day"]) if match["day"] else None
    if day is None:
        return in_month(year, month) if year else ((f"m{month:02}",), (f"m{month:02}",))
    if year:
        return on(valid(year, month, day)) or in_month(year, month)
    if valid(2000, month, day) is None:
        return None
    near = [at for y in (own.year - 1, own.year, own.year + 1) if (at := valid(y, month, day))]
    exact = f"m{month:02}d{day:02}"
    nearest = min(near, key=lambda at: abs(at - own)) if near else None
    return (day_terms(nearest) if nearest else (exact, f"m{month:02}")), (exact, f"m{month:02}")


def _digits(match: re.Match[str], _own: date) -> Terms:
    """2023-05-08, and 8/5/2023, which may be of two days."""
    if match["ymd"]:
        return on(valid(*(int(part) for part in re.split(r"\D+", match["ymd"].rstrip("日"))[:3])))
    first, second, year = (int(part) for part in re.split(r"\D", match["dmy"]))
    days = [on(valid(year, month, day)) for day, month in ((first, second), (second, first))]
    both = [found for found in days if found]
    if not both:
        return None
    every = dict.fromkeys(term for found in both for term in found[0])
    return tuple(every), tuple(dict.fromkeys(term for found in both for term in found[1]))


def _year_month(match: re.Match[str], _own: date) -> Terms:
    month = int(match["month"])
    return in_month(int(match["year"]), month) if 1 <= month <= 12 else None  # noqa: PLR2004


def _bare_year(match: re.Match[str], _own: date) -> Terms:
    return (match[0],), (match[0],)


def _near_day(match: re.Match[str], own: date) -> Terms:
    shifts = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
    said = match[0].lower()
    if said.startswith("the day"):
        count = -2 if "before" in said else 2
    else:
        count = shifts.get(said, 0 if said.startswith("this") else -1)
    return shifted(own, count, "day")


def _sided(match: re.Match[str], own: date) -> Terms:
    """Last, this or next week, month, year, weekend, weekday, month's name or season."""
    side = {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}.get(
        match["side"].lower(), 0
    )
    what = match["what"].lower().rstrip(".")
    if what in ("week", "month", "year"):
        return shifted(own, side, what)
    if what == "weekend":
        return weekend(own, side)
    if what in _DAYS:
        ahead = (_DAYS.index(what) - own.weekday()) % 7
        away = ahead if side > 0 and ahead else ahead + 7 if side > 0 else ahead - 7 * (side < 0)
        return on(own + timedelta(days=away))
    if what in _SEASONS:
        return season(_SEASONS[what], side, own)
    month = _MONTHS[what]
    year = own.year - (side < 0 and month >= own.month) + (side > 0 and month <= own.month)
    return in_month(year, month)


def _ago(match: re.Match[str], own: date) -> Terms:
    """Two days ago, in a week, three years later."""
    if not (match["ahead"] or match["way"]):
        return None  # how long it took, not when
    said = match["count"].lower()
    count = int(said) if said.isdigit() else _NUMBERS[said]
    ahead = bool(match["ahead"]) or (match["way"] or "").lower() in ("later", "from now", "hence")
    return shifted(own, count if ahead else -count, match["unit"].lower())


_Reader = Callable[[re.Match[str], date], Terms]
_FORMS: Final[tuple[tuple[str, _Reader], ...]] = (
    (
        (
            rf"(?<![\d/.-])(?:(?P<ymd>{_Y}(?:[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?=$|T\d|[^\d/-])"
            r"|年\s?\d{1,2}月\s?\d{1,2}日))"
            rf"|(?P<dmy>\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_Y}))(?![\d/-])"
        ),
        _digits,
    ),
    (
        (
            rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?(?:\s+(?:of|de|di))?[\s-]+(?P<month>{_M})"
            rf"(?:(?:,?\s*|-|\s+de[l]?\s+)(?P<year>{_Y}))?(?!\d)"
        ),
        _numbered,
    ),
    (
        (
            rf"\b(?P<month>{_M})\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%])"
            rf"(?:,?\s*(?P<year>{_Y}))?(?!\d)"
        ),
        _numbered,
    ),
    (rf"\b(?P<month>{_M})(?P<day>)(?:,|\s+of|\s+de|-)?\s*(?P<year>{_Y})(?!\d)", _numbered),
    (rf"(?<![\d-])(?P<year>{_Y})(?:-|年\s?)(?P<month>\d{{1,2}})(?:月)?(?![\d-])", _year_month),
    (
        (
            r"\b(?:the day before yesterday|the day after tomorrow|yesterday|tomorrow|today"
            r"|tonight|last night|this (?:morning|afternoon|evening))\b"
        ),
        _near_day,
    ),
    (
        (
            r"\b(?P<side>last|past|previous|this|next|coming)\s+"
            rf"(?P<what>weekend|week|month|year|{'|'.join(_DAYS)}|{'|'.join(_SEASONS)}|{_M})(?!\w)"
        ),
        _sided,
    ),
    (
        (
            rf"\b(?P<ahead>in\s+)?(?:about\s+)?(?P<count>{_N})\s+(?:of\s+)?(?P<unit>day|week|month|year)s?"
            r"(?:\s+(?P<way>ago|back|earlier|later|from now|hence))?\b"
        ),
        _ago,
    ),
    (rf"\b(?P<month>{'|'.join(_ALONE)})\b(?P<day>)(?P<year>)", _numbered),
    (
        (
            r"(?-i:(?<=\b[Ii]n )|(?<=\b[Ss]ince )|(?<=\b[Dd]uring )|(?<=\bof ))"
            r"(?-i:(?P<month>May|March|Mar|Jan|Feb|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b)"
            r"(?P<day>)(?P<year>)"
        ),
        _numbered,
    ),
    (rf"(?<![\w.,/:$€£#-]){_Y}(?![\w%/:-]|[.,]\d)", _bare_year),
)


@cache
def _forms() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    """The patterns, compiled when the first text is read: that takes longer than importing."""
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _FORMS)


_HINT: Final = re.compile(
    rf"\d|\b(?:{'|'.join(_ALONE)}|yesterday|tomorrow|today|tonight|last|past|previous|this|next"
    r"|coming|ago|back|earlier|later|from now|May|March|(?:in|since|of) [A-Z])",
    re.IGNORECASE,
)
"""Most memories name no time: one look tells, before a dozen patterns are tried."""


def find_dates(text: str, own: date) -> list[DateMention]:
    """The times that a text names, in order; what is relative is seen from `own`."""
    if not _HINT.search(text):
        return []
    found: list[DateMention] = []
    for pattern, read in _forms():
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other.end and other.start < end for other in found):
                continue
            seen = read(match, own)
            if seen:
                found.append(DateMention(start, end, *seen))
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


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(_OPENING, re.IGNORECASE)


def find_leading_date(text: str) -> tuple[date | None, int]:
    """The day that a text begins with ("[8 May, 2023] …", "2023-05-08: …") and where it ends."""
    match = _opening().match(text)
    if match is None:
        return None, 0
    for mention in find_dates(match["date"], date(2000, 1, 1)):
        return day_of(mention.finest), match.end()
    return None, 0
