"""Which terms may be meant by one that the store does not hold."""

import pytest

from memory_mcp.ranking.query import count_edits, suggest_terms
from memory_mcp.words.table import load_word_table
from memory_mcp.words.terms import fold, stem


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("recieve", "received"),
        ("kubernates", "kubernetes"),
        ("postgers", "postgres"),
        ("authentification", "authentication"),
        ("memroy", "memory"),
        ("dashbord", "dashboards"),
        ("config", "configure"),
        ("timeout", "usertimeout"),
    ],
)
def test_a_slip_finds_the_word(asked: str, held: str) -> None:
    """Whoever types in a hurry should not be told that nothing is known."""
    similar = [("unrelated", 3), (stem(held), 2), ("other", 9)]

    assert stem(held) in suggest_terms(stem(asked), similar, load_word_table())


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("cat", "car"),
        ("2023", "2024"),
        ("port8080", "port8081"),
        ("house", "mouse"),
        ("東京", "京都"),
    ],
)
def test_short_words_numbers_and_pairs_are_taken_at_their_word(asked: str, held: str) -> None:
    """A wild guess answers a question that nobody asked."""
    assert suggest_terms(asked, [(held, 5)], load_word_table()) == ()


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("Röntgen", "Röntgengerät"),
        ("Patient", "Patientendaten"),
        ("Gerät", "Röntgengerät"),
        ("Farbe", "Farbschema"),
        ("Einrückung", "eingerückt"),
        ("Löschung", "gelöscht"),
        ("Verschlüsselung", "unverschlüsselt"),
    ],
)
def test_a_german_word_finds_its_compounds_and_forms(asked: str, held: str) -> None:
    """Who writes German asks for one part of a word, and for the noun of a verb."""
    similar = [(stem(fold(held)), 1)]

    assert suggest_terms(stem(fold(asked)), similar, load_word_table())


@pytest.mark.parametrize(
    ("asked", "held"), [("lease", "release"), ("action", "transaction"), ("port", "portfolio")]
)
def test_a_common_word_is_no_compound_of_its_letters(asked: str, held: str) -> None:
    """English writes compounds apart: a release has nothing to do with a lease."""
    assert suggest_terms(stem(asked), [(stem(held), 5)], load_word_table()) == ()


def test_the_nearest_come_first_and_few() -> None:
    """Every alternative dilutes the question."""
    similar = [("dashboards", 1), ("dashboard", 4), ("dashbord", 9), ("dashing", 5), ("dash", 7)]

    found = suggest_terms("dashbourd", similar, load_word_table())

    assert found[:2] == ("dashbord", "dashboard")
    assert len(found) <= 3
    assert "dash" not in found


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("abc", "abc", 0),
        ("abc", "abd", 1),
        ("abc", "acb", 1),
        ("abc", "ab", 1),
        ("abcd", "dcba", 3),
    ],
)
def test_errors_are_counted_as_people_make_them(one: str, other: str, errors: int) -> None:
    """Two letters swapped are one slip."""
    assert min(count_edits(one, other, 2), 3) == errors
