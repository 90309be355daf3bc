"""The sections of a context: which there are, in which order, and how much room each gets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.domain.record import MEMORY_KINDS, Kind, Record
from memory_mcp.frozen import frozen
from memory_mcp.render.block import Section

EPISODIC: Final[frozenset[Kind]] = frozenset(
    {"event", "episode", "summary", "closeout", "checkpoint"}
)
"""Kinds that say what happened; the others say what is so."""
SEMANTIC: Final[frozenset[Kind]] = MEMORY_KINDS - EPISODIC

_CONSOLIDATION_CHARS_MAX: Final = 640
"""It sums up a session, so it may be as long as two memories."""

_LABEL_WORDS_MAX: Final = 3
"""An earlier checkpoint with a shorter summary takes no line from a fact."""

_PHASE: Final = ":phase"
_CLOSEOUT: Final = ":closeout"
_ISSUES: Final = ":issues"


@frozen
class SectionPlan:
    """A section: its heading, the kinds that fill it, and its weight.

    A section without kinds is filled by something else, or by whatever is left.
    """

    name: str
    heading: str
    kinds: tuple[Kind, ...] = ()
    weight: int = 1
    chars_max: int = 320


_IDENTITY: Final = SectionPlan("identity", "Identity", ("identity",), 2)
_DECISIONS: Final = SectionPlan("decisions", "Decisions that hold", ("decision",), 4)
_PREFERENCES: Final = SectionPlan(
    "preferences", "Preferences and conventions", ("preference", "convention", "pattern"), 3
)
_LESSONS: Final = SectionPlan("lessons", "Lessons", ("lesson",), 3)
_ISSUES_PART: Final = SectionPlan("issues", "Open issues", weight=2)
_LATEST: Final = SectionPlan(
    "latest", "Where the last session left off", weight=3, chars_max=_CONSOLIDATION_CHARS_MAX
)
_NEWEST: Final = SectionPlan("newest", "Newest", weight=2)

OPENING: Final = (_IDENTITY, _DECISIONS, _PREFERENCES, _LESSONS, _ISSUES_PART, _LATEST, _NEWEST)

PAGE: Final = (
    _IDENTITY,
    replace(_PREFERENCES, weight=4),
    replace(_LESSONS, weight=4),
    replace(_DECISIONS, weight=5),
    replace(_LATEST, weight=1),
    replace(_ISSUES_PART, weight=3),
    SectionPlan(
        "rest",
        "Facts and what else is known",
        ("fact", "event", "episode", "summary", "closeout", "resource", "checkpoint"),
        weight=4,
    ),
)
"""For a page, which has more room: every kind."""

WITH_TASK: Final = (
    _IDENTITY,
    _PREFERENCES,
    _LESSONS,
    SectionPlan("task", "For this task", weight=9),
    SectionPlan("before", "What happened before", weight=4),
    _DECISIONS,
    _NEWEST,
)


def make_sections(
    parts: Sequence[SectionPlan], found: Mapping[str, Sequence[Record]]
) -> list[Section]:
    """The sections in their order, with what was found for each."""
    return [
        Section(
            part.heading, found.get(part.name, ()), weight=part.weight, chars_max=part.chars_max
        )
        for part in parts
    ]


def share_room(semantic: int, episodic: int, most: int) -> tuple[int, int]:
    """How many semantic and episodic memories are shown, together at most so many.

    A third is for the episodic; what one of them does not need the other may have.
    """
    few = min(episodic, max(most // 3, most - semantic))
    return min(semantic, most - few), few


def select_open_issues(closeouts: Sequence[Record]) -> list[Record]:
    """The issues among a phase's closeouts; a closed one is superseded or hidden."""
    return [record for record in closeouts if record.key.endswith(_ISSUES)]


def drop_bookkeeping(records: Sequence[Record]) -> list[Record]:
    """Leave out what a closeout lists beside its issues, and in which phase the project is."""
    return [
        r
        for r in records
        if (r.kind != "closeout" or r.key.endswith(_ISSUES))
        and not (r.kind == "event" and r.key.endswith(_PHASE))
    ]


def count_repeating(records: Sequence[Record]) -> int:
    """How many only repeat what stands above the sections or what a checkpoint says."""
    repeating = {"closeout": _CLOSEOUT, "event": _PHASE}
    return sum(r.key.endswith(repeating[r.kind]) for r in records if r.kind in repeating)


def rank_newest(records: Sequence[Record]) -> list[Record]:
    """The pinned and the important first; last the earlier checkpoints with a mere label ("Auth").

    The last checkpoint says how far the project is, however few words that takes.
    """
    checkpoints = [r for r in records if r.kind == "checkpoint"]
    last = max((r.id for r in checkpoints), default="")
    labels = {
        r.id for r in checkpoints if r.id != last and len(r.content.split()) <= _LABEL_WORDS_MAX
    }
    return sorted(records, key=lambda r: (r.id not in labels, r.pinned, r.importance), reverse=True)
