"""What a server for many must withstand: each test names the cases that it shows."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

T = TypeVar("T", bound=Callable[..., Any])

FILE: Final = Path(__file__).parents[1] / "hostile" / "http_cases.toml"


def load_cases() -> frozenset[str]:
    """The names of all cases."""
    groups: dict[str, dict[str, str]] = tomllib.loads(FILE.read_text("utf-8"))
    return frozenset(name for group in groups.values() for name in group)


def shows(*names: str) -> Callable[[T], T]:
    """Mark a test with the cases that it shows."""
    for name in names:
        assert name in load_cases(), name
    return pytest.mark.shows(*names)
