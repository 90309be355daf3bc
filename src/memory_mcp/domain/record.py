"""A record: one immutable JSON file.

A memory is a record; so are a checkpoint, a move of the head and a tombstone. A record says where
on the timeline it was written (`segment`), and nothing about whether it still holds: that is
decided by who asks, from where, and when (`timeline.visibility`).
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from memory_mcp.domain import limits
from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.normalise import digest

__all__ = [
    "DURABLE_KINDS",
    "MEMORY_KINDS",
    "RECALLED_KINDS",
    "REJECTED",
    "SCHEMA_VERSION",
    "TOLD",
    "Approval",
    "Frozen",
    "Kind",
    "Layer",
    "Move",
    "Origin",
    "Record",
    "Scope",
    "Timestamp",
    "iso",
    "without_empty",
]

SCHEMA_VERSION: Final = 1

Kind = Literal[
    "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event",
    "episode", "summary", "closeout", "resource", "nudge", "checkpoint", "move", "tombstone",
]  # fmt: skip

Layer = Literal["core", "recall", "archival"]

Approval = Literal["approved", "auto", "pending", "skipped"]
"""How a checkpoint was decided: by the user, by MEMORY_APPROVAL=auto, not yet, against."""

DURABLE_KINDS: Final[frozenset[Kind]] = frozenset(
    {"preference", "convention", "pattern", "identity", "lesson"}
)
"""What lives outside the timeline: about the user or learnt for good."""

RECALLED_KINDS: Final[frozenset[Kind]] = frozenset(
    {
        "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event",
        "episode", "summary", "closeout", "resource", "checkpoint",
    }
)  # fmt: skip
"""What a search may find. Moves and tombstones are bookkeeping, nudges have a queue."""

MEMORY_KINDS: Final = RECALLED_KINDS - {"checkpoint"}
"""What is counted as a memory: a checkpoint's summary is found, but it is a place, not a thing."""


REJECTED: Final = "rejected:"
"""Begins the key of a tombstone whose memory the user rejected; its statement's digest follows."""

TOLD: Final = "told:"
"""Begins the key of the tombstone of an episode, whose own key follows: it was told once."""


def iso(at: datetime) -> str:
    """A time as it stands in files, on the wire and in the index."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _whole(at: datetime) -> datetime:
    try:
        utc = at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is beyond the calendar in UTC") from error
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


Timestamp = Annotated[AwareDatetime, AfterValidator(_whole), PlainSerializer(iso, return_type=str)]
"""UTC in milliseconds with a Z, in files and on the wire: text order is time order."""


class Frozen(BaseModel):
    """Base of every value: frozen. Fields of a later version are ignored, never rewritten."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Scope(Frozen):
    """Whose memory it is. `project` is absent in the user scope."""

    user: str
    project: str | None = None


class Origin(Frozen):
    """Who taught us this, in which session, at which commit."""

    by: Literal["assistant", "user", "system"] = "assistant"
    client: str = ""
    session: str = ""
    commit: str = ""
    git_branch: str = ""


class Move(Frozen):
    """One step of a head. Steps are sets: folding them in any order gives the same timeline.

    `opens` names the segments that this step begins (by branch), all of them children of
    `parents`; `leaves` names the segments that are tips no longer; `forgets` those given up for
    good; `undoes` the backtracks and restores that a restore takes back;
    `decides` the move that left a checkpoint pending; `carries` the records that were written
    with it in one step.
    """

    act: Literal["checkpoint", "decide", "fork", "backtrack", "restore"]
    branch: BranchName
    opens: dict[BranchName, SegmentId] = Field(default_factory=dict[BranchName, SegmentId])
    parents: tuple[SegmentId, ...] = ()
    leaves: tuple[SegmentId, ...] = ()
    forgets: tuple[SegmentId, ...] = ()
    undoes: tuple[RecordId, ...] = ()
    carries: tuple[RecordId, ...] = ()
    checkpoint: CheckpointId | None = None
    decides: RecordId | None = None
    phase: int | None = None
    approval: Approval | None = None
    line: LineId | None = None


class Record(Frozen):
    """What rests in one file. Never edited: a correction is a new record that supersedes.

    `erases` names records whose files must not exist any more (an explicit forget). It is what
    makes a forget that was cut short, or that happened in another clone, complete itself here.
    """

    schema_version: int = SCHEMA_VERSION
    id: RecordId
    kind: Kind
    layer: Layer = "archival"
    key: str = ""
    content: str = Field(min_length=1)  # what is empty is left out of the file
    title: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    importance: int = Field(
        default=limits.IMPORTANCE_USUAL, ge=limits.IMPORTANCE_MIN, le=limits.IMPORTANCE_MAX
    )
    pinned: bool = False
    expires_at: Timestamp | None = None
    phase: int | None = Field(default=None, ge=0, le=limits.PHASE_MAX)
    segment: SegmentId | None = None
    branch: BranchName | None = None
    supersedes: tuple[RecordId, ...] = ()
    derived_from: tuple[RecordId, ...] = ()
    erases: tuple[RecordId, ...] = ()
    move: Move | None = None
    scope: Scope
    origin: Origin = Origin()
    created_at: Timestamp

    @model_validator(mode="after")
    def _names_only_others(self) -> Self:
        if self.id in self.supersedes or self.id in self.derived_from:
            raise ValueError("a record cannot supersede or derive from itself")
        return self

    @property
    def durable(self) -> bool:
        """Whether it lives outside the timeline."""
        return self.segment is None

    @property
    def recalled(self) -> bool:
        """Whether a search may find it. A checkpoint nobody approved is not a memory."""
        if self.move is not None and self.move.approval in ("pending", "skipped"):
            return False
        return self.kind in RECALLED_KINDS

    @property
    def statement(self) -> str:
        """The digest of what a memory states, or of what a tombstone says was rejected.

        Of the tombstone of an episode: whose episodes it belongs to, without the turn.
        """
        if self.kind == "tombstone":
            if self.key.startswith(TOLD):
                return self.key.rpartition(":")[0]
            return self.key.removeprefix(REJECTED) if self.key.startswith(REJECTED) else ""
        return digest(self.content) if self.recalled else ""

    @property
    def container_tags(self) -> list[str]:
        """Whose it is and what it is about, as the tags by which other tools ask for memories."""
        about = [f"category:{self.category}"] if self.category else []
        return [
            self.scope.user,
            f"tag:project:{self.scope.project or 'none'}",
            *about,
            *(f"tag:{tag}" for tag in self.tags),
        ]

    def as_json(self) -> dict[str, Any]:
        """The file's content; what is absent or empty is left out."""
        fields = self.model_dump(mode="json")
        return without_empty({**fields, "container_tags": self.container_tags})


def without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something: no null, no empty text, list or object, no plain false."""
    kept: dict[str, Any] = {}
    for name, value in fields.items():
        tidy = without_empty(value) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType]  # JSON
        if tidy is None or tidy is False or tidy in ("", [], {}):
            continue
        kept[name] = tidy
    return kept
