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
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Candidate, Corpus, Nearness, Neighbour, Ranked, RerankWeights
from memory_mcp.retrieval.evidence import Evidence, evidence
from memory_mcp.retrieval.question import Question
from memory_mcp.retrieval.weights import LEXICAL, SEMANTIC, Judgement, Mixture

__all__ = ["rank"]

_RECENCY_DAYS: Final = 30
"""Half of what recency counts is gone after so many days."""
_LOGIT_MAX: Final = 60.0
_SHORT_TERMS_MAX: Final = 2
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
    """Candidates and their neighbours, best first; none if even the best is hardly relevant."""
    found = evidence(question, corpus, candidates, neighbours, nearness)
    wanted = {each.id: each for each in neighbours if each.wanted}
    every: dict[RecordId, Candidate | Neighbour] = {**wanted, **{c.id: c for c in candidates}}
    if not every:
        return []
    among = {record_id: found[record_id] for record_id in every}
    model = SEMANTIC if any(each.encoded for each in among.values()) else LEXICAL
    best = _best(among.values())
    if _nothing(question, best, _logit(best, model.found) - model.floor):
        return []
    parts = _parts(among, best, model.mixture)
    level = _logit(best, model.level)
    strengths = {record_id: math.fsum(pieces.values()) for record_id, pieces in parts.items()}
    strongest = max(strengths.values())
    judged: list[tuple[float, Candidate | Neighbour, Mapping[str, float]]] = []
    for record_id, one in every.items():
        extra = _preferences(one, weights, now)
        logit = level - model.behind * (strongest - strengths[record_id])
        total = weights.similarity * logit + math.fsum(extra.values())
        judged.append((round(total, 9), one, {**parts[record_id], **extra}))
    judged.sort(key=lambda entry: entry[1].id)
    judged.sort(key=lambda entry: entry[1].created_at, reverse=True)
    judged.sort(key=lambda entry: (entry[0], entry[1].importance), reverse=True)
    return [Ranked(one.id, _logistic(total), _shown(pieces)) for total, one, pieces in judged]


def _nothing(question: Question, best: Evidence, above: float) -> bool:
    """Whether even the best of what was found is hardly relevant: not `above` the floor.

    One or two words that occur are never too little, nor is a rare name, number or identifier.
    """
    literal = best.rare or (best.words and len(question.terms) <= _SHORT_TERMS_MAX)
    return above < 0 and not literal


def _best(found: Iterable[Evidence]) -> Evidence:
    """The most that any of them has of each."""
    every = list(found)
    return Evidence(
        words=max(each.words for each in every),
        coverage=max(each.coverage for each in every),
        company=max(each.company for each in every),
        exact=max(each.exact for each in every),
        known=max(each.known for each in every),
        rare=any(each.rare for each in every),
        meaning_window=max(each.meaning_window for each in every),
        pooled=max(each.pooled for each in every),
    )


def _logit(best: Evidence, by: Judgement) -> float:
    return (
        by.bias
        + by.coverage * best.coverage
        + by.company * best.company
        + by.known * best.known
        + by.meaning * best.meaning_window
        + by.pooled * best.pooled
    )


def _parts(
    found: Mapping[RecordId, Evidence], best: Evidence, mixture: Mixture
) -> dict[RecordId, dict[str, float]]:
    """For each candidate, what each piece of evidence adds to its place in the list."""
    ids = list(found)
    words = _stretched([each.window for each in found.values()])
    share = mixture.window + mixture.exact * best.exact + mixture.company * best.company
    near = [found[record_id] for record_id in ids if found[record_id].encoded]
    meaning = iter(_stretched([each.meaning_window for each in near]))
    pooled = iter(_stretched([each.pooled for each in near]))
    parts: dict[RecordId, dict[str, float]] = {}
    for record_id, place in zip(ids, words, strict=True):
        each = found[record_id]
        # what is not encoded yet is placed by its words alone
        near_place, pooled_place = (next(meaning), next(pooled)) if each.encoded else (place, place)
        parts[record_id] = {
            "words": share * place,
            "meaning": mixture.meaning_window * near_place,
            "pooled": mixture.pooled * pooled_place,
            "names": mixture.names * each.names,
            "asks": mixture.asks * each.asks,
        }
    return parts


def _stretched(values: Sequence[float]) -> list[float]:
    """Each value's place between the lowest (0) and the highest (1)."""
    if not values:
        return []
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else float(high > 0) for value in values]


def _preferences(
    one: Candidate | Neighbour, weights: RerankWeights, now: datetime
) -> dict[str, float]:
    """What the user's weights add: little by default, so that only near ties are broken by it."""
    usual = limits.IMPORTANCE_USUAL
    return {
        "importance": weights.importance
        * (one.importance - usual)
        / (limits.IMPORTANCE_MAX - usual),
        "recency": weights.recency * _recency(one.created_at, now),
        "pinned": weights.pinned * one.pinned,
    }


def _recency(created_at: str, now: datetime) -> float:
    """1 for what is of this moment, half of it a month ago."""
    try:
        age = now - datetime.fromisoformat(created_at)
    except ValueError:
        return 0.0
    return 2 ** (-max(0.0, age.total_seconds() / 86_400) / _RECENCY_DAYS)


def _shown(parts: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in parts.items() if round(value, 4)}


def _logistic(logit: float) -> float:
    bounded = max(-_LOGIT_MAX, min(_LOGIT_MAX, logit))
    return round(1 / (1 + math.exp(-bounded)), 4)
