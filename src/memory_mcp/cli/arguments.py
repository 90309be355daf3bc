"""Types of arguments: numbers within a range, times, lists. What is wrong is refused first."""

import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from memory_mcp.domain.limits import PHASE_MAX

_WHOLE: Final = re.compile(r"\s*[+-]?\d{1,18}\s*")


def parse_whole(text: str) -> int:
    """Read a whole number.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not _WHOLE.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def parse_number(text: str) -> float:
    """Read a number.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no number") from None


def whole_within(least: int, most: float = math.inf) -> Callable[[str], int]:
    """A type of whole numbers from `least` to `most`."""
    choices = f"{least} or more" if most == math.inf else f"{least} to {most}"

    def parse(text: str) -> int:
        if not least <= (number := parse_whole(text)) <= most:
            raise ArgumentTypeError(f"{number} is out of range; choose {choices}")
        return number

    return parse


PHASE: Final = whole_within(0, PHASE_MAX)


def number_within(least: float, most: float) -> Callable[[str], float]:
    """A type of numbers from `least` to `most`."""

    def parse(text: str) -> float:
        if not least <= (number := parse_number(text)) <= most:
            raise ArgumentTypeError(f"{text} is out of range; choose {least:g} to {most:g}")
        return number

    return parse


def parse_time(text: str) -> datetime:
    """Read a time; without a zone it is UTC.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is no time; write it like 2026-12-31 or 2026-12-31T18:00+01:00"
        ) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC)


def some_of(choices: Sequence[str]) -> Callable[[str], str]:
    """A type of lists, separated by commas, of these choices."""

    def parse(text: str) -> str:
        for word in filter(None, map(str.strip, text.split(","))):
            if word not in choices:
                raise ArgumentTypeError(f"{word!r} is unknown; choose some of {', '.join(choices)}")
        return text

    return parse
