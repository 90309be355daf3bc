"""Tells two things of a kind apart: the API timeout and the worker timeout, in Köln and in Bonn.

Two sentences speak of siblings if each says something of the same word that the other does not:
another owner, place, version or part. Where that is the one difference, and no subject, it is the
value that changed.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from memory_mcp.text.merge.reading import Word, opposites
from memory_mcp.text.truths.frames import Frame, families, words

_SHARED_ENDING_MIN: Final = 5
"""Letters that two German compounds share: "Testserver", "Produktionsserver"."""
_NOUNS: Final = ("word", "name", "identifier")


class _Qualifier(NamedTuple):
    """What is said of a word before or behind it; whether that stands in the subject."""

    head: str
    side: str
    keys: frozenset[str]
    in_subject: bool


class _Difference(NamedTuple):
    """What each of two sentences says of the same word, and the other does not.

    `is_name`: it is part of a name, be it a figure: "release 4", "the v1 endpoint".
    """

    old: frozenset[str]
    new: frozenset[str]
    in_subject: bool
    is_name: bool = False


def find_siblings(old: Frame, new: Frame, values: Collection[str] = ()) -> str:
    """Why the sentences speak of two things of a kind, or "".

    `values` are the words of another value that the new sentence has: they tell nothing of what
    the sentence is about, and what differs beside them does.
    """
    if (old.where - new.where and new.where - old.where) or are_exclusive(old, new):
        return "they hold for two that are not the same"
    if head := _find_replaced_head(old, new):
        return f"the old {head} and the new one are two"
    found = [
        each
        for each in _list_differences(old, new)
        if each.is_name or not (each.old <= {*values} or each.new <= {*values})
    ]
    if len(found) > 1 or any(values or each.in_subject for each in found):
        one = found[0]
        return f"{_join(one.old)} and {_join(one.new)} are two"
    return ""


def _find_replaced_head(old: Frame, new: Frame) -> str:
    """Of what one says how the old one is, and the other how the new one is; or ""."""
    for one, other in ((old, new), (new, old)):
        both = _list_aged(one, "aged") & _list_aged(other, "fresh")
        if both:
            return min(both)
    return ""


def _list_aged(frame: Frame, age: str) -> frozenset[str]:
    """The nouns that stand behind a word for such an age."""
    ages = words("words", age)
    return frozenset(
        word.key
        for before, word in pairwise(frame.words)
        if before.text.casefold() in ages and word.kind in _NOUNS and not word.set_off
    )


def are_exclusive(old: Frame, new: Frame) -> bool:
    """Whether each names one of several that are not the same: a maximum, a minimum."""
    gone, come = (
        one.exclusive - other.about - other.stated for one, other in ((old, new), (new, old))
    )
    groups = frozenset[int]().union(*(opposites()[key] for key in gone))
    return any(groups & opposites()[key] for key in come)


def list_enumerated(frame: Frame) -> frozenset[str]:
    """The words that stand in a list of several: "Chrome, Firefox and Safari"."""
    breaks = [
        word.set_off and not word.after_copula and word.kind != "verb" for word in frame.words
    ]
    if not frame.sentence.lists and sum(breaks) <= 1:
        return frozenset()
    found, run, several = set[str](), set[str](), False
    for at, word in enumerate(frame.words):
        noun = word.kind in (*_NOUNS, "value")
        if not noun or word.after_copula or (word.article and not breaks[at]):
            found.update(run if several else ())
            run, several = set[str](), False
        if noun:
            several = several or (breaks[at] and bool(run))
            run.add(frame.keys[at])
    return frozenset(found | run if several else found)


def _list_differences(old: Frame, new: Frame) -> Iterator[_Difference]:
    ours, theirs = {*new.keys, *new.about}, {*old.keys, *old.about}
    heads = frozenset(old.keys).intersection(new.keys)
    named, seen = _group(new, heads), set[frozenset[str]]()
    for place, each in _group(old, heads).items():
        other = named.get(place)
        if other is None:
            continue
        gone, come = each.keys - ours, other.keys - theirs
        if gone and come and gone not in seen:
            seen.add(gone)
            # "no longer release 4"
            denied = each.side == "label" and old.negations != new.negations
            subject = each.in_subject or other.in_subject or denied
            if subject or each.side != "label":
                both = each.in_subject and other.in_subject
                yield _Difference(gone, come, subject, both or each.side == "label")
    yield from _compare_compounds(old, new)


def _group(frame: Frame, heads: Collection[str]) -> dict[tuple[str, str], _Qualifier]:
    found: dict[tuple[str, str], _Qualifier] = {}
    for each in _qualify(frame, heads):
        place = each.head, each.side
        known = found.get(place, each)
        subject = known.in_subject and each.in_subject
        found[place] = _Qualifier(*place, known.keys | each.keys, subject)
    return found


def _qualify(frame: Frame, heads: Collection[str]) -> Iterator[_Qualifier]:
    """What is said of each of these words, and what the whole is limited to."""
    for at, (word, key) in enumerate(zip(frame.words, frame.keys, strict=True)):
        subject = at < frame.predicate
        if key in heads and word.kind in _NOUNS:
            if before := _read_before(frame, at):
                yield _Qualifier(key, "before", before, subject)
            if label := _read_label(frame, at):
                yield _Qualifier(key, "label", label, subject or at == 0)
        if word.key in words("words", "scopes") and (named := _read_behind(frame, at + 1)):
            yield _Qualifier("", "scope", named, subject)
            if at and frame.words[at - 1].kind in _NOUNS:
                yield _Qualifier(frame.keys[at - 1], "scope", named, subject)


def _read_before(frame: Frame, at: int) -> frozenset[str]:
    """The words of the same noun phrase before a word: "Anna's" of "Anna's laptop"."""
    found = set[str]()
    for place in range(at, 0, -1):
        word, before = frame.words[place], frame.words[place - 1]
        if word.article or word.set_off:
            break
        shouted = before.text.isupper() and len(before.text) > 1  # GET and POST are no verbs
        if before.kind not in _NOUNS and not (shouted or _is_version(before)):
            break
        found.add(frame.keys[place - 1])
    others = found - frame.about
    versions = {word.key for word in frame.words if _is_version(word)} if others else ()
    return frozenset(found - others.difference(versions))


def _read_label(frame: Frame, at: int) -> frozenset[str]:
    """The name or number directly behind a word: "customer Brandt", "release 4"."""
    if at + 1 >= len(frame.words):
        return frozenset()
    word, follows = frame.words[at], frame.words[at + 1]
    if follows.set_off or follows.article or at + 1 == frame.predicate:
        return frozenset()
    if follows.kind == "name":
        return frozenset({frame.keys[at + 1]})
    counted = follows.kind == "value" and follows.dimension == "count"
    behind = frame.words[at + 2 : at + 3]
    named = behind and behind[0].kind in _NOUNS and not (behind[0].set_off or behind[0].article)
    acts = bool(behind) and not behind[0].after_copula
    alone = at + 2 == frame.predicate and (acts or word.key not in families())
    if counted and (named or alone or word.key in words("words", "labels")):
        return frozenset({follows.key})
    return frozenset()


def _read_behind(frame: Frame, at: int) -> frozenset[str]:
    """The words of the noun phrase that begins here."""
    found = set[str]()
    for place in range(at, len(frame.words)):
        word = frame.words[place]
        if word.kind not in _NOUNS or (found and (word.article or word.set_off)):
            break
        if found and frame.words[place - 1].kind == "name" and word.kind == "word":
            break
        found.add(frame.keys[place])
    return frozenset(found) & frame.about


def _is_version(word: Word) -> bool:
    return word.kind == "value" and word.text[:1] in "vV" and word.text[1:2].isdigit()


def _compare_compounds(old: Frame, new: Frame) -> Iterator[_Difference]:
    """Two compounds of the same last part, one in each subject."""
    for one, key in _list_compounds(old):
        for other, its in _list_compounds(new):
            shared = _count_shared_ending(key, its)
            apart = key not in new.about and its not in old.about
            if apart and _SHARED_ENDING_MIN <= shared < min(len(key), len(its)):
                subject = one < old.predicate or other < new.predicate
                yield _Difference(frozenset({key}), frozenset({its}), subject)


def _list_compounds(frame: Frame) -> Iterator[tuple[int, str]]:
    """The nouns of the sentence with a capital, as German ones have, by their places."""
    for at, word in enumerate(frame.words):
        if word.text[:1].isupper() and word.kind in _NOUNS and frame.keys[at] in frame.about:
            yield at, frame.keys[at]


def _count_shared_ending(one: str, other: str) -> int:
    shared = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        shared += 1
    return shared


def _join(keys: Collection[str]) -> str:
    return " ".join(sorted(keys))
