"""Tells what a statement says further of a thing from a newer value of what was said.

"The database is now backed up hourly" takes nothing back of "the database is Postgres 15": what
changed is no value of the kind that was stated.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import Word
from memory_mcp.text.merge.reading import words as merge_words
from memory_mcp.text.tables import load_pattern, matches
from memory_mcp.text.truths.frames import Frame, families, words

_PARTICIPLE: Final = compile_later(
    r"\w{2,}(?:ed|[ai]ten)|(?:\w*ge|ver|be|ent|er|zer|über)\w{2,}(?:t|en)|\w+iert"
)
_NAMING: Final = ("name", "identifier")


def says_further(old: Frame, new: Frame) -> bool:
    """Whether the new sentence says what is now done with what the old one says what it is.

    It is no change of that: no value is of the kind of one that was stated.
    """
    done = _find_done(new)
    if done is None or done.key in old.keys or not old.sentence.copulas:
        return False
    if _share_kind(old, new):
        return False
    stated = _list_predicate(old)
    alone = len(stated) == len(_list_predicate(new)) == 1 and stated[0].kind == "word"
    if alone and not _is_participle(stated[0]):  # "relaxed" may become "formal", and "public"
        return False
    return _changes_by_now_alone(new)


def _share_kind(old: Frame, new: Frame) -> bool:
    """Whether both say a value of one kind of it: two figures of days, two databases."""
    return any(
        old.values[kind] - old.about and new.values[kind] - old.about
        for kind in old.values.keys() & new.values.keys() - {"name", "place"}
    ) or bool(list_families(old, old.subject) & list_families(new, old.subject))


def list_families(frame: Frame, subject: frozenset[str]) -> frozenset[str]:
    """The kinds of value that are named, but for those that the subject is of."""
    found = (families().get(key, frozenset()) for key in frame.about - subject)
    return frozenset[str]().union(*found)


def _find_done(frame: Frame) -> Word | None:
    """The participle that the predicate is: "is now guided by", "ist jetzt ans Netz angebunden"."""
    said = _list_predicate(frame)
    if not said:
        return None
    for word in said:
        if word.article or word.kind in ("value", "preposition") or _names(word):
            break
        if _is_participle(word):
            return word
    last = frame.words[-1]
    german = matches("truths", "german", frame.text.casefold())
    return last if german and _is_participle(last) else None


def _list_predicate(frame: Frame) -> Sequence[Word]:
    """The words from the copula on."""
    first = next((at for at, word in enumerate(frame.words) if word.after_copula), None)
    return () if first is None else frame.words[first:]


def _is_participle(word: Word) -> bool:
    text = word.text
    return text.islower() and (
        text in words("words", "participles") or _PARTICIPLE.fullmatch(text) is not None
    )


def _changes_by_now_alone(frame: Frame) -> bool:
    """Whether nothing but "now" says that something changed."""
    low = frame.text.casefold()
    plain = " ".join(load_pattern("truths", "now").sub(" ", low).split())
    return plain != low and not frame.ended and not matches("truths", "changes", plain)


def count_other_things(old: Frame, new: Frame) -> bool:
    """Whether their figures are of two things: the version of one, and that or a count of another.

    "Postgres 14" is no rival of "Kubernetes 1.31", nor are "3 nodes"; nor is "room 2" of "3 beds".
    """
    ours, theirs = _list_counted(new), _list_counted(old)
    known = [*ours, *theirs] if ours and theirs else ()
    versions = [each for each in ours if each & families().keys()]
    if known and versions == ours and not any(each & old.about for each in ours):
        return True  # of a tool that the old one does not name
    return bool(known) and all(known) and not any(mine & its for mine in ours for its in theirs)


def name_other_kinds(old: Frame, new: Frame) -> bool:
    """Whether each names things of kinds of its own: a frontend, a build tool."""
    theirs, ours = (
        [families().get(key) for key in frame.values.get("name", frozenset()) - old.subject]
        for frame in (old, new)
    )
    return all((*theirs, *ours)) and not any(
        mine & its for mine in ours for its in theirs if mine and its
    )


def _list_counted(frame: Frame) -> list[frozenset[str]]:
    """Of what each figure without a unit is: "room 2", "2 rooms"; nothing: nobody knows."""
    said = frame.words
    return [
        _find_counted(said, at)
        for at, word in enumerate(said)
        if word.kind == "value" and word.dimension == "count"
    ]


def _find_counted(said: Sequence[Word], at: int) -> frozenset[str]:
    before = said[at - 1] if at else None
    tied = before is not None and not (said[at].set_off or said[at].article)
    if before and tied and _names(before):
        return frozenset({before.key})
    if counted := frozenset(word.key for word in takewhile(_is_counted, said[at + 1 :])):
        return counted
    if before and tied and before.kind == "word":
        return frozenset({before.key})
    changed = said[at - 2] if at > 1 and tied else None  # "bumped Python to 3.13"
    led = before is not None and before.key in words("words", "targets")
    return frozenset({changed.key}) if changed and led and _names(changed) else frozenset()


def _names(word: Word) -> bool:
    return word.kind in _NAMING or word.key in families()


def _is_counted(word: Word) -> bool:
    return word.kind in ("word", *_NAMING) and not (word.set_off or word.article)


def is_code(frame: Frame) -> bool:
    """Whether it is a command or a query: with another literal it does something else."""
    return matches("truths", "code", frame.text) and merge_words("articles").isdisjoint(
        frame.text.split()
    )
