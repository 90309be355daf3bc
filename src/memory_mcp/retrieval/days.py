"""Days, weeks, months, seasons and years as terms.

    20230508  202305  2023  2023w19  m05  m05d08

They stand apart from words: the month May is never the verb. Of the terms of a time some say it
most exactly; a question asks for those, a memory is known by all.
"""

from datetime import date, timedelta

__all__ = [
    "Terms", "day_of", "day_terms", "in_month", "moved", "on", "season", "shifted", "valid",
    "weekend",
]  # fmt: skip

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
