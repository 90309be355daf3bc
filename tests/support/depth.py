"""How deep the searches for faults look: a taste by default, all of it with `pytest -m nightly`."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import example

__all__ = ["SEARCHES", "belongs_to_the_search", "choose", "depth", "parts", "retell"]

SEARCHES: Final = frozenset({"crash", "hostile", "properties"})
"""Folders whose every test belongs to the nightly search, as does a module that uses `depth`."""

_deep = False


def choose(*, deep: bool) -> None:
    """Set the depth of this run. Call it before the tests are imported."""
    global _deep  # noqa: PLW0603  # decorators ask while a test module is imported
    _deep = deep


def depth(taste: int, whole: int) -> int:
    """How many examples, seeds, rounds or steps this run takes."""
    return whole if _deep else taste


def parts(whole: int) -> pytest.MarkDecorator:
    """Run a search once by default, and so many times nightly: each part ends within minutes."""
    return pytest.mark.parametrize("part", range(depth(1, whole)))


def retell(n: int, *stories: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Tell stories that once went wrong again: one in `n` by default, all of them nightly."""

    def tell(test: Callable[..., Any]) -> Callable[..., Any]:
        for story in stories[:: depth(n, 1)]:
            test = example(story)(test)
        return test

    return tell


def belongs_to_the_search(item: pytest.Item) -> bool:
    """Whether the nightly search runs this test."""
    asks = isinstance(item, pytest.Function) and getattr(item.module, "depth", None) is depth
    return asks or item.path.parent.name in SEARCHES
