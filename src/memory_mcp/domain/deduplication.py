"""Whether a new memory is the same fact as a known one, and what a language model may say of it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import IMPORTANCE_MIN
from memory_mcp.domain.normalise import fold
from memory_mcp.domain.outcomes import SimilarMemory
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.domain.record import CORE_PREFIX, REASON_PREFIX, REJECTED_PREFIX, Kind, Record
from memory_mcp.frozen import frozen

MergeMode = Literal["recreate", "update"]
"""`recreate`: one memory is composed of both; `update`: the new text takes the old one's place."""

SecretPolicy = Literal["redact", "refuse", "allow"]
"""What to do with a secret in a text that is to be stored."""


@frozen
class Restated:
    """The new statement says nothing that the old one does not say."""

    reason: str


@frozen
class Updated:
    """The new statement contradicts the old one about the same thing, and is newer."""

    reason: str


@frozen
class Extended:
    """The new statement says all that the old one says, and more."""

    reason: str


@frozen
class Different:
    """The statements are about two things: both hold."""

    reason: str


@frozen
class Unsure:
    """The form cannot tell: a reader who understands both should judge."""

    reason: str


Verdict = Restated | Updated | Extended | Different | Unsure


@frozen
class MergePolicy:
    """The bands of similarity (0-1) and who decides in them.

    From `auto_update` up it is the same fact. From `check_low` up, and from `fallback_low` up for
    memories that are recent, of one of the categories, and share words or numbers, the judge
    decides; below, they are two.

    `topk` and `fallback_topk` are how many of the most similar are looked at. A new memory less
    important than `min_importance` is not stored, but still updates a known one.
    """

    topk: int = 5
    auto_update: float = 0.85
    check_low: float = 0.60
    fallback_enabled: bool = True
    fallback_low: float = 0.30
    fallback_topk: int = 3
    fallback_recency_days: int = 90
    fallback_categories: tuple[str, ...] = ("Personal", "Goals")
    mode: MergeMode = "recreate"
    min_importance: int = IMPORTANCE_MIN


Judgement = Literal["same", "contradicts", "different"]
"""A language model's word on two statements: one fact, a fact that changed, two facts."""

StatementClass = Literal[
    "fact", "preference", "goal", "decision", "lesson", "passing", "action", "question", "chatter"
]

_KINDS: Final[dict[StatementClass, Kind]] = {
    "fact": "fact",
    "preference": "preference",
    "goal": "fact",
    "decision": "decision",
    "lesson": "lesson",
}
_REASONS: Final[dict[StatementClass, str]] = {
    "fact": "a stable fact",
    "preference": "a lasting preference",
    "goal": "a goal",
    "decision": "a decision",
    "lesson": "a lesson learnt",
    "passing": "true only for now",
    "action": "a single action that leaves nothing to know",
    "question": "a question, which states nothing",
    "chatter": "small talk",
}


@frozen
class Classification:
    """The class that a language model gives a statement, and what follows from it."""

    sort: StatementClass

    @property
    def keep(self) -> bool:
        """Whether it is worth a memory."""
        return self.sort in _KINDS

    @property
    def reason(self) -> str:
        """The reason, as a phrase."""
        return _REASONS[self.sort]

    @property
    def kind(self) -> Kind | None:
        """The kind of memory it would be, if it is worth one."""
        return _KINDS.get(self.sort)


Band = Literal["same", "judge", "apart"]
"""What a score means: the same fact, a judge must decide, two facts."""

_STATES: Final[frozenset[Kind]] = frozenset({"fact", "decision"})
"""Kinds that may replace each other; any other kind replaces its own only."""

_HAPPENED: Final[frozenset[Kind]] = frozenset({"event", "episode", "summary", "closeout"})
"""Kinds that tell what happened: that stays true, whatever happened later."""

_HANDED: Final[frozenset[Kind]] = frozenset({"resource", "nudge", "checkpoint", "tombstone"})
"""Kinds that state nothing themselves."""


@frozen
class Insert:
    """Store a new memory. `similar` ones may be the same fact, or no longer hold.

    `notes` say why it was not compared.
    """

    similar: tuple[SimilarMemory, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class Merge:
    """Replace `olds`, which state the same fact, by one memory with this `text`.

    `contradicts`: the new statement changes the fact, rather than adding to it. `similar` ones
    stay, as with `Insert`.
    """

    olds: tuple[Record, ...]
    text: str
    contradicts: bool = False
    similar: tuple[SimilarMemory, ...] = ()


@frozen
class Skip:
    """Store nothing: `record` says all of it."""

    record: Record


@frozen
class Refuse:
    """Store nothing: the user rejected this statement; the tombstone says when and why."""

    tombstone: Record


DuplicateDecision = Insert | Merge | Skip | Refuse


def makes_superfluous(known: Record, new: Record) -> bool:
    """Whether a known memory with the same statement makes the new one superfluous.

    It must hold at least as long: what a backtrack hides, or what expires, is no substitute for
    what outlives it. Different titles may name different things.
    """
    outlives = known.durable or not new.durable
    lasts = known.expires_at is None or (
        new.expires_at is not None and known.expires_at >= new.expires_at
    )
    titled = known.title and new.title
    named = not titled or fold(known.title) == fold(new.title)
    stands = known.recalled and not _is_derived(known) and not _is_core(known)
    return stands and outlives and lasts and named


def _is_derived(record: Record) -> bool:
    """Whether it was only drawn from another memory, and falls with it."""
    return bool(record.derived_from) and not set(record.derived_from) & set(record.supersedes)


def _is_core(record: Record) -> bool:
    """Whether it is the value of a key, which changes with the key and with nothing else."""
    return record.key.startswith(CORE_PREFIX)


def states_truth(record: Record) -> bool:
    """Whether what it states can be brought up to date by another memory."""
    return (
        record.kind not in _HAPPENED | _HANDED
        and record.move is None
        and find_profile_field(record) is None
        and not _is_core(record)
    )


def rank_holding(record: Record) -> tuple[bool, datetime, RecordId]:
    """The order in which statements give way to those behind them: what is newer holds.

    But what users keep for themselves gives way to what is said of the project, however old.
    """
    return record.scope.reach != "user", record.moment, record.id


def is_comparable(new: Record, old: Record) -> bool:
    """Whether one may be the newer version of the other at all.

    Not if one of them lives longer: the one that replaces the other would take it along when it
    goes.
    """
    states = new.kind == old.kind or {new.kind, old.kind} <= _STATES
    return (
        states
        and new.kind not in _HAPPENED
        and states_truth(old)
        and new.category.casefold() == old.category.casefold()
        and new.durable is old.durable
        and new.expires_at is None
        and old.expires_at is None
    )


def choose_band(
    score: float, place: int, old: Record, *, overlap: bool, merging: MergePolicy, now: datetime
) -> Band:
    """Who decides about a candidate with this score.

    `place` is its place among the most similar, from 0. `overlap`: they share a word or a number.
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


def find_rejection(matches: Sequence[Record]) -> Record | None:
    """The newest of these exact matches that says that the user rejected the statement.

    It holds the reason if that was given on a line that is visible from here.
    """
    tombstones = [record for record in matches if record.kind == "tombstone"]
    rejected = next(
        (record for record in tombstones if record.key.startswith(REJECTED_PREFIX)), None
    )
    reason = next((record for record in tombstones if record.key.startswith(REASON_PREFIX)), None)
    if rejected is None or reason is None:
        return rejected
    return rejected.model_copy(update={"content": reason.content})
