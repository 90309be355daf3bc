"""How much each term of a question tells, by how few records of the store hold it (idf)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.search import Corpus
from memory_mcp.retrieval.question import Question, Term

__all__ = ["Weighed", "token_weights", "weigh"]

_PART_FACTOR: Final = 0.6
"""How much the part of an identifier counts that is asked for whole as well."""
_OF_PHASE_FACTOR: Final = 0.0
"""How much "phase" and "2" count themselves, where memories of phase 2 are known as such: a title
that says so tells no more than what was written in it."""
_STOP_WEIGHT: Final = 0.25
"""What a token of the question weighs that belongs to no term, as a share of the middle one."""
_GUESSED_FACTOR: Final = 0.5
"""How far a term counts as known for which the store has only another that may be meant."""
_RECORDS_MIN: Final = 100
"""What is in all of five memories is no common word yet: in a small store every word is rare."""
_RARE_SHARE: Final = 0.01
_RARE_CHARS_MIN: Final = 3


@dataclass(frozen=True)
class Weighed:
    """A question's terms with what they weigh.

    `whole` is what all weigh together, but for days and phases that no memory is of, and `known`
    what those weigh that the store holds. `rare` are the places of names, numbers and identifiers
    that hardly any record holds.
    """

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    whole: float
    known: float
    rare: frozenset[int]


def weigh(question: Question, corpus: Corpus) -> Weighed:
    """The question's terms, weighed by the store."""
    phases = [term.spans[0] for term in question.terms if _is_known_phase(term, corpus)]
    weights: list[float] = []
    whole = known = 0.0
    rare: set[int] = set()
    for at, term in enumerate(question.terms):
        own = corpus.counts.get(term.text, 0)
        count = own or max((corpus.counts.get(each, 0) for each in term.instead), default=0)
        records = max(corpus.records, count, _RECORDS_MIN)
        weight = math.log1p((records - count + 0.5) / (count + 0.5))
        weight *= _PART_FACTOR if term.kind == "part" else 1.0
        weight *= _OF_PHASE_FACTOR if _only_in(term, phases) else 1.0
        weights.append(weight)
        whole += weight if count or term.kind not in ("date", "phase") else 0.0
        known += weight * (1.0 if own else _GUESSED_FACTOR) if count else 0.0
        if term.exact and len(term.text) >= _RARE_CHARS_MIN:
            rare |= {at} if 0 < own <= max(1.0, _RARE_SHARE * records) else set()
    return Weighed(question.terms, tuple(weights), whole or 1.0, known, frozenset(rare))


def _is_known_phase(term: Term, corpus: Corpus) -> bool:
    return term.kind == "phase" and bool(corpus.counts.get(term.text, 0))


def _only_in(term: Term, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a word stands nowhere in the question but within these."""
    return (
        term.kind != "phase"
        and bool(term.spans)
        and all(any(a <= start and end <= b for a, b in spans) for start, end in term.spans)
    )


def token_weights(weighed: Weighed, spans: Sequence[tuple[int, int]]) -> list[float]:
    """What each token of the question weighs: its word's idf, little if it is of no term."""
    by_place = [
        (start, end, weight)
        for term, weight in zip(weighed.terms, weighed.weights, strict=True)
        for start, end in term.spans
    ]
    middle = sorted(weighed.weights)[len(weighed.weights) // 2] if weighed.weights else 1.0
    return [
        max(
            (weight for first, last, weight in by_place if first < end and start < last),
            default=_STOP_WEIGHT * middle,
        )
        for start, end in spans
    ]
