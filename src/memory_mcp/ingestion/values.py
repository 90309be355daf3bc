"""Which value may take the place of another one: of what there is only one at a time.

"We use Python 3.11" becomes 3.12, "we support Python 3.11" does not. "The standup is on Mondays"
moves to Tuesday, "I play tennis on Mondays" may do both. What happened once happens anew.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from memory_mcp.ingestion.figures import key_of
from memory_mcp.ingestion.vocabulary import (
    ADJECTIVE,
    FUNCTIONAL,
    FUNCTIONAL_IF_IS,
    LABELLED,
    ONE_DAY,
    RANKED,
    RECURRING,
    REFERENCES,
    ROLES,
    SCHEDULED,
    TOGGLES,
)
from memory_mcp.ingestion.wording import Sentence, Word

__all__ = ["Slot", "is_newer", "is_other", "is_toggle", "measures"]

_RECURRING: Final = RECURRING | frozenset(map(key_of, RECURRING))
_REFERENCES: Final = REFERENCES | frozenset(map(key_of, REFERENCES))
_MATRICES: Final = frozenset(
    map(key_of, ("ci", "test", "tests", "pipeline", "matrix", "suite", "tox", "nox", "workflow"))
)
"""They run on several versions at once."""
_DEFINITE: Final = re.compile(
    r"(?:the|my|our|its|der|die|das|mein|meine|unser|unsere)\b|\w+['\u2019]s?\s", re.IGNORECASE
)
_DATE: Final = re.compile(r"(?:19|20)\d\d-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]|\d{1,2}-\d|\d+/\d")
_HOST: Final = re.compile(r"\d+(?:\.\d+){3}")
_PORT: Final = re.compile(r":\d+(?!\w)|(?<![^\W_])@?v?\d+(?:\.\d+)+(?![\w.])")
_ORDERS: Final = frozenset({"set", "put", "give", "pick", "choose", "configure", "bump", "lower"})
_RANGES: Final = frozenset({"to", "bis", "through", "until", "between", "from", "von"})
_ARE: Final = re.compile(r"\b(?:are|sind|were|waren)\b", re.IGNORECASE)
_INDEFINITE: Final = ("a", "an", "ein", "eine", "einem", "einer")
_SOME: Final = frozenset({"another", "other", "some", "one", "many", "most"})
_BOUNDS: Final = frozenset(("later", "newer", "above", "minimum", "least", "most", "latest"))
_NAME_WORDS_MAX: Final = 2
_WHEN: Final = frozenset({"day", "clock"})
_TOGGLES: Final = {key_of(word): groups for word, groups in TOGGLES.items()}
_RANKED: Final = frozenset(map(key_of, RANKED))
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_ONE_DAY: Final = ONE_DAY | frozenset(map(key_of, ONE_DAY))
_SCHEDULED: Final = frozenset(map(key_of, SCHEDULED))
_LABELLED: Final = frozenset(map(key_of, LABELLED))
_FUNCTIONAL: Final = tuple(tuple(map(key_of, form)) for form in FUNCTIONAL)
_IF_IS: Final = tuple(tuple(map(key_of, form)) for form in FUNCTIONAL_IF_IS)


class Slot(NamedTuple):
    """A place where two sentences part: the words of each, and where they stand."""

    old: Sequence[Word]
    new: Sequence[Word]
    at_old: int
    at_new: int


def measures(words: Sequence[Word]) -> set[str]:
    """What the values among the words measure."""
    return {word.measures for word in words if word.kind == "value"}


def is_newer(slot: Slot, new: Sentence, old: Sentence) -> bool:
    """Whether a figure or day took the place of another one, in the predicate of one thing."""
    if new.event or not (_is_value(slot) and _is_said_of_one(slot, old)):
        return False
    if is_subjectless(old) or _is_range(slot, old) or _is_other_unit(slot):
        return False
    if _is_listed(slot, old) or _is_other_host(slot):
        return False
    if measures(slot.new) & _WHEN:
        return _is_scheduled(slot, old)
    return not _is_label(slot, old) or _has_one(old)


def _is_value(slot: Slot) -> bool:
    """Whether values of the same dimension stand there, behind the same prepositions."""
    plain = all(word.kind in ("value", "preposition") for word in (*slot.old, *slot.new))
    alike = measures(slot.old) == measures(slot.new) != set()
    return plain and alike and _prepositions(slot.old) == _prepositions(slot.new)


def _is_said_of_one(slot: Slot, old: Sentence) -> bool:
    """Whether the value is said of a subject that is one, and is not itself a name."""
    if old.predicate is None or not 0 < slot.at_old >= old.predicate:
        return False
    named = _is_told_of(slot, old) or old.words[slot.at_old - 1].key in _REFERENCES
    return _is_single(old) and not named


def _is_told_of(slot: Slot, old: Sentence) -> bool:
    """Whether a verb follows: "build 411 takes 3 minutes" is about build 411."""
    for word in old.words[slot.at_old + len(slot.old) :]:
        if word.kind == "verb" or word.copula:
            return True
        if word.apart or word.kind == "join":
            return False
    return False


def _is_scheduled(slot: Slot, old: Sentence) -> bool:
    """Whether a day or hour is the one of a thing, and not one of several, nor a condition."""
    if old.past and not any(word.key == key_of("planned") for word in old.words):
        return False
    others = [word for word in old.words if word.kind == "value" and word not in slot.old]
    if any(word.measures not in _WHEN for word in others):
        return False
    if any({word.key, word.said.casefold()} & _RECURRING for word in old.words):
        return False
    dated = all(_DATE.match(word.key) for word in slot.old if word.kind == "value")
    if not (dated or _DEFINITE.match(old.text.strip())):
        return False
    if all(_YEAR.fullmatch(word.key) for word in slot.old):  # as likely a figure
        return old.copulas > 0
    return any(word.key in _SCHEDULED or word.key in _ONE_DAY for word in old.words)


def is_subjectless(sentence: Sentence) -> bool:
    """Whether nobody is named of whom it holds: "Use port 80", "Meet Anna at 10:00"."""
    if sentence.spoken_by_us:
        return False
    if sentence.predicate in (None, 0):
        return True
    first = sentence.words[0]
    ordered = first.kind == "verb" or first.said.casefold() in _ORDERS
    return ordered and not (first.article or sentence.copulas or first.said.endswith("s"))


def _is_range(slot: Slot, old: Sentence) -> bool:
    """Whether a value is one end of a range: opening hours may have two of them."""
    before, after = old.words[: slot.at_old], old.words[slot.at_old + len(slot.old) :]
    several = sum(word.kind == "value" for word in slot.old) > 1
    begins = len(after) > 1 and after[0].key in _RANGES and after[1].kind == "value"
    ends = len(before) > 1 and before[-1].key in _RANGES and before[-2].kind == "value"
    return several or begins or ends


def _is_other_unit(slot: Slot) -> bool:
    """Whether the unit alone differs, or the money."""
    for one, other in zip(slot.old, slot.new, strict=False):
        (number, _, unit), (now, _, other_unit) = one.key.partition(" "), other.key.partition(" ")
        if unit != other_unit and (number == now or one.measures == "money"):
            return True
    return False


def _is_listed(slot: Slot, old: Sentence) -> bool:
    """Whether several stand side by side: "DNS servers are 1.1.1.1", what CI runs on."""
    subject = old.words[: old.predicate]
    said = slot.old[0]
    many = said.copula and bool(_ARE.search(old.text))
    runs = any(word.key == "run" for word in old.words)
    return many or (runs and any(word.key in _MATRICES for word in subject))


def _is_other_host(slot: Slot) -> bool:
    """Whether an address became another one, and not another port of it."""
    hosts = [[_HOST.match(word.said) for word in side] for side in (slot.old, slot.new)]
    found = [[each.group() for each in side if each] for side in hosts]
    return found[0] != found[1]


def _is_other_thing(word: Word, other: Word) -> bool:
    """Whether paths, hosts or identifiers differ in more than a port or a version."""
    if word.said.isalpha() and other.said.isalpha():
        return False
    return _PORT.sub("", word.key) != _PORT.sub("", other.key)


def _is_label(slot: Slot, old: Sentence) -> bool:
    """Whether a figure names the thing before it: "port 22", "Django 4", not "4 nodes"."""
    if measures(slot.old) != {"count"}:
        return False
    before, after = old.words[slot.at_old - 1], old.words[slot.at_old + len(slot.old) :]
    if before.kind == "verb" and not (after or slot.old[0].copula):  # "returns 200"
        return True
    counted = bool(after) and after[0].kind in ("word", "name") and not after[0].apart
    return before.kind in ("word", "name", "identifier") and not (counted or slot.old[0].copula)


def _has_one(old: Sentence) -> bool:
    """Whether there is one at a time: what is used, what is least, "and later"."""
    return old.copulas > 0 or any(
        word.key in _LABELLED or word.key in _BOUNDS for word in old.words
    )


def _prepositions(words: Sequence[Word]) -> list[str]:
    return [word.key for word in words if word.kind == "preposition"]


def is_other(slot: Slot, new: Sentence, old: Sentence) -> bool:
    """Whether a word took the place of another one where there can be only one at a time."""
    if is_toggle(slot):
        return True
    words, before = (*slot.old, *slot.new), old.words[: slot.at_old]
    if not before or max(len(slot.old), len(slot.new)) > _NAME_WORDS_MAX:
        return False
    if new.past or new.event or not _is_single(old):
        return False
    if len(slot.old) == len(slot.new) and any(map(_is_other_thing, slot.old, slot.new)):
        return False
    named = all(word.kind in ("name", "identifier") for word in words)
    if named and _is_functional(before):
        return True
    plain = not any(ADJECTIVE.match(word.said) for word in words)
    role = before[-1].said.casefold() in ROLES
    return _is_all_that_is_said(slot, old) and (
        (named and role) or (_is_ranked(before) and (named or plain))
    )


def _is_all_that_is_said(slot: Slot, old: Sentence) -> bool:
    """Whether the sentence is "… is this": the default branch is main."""
    whole = old.copulas == 1 and slot.at_old + len(slot.old) == len(old.words)
    ends = (slot.old[0], slot.new[0])
    return whole and all(word.copula and not word.article for word in ends)


def _is_functional(before: Sequence[Word]) -> bool:
    """Whether of whom this is said it is said of one at a time: lives in, is married to."""
    keys = tuple(word.key for word in before)
    if any(keys[-len(form) :] == form for form in _FUNCTIONAL):
        return True
    return any(keys[-len(form) :] == form and before[-len(form)].copula for form in _IF_IS)


def _is_single(sentence: Sentence) -> bool:
    """Whether the subject is one and known: "the owner", not "one owner" or "an owner"."""
    subject = sentence.words[: sentence.predicate]
    return not subject or (
        subject[0].kind != "value"
        and not any(word.article in _INDEFINITE or word.key in _SOME for word in subject)
    )


def _is_ranked(before: Sequence[Word]) -> bool:
    return any(word.key in _RANKED for word in before)


def is_toggle(slot: Slot) -> bool:
    """Enabled and disabled, said of the same."""
    if len(slot.old) != 1 or len(slot.new) != 1:
        return False
    ours = _TOGGLES.get(slot.new[0].key, frozenset())
    return slot.new[0].copula and bool(ours & _TOGGLES.get(slot.old[0].key, frozenset()))
