"""What the doctor finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from memory_mcp.domain.cloud import Tally
from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Hit
from memory_mcp.domain.timeline import Checkpoint, Line


@dataclass(frozen=True)
class Finding:
    """Something that is not as it must (`must`: memories are at stake) or should be.

    `remedy` is the next step for a person; `repaired` says that it was carried out just now.
    """

    code: str
    severity: Literal["must", "should"]
    what: str
    remedy: str
    repaired: bool = False


REASON: Final = "\nReason: "
"""What stands between a decision and its reason, where there are lines."""


@dataclass(frozen=True)
class ClosingDecision:
    """Something that was decided, and why."""

    text: str
    rationale: str = ""

    @property
    def content(self) -> str:
        """The two as one memory: whoever finds what was decided reads why."""
        return f"{self.text}{REASON}{self.rationale}" if self.rationale else self.text


@dataclass(frozen=True)
class Closeout:
    """What is written with a checkpoint, in one step with it. All of it may be absent."""

    decisions: tuple[ClosingDecision, ...] = ()
    artifacts: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.decisions, self.artifacts, self.issues, self.agents))


@dataclass(frozen=True)
class ToConsolidate:
    """A consolidation as proposed. `session` names whose it is; empty: this session's.

    `final` says that the session ends with it.
    """

    history_entry: str = ""
    memory_update: str = ""
    insights: tuple[str, ...] = ()
    session: str = ""
    final: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write: then it only asks for the latest one."""
        return not (self.history_entry or self.memory_update or self.insights)


@dataclass(frozen=True)
class Consolidation:
    """What a session handed on last, as far as it is visible."""

    session: str
    final: bool = False
    summary: Record | None = None
    insights: Record | None = None


@dataclass(frozen=True)
class Consolidated:
    """All of it is durable. Without `written` records nothing was new.

    `due_turns` is after how many turns the next one is due; 0: never. `latest` is the newest one
    that is visible, of any session; `asked` says that this was all that was wanted, and
    `nothing` that there was nothing of the session to make final.
    """

    session: str
    written: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()
    latest: Consolidation | None = None
    due_turns: int = 0
    asked: bool = False
    nothing: bool = False


@dataclass(frozen=True)
class Skipped:
    """Nothing was done because of how the memory is set up; `reason` is a sentence."""

    reason: str


@dataclass(frozen=True)
class Redaction:
    """A secret that was taken out of a text: which rule knew it, and where it was.

    `at` counts the characters of the text as it came, once it is normalised. `field` is the name of
    the argument.
    """

    rule: str
    at: int
    field: str = "content"


@dataclass(frozen=True)
class Contradiction:
    """What held until now and is replaced by something else about the same thing."""

    memory_id: RecordId
    old: str
    new: str


@dataclass(frozen=True)
class Similar:
    """A memory that may be the same fact; nobody could tell. Its likeness is 0-1."""

    record: Record
    score: float


@dataclass(frozen=True)
class Added:
    """A record is durable. `notes` are sentences the caller should read.

    `merged`: it was composed of what was given and of what was known.
    """

    record: Record
    replaced: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    merged: bool = False
    contradictions: tuple[Contradiction, ...] = ()
    similar: tuple[Similar, ...] = ()


@dataclass(frozen=True)
class AlreadyKnown:
    """No memory was written: a visible one says all of it."""

    record: Record
    redactions: tuple[Redaction, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rejected:
    """Nothing was written: the user rejected this very statement, as the tombstone says."""

    tombstone: Record


@dataclass(frozen=True)
class Declined:
    """Nothing was written: it is not worth keeping.

    `reason` is the rest of a sentence that begins with "It".
    """

    reason: str


AddOutcome = Added | AlreadyKnown | Rejected | Declined | Skipped


@dataclass(frozen=True)
class Captured:
    """An episode is durable; `merged` into it are the ones that it replaces."""

    record: Record
    merged: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waited:
    """No episode was written now; `reason` is a sentence."""

    reason: str


EpisodeOutcome = Captured | Waited | Skipped


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
    """A checkpoint was sealed; `pending` until somebody decides it.

    `written` are the records of its closeout, `known` those that said the same already.
    """

    checkpoint: Checkpoint
    notes: tuple[str, ...] = ()
    written: tuple[Record, ...] = ()
    known: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Decided:
    """A pending checkpoint was saved, edited and saved, or skipped."""

    checkpoint: Checkpoint
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PhaseSealed:
    """The checkpoint was refused: its phase, or a later one, is sealed on this branch already."""

    phase: int
    sealed: Checkpoint


CheckpointOutcome = Saved | Decided | PhaseSealed | Skipped


@dataclass(frozen=True)
class Preview:
    """What a backtrack or a restore would do. `token` stands for exactly this.

    `leaves`: there is something to come back to, be it only that a memory was hidden.
    """

    to: str
    restores: LineId | None
    target: CheckpointId | None
    hides: int
    titles: tuple[str, ...]
    brings: int
    erases: int
    token: str
    changed: bool = False
    leaves: bool = True


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
    """A left line, how many memories a restore would bring back, and how many it would hide.

    Those it hides hold from here and were hidden or corrected on the line.
    """

    line: Line
    memories: int
    hides: int = 0


@dataclass(frozen=True)
class TrustReport:
    """Whether a project is trusted, which remote it has, and what waits for that.

    `before` is the remote that it had when the user trusted this place, if that was another one
    ('': none). `titles` are the first of the `waiting` memories that came with it; `erases` are
    those of this machine's own memories that would be erased. `cloud` is the address from where
    other machines' memories would come in, if it is not trusted yet.
    """

    trusted: bool
    remote: str
    waiting: int
    titles: tuple[str, ...]
    before: str | None = None
    erases: tuple[str, ...] = ()
    cloud: str = ""


@dataclass(frozen=True)
class HeadReport:
    """Where the project stands, asked from this session's branch.

    `phase` is the one that is worked on, or else the last that was sealed (`phase_sealed`).
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
    phase_sealed: bool = False


@dataclass(frozen=True)
class WholeCheckpoint:
    """A checkpoint, what a backtrack to it would hide, and the newest of what was closed with it.

    Without a `preview` nobody goes back to it: it is pending, or the session only reads.
    """

    checkpoint: Checkpoint
    preview: Preview | None
    closed: Sequence[Record]


@dataclass(frozen=True)
class Happened:
    """What happened on a line, newest first, and how much there is of it in all."""

    records: Sequence[Record]
    total: int
