"""Whether two sentences of the same words say the same in another order.

"The API calls the worker" and "the worker calls the API" share every word. So only those moves
count that leave every role in place: a phrase with its preposition, the sides of "is", the items
of a list, and "tests are run" for "we run tests".
"""

from collections.abc import Sequence
from typing import Final

from memory_mcp.ingestion.figures import key_of
from memory_mcp.ingestion.vocabulary import ORDERED, STARTERS
from memory_mcp.ingestion.wording import Sentence, Word

__all__ = ["reordered"]

_STARTERS: Final = STARTERS | {"@i"}

_ORDERED: Final = ORDERED | frozenset(map(key_of, ORDERED))

Phrase = tuple[str, ...]


def reordered(new: Sentence, old: Sentence) -> bool:
    """Whether the same words stand in another order that says the same."""
    if sorted(new.keys) != sorted(old.keys) or new.copulas > 1 or old.copulas > 1:
        return False
    ours, theirs = _phrases(new.words), _phrases(old.words)
    if _inverted(new, old):
        return True
    if new.copulas + min(new.verbs, 1) > 1 or old.copulas + min(old.verbs, 1) > 1:
        return _passive(new, old)
    return _one_moved(ours, theirs) or _listed(ours, theirs, new) or _passive(new, old)


def _phrases(words: Sequence[Word]) -> list[Phrase]:
    """The words in groups that move together."""
    found: list[list[str]] = []
    verb = False
    for word in words:
        starts = word.apart or word.kind in ("preposition", "verb") or word.key in _STARTERS
        if not found or starts or (verb and word.kind != "verb"):
            found.append([])
        found[-1].append(word.key)
        verb = word.kind == "verb"
    return [tuple(each) for each in found]


def _inverted(new: Sentence, old: Sentence) -> bool:
    """PostgreSQL 16 is the database, the database is PostgreSQL 16."""
    if new.copulas != 1 or old.copulas != 1 or new.verbs or old.verbs:
        return False
    keys, at, other = new.keys, new.predicate or 0, old.predicate or 0
    if any(word.kind == "preposition" for word in new.words):
        return False
    return keys[at:] == old.keys[:other] and keys[:at] == old.keys[other:] and at > 0


def _one_moved(ours: list[Phrase], theirs: list[Phrase]) -> bool:
    """One phrase that begins with a preposition (or "every") moved to the front, or from it."""
    if sorted(ours) != sorted(theirs):
        return False
    for phrase in {each for each in ours if each[0] in STARTERS}:
        if [each for each in ours if each != phrase] == [each for each in theirs if each != phrase]:
            return phrase in (ours[0], theirs[0])
    return False


def _listed(ours: list[Phrase], theirs: list[Phrase], new: Sentence) -> bool:
    """The items of a list in another order, where order says nothing."""
    if not new.listed or sorted(ours) != sorted(theirs):
        return False
    places = [at for at, one in enumerate(ours) if one != theirs[at]]
    if places[-1] - places[0] >= len(places):
        return False
    moved = [ours[at] for at in places]
    verbs = {word.key for word in new.words if word.kind == "verb"}
    keys = {key for each in ours for key in each}
    return not (keys & _ORDERED or {key for each in moved for key in each} & (STARTERS | verbs))


def _passive(new: Sentence, old: Sentence) -> bool:
    """We run the tests with pytest, the tests are run with pytest."""
    if new.spoken_by_us == old.spoken_by_us:
        return False
    active, passive = (new, old) if new.spoken_by_us else (old, new)
    if passive.copulas != 1 or active.copulas:
        return False
    ours, theirs = _phrases(active.words), _phrases(passive.words)
    after = [each for each in ours if each[0] in STARTERS]
    return after == [each for each in theirs if each[0] in STARTERS]
