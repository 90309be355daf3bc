"""Measure the evidence for each candidate: words, words of its neighbours, meaning, names, days.

Every figure is absolute, in 0-1, and means the same for every query. Words weigh by how rare they
are in the store (idf). Neighbours are the records written just before and after in the same
session: the topic of a turn often stands in the turn before.

Sums run over the terms or tokens of the query in their order, so that no figure depends on the
order of the candidates.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Final, NamedTuple

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Neighbour,
    SearchFields,
    SemanticScores,
)
from memory_mcp.frozen import frozen
from memory_mcp.ranking.analysis import DECISION_TERMS, QUESTION_TERM
from memory_mcp.ranking.query import Query, QueryTerm

_PART_FACTOR: Final = 0.6
"""How much a part of an identifier counts beside the whole one."""
_STOP_WEIGHT: Final = 0.25
"""What a token of the query weighs that belongs to no term, as a share of the middle one."""
_GUESSED_FACTOR: Final = 0.5
"""How far a term counts as known of which the store has only an alternative."""
_RECORDS_MIN: Final = 100
"""A smaller store weighs words as one of this size: in five memories no word is common yet."""
_RARE_SHARE: Final = 0.01
_RARE_CHARS_MIN: Final = 3

_SATURATION: Final = 0.8
_LENGTH_SHARE: Final = 0.4
"""BM25's k1 and b."""
_NAMES: Final = 0.6
_DATES: Final = 0.5
_EXTRA: Final = 0.6
"""How much a term counts outside the body."""
_ALTERNATIVE_FACTOR: Final = 0.7
"""How much an alternative counts for a term that the store does not hold."""
_NEXT_WORDS: Final = 0.6
_AFTER_NEXT_WORDS: Final = 0.4
"""How much a word of the next neighbour counts, and of the one after it."""
_NEIGHBOUR_MEANING: Final = 0.8
"""How much a neighbour's meaning counts."""
_LIKELY_MEANING: Final = (0.14, 0.58)
"""Late interaction estimated from the pooled cosine, for embedders without tokens: a straight line
through what MiniLM says of both (r = .73 over the sets of benchmarks/)."""
_LEANING_WORDS: Final = 60
"""The longer a record is than this, the less its neighbours count."""
_PLACE_PAIRS: Final = tuple(
    (one, other, other - one)
    for one in (-2, -1, 0, 1, 2)
    for other in (-1, 0, 1, 2)
    if 0 < other - one <= 2  # noqa: PLR2004
)
"""Places of a row that are neighbours of each other, and how far apart."""

Neighbours = Mapping[RecordId, Mapping[RecordId, int]]
"""For each record its neighbours with their distance."""


@frozen
class WeightedQuery:
    """A query's terms with their weights.

    `whole` is the sum of the weights, without days and phases that no memory is of; `known` the sum
    of what the store holds. `rare` are the places of names, numbers and identifiers that hardly any
    record holds.
    """

    terms: tuple[QueryTerm, ...]
    weights: tuple[float, ...]
    whole: float
    known: float
    rare: frozenset[int]


def weigh_terms(query: Query, corpus: CorpusStatistics) -> WeightedQuery:
    """The query's terms, weighed by the store."""
    phases = [t.spans[0] for t in query.terms if t.kind == "phase" and corpus.counts.get(t.text, 0)]
    weights: list[float] = []
    whole = known = 0.0
    rare: set[int] = set()
    for place, term in enumerate(query.terms):
        own = corpus.counts.get(term.text, 0)
        count = own or max((corpus.counts.get(each, 0) for each in term.alternatives), default=0)
        records = max(corpus.records, count, _RECORDS_MIN)
        weight = math.log1p((records - count + 0.5) / (count + 0.5))
        weight *= _PART_FACTOR if term.kind == "part" else 1.0
        # where memories of phase 2 are known as such, "phase" and "2" add nothing
        weight *= 0.0 if _is_within(term, phases) else 1.0
        weights.append(weight)
        whole += weight if count or term.kind not in ("date", "phase") else 0.0
        known += weight * (1.0 if own else _GUESSED_FACTOR) if count else 0.0
        rare_max = max(1.0, _RARE_SHARE * records)
        if term.exact and len(term.text) >= _RARE_CHARS_MIN and 0 < own <= rare_max:
            rare.add(place)
    return WeightedQuery(query.terms, tuple(weights), whole or 1.0, known, frozenset(rare))


def _is_within(term: QueryTerm, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a word stands nowhere in the query but within these spans."""
    return (
        term.kind != "phase"
        and bool(term.spans)
        and all(any(a <= start and end <= b for a, b in spans) for start, end in term.spans)
    )


def weigh_tokens(weighted: WeightedQuery, spans: Sequence[tuple[int, int]]) -> list[float]:
    """The weight of each token of the query: its term's, or little if it belongs to none."""
    by_place = [
        (start, end, weight)
        for term, weight in zip(weighted.terms, weighted.weights, strict=True)
        for start, end in term.spans
    ]
    middle = sorted(weighted.weights)[len(weighted.weights) // 2] if weighted.weights else 1.0
    return [
        max(
            (weight for first, last, weight in by_place if first < end and start < last),
            default=_STOP_WEIGHT * middle,
        )
        for start, end in spans
    ]


class Evidence(NamedTuple):
    """What speaks for one candidate; all in 0-1.

    `words` is BM25 as a share of the best possible, `window` the same with the neighbours' words,
    `coverage` the weight of the terms that occur. `exact` is the weight of the names, numbers, days
    and identifiers that occur, and `company` the weight of what occurs beside the weightiest term,
    both as shares of what the store knows; `known` is how much of the query the store knows.
    `rare`: it has a name, number or identifier that hardly any other record has. `encoded`: its
    meaning is known. `phase`: it was written in a phase asked for. `decided`: it is a decision (of
    that phase) where one is asked for.
    """

    words: float = 0.0
    window: float = 0.0
    coverage: float = 0.0
    exact: float = 0.0
    company: float = 0.0
    known: float = 0.0
    rare: bool = False
    names: float = 0.0
    asks: float = 0.0
    meaning: float = 0.0
    meaning_window: float = 0.0
    pooled: float = 0.0
    encoded: bool = False
    phase: float = 0.0
    decided: float = 0.0


def gather_evidence(
    query: Query,
    corpus: CorpusStatistics,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: SemanticScores | None,
) -> dict[RecordId, Evidence]:
    """The evidence for each candidate and for each neighbour."""
    weighted = weigh_terms(query, corpus)
    fields = {each.id: each.fields for each in neighbours}
    fields |= {candidate.id: candidate.fields for candidate in candidates}
    beside = _find_neighbours(neighbours)
    lengths = {record_id: each.body.count(" ") + 1 for record_id, each in fields.items()}
    leans = {id_: _LEANING_WORDS / n for id_, n in lengths.items() if n > _LEANING_WORDS}
    frequencies = _score_terms(weighted, fields, lengths)
    windows = _score_windows(weighted, frequencies, beside, leans)
    meanings = _score_meanings(weighted, nearness, beside, leans) if nearness else {}
    speakers = {name for names in {f.names for f in fields.values()} for name in names.split()}
    asked_names = {term.text for term in weighted.terms if term.text in speakers}
    phases = {term.text for term in weighted.terms if term.kind == "phase"}
    has_phase = any(corpus.counts.get(term) for term in phases)
    known = weighted.known / weighted.whole
    by_terms: dict[tuple[int, ...], tuple[float, float, float, bool]] = {(): (0.0, 0.0, 0.0, False)}
    evidence: dict[RecordId, Evidence] = {}
    for record_id, each in fields.items():
        own = frequencies.get(record_id, ())
        hits = tuple([place for place, value in enumerate(own) if value])
        if hits not in by_terms:
            by_terms[hits] = _weigh_hits(hits, weighted)
        coverage, exact, company, rare = by_terms[hits]
        words = sum(map(mul, weighted.weights, own)) / weighted.whole if hits else 0.0
        of_phase = bool(phases) and not phases.isdisjoint(each.extra.split())
        decided = query.asks_decision and (of_phase or not has_phase)
        evidence[record_id] = Evidence(
            words, windows.get(record_id, words), coverage, exact, company, known, rare,
            float(bool(asked_names) and not asked_names.isdisjoint(each.names.split())),
            float(QUESTION_TERM in each.extra),
            *meanings.get(record_id, (0.0, 0.0, 0.0, False)),
            float(of_phase), float(decided and DECISION_TERMS in each.extra),
        )  # fmt: skip
    return evidence


def _weigh_hits(hits: Sequence[int], weighted: WeightedQuery) -> tuple[float, float, float, bool]:
    """Coverage, exact, company and rare of a record that has these terms."""
    weights = [weighted.weights[place] for place in hits]
    covered = sum(weights)
    exact = sum([weighted.weights[place] for place in hits if weighted.terms[place].exact])
    known = weighted.known or 1.0
    return (
        covered / weighted.whole,
        exact / known,
        (covered - max(weights)) / known,
        not weighted.rare.isdisjoint(hits),
    )


def _find_neighbours(neighbours: Iterable[Neighbour]) -> Neighbours:
    """Who is a neighbour of a record has that record as a neighbour."""
    rows: dict[RecordId, dict[int, RecordId]] = {}
    for neighbour in neighbours:
        rows.setdefault(neighbour.of, {0: neighbour.of})[neighbour.steps] = neighbour.id
    beside: dict[RecordId, dict[RecordId, int]] = {
        record_id: {} for row in rows.values() for record_id in row.values()
    }
    for row in rows.values():
        for place, other_place, steps in _PLACE_PAIRS:
            one, other = row.get(place), row.get(other_place)
            if one is not None and other is not None:
                beside[one][other] = beside[other][one] = steps
    return beside


def _score_terms(
    weighted: WeightedQuery,
    fields: Mapping[RecordId, SearchFields],
    lengths: Mapping[RecordId, int],
) -> dict[RecordId, list[float]]:
    """BM25's saturated frequency of each term, for the records that have any."""
    mean = sum(lengths.values()) / max(1, len(lengths))
    spellings = [
        (place, text, f" {text} ", _ALTERNATIVE_FACTOR if number else 1.0)
        for place, term in enumerate(weighted.terms)
        for number, text in enumerate((term.text, *term.alternatives))
    ]
    scores: dict[RecordId, list[float]] = {}
    for record_id, each in fields.items():
        counts = _count_terms(spellings, each)
        if counts:
            length = lengths[record_id]
            room = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / mean)
            own = [0.0] * len(weighted.terms)
            for place, times in counts.items():
                own[place] = times / (times + room)
            scores[record_id] = own
    return scores


def _count_terms(
    spellings: Sequence[tuple[int, str, str, float]], fields: SearchFields
) -> dict[int, float]:
    """How often each term occurs, by its place. Most do not: one look at all fields tells."""
    every = f" {fields.body}  {fields.names}  {fields.dates}  {fields.extra} "
    counts: dict[int, float] = {}
    for place, text, padded, factor in spellings:
        if padded in every:
            times = f" {fields.body} ".count(padded) * factor
            if fields.names and text in fields.names:
                times += _NAMES * factor * f" {fields.names} ".count(padded)
            if fields.dates and text in fields.dates:
                times += _DATES * factor * f" {fields.dates} ".count(padded)
            if fields.extra and text in fields.extra:
                times += _EXTRA * factor * f" {fields.extra} ".count(padded)
            counts[place] = counts.get(place, 0.0) + times
    return counts


def _score_windows(
    weighted: WeightedQuery,
    frequencies: Mapping[RecordId, list[float]],
    beside: Neighbours,
    leans: Mapping[RecordId, float],
) -> dict[RecordId, float]:
    """The words of each record that has neighbours with words, together with theirs."""
    scaled = {
        record_id: (
            (),
            [_NEXT_WORDS * value for value in own],
            [_AFTER_NEXT_WORDS * value for value in own],
        )
        for record_id, own in frequencies.items()
    }
    nothing = [0.0] * len(weighted.terms)
    scores: dict[RecordId, float] = {}
    for record_id, near in beside.items():
        lists = [scaled[other][steps] for other, steps in near.items() if other in scaled]
        if lists:
            lists = _scale(lists, leans.get(record_id))
            most = map(max, frequencies.get(record_id, nothing), *lists)
            scores[record_id] = sum(map(mul, weighted.weights, most)) / weighted.whole
    return scores


def _scale(lists: Sequence[Sequence[float]], factor: float | None) -> Sequence[Sequence[float]]:
    if factor is None:
        return lists
    return [[factor * value for value in each] for each in lists]


def _score_meanings(
    weighted: WeightedQuery,
    nearness: SemanticScores,
    beside: Neighbours,
    leans: Mapping[RecordId, float],
) -> dict[RecordId, tuple[float, float, float, bool]]:
    """Own meaning, meaning with the neighbours', pooled, and that it is known.

    The mean over the query's tokens is one of squares: what is very near counts more.
    """
    weights = weigh_tokens(weighted, nearness.spans)
    whole = sum(weights) or 1.0
    shares = [weight / whole for weight in weights]
    squares = {
        record_id: [s * v * v if v > 0 else 0.0 for s, v in zip(shares, best, strict=True)]
        for record_id, best in nearness.best.items()
    }
    factor = _NEIGHBOUR_MEANING * _NEIGHBOUR_MEANING
    scaled = {id_: [factor * v for v in own] for id_, own in squares.items() if id_ in beside}
    meanings: dict[RecordId, tuple[float, float, float, bool]] = {}
    for record_id, pooled in nearness.pooled.items():
        own = squares.get(record_id)
        if own is None:
            likely = max(0.0, _LIKELY_MEANING[0] + _LIKELY_MEANING[1] * pooled)
            meanings[record_id] = (likely, likely, pooled, True)
            continue
        lists = [scaled[other] for other in beside.get(record_id, ()) if other in scaled]
        lists = _scale(lists, leans.get(record_id))
        mean = sum(own) ** 0.5
        window = sum(map(max, own, *lists)) ** 0.5 if lists else mean
        meanings[record_id] = (mean, window, pooled, True)
    return meanings
