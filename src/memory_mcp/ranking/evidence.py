"""Measure the evidence for each candidate: its words, words like them, the whole of its meaning.

Three figures carry the order, each absolute, in 0-1, and the same for every query: `words` (BM25 as
a share of what the query's terms could earn), `tokens` (the best match of each part of the query,
weighed by how telling it is: late interaction) and `whole` (the cosine of query and memory). With a
model the parts are its tokens; without one they are terms, compared by the table of related words.
Letters decide on names, numbers, days and identifiers: no vector can tell two of them apart.

A turn of a talk is read with the turns beside it, because the topic of a turn often stands in the
one before. A statement is read alone, whatever was written before and after it.

Sums run over the terms or tokens of the query in their order, so that no figure depends on the
order of the candidates.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import mul
from typing import Final, NamedTuple

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Neighbour,
    SearchFields,
    SemanticScores,
)
from memory_mcp.frozen import frozen
from memory_mcp.ranking.analysis import (
    ASKED_MARK,
    DECISION_TERMS,
    LABEL_TERM,
    QUESTION_TERM,
    TURN_TERM,
)
from memory_mcp.ranking.query import Query, QueryTerm
from memory_mcp.words.table import (
    COSINES,
    RARITY_STEPS,
    WordTable,
    measure_length,
    unpack_meaning,
)

_KIND_FACTORS: Final = {"part": 0.6, "frame": 0.25}
"""How much a part of an identifier counts beside the whole one, and a word of the asking beside
what is asked."""
_STOP_WEIGHT: Final = 0.25
"""What a token of the query weighs that belongs to no term, as a share of the middle one."""
_ORDINARY_TEXTS: Final = 1_000
"""How rare a word is counts as if so many ordinary texts stood beside those of the store: in five
memories no word is common yet."""

_SATURATION: Final = 0.8
_LENGTH_SHARE: Final = 0.4
"""BM25's k1 and b."""
_NAMES: Final = 0.6
_DATES: Final = 0.5
_EXTRA: Final = 0.6
"""How much a term counts outside the body."""
_ALTERNATIVE_FACTOR: Final = 0.7
"""How much an alternative counts for a term that the store does not hold."""
_NEXT_WORDS: Final = 0.6
_AFTER_NEXT_WORDS: Final = 0.4
"""How much a word of the next turn counts, and of the one after it."""
_NEXT_MEANING: Final = 0.8
"""How much the meaning of a turn beside counts."""
_OTHER_LETTERS: Final = 0.5
"""How much a likeness counts for a name, number or identifier that other memories do hold."""
_LEANING_WORDS: Final = 60
"""The longer a turn is than this, the less its neighbours count."""
_TOLD: Final = 0.85
"""What a query asks counts at least as this share of one of the rarest words: a word that is common
in the language tells little, even if there is no other."""
_TELLING_WORDS: Final = 2.75
"""What a question asks counts at most as so many of the rarest words: the rest of a long one tells
a story, or asks the same again."""
QUOTED_MIN: Final = 3
"""So many words in a row are a quotation."""
_RUN_TERMS_MAX: Final = 24
_PLACE_PAIRS: Final = tuple(
    (one, other, other - one)
    for one in (-2, -1, 0, 1, 2)
    for other in (-1, 0, 1, 2)
    if 0 < other - one <= 2  # noqa: PLR2004
)
"""Places of a row that are neighbours of each other, and how far apart."""

Neighbours = Mapping[RecordId, Mapping[RecordId, int]]
"""For each turn its neighbours with their distance."""


@frozen
class WeightedQuery:
    """A query's terms with their weights.

    `whole` is the sum of the weights, without days and phases that no memory is of, and at least
    that of one telling word; `told` is how much of it the query tells. `held` are the places of
    terms that the store holds.
    """

    terms: tuple[QueryTerm, ...]
    weights: tuple[float, ...]
    whole: float
    told: float
    held: frozenset[int]


def weigh_terms(query: Query, corpus: CorpusStatistics, table: WordTable) -> WeightedQuery:
    """The query's terms, weighed by how rare they are in the store and in ordinary texts."""
    phases = [t.spans[0] for t in query.terms if t.kind == "phase" and corpus.counts.get(t.text, 0)]
    weights: list[float] = []
    whole = 0.0
    held: set[int] = set()
    for place, term in enumerate(query.terms):
        own = corpus.counts.get(term.text, 0)
        count = own or max((corpus.counts.get(each, 0) for each in term.alternatives), default=0)
        usual = _ORDINARY_TEXTS * table.get_share(term.text)
        rest = max(corpus.records - count, 0) + _ORDINARY_TEXTS - usual
        weight = math.log1p((rest + 0.5) / (count + usual + 0.5))
        weight *= _KIND_FACTORS.get(term.kind, 1.0)
        # where memories of phase 2 are known as such, "phase" and "2" add nothing
        weight *= 0.0 if _is_within(term, phases) else 1.0
        weights.append(weight)
        whole += weight if count or term.kind not in ("date", "phase") else 0.0
        if own:
            held.add(place)
    least = _TOLD * _weigh_rarest(corpus.records)
    told = min(1.0, whole / least)
    return WeightedQuery(query.terms, tuple(weights), max(whole, least), told, frozenset(held))


def _weigh_rarest(records: int) -> float:
    """About what a word weighs that occurs once."""
    return math.log(records + _ORDINARY_TEXTS)


def _is_within(term: QueryTerm, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a word stands nowhere in the query but within these spans."""
    return (
        term.kind != "phase"
        and bool(term.spans)
        and all(any(a <= start and end <= b for a, b in spans) for start, end in term.spans)
    )


@frozen
class _Parts:
    """The parts of a query that meanings are compared by: their shares, which sum to 1.

    `literal` names for each part the term that letters decide on, if there is one.
    """

    shares: Sequence[float]
    literal: Sequence[int | None]


def _divide_into_tokens(weighted: WeightedQuery, spans: Sequence[tuple[int, int]]) -> _Parts:
    """A model's tokens: each weighs what its term does, or little if it belongs to none."""
    by_place = [
        (start, end, place)
        for place, term in enumerate(weighted.terms)
        for start, end in term.spans
    ]
    middle = sorted(weighted.weights)[len(weighted.weights) // 2] if weighted.weights else 1.0
    weights: list[float] = []
    literal: list[int | None] = []
    for start, end in spans:
        over = [place for first, last, place in by_place if first < end and start < last]
        weights.append(
            max((weighted.weights[place] for place in over), default=_STOP_WEIGHT * middle)
        )
        literal.append(_find_literal(weighted, over))
    return _Parts(_make_shares(weights), literal)


def _find_literal(weighted: WeightedQuery, over: Sequence[int]) -> int | None:
    """The most telling of a token's terms that letters decide on.

    Of an identifier that is the whole: what has a part of it is another one of the same form.
    """
    whole = any(weighted.terms[place].kind == "part" for place in over)
    literal = [
        place for place in over if weighted.terms[place].exact and (whole or place in weighted.held)
    ]
    return max(literal, key=lambda place: weighted.weights[place], default=None)


def _make_shares(weights: Sequence[float]) -> list[float]:
    whole = sum(weights) or 1.0
    return [weight / whole for weight in weights]


class Evidence(NamedTuple):
    """What speaks for one candidate; all in 0-1, up to `run` in the order of `PARTS`.

    `words`, `tokens` and `whole` are with the turns beside it; `own` is `words` without them.
    `names`: it is of the speaker asked for. `asks`: it asks instead of telling. `asked` is the
    share of the query that it asks, too. `label`: it sums up in a word or three.
    `phase`: it was written in a phase asked for. `decided`: it is a decision (of that phase) where
    one is asked for. `run` is the share of the query that the memory quotes word for word.
    `known` is how much of the query `whole` is made of. `held` is how much it holds itself of what
    is asked, and of a long question of as much as a few telling words could ask. `met` is what each
    part of the query adds to `tokens`.
    """

    words: float = 0.0
    tokens: float = 0.0
    whole: float = 0.0
    names: float = 0.0
    asks: float = 0.0
    asked: float = 0.0
    label: float = 0.0
    phase: float = 0.0
    decided: float = 0.0
    run: float = 0.0
    own: float = 0.0
    known: float = 1.0
    held: float = 0.0
    met: Sequence[float] = ()


def gather_evidence(
    query: Query,
    corpus: CorpusStatistics,
    candidates: Sequence[Candidate],
    neighbours: Sequence[Neighbour],
    nearness: SemanticScores | None,
    *,
    table: WordTable,
) -> dict[RecordId, Evidence]:
    """The evidence for each candidate and for each neighbour."""
    weighted = weigh_terms(query, corpus, table)
    fields = {each.id: each.fields for each in neighbours}
    fields |= {candidate.id: candidate.fields for candidate in candidates}
    lengths = {record_id: each.body.count(" ") + 1 for record_id, each in fields.items()}
    beside = _find_neighbours(neighbours, fields)
    leans = {id_: min(1.0, _LEANING_WORDS / lengths[id_]) for id_ in beside}
    frequencies = _score_terms(weighted, fields, lengths)
    windows = _join_rows(frequencies, beside, leans, (1.0, _NEXT_WORDS, _AFTER_NEXT_WORDS))
    meanings: dict[RecordId, _Meaning] = {}
    if nearness is None or not nearness.best.keys() >= fields.keys():
        meanings = _measure_by_words(weighted, fields, frequencies, beside, leans, table=table)
    if nearness:
        meanings |= _measure_by_model(
            weighted, nearness, frequencies, beside, leans, by_words=meanings
        )
    speakers = {name for names in {f.names for f in fields.values()} for name in names.split()}
    asked_names = speakers.intersection(term.text for term in weighted.terms)
    phases = {term.text for term in weighted.terms if term.kind == "phase"}
    has_phase = any(corpus.counts.get(term) for term in phases)
    runs = _list_runs(query, weighted)
    askable = _share_asked(weighted, corpus.records)
    evidence: dict[RecordId, Evidence] = {}
    for record_id, each in fields.items():
        own = frequencies.get(record_id, ())
        extra = each.extra
        of_phase = bool(phases) and not phases.isdisjoint(extra.split())
        decided = query.asks_decision and (of_phase or not has_phase)
        met, whole, known = meanings[record_id]
        words = _weigh_row(weighted, own)
        evidence[record_id] = Evidence(
            _weigh_row(weighted, windows[record_id]) if record_id in windows else words,
            weighted.told * sum(met),
            whole,
            1.0 if asked_names and not asked_names.isdisjoint(each.names.split()) else 0.0,
            1.0 if QUESTION_TERM in extra else 0.0,
            _measure_asked(weighted, each) if ASKED_MARK in extra else 0.0,
            1.0 if LABEL_TERM in extra else 0.0,
            1.0 if of_phase else 0.0,
            1.0 if decided and DECISION_TERMS in extra else 0.0,
            _measure_run(runs, each.body) if own else 0.0,
            words,
            known,
            min(1.0, sum(compress(askable, own))) if own else 0.0,
            met,
        )
    return evidence


def _share_asked(weighted: WeightedQuery, records: int) -> list[float]:
    """What holding each term adds to `held`."""
    terms = zip(weighted.terms, weighted.weights, strict=True)
    asked = [0.0 if term.kind == "frame" else weight for term, weight in terms]
    telling = _weigh_rarest(records)
    whole = max(_TOLD * telling, min(sum(asked), _TELLING_WORDS * telling))
    return [
        weight / whole * (1.0 if place in weighted.held else _ALTERNATIVE_FACTOR)
        for place, weight in enumerate(asked)
    ]


def _weigh_row(weighted: WeightedQuery, row: Sequence[float]) -> float:
    return sum(map(mul, weighted.weights, row)) / weighted.whole if row else 0.0


def _find_neighbours(
    neighbours: Iterable[Neighbour], fields: Mapping[RecordId, SearchFields]
) -> Neighbours:
    """The turns beside each turn. Who has a record as a neighbour is a neighbour of it."""
    turns = {id_ for id_, each in fields.items() if TURN_TERM in each.extra}
    rows: dict[RecordId, dict[int, RecordId]] = {}
    for neighbour in neighbours:
        if neighbour.of in turns and neighbour.id in turns:
            rows.setdefault(neighbour.of, {0: neighbour.of})[neighbour.steps] = neighbour.id
    beside: dict[RecordId, dict[RecordId, int]] = {
        record_id: {} for row in rows.values() for record_id in row.values()
    }
    for row in rows.values():
        for place, other_place, steps in _PLACE_PAIRS:
            one, other = row.get(place), row.get(other_place)
            if one is not None and other is not None:
                beside[one][other] = beside[other][one] = steps
    return beside


def _join_rows(
    rows: Mapping[RecordId, Sequence[float]],
    beside: Neighbours,
    leans: Mapping[RecordId, float],
    factors: Sequence[float],
) -> dict[RecordId, Sequence[float]]:
    """For each turn that has turns with a row beside it: the best of its own and of theirs.

    `factors` say how much a row counts, by how many steps it is away.
    """
    joined: dict[RecordId, Sequence[float]] = {}
    for record_id, near in beside.items():
        lean = leans[record_id]
        lists = [
            [lean * factors[steps] * value for value in rows[other]]
            for other, steps in near.items()
            if other in rows
        ]
        if lists:
            own = [rows[record_id]] if record_id in rows else []
            joined[record_id] = [max(values) for values in zip(*own, *lists, strict=True)]
    return joined


def _score_terms(
    weighted: WeightedQuery,
    fields: Mapping[RecordId, SearchFields],
    lengths: Mapping[RecordId, int],
) -> dict[RecordId, list[float]]:
    """BM25's saturated frequency of each term, for the records that have any."""
    mean = sum(lengths.values()) / max(1, len(lengths))
    spellings = [
        (place, f" {text} ", _ALTERNATIVE_FACTOR if number else 1.0)
        for place, term in enumerate(weighted.terms)
        for number, text in enumerate((term.text, *term.alternatives))
    ]
    scores: dict[RecordId, list[float]] = {}
    for record_id, each in fields.items():
        counts = _count_terms(spellings, each)
        if counts:
            length = lengths[record_id]
            room = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / mean)
            own = [0.0] * len(weighted.terms)
            for place, times in counts.items():
                own[place] = times / (times + room)
            scores[record_id] = own
    return scores


def _count_terms(
    spellings: Sequence[tuple[int, str, float]], fields: SearchFields
) -> dict[int, float]:
    """How often each term occurs, by its place. Most do not: one look at all fields tells."""
    body, names, dates, extra, *_ = fields
    every = f" {body}  {names}  {dates}  {extra} "
    first = len(body) + 2
    second = first + len(names) + 2
    third = second + len(dates) + 2
    counts: dict[int, float] = {}
    for place, padded, factor in spellings:
        if padded in every:
            times = every.count(padded, 0, first) * factor
            if names:
                times += _NAMES * factor * every.count(padded, first, second)
            if dates:
                times += _DATES * factor * every.count(padded, second, third)
            if extra:
                times += _EXTRA * factor * every.count(padded, third)
            counts[place] = counts.get(place, 0.0) + times
    return counts


def _measure_asked(weighted: WeightedQuery, fields: SearchFields) -> float:
    """The share of the query that an episode asks."""
    asked = set(fields.extra.split())
    row = [float(f"{ASKED_MARK}{term.text}" in asked) for term in weighted.terms]
    return _weigh_row(weighted, row)


class _Runs(NamedTuple):
    """The rows of words in a query, longest first, with their share of its words and their weight.

    Each of them has one of the `shortest` in it.
    """

    every: Sequence[tuple[str, float]]
    shortest: Sequence[str]


def _list_runs(query: Query, weighted: WeightedQuery) -> _Runs:
    row = query.row[:_RUN_TERMS_MAX]
    weights = dict(zip((term.text for term in weighted.terms), weighted.weights, strict=True))
    rows = [
        row[start : start + length]
        for length in range(len(row), QUOTED_MIN - 1, -1)
        for start in range(len(row) - length + 1)
    ]
    every = [
        (
            f" {' '.join(each)} ",
            len(each)
            / len(row)
            * min(1.0, sum(weights.get(w, 0.0) for w in each) / weighted.whole),
        )
        for each in rows
    ]
    return _Runs(
        every,
        [text for (text, _), each in zip(every, rows, strict=True) if len(each) == QUOTED_MIN],
    )


def _measure_run(runs: _Runs, body: str) -> float:
    """What the longest row of the query's words that the memory repeats is of it."""
    padded = f" {body} "
    for shortest in runs.shortest:
        if shortest in padded:
            return next(share for words, share in runs.every if words in padded)
    return 0.0


_Meaning = tuple[Sequence[float], float, float]
"""`met`, `whole` and `known` of an evidence."""


def _measure_by_model(
    weighted: WeightedQuery,
    nearness: SemanticScores,
    frequencies: Mapping[RecordId, Sequence[float]],
    beside: Neighbours,
    leans: Mapping[RecordId, float],
    *,
    by_words: Mapping[RecordId, _Meaning],
) -> dict[RecordId, _Meaning]:
    """What a model says of the records it has read. One without tokens leaves these to words."""
    parts = _divide_into_tokens(weighted, nearness.spans)
    rows = {
        record_id: _apply_letters(best, parts, frequencies.get(record_id, ()))
        for record_id, best in nearness.best.items()
    }
    windows = _join_rows(rows, beside, leans, (1.0, _NEXT_MEANING, _NEXT_MEANING))
    meanings: dict[RecordId, _Meaning] = {}
    for record_id, whole in nearness.pooled.items():
        row = windows.get(record_id) or rows.get(record_id)
        met = list(map(mul, parts.shares, row)) if row else by_words[record_id][0]
        meanings[record_id] = (met, max(0.0, whole), 1.0)
    return meanings


def _measure_by_words(
    weighted: WeightedQuery,
    fields: Mapping[RecordId, SearchFields],
    frequencies: Mapping[RecordId, Sequence[float]],
    beside: Neighbours,
    leans: Mapping[RecordId, float],
    *,
    table: WordTable,
) -> dict[RecordId, _Meaning]:
    """What the table of related words says of every record."""
    shares = _make_shares(weighted.weights)
    signs = [table.find_signs(term.text) for term in weighted.terms]
    asked = [(own, s) for s, own in zip(shares, signs, strict=True) if own is not None]
    known = sum(share for _, share in asked)
    length = measure_length(asked)
    compared = _Compared(signs, shares, table)
    # it is there or not: near to it is no other
    exact = [place for place in weighted.held if weighted.terms[place].exact]
    nothing = (0.0,) * len(signs)
    rows: dict[RecordId, Sequence[float]] = {}
    wholes: dict[RecordId, float] = {}
    for record_id, each in fields.items():
        row: Sequence[float] = nothing
        own_length, places = unpack_meaning(each.meaning, table)
        if places and asked:
            cosines, dots = zip(*map(compared.__getitem__, places), strict=True)
            row = best = [*map(max, nothing, *cosines)]
            for place in exact:
                best[place] = 0.0
            if length and own_length:
                wholes[record_id] = max(0.0, sum(dots) / (length * own_length))
        if own := frequencies.get(record_id):  # every term that occurs is found
            row = [1.0 if times else cosine for times, cosine in zip(own, row, strict=True)]
        rows[record_id] = row
    windows = _join_rows(rows, beside, leans, (1.0, _NEXT_MEANING, _NEXT_MEANING))
    return {
        record_id: (
            list(map(mul, shares, windows.get(record_id) or row)),
            wholes.get(record_id, 0.0),
            known,
        )
        for record_id, row in rows.items()
    }


class _Compared(dict[int, tuple[Sequence[float], float]]):
    """The cosines of each word of the table with each term, and what it adds to the whole.

    A word is compared once it is met: of most memories some words are those of others.
    """

    def __init__(
        self, signs: Sequence[int | None], shares: Sequence[float], table: WordTable
    ) -> None:
        super().__init__()
        self._signs = signs
        self._shares = shares
        self._table = table

    def __missing__(self, place: int) -> tuple[Sequence[float], float]:
        row = self._table.signs[place]
        near = [0.0 if own is None else COSINES[(own ^ row).bit_count()] for own in self._signs]
        rarity = self._table.rarities[place] / RARITY_STEPS
        self[place] = compared = near, rarity * sum(map(mul, self._shares, near))
        return compared


def _apply_letters(best: Sequence[float], parts: _Parts, own: Sequence[float]) -> list[float]:
    """The row with 1 for each name or number that occurs, and little for another in its place."""
    row = [max(0.0, cosine) for cosine in best]
    for place, literal in enumerate(parts.literal):
        if literal is not None:
            row[place] = 1.0 if own and own[literal] else _OTHER_LETTERS * row[place]
    return row
