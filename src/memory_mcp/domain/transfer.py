"""Values of import and export.

A source (another program's files, or an export of ours) is read as a whole before anything is
written. Each item in it ends as exactly one of: stored, known, left out.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain.checked import FrozenModel
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.record import Kind, Reach, Record, Scope
from memory_mcp.frozen import frozen

EXPORT_FORMAT: Final = "memory-mcp"
EXPORT_VERSION: Final = 1

ExportFormat = Literal["json", "markdown"]
ImportEffect = Literal["erases", "hides", "replaces"]
"""What an import may do to existing memories."""


@frozen
class SourceFile:
    """A file of a source; `name` is its path below the source's folder."""

    name: str
    text: str
    modified: datetime


@frozen
class LeftOutItem:
    """An item that is not stored, and why.

    `item` says where it is, then at most its first words: `line 3: Never …`; what follows the first
    `: ` is left out where a secret could stand. `reason` goes on from it (`has no text`) and is the
    same for items of one sort, because receipts count them by it.
    """

    item: str
    reason: str


@frozen
class SourceMaterial:
    """All that was read of a source, which may be a `folder`, and the files that do not count.

    Limits are raised by `limit_factor`: a user's own backup may be larger than what a repository
    brings.
    """

    documents: tuple[SourceFile, ...]
    folder: bool = False
    left_out: tuple[LeftOutItem, ...] = ()
    limit_factor: int = 1


@frozen
class ForeignMemory:
    """A memory as another program stored it.

    `identity` names it within its kind of source and stays the same in a copy of the file. `item`
    is how a person finds it there. `at` is the source's own time; `guessed_at` is a guess (when the
    file was changed), on which no identity rests.
    """

    identity: str
    item: str
    content: str
    kind: Kind = "fact"
    title: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    at: datetime | None = None
    guessed_at: datetime | None = None
    expires_at: datetime | None = None
    reach: Reach = "project"


class ExportHeader(FrozenModel):
    """What an export says of itself: whose it is, when it was made, and what is in it."""

    scope: Scope
    at: datetime
    branch: BranchName
    banks: tuple[Reach, ...]
    history: bool


@frozen
class ParsedExport:
    """An export of ours, read and checked."""

    about: ExportHeader
    records: tuple[Record, ...]


@frozen
class ParsedSource:
    """What a source holds: memories, items that are none, and notes on all of it."""

    source: str
    memories: tuple[ForeignMemory, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    notes: tuple[str, ...] = ()
    own: ParsedExport | None = None

    @property
    def read(self) -> int:
        """How many items there are."""
        return len(self.memories) + len(self.left_out) + len(self.own.records if self.own else ())


@frozen
class ImportReport:
    """What an import did, or would do (`dry`).

    - `read` items are `stored`, `known` and `left_out` together.
    - `records` were written: a long item becomes several.
    - `erases`, `hides` and `replaces` count the existing memories that the source forgets, hides by
      its moves and tombstones, or supersedes; `affected` names the first of each.
    """

    source: str
    dry: bool
    read: int
    stored: int
    known: int
    left_out: tuple[LeftOutItem, ...]
    records: int
    kinds: Mapping[Kind, int]
    redactions: Mapping[str, int]
    erases: int = 0
    hides: int = 0
    replaces: int = 0
    affected: Mapping[ImportEffect, tuple[str, ...]] = field(
        default_factory=dict[ImportEffect, tuple[str, ...]]
    )
    first: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class BankMoved:
    """What the records of a bank come to where they were, and how many of them are where they went.

    `others` are records that were there already, and are not from here.
    """

    reach: Reach
    records: int
    digest: str
    arrived: int
    digest_there: str
    others: int

    @property
    def same(self) -> bool:
        """Whether every record is there as it is here."""
        return self.arrived == self.records and self.digest == self.digest_there


@frozen
class MoveReport:
    """The proof of a move to another store: of each bank, and of the head and its `moves`.

    What the `team` keeps, if there is one, stays where it is.
    """

    banks: tuple[BankMoved, ...]
    moves: int
    same_head: bool
    team: str = ""

    @property
    def same(self) -> bool:
        """Whether everything is there as it is here."""
        return self.same_head and all(bank.same for bank in self.banks)
