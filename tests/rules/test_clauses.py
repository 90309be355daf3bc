"""A newer value inside a longer sentence: said to contradict, and nothing else gives way."""

import json
from typing import Final

import pytest
from doors import Era, add, agent, call
from paths import DATA

from memory_mcp.config.settings import Settings
from memory_mcp.domain.deduplication import Verdict
from memory_mcp.text.merge import compare
from memory_mcp.text.merge.clauses import find_conflict, find_contradicted, split_clauses
from memory_mcp.text.merge.reading import Sentence

pytestmark = pytest.mark.anyio

PAIRS: Final = DATA / "newer_values.json"
"""Written by two who did not know the rule: one kept the old statement's words about the thing
(`kept`; the rule was mended with it), the other told freely, as people do (`free`; the rule was not
made with it, and it shows the limit)."""
KEPT_MIN: Final = 26
FREE_MIN: Final = 1

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
    found = find_contradicted(new, old)
    assert found is not None
    assert found[0] == part
    assert part not in found[1]
    assert len(found[1]) == len(split_clauses(old)) - 1


@pytest.mark.parametrize(("new", "old"), NEAR)
def test_a_near_miss_contradicts_nothing(new: str, old: str) -> None:
    """Another subject, another environment, another time, one of several."""
    assert find_contradicted(new, old) is None


NARROWED = [
    "The backup of the server has 8 GB RAM.",
    "The test lab next to the server has 8 GB RAM.",
    "Suppose the server has 8 GB RAM.",
    "Provided the budget is approved, the server has 8 GB RAM.",
    "Next year the server has 8 GB RAM.",
    "Nobody believes the server has 8 GB RAM.",
    "Anna claimed that the server has 8 GB RAM.",
    "According to the old docs, the server has 8 GB RAM.",
    "In the diagram, the server has 8 GB RAM.",
]


@pytest.mark.parametrize("said", NARROWED)
def test_what_is_only_supposed_or_said_of_something_else_is_no_newer_value(said: str) -> None:
    """The statement stands in the sentence, and is not what the sentence states."""
    assert find_conflict(said, OSLO) is None


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("It has 1 GB. " * 600, "It has 2 MB. " * 600),
        ("the API, " * 880, OSLO.replace("server", "API")),
        ("A is b. " * 980, "A is c. " * 980),
    ],
)
def test_a_long_list_is_compared_only_so_far(
    new: str, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done beside the calls of others, who wait for it."""
    asked: list[object] = []
    real = compare.compare_sentences

    def counting(one: Sentence, other: Sentence) -> Verdict:
        asked.append(one)
        return real(one, other)

    monkeypatch.setattr("memory_mcp.text.merge.clauses.compare_sentences", counting)
    find_conflict(new, old)

    assert len(asked) <= 1_000


@pytest.mark.parametrize(("told", "least"), [("kept", KEPT_MIN), ("free", FREE_MIN)])
def test_newer_values_in_longer_sentences(told: str, least: int) -> None:
    """How many of forty are seen, told either way round; none of forty near misses is."""
    pairs = json.loads(PAIRS.read_text("utf-8"))[told]
    seen = [new for old, new in pairs["newer"] if find_conflict(new, old)]
    back = [new for old, new in pairs["newer"] if find_conflict(old, new)]
    wrong = [
        new for old, new in pairs["near"] if find_conflict(new, old) or find_conflict(old, new)
    ]
    print(f"{told}: {len(seen)} and {len(back)} of {len(pairs['newer'])}")  # noqa: T201
    assert len(pairs["newer"]) == len(pairs["near"]) == 40
    assert len(seen) >= least
    assert len(back) >= least
    assert wrong == []


async def test_a_newer_value_is_never_stored_in_silence(settings: Settings, era: Era) -> None:
    """Without a language model both memories stay, and the receipt names the contradiction."""
    async with agent(settings, era) as client:
        old = await add(client, OSLO)
        told = await call(client, "add_memory", content="The server now has 8 GB RAM.")
        near = await call(client, "add_memory", content="The staging server has 8 GB RAM.")

    assert f"It contradicts 'The server has 4 GB RAM.' in {old}" in str(told)
    assert "contradicts" not in str(near)
