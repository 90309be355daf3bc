"""What a use case answers: closed unions of values. An expected outcome is never an error."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_mcp.domain.cloud import Tally
from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Checkpoint, Line
from memory_mcp.domain.views import Hit

__all__ = [
    "AddOutcome",
    "Added",
    "BacktrackOutcome",
    "Backtracked",
    "Branched",
    "CheckpointOutcome",
    "CheckpointState",
    "Decided",
    "Forgotten",
    "Found",
    "HeadReport",
    "LineState",
    "NotMoved",
    "PhaseSealed",
    "Preview",
    "Saved",
    "Skipped",
]


@dataclass(frozen=True)
class Skipped:
    """Nothing was done because of how the memory is set up; `reason` is a sentence."""

    reason: str


@dataclass(frozen=True)
class Added:
    """A record is durable. `notes` are sentences the caller should read."""

    record: Record
    replaced: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()


AddOutcome = Added | Skipped


@dataclass(frozen=True)
class Forgotten:
    """A memory was erased for good, or hidden on this line."""

    memory_id: RecordId
    erased: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The hits, the mode that really ran, and what the caller should know about them.

    `degraded` says which part of the search did not run, and why. `unreadable` matched as well, but
    their files are damaged or gone: that is no "nothing found".
    """

    hits: Sequence[Hit]
    mode: str
    notes: tuple[str, ...] = ()
    unreadable: frozenset[RecordId] = frozenset()
    degraded: str = ""


@dataclass(frozen=True)
class Saved:
    """A checkpoint was sealed; `pending` until somebody decides it."""

    checkpoint: Checkpoint
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decided:
    """A pending checkpoint was saved, edited and saved, or skipped."""

    checkpoint: Checkpoint


@dataclass(frozen=True)
class PhaseSealed:
    """The checkpoint was refused: its phase, or a later one, is sealed on this branch already."""

    phase: int
    sealed: Checkpoint


CheckpointOutcome = Saved | Decided | PhaseSealed | Skipped


@dataclass(frozen=True)
class Preview:
    """What a backtrack or a restore would do. `token` stands for exactly this."""

    to: str
    restores: LineId | None
    target: CheckpointId | None
    hides: int
    titles: tuple[str, ...]
    brings: int
    erases: int
    token: str
    changed: bool = False


@dataclass(frozen=True)
class Backtracked:
    """The head was moved. `line` brings back what was hidden, unless it was erased."""

    preview: Preview
    line: LineId | None
    erased: int
    lesson: RecordId | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotMoved:
    """The user aborted; nothing was changed."""


BacktrackOutcome = Backtracked | Preview | NotMoved | Skipped


@dataclass(frozen=True)
class Branched:
    """A branch was begun, and this session is on it now."""

    branch: BranchName
    at: CheckpointId | None


@dataclass(frozen=True)
class CheckpointState:
    """A checkpoint and how many memories a backtrack to it would hide."""

    checkpoint: Checkpoint
    would_hide: int


@dataclass(frozen=True)
class LineState:
    """A left line and how many memories a restore would bring back."""

    line: Line
    memories: int


@dataclass(frozen=True)
class HeadReport:
    """Where the project stands, asked from this session's branch.

    `mirrored` is what still has to reach the cloud, of both pools; None: there is no cloud.
    """

    project: str
    branch: BranchName
    branches: tuple[BranchName, ...]
    phase: int | None
    memories: int
    durable: int
    checkpoints: Sequence[CheckpointState]
    earlier_checkpoints: int
    invalidated: Sequence[Checkpoint]
    pending: Sequence[Checkpoint]
    lines: Sequence[LineState]
    warnings: tuple[str, ...] = field(default=())
    mirrored: Tally | None = None
