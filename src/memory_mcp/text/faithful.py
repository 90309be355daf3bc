"""Whether a text that a model wrote says what the texts it was made of say, and nothing else.

A model may be wrong, or obey what it was given to read. So its words count only if they are those
of its sources, in their order; a look at the words cannot tell more, and says no when in doubt.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from memory_mcp.domain.limits import CONTENT_CHARS_MAX, SUMMARY_CHARS_MAX

_GRAMMAR: Final = frozenset(
    """
    a an the and also of in on at is are am be been has have it its they their this that who which
    he his she her i my we our you your with
    """.split()  # noqa: SIM905  # a text that wraps reads better than a list of quotes
)
"""What may come and go. No negation, no tense, no "from" and "to": those turn a sentence round."""

_DENIALS: Final = frozenset(
    """
    not no never none neither nor nothing nobody without cannot unless except hardly
    nicht kein keine keinen keiner nie ohne sin nunca ni ne pas jamais sans non mai senza
    """.split()  # noqa: SIM905
)
_OPENERS: Final = frozenset(
    """
    a an the user assistant they he she it i we you both then after afterwards before finally first
    next later in on at with when while during this that these those there one another also
    """.split()  # noqa: SIM905
)
"""Words that name nobody although they have a capital: they open sentences."""

_NUMBERS: Final = frozenset(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty
    thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen
    """.split()  # noqa: SIM905
)
_TODAY: Final = frozenset({"today", "tonight", "yesterday", "tomorrow"})
_FIXED: Final = _GRAMMAR | _DENIALS | _NUMBERS | _TODAY
"""Words that have one form: "one" is no "on"."""

_FENCE: Final = re.compile(r"<\s*/?\s*memory", re.IGNORECASE)
_BEFORE: Final = "\"'([{«"
_BEHIND: Final = ".,;:!?\"')]}…»"
_QUOTES: Final = str.maketrans(dict(zip("\u2018\u2019\u201c\u201d\u2014", "''\"\" ", strict=True)))
_CAMEL: Final = re.compile(r"[^\W\d_]*[a-z][A-Z]")
_ENDINGS: Final = ("ing", "ies", "es", "s", "e", "y")
_STEM_CHARS_MIN: Final = 2
_SUBJECT_WORDS_MAX: Final = 12
"""How much of what two texts begin with in common may stand apart: whom or what they are about."""
_TRIES_MAX: Final = 64
"""Places looked at where a newer text may begin; only a text that repeats itself has more."""

_SHARED_MIN: Final = 0.5
"""How much of a summary's words must be the turns' own; the rest is how a summary is worded."""


class _Word(NamedTuple):
    """A word as it is compared; `exact` is what has no other form: a number, a name in code."""

    text: str
    exact: bool = False
    named: bool = False


def unfaithful(composed: str, old: str, new: str) -> str:
    """What is wrong with a text that was to be both, the newer where they differ; "" if nothing.

    It must hold the newer text word for word but for what the two begin with in common, and else
    only words of the older one, in its order. It loses no more of those than the newer one brings
    instead, and none if there is a denial among them.
    """
    if flaw := _misshapen(composed, CONTENT_CHARS_MAX):
        return flaw
    made, before, after = (_content(text) for text in (composed, old, new))
    if not set(made) <= {*before, *after}:
        return "it has words that are in neither text"
    if not set(after) <= set(made):
        return "it leaves out words of the newer text"
    lost, brought = set(before) - set(made), set(after) - set(before)
    for exact in (True, False):
        if sum(w.exact is exact for w in lost) > sum(w.exact is exact for w in brought):
            return "it leaves out more of the older text than the newer one replaces"
    if not any(_woven(rest, before) for rest in islice(_rests(made, before, after), _TRIES_MAX)):
        return "it puts the words together in another way"
    return ""


def invented(summary: str, turns: Sequence[str]) -> str:
    """What is wrong with a text that was to sum up these turns; "" if nothing.

    Names are known by their capitals: of a language without any, and of one without spaces, a look
    at the words tells less, or takes every summary for a bad one.
    """
    if flaw := _misshapen(summary, SUMMARY_CHARS_MAX):
        return flaw
    words = list(_words(summary))
    known = {word.text for turn in turns for word in _words(turn)}
    for word in words:
        if (word.exact or word.named or word.text in _NUMBERS) and word.text not in known:
            return "it has a name, number or address that is in none of the turns"
        if word.text in _TODAY:
            return "it names a day by its distance from today"
    told = {word.text for word in words} - _GRAMMAR
    if len(told & known) < _SHARED_MIN * len(told):
        return "most of its words are in none of the turns"
    return ""


def _misshapen(text: str, chars_max: int) -> str:
    if not text.strip():
        return "it is empty"
    if len(text) > chars_max:
        return f"it has more than {chars_max:,} characters"
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        return "it holds control characters or half a character"
    if _FENCE.search(text):
        return "it holds our own fence"
    return ""


def _rests(
    made: list[_Word], before: list[_Word], after: list[_Word]
) -> Iterator[list[tuple[int, _Word]]]:
    """What is left of a text, with its places, for each way to find the newer text in it."""
    if not after:
        yield list(enumerate(made))
    shared = set(before) - {word for word in before if word.text in _DENIALS}
    for start in range(min(len(after), _SUBJECT_WORDS_MAX)):
        if not set(after[:start]) <= shared:
            return
        whole = after[start:]
        for at in range(len(made) - len(whole) + 1):
            found = made[at] == whole[0] and made[at : at + len(whole)] == whole
            if found and _in_order(after[:start], made[:at]):
                left = list(enumerate(made))
                yield left[:at] + left[at + len(whole) :]


def _woven(rest: list[tuple[int, _Word]], before: list[_Word]) -> bool:
    """Whether this is the older text in its order, and in one piece if it denies something."""
    words = [word for _, word in rest]
    if not any(word.text in _DENIALS for word in before):
        return _in_order(words, before)
    places = [place for place, _ in rest]
    return words == before and places[-1] - places[0] == len(places) - 1


def _in_order(words: Sequence[_Word], whole: Sequence[_Word]) -> bool:
    left = iter(whole)
    return all(word in left for word in words)


def _content(text: str) -> list[_Word]:
    """The words that say something, as they are compared."""
    return [word._replace(named=False) for word in _words(text) if word.text not in _GRAMMAR]


def _words(text: str) -> Iterator[_Word]:
    for chunk in unicodedata.normalize("NFC", text).translate(_QUOTES).split():
        bare = chunk.lstrip(_BEFORE).rstrip(_BEHIND)
        if bare and bare != "-":
            yield from _parts(bare)


def _parts(bare: str) -> Iterator[_Word]:
    """The word, or the two that an apostrophe made one."""
    folded = bare.casefold().removesuffix("'s")
    if folded == "cannot" or folded.endswith("n't"):
        verb = folded.removesuffix("n't").removesuffix("not").removesuffix("n")
        yield _Word(_stem({"ca": "can", "wo": "will"}.get(verb, verb)))
        yield _Word("not")
    elif folded.replace("-", "").isalpha() and not _CAMEL.match(bare):
        yield _Word(_stem(folded), named=bare[0].isupper() and folded not in _OPENERS)
    else:
        yield _Word(bare, exact=True)


def _stem(word: str) -> str:
    """The word without what its forms differ in; not so its tense, which tells."""
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if word not in _FIXED and stem != word and len(stem) >= _STEM_CHARS_MIN:
            return word if stem in _FIXED else stem
    return word
