"""Put candidates in order with scores in 0-1, and choose an answer without near duplicates.

The order follows a weighted sum of the evidence: a candidate's words and its meaning, both with
those of its neighbours and relative to the list, and a little for the speaker asked for. How much
words count against meaning depends on the query: names, numbers and days are found by words only,
and so are words that occur together; a single common word says little.

The score is the logistic of that sum and of the absolute strength of the evidence, so that scores
of different queries compare: 0.5 means more likely relevant than not. Ties fall to importance, then
to the newer, then to the id: the order never depends on the order of the candidates.

The figures level, behind, brief and found come from `benchmarks/fit.py`, which prints what it ran
on and what floors lose. The mixtures and the floors (low ones of those it prints) come from the
trials in `benchmarks/TRIALS.md`.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from operator import mul
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Neighbour,
    RankedCandidate,
    RerankWeights,
    SearchFields,
    SemanticScores,
)
from memory_mcp.frozen import frozen
from memory_mcp.ranking.evidence import Evidence, gather_evidence
from memory_mcp.ranking.query import Query


@frozen
class EvidenceWeights:
    """What each piece of evidence counts for the order.

    Words and meaning count by their place in the list: 1 for its best, 0 for its worst. Words count
    `window` always, `exact` times the share of names, numbers and days that some memory holds, and
    `company` times the share of words found together in one.
    """

    window: float
    exact: float
    company: float
    meaning_window: float
    pooled: float
    names: float
    asks: float


@frozen
class LogitWeights:
    """From evidence to a logit: what the best of the list has of each counts.

    The best of a thousand is near to any query, the best of three is not: `few` is by how much less
    evidence is enough in a small store.
    """

    bias: float
    coverage: float
    company: float
    known: float
    few: float
    meaning: float
    pooled: float


@frozen
class RankingModel:
    """How one kind of search is ranked: by words alone, or by meaning too.

    `level` is the logit that the first hit is relevant; with each step behind it in strength the
    logit sinks by `behind`. A hit that has (nearly) all that the query asks for gains `brief` over
    the root of the number of words asked for: of two words both are meant, of twelve hardly all.
    `found` is the logit that anything was found at all: below `floor` the answer is empty.
    """

    mixture: EvidenceWeights
    level: LogitWeights
    behind: float
    brief: float
    found: LogitWeights
    floor: float


LEXICAL: Final = RankingModel(
    EvidenceWeights(
        window=1.0, exact=0.0, company=0.0, meaning_window=0.0, pooled=0.0,
        names=0.15, asks=-0.1,
    ),
    level=LogitWeights(
        bias=-4.41, coverage=0.0, company=3.92, known=2.15, few=0.43, meaning=0.0, pooled=0.0
    ),
    behind=8.70,
    brief=4.54,
    found=LogitWeights(
        bias=-5.09, coverage=3.11, company=5.41, known=3.7, few=0.83, meaning=0.0, pooled=0.0
    ),
    floor=-2.34,
)  # fmt: skip

SEMANTIC: Final = RankingModel(
    EvidenceWeights(
        window=0.1, exact=0.5, company=0.5, meaning_window=0.4, pooled=0.2,
        names=0.1, asks=-0.05,
    ),
    level=LogitWeights(
        bias=-5.81, coverage=0.0, company=0.73, known=0.21, few=0.36, meaning=6.19, pooled=1.51
    ),
    behind=12.30,
    brief=3.70,
    found=LogitWeights(
        bias=-8.42, coverage=1.96, company=0.9, known=1.33, few=0.51, meaning=7.24, pooled=9.57
    ),
    floor=-2.1,
)  # fmt: skip

_RANK_OFFSET: Final = 60
_RECENCY_DAYS: Final = 30
"""The half-life of what recency counts."""
_LOGIT_MAX: Final = 60.0
_IMPORTANCE_SPAN: Final = limits.IMPORTANCE_MAX - limits.IMPORTANCE_DEFAULT
_PARTS: Final = (
    "words", "meaning", "pooled", "names", "asks", "phase", "decided",
    "complete", "level", "importance",
    "recency", "pinned",
)  # fmt: skip
"""What a logit is the sum of. `level` is negative: how much it takes in this search."""
_FEW_RECORDS: Final = 3
_MANY_RECORDS: Final = 500
"""Between these the size of a store matters: the figures were fitted on such stores."""
_NEIGHBOUR_SCORE_MIN: Final = 0.02
"""A record that only its neighbours speak for is left out below this score."""
SPREAD_MIN: Final = 0.25
"""The least distance between best and worst of a list that counts as the whole way."""
_PHASE: Final = 0.3
"""What it counts to be of the phase that is asked for by its number."""
_DECIDED: Final = 0.3
"""What it counts to be a decision where one is asked for."""
_COVERAGE_MIN: Final = 0.6
"""With less coverage a record does not have nearly all that is asked for."""
_SHORT_WORDS_MAX: Final = 2
"""So few words are taken at their word: what holds them is shown."""
_LIKENESS_SHARE: Final = 0.3
"""How much likeness to a chosen record counts against a score."""
_DUPLICATE_LIKENESS: Final = 0.9
"""From this likeness on, two memories say the same: the weaker is dropped."""

Rankable = Candidate | Neighbour


def fuse_ranks(*lists: Sequence[RecordId]) -> list[RecordId]:
    """Reciprocal rank fusion: every id once, best first; of equals the one of the earlier list."""
    scores: dict[RecordId, Fraction] = {}  # rounded sums of equals would not be equal
    for ids in lists:
        for rank, record_id in enumerate(dict.fromkeys(ids), start=1):
            scores[record_id] = scores.get(record_id, 0) + Fraction(1, _RANK_OFFSET + rank)
    return sorted(scores, key=lambda record_id: -scores[record_id])


def rank_candidates(
    query: Query,
    corpus: CorpusStatistics,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: SemanticScores | None,
    *,
    weights: RerankWeights,
    now: datetime,
) -> list[RankedCandidate]:
    """The best of candidates and their neighbours, in order; none if nothing fits the query."""
    evidence = gather_evidence(query, corpus, candidates, neighbours, nearness)
    wanted = {each.id: each for each in neighbours if each.wanted}
    every: list[Rankable] = [*(wanted | {c.id: c for c in candidates}).values()]
    few = measure_smallness(corpus.records)
    # a record that is not encoded (yet) is judged by its words, as if there were no model
    encoded = [one for one in every if evidence[one.id].encoded]
    others = [one for one in every if not evidence[one.id].encoded]
    scored: list[tuple[float, Rankable, Sequence[float]]] = []
    for group, model in ((encoded, SEMANTIC), (others, LEXICAL)):
        of_group = [evidence[one.id] for one in group]
        for one, pieces in zip(group, _score_group(query, of_group, model, few), strict=False):
            logit = (
                *(weights.similarity * piece for piece in pieces),
                *_score_preferences(one, weights, now),
            )
            scored.append((round(sum(logit), 9), one, logit))
    scored.sort(key=lambda entry: entry[1].id)
    scored.sort(key=lambda entry: entry[1].created_at, reverse=True)
    scored.sort(key=lambda entry: (entry[0], entry[1].importance), reverse=True)
    own = {each.id for each in candidates} | {one.id for one in every if evidence[one.id].words}
    # a small store needs less evidence, but a neighbour has none
    gained = few * (SEMANTIC if nearness else LEXICAL).level.few
    return [
        RankedCandidate(one.id, _logistic(total), _name_parts(logit))
        for total, one, logit in scored[: limits.CANDIDATES_MAX]
        if one.id in own or _logistic(total - gained) >= _NEIGHBOUR_SCORE_MIN
    ]


def _score_group(
    query: Query, group: Sequence[Evidence], model: RankingModel, few: float
) -> list[tuple[float, ...]]:
    """The parts of each logit; nothing if even the best of the group is hardly relevant."""
    if not group:
        return []
    best = Evidence(*map(max, zip(*group, strict=True)))
    words = len({term.spans[0] for term in query.terms if term.spans})
    # one or two words that occur are enough, and so is a rare name, number or identifier
    is_literal = best.rare or (best.words and words <= _SHORT_WORDS_MAX)
    if _compute_logit(best, few, model.found) < model.floor and not is_literal:
        return []
    parts = _weigh_evidence(group, best, model.mixture)
    strengths = [sum(pieces) for pieces in parts]
    level = _compute_logit(best, few, model.level) - model.behind * max(strengths)
    gain = 0.0 if query.only_stop_words else model.brief / math.sqrt(max(1, words))
    return [
        (*(model.behind * piece for piece in pieces), gain * _complete(each.coverage), level)
        for each, pieces in zip(group, parts, strict=True)
    ]


def _complete(coverage: float) -> float:
    """How nearly a record has all that was asked for."""
    return max(0.0, (coverage - _COVERAGE_MIN) / (1 - _COVERAGE_MIN))


def measure_smallness(records: int) -> float:
    """How small a store is: 0 for one of many records, with each halving 1 more."""
    return math.log2(_MANY_RECORDS / max(_FEW_RECORDS, min(records, _MANY_RECORDS)))


def _compute_logit(best: Evidence, few: float, by: LogitWeights) -> float:
    return (
        by.bias
        + by.coverage * best.coverage
        + by.company * best.company
        + by.known * best.known
        + by.few * few
        + by.meaning * best.meaning_window
        + by.pooled * best.pooled
    )


def _weigh_evidence(
    group: Sequence[Evidence], best: Evidence, mixture: EvidenceWeights
) -> list[tuple[float, ...]]:
    """For each candidate, what each piece of evidence adds to its strength in the list."""
    share = mixture.window + mixture.exact * best.exact + mixture.company * best.company
    words = _normalise([each.window for each in group])
    meaning = _normalise([each.meaning_window for each in group])
    pooled = _normalise([each.pooled for each in group])
    return [
        (
            share * in_words,
            mixture.meaning_window * in_meaning,
            mixture.pooled * as_a_whole,
            mixture.names * each.names,
            mixture.asks * each.asks,
            _PHASE * each.phase,
            _DECIDED * each.decided,
        )
        for each, in_words, in_meaning, as_a_whole in zip(
            group, words, meaning, pooled, strict=True
        )
    ]


def _normalise(values: Sequence[float]) -> list[float]:
    """Each value's place between the lowest (0) and the highest (1) of the list.

    Values that lie close together stay so: five that fit alike are not spread from best to worst.
    """
    high = max(values)
    width = max(high - min(values), SPREAD_MIN)
    return [1 - (high - value) / width if high > 0 else 0.0 for value in values]


def _score_preferences(
    one: Rankable, weights: RerankWeights, now: datetime
) -> tuple[float, float, float]:
    """What the user's weights add: little by default, so that only near ties are broken by it."""
    above = (one.importance - limits.IMPORTANCE_DEFAULT) / _IMPORTANCE_SPAN
    return (
        weights.importance * above,
        weights.recency * _compute_recency(one.created_at, now) if weights.recency else 0.0,
        weights.pinned * one.pinned,
    )


def _compute_recency(created_at: str, now: datetime) -> float:
    """1 for a record of this moment, half of it a month ago."""
    try:
        age = now - datetime.fromisoformat(created_at)
    except ValueError:
        return 0.0
    return 2 ** (-max(0.0, age.total_seconds() / 86_400) / _RECENCY_DAYS)


def _name_parts(pieces: Sequence[float]) -> dict[str, float]:
    return {name: round(v, 4) for name, v in zip(_PARTS, pieces, strict=True) if round(v, 4)}


def _logistic(logit: float) -> float:
    bounded = max(-_LOGIT_MAX, min(_LOGIT_MAX, logit))
    return round(1 / (1 + math.exp(-bounded)), 4)


def select_diverse(
    ranked: Sequence[RankedCandidate],
    fields: Mapping[RecordId, SearchFields],
    limit: int,
    pooled: Mapping[RecordId, bytes],
) -> list[RankedCandidate]:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    At most `limit` of the ranked, each unlike those before it, still in the order of scores.
    `pooled` are their pooled vectors (int8), if they have any: likeness is that of words, or of
    meaning where that is more.
    """
    words = {each.id: frozenset(fields[each.id].body.split()) for each in ranked}
    vectors = {each.id: array("b", pooled[each.id]) for each in ranked if each.id in pooled}

    def measure_likeness(one: RecordId, other: RecordId) -> float:
        both, either = words[one] & words[other], words[one] | words[other]
        overlap = len(both) / len(either) if either else 1.0
        if one in vectors and other in vectors:
            return max(overlap, _compute_cosine(vectors[one], vectors[other]))
        return overlap

    left: list[RankedCandidate] = list(ranked)
    likeness = dict.fromkeys(words, 0.0)
    chosen: list[RankedCandidate] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda each: each.score - _LIKENESS_SHARE * likeness[each.id])
        chosen.append(best)
        left = [each for each in left if each.id != best.id]
        for each in left:
            likeness[each.id] = max(likeness[each.id], measure_likeness(each.id, best.id))
        left = [each for each in left if likeness[each.id] < _DUPLICATE_LIKENESS]
    return sorted(chosen, key=lambda each: -each.score)


def _compute_cosine(one: Sequence[int], other: Sequence[int]) -> float:
    if len(one) != len(other):
        return 0.0
    lengths = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / lengths if lengths else 0.0
