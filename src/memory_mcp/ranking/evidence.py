"""Measure what speaks for each candidate: words, words of its neighbours, meaning, names, days.

Every figure is absolute, in 0-1, and means the same in every question: 1 is all that could be asked
for. Words weigh by how rare they are in the store (idf). Neighbours are the records written just
before and after in the same session: the topic of a turn often stands in the turn before.

Sums run over the terms or tokens of the question in their order, so that no figure depends on the
order in which candidates come.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final, NamedTuple

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Candidate, Corpus, Fields, Nearness, Neighbour
from memory_mcp.ranking.analysis import ASKS, DECISION
from memory_mcp.ranking.question import Question, Term

_PART_FACTOR: Final = 0.6
"""How much the part of an identifier counts that is asked for whole as well."""
_OF_PHASE_FACTOR: Final = 0.0
"""How much "phase" and "2" count themselves, where memories of phase 2 are known as such: a title
that says so tells no more than what was written in it."""
_STOP_WEIGHT: Final = 0.25
"""What a token of the question weighs that belongs to no term, as a share of the middle one."""
_GUESSED_FACTOR: Final = 0.5
"""How far a term counts as known for which the store has only another that may be meant."""
_RECORDS_MIN: Final = 100
"""What is in all of five memories is no common word yet: in a small store every word is rare."""
_RARE_SHARE: Final = 0.01
_RARE_CHARS_MIN: Final = 3


@dataclass(frozen=True)
class WeighedQuestion:
    """A question's terms with what they weigh.

    `whole` is what all weigh together, but for days and phases that no memory is of, and `known`
    what those weigh that the store holds. `rare` are the places of names, numbers and identifiers
    that hardly any record holds.
    """

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    whole: float
    known: float
    rare: frozenset[int]


def weigh_terms(question: Question, corpus: Corpus) -> WeighedQuestion:
    """The question's terms, weighed by the store."""
    phases = [term.spans[0] for term in question.terms if _is_known_phase(term, corpus)]
    weights: list[float] = []
    whole = known = 0.0
    rare: set[int] = set()
    for at, term in enumerate(question.terms):
        own = corpus.counts.get(term.text, 0)
        count = own or max((corpus.counts.get(each, 0) for each in term.instead), default=0)
        records = max(corpus.records, count, _RECORDS_MIN)
        weight = math.log1p((records - count + 0.5) / (count + 0.5))
        weight *= _PART_FACTOR if term.kind == "part" else 1.0
        weight *= _OF_PHASE_FACTOR if _only_in(term, phases) else 1.0
        weights.append(weight)
        whole += weight if count or term.kind not in ("date", "phase") else 0.0
        known += weight * (1.0 if own else _GUESSED_FACTOR) if count else 0.0
        if term.exact and len(term.text) >= _RARE_CHARS_MIN:
            rare |= {at} if 0 < own <= max(1.0, _RARE_SHARE * records) else set()
    return WeighedQuestion(question.terms, tuple(weights), whole or 1.0, known, frozenset(rare))


def _is_known_phase(term: Term, corpus: Corpus) -> bool:
    return term.kind == "phase" and bool(corpus.counts.get(term.text, 0))


def _only_in(term: Term, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a word stands nowhere in the question but within these."""
    return (
        term.kind != "phase"
        and bool(term.spans)
        and all(any(a <= start and end <= b for a, b in spans) for start, end in term.spans)
    )


def weigh_tokens(weighed: WeighedQuestion, spans: Sequence[tuple[int, int]]) -> list[float]:
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


_SATURATION: Final = 0.8
_LENGTH_SHARE: Final = 0.4
"""BM25's k1 and b."""
_NAMES: Final = 0.6
_DATES: Final = 0.5
_EXTRA: Final = 0.6
"""How much a term counts outside the body."""
_INSTEAD_FACTOR: Final = 0.7
"""How much a term counts that stands in for one that the store does not hold."""
_NEXT_WORDS: Final = 0.6
_AFTER_NEXT_WORDS: Final = 0.4
"""How much it counts that the next neighbour has a word, or the one after it."""
_BESIDE_MEANING: Final = 0.8
"""How much it counts that a neighbour is near in meaning."""
_LIKELY_MEANING: Final = (0.14, 0.58)
"""What late interaction is likely to say of a record whose embedder gives a whole vector only: a
straight line through what MiniLM says of both (r = .73 over the sets of benchmarks/)."""
_LEANING_WORDS: Final = 60
"""A record of so many words stands by itself: the longer, the less its neighbours tell of it."""
_PAIRS: Final = tuple(
    (one, other, other - one)
    for one in (-2, -1, 0, 1, 2)
    for other in (-1, 0, 1, 2)
    if 0 < other - one <= 2  # noqa: PLR2004
)
"""Places of a row that are neighbours of each other, and how far apart."""


class Evidence(NamedTuple):
    """What speaks for one candidate; all in 0-1.

    `words` is BM25 over all that the question's terms could earn, `window` the same with the
    neighbours' words, `coverage` the weight of the terms that occur. `exact` is the weight of the
    names, numbers, days and identifiers that occur, and `company` the weight of what occurs beside
    the weightiest term, both over what the store knows; `known` is how much of the question it
    knows at all. `rare` says that it has a name, number or identifier that hardly any other record
    has, `encoded` that its meaning is known, `phase` that it was written in a phase asked for,
    `decided` that it is a decision (of that phase) where one is asked for.
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
    question: Question,
    corpus: Corpus,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: Nearness | None,
) -> dict[RecordId, Evidence]:
    """What speaks for each candidate and for each neighbour."""
    weighed = weigh_terms(question, corpus)
    fields = {each.id: each.fields for each in neighbours}
    fields |= {candidate.id: candidate.fields for candidate in candidates}
    beside = _beside(neighbours)
    lengths = {record_id: each.body.count(" ") + 1 for record_id, each in fields.items()}
    words = _words(weighed, fields, lengths)
    leans = {
        record_id: _LEANING_WORDS / length
        for record_id, length in lengths.items()
        if length > _LEANING_WORDS
    }
    windows = _windows(weighed, words, beside, leans)
    meanings = _meanings(weighed, nearness, beside, leans) if nearness else {}
    named = _named(weighed.terms, fields.values())
    phases = {term.text for term in weighed.terms if term.kind == "phase"}
    known_phase = any(corpus.counts.get(term) for term in phases)
    known = weighed.known / weighed.whole
    of_terms: dict[tuple[int, ...], tuple[float, float, float, bool]] = {(): _NO_TERMS}
    found: dict[RecordId, Evidence] = {}
    for record_id, each in fields.items():
        own = words.get(record_id, _NOTHING)
        hits = tuple([at for at, value in enumerate(own) if value])
        if hits not in of_terms:
            of_terms[hits] = _of_terms(hits, weighed)
        coverage, exact, company, rare = of_terms[hits]
        in_words = sum(map(mul, weighed.weights, own)) / weighed.whole if hits else 0.0
        of_phase = not phases.isdisjoint(each.extra.split()) if phases else False
        decided = question.decides and (of_phase or not known_phase) and DECISION in each.extra
        of_names = float(not named.isdisjoint(each.names.split())) if named else 0.0
        found[record_id] = Evidence(
            in_words, windows.get(record_id, in_words), coverage, exact, company, known, rare,
            of_names, float(ASKS in each.extra), *meanings.get(record_id, _NO_MEANING),
            float(of_phase), float(decided),
        )  # fmt: skip
    return found


_NOTHING: Final[Sequence[float]] = ()
_NO_TERMS: Final = (0.0, 0.0, 0.0, False)
_NO_MEANING: Final = (0.0, 0.0, 0.0, False)


def _of_terms(hits: Sequence[int], weighed: WeighedQuestion) -> tuple[float, float, float, bool]:
    """Coverage, exact, company and rare of a record that has these of the terms."""
    weights = [weighed.weights[at] for at in hits]
    covered = sum(weights)
    exact = sum([weighed.weights[at] for at in hits if weighed.terms[at].exact])
    known = weighed.known or 1.0
    return (
        covered / weighed.whole,
        exact / known,
        (covered - max(weights)) / known,
        not weighed.rare.isdisjoint(hits),
    )


def _beside(neighbours: Iterable[Neighbour]) -> dict[RecordId, dict[RecordId, int]]:
    """For each record those near it and how far: who is beside another has it beside itself."""
    rows: dict[RecordId, dict[int, RecordId]] = {}
    for neighbour in neighbours:
        rows.setdefault(neighbour.of, {0: neighbour.of})[neighbour.steps] = neighbour.id
    beside: dict[RecordId, dict[RecordId, int]] = {
        record_id: {} for row in rows.values() for record_id in row.values()
    }
    for row in rows.values():
        for place, other_place, steps in _PAIRS:
            one, other = row.get(place), row.get(other_place)
            if one is not None and other is not None:
                beside[one][other] = beside[other][one] = steps
    return beside


def _words(
    weighed: WeighedQuestion, fields: Mapping[RecordId, Fields], lengths: Mapping[RecordId, int]
) -> dict[RecordId, list[float]]:
    """BM25's tf of each term in each record that has any: a second occurrence tells less."""
    mean = sum(lengths.values()) / max(1, len(lengths))
    names = [
        (at, name, f" {name} ", _INSTEAD_FACTOR if place else 1.0)
        for at, term in enumerate(weighed.terms)
        for place, name in enumerate((term.text, *term.instead))
    ]
    found: dict[RecordId, list[float]] = {}
    for record_id, each in fields.items():
        counts = _counts(names, each)
        if counts:
            length = lengths[record_id]
            room = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / mean)
            own = [0.0] * len(weighed.terms)
            for at, times in counts.items():
                own[at] = times / (times + room)
            found[record_id] = own
    return found


def _counts(names: Sequence[tuple[int, str, str, float]], fields: Fields) -> dict[int, float]:
    """How often each term occurs, by its place; most do not, which one look at all tells."""
    every = f" {fields.body}  {fields.names}  {fields.dates}  {fields.extra} "
    found: dict[int, float] = {}
    for at, name, padded, factor in names:
        if padded in every:
            times = f" {fields.body} ".count(padded) * factor
            if fields.names and name in fields.names:
                times += _NAMES * factor * f" {fields.names} ".count(padded)
            if fields.dates and name in fields.dates:
                times += _DATES * factor * f" {fields.dates} ".count(padded)
            if fields.extra and name in fields.extra:
                times += _EXTRA * factor * f" {fields.extra} ".count(padded)
            found[at] = found.get(at, 0.0) + times
    return found


def _windows(
    weighed: WeighedQuestion,
    words: Mapping[RecordId, list[float]],
    beside: Mapping[RecordId, Mapping[RecordId, int]],
    leans: Mapping[RecordId, float],
) -> dict[RecordId, float]:
    """For each record with neighbours, its words with theirs, which count for less."""
    scaled = {
        record_id: (
            (),
            [_NEXT_WORDS * value for value in own],
            [_AFTER_NEXT_WORDS * value for value in own],
        )
        for record_id, own in words.items()
    }
    nothing = [0.0] * len(weighed.terms)
    found: dict[RecordId, float] = {}
    for record_id, near in beside.items():
        lists = [scaled[other][steps] for other, steps in near.items() if other in scaled]
        if lists:
            if record_id in leans:
                lists = [[leans[record_id] * value for value in each] for each in lists]
            most = map(max, words.get(record_id, nothing), *lists)
            found[record_id] = sum(map(mul, weighed.weights, most)) / weighed.whole
    return found


def _named(terms: Sequence[Term], fields: Iterable[Fields]) -> frozenset[str]:
    """Those terms of the question that are the name of somebody who speaks."""
    speakers = {name for names in {each.names for each in fields} for name in names.split()}
    return frozenset(term.text for term in terms if term.text in speakers)


def _meanings(
    weighed: WeighedQuestion,
    nearness: Nearness,
    beside: Mapping[RecordId, Mapping[RecordId, int]],
    leans: Mapping[RecordId, float],
) -> dict[RecordId, tuple[float, float, float, bool]]:
    """Own meaning, meaning with the neighbours', pooled, and that it is known.

    The mean over the question's tokens is one of squares: what is very near counts more.
    """
    weights = weigh_tokens(weighed, nearness.spans)
    whole = sum(weights) or 1.0
    shares = [weight / whole for weight in weights]
    squares = {
        record_id: [s * v * v if v > 0 else 0.0 for s, v in zip(shares, best, strict=True)]
        for record_id, best in nearness.best.items()
    }
    factor = _BESIDE_MEANING * _BESIDE_MEANING
    scaled = {
        record_id: [factor * value for value in own]
        for record_id, own in squares.items()
        if record_id in beside
    }
    found: dict[RecordId, tuple[float, float, float, bool]] = {}
    for record_id, pooled in nearness.pooled.items():
        own = squares.get(record_id)
        if own is None:
            likely = max(0.0, _LIKELY_MEANING[0] + _LIKELY_MEANING[1] * pooled)
            found[record_id] = (likely, likely, pooled, True)
            continue
        lists = [scaled[other] for other in beside.get(record_id, ()) if other in scaled]
        if record_id in leans:
            lists = [[leans[record_id] * value for value in each] for each in lists]
        mean = sum(own) ** 0.5
        window = sum(map(max, own, *lists)) ** 0.5 if lists else mean
        found[record_id] = (mean, window, pooled, True)
    return found
