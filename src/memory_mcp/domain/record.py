"""A record: one immutable JSON file. A draft is what a caller hands in before it becomes one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
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
from memory_mcp.domain.forms import (
    Branch,
    CheckpointName,
    Commit,
    Id,
    Key,
    Label,
    LineName,
    Links,
    Name,
    Number,
    Others,
    Phase,
    Place,
    Places,
    Tags,
    Text,
    Title,
    require_seen,
)
from memory_mcp.domain.ids import ROOT, BranchName, RecordId, SegmentId, time_of
from memory_mcp.domain.normalise import digest, hidden_character

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

BECAUSE: Final = "because:"
"""Begins the key of a tombstone that buries nothing: it tells why a statement was rejected, on the
road on which that was said. The statement's digest follows."""

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


_DRIFT: Final = timedelta(days=366)
"""A clock that was set right in between: moves follow each other by their ids."""

_CONTENT_CHARS_MAX: Final[dict[Kind, int]] = {
    "checkpoint": limits.SUMMARY_CHARS_MAX,
    "move": limits.SUMMARY_CHARS_MAX,
    "tombstone": limits.SUMMARY_CHARS_MAX,
}
"""Of the kinds that are no memories; of a memory the usual limit counts."""

_ACTS: Final[dict[Kind, frozenset[str]]] = {
    "checkpoint": frozenset({"checkpoint", "decide"}),
    "move": frozenset({"fork", "backtrack", "restore"}),
}
"""What moves the head, and how."""

_LAST_MOMENT: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""No clock that writes records is set beyond this; what is would come after all that follows."""

_ERASING: Final[frozenset[Kind]] = frozenset({"move", "tombstone"})

Timestamp = Annotated[AwareDatetime, AfterValidator(_whole), PlainSerializer(iso, return_type=str)]
"""UTC in milliseconds with a Z, in files and on the wire: text order is time order."""


class Frozen(BaseModel):
    """Base of every value: frozen. Fields of a later version are ignored, never rewritten."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Scope(Frozen):
    """Whose memory it is. `project` is absent in the user scope."""

    user: Name
    project: Name | None = None


class Origin(Frozen):
    """Who taught us this, in which session, at which commit."""

    by: Literal["assistant", "user", "system"] = "assistant"
    client: Name = ""
    session: Name = ""
    commit: Commit = ""
    git_branch: Name = ""


class Move(Frozen):
    """One step of a head. Steps are sets: folding them in any order gives the same timeline.

    `opens` names the segments that this step begins (by branch), all of them children of
    `parents`; `leaves` names the segments that are tips no longer; `gives_up` names everything that
    its branch does not hold from here on, `forgets` what of it is erased for good; `undoes` names
    the backtracks and restores that a restore takes back, so that they give up nothing any more;
    `decides` the move that left a checkpoint pending; `carries` the records that were written
    with it in one step.
    """

    act: Literal["checkpoint", "decide", "fork", "backtrack", "restore"]
    branch: Branch
    opens: dict[Branch, Place] = Field(
        default_factory=dict[BranchName, SegmentId], max_length=limits.LINKS_MAX
    )
    parents: Places = ()
    leaves: Places = ()
    gives_up: Places = ()
    forgets: Places = ()
    undoes: Others = ()
    carries: Others = ()
    checkpoint: CheckpointName | None = None
    decides: Id | None = None
    phase: Phase | None = None
    approval: Approval | None = None
    line: LineName | None = None

    @model_validator(mode="after")
    def _opens_only_new(self) -> Self:
        opened = self.opens.values()
        if ROOT in opened:
            raise ValueError("would open the first segment anew")
        if not set(opened).isdisjoint((*self.parents, *self.leaves, *self.forgets)):
            raise ValueError("opens a segment that it stands on or leaves")
        return self


class Lineage(Frozen):
    """What places a record by itself, whatever other files there are.

    Records are committed with code: a clone of one git branch has some of them, and not those that
    another git branch holds. `move` began the segment of the record, as a child of `parents`.
    `given_up` names what earlier moves gave up on its branch, by move, and `undone` those moves
    that were taken back. `base` names what the branch stood on when it was forked.
    """

    move: Id | None = None
    parents: Places = ()
    given_up: dict[Id, Places] = Field(
        default_factory=dict[RecordId, tuple[SegmentId, ...]],
        max_length=limits.LINEAGE_SEGMENTS_MAX,
    )
    undone: Others = ()
    base: Places = ()


class Record(Frozen):
    """What rests in one file. Never edited: a correction is a new record that supersedes.

    `erases` names records whose files must not exist any more (an explicit forget). It is what
    makes a forget that was cut short, or that happened in another clone, complete itself here.
    """

    schema_version: Number = Field(default=SCHEMA_VERSION, ge=1)
    id: Id
    kind: Kind
    layer: Layer = "archival"
    key: Key = ""
    content: Text = Field(min_length=1)  # what is empty is left out of the file
    title: Title = ""
    category: Label = ""
    tags: Tags = ()
    importance: Number = Field(
        default=limits.IMPORTANCE_USUAL, ge=limits.IMPORTANCE_MIN, le=limits.IMPORTANCE_MAX
    )
    pinned: bool = Field(default=False, strict=True)
    expires_at: Timestamp | None = None
    phase: Phase | None = None
    segment: Place | None = None
    branch: Branch | None = None
    lineage: Lineage = Lineage()
    supersedes: Others = ()
    derived_from: Links = ()
    erases: Others = ()
    move: Move | None = None
    scope: Scope
    origin: Origin = Origin()
    created_at: Timestamp

    @model_validator(mode="after")
    def _could_be_ours(self) -> Self:
        """Refuse what no use case writes, however well each field is formed."""
        origin, scope = self.origin, self.scope
        read = "".join(
            (
                self.content, self.title, self.category, self.key, *self.tags,
                origin.client, origin.session, origin.git_branch, scope.user, scope.project or "",
            )
        )  # fmt: skip
        if hidden_character(read) is not None:  # all at once: nearly always there is none
            require_seen(self._texts())
        if self.created_at >= _LAST_MOMENT:
            raise ValueError("created_at is dated later than any clock is set")
        if self.supersedes or self.derived_from or self.erases:
            self._require_others()
        if self.move is not None or self.kind in _ACTS:
            self._require_act()
        most = _CONTENT_CHARS_MAX.get(self.kind)
        if most is not None and len(self.content) > most:
            raise ValueError(f"a {self.kind} of {len(self.content):,} characters: {most:,} at most")
        return self

    def _require_others(self) -> None:
        if self.id in self.supersedes or self.id in self.derived_from or self.id in self.erases:
            raise ValueError("a record cannot supersede, erase or derive from itself")
        if self.kind not in _ERASING:
            if self.erases:
                raise ValueError(f"a {self.kind} cannot erase others")
            if len(self.supersedes) > limits.SOURCES_MAX:
                raise ValueError(
                    f"supersedes {len(self.supersedes):,}: {limits.SOURCES_MAX} at most"
                )

    def _texts(self) -> dict[str, str]:
        origin, scope = self.origin, self.scope
        return {
            "content": self.content,
            "title": self.title,
            "category": self.category,
            "key": self.key,
            "tags": "".join(self.tags),
            "origin.client": origin.client,
            "origin.session": origin.session,
            "origin.git_branch": origin.git_branch,
            "scope.user": scope.user,
            "scope.project": scope.project or "",
        }

    def _require_act(self) -> None:
        act = self.move.act if self.move else "nothing"
        if act not in _ACTS.get(self.kind, ()):
            raise ValueError(f"a {self.kind} cannot move the head by {act!r}")
        if abs(time_of(self.id) - self.created_at) > _DRIFT:
            raise ValueError("its id is of another year than its date")

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
            name, _, rest = self.key.partition(":")
            return rest if f"{name}:" in (REJECTED, BECAUSE) else ""
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


Reach = Literal["project", "user"]
"""Whose memory it is to be: this project's, or the user's in every project."""


@dataclass(frozen=True)
class Draft:
    """A memory as proposed."""

    content: str
    kind: Kind = "fact"
    title: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    importance: int = 3
    pinned: bool = False
    expires_at: datetime | None = None
    phase: int | None = None
    supersedes: tuple[str, ...] = ()
    reach: Reach = "project"


@dataclass(frozen=True)
class Writing:
    """The circumstances of one record: its id, when and where on the timeline, by and for whom."""

    id: RecordId
    at: datetime
    segment: SegmentId
    branch: BranchName
    scope: Scope
    origin: Origin
    lineage: Lineage = field(default_factory=Lineage)
