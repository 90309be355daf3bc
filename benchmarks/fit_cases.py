"""The questions that the figures are fitted on: what was found for each, and what answers it.

Beside the questions of the sets there are those that nothing answers (put to a store that cannot
know), some put to a small part of the store, and *keywords*: one to three rare words of a memory,
as they are typed into a search box; what holds them all is the answer. Seeds are fixed. Only the
dev split of our own sets is used.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from families import NOW, Array, Found, Store
from numpy.typing import NDArray

from memory_mcp.ranking.evidence import Evidence
from memory_mcp.ranking.order import SPREAD_MIN, measure_smallness
from memory_mcp.ranking.query import parse_query
from memory_mcp.ranking.terms import extract_terms

__all__ = ["JUDGED", "KEYWORDS", "Bools", "Case", "gather", "strength"]

Bools = NDArray[np.bool_]

JUDGED: Final = ("coverage", "company", "known", "few", "meaning_window", "pooled")
"""What tells how strong the evidence is: the best of a list, and how small the store is."""

KEYWORDS: Final = "keywords"
_NEGATIVES_PER_PAIR: Final = 15
_KEYWORDS_PER_STORE: Final = 60
_SIZES: Final = (3, 10, 30, 100)
"""Stores begin small: so many units of one are a store too."""
_PER_SIZE: Final = 30
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_RARE_COUNT: Final = 3
_RARE_SHARE: Final = 0.03
_SHORT_WORDS_MAX: Final = 2
"""As `ranking.py` has it: so few words are never too little."""


@dataclass(frozen=True)
class Case:
    """One question: what is known of its candidates, and which of them answer it.

    `small` says that it was put to a part of a store, `literal` that no floor keeps it from an
    answer. `answer` is what the shipped ranking makes of the candidates, in order: which are gold,
    with what score.
    """

    family: str
    small: bool
    window: Array
    meaning: Array
    pooled: Array
    names: Array
    asks: Array
    coverage: Array
    exact: float
    company: float
    words: int
    literal: bool
    judged: Array
    gold: Bools
    golds: int
    answer: Sequence[tuple[bool, float]]


def strength(one: Case, mixture: Sequence[float]) -> Array:
    """What the order follows, but for what a hit gains that has all that was asked for."""
    window, exact, company, meaning, pooled, names, asks = mixture
    share = window + exact * one.exact + company * one.company
    return (
        share * one.window + meaning * one.meaning + pooled * one.pooled
        + names * one.names + asks * one.asks
    )  # fmt: skip


def gather(stores: Mapping[str, Sequence[Store]]) -> list[Case]:
    """Every question of the dev split, keywords, and questions put to a store that cannot know."""
    chance = random.Random(3)
    asked = {family: list(_asked(every)) for family, every in stores.items()}
    asked[KEYWORDS] = [
        (store, text, gold)
        for every in stores.values()
        for store in every
        for text, gold in _keywords(store, chance)
    ]
    found = [
        _case(family, store.find(text), gold)
        for family, every in asked.items()
        for store, text, gold in every
    ]
    for family, every in stores.items():
        for other, pairs in asked.items():
            for store, text, _ in chance.sample(pairs, min(len(pairs), _NEGATIVES_PER_PAIR)):
                wrong = chance.choice(every)
                if wrong is store or _same(wrong, store):
                    continue
                if other == KEYWORDS and _holding(wrong, text):
                    continue
                found.append(_case(family, wrong.find(text), frozenset()))
    return [*found, *_of_parts(stores, asked, chance)]


def _of_parts(
    stores: Mapping[str, Sequence[Store]],
    asked: Mapping[str, Sequence[tuple[Store, str, frozenset[str]]]],
    chance: random.Random,
) -> Iterator[Case]:
    """Questions put to a few units in a row that hold an answer, and others that they do not."""
    for family in stores:
        for size in _SIZES:
            answered = [each for each in asked[family] if each[2]]
            for store, text, gold in chance.sample(answered, min(len(answered), _PER_SIZE)):
                place = chance.choice([n for n, unit in enumerate(store.units) if unit.id in gold])
                part = store.part(max(0, place - chance.randrange(size)), size)
                held = gold & {unit.id for unit in part.units}
                yield _case(family, part.find(text), held, small=True)
                other, strange, _ = chance.choice(asked[chance.choice([*stores])])
                if not _same(other, store):
                    yield _case(family, part.find(strange), frozenset(), small=True)


def _asked(every: Sequence[Store]) -> Iterator[tuple[Store, str, frozenset[str]]]:
    for store in every:
        for each in store.conversation.questions:
            if each.split in ("", "dev"):
                yield store, each.text, each.gold


def _same(one: Store, other: Store) -> bool:
    """Whether they are of the same talk: its turns, and the facts in it."""
    return one.conversation.name == other.conversation.name


def _keywords(store: Store, chance: random.Random) -> Iterator[tuple[str, frozenset[str]]]:
    """Rare words that some memory holds, and every memory that holds them all."""
    most = max(_RARE_COUNT, _RARE_SHARE * len(store.units))
    for unit in chance.choices(store.units, k=_KEYWORDS_PER_STORE):
        words = [
            word
            for word in dict.fromkeys(_WORD.findall(unit.said.lower()))
            if _tells(word) and 0 < len(_holding(store, word)) <= most
        ]
        if words:
            text = " ".join(chance.sample(words, min(chance.choice((1, 2, 2, 3)), len(words))))
            yield text, _holding(store, text)


def _tells(word: str) -> bool:
    """Whether it is one word to a search: no stop word, no day, no compound."""
    asked = parse_query(word, NOW)
    return not asked.only_stop_words and [term.kind for term in asked.terms] == ["word"]


def _holding(store: Store, text: str) -> frozenset[str]:
    first, *others = (store.holding(term) for term in extract_terms(text))
    return first.intersection(*others)


def _case(family: str, found: Found, gold: frozenset[str], *, small: bool = False) -> Case:
    """The question as arrays: empty ones if there was nothing to rank."""
    every = found.evidence()
    rows = list(every.values())
    best = Evidence(*map(max, zip(*rows, strict=True)))
    words = len({term.spans[0] for term in found.question.terms if term.spans})

    def column(name: str) -> Array:
        return np.array([getattr(each, name) for each in rows], float)

    few = measure_smallness(found.corpus.records)
    return Case(
        family, small,
        _stretched(column("window")), _stretched(column("meaning_window")),
        _stretched(column("pooled")), column("names"), column("asks"), column("coverage"),
        best.exact, best.company, words,
        best.rare or (best.words > 0 and words <= _SHORT_WORDS_MAX),
        np.array([few if name == "few" else getattr(best, name) for name in JUDGED], float),
        np.array([record_id in gold for record_id in every], bool), len(gold),
        [(one.id in gold, one.score) for one in found.ranked()],
    )  # fmt: skip


def _stretched(values: Array) -> Array:
    """Each value's place between the lowest and the highest, as the ranking has it."""
    if not len(values):
        return values
    high = float(values.max())
    width = max(float(np.ptp(values)), SPREAD_MIN)
    return 1 - (high - values) / width if high > 0 else np.zeros_like(values)
