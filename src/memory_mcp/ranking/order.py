"""Put candidates in order with scores in 0-1, and choose an answer without near duplicates.

How much of the query the words of its best candidate explain decides what counts: where they do,
words and the best match of each part; where they do not, the meaning of the whole. That share is
taken from the store itself, so one rule holds for talk and for statements. The constants are those
of a trial on six kinds of sets (`benchmarks/TRIALS.md`); close neighbours of them give the same.

The logistic of that strength is the agreement. In a long question that tells a story, little of it
is shared even by the memory that answers, so the score is the agreement or what the memory holds of
what a few telling words could ask, whichever is more. Words in a row put a memory first; of the
score they are the less a part the more of the question they leave out. Scores compare between
queries and between stores, and 0.5 means more likely relevant than not. No score is above one
before it.

Ties fall to importance, then to the newer, then to the id: the order never depends on the order of
the candidates.
"""

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from operator import mul
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import (
    PARTS,
    Candidate,
    CorpusStatistics,
    Neighbour,
    RankedCandidate,
    RerankWeights,
    SearchFields,
    SemanticScores,
)
from memory_mcp.ranking.evidence import Evidence, gather_evidence
from memory_mcp.ranking.query import Query
from memory_mcp.words.table import WordTable

_EXPLAINED: Final = 1.5
"""The share that the words explain is so many times the best `words`: BM25 of a record that holds
every term once is about two thirds of what the terms could earn."""


_WORDS: Final = 0.3
"""What words count where they explain the query; the rest is the best match of each part."""
_WHOLE: Final = 0.7
"""What the meaning of the whole counts where they do not; the rest is the same."""

_LEVEL: Final = 0.6
"""The strength of a record that is as likely meant as not: what nothing answers stays below."""
_STEP: Final = 0.25
"""The strength that multiplies the odds by e: wide, since one question in five phrasings differs by
twice as much."""

_HELD: Final = 0.86
"""The share held of what is asked from which on a memory is as likely meant as not."""
_HELD_FACTOR: Final = 7.0
"""What all of what is asked adds to the logit."""

_NAMES: Final = 0.1
"""What it counts to be of the speaker asked for."""
_ASKS: Final = 0.03
"""What it costs to ask instead of telling."""
_ASKED: Final = 0.15
"""What it counts that an episode asks the same: the question is no evidence for its answer."""
_LABEL: Final = 0.3
"""What it costs to sum up in a word or three: a short text is near to each of its words."""
_PHASE: Final = 0.1
"""What it counts to be of the phase that is asked for by its number."""
_DECIDED: Final = 0.1
"""What it counts to be a decision where one is asked for."""
_RUN: Final = 0.3
"""What it counts to hold the words of the query in a row."""

_RUN_PIECE: Final = PARTS.index("run")
_SURE: Final = 0.8
"""The logit from which on a memory is surely meant."""
_BEYOND: Final = 0.3
"""What counts beyond: how sure is nothing that two queries could be compared by."""

_PREFERENCES: Final = 3
"""The last pieces of a logit: those of `_score_preferences`."""
_RANK_OFFSET: Final = 60
_RECENCY_DAYS: Final = 30
"""The half-life of what recency counts."""
_LOGIT_MAX: Final = 60.0
_AGREEMENT_MIN: Final = 0.0001
"""An agreement is rounded to so much."""
_IMPORTANCE_SPAN: Final = limits.IMPORTANCE_MAX - limits.IMPORTANCE_DEFAULT
_SHOWN_MIN: Final = 0.12
"""What scores less is not shown: hardly anything speaks for it."""
_BEHIND_MAX: Final = 0.4
"""Nor is what scores less than this share of the best: a list ends where what is meant ends. No set
of ours loses an answer among ten by it; at half of the best some do."""
_OUTSTANDING: Final = 0.6
"""By so much of a logit is above the lowest quarter what stands out from it."""
_LIKELY: Final = 0.5
"""What is more likely meant than not need not stand out: there may be many of it."""
_USUAL_OF_MIN: Final = 8
"""Of fewer memories nobody can tell what is usual."""
_LIKENESS_SHARE: Final = 0.3
"""How much likeness to a chosen record counts against a score."""
_DUPLICATE_LIKENESS: Final = 0.9
"""From this likeness on, two memories say the same: the weaker is dropped."""

Rankable = Candidate | Neighbour


def fuse_ranks(*lists: Sequence[RecordId]) -> list[RecordId]:
    """Reciprocal rank fusion: every id once, best first; of equals the one of the earlier list."""
    last = _RANK_OFFSET + max(map(len, lists), default=0)
    whole = math.lcm(
        *range(_RANK_OFFSET + 1, last + 1)
    )  # rounded sums of equals would not be equal
    scores: dict[RecordId, int] = {}
    for ids in lists:
        for rank, record_id in enumerate(dict.fromkeys(ids), start=1):
            scores[record_id] = scores.get(record_id, 0) + whole // (_RANK_OFFSET + rank)
    return sorted(scores, key=lambda record_id: -scores[record_id])


def rank_candidates(
    query: Query,
    corpus: CorpusStatistics,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: SemanticScores | None,
    *,
    table: WordTable,
    weights: RerankWeights,
    now: datetime,
    every_one: bool = False,
) -> list[RankedCandidate]:
    """Candidates and their neighbours, the best first; with `every_one` the weak ones, too."""
    evidence = gather_evidence(query, corpus, candidates, neighbours, nearness, table=table)
    wanted = {each.id: each for each in neighbours if each.wanted}
    every: list[Rankable] = [*(wanted | {c.id: c for c in candidates}).values()]
    explained = min(1.0, _EXPLAINED * max((each.own for each in evidence.values()), default=0.0))
    every.sort(key=lambda one: one.id)  # of equals the one with the lower id
    scored: list[tuple[float, Rankable, Sequence[float]]] = []
    weigh = cache(partial(_weigh_parts, weights.similarity / _STEP, explained))
    level = -weights.similarity * _LEVEL / _STEP
    for one in every:
        found = evidence[one.id]
        pieces = map(mul, weigh(found.known), found[:10])  # up to `run`
        logit = (*pieces, level, *_score_preferences(one, weights, now))
        scored.append((round(sum(logit), 9), one, logit))
    scored.sort(key=lambda each: (each[0], each[1].importance, each[1].created_at), reverse=True)
    ranked: list[RankedCandidate] = []
    highest = math.inf
    for total, one, logit in scored[: limits.CANDIDATES_MAX]:
        found = evidence[one.id]
        highest = min(highest, _weigh_likely(found, logit, total, weights))
        pieces = logit if highest == total else (*logit, highest - total)
        agreement = _logistic(total)
        score = agreement if highest == total else _logistic(highest)
        ranked.append(RankedCandidate(one.id, score, pieces, agreement, found.met))
    return ranked if every_one else drop_weak(ranked)


def drop_weak(ranked: Sequence[RankedCandidate]) -> list[RankedCandidate]:
    """Those that are worth showing: for which something speaks, and not far behind the best."""
    least = max([_SHOWN_MIN, *(_BEHIND_MAX * place.agreement for place in ranked[:1])])
    return [place for place in ranked if place.agreement >= least]


def keep_outstanding(
    ranked: Sequence[RankedCandidate], every: Sequence[RankedCandidate]
) -> list[RankedCandidate]:
    """The ranked ones that stand out from what was compared: what any would get says nothing.

    A model that knows a language little finds all of its texts near to each other.
    """
    if len(every) < _USUAL_OF_MIN:
        return list(ranked)
    usual = sorted(_logit(place.agreement) for place in every)[len(every) // 4]
    return [
        place
        for place in ranked
        if place.score >= _LIKELY or _logit(place.agreement) >= usual + _OUTSTANDING
    ]


def _weigh_parts(factor: float, explained: float, known: float) -> tuple[float, ...]:
    """What each piece of evidence counts, up to `run` in the order of `PARTS`."""
    whole = (1 - explained) * _WHOLE * known
    # what the table does not know is left to the words
    words = explained * _WORDS + (1 - explained) * _WHOLE * (1 - known)
    tokens = 1 - words - whole
    strengths = words, tokens, whole, _NAMES, -_ASKS, _ASKED, -_LABEL, _PHASE, _DECIDED, _RUN
    return tuple(factor * strength for strength in strengths)


def _weigh_likely(
    each: Evidence, logit: Sequence[float], total: float, weights: RerankWeights
) -> float:
    """The logit of the score, which compares queries, of that of the order, which puts one's in it.

    It is by the agreement, with a row of words as far as that is the question, or by what is held
    of what is asked.
    """
    likely = total - logit[_RUN_PIECE] * (1 - each.run)
    if each.held:
        costs = _ASKS * each.asks + _LABEL * each.label  # to ask, to sum up: as always
        held = _HELD_FACTOR * (each.held - _HELD) - costs / _STEP
        likely = max(likely, weights.similarity * held + sum(logit[-_PREFERENCES:]))
    return min(likely, _SURE + _BEYOND * (likely - _SURE))


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


def _logistic(logit: float) -> float:
    bounded = max(-_LOGIT_MAX, min(_LOGIT_MAX, logit))
    return round(1 / (1 + math.exp(-bounded)), 4)


def _logit(agreement: float) -> float:
    bounded = min(max(agreement, _AGREEMENT_MIN), 1 - _AGREEMENT_MIN)
    return math.log(bounded / (1 - bounded))


def select_diverse(
    ranked: Sequence[RankedCandidate],
    fields: Mapping[RecordId, SearchFields],
    limit: int,
    pooled: Mapping[RecordId, bytes],
    *,
    last: Collection[RecordId] = (),
) -> list[RankedCandidate]:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    At most `limit` of the ranked, each unlike those before it, still in the order of scores. Those
    of `last` have the places that the others leave.
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
        best = max(
            left,
            key=lambda each: (
                each.id not in last,
                each.agreement - _LIKENESS_SHARE * likeness[each.id],
            ),
        )
        chosen.append(best)
        left = [each for each in left if each.id != best.id]
        for each in left:
            likeness[each.id] = max(likeness[each.id], measure_likeness(each.id, best.id))
        left = [each for each in left if likeness[each.id] < _DUPLICATE_LIKENESS]
    return sorted(chosen, key=lambda each: (each.id in last, -each.agreement))


def _compute_cosine(one: Sequence[int], other: Sequence[int]) -> float:
    if len(one) != len(other):
        return 0.0
    lengths = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / lengths if lengths else 0.0
