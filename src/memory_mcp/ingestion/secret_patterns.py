"""Patterns compiled with the first text that needs them: a server's start waits for none."""

import re
from collections.abc import Callable
from functools import cache

__all__ = ["later"]


def later(source: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """The pattern, once it is asked for."""
    return cache(lambda: re.compile(source, flags))
