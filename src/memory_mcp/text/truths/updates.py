"""Estimates which of the stored memories a new one brings up to date, or that none is.

Most newer values are told in other words: "On-call rotates weekly", "Tobin has the pager now". So
it counts how much each says of what the other says, by its words and those related to them, what
both are about (`data/topics.toml`), which kinds of values both have, and who speaks of whom. The
candidates and "none of them" compete: a conditional logit, whose figures (`data/updates.json`, for
words and for each kind of model that was learnt) `tools/updates.py` learns of labelled statements.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import SearchFields
from memory_mcp.learnt import Features, load_figures, weigh
from memory_mcp.text.tables import load_table
from memory_mcp.text.truths.outlines import TextOutline, read_outline
from memory_mcp.words.table import STEPS, Telling, compare_telling, load_word_table, select_telling
from memory_mcp.words.terms import extract_terms

WORDS: Final = "words"
"""Who read the memories where no model did."""

_RARITY: Final = 10.0
"""About the rarity of a word that tells: the unit of what is multiplied by a rarity."""
_SMOOTHED: Final = 40
"""A topic tells as if so many more memories were there: in five it is not common yet."""
_CHANCE: Final = 0.25
"""By which power of the memories that are there the odds of each fall."""
_NEAR: Final = [f"new {least}" for least in STEPS]


class _Text(NamedTuple):
    """A statement as it is compared: its words, those of each topic, and what it states.

    `own`: somebody says it of themselves; `yours`: to whoever reads it.
    """

    telling: Telling
    topics: Mapping[str, Collection[str]]
    stated: TextOutline
    own: bool
    yours: bool


def describe_updates(
    new: SearchFields, olds: Mapping[RecordId, SearchFields], cosines: Mapping[RecordId, float]
) -> dict[RecordId, Features]:
    """What speaks for each of these that the new one brings it up to date.

    `cosines` are those of a model, which may not have read all of them. How long they are is left
    out: of the labelled ones those that nothing brings up to date are the longer ones.
    """
    ours = _read(new)
    texts = {id_: _read(fields) for id_, fields in olds.items()}
    speaking = Counter(chain.from_iterable(text.topics for text in texts.values()))
    telling = {
        topic: math.log((len(texts) + _SMOOTHED) / (speaking[topic] + 1))
        for topic in {*speaking, *ours.topics}
    }
    nearest = max(cosines.values(), default=0.0)
    usual = sum(cosines.values()) / (len(cosines) or 1)
    return {
        id_: {
            **_compare_words(ours, text),
            **_compare_topics(ours, text, telling),
            **_compare_stated(ours.stated, text.stated),
            "both own": float(ours.own and text.own),
            "both yours": float(ours.yours and text.yours),
            **({"cosine": own, "nearer": own - usual, "nearest": float(own >= nearest)}
               if (own := cosines.get(id_)) is not None else {}),
        }
        for id_, text in texts.items()
    }  # fmt: skip


def describe_new(new: SearchFields, *, changes: bool) -> Features:
    """What speaks for none; `changes`: it says that something changed."""
    ours = _read(new)
    return {
        "changes": float(changes),
        "length": math.log1p(new.body.count(" ") + 1),
        "names": float(bool(ours.stated.names)),
        "kinds": float(bool(ours.stated.kinds)),
    }


def estimate_updates(
    candidates: Mapping[RecordId, Features], new: Features, read_by: str, records: int
) -> dict[RecordId, float]:
    """The odds of each candidate that the new statement brings it up to date, not none.

    None takes odds from another: a large store has more to compare. But of many `records` some
    are near by chance.
    """
    learnt = _load_learnt()[read_by]
    none = weigh(new, learnt["none"]) + _CHANCE * math.log(max(records, 1))
    return {id_: math.exp(weigh(each, learnt["memory"]) - none) for id_, each in candidates.items()}


def list_readers() -> frozenset[str]:
    """Of whom figures were learnt: `WORDS`, and kinds of models."""
    return frozenset(_load_learnt())


def list_topic_terms(terms: Iterable[str]) -> frozenset[str]:
    """All terms of the topics that these terms speak of."""
    topics, known = _load_topics(), _load_topic_terms()
    found = {topic for term in terms for topic in known.get(term, ())}
    return frozenset[str]().union(*(topics[topic] for topic in found))


def _read(fields: SearchFields) -> _Text:
    terms = fields.body.split()
    topics: dict[str, list[str]] = {}
    known, voices = _load_topic_terms(), _load_voices()
    for term in terms:
        for topic in known.get(term, ()):
            topics.setdefault(topic, []).append(term)
    own = frozenset(terms)
    return _Text(
        select_telling(own, fields.meaning, load_word_table()),
        topics,
        read_outline(fields.outline),
        own=not own.isdisjoint(voices["own"]),
        yours=not own.isdisjoint(voices["yours"]),
    )


def _compare_words(new: _Text, old: _Text) -> Features:
    shared = compare_telling(new.telling, old.telling, load_word_table())
    near = dict(zip(_NEAR, shared.by_nearness, strict=True))
    return {"new": shared.ours, "old": shared.theirs, **near}


def _compare_topics(new: _Text, old: _Text, telling: Mapping[str, float]) -> Features:
    """What their topics tell, and words of one topic that are not the same: the best link of each.

    A link is as strong as its topic tells and as its more common word is rare.
    """
    rarity = load_word_table().get_rarity
    links: dict[str, float] = {}
    both = [topic for topic in new.topics if topic in old.topics]
    for topic in both:
        ours = [term for term in new.topics[topic] if term not in old.telling.terms]
        theirs = [term for term in old.topics[topic] if term not in new.telling.terms]
        if ours and theirs:
            link = telling[topic] * min(max(map(rarity, ours)), max(map(rarity, theirs)))
            links |= {term: max(link, links.get(term, 0.0)) for term in ours}
    told = sum([telling[topic] ** 2 for topic in both])
    whole = [sum([telling[topic] ** 2 for topic in text.topics]) for text in (new, old)]
    return {
        "topics": float(len(both)),
        "topics of both": told / math.sqrt(whole[0] * whole[1]) if told else 0.0,
        "links": sum(links.values()) / _RARITY,
    }


def _compare_stated(new: TextOutline, old: TextOutline) -> Features:
    shared = len(old.about & new.about)
    return {
        "about": shared / (min(len(old.about), len(new.about)) or 1),
        "subject": len(old.subject & new.about) / (len(old.subject) or 1),
        "ended": float(not new.ended.isdisjoint(old.about)),
        "kinds": float(len(new.kinds & old.kinds)),
        "other kinds": float(bool(old.kinds - new.kinds)),
        "no kinds": float(not new.kinds and not old.kinds),
    }


@cache
def _load_topics() -> Mapping[str, frozenset[str]]:
    """The terms of each topic; of a compound the parts may mean anything."""
    topics: Mapping[str, str] = load_table("topics")["topics"]
    return {
        topic: frozenset(
            terms[0] for word in words.split() if len(terms := extract_terms(word)) == 1
        )
        for topic, words in topics.items()
    }


@cache
def _load_topic_terms() -> Mapping[str, frozenset[str]]:
    """The topics of each term."""
    found: dict[str, frozenset[str]] = {}
    for topic, terms in _load_topics().items():
        for term in terms:
            found[term] = found.get(term, frozenset()) | {topic}
    return found


@cache
def _load_voices() -> Mapping[str, Collection[str]]:
    voices: Mapping[str, str] = load_table("topics")["voices"]
    return {name: frozenset(extract_terms(voices[name])) for name in voices}


def _load_learnt() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    return load_figures("memory_mcp.text", "updates")
