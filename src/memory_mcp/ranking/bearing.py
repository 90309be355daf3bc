"""Chooses among ranked memories the one that bears on a prompt, or none.

What a colleague would mention with "deploy this" shares few words with it: so beside the evidence
of the ranking, it counts which words are of one subject (`data/subjects.toml`), how few memories of
the store have what is shared, how much better it meets the prompt than the others do, and whether
one is a lesson, a convention or a fact. What a prompt means as a whole tells whether any memory
bears on it; with a model, what both mean tells which. The candidates and "none of them" compete: a
conditional logit, whose figures (`data/bearing.json`, for words and for each kind of model that was
learnt) `tools/bearing.py` learns of labelled prompts.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import product
from typing import Any, Final, NamedTuple

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import PROMPT_COMPARED_MAX
from memory_mcp.domain.search import RankedCandidate, SearchFields
from memory_mcp.learnt import Features, load_figures, measure_likelihoods, weigh
from memory_mcp.ranking.query import Query
from memory_mcp.words.table import Direction, load_word_table, make_direction, measure_along
from memory_mcp.words.terms import extract_terms

WORDS: Final = "words"
"""Who read the memories where no model did."""

_RARITY: Final = 10.0
"""About the rarity of a word that tells: the unit of what is multiplied by a rarity."""
_SMOOTHED: Final = 40
"""A subject tells as if so many more memories were there: in five it is not common yet."""


class _Term(NamedTuple):
    """A word of the prompt: how telling it is in any text, and what it speaks of."""

    rarity: float
    subjects: frozenset[str]


class _Asked(NamedTuple):
    """The words of a prompt; how few memories of the store have each, and speak of each subject."""

    terms: Mapping[str, _Term]
    alone: Mapping[str, float]
    telling: Mapping[str, float]


def describe_candidates(
    query: Query,
    ranked: Sequence[RankedCandidate],
    fields: Mapping[RecordId, SearchFields],
    states: Mapping[RecordId, Mapping[str, float]],
) -> dict[RecordId, Features]:
    """What speaks for each of these candidates. `states` is what its record adds: its kind."""
    bodies = {id_: frozenset(each.body.split()) for id_, each in fields.items()}
    wholes = [place.parts.get("whole", 0.0) for place in ranked]
    usual = sum(wholes) / len(wholes) if wholes else 0.0
    asked = _measure_asked(query, bodies.values())
    return {
        place.id: {
            **{part: place.parts.get(part, 0.0) for part in ("words", "whole")},
            **_describe_shared(asked, bodies[place.id]),
            "links": _measure_links(asked, bodies[place.id]),
            "length": math.log1p(fields[place.id].body.count(" ") + 1),
            **states.get(place.id, {}),
            "nearer": place.parts.get("whole", 0.0) - usual,
            **met,
        }
        for place, met in zip(ranked, _describe_met(ranked), strict=True)
    }


def _describe_met(ranked: Sequence[RankedCandidate]) -> list[Features]:
    """How each meets the parts of the prompt beside the others: what all meet alike tells nothing.

    To be ahead of few tells little. One that another reader read than most has other parts, which
    cannot be compared.
    """
    share = (len(ranked) - 1) / (PROMPT_COMPARED_MAX - 1)
    lengths = Counter(len(place.met) for place in ranked)
    length = max(lengths, key=lengths.__getitem__, default=0)
    columns = list(zip(*(place.met for place in ranked if len(place.met) == length), strict=True))
    usual = sum(sum(column) / len(column) for column in columns)
    best = [nlargest(2, column) for column in columns]
    described: list[Features] = []
    for place in ranked:
        if len(place.met) != length:
            described.append({})
            continue
        ahead = [each - pair[-1] for each, pair in zip(place.met, best, strict=True)]
        described.append(
            {
                "ahead": share * sum(each for each in ahead if each > 0),
                "nearer by parts": share * (sum(place.met) - usual),
            }
        )
    return described


def _measure_asked(query: Query, bodies: Collection[frozenset[str]]) -> _Asked:
    table = load_word_table()
    known = _load_subjects()
    terms = {
        term: _Term(table.get_rarity(term), known.get(term, frozenset())) for term in query.row
    }
    subjects = frozenset[str]().union(*(each.subjects for each in terms.values()))
    holding = Counter(term for body in bodies for term in body & terms.keys())
    speaking = Counter(each for body in bodies for each in find_subjects(body) & subjects)
    return _Asked(
        terms,
        {term: math.log((len(bodies) + 1) / (holding[term] + 0.5)) for term in terms},
        {each: math.log((len(bodies) + _SMOOTHED) / (speaking[each] + 1)) for each in subjects},
    )


def _describe_shared(asked: _Asked, body: frozenset[str]) -> Features:
    """What the shared words tell in this store: one that most of its memories have tells little."""
    shared = [(asked.alone[t], each.rarity) for t, each in asked.terms.items() if t in body]
    return {
        "shared": sum(map(min, shared)),
        "rare in both": max((here * rarity for here, rarity in shared), default=0.0) / _RARITY,
    }


def _measure_links(asked: _Asked, body: frozenset[str]) -> float:
    """What words tell that are not the same, but of one subject: the best link of each.

    A link is as strong as its subject tells and as its more common word is rare.
    """
    table = load_word_table()
    known = _load_subjects()
    own = [
        (table.get_rarity(term), subjects)
        for term in body & known.keys()
        if (subjects := known[term] & asked.telling.keys())
    ]
    links = (
        max(
            (
                asked.telling[subject] * min(each.rarity, rarity)
                for rarity, subjects in own
                for subject in subjects & each.subjects
            ),
            default=0.0,
        )
        for term, each in asked.terms.items()
        if each.subjects and term not in body
    )
    return sum(links) / _RARITY


def describe_prompt(query: Query, text: str, *, asks: bool) -> Features:
    """What speaks for none of them."""
    return {
        "terms": math.log1p(len(query.terms)),
        "words": math.log1p(len(text.split())),
        "asks": float(asks),
    }


class Meanings(NamedTuple):
    """What the meaning of the whole adds: to the logit of each candidate, and of none of them."""

    memory: Mapping[RecordId, float]
    none: float


def weigh_words(query: Query) -> Meanings:
    """By words: what those of the prompt mean says whether any memory bears on it."""
    return Meanings({}, measure_along(_load_direction(), query.row, load_word_table()))


def choose_bearing(
    candidates: Mapping[RecordId, Features], prompt: Features, meanings: Meanings, read_by: str
) -> tuple[RecordId, float] | None:
    """The candidate that most likely bears on the prompt, and how likely; None of no candidates."""
    if not candidates:
        return None
    learnt = load_learnt()[read_by]
    logits = {
        id_: weigh(each, learnt["memory"]) + meanings.memory.get(id_, 0.0)
        for id_, each in candidates.items()
    }
    likely = measure_likelihoods(logits, weigh(prompt, learnt["none"]) + meanings.none)
    best = max(likely, key=likely.__getitem__)
    return best, likely[best]


def list_readers() -> frozenset[str]:
    """Of whom figures were learnt: `WORDS`, and kinds of models."""
    return frozenset(load_learnt())


def load_learnt() -> Mapping[str, Mapping[str, Any]]:
    """The figures of each reader."""
    return load_figures("memory_mcp.ranking", "bearing")


@cache
def _load_direction() -> Direction:
    return make_direction(load_learnt()[WORDS]["meaning"])


def find_subjects(terms: Iterable[str]) -> frozenset[str]:
    """What these terms speak of."""
    known = _load_subjects()
    return frozenset[str]().union(*(known[term] for term in {*terms} & known.keys()))


@cache
def _load_subjects() -> Mapping[str, frozenset[str]]:
    """The subjects of each term."""
    rows: Mapping[str, str] = load_figures("memory_mcp.ranking", "subjects")
    found: dict[str, frozenset[str]] = {}
    for subject, words in rows.items():
        for word in words.split():
            terms = extract_terms(word)
            if len(terms) == 1:  # of a compound the parts may mean anything
                found[terms[0]] = found.get(terms[0], frozenset()) | {subject}
    return found | dict.fromkeys(_list_times(), frozenset({"when"}))


def _list_times() -> Iterator[str]:
    """The times of a day as terms, 7:30 and 07:30: people name each fifth minute."""
    for hour, minute in product(range(24), range(0, 60, 5)):
        yield f"{hour}h{minute:02}"
        yield f"{hour:02}h{minute:02}"
