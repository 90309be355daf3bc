"""Whether a text that is to take the place of an older one still holds what was to be kept."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from memory_mcp.ingestion.sentences import sentences, words_alone
from memory_mcp.ingestion.wording import Word, read

__all__ = ["keeps", "replaced_value"]

_TELLING_CHARS_MIN: Final = 4
"""A shorter word is mostly a little one."""
_KEPT_MIN: Final = 0.7
"""The share of its telling words by which a sentence is still there, in other words."""
_LITTLE: Final = ("preposition", "join")
_VALUES: Final = ("value", "identifier", "name")


def keeps(old: str, text: str) -> bool:
    """Whether each sentence of the old text is still in the other one, with its figures and names.

    Other words may have been chosen for the rest of it.
    """
    there = set(words_alone(text).split())
    known = {word.key for word in _words(text)}
    for said in sentences(old):
        telling = {word for word in words_alone(said).split() if len(word) >= _TELLING_CHARS_MIN}
        if len(telling & there) < _KEPT_MIN * len(telling):
            return False
        if any(word.kind in _VALUES and word.key not in known for word in read(said).words):
            return False
    return True


def replaced_value(old: str, text: str) -> str | None:
    """The one value of the old text that gave way to another; "" if all of it is in the other one.

    None if anything else is missing, or nothing stands in its place: that would be lost with it.
    """
    before, after = _words(old), _words(text)
    if not all(read(said).words for said in sentences(old)):
        return None  # a list or a log: nobody can tell what is missing
    known, there = {word.key for word in before}, {word.key for word in after}
    missing = [
        at for at, word in enumerate(before) if word.kind not in _LITTLE and word.key not in there
    ]
    if not missing:
        return ""
    if not _is_one_value([before[at] for at in missing], missing):
        return None
    keys = [word.key for word in before]
    matcher = SequenceMatcher(None, keys, [word.key for word in after], autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what == "replace" and i <= missing[0] and missing[-1] < j:
            brought = any(w.kind not in _LITTLE and w.key not in known for w in after[k:m])
            return " ".join(before[at].said for at in missing) if brought else None
    return None


def _is_one_value(words: Sequence[Word], places: Sequence[int]) -> bool:
    """Whether these are one word, or names and figures that stand side by side as one."""
    if len(words) == 1:
        return True
    adjacent = all(other == one + 1 for one, other in pairwise(places))
    named = all(word.kind in _VALUES for word in words)
    return adjacent and named and not any(word.apart for word in words[1:])


def _words(text: str) -> list[Word]:
    return [word for said in sentences(text) for word in read(said).words]
