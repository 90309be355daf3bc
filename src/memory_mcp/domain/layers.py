"""The layers of a node: what is read from them, and the forms of what is written to them.

A node is a branch. `core` is a small set of keys with values that is always in view, `recall` the
events of the node, `archival` everything else that is worth finding again. `Write` is a closed
union: one document of updates, one atomic write and one call of the Python API mean the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from memory_mcp.domain import limits
from memory_mcp.domain.ids import BranchName, LineId, RecordId
from memory_mcp.domain.record import assume_utc, truncate_to_milliseconds
from memory_mcp.frozen import frozen

LayerScope = Literal["all", "core", "recall", "archival"]
"""Which layers of a node are read."""

Prefer = Literal["parent", "child"]
"""Whose version stands where a join finds both changed."""

Meta = Mapping[str, JsonValue]


@frozen
class CoreEntry:
    """A key of the core with its value. `durable`: a preference that every node has beside it."""

    key: str
    value: str
    id: RecordId
    node: BranchName
    at: datetime
    importance: int = limits.IMPORTANCE_DEFAULT
    expires_at: datetime | None = None
    durable: bool = False


@frozen
class CoreChange:
    """One step in the history of a key; without a value it was deleted."""

    key: str
    value: str | None
    id: RecordId
    node: BranchName
    at: datetime


@frozen
class RecallEvent:
    """An event of a node. `ts` is when it happened; `meta` holds what has no field of its own.

    `sums_up` is the number of events whose place it takes; `evicted`: it is out of the window.
    """

    id: RecordId
    node: BranchName
    ts: datetime
    summary: str
    text: str = ""
    kind: str = ""
    phase: str = ""
    run_id: str = ""
    task_hint: str = ""
    refs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict[str, JsonValue])
    sums_up: int = 0
    evicted: bool = False


@frozen
class ArchivalRecord:
    """A text of the archive. A search gives it a score (0-1).

    `outdated_by` is what brings it up to date; `disputed_with` are those that contradict it, where
    nothing says who is right.
    """

    id: RecordId
    node: BranchName
    at: datetime
    text: str
    tags: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict[str, JsonValue])
    score: float | None = None
    outdated_by: RecordId | None = None
    disputed_with: tuple[RecordId, ...] = ()


@frozen
class NodeView:
    """What a node sees: its own and what it inherits. A layer that was not asked for is not listed.

    `chain` names the nodes that it sees, itself first and the root last. Events are the newest of
    the window, oldest first; of the archive the newest are listed. `events` and `archived` count
    all that it sees.
    """

    node: BranchName
    chain: tuple[BranchName, ...]
    core: tuple[CoreEntry, ...] = ()
    recall: tuple[RecallEvent, ...] = ()
    archival: tuple[ArchivalRecord, ...] = ()
    events: int = 0
    archived: int = 0


@frozen
class NodeForked:
    """The node is there; `created` are the nodes that this call began, root first."""

    node: BranchName
    parent: BranchName | None
    created: tuple[BranchName, ...] = ()


@frozen
class LayerReceipt:
    """What became of a write: all of it is durable.

    Ids are in the order of what was written. `evicted` and `sums_up` count events.
    """

    node: BranchName
    core_set: tuple[str, ...] = ()
    core_deleted: tuple[str, ...] = ()
    events: tuple[RecordId, ...] = ()
    archival: tuple[RecordId, ...] = ()
    evicted: int = 0
    summary: RecordId | None = None
    sums_up: int = 0
    notes: tuple[str, ...] = ()


@frozen
class UpdatesApplied:
    """What a document of updates wrote, and the answers to what it asked, as of after that.

    `asked` names the layers that it asked: an answer may be that nothing was found.
    """

    receipt: LayerReceipt
    core: Mapping[str, str] = field(default_factory=dict[str, str])
    recall: tuple[RecallEvent, ...] = ()
    archival: tuple[ArchivalRecord, ...] = ()
    asked: tuple[LayerScope, ...] = ()


@frozen
class JoinConflict:
    """What both sides of a join changed: a key of the core, or a memory that both replaced.

    `parent` and `child` are the text that each has now; empty: it was deleted or hidden there.
    """

    what: Literal["core", "memory"]
    name: str
    parent: str
    child: str


@frozen
class NodeJoined:
    """The child's line is part of its parent's, in one move; or, with conflicts, nothing moved.

    A backtrack to `move` takes the join back, on either side by itself.
    """

    node: BranchName
    into: BranchName
    brings: int = 0
    conflicts: tuple[JoinConflict, ...] = ()
    joined: bool = True
    move: RecordId | None = None


@frozen
class NodeDiscarded:
    """The node is left; its lesson, if there was one, is durable and seen by every node.

    A backtrack of the node to `line` brings back what it wrote.
    """

    node: BranchName
    hides: int
    lesson: RecordId | None = None
    line: LineId | None = None


class LayerForm(BaseModel):
    """Base of the forms: null means absent, and an unknown field is refused by its name."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    _nulls: ClassVar[frozenset[str]] = frozenset()
    """Fields that may be null."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, Any]", value)
        kept = cls._nulls
        return {n: each for n, each in fields.items() if each is not None or n in kept}


def _refuse_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is no number")  # noqa: TRY004  # pydantic's way
    return value


def _require_span(value: object) -> object:
    if isinstance(value, str | datetime | timedelta):
        return value
    raise ValueError('give a duration ("30m", "2d") or a time (ISO)')


def _read_time(at: datetime) -> datetime:
    return truncate_to_milliseconds(assume_utc(at) or at)


_Count = Annotated[int, BeforeValidator(_refuse_bool)]
_Span = Annotated[str | datetime | timedelta, BeforeValidator(_require_span)]
_Query = Annotated[str, Field(max_length=limits.QUERY_CHARS_MAX)]
_Key = Annotated[str, Field(min_length=1, max_length=limits.CORE_KEY_CHARS_MAX)]
_Tags = tuple[Annotated[str, Field(min_length=1, max_length=limits.TAG_CHARS_MAX)], ...]
_Content = Annotated[str, Field(min_length=1, max_length=limits.CONTENT_CHARS_MAX)]
_Meta = dict[str, JsonValue]


class CoreSet(LayerForm):
    """Give a key of the core a value. `ttl` is a duration ("30m", "2d") or a time (ISO)."""

    key: _Key
    value: _Content
    ttl: _Span | None = None
    importance: _Count = Field(
        default=limits.IMPORTANCE_DEFAULT, ge=limits.IMPORTANCE_MIN, le=limits.IMPORTANCE_MAX
    )


class CoreDelete(LayerForm):
    """Take a key out of the core of this node."""

    key: _Key


class RecallAppend(LayerForm):
    """Add an event. Fields that are unknown are kept in its meta.

    Without a summary the first paragraph of the text is it.
    """

    model_config = ConfigDict(extra="allow")

    summary: str = ""
    text: str = ""
    kind: str = ""
    phase: Annotated[str | int, BeforeValidator(_refuse_bool)] = ""
    ts: Annotated[datetime, AfterValidator(_read_time)] | None = None
    run_id: str = ""
    node_id: str = ""
    branch_id: str = ""
    refs: tuple[str, ...] = ()
    tags: _Tags = ()
    task_hint: str = ""
    meta: _Meta = Field(default_factory=_Meta)
    write_archival: bool = False


class RecallEvict(LayerForm):
    """Take events out of the window: those of `ids`, or all that fit every other field.

    `keep` spares the newest; `older_than` is a duration ("30m", "2d") or a time (ISO), and an event
    is as old as its `ts` says.
    """

    ids: tuple[str, ...] = ()
    kind: str = ""
    older_than: _Span | None = None
    keep: _Count | None = Field(default=None, ge=0)


class ArchivalWrite(LayerForm):
    """Store a text in the archive."""

    text: _Content
    tags: _Tags = ()
    meta: _Meta = Field(default_factory=_Meta)


class ArchivalUpdate(LayerForm):
    """Replace a text of the archive; what is left out stays."""

    id: str
    text: _Content | None = None
    tags: _Tags | None = None
    meta: _Meta | None = None


class Consolidate(LayerForm):
    """Put a summary in the place of events: of `ids`, else of all that the node inherits."""

    summary: Annotated[str, Field(min_length=1, max_length=limits.CONTENT_CHARS_MAX)]
    ids: tuple[str, ...] = ()


Write = (
    CoreSet | CoreDelete | RecallAppend | RecallEvict | ArchivalWrite | ArchivalUpdate | Consolidate
)


class RecallSearch(LayerForm):
    """Find events; `*` means the newest, and `k` null means all."""

    _nulls = frozenset({"k"})

    query: _Query = "*"
    k: _Count | None = Field(default=20, ge=1, le=limits.LISTED_MEMORIES_MAX)


class ArchivalSearch(LayerForm):
    """Find texts of the archive that have all of these tags."""

    query: _Query
    tags: _Tags = ()
    k: _Count = Field(default=10, ge=1, le=limits.LISTED_MEMORIES_MAX)


def list_core_values(value: object) -> Sequence[object]:
    """A list of core values: an object of keys and values is one, too."""
    if not isinstance(value, Mapping):
        return _list_one(value)
    fields = cast("Mapping[str, object]", value)
    if "value" in fields and isinstance(fields.get("key"), str):
        return [fields]
    return [
        {**cast("Mapping[str, object]", given), "key": key}
        if isinstance(given, Mapping)
        else {"key": key, "value": given}
        for key, given in fields.items()
    ]


def _list_one(value: object) -> Sequence[object]:
    """A list; one item alone is a list of it."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return cast("Sequence[object]", value)
    return [value]


def _list_texts(name: str) -> BeforeValidator:
    """A list of objects; a plain text is the field of this name."""

    def read(value: object) -> object:
        return [{name: each} if isinstance(each, str) else each for each in _list_one(value)]

    return BeforeValidator(read)


class MemoryUpdates(LayerForm):
    """A document of updates, as a model writes it: what to change, and what to look up.

    Everything that it writes is written, or nothing; what it asks is answered as of after that.
    """

    mem_core_set: Annotated[tuple[CoreSet, ...], BeforeValidator(list_core_values)] = ()
    mem_core_get: Annotated[tuple[str, ...], BeforeValidator(_list_one)] | None = None
    mem_core_del: Annotated[tuple[CoreDelete, ...], _list_texts("key")] = ()
    mem_archival_write: Annotated[tuple[ArchivalWrite, ...], _list_texts("text")] = ()
    mem_archival_update: Annotated[tuple[ArchivalUpdate, ...], BeforeValidator(_list_one)] = ()
    mem_archival_search: Annotated[tuple[ArchivalSearch, ...], _list_texts("query")] = ()
    mem_recall_append: Annotated[tuple[RecallAppend, ...], _list_texts("summary")] = ()
    mem_recall_search: Annotated[tuple[RecallSearch, ...], _list_texts("query")] = ()
    mem_recall_evict: Annotated[tuple[RecallEvict, ...], BeforeValidator(_list_one)] = ()
    consolidate: Annotated[tuple[Consolidate, ...], _list_texts("summary")] = ()

    @model_validator(mode="before")
    @classmethod
    def _rename_legacy(cls, value: Any) -> Any:
        """`core` and `archival` of older prompts are what their present names say."""
        if not isinstance(value, Mapping):
            return value
        fields = dict(cast("Mapping[str, Any]", value))
        for old, name, read in (
            ("core", "mem_core_set", list_core_values),
            ("archival", "mem_archival_write", _list_one),
        ):
            given = [fields.pop(each) for each in (old, name) if fields.get(each) is not None]
            fields.pop(old, None)
            if given:  # with both, what the present name says comes last, and stands
                fields[name] = [one for each in given for one in read(each)]
        return fields

    def list_writes(self) -> Iterator[Write]:
        """What it writes, in the order in which it counts."""
        yield from self.mem_core_set
        yield from self.mem_core_del
        yield from self.mem_archival_write
        yield from self.mem_archival_update
        yield from self.mem_recall_append
        yield from self.mem_recall_evict
        yield from self.consolidate
