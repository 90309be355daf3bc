"""A newer value inside a longer sentence: what it contradicts is found, and no more."""

import pytest

from memory_mcp.text.merge.clauses import split_clauses
from memory_mcp.text.truths import find_contradicted

OSLO = "The server has 4 GB RAM and sits in Oslo."

NEWER = [
    ("The server now has 8 GB RAM.", OSLO, "The server has 4 GB RAM."),
    ("The server sits in Bergen now.", OSLO, "The server sits in Oslo."),
    (
        "Since March the server has 8 GB RAM, which is enough.",
        OSLO,
        "The server has 4 GB RAM.",
    ),
    (
        "The build uses Python 3.13.",
        "The build uses Python 3.12 and takes 4 minutes.",
        "The build uses Python 3.12.",
    ),
    (
        "The build takes 9 minutes.",
        "The build uses Python 3.12 and takes 4 minutes.",
        "The build takes 4 minutes.",
    ),
]

NEAR = [
    ("The staging server has 8 GB RAM.", OSLO),
    ("The backup has 8 GB RAM.", OSLO),
    ("The server has 8 GB swap.", OSLO),
    ("The server sits in Oslo.", OSLO),
    ("We support Python 3.13.", "We support Python 3.12 and ship wheels."),
    ("The server had 2 GB RAM.", OSLO),
    ("I drink coffee.", "I drink tea and eat bread."),
]


@pytest.mark.parametrize(("new", "old", "part"), NEWER)
def test_the_statement_that_a_newer_value_contradicts_is_found(
    new: str, old: str, part: str
) -> None:
    """It, and not what the sentence says besides."""
    found = find_contradicted(old, new)
    assert found is not None
    assert found[0] == part
    assert part not in found[1]
    assert len(found[1]) == len(split_clauses(old)) - 1


@pytest.mark.parametrize(("new", "old"), NEAR)
def test_a_near_miss_contradicts_nothing(new: str, old: str) -> None:
    """Another subject, another environment, another time, one of several."""
    assert find_contradicted(old, new) is None
