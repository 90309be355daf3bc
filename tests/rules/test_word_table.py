"""The table of related words: how near two texts are without a model."""

from memory_mcp.words.table import compare_telling, load_word_table, select_telling
from memory_mcp.words.terms import extract_terms


def _compare(one: str, other: str) -> float:
    table = load_word_table()
    return compare_telling(*(select_telling(extract_terms(text), table) for text in (one, other)))


def test_texts_are_as_near_as_what_they_say() -> None:
    """The same words meet each other, related ones nearly, strangers hardly."""
    same = _compare("Buyers pay by bank transfer.", "By bank transfer buyers pay.")
    related = _compare("Money is stored as a float.", "Amounts are kept in whole cents.")
    far = _compare("Money is stored as a float.", "The sound studio is in the cellar.")

    assert same == 1.0
    assert far < 0.2 < related < same


def test_each_text_is_asked_what_it_says_of_the_other() -> None:
    """A page that holds one sentence among many others is not as near as the sentence alone."""
    one, page = "Buyers pay by transfer.", "Buyers pay by transfer. Vera waters plants in Kiel."

    assert _compare(one, page) == _compare(page, one) < 1.0


def test_what_the_table_does_not_know_meets_itself_alone() -> None:
    """A name is near to no other name, and a text without a word to nothing."""
    assert _compare("qzxv-17", "qzxv-17") == 1.0
    assert _compare("qzxvw", "wvxzq") == 0.0
    assert _compare("", "") == _compare("", "qzxv") == 0.0


def test_a_stem_is_found_wherever_it_stands() -> None:
    """The first, the last and each between them; what is not there has no place."""
    table = load_word_table()

    assert [table.places[stem] for stem in table.stems] == [*range(len(table.stems))]
    assert [table.places[stem] for stem in ("", "qzxvw", "\U0010ffff")] == [-1, -1, -1]


def test_to_load_the_table_looks_no_stem_up() -> None:
    """A short command asks for thirty of nineteen thousand."""
    table = load_word_table.__wrapped__()
    table.find_signs("car")
    table.get_rarity("qzxvw")

    assert len(table.places) == 1
    assert len(table.signs) == 1
