"""What use cases are given to write, and what they return: receipts, reports, findings.

An expected outcome is a value here; only what the caller cannot have expected is an error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Literal, NamedTuple, Self

from memory_mcp.domain.cloud import OutboxCounts
from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.normalise import REASON_SEPARATOR
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Hit, View
from memory_mcp.domain.timeline import Anchor, Checkpoint, Line
from memory_mcp.errors import StoreError
from memory_mcp.frozen import frozen


@frozen
class Finding:
    """A fault that the doctor found.

    `must`: memories are at stake, or none can be stored or read; `should`: a rebuild helps.

    `remedy` is the next step for a person; `repaired`: it was carried out just now.
    """

    code: str
    severity: Literal["must", "should"]
    what: str
    remedy: str
    repaired: bool = False

    @classmethod
    def of(
        cls,
        code: str,
        severity: Literal["must", "should"],
        error: StoreError,
        remedy: str,
        *,
        repaired: bool = False,
    ) -> Self:
        """What an error says, with its remedy, or this one where it has none of its own."""
        return cls(code, severity, error.what, error.remedy or remedy, repaired)


@frozen
class ClosingDecision:
    """A decision, and why it was taken."""

    text: str
    rationale: str = ""

    @property
    def content(self) -> str:
        """Both as one memory, so that whoever finds the decision reads the reason."""
        return f"{self.text}{REASON_SEPARATOR}{self.rationale}" if self.rationale else self.text


@frozen
class Closeout:
    """What is written in one step with a checkpoint. All of it may be absent."""

    decisions: tuple[ClosingDecision, ...] = ()
    artifacts: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.decisions, self.artifacts, self.issues, self.agents))


@frozen
class ConsolidationDraft:
    """A consolidation as proposed, for `session` (empty: this one). `final` ends the session."""

    history_entry: str = ""
    memory_update: str = ""
    insights: tuple[str, ...] = ()
    session: str = ""
    final: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write: then it asks for the latest one."""
        return not (self.history_entry or self.memory_update or self.insights)


@frozen
class Consolidation:
    """What a session handed on last, as far as that is visible."""

    session: str
    final: bool = False
    summary: Record | None = None
    insights: Record | None = None

    @property
    def records(self) -> list[Record]:
        """What is true now, then what was learnt."""
        return [record for record in (self.summary, self.insights) if record]


ConsolidationRole = Literal["checkpoint", "insights", "final"]


def find_consolidation_role(record: Record) -> ConsolidationRole | None:
    """The part of a consolidation that a record is; None for other records."""
    if record.kind != "summary" or not record.key.startswith("gardener:"):
        return None
    match record.key.rpartition(":")[2]:
        case "checkpoint" | "insights" | "final" as role:
            return role
        case _:
            return None


def find_latest_consolidation(summaries: Iterable[Record]) -> Consolidation | None:
    """That of the session which last said what is true now, with what it learnt.

    Insights alone count only while no session has said that.
    """
    newest = sorted(filter(find_consolidation_role, summaries), key=lambda r: r.id, reverse=True)
    stated = [each for each in newest if find_consolidation_role(each) != "insights"]
    if not newest:
        return None
    last = (stated or newest)[0]
    key = f"{last.key.rpartition(':')[0]}:insights"
    learnt = (each for each in newest if each.key == key)
    return Consolidation(
        session=last.origin.session,
        final=find_consolidation_role(last) == "final",
        summary=last if stated else None,
        insights=next(learnt, None),
    )


@frozen
class ConsolidationReceipt:
    """The `written` records are durable; without any nothing was new.

    The next consolidation is due after `due_turns` turns (0: never). `latest` is the newest visible
    one of any session; `asked`: only that was wanted. `nothing`: the session had nothing to make
    final.
    """

    session: str
    written: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()
    latest: Consolidation | None = None
    due_turns: int = 0
    asked: bool = False
    nothing: bool = False


@frozen
class Skipped:
    """Nothing was done, because of how the memory is set up; `reason` is a sentence."""

    reason: str


@frozen
class Redaction:
    """A secret that was taken out of the argument `field`, and the rule that recognised it.

    `at` is its offset in characters of the normalised text.
    """

    rule: str
    at: int
    field: str = "content"


@frozen
class Contradiction:
    """A value that a new memory replaces by another about the same thing."""

    memory_id: RecordId
    old: str
    new: str


@frozen
class SimilarMemory:
    """A memory that stays beside the new one. `score` is its likeness, 0-1.

    The new one may bring it up to date (`similar`; then `score` is how likely that is, where that
    is known); it no longer holds if the new one does (`outdated`); or both cannot hold, and nothing
    says which does (`disputed`); or it was said of both that they hold (`beside`). `reason` says
    what differs. What does not stand on this commit (`elsewhere`, `reason` says where) is left
    alone. One of both holds in every project of the user (`scope`), and the other one, which says
    otherwise, in this one.
    """

    record: Record
    score: float
    relation: Literal["similar", "outdated", "disputed", "beside", "elsewhere", "scope"] = "similar"
    reason: str = ""


@frozen
class MemoryAdded:
    """The memory is durable. `notes` are sentences for the caller.

    `merged`: it was composed of the new text and a known memory. `repeats` are the texts of those
    replaced memories that the new one says again, with more or word for word.
    """

    record: Record
    replaced: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    merged: bool = False
    contradictions: tuple[Contradiction, ...] = ()
    similar: tuple[SimilarMemory, ...] = ()
    repeats: tuple[str, ...] = ()


@frozen
class AlreadyKnown:
    """Nothing was written: a visible memory says all of it."""

    record: Record
    redactions: tuple[Redaction, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class MemoryRejected:
    """Nothing was written: this very statement was rejected, by this tombstone.

    `by` is the member of the team who rejected it, if that was somebody else.
    """

    tombstone: Record
    by: str = ""


@frozen
class MemoryDeclined:
    """Nothing was written: not worth keeping. `reason` completes a sentence that begins "It"."""

    reason: str


@frozen
class MemoryWaiting:
    """The database is away. The memory waits durably on this machine until it is back."""

    record: Record
    redactions: tuple[Redaction, ...] = ()


AddOutcome = MemoryAdded | AlreadyKnown | MemoryRejected | MemoryDeclined | MemoryWaiting | Skipped


@frozen
class EpisodeSaved:
    """The episode is durable, and replaces those `merged` into it."""

    record: Record
    merged: tuple[RecordId, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class EpisodePostponed:
    """No episode was written now; `reason` is a sentence."""

    reason: str


EpisodeOutcome = EpisodeSaved | EpisodePostponed | Skipped


@frozen
class MemoryForgotten:
    """The memory was erased for good, or hidden on this line."""

    memory_id: RecordId
    erased: bool
    notes: tuple[str, ...] = ()


@frozen
class SearchResults:
    """The hits, the mode that really ran, and notes for the caller.

    `degraded` says which part of the search did not run, and why. `unreadable` records matched too,
    but their files are damaged or gone.
    """

    hits: Sequence[Hit]
    mode: str
    notes: tuple[str, ...] = ()
    unreadable: frozenset[RecordId] = frozenset()
    degraded: str = ""


@frozen
class CheckpointSaved:
    """The checkpoint is sealed; it may be pending until somebody decides it.

    `written` are the records of its closeout, `known` those that said the same before.
    """

    checkpoint: Checkpoint
    notes: tuple[str, ...] = ()
    written: tuple[Record, ...] = ()
    known: tuple[Record, ...] = ()


Decision = Literal["save", "edit", "skip", "reopen"]
"""The user's word on a pending checkpoint; `reopen` takes it back, and it waits again."""


@frozen
class CheckpointDecided:
    """A pending checkpoint was saved, edited or skipped, or that was taken back.

    `before` is the checkpoint as it stood until then.
    """

    checkpoint: Checkpoint
    before: Checkpoint
    notes: tuple[str, ...] = ()


LaterActKind = Literal["added", "corrected", "hidden", "erased"]


@frozen
class LaterAct:
    """The last thing done to a memory after the move that an undo would take back; in words."""

    act: LaterActKind
    memory: RecordId
    words: str


@frozen
class DecisionPreview:
    """What a word on a checkpoint would make of it; `undoes`: it takes the last move back.

    `later` was done since, and is not taken back.
    """

    checkpoint: Checkpoint
    decision: Decision
    summary: str
    undoes: bool = False
    later: LaterAct | None = None


@frozen
class PhaseSealed:
    """The checkpoint was refused: this branch has sealed its phase, or a later one."""

    phase: int
    sealed: Checkpoint


CheckpointOutcome = CheckpointSaved | CheckpointDecided | PhaseSealed | Skipped


@frozen
class Dispute:
    """Two memories of which one brings the other up to date (`outdated`), or contradicts it."""

    older: Record
    newer: Record
    outdated: bool


@frozen
class DisputesFound:
    """The pairs among the `looked_at` newest of all visible memories and whatever is like them."""

    pairs: Sequence[Dispute]
    looked_at: int
    total: int


@frozen
class MovePreview:
    """What a backtrack or a restore would do. `token` confirms exactly this.

    `leaves`: the move would leave a line that can be restored. `join` is the one it takes back.
    `takes_back`: the move that an undo would take back, in words; `later` was done since.
    `erases` are the records that forgetting would erase, and `shared` those that it would hide and
    not erase, as another branch holds them: `stays_on` names such branches, `hides_only` counts the
    memories among them, and `erases_titles` are the titles of those that it would erase. `others`
    counts, of the newest that it hides, those of other members, by author.
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
    join: RecordId | None = None
    takes_back: str = ""
    later: LaterAct | None = None
    shared: int = 0
    hides_only: int = 0
    stays_on: tuple[BranchName, ...] = ()
    erases_titles: tuple[str, ...] = ()
    others: Mapping[str, int] = field(default_factory=dict[str, int])


@frozen
class Backtracked:
    """The head was moved. Restoring `line` brings back what was hidden, unless it was erased.

    After a `forget` going to the `move` brings back what it only hid.
    """

    preview: MovePreview
    line: LineId | None
    erased: int
    lesson: RecordId | None
    move: RecordId
    forget: bool = False
    notes: tuple[str, ...] = ()


@frozen
class MoveAborted:
    """The user aborted; nothing was changed."""


BacktrackOutcome = Backtracked | MovePreview | MoveAborted | Skipped

UndoPreview = MovePreview | DecisionPreview | Skipped
"""What it takes to undo the last move."""


@frozen
class BranchReady:
    """The branch exists. `at` is where it was begun, if it was begun now at a checkpoint."""

    branch: BranchName
    at: CheckpointId | None


@frozen
class CheckpointState:
    """A checkpoint, and how many memories a backtrack to it would hide.

    `ground` says why it may not hold here: where it stands, what became of the code that it cites.
    """

    checkpoint: Checkpoint
    would_hide: int
    ground: str = ""


@frozen
class LineState:
    """A left line: how many memories a restore would bring back, and how many it would hide."""

    line: Line
    memories: int
    hides: int = 0


@frozen
class BranchTip:
    """Where a branch stands."""

    branch: BranchName


@frozen
class TimelineStart:
    """Before the first memory: where a backtrack to `start` leads."""


@frozen
class OlderNodes:
    """So many nodes that a limit left out."""

    count: int


@frozen
class GitMove:
    """A move that says on which commit of git memories hold, and that no later one took back."""

    move: RecordId
    anchor: Anchor


LogSubject = BranchTip | Checkpoint | Line | TimelineStart | OlderNodes | GitMove


@frozen
class LogNode:
    """What the log shows in one row: the segments where it ends, and the nodes that it follows.

    `left`: a checkpoint that lies on left lines alone. `at` is when it was sealed, left or, on a
    branch, last written to; None if nothing tells.
    """

    key: str
    shows: LogSubject
    parents: tuple[str, ...] = ()
    segments: tuple[SegmentId, ...] = ()
    at: datetime | None = None
    left: bool = False


@frozen
class TimelineLog:
    """The nodes of the timeline, each above those that it follows, and how many memories each has.

    A checkpoint has those that it sealed since the one before, a branch those since its last
    checkpoint, a line those that restoring it brings back. `branch` is the caller's. `parents` are
    the branches that each was forked from. `ground` says what checkpoints cite that moved. `of_git`
    are the records of the moves of git's, by the node.
    """

    branch: BranchName
    nodes: tuple[LogNode, ...]
    memories: Mapping[str, int]
    parents: Mapping[BranchName, BranchName] = field(default_factory=dict[BranchName, BranchName])
    ground: Mapping[CheckpointId, str] = field(default_factory=dict[CheckpointId, str])
    of_git: Mapping[str, Record] = field(default_factory=dict[str, Record])


PointSubject = BranchTip | Checkpoint | Line | TimelineStart | datetime


@frozen
class Point:
    """A place on the timeline that a user can name: the segments that count there, and when it was.

    `shows` is what the name stands for; a `datetime` is the caller's branch as it was then. `at` is
    None for a branch as it stands now. `away` is what does not stand where git is (`View`).
    """

    name: str
    shows: PointSubject
    chain: frozenset[SegmentId]
    at: datetime | None
    away: frozenset[SegmentId] = frozenset()

    def view(self, now: datetime) -> View:
        """What was visible there and then."""
        return View(self.chain, self.at or now, self.away)


class Correction(NamedTuple):
    """What one point has in place of what another has."""

    before: Record
    after: Record


@frozen
class PointComparison:
    """What two points of the timeline do not have in common, oldest first.

    A corrected memory is in `corrected` alone. `left` and `reached` are the checkpoints that hold
    at the first point alone, and at the second one. `same` counts the memories of both. `authors`
    names the member who wrote a memory, where that is not this user.
    """

    a: Point
    b: Point
    only_a: tuple[Record, ...]
    only_b: tuple[Record, ...]
    corrected: tuple[Correction, ...]
    left: tuple[Checkpoint, ...]
    reached: tuple[Checkpoint, ...]
    same: int
    authors: Mapping[RecordId, str] = field(default_factory=dict[RecordId, str])


@frozen
class RecordArrived:
    """A record was written, here or by any other process; `author` is a member who is not the user.

    The record may be of any kind: a memory, a checkpoint, a move, a tombstone.
    """

    record: Record
    author: str = ""


@frozen
class RecordGone:
    """A record is here no longer although nobody erased it: git or a person took its file away."""

    record_id: RecordId


TimelineEvent = RecordArrived | RecordGone


@frozen
class TrustReport:
    """Whether a project is trusted, which remote it has, and what trust would admit.

    - `before`: the remote under which the user trusted this place, if it was another ('': none).
    - `titles`: the first of the `waiting` memories that came with the project.
    - `erases`: this machine's own memories that would be erased.
    - `cloud`: the address that other machines' memories would come from, if not trusted yet.
    - `settings`: the keys of the project's settings file that would count.
    """

    trusted: bool
    remote: str
    waiting: int
    titles: tuple[str, ...]
    before: str | None = None
    erases: tuple[str, ...] = ()
    cloud: str = ""
    settings: tuple[str, ...] = ()


@frozen
class Suppression:
    """What replaced or hid a memory, the reason given for it, and what holds in its place now."""

    by: Record
    reason: str = ""
    now: Record | None = None


@frozen
class MemoryProvenance:
    """Where a memory is from, and which others it stands against.

    The `possible` ones may take its place in a search, by what is asked there.
    `ended` is what replaced or hid it, if it holds no more; `reasons` are those given for what it
    `replaced`.
    """

    record: Record
    sources: Sequence[Record]
    replaced: Sequence[Record]
    newer_than: Sequence[Record]
    outdated_by: Sequence[Record]
    disputed_with: Sequence[Record]
    possible: Sequence[Record] = ()
    ended: Suppression | None = None
    reasons: Mapping[RecordId, str] = field(default_factory=dict[RecordId, str])


@frozen
class MemoryList:
    """The newest memories of those asked for, how many there are, and how many cannot be read.

    `degraded` says what could not be looked at, `notes` what is not in the list. `standing` has a
    word for those that may not hold for the code as it is here (`Hit`), `outdated` for each that a
    later one brings up to date the newest that does.
    """

    records: tuple[Record, ...]
    total: int
    unreadable: int
    degraded: str = ""
    notes: tuple[str, ...] = ()
    standing: Mapping[RecordId, str] = field(default_factory=dict[RecordId, str])
    outdated: Mapping[RecordId, RecordId] = field(default_factory=dict[RecordId, RecordId])


@frozen
class MemoryReviewed:
    """What the user said of a memory that another member wrote."""

    memory_id: RecordId
    by: str
    kept: bool


@frozen
class LastMove:
    """The newest move of a branch, where another member of the project made it."""

    by: str
    act: str
    at: datetime


@frozen
class HeadReport:
    """Where the project stands, seen from this session's branch.

    `phase` is the one in progress, or else the last that was sealed (`phase_sealed`). `mirrored`
    counts what has yet to reach the cloud, of both banks; None: there is no cloud. `earlier_lines`
    counts the older left lines with records. `branches` are this one, those it was forked from and
    the last that moved, and `other_branches` counts the rest. `parents` names for each the nearest
    of these that it was forked from. `moved` is the last move of the branch, if another member made
    it; `reviews` are what others wrote and waits for a yes. `standing` tells of checkpoints where
    they stand in git, if not on this commit.
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
    earlier_lines: int = 0
    other_branches: int = 0
    warnings: tuple[str, ...] = ()
    mirrored: OutboxCounts | None = None
    phase_sealed: bool = False
    parents: Mapping[BranchName, BranchName] = field(default_factory=dict[BranchName, BranchName])
    moved: LastMove | None = None
    reviews: Sequence[Record] = ()
    standing: Mapping[CheckpointId, str] = field(default_factory=dict[CheckpointId, str])


@frozen
class CheckpointDetails:
    """A checkpoint, what a backtrack to it would do, and the newest records of its closeout.

    Without a `preview` there is no way back to it: it is pending, or the session only reads. The
    `ground` says why it may not hold here.
    """

    checkpoint: Checkpoint
    preview: MovePreview | None
    closed: Sequence[Record]
    ground: str = ""


@frozen
class LineHistory:
    """The records of a line, newest first, and how many there are in all."""

    records: Sequence[Record]
    total: int
