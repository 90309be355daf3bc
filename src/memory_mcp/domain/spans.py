"""Durations and times as programs and people write them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from memory_mcp.domain.record import assume_utc
from memory_mcp.errors import InvalidRequestError
from memory_mcp.patterns import compile_later

_SPAN: Final = compile_later(
    r"\s*(\d{1,6})\s*(?:(s)(?:ecs?|econds?)?|(m)(?:ins?|inutes?)?|(h)(?:rs?|ours?)?|(d)(?:ays?)?"
    r"|(w)(?:eeks?)?)\s*",
    re.IGNORECASE,
)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_span(name: str, span: str | datetime | timedelta, now: datetime, sign: int) -> datetime:
    """The time that a duration ("30m", "2d") leads to from now, forward or back; or the given one.

    Raises:
        InvalidRequestError: it is neither.
    """
    lasts = span
    try:
        if isinstance(span, str) and (found := _SPAN.fullmatch(span)):
            unit = next(filter(None, found.groups()[1:])).lower()
            lasts = timedelta(seconds=int(found[1]) * _SECONDS[unit])
        if isinstance(lasts, timedelta):
            return now + sign * lasts
        at = datetime.fromisoformat(lasts) if isinstance(lasts, str) else lasts
        return (assume_utc(at) or at).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidRequestError(
            f"{name} is {str(span)!r}; give a duration (30m, 12h, 2d, 1w) or a time such as "
            "2026-01-31T14:30:00Z."
        ) from error
