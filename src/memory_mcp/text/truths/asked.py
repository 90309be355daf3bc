"""Decides whether a later statement answers a question anew that an earlier one answered.

Two statements alone often do not tell that they are about one thing: "Orders up to 200 euros need
nobody", "Administration cut the limit: above 75 euros Gudrun signs". A question that both of them
answer does. The later one must say that something changed, and speak of what the earlier one
speaks of, end it, or have another value of the kind that is asked for; and what limits one of
them to another place, person or part keeps them apart here, too.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from memory_mcp.text.tables import load_pattern
from memory_mcp.text.truths.compare import Independent, compare_alike, find_limit, has_other_head
from memory_mcp.text.truths.frames import Frame, read_frames

_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "asks_who": frozenset({"name"}),
    "asks_when": frozenset({"day", "clock", "time", "often", "count"}),
    "asks_figure": frozenset({"count", "money", "time", "share", "size", "mass", "length", "rate"}),
}
"""The kinds of values that answer a question of each form."""


def answers_anew(question: str, old: str, new: str) -> bool:
    """Whether the later statement replaces the earlier one as an answer to this question.

    Both are taken to be near to the question, so that a value of the kind asked for is enough.
    """
    theirs, ours = read_frames(old), read_frames(new)
    hints = load_pattern("truths", "hints").search(new.casefold())
    changed = {frame.supposed for frame in ours if frame.changes or hints}
    if not changed or _has_other_family(theirs, ours):
        return False
    kinds = _find_kinds(question)
    before, after = _find_values(kinds, theirs), _find_values(kinds, ours)
    if kinds and not after - before:
        return False
    asked = frozenset[str]().union(*(frame.about for frame in read_frames(question)))
    return any(
        before or o.about & n.about or n.ended & (o.about | o.stated)
        for o in theirs
        for n in ours
        if o.supposed in changed and not _find_difference(o, n, asked)
    )


def _find_difference(old: Frame, new: Frame, asked: frozenset[str]) -> str:
    """Why they are about two things, whatever the question is; or ""."""
    if old.where - new.where - asked:
        return "the earlier one holds for one place"
    if limit := find_limit(old, new):
        return limit
    if has_other_head(old, new):
        return "another head"
    said = (old.about - old.subject) & (new.about - new.subject)
    if said and old.subject and new.subject and not old.subject & new.about:
        return "the same of another subject"
    alike = compare_alike(old, new, "")
    return alike.reason if isinstance(alike, Independent) else ""


def _find_kinds(question: str) -> frozenset[str]:
    low = question.casefold()
    named = (kinds for name, kinds in _KINDS.items() if load_pattern("truths", name).search(low))
    return next(named, frozenset[str]())


def _find_values(kinds: frozenset[str], frames: Sequence[Frame]) -> frozenset[str]:
    """The values of these kinds."""
    return frozenset(key for f in frames for kind in kinds for key in f.values.get(kind, ()))


def _has_other_family(old: Sequence[Frame], new: Sequence[Frame]) -> bool:
    """Whether each names tools of kinds that the other does not."""
    before, after = (
        frozenset[str]().union(*(frame.families for frame in frames)) for frames in (old, new)
    )
    return bool(before and after) and before.isdisjoint(after)
