"""What a text says of the user: hundreds of labelled statements, and how often we are right."""

import profile_statements
import profile_statements_fresh
import profile_statements_later
import profile_statements_more
import profile_statements_unseen
import pytest

from memory_mcp.domain.profile import FIELDS, LABELS, ProfileFact
from memory_mcp.text.profile.match import find_facts

SETS = {
    "tuned on": (profile_statements.SAID, profile_statements.HARMLESS),
    "tuned on, second round": (profile_statements_more.SAID, profile_statements_more.HARMLESS),
    "tuned on, third round": (profile_statements_later.SAID, profile_statements_later.HARMLESS),
    "unseen": (profile_statements_unseen.SAID, profile_statements_unseen.HARMLESS),
    "unseen by the latest rules": (
        profile_statements_fresh.SAID,
        profile_statements_fresh.HARMLESS,
    ),
}
LEAST = {"unseen": (0.97, 0.90), "unseen by the latest rules": (0.90, 0.95)}
"""What was not tuned on is held to what it showed when it was first judged."""


def facts(text: str) -> list[tuple[str, str, bool]]:
    return [(f.field, f.value, f.holds) for f in find_facts(text)]


def labels(text: str) -> set[str]:
    """As the sets are labelled; what a move takes away unnamed is told apart below."""
    return {f"{'' if f.holds else '!'}{f.field}={f.value}" for f in find_facts(text) if f.value}


@pytest.mark.parametrize("name", SETS)
def test_what_is_said_of_the_user_is_recognised(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A false fact would open every session: precision comes first."""
    said, harmless = SETS[name]
    right = wrong = missed = 0
    for text, label in {**said, **dict.fromkeys(harmless, "")}.items():
        wanted = {one.strip() for one in label.split(";") if one.strip()}
        found = labels(text)
        right += len(wanted & found)
        wrong += len(found - wanted)
        missed += len(wanted - found)
    precision, recall = right / (right + wrong), right / (right + missed)
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{name}: {len(said)} statements, {len(harmless)} harmless; "
            f"precision {precision:.3f}, recall {recall:.3f}"
        )
    least_precise, least_complete = LEAST.get(name, (1.0, 0.88))

    assert precision >= least_precise
    assert recall >= least_complete


def test_the_sets_are_large_and_apart() -> None:
    """Figures on a handful, or on sentences known from tuning, would say nothing."""
    every = [text for said, harmless in SETS.values() for text in (*said, *harmless)]
    unseen, harmless = SETS["unseen"]

    assert len(set(every)) == len(every)
    assert len(unseen) >= 50
    assert len(harmless) >= 70
    given = [
        one for said, _ in SETS.values() for label in said.values() for one in label.split(";")
    ]
    assert {one.strip(" !").split("=")[0] for one in given if one} == set(FIELDS)


def test_a_move_takes_away_what_it_leaves_open() -> None:
    """A country or time zone of the old place would be wrong, in every session."""
    assert facts("I moved to Hamburg.") == [
        ("city", "Hamburg", True), ("country", "", False), ("time_zone", "", False),
    ]  # fmt: skip
    assert facts("I moved to Spain.") == [
        ("country", "Spain", True), ("city", "", False), ("time_zone", "", False),
    ]  # fmt: skip
    assert ("city", "Rome", True) not in facts("My city is Rome. I moved to Spain.")


def test_the_last_word_of_a_text_counts() -> None:
    """People correct themselves in the same breath."""
    assert facts("My name is Bob. Call me Rob.") == [("name", "Rob", True)]
    assert facts("I live in Ulm. I no longer live in Ulm.") == [("city", "Ulm", False)]
    assert facts("I speak Dutch. I speak Thai.") == [
        ("speaks", "Dutch", True), ("speaks", "Thai", True),
    ]  # fmt: skip


def test_typography_does_not_matter() -> None:
    """Phones write curly quotes, and lists have bullets."""
    assert facts("I\u2019m Ada.") == [("name", "Ada", True)]
    assert facts("- The user\u2019s name is \u201cAda\u201d") == [("name", "Ada", True)]
    assert facts("* I\u2019ve moved to Oslo!")[0] == ("city", "Oslo", True)


@pytest.mark.parametrize(
    "text",
    [
        "```\nMy name is Ada.\n```",
        "Bob: Hi.\nBob: I live in Paris.",
        "Sample text for the form: whatever. I live in Paris.",
        "He wrote \u00abI live in Paris\u00bb to me.",
        "I live in Paris, she said.",
        "My name is Ada?",
        "",
        "I",
        "my name is",
        "\u2024\ufffc",
    ],
)
def test_what_others_say_is_not_about_the_user(text: str) -> None:
    """Code, turns of others, samples and quotes speak for somebody else."""
    assert facts(text) == []


def test_long_and_strange_texts_are_read_quickly_enough_to_end() -> None:
    """Patterns that try everything would hang a write; 8,000 characters are allowed."""
    for begun, on in (
        ("", "I "), ("", "I live in "), ("my name is A", "a"), ("", "A-"), ("I speak ", "German, "),
        ("my goal is to ", "x "), ("ich bin ", "nach "), ("", '"'), ("", "'"), ("I am ", "A'"),
        ("I work as ", "very "), ("", "I, "), ("My interests are ", "a b, "), ("", "I. "),
        ("", "I, " * 130 + "."), ("", "I am " + "A'" * 190 + ".\n"),
        ("", "I live in " + "A " * 190 + "."),
    ):  # fmt: skip
        assert len(find_facts((begun + on * 8_000)[:8_000])) < 50


def test_every_field_is_told_by_its_label() -> None:
    """What rests in a record is read by people."""
    assert ProfileFact("city", "Berlin").line == "City: Berlin"
    assert tuple(LABELS) == FIELDS
