"""Decides whether a later statement answers a question anew that an earlier one answered.

Two statements alone often do not tell that they are about one thing: "Orders up to 200 euros need
nobody", "Administration cut the limit: above 75 euros Gudrun signs". A question that both of them
answer does. The later one must say that something changed, speak of what the question and the
earlier one speak of, or have another value of the kind that is asked for; and what limits one of
them to another place, person or part keeps them apart here, too.
"""

from collections.abc import Mapping
from typing import Final

from memory_mcp.text.tables import load_pattern
from memory_mcp.text.truths.compare import find_limit, has_other_head
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
    if kinds and not _has_other_value(kinds, theirs, ours):
        return False
    asked = frozenset[str]().union(*(frame.about for frame in read_frames(question)))
    return any(
        kinds or o.about & n.about & asked
        for o in theirs
        for n in ours
        if o.supposed in changed and not _find_difference(o, n, asked)
    )


def _find_difference(old: Frame, new: Frame, asked: frozenset[str]) -> str:
    """Why they are about two things, whatever the question is; or ""."""
    if old.where - new.where - asked:
        return "the earlier one holds for one place"
    return find_limit(old, new) or ("another head" if has_other_head(old, new) else "")


def _find_kinds(question: str) -> frozenset[str]:
    low = question.casefold()
    return next((k for name, k in _KINDS.items() if load_pattern("truths", name).search(low)),
                frozenset())  # fmt: skip


def _has_other_value(kinds: frozenset[str], old: tuple[Frame, ...], new: tuple[Frame, ...]) -> bool:
    """Whether both have a value of these kinds, and the later one has one of its own."""
    before, after = (
        {key for frame in frames for kind in kinds for key in frame.values.get(kind, ())}
        for frames in (old, new)
    )
    return bool(before and after - before)


def _has_other_family(old: tuple[Frame, ...], new: tuple[Frame, ...]) -> bool:
    """Whether each names tools of kinds that the other does not."""
    before, after = (
        frozenset[str]().union(*(frame.families for frame in frames)) for frames in (old, new)
    )
    return bool(before and after) and before.isdisjoint(after)
