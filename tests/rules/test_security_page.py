"""The page on security is tested: a promise without a test is a wish."""

import re

from paths import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    """The table says which test shows each defence; a test that was renamed shows nothing."""
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    there = {name for text in sources for name in re.findall(r"def (\w+)\(", text)}
    named = re.findall(r"`(test_\w+)(?:\[(\w+)\])?`", PAGE)

    assert named
    assert {name for pair in named for name in pair if name} - there == set()


def test_every_file_of_cases_that_the_page_names_exists() -> None:
    """As above."""
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)

    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
