"""A record: one immutable JSON file. A draft is what a caller hands in before it becomes one."""

from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

from memory_mcp.domain import limits
from memory_mcp.domain.checked import FrozenModel, check_with, constrain, write_with
from memory_mcp.domain.fields import (
    AwareTime,
    BranchField,
    CheckpointField,
    Commit,
    Key,
    Label,
    LineField,
    MetaField,
    Name,
    Phase,
    RecordIdField,
    RecordIds,
    SegmentField,
    SegmentIds,
    SourceIds,
    StrictInt,
    Tags,
    Text,
    Title,
    dump_meta,
    require_visible_characters,
)
from memory_mcp.domain.ids import ROOT, BranchName, RecordId, SegmentId, parse_id_time
from memory_mcp.domain.json_input import JsonValue
from memory_mcp.domain.normalise import cut, digest, find_hidden_character, put_on_one_line
from memory_mcp.frozen import frozen

SCHEMA_VERSION: Final = 1

Kind = Literal[
    "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event",
    "episode", "summary", "closeout", "resource", "nudge", "checkpoint", "move", "tombstone",
    "exclusion",
]  # fmt: skip

Layer = Literal["core", "recall", "archival"]

Approval = Literal["approved", "auto", "pending", "skipped"]
"""Approved by the user, by MEMORY_APPROVAL=auto, not decided yet, or refused."""

DURABLE_KINDS: Final[frozenset[Kind]] = frozenset(
    {"preference", "convention", "pattern", "identity", "lesson"}
)
"""Kinds outside the timeline: about the user, or learnt for good."""

SEARCHABLE_KINDS: Final[frozenset[Kind]] = frozenset(
    {
        "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event",
        "episode", "summary", "closeout", "resource", "checkpoint",
    }
)  # fmt: skip
"""Kinds that a search may find. Moves and tombstones are bookkeeping; nudges have a queue."""

MEMORY_KINDS: Final = SEARCHABLE_KINDS - {"checkpoint"}
"""Kinds that count as memories. A checkpoint's summary is found, but is no memory."""

CORE_PREFIX: Final = "core:"
"""Begins the key of an entry of a node's core; the entry's own key follows."""

REJECTED_PREFIX: Final = "rejected:"
"""Begins the key of a tombstone whose memory the user rejected; the statement's digest follows."""

REASON_PREFIX: Final = "because:"
"""Begins the key of a tombstone that hides nothing: it says, on its own line of the timeline, why a
statement was rejected. The statement's digest follows."""

EPISODE_PREFIX: Final = "told:"
"""Begins the key of an episode's tombstone; the episode's key follows. It is not written again."""


def assume_utc(at: datetime | None) -> datetime | None:
    """Read a time without a zone as UTC."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def format_time(at: datetime) -> str:
    """A time in files, on the wire and in the index."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def truncate_to_milliseconds(at: datetime) -> datetime:
    """The time in UTC, as it is stored.

    Raises:
        ValueError: UTC's calendar does not have it.
    """
    try:
        utc = at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is beyond the calendar in UTC") from error
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


_CLOCK_DRIFT_MAX: Final = timedelta(days=366)
"""Between a move's id and its date, as clocks are corrected: moves are ordered by their ids."""

_CONTENT_CHARS_MAX: Final[dict[Kind, int]] = {
    "checkpoint": limits.SUMMARY_CHARS_MAX,
    "move": limits.SUMMARY_CHARS_MAX,
    "tombstone": limits.SUMMARY_CHARS_MAX,
    "exclusion": limits.SUMMARY_CHARS_MAX,
}
"""For the kinds that are no memories."""

_MOVE_ACTS: Final[dict[Kind, frozenset[str]]] = {
    "checkpoint": frozenset({"checkpoint", "decide"}),
    "move": frozenset({"fork", "join", "backtrack", "restore", "anchor"}),
}
"""How each kind may move the head."""

_LATEST_TIME: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""A later record would sort after everything that follows it; no clock is set so far ahead."""

_ERASING: Final[frozenset[Kind]] = frozenset({"move", "tombstone"})

_HIDING: Final[frozenset[Kind]] = frozenset({*_ERASING, "exclusion"})
"""Kinds that may hide any number of others; an exclusion says nothing against what it hides."""

Timestamp = Annotated[AwareTime, check_with(truncate_to_milliseconds), write_with(format_time)]
"""UTC in milliseconds with a Z: text order is time order."""


Reach = Literal["project", "team", "user"]
"""Whose memory it is: this project's, the team's in every project, or the user's in every one."""


class Scope(FrozenModel):
    """Who wrote a memory, and whose it is: a project's, a team's, or with neither the user's."""

    user: Name
    project: Name | None = None
    team: Name | None = None

    @property
    def reach(self) -> Reach:
        if self.team is not None:
            return "team"
        return "user" if self.project is None else "project"

    def written_by(self, user: str) -> "Scope":
        """The same, of another writer."""
        return self if user == self.user else self.model_copy(update={"user": user})


class Origin(FrozenModel):
    """Who taught us this, in which session, at which commit."""

    by: Literal["assistant", "user", "system"] = "assistant"
    client: Name = ""
    session: Name = ""
    commit: Commit = ""
    git_branch: Name = ""


class Move(FrozenModel):
    """One step of a head. Moves are sets: folding them in any order gives the same timeline.

    - `opens`: the segments that it begins, by branch; all are children of `parents`.
    - `leaves`: the segments that are tips no longer.
    - `gives_up`: the segments that its branch no longer holds; `forgets`: those erased for good.
      What grew from them goes with them, except what it `keeps` and what grew from that.
    - `undoes`: the backtracks and restores that a restore takes back.
    - `decides`: the move that left a checkpoint pending; it then `undoes` earlier answers.
    - `carries`: the records written with it in one step.
    - `anchors`: the segments whose memories hold where the `commit` of git does; it was made on
      `git_branch`. An anchor `undoes` others that no longer count.
    """

    act: Literal["checkpoint", "decide", "fork", "join", "backtrack", "restore", "anchor"]
    branch: BranchField
    opens: Annotated[dict[BranchField, SegmentField], constrain(max_length=limits.LINKS_MAX)] = (
        field(default_factory=dict[BranchName, SegmentId])
    )
    parents: SegmentIds = ()
    leaves: SegmentIds = ()
    gives_up: SegmentIds = ()
    keeps: SegmentIds = ()
    forgets: SegmentIds = ()
    undoes: RecordIds = ()
    carries: RecordIds = ()
    checkpoint: CheckpointField | None = None
    decides: RecordIdField | None = None
    phase: Phase | None = None
    approval: Approval | None = None
    line: LineField | None = None
    anchors: SegmentIds = ()
    commit: Commit = ""
    git_branch: Name = ""

    def check(self) -> None:
        """Require that it opens new segments only."""
        opened = self.opens.values()
        if ROOT in opened:
            raise ValueError("would open the first segment anew")
        if not set(opened).isdisjoint((*self.parents, *self.leaves, *self.forgets)):
            raise ValueError("opens a segment that it stands on or leaves")


class Lineage(FrozenModel):
    """What places a record on the timeline without any other file.

    Records are committed with code, so a clone of one git branch lacks those of another. `move`
    began the record's segment, as a child of `parents`. `given_up` names the segments that earlier
    moves took off its branch, by move, `kept` those that they kept, and `undone` the moves that
    were taken back. `base` names the segments that the branch was forked from.
    """

    move: RecordIdField | None = None
    parents: SegmentIds = ()
    given_up: Annotated[
        dict[RecordIdField, SegmentIds], constrain(max_length=limits.LINEAGE_SEGMENTS_MAX)
    ] = field(default_factory=dict[RecordId, tuple[SegmentId, ...]])
    kept: Annotated[
        dict[RecordIdField, SegmentIds], constrain(max_length=limits.LINEAGE_SEGMENTS_MAX)
    ] = field(default_factory=dict[RecordId, tuple[SegmentId, ...]])
    undone: RecordIds = ()
    base: SegmentIds = ()


_Line = Annotated[StrictInt, constrain(ge=0, le=10_000_000)]
_Size = Annotated[StrictInt, constrain(ge=0, le=1_000_000_000)]
_Shape = Annotated[str, constrain(max_length=32, pattern=r"^(?:[0-9a-f]{2})*$")]


class Citation(FrozenModel):
    """A place in the code that a memory rests on, as it was when the memory was written.

    Lines `first` to `last`, or a symbol, or the whole file. `text` is the hash of the cited lines
    (`domain.citations`), `count` are these, `size` the sum of their lengths and `shape` the lengths
    of the first; `around` is the hash of the lines beside them; `blob` is git's hash of the file.
    """

    path: Annotated[str, constrain(max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]
    first: _Line = 0
    last: _Line = 0
    symbol: Annotated[str, constrain(max_length=200, pattern=r"^[\w$.:]*$")] = ""
    text: Commit = ""
    count: _Line = 0
    size: _Size = 0
    shape: _Shape = ""
    around: Commit = ""
    blob: Commit = ""
    commit: Commit = ""


_NO_LINEAGE: Final = Lineage.model_construct()  # all defaults: nothing to validate
_NO_ORIGIN: Final = Origin.model_construct()


class Record(FrozenModel):
    """One immutable file. A correction is a new record that supersedes this one.

    `erases` names records whose files must not exist any more: it completes a forget that was
    interrupted, or that happened in another clone. `stated_at` is when what it states was said, if
    it only keeps what an earlier record said. `holds_beside` names memories that contradict it by
    their words, and whose holding as well somebody stated who knew both.
    """

    schema_version: Annotated[StrictInt, constrain(ge=1)] = SCHEMA_VERSION
    id: RecordIdField
    kind: Kind
    layer: Layer = "archival"
    key: Key = ""
    content: Annotated[Text, constrain(min_length=1)]  # what is empty is left out of the file
    title: Title = ""
    category: Label = ""
    tags: Tags = ()
    importance: Annotated[
        StrictInt, constrain(ge=limits.IMPORTANCE_MIN, le=limits.IMPORTANCE_MAX)
    ] = limits.IMPORTANCE_DEFAULT
    pinned: Annotated[bool, constrain(strict=True)] = False
    expires_at: Timestamp | None = None
    phase: Phase | None = None
    segment: SegmentField | None = None
    branch: BranchField | None = None
    lineage: Lineage = _NO_LINEAGE
    supersedes: RecordIds = ()
    derived_from: SourceIds = ()
    erases: RecordIds = ()
    stated_at: Timestamp | None = None
    holds_beside: SourceIds = ()
    cites: Annotated[tuple[Citation, ...], constrain(max_length=limits.CITES_MAX)] = ()
    move: Move | None = None
    meta: MetaField = field(default_factory=dict[str, JsonValue])
    scope: Scope
    origin: Origin = _NO_ORIGIN
    created_at: Timestamp

    def check(self) -> None:
        """Refuse what no use case writes, however well each field is formed."""
        texts = self._texts()
        if (
            find_hidden_character("".join(texts.values())) is not None
        ):  # nearly always there is none
            require_visible_characters(texts)
        if self.scope.team is not None and (self.scope.project is not None or not self.durable):
            raise ValueError("is of a team, so it can be of no project and on no timeline")
        if self.created_at >= _LATEST_TIME:
            raise ValueError("created_at is dated later than any clock is set")
        if self.supersedes or self.derived_from or self.erases:
            self._check_references()
        if self.move is not None or self.kind in _MOVE_ACTS:
            self._check_move()
        most = _CONTENT_CHARS_MAX.get(self.kind)
        if most is not None and len(self.content) > most:
            raise ValueError(f"a {self.kind} of {len(self.content):,} characters: {most:,} at most")

    def _check_references(self) -> None:
        if self.id in self.supersedes or self.id in self.derived_from or self.id in self.erases:
            raise ValueError("a record cannot supersede, erase or derive from itself")
        if self.kind not in _ERASING:
            if self.erases:
                raise ValueError(f"a {self.kind} cannot erase others")
            many = len(self.supersedes)
            if many > limits.REPLACED_MAX and self.kind not in _HIDING:
                raise ValueError(f"supersedes {many:,}: {limits.REPLACED_MAX} at most")

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
            "scope.team": scope.team or "",
            "meta": dump_meta(self.meta) if self.meta else "",
        }

    def _check_move(self) -> None:
        act = self.move.act if self.move else "nothing"
        if act not in _MOVE_ACTS.get(self.kind, ()):
            raise ValueError(f"a {self.kind} cannot move the head by {act!r}")
        if abs(parse_id_time(self.id) - self.created_at) > _CLOCK_DRIFT_MAX:
            raise ValueError("its id is of another year than its date")

    @property
    def moment(self) -> datetime:
        """When what it states was said: what only keeps an earlier statement is no newer."""
        return self.stated_at or self.created_at

    def holds_with(self, other: "Record") -> bool:
        """Whether it was said that both hold, of these or of the one that either replaced."""
        return any(
            not {named.id, *named.supersedes}.isdisjoint(naming.holds_beside)
            for naming, named in ((self, other), (other, self))
            if naming.holds_beside
        )

    @property
    def durable(self) -> bool:
        """Whether it lives outside the timeline."""
        return self.segment is None

    @property
    def recalled(self) -> bool:
        """Whether a search may find it. An unapproved checkpoint is no memory."""
        if self.move is not None and self.move.approval in ("pending", "skipped"):
            return False
        return self.kind in SEARCHABLE_KINDS

    @property
    def statement(self) -> str:
        """The digest of what a memory states, or of the statement that a tombstone rejects.

        For an episode's tombstone: the series it belongs to, without the turn.
        """
        if self.kind == "tombstone":
            if self.key.startswith(EPISODE_PREFIX):
                return self.key.rpartition(":")[0]
            name, _, rest = self.key.partition(":")
            return rest if f"{name}:" in (REJECTED_PREFIX, REASON_PREFIX) else ""
        return digest(self.content) if self.recalled else ""

    @property
    def container_tags(self) -> list[str]:
        """Scope and subject, as tags by which other tools ask for memories."""
        about = [f"category:{self.category}"] if self.category else []
        return [
            self.scope.user,
            f"tag:project:{self.scope.project or 'none'}",
            *([f"tag:team:{self.scope.team}"] if self.scope.team else []),
            *about,
            *(f"tag:{tag}" for tag in self.tags),
        ]

    def as_json(self) -> dict[str, Any]:
        """The file's content, without absent and empty fields."""
        fields = self.list_json()
        meta = fields.pop("meta")  # as it was given, nulls included
        kept = drop_empty({**fields, "container_tags": self.container_tags})
        return kept | {"meta": meta} if meta else kept


def cut_title(record: Record, chars_max: int) -> str:
    """What a record is called in one line of so many characters: its title, or else its text."""
    return cut(put_on_one_line(record.title or record.content), chars_max)


def drop_empty(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields without null, false, and empty texts, lists and objects."""
    kept: dict[str, Any] = {}
    for name, value in fields.items():
        tidy = drop_empty(value) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType]  # JSON
        if tidy or (tidy == 0 and tidy is not False):
            kept[name] = tidy
    return kept


@frozen
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
    cites: tuple[str, ...] = ()
    reach: Reach = "project"


@frozen
class RecordContext:
    """What a new record needs beside its draft: id, time, place on the timeline, scope, origin.

    `scope` is that of the project's records, `team` the one that the writer belongs to, or ''.
    """

    id: RecordId
    at: datetime
    segment: SegmentId
    branch: BranchName
    scope: Scope
    origin: Origin
    lineage: Lineage = field(default_factory=Lineage)
    team: str = ""

    def scope_of(self, reach: Reach) -> Scope:
        """The scope of a record of that reach."""
        match reach:
            case "project":
                return self.scope
            case "team":
                return Scope(user=self.scope.user, team=self.team)
            case "user":
                return Scope(user=self.scope.user)
