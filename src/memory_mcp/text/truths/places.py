"""Tells whether two sentences say where one thing is kept, made or goes, and name two places.

"Kept in Redis" and "kept in Postgres" cannot both hold: what stands behind a verb of `[places]` and
"in", "on" or "at" is where the subject is. "Kept in sync" says how, "kept in Ireland" in which part
of the world, and "kept for a year" how long: none of them denies where.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import Word
from memory_mcp.text.merge.reading import words as merge_words
from memory_mcp.text.tables import matches
from memory_mcp.text.truths.frames import Frame, words

_FIGURE: Final = compile_later(r"[-+]?\d+(?:[.,]\d+)?")
"""With a sign it is no value of `reading`: "-80 °C"."""
_CLASSES: Final = ("regions", "tongues", "manners")
_DIRECTIONS: Final = ("where", "whither", "with")


class _Place(NamedTuple):
    """What a sentence says of where: the verb and its list, the preposition, and what is behind."""

    verb: str
    preposition: str
    named: Sequence[Word]

    @property
    def kept(self) -> bool:
        """Whether the verb says no more than that it is there."""
        return self.verb in words("places", "kept")

    @property
    def made(self) -> bool:
        """Whether the verb says what is done there, which may be done elsewhere, too."""
        return self.verb in words("places", "made")

    @property
    def kind(self) -> str:
        """The class of what is named: a part of the world, a language, a manner, a value, or ""."""
        if self.named[0].kind == "value" or _FIGURE.fullmatch(self.named[0].text):
            return "values"
        keys = {word.text.casefold() for word in self.named}
        return next((each for each in _CLASSES if keys & words("places", each)), "")


def compare_places(
    old: Frame, new: Frame, at: int, ours: Sequence[Word], theirs: Sequence[Word]
) -> bool | None:
    """Whether both name a place of the same thing, of which there is one; None if nobody can tell.

    `theirs` are the words that stand in the old sentence at `at`, where `ours` are in the new one.
    """
    before, after = _read_place(old, at, theirs), _read_place(new, at, ours)
    if not (before and after) or not _say_same(before, after):
        return None
    kinds = {before.kind, after.kind}
    if len(kinds) > 1:
        return None if "regions" in kinds else False  # "in Oslo", "in Bergen": not all are listed
    if _list_limits(old.words[at:]) != _list_limits(new.words[at:]):
        return False
    if before.kind in ("manners", "values") or _is_of_several(old, new, at):
        return None
    alike = _read_form(old, before) == _read_form(new, after)
    return (not before.made or alike) or None


def _read_place(frame: Frame, at: int, said: Sequence[Word]) -> _Place | None:
    """Where it is by these words and the verb before them, or by a German one at the end."""
    leads = len(said) > 1 and said[1].kind == "preposition"
    verb = _find_verb(said[:1]) if leads else ""
    rest = said[1:] if verb else said
    verb = verb or _find_verb(frame.words[frame.predicate : at])
    verb = verb or _find_verb(frame.words[-1:])
    if rest and rest[0].kind == "preposition":
        preposition, rest = rest[0].key, rest[1:]
    elif rest and _is_german(frame) and rest[0].article in words("places", "whither"):
        preposition = rest[0].article  # "an", which is an English article, too
    else:
        preposition = frame.words[at - 1].key if at and rest is said else ""
    if not (verb and rest) or any(word.kind in ("verb", "join") for word in rest):
        return None
    return _Place(verb, preposition, rest)


def _find_verb(found: Sequence[Word]) -> str:
    verbs = words("places", "kept") | words("places", "done") | words("places", "made")
    return next((word.key for word in reversed(found) if word.key in verbs), "")


def _say_same(one: _Place, other: _Place) -> bool:
    """Whether both say it by the same verb, and in the same direction."""
    return (one.verb == other.verb or (one.kept and other.kept)) and any(
        {one.preposition, other.preposition} <= words("places", each) for each in _DIRECTIONS
    )


def _list_limits(behind: Sequence[Word]) -> list[str]:
    """What is named for whom or when it is so; how long it stays there limits nothing."""
    return [
        follows.key
        for word, follows in pairwise(behind)
        if word.key in words("places", "limiting")
        and not (word.key in ("for", "für") and follows.kind == "value")
    ]


def _is_of_several(old: Frame, new: Frame, at: int) -> bool:
    """Whether the subject is one of several, or one of them says of several places."""
    if old.sentence.lists or new.sentence.lists:
        return True
    return any(
        word.article in merge_words("indefinite") or word.key in words("places", "copies")
        for word in old.words[:at]
    )


def _read_form(frame: Frame, place: _Place) -> tuple[bool, bool]:
    """How the place is said: as a name, and with an article."""
    first = place.named[0]
    definite = bool(first.article) or place.preposition in words("places", "contracted")
    name = first.text[:1].isupper() or first.kind in ("name", "identifier")
    return name and not _is_german(frame), definite


def _is_german(frame: Frame) -> bool:
    return matches("truths", "german", frame.text.casefold())
