"""From candidates to an order with scores in 0-1, and what each score is made of.

The order follows a plain sum of what speaks for each candidate: its words and its meaning, both
with those of its neighbours, and a little for the speaker asked for. The evidence is absolute, so
where a question shares no telling word with the store, words hardly count, and where a rare name
is there, they decide. The score is the logistic of that sum and of how strong the best of the list
is, so that it can be compared between questions: 0.5 means more likely relevant than not.

Ties fall to importance, then to the newer, then to the id: the order never depends on the order in
which candidates come.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of_dataclass
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Candidate, Corpus, Nearness, Neighbour, Ranked, RerankWeights
from memory_mcp.retrieval.evidence import Evidence, evidence
from memory_mcp.retrieval.question import Question
from memory_mcp.retrieval.weights import LEXICAL, SEMANTIC, Mixture, Model

__all__ = ["rank"]

_RECENCY_DAYS: Final = 30
"""Half of what recency counts is gone after so many days."""
_LOGIT_MAX: Final = 60.0
_MEANINGS: Final = ("meaning", "meaning_window", "pooled")


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
    model = SEMANTIC if any(found[each].encoded for each in every) else LEXICAL
    parts = _parts({record_id: found[record_id] for record_id in every}, model.mixture)
    logits = _logits(parts, found, model)
    if nothing_relevant(question, found, max(logits.values()), model):
        return []
    judged: list[tuple[float, Candidate | Neighbour, Mapping[str, float]]] = []
    for record_id, one in every.items():
        extra = _preferences(one, weights, now)
        total = weights.similarity * logits[record_id] + math.fsum(extra.values())
        judged.append((round(total, 9), one, {**parts[record_id], **extra}))
    judged.sort(key=lambda entry: entry[1].id)
    judged.sort(key=lambda entry: entry[1].created_at, reverse=True)
    judged.sort(key=lambda entry: (entry[0], entry[1].importance), reverse=True)
    return [Ranked(one.id, _logistic(total), _shown(pieces)) for total, one, pieces in judged]


def nothing_relevant(
    question: Question, found: Mapping[RecordId, Evidence], best: float, model: Model
) -> bool:
    """Whether even the best of what was found is hardly relevant.

    One or two words that occur, and rare words that do, are never too little.
    """
    most = max((each.words for each in found.values()), default=0.0)
    if most and len(question.terms) <= _SHORT_TERMS_MAX:
        return False
    return best < model.floor


_SHORT_TERMS_MAX: Final = 2


def _parts(
    found: Mapping[RecordId, Evidence], mixture: Mixture
) -> dict[RecordId, dict[str, float]]:
    """For each candidate, what each piece of evidence adds."""
    factors = {
        each.name: factor
        for each in fields_of_dataclass(mixture)
        if (factor := getattr(mixture, each.name))
    }
    assumed = _assumed(found)
    parts: dict[RecordId, dict[str, float]] = {}
    for record_id, each in found.items():
        own = {name: factor * getattr(each, name) for name, factor in factors.items()}
        if not each.encoded and assumed:
            for name, (low, high) in assumed.items():
                if name in own:
                    own[name] = factors[name] * (low + (high - low) * each.window)
        parts[record_id] = own
    return parts


def _assumed(found: Mapping[RecordId, Evidence]) -> dict[str, tuple[float, float]]:
    """For records that are not encoded yet: between which figures their words place them."""
    encoded = [each for each in found.values() if each.encoded]
    if not encoded or len(encoded) == len(found):
        return {}
    values = {name: [getattr(each, name) for each in encoded] for name in _MEANINGS}
    return {name: (min(each), max(each)) for name, each in values.items()}


def _logits(
    parts: Mapping[RecordId, Mapping[str, float]],
    found: Mapping[RecordId, Evidence],
    model: Model,
) -> dict[RecordId, float]:
    """How likely each candidate is to be relevant; in the order of its strength."""
    strengths = {record_id: math.fsum(each.values()) for record_id, each in parts.items()}
    best = max(strengths.values())
    by = model.calibration
    level = by.bias + by.coverage * max(found[record_id].coverage for record_id in strengths)
    return {
        record_id: level + by.strength * strength + by.gap * (best - strength)
        for record_id, strength in strengths.items()
    }


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
