"""The table of related words: how near two texts are without a model."""

from memory_mcp.words.table import (
    Shared,
    compare_signs,
    compare_telling,
    load_word_table,
    pack_meaning,
    select_telling,
)
from memory_mcp.words.terms import extract_terms


def _compare(one: str, other: str) -> Shared:
    table = load_word_table()
    texts = (extract_terms(one), extract_terms(other))
    ours, theirs = (
        select_telling(frozenset(each), pack_meaning(each, table), table) for each in texts
    )
    return compare_telling(ours, theirs, table)


def _share(one: str, other: str) -> float:
    return _compare(one, other).ours


def test_texts_are_as_near_as_what_they_say() -> None:
    """The same words meet each other, related ones nearly, strangers hardly."""
    same = _share("Buyers pay by bank transfer.", "By bank transfer buyers pay.")
    related = _share("Money is stored as a float.", "Amounts are kept in whole cents.")
    far = _share("Money is stored as a float.", "The sound studio is in the cellar.")

    assert same == 1.0
    assert far < 0.2 < related < same


def test_each_text_is_asked_what_it_says_of_the_other() -> None:
    """A page that holds one sentence among many others says all of it, and more."""
    one, page = "Buyers pay by transfer.", "Buyers pay by transfer. Vera waters plants in Kiel."
    ours, theirs, _ = _compare(one, page)

    assert (theirs, ours) == _compare(page, one)[:2]
    assert ours == 1.0 > theirs


def test_terms_count_apart_by_how_near_their_nearest_is() -> None:
    """What is said in other words tells something else than the same word."""
    same, related, far = (
        _compare("car", other).by_nearness for other in ("car", "vehicle", "qzxv")
    )

    assert same == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert related[0] == 0.0
    assert sum(related) == 1.0
    assert sum(far) == 0.0


def test_what_the_table_does_not_know_meets_itself_alone() -> None:
    """A name is near to no other name, and a text without a word to nothing."""
    assert _share("qzxv-17", "qzxv-17") == 1.0
    assert _share("qzxvw", "wvxzq") == 0.0
    assert _share("", "") == _share("", "qzxv") == 0.0


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


def test_the_nearest_of_all_words_are_found_in_order() -> None:
    """One by one and by the place in the table where two are as near."""
    table = load_word_table()
    own = table.find_signs("payment")
    assert own is not None

    found = table.compare_all("payment", 400)

    others = [place for place, stem in enumerate(table.stems) if stem != "payment"]
    others.sort(key=lambda place: (own ^ table.signs[place]).bit_count())
    assert found == [
        (table.stems[place], compare_signs(own, table.signs[place])) for place in others[:400]
    ]
