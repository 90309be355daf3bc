"""What speaks for each candidate: words, words of its neighbours, meaning, names, days.

Every figure is absolute, in 0-1, and means the same in every question: 1 is all that could be asked
for. Words weigh by how rare they are in the store (idf). Neighbours are what was written just
before and after in the same session: what a turn of talk is about often stands in the turn before.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Candidate, Corpus, Fields, Nearness, Neighbour
from memory_mcp.retrieval.analysis import ASKS
from memory_mcp.retrieval.question import Question, Term

__all__ = ["Evidence", "Weighed", "evidence", "weigh"]

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.6
"""BM25's k1 and b."""
_COLUMNS: Final = {"names": 0.6, "dates": 0.5, "extra": 0.6}
"""How much a term counts outside the body."""
_INSTEAD_FACTOR: Final = 0.7
"""How much a term counts that stands in for one that the store does not hold."""
_PART_FACTOR: Final = 0.6
"""How much the part of an identifier counts that is asked for whole as well."""
_NEIGHBOUR_WORDS: Final = 0.6
_NEIGHBOUR_MEANING: Final = 0.8
"""How much it counts that a neighbour has the word, or is near in meaning."""
_STOP_WEIGHT: Final = 0.25
"""What a token of the question weighs that belongs to no term, as a share of the middle one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one candidate; all in 0-1 (cosines may be a little below 0)."""

    words: float = 0.0
    coverage: float = 0.0
    window: float = 0.0
    meaning: float = 0.0
    meaning_window: float = 0.0
    pooled: float = 0.0
    names: float = 0.0
    dates: float = 0.0
    asks: float = 0.0
    encoded: bool = False


@dataclass(frozen=True, slots=True)
class Weighed:
    """A question's terms with what they weigh, and of which its tokens are part."""

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    whole: float
    """What all terms weigh together, but for days that no memory is of."""


def weigh(question: Question, corpus: Corpus) -> Weighed:
    """How much each term of the question tells, by how few records hold it."""
    weights: list[float] = []
    whole = 0.0
    for term in question.terms:
        known = corpus.counts.get(term.text, 0)
        count = known or max((corpus.counts.get(each, 0) for each in term.instead), default=0)
        records = max(corpus.records, count)
        weight = math.log1p((records - count + 0.5) / (count + 0.5))
        weight *= _PART_FACTOR if term.kind == "part" else 1.0
        weights.append(weight)
        whole += weight if count or term.kind != "date" else 0.0
    return Weighed(question.terms, tuple(weights), whole or 1.0)


def evidence(
    question: Question,
    corpus: Corpus,
    candidates: Sequence[Candidate],
    neighbours: Iterable[Neighbour],
    nearness: Nearness | None,
) -> list[Evidence]:
    """What speaks for each candidate, in their order."""
    weighed = weigh(question, corpus)
    beside: dict[RecordId, list[Neighbour]] = {}
    for neighbour in neighbours:
        beside.setdefault(neighbour.of, []).append(neighbour)
    fields = {each.id: each.fields for around in beside.values() for each in around}
    fields |= {candidate.id: candidate.fields for candidate in candidates}
    length = sum(c.fields.body.count(" ") + 1 for c in candidates) / max(1, len(candidates))
    words = {
        record_id: _saturated(counts, each, length)
        for record_id, each in fields.items()
        if (counts := _counts(weighed.terms, each))
    }
    named = _named(weighed.terms, candidates)
    asked_days = [at for at, term in enumerate(weighed.terms) if term.kind == "date"]
    meaning = _Meaning(weighed, nearness, beside)
    none: dict[int, float] = {}
    found: list[Evidence] = []
    for candidate in candidates:
        own = words.get(candidate.id, none)
        window = dict(own)
        for each in beside.get(candidate.id, ()):
            for at, value in words.get(each.id, none).items():
                window[at] = max(window.get(at, 0.0), _NEIGHBOUR_WORDS * value)
        near, near_window, pooled, encoded = meaning.of(candidate.id)
        fields_own = candidate.fields
        found.append(
            Evidence(
                words=_share(own, weighed),
                coverage=sum(weighed.weights[at] for at in own) / weighed.whole,
                window=_share(window, weighed),
                meaning=near,
                meaning_window=near_window,
                pooled=pooled,
                names=float(bool(named) and not named.isdisjoint(fields_own.names.split())),
                dates=sum(at in own for at in asked_days) / (len(asked_days) or 1),
                asks=float(ASKS in fields_own.extra),
                encoded=encoded,
            )
        )
    return found


def _counts(terms: Sequence[Term], fields: Fields) -> dict[int, float]:
    """How often each term occurs, by its position; most do not, which a substring search tells."""
    columns = [(fields.body, 1.0)]
    columns += [(t, w) for name, w in _COLUMNS.items() if (t := getattr(fields, name))]
    found: dict[int, float] = {}
    for text, factor in columns:
        split: list[str] | None = None
        for at, term in enumerate(terms):
            for place, name in enumerate((term.text, *term.instead)):
                if name in text:
                    split = text.split() if split is None else split
                    times = split.count(name) * factor * (_INSTEAD_FACTOR if place else 1.0)
                    if times:
                        found[at] = found.get(at, 0.0) + times
    return found


def _saturated(counts: Mapping[int, float], fields: Fields, length: float) -> dict[int, float]:
    """BM25's tf, in 0-1: a second occurrence tells less, and one in a long text too."""
    long = (fields.body.count(" ") + 1) / (length or 1.0)
    room = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * long)
    return {at: times / (times + room) for at, times in counts.items()}


def _share(values: Mapping[int, float], weighed: Weighed) -> float:
    return sum(weighed.weights[at] * value for at, value in values.items()) / weighed.whole


def _named(terms: Sequence[Term], candidates: Sequence[Candidate]) -> frozenset[str]:
    """Those terms of the question that are the name of somebody who speaks."""
    speakers = {name for names in {c.fields.names for c in candidates} for name in names.split()}
    return frozenset(term.text for term in terms if term.text in speakers)


class _Meaning:
    """The nearness of each record with its neighbours: tokens weighed by the words they are of."""

    def __init__(
        self,
        weighed: Weighed,
        nearness: Nearness | None,
        beside: Mapping[RecordId, Sequence[Neighbour]],
    ) -> None:
        near = nearness or Nearness({}, {})
        self._pooled = near.pooled
        self._best = near.best
        self._weights = token_weights(weighed, near.spans)
        self._whole = sum(self._weights) or 1.0
        self._beside = beside

    def of(self, record_id: RecordId) -> tuple[float, float, float, bool]:
        """Own, with the neighbours', pooled, and whether the record is encoded at all."""
        pooled = self._pooled.get(record_id)
        own = self._best.get(record_id)
        if pooled is None:
            return 0.0, 0.0, 0.0, False
        if own is None:
            return 0.0, 0.0, pooled, True
        best = [max(0.0, value) for value in own]
        mean = self._mean(best)
        for neighbour in self._beside.get(record_id, ()):
            beside = self._best.get(neighbour.id)
            if beside:
                best = [
                    max(value, _NEIGHBOUR_MEANING * other)
                    for value, other in zip(best, beside, strict=True)
                ]
        return mean, self._mean(best), pooled, True

    def _mean(self, best: Sequence[float]) -> float:
        return (
            sum(w * v * v for w, v in zip(self._weights, best, strict=True)) / self._whole
        ) ** 0.5


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
