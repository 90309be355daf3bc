"""When a session leaves an episode, and what becomes of it: a new one, part of the last, or none.

Everything is judged from the episodes there are: their keys say the session and the turn, their
ids the time. An episode on a road that was left counts as well: its turns were told, and a
backtrack must not double what a day may hold. A merged one stands for all that it replaced, and
its day is that of the first of these.

One that was forgotten counts too: its tombstone has its key.

A day is a calendar day in UTC: a cap must not move with the user. A title names the part of the
day where the user is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from memory_mcp.domain.drafts import Writing
from memory_mcp.domain.episodes import Pace, Turn
from memory_mcp.domain.ids import RecordId, time_of
from memory_mcp.domain.limits import LINKS_MAX
from memory_mcp.domain.record import Record
from memory_mcp.ingestion.recount import bounded
from memory_mcp.ingestion.told import series, told_at, turn_of

__all__ = [
    "MergeInto",
    "Moment",
    "Past",
    "Plan",
    "Wait",
    "Write",
    "day_of",
    "decide",
    "due",
    "episode",
    "label",
    "novelty",
    "on_this_road",
    "untold",
]

IMPORTANCE: Final = 2
"""An episode says what happened; what follows from it is a memory of its own and counts more."""

_PARTS: Final = ("night", "morning", "afternoon", "evening")
_HOURS_A_PART: Final = 6


@dataclass(frozen=True)
class Moment:
    """Where a session stands: the number of its turns, the time, and whether it ends here.

    `mark` is that of the last turns, `zone` where the user is.
    """

    turn: int
    now: datetime
    final: bool = False
    zone: tzinfo = UTC
    mark: str = ""


@dataclass(frozen=True)
class Past:
    """The session's episodes, or the tombstones of those that were forgotten.

    `last`: the newest, wherever it lies; `today`: those of this day; `open`: the newest that can be
    seen from here, which another may be merged into.
    """

    last: Record | None = None
    today: Sequence[Record] = ()
    open: Record | None = None


@dataclass(frozen=True)
class Write:
    """A new episode."""

    title: str
    text: str


@dataclass(frozen=True)
class MergeInto:
    """An episode that takes the place of this one, and says what both do."""

    record: Record
    title: str
    text: str


@dataclass(frozen=True)
class Wait:
    """None now; `reason` is a sentence."""

    reason: str


Plan = Write | MergeInto | Wait


def due(past: Past, moment: Moment, pace: Pace) -> Wait | None:
    """Why it is too early to even look at the turns, if it is. The end of a session never is."""
    if pace.per_day == 0:
        return Wait("Episodes are off (EPISODIC_MAX_PER_DAY=0).")
    if past.last is not None and turn_of(past.last) == moment.turn:
        return Wait(f"Turn {moment.turn} of this session was captured already.")
    if past.last is not None and not moment.final:
        apart = abs(moment.now - told_at(past.last))  # a clock may have been set back
        if apart < timedelta(minutes=pace.cooldown_minutes):
            minutes = int(apart.total_seconds() // 60)
            return Wait(
                f"The last episode is {minutes} minute(s) old; "
                f"{pace.cooldown_minutes} must lie between (EPISODIC_COOLDOWN_MINUTES)."
            )
    since = _turns_since(past.last, moment)
    if since < pace.cooldown_turns and not moment.final:
        return Wait(
            f"{since} turn(s) since the last episode; {pace.cooldown_turns} must lie between "
            "(EPISODIC_COOLDOWN_TURNS)."
        )
    return _full(past, moment, pace) if _mergeable(past, moment, pace) is None else None


def untold(turns: Sequence[Turn], past: Past, moment: Moment, pace: Pace) -> Sequence[Turn]:
    """The last turns, without those that an episode has told, be it on a road that was left."""
    wanted = min(pace.window, _turns_since(past.last, moment))
    return turns[-wanted:] if wanted else ()


def on_this_road(turns: Sequence[Turn], left: datetime | None) -> Sequence[Turn]:
    """The turns without what belongs to a road that was left at that time.

    If no turn says when it was, only the last exchange is surely of the road we are on.
    """
    if left is None:
        return turns
    timed = [place for place, turn in enumerate(turns) if turn.at is not None]
    if timed:
        before = [place for place in timed if (at := turns[place].at) is not None and at <= left]
        return turns[max(before) + 1 :] if before else turns
    asked = [place for place, turn in enumerate(turns) if turn.role == "user"]
    return turns[asked[-1] :] if asked else turns[-1:]


def novelty(said: frozenset[str], known: frozenset[str]) -> float:
    """The share (0-1) of what is said that is not known."""
    return len(said - known) / len(said) if said else 0.0


def decide(text: str, novelty: float, past: Past, moment: Moment, pace: Pace) -> Plan:
    """What becomes of what was told.

    `novelty` is the share of its terms (0-1) that the open episode does not have.
    """
    if early := due(past, moment, pace):
        return early
    if not text.strip():
        return Wait("Nothing was said that an episode could tell: small talk, output, or recall.")
    base = _mergeable(past, moment, pace)
    if base is not None and novelty < pace.novelty_min:
        known = base.content.splitlines()
        fresh = [line for line in text.splitlines() if line not in known]
        if not fresh:
            return Wait("It tells nothing that the last episode does not.")
        title = label(began(base), moment.now, moment.zone)
        return MergeInto(base, title, bounded([*known, *fresh]))
    return _full(past, moment, pace) or Write(label(moment.now, moment.now, moment.zone), text)


def episode(plan: Write | MergeInto, moment: Moment, writing: Writing, phase: int | None) -> Record:
    """The record of a plan. What is merged is derived from all it replaces, and falls with them.

    Its words are theirs: whoever forgets one of them forgets what was made of it.
    """
    replaced = _merged_by(plan)
    mark = f"~{moment.mark}" if moment.mark else ""
    return Record(
        id=writing.id,
        kind="episode",
        layer="recall",
        key=f"{series(writing.scope, writing.origin)}:{moment.turn}{mark}",
        content=plan.text,
        title=plan.title,
        importance=IMPORTANCE,
        phase=phase,
        segment=writing.segment,
        branch=writing.branch,
        lineage=writing.lineage,
        supersedes=replaced,
        derived_from=replaced,
        scope=writing.scope,
        origin=writing.origin,
        created_at=writing.at,
    )


def label(first: datetime, last: datetime, zone: tzinfo) -> str:
    """The part of the day: `2026-11-21 evening`, or from one such part to another."""
    names = dict.fromkeys(_part_of_day(at.astimezone(zone)) for at in (first, last))
    return " to ".join(names)


def day_of(at: datetime) -> datetime:
    """When the day began."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def began(record: Record) -> datetime:
    """When the first of what the episode tells was written down."""
    return time_of(min((record.id, *record.supersedes)))


def _turns_since(last: Record | None, moment: Moment) -> int:
    """Turns since the last episode. A smaller number than its own: the count began anew."""
    told = turn_of(last) if last else 0
    return moment.turn - told if moment.turn >= told else moment.turn


def _mergeable(past: Past, moment: Moment, pace: Pace) -> Record | None:
    """The episode that another may be merged into: close in time, and not full of sources."""
    base = past.open
    if base is None or len(base.supersedes) >= LINKS_MAX:
        return None
    near = abs(moment.now - base.created_at) <= timedelta(hours=pace.merge_hours)
    return base if near else None


def _full(past: Past, moment: Moment, pace: Pace) -> Wait | None:
    today = day_of(moment.now)
    roots: set[RecordId] = {min((record.id, *record.supersedes)) for record in past.today}
    begun = [root for root in roots if time_of(root) >= today]
    if len(begun) < pace.per_day:
        return None
    return Wait(
        f"This session has its {pace.per_day} episode(s) of the day (EPISODIC_MAX_PER_DAY)."
    )


def _merged_by(plan: Write | MergeInto) -> tuple[RecordId, ...]:
    match plan:
        case Write():
            return ()
        case MergeInto(record=record):
            return (record.id, *record.supersedes)


def _part_of_day(at: datetime) -> str:
    return f"{at:%Y-%m-%d} {_PARTS[at.hour // _HOURS_A_PART]}"
