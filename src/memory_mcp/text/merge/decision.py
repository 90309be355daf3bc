"""Says what becomes of a new memory beside those that are known: one decision."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from memory_mcp.domain.deduplication import Merging
from memory_mcp.domain.normalise import folded
from memory_mcp.domain.outcomes import SimilarMemory
from memory_mcp.domain.profile import field_of
from memory_mcp.domain.record import Kind, Record

Band = Literal["same", "judge", "apart"]
"""What a likeness says: the same fact, somebody must decide, or two."""

_STATES: Final[frozenset[Kind]] = frozenset({"fact", "decision"})
"""Both say how things stand: a decision may replace a fact. Every other kind keeps to itself."""

_HAPPENED: Final[frozenset[Kind]] = frozenset({"event", "episode", "summary", "closeout"})
"""What happened stays true, however much it is like something that happened later."""


@dataclass(frozen=True)
class Insert:
    """A memory of its own. `similar` may be the same fact: nobody could tell.

    `notes` say why it was not compared, if it was not.
    """

    similar: tuple[SimilarMemory, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merge:
    """The same fact as each of `olds`; `text` is what holds from now on.

    `contradicts`: it says something else of the same thing, rather than more.
    """

    olds: tuple[Record, ...]
    text: str
    contradicts: bool = False


@dataclass(frozen=True)
class Skip:
    """`record` says all of it."""

    record: Record


@dataclass(frozen=True)
class Refuse:
    """The user rejected this very statement: a tombstone says when and why."""

    tombstone: Record


Decision = Insert | Merge | Skip | Refuse


def makes_superfluous(known: Record, new: Record) -> bool:
    """Whether a memory that states the very same makes the new one superfluous.

    It must hold at least as long: what a backtrack hides, or what expires, is no substitute for
    what outlives it. Of two titles that differ each may name another thing.
    """
    outlives = known.durable or not new.durable
    lasts = known.expires_at is None or (
        new.expires_at is not None and known.expires_at >= new.expires_at
    )
    titled = known.title and new.title
    named = not titled or folded(known.title) == folded(new.title)
    return known.recalled and outlives and lasts and named and not _is_derived(known)


def _is_derived(record: Record) -> bool:
    """Whether it was only drawn from another memory, and goes with that one."""
    return bool(record.derived_from) and not set(record.derived_from) & set(record.supersedes)


def is_comparable(new: Record, old: Record) -> bool:
    """Whether one could be said to be the other's newer version at all.

    Not if one of them lives longer: the one that replaces the other would take it along when it
    goes.
    """
    states = new.kind == old.kind or {new.kind, old.kind} <= _STATES
    return (
        states
        and new.kind not in _HAPPENED
        and old.move is None
        and field_of(old) is None  # it follows from another one
        and new.category.casefold() == old.category.casefold()
        and new.durable is old.durable
        and new.expires_at is None
        and old.expires_at is None
    )


def choose_band(
    score: float, place: int, old: Record, *, overlap: bool, merging: Merging, now: datetime
) -> Band:
    """Who decides about a memory of this likeness.

    `place` is its place among the most alike, from 0. `overlap`: they share a word or a number
    that says something.
    """
    if place < merging.topk and score >= merging.check_low:
        return "same" if score >= merging.auto_update else "judge"
    recent = now - old.created_at <= timedelta(days=merging.fallback_recency_days)
    among = {name.casefold() for name in merging.fallback_categories}
    eligible = recent and overlap and old.category.casefold() in among
    if (
        merging.fallback_enabled
        and place < merging.fallback_topk
        and score >= merging.fallback_low
        and eligible
    ):
        return "judge"
    return "apart"
