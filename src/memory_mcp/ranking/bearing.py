"""Chooses among ranked memories the one that bears on a prompt, or none.

What a colleague would mention with "deploy this" shares few words with it: so beside the evidence
of the ranking, the subjects count of which both speak (`data/subjects.toml`), and whether a memory
is a lesson, a convention or a fact. The candidates and "none of them" compete: a conditional logit,
whose figures (`data/bearing.json`) `tools/bearing.py` learns of labelled prompts.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import RankedCandidate, SearchFields
from memory_mcp.learnt import Features, load_figures, weigh
from memory_mcp.ranking.query import Query
from memory_mcp.words.table import load_word_table
from memory_mcp.words.terms import extract_terms

_RARITY: Final = 10.0
"""About the rarity of a word that tells: the unit in which rarities are features."""
_UNKNOWN: Final = 11.9
"""The rarity from which on the table does not know a word: a name, an identifier."""
_SHARED_MAX: Final = 4
_SMOOTHED: Final = 40
"""A subject tells as if so many more memories were there: in five it is not common yet."""
_ODDS_MIN: Final = 1e-4


def describe_candidates(
    query: Query,
    ranked: Sequence[RankedCandidate],
    fields: Mapping[RecordId, SearchFields],
    states: Mapping[RecordId, Mapping[str, float]],
) -> dict[RecordId, Features]:
    """What speaks for each of these candidates. `states` is what its record adds: its kind."""
    subjects = {id_: find_subjects(each.body.split()) for id_, each in fields.items()}
    counts = Counter(subject for found in subjects.values() for subject in found)
    asked = find_subjects(query.row)
    telling = {
        subject: math.log((len(fields) + _SMOOTHED) / (counts[subject] + 1)) for subject in asked
    }
    return {
        place.id: {
            **_describe_words(query, place, fields[place.id]),
            **_describe_subjects([telling[each] for each in asked & subjects[place.id]]),
            **states.get(place.id, {}),
            "first": float(rank == 0),
        }
        for rank, place in enumerate(ranked)
    }


def _describe_words(query: Query, place: RankedCandidate, fields: SearchFields) -> Features:
    table = load_word_table()
    body = fields.body.split()
    own = {term: table.get_rarity(term) for term in body}
    asked = {term.text: table.get_rarity(term.text) for term in query.terms}
    shared = [rarity for term, rarity in asked.items() if term in own]
    odds = max(_ODDS_MIN, place.agreement) / max(_ODDS_MIN, 1 - place.agreement)
    row, parts = f" {fields.body} ", place.parts
    return {
        "odds": math.log(odds),
        **{part: parts.get(part, 0.0) for part in ("words", "tokens", "whole")},
        "rarest shared": max(shared, default=0.0) / _RARITY,
        "shared": float(min(len(shared), _SHARED_MAX)),
        "nothing shared": float(not shared),
        "unknown shared": float(any(rarity >= _UNKNOWN for rarity in shared)),
        "share of the prompt": sum(shared) / (sum(asked.values()) or 1.0),
        "share of the memory": sum(shared) / (sum(own.values()) or 1.0),
        "pair": float(any(f" {one} {other} " in row for one, other in pairwise(query.row))),
        "length": math.log1p(len(body)),
    }


def _describe_subjects(telling: Sequence[float]) -> Features:
    return {
        "subjects": float(len(telling)),
        "all subjects": sum(telling),
        "rarest subject": max(telling, default=0.0),
    }


def describe_prompt(query: Query, text: str, *, asks: bool) -> Features:
    """What speaks for none of them."""
    return {
        "terms": math.log1p(len(query.terms)),
        "words": math.log1p(len(text.split())),
        "asks": float(asks),
        "subjects": len(find_subjects(query.row)) / _SHARED_MAX,
    }


def choose_bearing(
    candidates: Mapping[RecordId, Features], prompt: Features
) -> tuple[RecordId, float] | None:
    """The candidate that most likely bears on the prompt, and how likely; None of no candidates."""
    if not candidates:
        return None
    learnt = load_figures("memory_mcp.ranking", "bearing")
    logits = {id_: weigh(each, learnt["memory"]) for id_, each in candidates.items()}
    none = weigh(prompt, learnt["none"])
    best = max(logits, key=logits.__getitem__)
    highest = max(none, logits[best])
    odds = {id_: math.exp(logit - highest) for id_, logit in logits.items()}
    return best, odds[best] / (sum(odds.values()) + math.exp(none - highest))


def find_subjects(terms: Sequence[str]) -> frozenset[str]:
    """What these terms speak of."""
    known = _load_subjects()
    return frozenset[str]().union(*(known[term] for term in {*terms} & known.keys()))


@cache
def _load_subjects() -> Mapping[str, frozenset[str]]:
    """The subjects of each term."""
    import tomllib  # noqa: PLC0415  # a server's start reads no table
    from importlib import resources  # noqa: PLC0415

    file = resources.files("memory_mcp.ranking").joinpath("data", "subjects.toml")
    rows: Mapping[str, str] = tomllib.loads(file.read_text("utf-8"))
    found: dict[str, frozenset[str]] = {}
    for subject, words in rows.items():
        for word in words.split():
            terms = extract_terms(word)
            if len(terms) == 1:  # of a compound the parts may mean anything
                found[terms[0]] = found.get(terms[0], frozenset()) | {subject}
    return found
