"""Values of import and export: what was read of a source, and what became of it.

A source (another program's file, or an export of ours) is read as a whole before anything is
written. Each thing in it is an item, which ends as exactly one of: stored, known, left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.record import Kind, Reach, Record, Scope

EXPORT_FORMAT: Final = "memory-mcp"
EXPORT_VERSION: Final = 1

ExportFormat = Literal["json", "markdown"]
Touch = Literal["erases", "hides", "replaces"]
"""What an import may do to memories that are here."""


@dataclass(frozen=True)
class SourceFile:
    """A file of a source: its name below the source's folder, its text, its last change."""

    name: str
    text: str
    modified: datetime


@dataclass(frozen=True)
class LeftOut:
    """An item that is not stored, and why."""

    item: str
    reason: str


@dataclass(frozen=True)
class Material:
    """All that was read of a source. `folder` says whether it is one; some files may not count.

    `times` is by how much what is the user's own may be larger than what a repository brings.
    """

    documents: tuple[SourceFile, ...]
    folder: bool = False
    left_out: tuple[LeftOut, ...] = ()
    times: int = 1


@dataclass(frozen=True)
class ForeignMemory:
    """A memory as another program kept it.

    `identity` names it within its kind of source, wherever the file lies: the same memory has the
    same one in a copy. `item` is how a person finds it there. `at` is the source's own time;
    `around` a guess (when the file was changed) that no identity rests on.
    """

    identity: str
    item: str
    content: str
    kind: Kind = "fact"
    title: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    at: datetime | None = None
    around: datetime | None = None
    expires_at: datetime | None = None
    reach: Reach = "project"


@dataclass(frozen=True)
class Export:
    """What an export says of itself: of whom it is, when it was made, and what is in it."""

    scope: Scope
    at: datetime
    branch: BranchName
    pools: tuple[Reach, ...]
    history: bool


@dataclass(frozen=True)
class OwnExport:
    """An export of ours, read and checked."""

    about: Export
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Parsed:
    """What a source holds: memories, items that are none, and what is to be said of all of it."""

    source: str
    memories: tuple[ForeignMemory, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    own: OwnExport | None = None

    @property
    def read(self) -> int:
        """How many items there are."""
        return len(self.memories) + len(self.left_out) + len(self.own.records if self.own else ())


@dataclass(frozen=True)
class Imported:
    """What became of a source, or would: `read` is `stored`, `known` and `left_out` together.

    `records` were written: an item that was too long is several. `erases` counts the memories that
    are here, and that the source says were forgotten, `hides` those that its moves and tombstones
    hide, `replaces` those that its memories supersede; `touched` names the first of each.
    """

    source: str
    dry: bool
    read: int
    stored: int
    known: int
    left_out: tuple[LeftOut, ...]
    records: int
    kinds: Mapping[Kind, int]
    redactions: Mapping[str, int]
    erases: int = 0
    hides: int = 0
    replaces: int = 0
    touched: Mapping[Touch, tuple[str, ...]] = field(default_factory=dict[Touch, tuple[str, ...]])
    first: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
