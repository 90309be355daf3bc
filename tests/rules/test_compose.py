"""Composing two statements: the newest value wins, and no sentence falls under the table."""

import pytest
from depth import depth
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.normalise import fold
from memory_mcp.text.merge import compose
from memory_mcp.text.sentences import split_lines

SUBJECTS = ("API", "billing service", "print server", "mail gateway", "build farm")
"""Each has one port and one owner, told in sentences of its own."""

facts = st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(("port", "owner")), st.integers(1, 5))


def told(facts: dict[tuple[str, str], int]) -> list[str]:
    """Facts as sentences."""
    return [
        f"The {subject} listens on port {8000 + value}."
        if what == "port"
        else f"The {subject} has {value + 1} owners."
        for (subject, what), value in facts.items()
    ]


stories = st.lists(facts, min_size=1, max_size=8).map(
    lambda found: {(subject, what): value for subject, what, value in found}
)
texts = st.text(
    alphabet=st.sampled_from("aAbc é8.!?:;,\n \"'()-…"), min_size=1, max_size=60
).filter(str.strip)
prose = st.lists(
    st.sampled_from(
        (
            "We use Redis", "We use Redis for caching.", "We no longer use Redis.", "It is fast!",
            "The port is 8080.", "The port is 8081.", "See e.g. the wiki", "Why?", "Dr. No knows.",
            "- a list", "anna lives in Rome", "Anna lives in Oslo.", "Note:", "ok", "The port is",
        )
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip
joints = st.sampled_from((" ", "\n", "  ", ". ", "\n\n"))


@given(stories, stories)
def test_what_the_new_text_does_not_touch_stays(
    before: dict[tuple[str, str], int], after: dict[tuple[str, str], int]
) -> None:
    """A merge that drops a sentence nobody contradicted loses a memory for good."""
    composed = compose(" ".join(told(before)), " ".join(told(after)))

    assert composed is not None
    assert sorted(split_lines(composed)) == sorted(told(before | after))


@given(prose, joints, prose, joints)
@settings(max_examples=depth(66, 400))
def test_composing_again_changes_nothing(
    before: list[str], one: str, after: list[str], other: str
) -> None:
    """A write that is tried twice must not grow the memory."""
    old, new = one.join(before), other.join(after)
    composed = compose(old, new)

    assert composed is None or compose(composed, new) == composed
    assert compose(old, old) == old


@given(texts, texts)
@settings(max_examples=depth(50, 300))
def test_odd_texts_are_composed_without_harm(old: str, new: str) -> None:
    """Whatever people write, nothing is made up and each new sentence is there."""
    composed = compose(old, new)

    if composed is None:  # both stay
        return
    assert compose(composed, new) == composed
    known = {fold(said) for text in (old, new) for said in split_lines(text)}
    assert {fold(said) for said in split_lines(composed)} <= known


@pytest.mark.parametrize(
    ("old", "new", "composed"),
    [
        (
            "The API listens on port 8080. It is written in Go.",
            "The API listens on port 9090.",
            "The API listens on port 9090. It is written in Go.",
        ),
        ("We use Redis for caching", "We use Redis", "We use Redis for caching"),
        ("We use Redis", "We use Redis for caching", "We use Redis for caching"),
        ("We use Redis for caching", "We no longer use Redis", "We no longer use Redis"),
        ("Max is 3 years old", "Max is 4 years old", "Max is 4 years old"),
        (
            "Backups run every night",
            "Backups run every night. They are kept for 30 days.",
            "Backups run every night. They are kept for 30 days.",
        ),
        (
            "The staging port is 8080.",
            "The production port is 8081.",
            "The staging port is 8080. The production port is 8081.",
        ),
        (
            "Anna lives in Berlin. She has two cats.",
            "She got a new job. Anna lives in Munich.",
            "She got a new job. Anna lives in Munich. She has two cats.",
        ),
    ],
)
def test_a_composed_text_reads_as_written_at_once(old: str, new: str, composed: str) -> None:
    """What changed stands where it stood, so that an "it" behind it still means the same."""
    assert compose(old, new) == composed


@pytest.mark.parametrize(
    "layout",
    [
        "The limit is 3.\n```\nfor a in b:\n    a()\n```",
        "The limit is 3.\n\n    curl :80\n    curl :80",
        "The limit is 3.\n| a | b |\n|---|---|\n| 1 | 2 |",
        "The limit is 3.\n- tabs\n- port 80",
        "The limit is 3.\n1. build\n2. test",
        "The limit is 3.\nname = x",
    ],
)
def test_what_is_laid_out_is_not_composed(layout: str) -> None:
    """Lines of code, rows and items are no sentences: sorting them into prose would break them."""
    assert compose(layout, "The limit is 5.") is None
    assert compose("The limit is 5. Ask Tom.", layout) is None
    assert compose(layout, f"{layout}\n- more") == f"{layout}\n- more"
    assert compose(f"Before.\n{layout}", layout) == f"Before.\n{layout}"


def test_what_nobody_touched_is_kept_as_it_was_written() -> None:
    """The text is the caller's: gaps, blank lines and what is said twice stay."""
    old = "The API listens on  port 80.\n\nIt is old!  Ask Tom.  Ask Tom.\n"

    assert compose(old, "The API listens on port 81.") == old.replace(
        "The API listens on  port 80.", "The API listens on port 81."
    )
    assert compose("The port is 80.", "The port  is 81.\n\nWhy?  Why?") == (
        "The port  is 81.\n\nWhy?  Why?"
    )
    assert compose("The port is 80. Ask Tom.", "The port is 81. No. No.") is None


def test_what_would_be_too_long_is_not_composed() -> None:
    """Rather two memories than one that lost its end."""
    old = " ".join(f"Host number {n} stands in hall {n}." for n in range(200))
    new = " ".join(f"Shelf number {n} is blue." for n in range(200))

    assert max(len(old), len(new)) < CONTENT_CHARS_MAX < len(old) + len(new)
    assert compose(old, new) is None
