"""Looking for the rare words first must not lose what only a common word finds."""

from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.storage.sqlite.index import TextQuery, plan_text_queries

WORDS = ("alder", "birch", "cedar", "dogwood", "elm")
TEXTS = st.lists(st.sets(st.sampled_from(WORDS)), max_size=30)
ASKED = st.lists(st.sampled_from((*WORDS, "fir")), min_size=1, unique=True)


def holds(words: set[str], query: TextQuery) -> bool:
    """Whether a text of these words is one that the query finds."""
    also = not query.also or not words.isdisjoint(query.also)
    without = query.without is not None and holds(words, query.without)
    return not words.isdisjoint(query.some) and also and not without


def found(texts: list[set[str]], queries: list[TextQuery]) -> list[set[int]]:
    """Which texts each of the queries finds, by number."""
    return [{n for n, words in enumerate(texts) if holds(words, query)} for query in queries]


def counted(texts: list[set[str]], terms: list[str]) -> dict[str, int]:
    """In how many texts each term is."""
    return {term: sum(term in words for words in texts) for term in terms}


@given(texts=TEXTS, terms=ASKED, matches_max=st.integers(0, 40))
def test_every_text_with_a_term_is_found_by_exactly_one_query(
    texts: list[set[str]], terms: list[str], matches_max: int
) -> None:
    """Nothing is lost to the bound, and nothing takes two of the places there are."""
    answers = found(texts, plan_text_queries(counted(texts, terms), matches_max))

    wanted = {number for number, words in enumerate(texts) if words.intersection(terms)}
    assert set().union(*answers) == wanted
    assert sum(map(len, answers)) == len(wanted)


@given(texts=TEXTS, terms=ASKED, matches_max=st.integers(0, 40))
def test_texts_with_the_rarest_term_are_found_first_while_it_is_rare(
    texts: list[set[str]], terms: list[str], matches_max: int
) -> None:
    """A needle must be scored, however common the other words of the question are."""
    counts = {term: n for term, n in counted(texts, terms).items() if n}
    rare = min(counts.items(), key=lambda item: (item[1], item[0]), default=None)
    if rare is None or rare[1] > matches_max:
        return

    first, *_ = found(texts, plan_text_queries(counts, matches_max))

    assert first >= {number for number, words in enumerate(texts) if rare[0] in words}
    assert len(first) <= matches_max
