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

__all__ = ["Evidence", "Weighed", "evidence", "token_weights", "weigh"]

_SATURATION: Final = 0.8
_LENGTH_SHARE: Final = 0.4
"""BM25's k1 and b."""
_NAMES: Final = 0.6
_DATES: Final = 0.5
_EXTRA: Final = 0.6
"""How much a term counts outside the body."""
_INSTEAD_FACTOR: Final = 0.7
"""How much a term counts that stands in for one that the store does not hold."""
_PART_FACTOR: Final = 0.6
"""How much the part of an identifier counts that is asked for whole as well."""
_NEIGHBOUR_WORDS: Final = (1.0, 0.6, 0.4)
_NEIGHBOUR_MEANING: Final = (1.0, 0.8, 0.8)
"""How much it counts that a neighbour has the word or is near in meaning, by steps away."""
_RARE_SHARE: Final = 0.01
_RARE_CHARS_MIN: Final = 3
_NONE: Final[Mapping[int, float]] = {}
_STOP_WEIGHT: Final = 0.25
"""What a token of the question weighs that belongs to no term, as a share of the middle one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one candidate; all in 0-1 (cosines may be a little below 0).

    `words` is BM25 over all that the question's terms could earn, `coverage` the weight of those
    that occur. `exact` is the weight of the names, numbers, days and identifiers that occur, and
    `company` the weight of what occurs beside the weightiest term, over what the store knows;
    `known` is how much of the question it knows at all. `rare` says that it has a name, number or
    identifier that hardly any other record has.
    """

    words: float = 0.0
    coverage: float = 0.0
    window: float = 0.0
    meaning: float = 0.0
    meaning_window: float = 0.0
    pooled: float = 0.0
    names: float = 0.0
    asks: float = 0.0
    exact: float = 0.0
    company: float = 0.0
    known: float = 0.0
    rare: bool = False
    encoded: bool = False


@dataclass(frozen=True, slots=True)
class Weighed:
    """A question's terms with what they weigh, and of which its tokens are part."""

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    whole: float
    """What all terms weigh together, but for days that no memory is of."""
    known: float
    """What those weigh together that the store holds."""
    rare: frozenset[int]
    """Which of them are names, numbers or identifiers that hardly any record holds."""


def weigh(question: Question, corpus: Corpus) -> Weighed:
    """How much each term of the question tells, by how few records hold it."""
    weights: list[float] = []
    whole = known_whole = 0.0
    for term in question.terms:
        known = corpus.counts.get(term.text, 0)
        count = known or max((corpus.counts.get(each, 0) for each in term.instead), default=0)
        records = max(corpus.records, count)
        weight = math.log1p((records - count + 0.5) / (count + 0.5))
        weight *= _PART_FACTOR if term.kind == "part" else 1.0
        weights.append(weight)
        whole += weight if count or term.kind != "date" else 0.0
        known_whole += weight if count else 0.0
    rare = frozenset(
        at
        for at, term in enumerate(question.terms)
        if term.exact
        and len(term.text) >= _RARE_CHARS_MIN
        and 0 < corpus.counts.get(term.text, 0) <= max(1, _RARE_SHARE * corpus.records)
    )
    return Weighed(question.terms, tuple(weights), whole or 1.0, known_whole, rare)


def evidence(
    question: Question,
    corpus: Corpus,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: Nearness | None,
) -> dict[RecordId, Evidence]:
    """What speaks for each candidate and for each neighbour."""
    weighed = weigh(question, corpus)
    fields = {each.id: each.fields for each in neighbours}
    fields |= {candidate.id: candidate.fields for candidate in candidates}
    beside = _beside(neighbours)
    length = sum(each.body.count(" ") + 1 for each in fields.values()) / max(1, len(fields))
    words = {
        record_id: _saturated(counts, each, length)
        for record_id, each in fields.items()
        if (counts := _counts(weighed.terms, each))
    }
    named = _named(weighed.terms, fields.values())
    meaning = _Meaning(weighed, nearness, beside)
    found: dict[RecordId, Evidence] = {}
    for record_id, each in fields.items():
        own = words.get(record_id, _NONE)
        near, near_window, pooled, encoded = meaning.of(record_id)
        found[record_id] = Evidence(
            words=_share(own, weighed),
            coverage=math.fsum(weighed.weights[at] for at in own) / weighed.whole,
            window=_share(_with(own, words, beside.get(record_id, {})), weighed),
            meaning=near,
            meaning_window=near_window,
            pooled=pooled,
            names=float(bool(named) and not named.isdisjoint(each.names.split())),
            asks=float(ASKS in each.extra),
            exact=_exact(own, weighed),
            company=_company(own, weighed),
            known=weighed.known / weighed.whole,
            rare=not weighed.rare.isdisjoint(own),
            encoded=encoded,
        )
    return found


def _beside(neighbours: Iterable[Neighbour]) -> dict[RecordId, dict[RecordId, int]]:
    """For each record those near it and how far: who is beside another has it beside itself."""
    rows: dict[RecordId, dict[int, RecordId]] = {}
    for neighbour in neighbours:
        rows.setdefault(neighbour.of, {0: neighbour.of})[neighbour.steps] = neighbour.id
    beside: dict[RecordId, dict[RecordId, int]] = {}
    for row in rows.values():
        for place, record_id in row.items():
            near = beside.setdefault(record_id, {})
            for other_place, other in row.items():
                steps = abs(place - other_place)
                if 0 < steps < len(_NEIGHBOUR_WORDS):
                    near[other] = steps
    return beside


def _with(
    own: Mapping[int, float],
    words: Mapping[RecordId, Mapping[int, float]],
    beside: Mapping[RecordId, int],
) -> Mapping[int, float]:
    """A record's words with those of its neighbours, which count for less."""
    window: dict[int, float] | None = None
    for other, steps in beside.items():
        factor = _NEIGHBOUR_WORDS[steps]
        for at, value in words.get(other, _NONE).items():
            window = dict(own) if window is None else window
            if factor * value > window.get(at, 0.0):
                window[at] = factor * value
    return own if window is None else window


def _counts(terms: Sequence[Term], fields: Fields) -> dict[int, float]:
    """How often each term occurs, by its position; most do not, which a substring search tells."""
    every = f"{fields.body} {fields.names} {fields.dates} {fields.extra}"
    found: dict[int, float] = {}
    split: list[tuple[list[str], float]] = []
    for at, term in enumerate(terms):
        for place, name in enumerate((term.text, *term.instead)):
            if name not in every:
                continue
            split = split or [
                (text.split(), factor)
                for text, factor in (
                    (fields.body, 1.0), (fields.names, _NAMES), (fields.dates, _DATES),
                    (fields.extra, _EXTRA),
                )
                if text
            ]  # fmt: skip
            times = sum(words.count(name) * factor for words, factor in split)
            if times:
                found[at] = found.get(at, 0.0) + times * (_INSTEAD_FACTOR if place else 1.0)
    return found


def _saturated(counts: Mapping[int, float], fields: Fields, length: float) -> dict[int, float]:
    """BM25's tf, in 0-1: a second occurrence tells less, and one in a long text too."""
    long = (fields.body.count(" ") + 1) / (length or 1.0)
    room = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * long)
    return {at: times / (times + room) for at, times in counts.items()}


def _share(values: Mapping[int, float], weighed: Weighed) -> float:
    """What the terms weigh, by how fully they are there; summed the same way in every order."""
    return math.fsum(weighed.weights[at] * value for at, value in values.items()) / weighed.whole


def _exact(own: Iterable[int], weighed: Weighed) -> float:
    hits = (weighed.weights[at] for at in own if weighed.terms[at].exact)
    return math.fsum(hits) / (weighed.known or 1.0)


def _company(own: Iterable[int], weighed: Weighed) -> float:
    hits = sorted(weighed.weights[at] for at in own)
    return math.fsum(hits[:-1]) / (weighed.known or 1.0)


def _named(terms: Sequence[Term], fields: Iterable[Fields]) -> frozenset[str]:
    """Those terms of the question that are the name of somebody who speaks."""
    speakers = {name for names in {each.names for each in fields} for name in names.split()}
    return frozenset(term.text for term in terms if term.text in speakers)


class _Meaning:
    """The nearness of each record with its neighbours: tokens weighed by the words they are of."""

    def __init__(
        self,
        weighed: Weighed,
        nearness: Nearness | None,
        beside: Mapping[RecordId, Mapping[RecordId, int]],
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
        for other, steps in self._beside.get(record_id, {}).items():
            factor = _NEIGHBOUR_MEANING[steps]
            near = self._best.get(other)
            if near:
                best = [
                    a if a > factor * b else factor * b  # noqa: FURB136  # three times as quick
                    for a, b in zip(best, near, strict=True)
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
