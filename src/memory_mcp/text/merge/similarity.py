"""Scores how likely two statements state the same fact, and rules it out by their form.

Words and meaning make the score; the form bounds it. "The staging key is rotated" and "the
production key is rotated" are as near in meaning as two sentences get. Where the rule
(`compare_facts`) sees two facts, no nearness lifts the score, and where it cannot tell, the score
never decides alone. Which score leads to which decision says `decision.choose_band`.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Final

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.domain.normalise import folded
from memory_mcp.text.merge.compare import LESS, SAME, compare_if_near, compare_sentences
from memory_mcp.text.merge.doubts import compare_titles
from memory_mcp.text.merge.lexicon import lexicon
from memory_mcp.text.merge.reading import Sentence, read_sentence
from memory_mcp.text.sentences import split_sentences

SENTENCES_MAX: Final = 12
TEXT_CHARS_MAX: Final = 3_000
"""A longer memory is a document: nothing is said of it sentence by sentence."""

WORDS_ONLY: Final = (-3.86, 2.48, 3.98)
WITH_MEANING: Final = (-4.95, 1.98, 3.47, 2.43)
"""Constant, what is shared, containment, cosine: fitted by benchmarks/pairs.py."""

DIFFERENT_MAX: Final = 0.25
"""Below every band: two things are never one because they are told alike."""
UNSURE_MAX: Final = 0.84
"""Below `Merging.auto_update`: what the rule cannot tell is never settled by nearness alone."""
PATTERN_MIN: Final = 0.5
"""Sentences that share half of their words tell of two things in the same way."""
SHARED_MIN: Final = 3
"""Words that two of several sentences must share, if one is not all of the other."""
_LITTLE_WEIGHT: Final = 0.25
_PRONOUNS: Final = frozenset(
    ("he", "she", "it", "they", "this", "that", "these", "er", "sie", "es")
)


@dataclass(frozen=True)
class Statement:
    """A text as stored, and its terms as the search index has them (in order)."""

    text: str
    terms: tuple[str, ...]


def score_similarity(new: Statement, old: Statement, cosine: float | None) -> float:
    """How likely both state the same fact, in 0-1; `cosine` is that of the pooled vectors."""
    if _is_equal(new.text, old.text):
        return 1.0
    found = measure_overlap(new, old)
    weights = WORDS_ONLY if cosine is None else WITH_MEANING
    given = (1.0, *found) if cosine is None else (1.0, *found, cosine)
    logit = sum(weight * value for weight, value in zip(weights, given, strict=True))
    score = 1 / (1 + math.exp(-logit))
    match compare_facts(new, old):
        case Different():
            return min(score, DIFFERENT_MAX)
        case Unsure():
            return min(score, UNSURE_MAX)
        case _:
            return score


def measure_overlap(new: Statement, old: Statement) -> tuple[float, float]:
    """How much they share, and how much of the shorter one the longer one holds; both in 0-1.

    A figure counts as any other one, and a word that the search's stems unite counts as one. Of
    more sentences than the other text has, those count that are most like its own.
    """
    if _is_long(new.text) or _is_long(old.text):
        return _overlap(new.terms, old.terms), _containment(new.terms, old.terms)
    few, many = sorted((_frames(new.text), _frames(old.text)), key=len)
    if 0 < len(few) < len(many):
        many = tuple({max(many, key=partial(_overlap, one)): None for one in few})
    ours, theirs = (list(chain.from_iterable(each)) for each in (few, many))
    shared = max(_overlap(new.terms, old.terms), _overlap(ours, theirs))
    return shared, _containment(ours, theirs)


def _frame(text: str) -> tuple[str, ...]:
    """The words of a text, every value by what it measures alone."""
    return tuple(chain.from_iterable(_frames(text)))


@lru_cache(maxsize=256)
def _frames(text: str) -> tuple[tuple[str, ...], ...]:
    """The frame of each sentence."""
    return tuple(
        tuple(f"@{w.measures}" if w.kind == "value" else w.key for w in read_sentence(said).words)
        for said in _split_cached(text)
    )


def _overlap(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Dice's coefficient; little words count little."""
    mine, other = Counter(ours), Counter(theirs)
    whole = _weight(mine) + _weight(other)
    return 2 * _weight(mine & other) / whole if whole else 0.0


def _containment(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Which share of the shorter one's words the longer one has."""
    mine, other = Counter(ours), Counter(theirs)
    return _weight(mine & other) / (min(_weight(mine), _weight(other)) or 1.0)


@cache
def _little() -> frozenset[str]:
    """Words that say little by themselves."""
    known = lexicon()
    little = known.copulas | known.dropped | known.prepositions | known.we
    return little | {"i", "my", "user", "be"}


def _weight(words: Counter[str]) -> float:
    little = _little()
    return sum(count * (_LITTLE_WEIGHT if word in little else 1.0) for word, count in words.items())


def compare_facts(new: Statement, old: Statement) -> Verdict:
    """Whether both state the same fact, by their form alone; careful to say no."""
    return _compare_texts(new.text, old.text)


@lru_cache(maxsize=64)
def _compare_texts(new: str, old: str) -> Verdict:
    if _is_equal(new, old):
        return Restated("the same text")
    if titled := compare_titles(new, old):
        return titled
    if _is_long(new) or _is_long(old):
        return Unsure("too long to compare sentence by sentence")
    ours, theirs = _split_cached(new), _split_cached(old)
    if not (ours and theirs):
        return Unsure("nothing to compare")
    if len(ours) == len(theirs) == 1:
        return compare_sentences(read_sentence(ours[0]), read_sentence(theirs[0]))
    return _compare_several(ours, theirs)


def _is_equal(one: str, other: str) -> bool:
    """Whether both are the same statement; a document is only if it is so to the letter."""
    if one == other or max(len(one), len(other)) > TEXT_CHARS_MAX:
        return one == other
    return folded(one) == folded(other)


def _is_long(text: str) -> bool:
    """Whether it is a document rather than a statement."""
    return len(text) > TEXT_CHARS_MAX or len(_split_cached(text)) > SENTENCES_MAX


@lru_cache(maxsize=256)
def _split_cached(text: str) -> tuple[str, ...]:
    return tuple(split_sentences(text))


def _compare_several(ours: Sequence[str], theirs: Sequence[str]) -> Verdict:
    """Texts of several sentences: each of the new one finds its like in the old one."""
    pairs = [
        [compare_if_near(read_sentence(one), read_sentence(other)) for other in theirs]
        for one in ours
    ]
    same = [
        [_is_one_fact(verdict, one, other) for verdict, other in zip(verdicts, theirs, strict=True)]
        for verdicts, one in zip(pairs, ours, strict=True)
    ]
    for at, verdicts in enumerate(pairs):
        for other, verdict in enumerate(verdicts):
            if (
                not any(same[at])
                and isinstance(verdict, Different)
                and _has_same_pattern(ours[at], theirs[other])
            ):
                return verdict
    new_left = [at for at, row in enumerate(same) if not any(row)]
    old_left = [
        n
        for n in range(len(theirs))
        if not any(same[at][n] and pairs[at][n] != Restated(LESS) for at in range(len(ours)))
    ]
    leans = _begins_with_pronoun(read_sentence(ours[0])) and not same[0][0]
    if reason := _find_one_sided([theirs[n] for n in old_left], more=bool(new_left), leans=leans):
        return Unsure(reason)
    found = [verdict for row in pairs for verdict in row]
    for verdict in found:
        if isinstance(verdict, Updated):
            return verdict
    if new_left:
        return Extended("it says more")
    return next((one for one in found if isinstance(one, Extended)), Restated(SAME))


def _is_one_fact(verdict: Verdict, one: str, other: str) -> bool:
    """Whether two sentences are one fact: not "Yes" and "yes, and the log too"."""
    if isinstance(verdict, Different | Unsure):
        return False
    shared = set(_frame(one)) & set(_frame(other))
    return len(shared) >= SHARED_MIN or verdict == Restated(SAME)


def _has_same_pattern(one: str, other: str) -> bool:
    """Whether two sentences are of one pattern, so that their difference is one of subjects."""
    return _overlap(_frame(one), _frame(other)) >= PATTERN_MIN


def _find_one_sided(left: Sequence[str], *, more: bool, leans: bool) -> str:
    """Why nothing can be said of what only one of two texts says; `left` is the old one's."""
    if more and left:
        return "each says something that the other does not"
    if any(map(_takes_back, left)):
        return "it leaves out what limits the rest"
    return "it begins with a pronoun" if left and leans else ""


def _takes_back(sentence: str) -> bool:
    """Whether a sentence takes something back from those before it: "But not in December"."""
    first = sentence.split(maxsplit=1)[0].casefold().strip(",;:")
    return first in lexicon().limits or first in lexicon().negations


def _begins_with_pronoun(sentence: Sentence) -> bool:
    """Whether a sentence begins with a word that means what was said before it."""
    return bool(sentence.words) and sentence.words[0].key in _PRONOUNS
