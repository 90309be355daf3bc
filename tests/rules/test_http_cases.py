"""The list of what a server for many must withstand, and the tests that show it."""

import re
from pathlib import Path

from http_cases import load_cases

TESTS = Path(__file__).parents[1]


def test_every_case_is_shown_by_a_test() -> None:
    """A case without a test is a wish."""
    named: set[str] = set()
    for module in TESTS.rglob("test_*.py"):
        for call in re.findall(r"@shows\(([^)]*)\)", module.read_text("utf-8")):
            named |= set(re.findall(r'"([^"]+)"', call))

    assert named == load_cases()
