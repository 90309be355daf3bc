"""From candidates to an order with scores in 0-1, and what each score is made of.

The order follows a sum of what speaks for each candidate, stretched over the list: words with
those of the neighbours, meaning with that of the neighbours, and a little for the speaker asked
for. The score is the logistic of that sum with how strong the evidence is at all, so that it can be
compared between questions: 0.5 means more likely relevant than not. Ties fall to importance, then
to the newer, then to the id: the order never depends on the order in which candidates come.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.search import Candidate, Corpus, Nearness, Neighbour, Ranked, RerankWeights
from memory_mcp.retrieval.evidence import Evidence, evidence
from memory_mcp.retrieval.question import Question
from memory_mcp.retrieval.weights import LEXICAL, SEMANTIC, Model

__all__ = ["rank"]

_RECENCY_DAYS: Final = 30
"""Half of what recency counts is gone after so many days."""
_STRETCHED: Final = ("words", "window", "meaning", "meaning_window", "pooled")
_PLAIN: Final = ("names", "dates", "asks")


def rank(
    question: Question,
    corpus: Corpus,
    candidates: Sequence[Candidate],
    neighbours: Iterable[Neighbour],
    nearness: Nearness | None,
    *,
    weights: RerankWeights,
    now: datetime,
) -> list[Ranked]:
    """The candidates, best first; none if nothing speaks clearly enough for the best of them."""
    found = evidence(question, corpus, candidates, neighbours, nearness)
    if not candidates or nothing_relevant(question, found):
        return []
    model = SEMANTIC if any(each.encoded for each in found) else LEXICAL
    strengths = _strengths(found, model)
    level = _level(found, model)
    judged: list[tuple[float, Candidate, Mapping[str, float]]] = []
    for candidate, parts in zip(candidates, strengths, strict=True):
        logit = level + model.calibration.strength * sum(parts.values())
        extra = _preferences(candidate, weights, now)
        total = weights.similarity * logit + sum(extra.values())
        judged.append((round(total, 9), candidate, {**parts, **extra}))
    judged.sort(key=lambda one: one[1].id)
    judged.sort(key=lambda one: one[1].created_at, reverse=True)
    judged.sort(key=lambda one: (one[0], one[1].importance), reverse=True)
    return [
        Ranked(
            candidate.id, _logistic(total), {name: round(v, 4) for name, v in parts.items() if v}
        )
        for total, candidate, parts in judged
    ]


def nothing_relevant(question: Question, found: Sequence[Evidence]) -> bool:
    """Whether not even the best of the evidence makes it likely that something was found."""
    return not any(each.words or each.encoded for each in found) and bool(question.terms)


def _strengths(found: Sequence[Evidence], model: Model) -> list[dict[str, float]]:
    """For each candidate, what each piece of evidence adds to its place in the list."""
    parts: list[dict[str, float]] = [{} for _ in found]
    encoded = [each for each in found if each.encoded]
    lexical = _stretch([each.window for each in found])
    for name in _STRETCHED:
        factor = getattr(model.mixture, name)
        if not factor:
            continue
        among = found if name in ("words", "window") else encoded
        values = [getattr(each, name) for each in among]
        low, high = min(values), max(values)
        for at, each in enumerate(found):
            if name in ("words", "window") or each.encoded:
                value = (getattr(each, name) - low) / (high - low) if high > low else 1.0
            else:
                value = lexical[at]  # not encoded yet: its words stand in for its meaning
            parts[at][name] = factor * value
    for name in _PLAIN:
        factor = getattr(model.mixture, name)
        for at, each in enumerate(found):
            parts[at][name] = factor * getattr(each, name)
    return parts


def _stretch(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def _level(found: Sequence[Evidence], model: Model) -> float:
    """How strong the evidence for the best of the list is, whatever the others are like."""
    calibration = model.calibration
    return (
        calibration.bias
        + calibration.coverage * max(each.coverage for each in found)
        + calibration.meaning * max(each.meaning for each in found)
    )


def _preferences(candidate: Candidate, weights: RerankWeights, now: datetime) -> dict[str, float]:
    """What the user's weights add: small by default, so that only near ties are broken by it."""
    usual = limits.IMPORTANCE_USUAL
    span = limits.IMPORTANCE_MAX - usual
    return {
        "importance": weights.importance * (candidate.importance - usual) / span,
        "recency": weights.recency * 2 ** (-_age_days(candidate, now) / _RECENCY_DAYS),
        "pinned": weights.pinned * candidate.pinned,
    }


def _age_days(candidate: Candidate, now: datetime) -> float:
    age = now - datetime.fromisoformat(candidate.created_at)
    return max(0.0, age.total_seconds() / 86_400)


def _logistic(logit: float) -> float:
    if logit < 0:
        power = math.exp(max(logit, -60.0))
        return round(power / (1 + power), 4)
    return round(1 / (1 + math.exp(-min(logit, 60.0))), 4)
