"""Time zones by name, and the line that says what time it is there.

Standard library only, because hooks use it.
"""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

from memory_mcp.patterns import compile_later

_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OFFSET: Final = compile_later(r"(?:UTC|GMT)\s?([+-])(\d{1,2})(?::(\d\d))?")


def find_time_zone(name: str) -> tzinfo | None:
    """The time zone of that name, if this machine knows it: `Europe/Berlin`, `UTC`, `UTC+2`."""
    if not name:
        return None
    if offset := _OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        away = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(away if sign == "+" else -away, name) if away < timedelta(days=1) else None
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # few users have set a time zone

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # none of that name, no name at all, or a folder
        return None


def render_now_line(now: datetime, zone: str = "") -> str:
    """`Now: Saturday 2026-11-21 23:02 (Europe/Berlin)`; UTC without a zone that is known."""
    known = find_time_zone(zone)
    there = now.astimezone(known or UTC)
    return f"Now: {_DAYS[there.weekday()]} {there:%Y-%m-%d %H:%M} ({zone if known else 'UTC'})"


def count_now_chars(zone: str = "") -> int:
    """The length of the longest now line of a zone: it is the same on every day."""
    return len(f"Now: {max(_DAYS, key=len)} 2026-01-31 14:30 ({zone or 'UTC'})")
