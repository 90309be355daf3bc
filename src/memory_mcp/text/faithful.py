"""Checks that a text which a model composed says what its sources say, and nothing else.

A model may be wrong, or obey what it reads. So its text is accepted only if its words are those of
the sources, in their order. When in doubt the answer is no.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from memory_mcp.domain.limits import CONTENT_CHARS_MAX, SUMMARY_CHARS_MAX
from memory_mcp.patterns import compile_later
from memory_mcp.text.tables import load_table

_FENCE: Final = compile_later(r"<\s*/?\s*memory", re.IGNORECASE)
_OPENING: Final = "\"'([{«"
_CLOSING: Final = ".,;:!?\"')]}…»"
_QUOTES: Final = str.maketrans(dict(zip("\u2018\u2019\u201c\u201d\u2014", "''\"\" ", strict=True)))
_CAMEL: Final = compile_later(r"[^\W\d_]*[a-z][A-Z]")
_ENDINGS: Final = ("ing", "ies", "es", "s", "e", "y")
_STEM_CHARS_MIN: Final = 2
_SUBJECT_WORDS_MAX: Final = 12
"""The longest common beginning of two texts that may stand apart: their subject."""
_PLACES_MAX: Final = 64
"""Places looked at where a newer text may begin; only a text that repeats itself has more."""

_SHARED_MIN: Final = 0.5
"""The share of a summary's words that must be in the turns."""


@cache
def _words(name: str) -> frozenset[str]:
    """The list of that name in `data/faithful.toml`."""
    return frozenset(load_table("faithful")["words"][name].split())


@cache
def _invariable_words() -> frozenset[str]:
    """Words that have one form: "one" is no form of "on"."""
    return _words("grammar") | _words("denials") | _words("numbers") | _words("relative_days")


class _Word(NamedTuple):
    """A word as it is compared; `exact` is what has no other form: a number, a name in code."""

    text: str
    exact: bool = False
    named: bool = False


def find_merge_flaw(composed: str, old: str, new: str) -> str:
    """Why a text is not both of these, the newer one where they differ; "" if it is.

    It must hold the newer text word for word but for what the two begin with in common, and else
    only words of the older one, in its order. It loses no more of those than the newer one brings
    instead, and none if there is a denial among them.
    """
    if flaw := _find_form_flaw(composed, CONTENT_CHARS_MAX):
        return flaw
    composed_words, before, after = (_read_content(text) for text in (composed, old, new))
    if not set(composed_words) <= {*before, *after}:
        return "it has words that are in neither text"
    if not set(after) <= set(composed_words):
        return "it leaves out words of the newer text"
    lost, brought = set(before) - set(composed_words), set(after) - set(before)
    for exact in (True, False):
        if sum(w.exact is exact for w in lost) > sum(w.exact is exact for w in brought):
            return "it leaves out more of the older text than the newer one replaces"
    if not any(
        _is_older_text(rest, before)
        for rest in islice(_remove_newer(composed_words, before, after), _PLACES_MAX)
    ):
        return "it puts the words together in another way"
    return ""


def find_summary_flaw(
    summary: str, turns: Sequence[str], chars_max: int = SUMMARY_CHARS_MAX
) -> str:
    """Why a text is no summary of these turns; "" if it is one.

    Names are recognised by their capitals, so languages without capitals or spaces are checked
    less well, or every summary is refused.
    """
    if flaw := _find_form_flaw(summary, chars_max):
        return flaw
    words = list(_split_words(summary))
    known = {word.text for turn in turns for word in _split_words(turn)}
    for word in words:
        if (word.exact or word.named or word.text in _words("numbers")) and word.text not in known:
            return "it has a name, number or address that is in none of the turns"
        if word.text in _words("relative_days"):
            return "it names a day by its distance from today"
    content = {word.text for word in words} - _words("grammar")
    if len(content & known) < _SHARED_MIN * len(content):
        return "most of its words are in none of the turns"
    return ""


def _find_form_flaw(text: str, chars_max: int) -> str:
    if not text.strip():
        return "it is empty"
    if len(text) > chars_max:
        return f"it has more than {chars_max:,} characters"
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        return "it holds control characters or half a character"
    if _FENCE.search(text):
        return "it holds our own fence"
    return ""


def _remove_newer(
    composed_words: list[_Word], before: list[_Word], after: list[_Word]
) -> Iterator[list[tuple[int, _Word]]]:
    """The words that are left, with their places, for each way to find the newer text in it."""
    if not after:
        yield list(enumerate(composed_words))
    shared = set(before) - {word for word in before if word.text in _words("denials")}
    for start in range(min(len(after), _SUBJECT_WORDS_MAX)):
        if not set(after[:start]) <= shared:
            return
        whole = after[start:]
        for at in range(len(composed_words) - len(whole) + 1):
            found = composed_words[at] == whole[0] and composed_words[at : at + len(whole)] == whole
            if found and _is_in_order(after[:start], composed_words[:at]):
                left = list(enumerate(composed_words))
                yield left[:at] + left[at + len(whole) :]


def _is_older_text(rest: list[tuple[int, _Word]], before: list[_Word]) -> bool:
    """Whether these words are the older text in its order, and adjacent if it denies something."""
    words = [word for _, word in rest]
    if not any(word.text in _words("denials") for word in before):
        return _is_in_order(words, before)
    places = [place for place, _ in rest]
    return words == before and places[-1] - places[0] == len(places) - 1


def _is_in_order(words: Sequence[_Word], whole: Sequence[_Word]) -> bool:
    left = iter(whole)
    return all(word in left for word in words)


def _read_content(text: str) -> list[_Word]:
    """The words without those of grammar."""
    return [
        word._replace(named=False)
        for word in _split_words(text)
        if word.text not in _words("grammar")
    ]


def _split_words(text: str) -> Iterator[_Word]:
    for chunk in unicodedata.normalize("NFC", text).translate(_QUOTES).split():
        bare = chunk.lstrip(_OPENING).rstrip(_CLOSING)
        if bare and bare != "-":
            yield from _split_contraction(bare)


def _split_contraction(bare: str) -> Iterator[_Word]:
    """The word, or the two that an apostrophe made one."""
    folded = bare.casefold().removesuffix("'s")
    if folded == "cannot" or folded.endswith("n't"):
        verb = folded.removesuffix("n't").removesuffix("not").removesuffix("n")
        yield _Word(_stem({"ca": "can", "wo": "will"}.get(verb, verb)))
        yield _Word("not")
    elif folded.replace("-", "").isalpha() and not _CAMEL.match(bare):
        yield _Word(_stem(folded), named=bare[0].isupper() and folded not in _words("openers"))
    else:
        yield _Word(bare, exact=True)


def _stem(word: str) -> str:
    """The word without its inflection; its tense stays, because it says something."""
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if word not in _invariable_words() and stem != word and len(stem) >= _STEM_CHARS_MIN:
            return word if stem in _invariable_words() else stem
    return word
