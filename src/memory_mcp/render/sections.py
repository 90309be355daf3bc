"""The sections of a context: which there are, in which order, and how much room each gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.record import MEMORY_KINDS, Kind, Record
from memory_mcp.render.block import Section

EPISODIC: Final[frozenset[Kind]] = frozenset(
    {"event", "episode", "summary", "closeout", "checkpoint"}
)
"""What happened, as against what is so."""

SEMANTIC: Final[frozenset[Kind]] = MEMORY_KINDS - EPISODIC

_CONSOLIDATION_CHARS_MAX: Final = 640
"""It sums up a whole session, so it may be as long as two memories."""

_ISSUES: Final = ":issues"
_GARDENER: Final = "gardener:"


@dataclass(frozen=True)
class Part:
    """A section to be: its heading, the kinds that fill it, and its weight.

    No kinds: it is filled by something else than the kind, or by whatever is left.
    """

    name: str
    heading: str
    kinds: tuple[Kind, ...] = ()
    weight: int = 1
    chars_max: int = 320


_IDENTITY: Final = Part("identity", "Identity", ("identity",), 2)
_DECISIONS: Final = Part("decisions", "Decisions that hold", ("decision",), 4)
_PREFERENCES: Final = Part(
    "preferences", "Preferences and conventions", ("preference", "convention", "pattern"), 3
)
_LESSONS: Final = Part("lessons", "Lessons", ("lesson",), 3)
_ISSUES_PART: Final = Part("issues", "Open issues", weight=2)
_LATEST: Final = Part(
    "latest", "Where the last session left off", weight=3, chars_max=_CONSOLIDATION_CHARS_MAX
)
_NEWEST: Final = Part("newest", "Newest", weight=2)

OPENING: Final = (_IDENTITY, _DECISIONS, _PREFERENCES, _LESSONS, _ISSUES_PART, _LATEST, _NEWEST)

_REST: Final = Part(
    "rest",
    "Facts and what else is known",
    ("fact", "event", "episode", "summary", "closeout", "resource", "checkpoint"),
)

PAGE: Final = (*OPENING[:-1], _REST)
"""What a page may show that has more room: all there is, by its kinds."""

WITH_TASK: Final = (
    _IDENTITY,
    _PREFERENCES,
    _LESSONS,
    Part("task", "For this task", weight=9),
    Part("before", "What happened before", weight=4),
    _DECISIONS,
    _NEWEST,
)


def make_sections(parts: Sequence[Part], found: Mapping[str, Sequence[Record]]) -> list[Section]:
    """The sections in their order, with what was found for each."""
    return [
        Section(
            part.heading, found.get(part.name, ()), weight=part.weight, chars_max=part.chars_max
        )
        for part in parts
    ]


def share_room(so: int, happened: int, most: int) -> tuple[int, int]:
    """How many of what is so and of what happened are shown, together at most so many.

    A third is for what happened; what one of them does not need the other may have.
    """
    few = min(happened, max(most // 3, most - so))
    return min(so, most - few), few


def open_issues(closeouts: Sequence[Record]) -> list[Record]:
    """Those of a phase's records that are issues; one that was settled is superseded or hidden."""
    return [record for record in closeouts if record.key.endswith(_ISSUES)]


def without_bookkeeping(records: Sequence[Record]) -> list[Record]:
    """Without what a checkpoint says already: that it closed a phase, with what and with whom."""
    return [r for r in records if r.kind != "closeout" or r.key.endswith(_ISSUES)]


def latest_consolidation(summaries: Sequence[Record]) -> list[Record]:
    """What the session that said last what is true now left: that, then its insights.

    Insights alone count only while no session said what is true now.
    """
    known = [record for record in summaries if record.key.startswith(_GARDENER)]
    last = _newest(known, "checkpoint", "final") or _newest(known, "insights")
    if last is None:
        return []
    session, _, _ = last.key.rpartition(":")
    own = [record for record in known if record.key.rpartition(":")[0] == session]
    summary = _newest(own, "checkpoint", "final")
    return [record for record in (summary, _newest(own, "insights")) if record]


def _newest(records: Sequence[Record], *parts: str) -> Record | None:
    of_part = (record for record in records if record.key.rpartition(":")[2] in parts)
    return max(of_part, key=lambda record: record.id, default=None)
