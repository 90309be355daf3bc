"""Scores how likely two statements state the same fact, and compares them by their form.

Words and meaning make the score; the form bounds it. "The staging key is rotated" and "the
production key is rotated" are as near in meaning as two sentences get. Where `compare_facts` sees
two facts no nearness lifts the score, and where it cannot tell the score never decides alone.
`choose_band` says which score leads to which decision.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Final

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.domain.normalise import fold
from memory_mcp.frozen import frozen
from memory_mcp.text.merge.compare import LESS, SAME, compare_if_near, compare_sentences
from memory_mcp.text.merge.reading import read_sentence, words
from memory_mcp.text.merge.vetoes import compare_titles
from memory_mcp.text.sentences import split_sentences
from memory_mcp.text.tables import load_pattern, matches

_SENTENCES_MAX: Final = 12
_TEXT_CHARS_MAX: Final = 3_000
"""A longer memory is a document: it is not compared sentence by sentence."""

WORDS_ONLY: Final = (-3.86, 2.48, 3.98)
WITH_MEANING: Final = (-4.95, 1.98, 3.47, 2.43)
"""Weights of a constant, overlap, containment, cosine: fitted by benchmarks/pairs.py."""

_DIFFERENT_MAX: Final = 0.25
"""Below every band: two things never become one because they are worded alike."""
UNSURE_MAX: Final = 0.84
"""Below `MergePolicy.auto_update`: where the form cannot tell, nearness alone never decides."""
_PATTERN_MIN: Final = 0.5
"""Sentences that share half of their words speak of two things in the same way."""
_SHARED_MIN: Final = 3
"""Words that two of several sentences must share, if they are not the same."""
_LITTLE_WEIGHT: Final = 0.25


@frozen
class Statement:
    """A text as stored, and its terms as the search index has them (in order)."""

    text: str
    terms: tuple[str, ...]


def score_similarity(new: Statement, old: Statement, cosine: float | None) -> float:
    """How likely both state the same fact, in 0-1; `cosine` is that of the pooled vectors."""
    if _is_equal(new.text, old.text):
        return 1.0
    overlap = measure_overlap(new, old)
    weights = WORDS_ONLY if cosine is None else WITH_MEANING
    values = (1.0, *overlap) if cosine is None else (1.0, *overlap, cosine)
    logit = sum(weight * value for weight, value in zip(weights, values, strict=True))
    score = 1 / (1 + math.exp(-logit))
    match compare_facts(new, old):
        case Different():
            return min(score, _DIFFERENT_MAX)
        case Unsure():
            return min(score, UNSURE_MAX)
        case _:
            return score


def measure_overlap(new: Statement, old: Statement) -> tuple[float, float]:
    """How much they share, and how much of the shorter one the longer one holds; both in 0-1.

    All figures of a dimension count as one word. Of more sentences than the other text has, those
    count that are most like its own.
    """
    in_terms, held = _share_words(new.terms, old.terms)
    if _is_document(new.text) or _is_document(old.text):
        return in_terms, held
    few, many = sorted((_read_frames(new.text), _read_frames(old.text)), key=len)
    if 0 < len(few) < len(many):
        many = tuple({max(many, key=partial(_overlap, one)): None for one in few})
    in_frames, held = _share_words([*chain(*few)], [*chain(*many)])
    return max(in_terms, in_frames), held


@lru_cache(maxsize=256)
def _read_frames(text: str) -> tuple[tuple[str, ...], ...]:
    """The keys of the words of each sentence, every value replaced by its dimension."""
    return tuple(
        tuple(
            f"@{word.dimension}" if word.kind == "value" else word.key
            for word in read_sentence(sentence).words
        )
        for sentence in _split_sentences(text)
    )


def _read_frame(text: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(_read_frames(text)))


def _overlap(ours: Sequence[str], theirs: Sequence[str]) -> float:
    return _share_words(ours, theirs)[0]


def _share_words(ours: Sequence[str], theirs: Sequence[str]) -> tuple[float, float]:
    """Dice's coefficient, and which share of the shorter one's words the longer one has.

    Little words count little.
    """
    mine, other = _weigh(ours), _weigh(theirs)
    shared = sum(min(weight, other[word]) for word, weight in mine.items() if word in other)
    ours_weigh, theirs_weigh = sum(mine.values()), sum(other.values())
    total = ours_weigh + theirs_weigh
    return 2 * shared / total if total else 0.0, shared / (min(ours_weigh, theirs_weigh) or 1.0)


@cache
def _little_words() -> frozenset[str]:
    little = words("copulas") | words("dropped") | words("prepositions") | words("we")
    return little | {"i", "my", "user", "be"}


def _weigh(found: Sequence[str]) -> dict[str, float]:
    """Each word with what all of it counts."""
    little, weights = _little_words(), dict[str, float]()
    for word in found:
        weights[word] = weights.get(word, 0.0) + (_LITTLE_WEIGHT if word in little else 1.0)
    return weights


def compare_facts(new: Statement, old: Statement) -> Verdict:
    """Whether both state the same fact, by their form alone; a doubt is a no."""
    return _compare_texts(new.text, old.text)


@lru_cache(maxsize=64)
def _compare_texts(new: str, old: str) -> Verdict:
    if _is_equal(new, old):
        return Restated("the same text")
    if titled := compare_titles(new, old):
        return titled
    if reason := _find_unread(new) or _find_unread(old):
        return Unsure(reason)
    ours, theirs = _split_sentences(new), _split_sentences(old)
    if not (ours and theirs):
        return Unsure("nothing to compare")
    if len(ours) == len(theirs) == 1:
        return compare_sentences(read_sentence(ours[0]), read_sentence(theirs[0]))
    return _compare_several(ours, theirs)


def _find_unread(text: str) -> str:
    """Why a text is not compared by its words, or ""."""
    if _is_document(text):
        return "too long to compare sentence by sentence"
    return "with another literal code does something else" * matches("truths", "code", text)


def _is_equal(one: str, other: str) -> bool:
    """Whether both are the same statement; documents are only if they are so to the letter."""
    if one == other or max(len(one), len(other)) > _TEXT_CHARS_MAX:
        return one == other
    return fold(one) == fold(other)


def _is_document(text: str) -> bool:
    return len(text) > _TEXT_CHARS_MAX or len(_split_sentences(text)) > _SENTENCES_MAX


@lru_cache(maxsize=256)
def _split_sentences(text: str) -> tuple[str, ...]:
    return tuple(split_sentences(text))


def _compare_several(ours: Sequence[str], theirs: Sequence[str]) -> Verdict:
    """The verdict on texts of several sentences: each new one looks for its like in the old text.

    The first verdict in this order holds: another subject, something that only one of them says,
    an update, an addition.
    """
    verdicts = [
        [compare_if_near(read_sentence(one), read_sentence(other)) for other in theirs]
        for one in ours
    ]
    same = [
        [_is_one_fact(verdicts[n][m], ours[n], theirs[m]) for m in range(len(theirs))]
        for n in range(len(ours))
    ]
    for n, row in enumerate(verdicts):
        for m, verdict in enumerate(row):
            if (
                not any(same[n])
                and isinstance(verdict, Different)
                and _overlap(_read_frame(ours[n]), _read_frame(theirs[m])) >= _PATTERN_MIN
            ):
                return verdict
    unrepeated = [
        theirs[m]
        for m in range(len(theirs))
        if not any(same[n][m] and verdicts[n][m] != Restated(LESS) for n in range(len(ours)))
    ]
    added = [ours[n] for n in range(len(ours)) if not any(same[n])]
    if any(map(_limits, added)):
        return Unsure("it adds what limits the rest")
    begins_alike = same[0][0]
    if reason := _find_omission(ours[0], unrepeated, says_more=bool(added), alike=begins_alike):
        return Unsure(reason)
    flat = [verdict for row in verdicts for verdict in row]
    if update := next((each for each in flat if isinstance(each, Updated)), None):
        return update
    if added:
        return Extended("it says more")
    return next((each for each in flat if isinstance(each, Extended)), Restated(SAME))


def _find_omission(first: str, unrepeated: Sequence[str], *, says_more: bool, alike: bool) -> str:
    """Why the old sentences that the new text does not repeat leave the verdict open, or ""."""
    if says_more and unrepeated:
        return "each says something that the other does not"
    if any(map(_limits, unrepeated)):
        return "it leaves out what limits the rest"
    keys = read_sentence(first).keys[:1]
    if unrepeated and not alike and keys and keys[0] in words("pronouns"):
        return "it begins with a pronoun"
    return ""


def _is_one_fact(verdict: Verdict, one: str, other: str) -> bool:
    """Whether two sentences are one fact: not "Yes" and "yes, and the log too"."""
    if isinstance(verdict, Different | Unsure):
        return False
    shared = set(_read_frame(one)) & set(_read_frame(other))
    return len(shared) >= _SHARED_MIN or verdict == Restated(SAME)


def _limits(sentence: str) -> bool:
    """Whether it takes something back from those before it, or says where they hold.

    "But not in December", "This holds for guests", "That is the free plan".
    """
    first = sentence.split(maxsplit=1)[0].casefold().strip(",;:")
    limits = first in words("limits") or first in words("negations")
    return limits or load_pattern("merge", "says_where").match(sentence) is not None
