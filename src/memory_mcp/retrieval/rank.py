"""From candidates to an order and a score in 0-1.

The score is the share of the query's weight (idf) that the memory covers, tempered by BM25 within
this answer: a memory with all the telling words stands near 1, one with only a common word of
them near 0. Ties fall to importance, then to the newer, then to the id, so that the order never
depends on how the index was filled.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.views import Candidate, Match

__all__ = ["rank"]

_COVERAGE_SHARE: Final = 0.75
"""The rest of the score follows BM25, which knows how often and in how short a text."""


def rank(matches: Iterable[Match]) -> list[tuple[RecordId, float]]:
    """Ids with scores, best first, over the answers of all indexes asked."""
    scored = [pair for match in matches for pair in _scores(match)]
    scored.sort(key=lambda pair: pair[1].id)
    scored.sort(key=lambda pair: pair[1].created_at, reverse=True)
    scored.sort(key=lambda pair: (pair[0], pair[1].importance), reverse=True)
    return [(candidate.id, score) for score, candidate in scored]


def _scores(match: Match) -> Iterator[tuple[float, Candidate]]:
    whole = sum(match.weights.values()) or 1.0
    best = max((c.relevance for c in match.candidates), default=0.0) or 1.0
    for candidate in match.candidates:
        coverage = sum(match.weights[position] for position in candidate.matched) / whole
        tempered = _COVERAGE_SHARE + (1 - _COVERAGE_SHARE) * candidate.relevance / best
        yield round(min(1.0, coverage * tempered), 4), candidate
