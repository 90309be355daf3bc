"""From candidates to an order with scores in 0-1, and what each score is made of.

The order follows a sum of what speaks for each candidate: its words and its meaning, both with
those of its neighbours and as they stand in the list, and a little for the speaker asked for. How
much words count against meaning is decided for each question: names, numbers and days are found by
words only, and so are words that occur together; a single common word says little.

The score is the logistic of that sum and of how strong the evidence is at all, so that it can be
compared between questions: 0.5 means more likely relevant than not.

Ties fall to importance, then to the newer, then to the id: the order never depends on the order in
which candidates come.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.search import Candidate, Corpus, Nearness, Neighbour, Ranked, RerankWeights
from memory_mcp.retrieval.evidence import Evidence, evidence
from memory_mcp.retrieval.question import Question
from memory_mcp.retrieval.weights import LEXICAL, SEMANTIC, Judgement, Mixture, Model

__all__ = ["WIDTH_MIN", "fewness", "rank"]

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
    found = evidence(question, corpus, candidates, neighbours, nearness)
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
    model: Model,
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


def _logit(best: Evidence, few: float, by: Judgement) -> float:
    return (
        by.bias
        + by.coverage * best.coverage
        + by.company * best.company
        + by.known * best.known
        + by.few * few
        + by.meaning * best.meaning_window
        + by.pooled * best.pooled
    )


def _parts(found: Sequence[Evidence], best: Evidence, mixture: Mixture) -> list[tuple[float, ...]]:
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
