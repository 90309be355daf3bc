"""Put candidates in order with scores in 0-1, and say what each score is made of.

The order follows a weighted sum of the evidence: a candidate's words and its meaning, both with
those of its neighbours and relative to the list, and a little for the speaker asked for. How much
words count against meaning depends on the question: names, numbers and days are found by words
only, and so are words that occur together; a single common word says little.

The score is the logistic of that sum and of the absolute strength of the evidence, so that scores
of different questions compare: 0.5 means more likely relevant than not. Ties fall to importance,
then to the newer, then to the id: the order never depends on the order of the candidates.

The figures: level, behind, brief and found come from `benchmarks/fit.py`, which prints what it ran
on and what floors lose. The mixtures and the floors (low ones of those it prints) come from the
trials in `benchmarks/TRIALS.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Candidate, Corpus, Nearness, Neighbour, Ranked, RerankWeights
from memory_mcp.ranking.evidence import Evidence, gather_evidence
from memory_mcp.ranking.question import Question


@dataclass(frozen=True)
class EvidenceWeights:
    """What each piece of evidence counts for the order.

    The words, and the meaning, count as they stand in the list: 1 for its best, 0 for its worst.
    How much words count follows the question: `window` always, `exact` times the share of names,
    numbers and days that some memory holds, `company` times that of words found together in one.
    """

    window: float
    exact: float
    company: float
    meaning_window: float
    pooled: float
    names: float
    asks: float


@dataclass(frozen=True)
class LogitWeights:
    """From evidence to a logit: what the best of the list has of each counts.

    The best of a thousand is near to any question, the best of three is not: `few` is by how much
    less evidence is enough in a small store.
    """

    bias: float
    coverage: float
    company: float
    known: float
    few: float
    meaning: float
    pooled: float


@dataclass(frozen=True)
class RankingModel:
    """How one kind of search is ranked: by words alone, or by meaning too.

    `level` is the logit that the first hit is relevant; with each step behind it in strength the
    logit sinks by `behind`. A hit that has (nearly) all that the question asks for gains `brief`
    over the root of the number of words asked for: of two words both are meant, of twelve hardly
    all. `found` is the logit that anything was found at all: below `floor` the answer is empty.
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


def fuse_ranks(*lists: Sequence[RecordId]) -> list[RecordId]:
    """Every id once, best first; of equals the one of the earlier list."""
    earned: dict[RecordId, Fraction] = {}  # rounded sums of equals would not be equal
    for ids in lists:
        for rank, record_id in enumerate(dict.fromkeys(ids), start=1):
            earned[record_id] = earned.get(record_id, 0) + Fraction(1, _RANK_OFFSET + rank)
    return sorted(earned, key=lambda record_id: -earned[record_id])


One = Candidate | Neighbour

_RECENCY_DAYS: Final = 30
"""Half of what recency counts is gone after so many days."""
_LOGIT_MAX: Final = 60.0
_IMPORTANCE_SPAN: Final = limits.IMPORTANCE_MAX - limits.IMPORTANCE_USUAL
_PARTS: Final = (
    "words", "meaning", "pooled", "names", "asks", "phase", "decided",
    "complete", "level", "importance",
    "recency", "pinned",
)  # fmt: skip
"""What a logit is the sum of. `level` is negative: it says how much it takes in this search."""
_FEW_RECORDS: Final = 3
_MANY_RECORDS: Final = 500
"""Between these the size of a store matters: the figures were fitted on such stores."""
_BESIDE_SCORE_MIN: Final = 0.02
"""What is found only by what stands beside it is left out below this score."""
WIDTH_MIN: Final = 0.25
"""How far apart the best and the worst of a list must be at least to be told apart wholly."""
_PHASE: Final = 0.3
"""How much it counts to be of the phase that is asked for by its number."""
_DECIDED: Final = 0.3
"""How much it counts to be a decision where one is asked for, or its reason."""
_MOST: Final = 0.6
"""Who has less than this of what is asked for has not nearly all of it."""
_SHORT_WORDS_MAX: Final = 2
"""So few words are taken at their word: what holds them is shown."""


def rank(
    question: Question,
    corpus: Corpus,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: Nearness | None,
    *,
    weights: RerankWeights,
    now: datetime,
) -> list[Ranked]:
    """The best of candidates and their neighbours, in order; none if nothing fits the question."""
    found = gather_evidence(question, corpus, candidates, neighbours, nearness)
    wanted = {each.id: each for each in neighbours if each.wanted}
    every: list[One] = [*(wanted | {c.id: c for c in candidates}).values()]
    few = fewness(corpus.records)
    judged = [
        place
        for group, model in (
            ([one for one in every if found[one.id].encoded], SEMANTIC),
            # what is not encoded (yet) is judged by its words, as if there were no model
            ([one for one in every if not found[one.id].encoded], LEXICAL),
        )
        if group
        for place in _judged(question, group, [found[one.id] for one in group], model, few)
    ]
    placed: list[tuple[float, One, Sequence[float]]] = []
    for one, pieces in judged:
        similar = (weights.similarity * piece for piece in pieces)
        whole = (*similar, *_preferences(one, weights, now))
        placed.append((round(sum(whole), 9), one, whole))
    placed.sort(key=lambda entry: entry[1].id)
    placed.sort(key=lambda entry: entry[1].created_at, reverse=True)
    placed.sort(key=lambda entry: (entry[0], entry[1].importance), reverse=True)
    own = {each.id for each in candidates} | {one.id for one in every if found[one.id].words}
    gained = few * (SEMANTIC if nearness else LEXICAL).level.few  # by evidence: here is none
    return [
        Ranked(one.id, _logistic(total), _shown(pieces))
        for total, one, pieces in placed[: limits.CANDIDATES_MAX]
        if one.id in own or _logistic(total - gained) >= _BESIDE_SCORE_MIN
    ]


def _judged(
    question: Question,
    group: Sequence[One],
    among: Sequence[Evidence],
    model: RankingModel,
    few: float,
) -> list[tuple[One, Sequence[float]]]:
    """What adds up to the logit of each that it is relevant; nothing if even the best hardly is."""
    best = Evidence(*map(max, zip(*among, strict=True)))
    if _nothing(question, best, _logit(best, few, model.found) - model.floor):
        return []
    parts = _parts(among, best, model.mixture)
    strengths = [sum(pieces) for pieces in parts]
    level = _logit(best, few, model.level) - model.behind * max(strengths)
    brief = 0.0 if question.only_stop_words else model.brief
    gain = brief / math.sqrt(max(1, _words_in(question)))
    return [
        (one, (*(model.behind * piece for piece in pieces), gain * _complete(each.coverage), level))
        for one, each, pieces in zip(group, among, parts, strict=True)
    ]


def _nothing(question: Question, best: Evidence, above: float) -> bool:
    """Whether even the best of what was found is hardly relevant: not `above` the floor.

    One or two words that occur are never too little, nor is a rare name, number or identifier.
    """
    literal = best.rare or (best.words and _words_in(question) <= _SHORT_WORDS_MAX)
    return above < 0 and not literal


def _words_in(question: Question) -> int:
    return len({term.spans[0] for term in question.terms if term.spans})


def _complete(coverage: float) -> float:
    """How far something has all that was asked for: nothing of it, if it has less than most."""
    return max(0.0, (coverage - _MOST) / (1 - _MOST))


def fewness(records: int) -> float:
    """How small a store is: 0 for one of many records, with each halving 1 more."""
    return math.log2(_MANY_RECORDS / max(_FEW_RECORDS, min(records, _MANY_RECORDS)))


def _logit(best: Evidence, few: float, by: LogitWeights) -> float:
    return (
        by.bias
        + by.coverage * best.coverage
        + by.company * best.company
        + by.known * best.known
        + by.few * few
        + by.meaning * best.meaning_window
        + by.pooled * best.pooled
    )


def _parts(
    found: Sequence[Evidence], best: Evidence, mixture: EvidenceWeights
) -> list[tuple[float, ...]]:
    """For each candidate, what each piece of evidence adds to its place in the list."""
    share = mixture.window + mixture.exact * best.exact + mixture.company * best.company
    words = _stretched([each.window for each in found])
    meaning = _stretched([each.meaning_window for each in found])
    pooled = _stretched([each.pooled for each in found])
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
            found, words, meaning, pooled, strict=True
        )
    ]


def _stretched(values: Sequence[float]) -> list[float]:
    """Each value's place between the lowest (0) and the highest (1) of the list.

    What lies close together stays so: five that fit alike are not spread from best to worst.
    """
    high = max(values)
    width = max(high - min(values), WIDTH_MIN)
    return [1 - (high - value) / width if high > 0 else 0.0 for value in values]


def _preferences(one: One, weights: RerankWeights, now: datetime) -> tuple[float, float, float]:
    """What the user's weights add: little by default, so that only near ties are broken by it."""
    above = (one.importance - limits.IMPORTANCE_USUAL) / _IMPORTANCE_SPAN
    return (
        weights.importance * above,
        weights.recency * _recency(one.created_at, now) if weights.recency else 0.0,
        weights.pinned * one.pinned,
    )


def _recency(created_at: str, now: datetime) -> float:
    """1 for what is of this moment, half of it a month ago."""
    try:
        age = now - datetime.fromisoformat(created_at)
    except ValueError:
        return 0.0
    return 2 ** (-max(0.0, age.total_seconds() / 86_400) / _RECENCY_DAYS)


def _shown(pieces: Sequence[float]) -> dict[str, float]:
    return {name: round(v, 4) for name, v in zip(_PARTS, pieces, strict=True) if round(v, 4)}


def _logistic(logit: float) -> float:
    bounded = max(-_LOGIT_MAX, min(_LOGIT_MAX, logit))
    return round(1 / (1 + math.exp(-bounded)), 4)
