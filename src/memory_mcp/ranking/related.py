"""Words that mean much the same as those of a question: where to look for what shares none of them.

The near ones are looked for beside the question's own words. Only where both leave room among the
candidates are the far ones, of all that the table knows: in a store of ten thousand hardly ever.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import accumulate
from typing import Final

from memory_mcp.domain.limits import QUERY_TERMS_MAX
from memory_mcp.domain.search import CorpusStatistics
from memory_mcp.ranking.evidence import weigh_terms
from memory_mcp.ranking.query import Query, select_rarest
from memory_mcp.words.table import WordTable

_NEAR_TERMS_MAX: Final = 12
"""Words near to each word of the question."""
_MATCHES_MAX: Final = 300
"""Related words are searched until together they are in so many records."""
_FAR_TERMS_MAX: Final = 400
"""Words near to the whole question that a store is asked for."""


def list_near(question: Query, table: WordTable) -> frozenset[str]:
    """The words that mean much the same as one of the question."""
    return frozenset(
        other for term in question.terms for other in table.find_nearest(term.text, _NEAR_TERMS_MAX)
    )


def select_near(question: Query, near: frozenset[str], corpus: CorpusStatistics) -> list[str]:
    """Those of the near words that are looked for beside the question's own, rarest first."""
    others = near.difference(question.every)
    return select_rarest({t: corpus.counts.get(t, 0) for t in others}, _MATCHES_MAX)


def rank_far(question: Query, corpus: CorpusStatistics, table: WordTable) -> list[str]:
    """The words of the table nearest to one that is asked for, the nearest first.

    The more telling a word of the question, the nearer are those beside it.
    """
    weighted = weigh_terms(question, corpus, table)
    lists = [
        _walk_far(term.text, weight, table)
        for term, weight in zip(weighted.terms, weighted.weights, strict=True)
        if term.kind == "word"
    ]
    own = frozenset(question.every)
    found: dict[str, None] = {}
    for _, other in merge(*lists):  # no further than needed: there are hundreds for each word
        if len(found) == _FAR_TERMS_MAX:
            break
        if other not in own:
            found[other] = None
    return [*found]


def _walk_far(text: str, weight: float, table: WordTable) -> Iterator[tuple[float, str]]:
    """The words nearest to one of the question, in order, behind what is less the nearer it is."""
    for other, cosine in table.compare_all(text, _FAR_TERMS_MAX):
        yield -weight * cosine, other


def select_far(ranked: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The first of the ranked words that occur."""
    held = [other for other in ranked if counts.get(other)][:QUERY_TERMS_MAX]
    before = accumulate((counts[other] for other in held), initial=0)
    return [other for other, records in zip(held, before, strict=False) if records < _MATCHES_MAX]
