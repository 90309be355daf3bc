"""Where a sentence ends: the one place that the gate, merges, episodes and the profile ask."""

import pytest
from depth import depth
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp.text.sentences import drop_code, split_lines, split_sentences, strip_mark


def test_sentences_end_where_a_reader_ends_them() -> None:
    """A version or an abbreviation is no end."""
    text = "We use Python 3.11. Dr. Hall agreed, e.g. on tabs! 1. No\n- Why? 次。はい。"

    assert split_sentences(text) == [
        "We use Python 3.11.", "Dr. Hall agreed, e.g. on tabs!", "No", "Why?", "次。", "はい。",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sentence",
    [
        "Die Frist ist am 3. März, nicht am 15. Mai.",
        "Die Frist ist am 3. März.",
        "Frei ist vom 3. bis 9. August.",
        "Der 2. Server steht im 3. Stock.",
        "24. Dezember ist Heiligabend.",
        "J. I. Smith and Dr. Hall met Prof. Weiß, vs. Mr. No.",
        "Use tabs, z.B. in Go, z. B. in C, d. h. immer, e.g. Python.",
        "See No. 5, Fig. 2, approx. 30 of them, and Dec. 24.",
        "Tabs, spaces, etc. are all the same to the U.S. office of Acme Inc. in Ohio.",
        "It waits until 5 p.m. on Fridays.",
        "The value 3.14 of v1.2.3 is in config.prod.yaml at https://a.example/b.html today.",
        'He asked "why?" and left (at once!) for lunch.',
        "Rows are claimed with SELECT … FOR UPDATE.",
        "Well... we use tabs.",
        "1. Use tabs.",
        "- 2. Use tabs.",
    ],
)
def test_what_looks_like_an_end_is_none(sentence: str) -> None:
    """Half a date is no fact, and half a name is another one."""
    assert split_lines(sentence) == [sentence]
    assert split_lines(f"Before. {sentence}\nBehind") == ["Before.", sentence, "Behind"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The API is on port 81. It is fast.", ["The API is on port 81.", "It is fast."]),
        ("I am 34. Rome is my home.", ["I am 34.", "Rome is my home."]),
        ("i am 34. i live in rome", ["i am 34.", "i live in rome"]),
        ("Plan B. We agreed.", ["Plan B.", "We agreed."]),
        ("Redis? No. We use Postgres.", ["Redis?", "No.", "We use Postgres."]),
        ("thanks. i moved to rome", ["thanks.", "i moved to rome"]),
        ("It took 5 ms. We kept it.", ["It took 5 ms.", "We kept it."]),
        ("**Use tabs.** Never spaces.", ["**Use tabs.**", "Never spaces."]),
        ("Tabs, spaces, etc. Nobody cares.", ["Tabs, spaces, etc.", "Nobody cares."]),
        ("So it ends... We left.", ["So it ends...", "We left."]),
        ("a\r\nb\n\n c ", ["a", "b", "c"]),
        ("はい！「次。」行く", ["はい！", "「次。」", "行く"]),  # noqa: RUF001
        (" \n", []),
    ],
)
def test_what_ends_a_sentence(text: str, said: list[str]) -> None:
    """Two facts in one sentence are one fact too few."""
    assert split_lines(text) == said


def test_a_list_is_read_without_its_marks_and_composed_with_them() -> None:
    """A mark is no word of the sentence; a day is no mark."""
    text = "1. Use tabs\n2) Sign commits\n* - Never push\n# Ports\n3.  März: Abgabe"

    assert split_lines(text) == text.splitlines()
    assert split_sentences(text) == [
        "Use tabs", "Sign commits", "Never push", "Ports", "3.  März: Abgabe",
    ]  # fmt: skip
    assert strip_mark("-5 degrees") == "-5 degrees"


def test_code_is_nobody_s_sentence() -> None:
    """A fence that is never closed was cut off, and is code all the same."""
    assert split_sentences(drop_code("Use x.\n```\ny = 1. Z\n```\nAnd z.\n```\nw")) == [
        "Use x.", "And z.",
    ]  # fmt: skip


pieces = st.sampled_from(
    "a A 8 1. 12. . ... … ! ? ) \" ' * Dr. e.g. z. B. No. etc. am März mai 。 」 - \n".split(" ")  # noqa: SIM905
)
texts = st.lists(st.tuples(pieces, st.sampled_from(("", " ", "  ")))).map(
    lambda found: "".join(map("".join, found))
)


@given(texts)
@settings(max_examples=depth(83, 500))
def test_each_sentence_is_a_sentence(text: str) -> None:
    """Composed texts are cut again and must fall into what they were composed of."""
    said = split_lines(text)

    assert split_lines("\n".join(said)) == said
    assert [split_lines(one) for one in said] == [[one] for one in said]
    assert "".join("".join(said).split()) == "".join(text.split())
