"""The workspace of a request: the ports, the caller, the policy, and the banks of records."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, TypeVar

from memory_mcp.deadlines import CallLock, wait_for_lock
from memory_mcp.domain.captures import CaptureMode
from memory_mcp.domain.comparisons import Comparisons
from memory_mcp.domain.deduplication import MergePolicy, SecretPolicy
from memory_mcp.domain.fields import normalise_name
from memory_mcp.domain.git import EVERYWHERE, GitMode, Pause, SeenFiles, ToldTree
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.limits import LOCK_SECONDS_MAX, RECALL_WINDOW_DEFAULT
from memory_mcp.domain.nudges import NudgeHandover, SessionNudge
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Origin, Reach, Record, Scope
from memory_mcp.domain.search import RerankWeights, Stated, View
from memory_mcp.domain.sessions import ContextSettings, EpisodeSettings
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.index_sync import INDEX_BATCH, SelfHealingIndex
from memory_mcp.engine.mirror import Mirror
from memory_mcp.errors import InvalidRequestError, StoreError, StoreUnavailableError
from memory_mcp.frozen import frozen, mutable
from memory_mcp.hints import address
from memory_mcp.ports import (
    Clock,
    CodeFiles,
    Embedder,
    GitHistory,
    HeadStore,
    Ids,
    ImportJournal,
    Inbox,
    LanguageModel,
    NudgeQueue,
    Outbox,
    ProjectTrust,
    Provenance,
    RecordStore,
    Reviews,
    StoreFolders,
    SuggestionStore,
    VectorIndex,
    Views,
)
from memory_mcp.text.secrets import hide_secret_name

# what a server remembers at most; whatever was silent for longest is forgotten
_CONVERSATIONS_MAX: Final = 1_000
_SESSIONS_MAX: Final = 1_000
_IDS_MAX: Final = 1_000
_HEARD_MAX: Final = 100
_SHORTENED_MAX: Final = 1_000
_NOTES_MAX: Final = 5

K = TypeVar("K")
V = TypeVar("V")


class Changes:
    """Counts the writes of this process; `shown` of them are in the rendered files."""

    def __init__(self) -> None:
        self.count = 0
        self.shown = 0
        self._news = asyncio.Event()

    def note(self) -> None:
        self.count += 1
        self._news.set()
        self._news = asyncio.Event()

    async def after(self, count: int, seconds_max: float | None = None) -> int:
        """Wait until there are more than `count`, or the time is up; how many there are."""
        if self.count <= count:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds_max):
                    await self._news.wait()
        return self.count


@frozen
class SemanticIndex:
    """The embedder of both banks, and the vectors of one; `wake` starts encoding."""

    embedder: Embedder
    vectors: VectorIndex
    wake: asyncio.Event


def _put_newest(known: dict[K, V], key: K, value: V, most: int) -> V:
    """Put the entry last; drop the first one if there are too many."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
    return value


class ShownMemories:
    """The ids that one session was shown, and whether it has been greeted.

    `left` waits for its next prompt: a sentence on the turns that the user left by going back, and
    what they wrote.
    """

    def __init__(self) -> None:
        self.greeted = False
        self.left: tuple[str, tuple[str, ...]] = ("", ())
        self._ids: dict[str, None] = {}

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._ids

    def note(self, record_id: str) -> None:
        _put_newest(self._ids, record_id, None, _IDS_MAX)


@frozen
class HeardPrompt:
    """A prompt of a caller that is not captured yet; `transcript` is what a hook named as it."""

    caller: "Caller"
    session: str
    text: str
    at: datetime
    transcript: str = ""


class Prompts:
    """What the sessions of this server were shown; `session` is the one that spoke last.

    Each prompt sets `came`: then the inbox may hold new events, and `heard` what the user said.
    Who takes a prompt from there holds `capturing` until its statements are stored; who follows
    what a user took back holds `rewinding`, in a task of `following`. `watched` is the transcript
    that is going to show the prompt that came last, and with it whether the user went back before.
    """

    def __init__(self) -> None:
        self.session = ""
        self.came = asyncio.Event()
        self.heard: deque[HeardPrompt] = deque(maxlen=_HEARD_MAX)
        self.capturing = asyncio.Lock()
        self.rewinding = asyncio.Lock()
        self.following = set[asyncio.Task[None]]()
        self.watched = ""
        self._given: dict[str, ShownMemories] = {}

    def of(self, session: str) -> ShownMemories:
        given = self._given.get(session) or ShownMemories()
        return _put_newest(self._given, session, given, _SESSIONS_MAX)


@frozen
class Policy:
    """The settings of this session.

    `off` says why memory is off, if the settings did not ask for it. `lost`: the project's memory
    cannot be located. `homeless`: there is no project, and nobody chose that. `warnings` name
    settings that cannot be honoured. `reminds`: receipts remind to consolidate, because no hook
    does. `database`: the one that holds all, without a password.
    """

    enabled: bool = True
    off: str = ""
    meta: bool = False
    lost: bool = False
    homeless: bool = False
    database: str = ""
    approval: Literal["ask", "auto", "review"] = "ask"
    phase: int | None = None
    warnings: tuple[str, ...] = ()
    reminds: bool = False
    weights: RerankWeights = field(default_factory=RerankWeights)
    secrets: SecretPolicy = "redact"
    merging: MergePolicy = field(default_factory=MergePolicy)
    episode_settings: EpisodeSettings = field(default_factory=EpisodeSettings)
    capture: CaptureMode = "suggest"
    opening: ContextSettings = field(default_factory=ContextSettings)
    recall_window: int = RECALL_WINDOW_DEFAULT


class ShortenedTexts:
    """What a language model made of long texts, by a digest of what it was asked."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def get(self, digest: str) -> str | None:
        return self._texts.get(digest)

    def note(self, digest: str, text: str) -> None:
        _put_newest(self._texts, digest, text, _SHORTENED_MAX)


class Opening:
    """The nudge that opens a conversation, once its first context has asked for one."""

    def __init__(self) -> None:
        self.taking = NudgeHandover()
        self.task: asyncio.Task[SessionNudge] | None = None


@frozen
class Caller:
    """Who calls, and about what; the same for a whole request.

    `team` is the one that the user belongs to, or ''. `client` is `name/version`. `conversation` is
    '' where one client has the server to itself, and None where the requests of several clients
    cannot be told apart.
    """

    scope: Scope
    branch: BranchName
    client: str = "cli"
    conversation: str | None = ""
    team: str = ""


class Conversations:
    """What a server remembers of each conversation; of None it remembers nothing."""

    def __init__(self, begun_on: BranchName) -> None:
        self.begun_on = begun_on
        self.prompts = Prompts()
        self._branches: dict[str, BranchName] = {}
        self._written: dict[str, int] = {}
        self._openings: dict[str, Opening] = {}
        self._unshown: list[Opening] = []
        self._told: dict[tuple[object, ...], None] = {}

    def branch_of(self, conversation: str | None) -> BranchName | None:
        """The branch to which a conversation was switched, if it was."""
        if conversation is None or conversation not in self._branches:
            return None
        # asking renews it: a conversation that is still at work must not lose its branch
        branch = self._branches[conversation]
        return _put_newest(self._branches, conversation, branch, _CONVERSATIONS_MAX)

    @property
    def branches(self) -> tuple[BranchName, ...]:
        """The branches of all conversations, sorted."""
        alone = "" in self._branches  # one client has the server to itself
        return tuple(sorted({*self._branches.values(), *([] if alone else [self.begun_on])}))

    def put_on(self, conversation: str, branch: BranchName) -> None:
        """Switch the conversation to this branch."""
        _put_newest(self._branches, conversation, branch, _CONVERSATIONS_MAX)

    def wrote(self, conversation: str | None) -> int:
        """Count a call that wrote; how many there were since the last summary."""
        if conversation is None:
            return 0
        written = self._written.get(conversation, 0) + 1
        return _put_newest(self._written, conversation, written, _CONVERSATIONS_MAX)

    def handed_on(self, conversation: str | None) -> None:
        """Reset the count: a checkpoint or a consolidation sums up what was written."""
        if conversation is not None:
            self._written.pop(conversation, None)

    def opening(self, conversation: str | None) -> Opening:
        """The opening of this conversation; None has a new one for each request."""
        if conversation is None:
            return self._unshown.pop() if self._unshown else Opening()
        opening = self._openings.get(conversation) or Opening()
        return _put_newest(self._openings, conversation, opening, _CONVERSATIONS_MAX)

    def is_first_time(self, about: tuple[object, ...]) -> bool:
        """Whether this is asked for the first time."""
        if about in self._told:
            return False
        _put_newest(self._told, about, None, _CONVERSATIONS_MAX)
        return True

    def begin_anew(self, conversation: str) -> None:
        """The client began another session in the same conversation (`/clear`)."""
        self._openings.pop(conversation, None)

    def return_opening(self, opening: Opening) -> None:
        """Give a request's unshown opening to the next request of no conversation."""
        self._unshown.append(opening)


@mutable
class RecoveredHead:
    """The last revision of the head that needs no recovery."""

    revision: int = 0


PutNew = Callable[[Sequence[Record], Stated], Awaitable[bool]]
"""Stores new records and their entries at once, unless others state the same by now; whether."""


@frozen
class MemoryBank:
    """A place where records rest, with the index over them; a cloud and vectors if set up.

    A call holds `writing` while it compares a new record with the existing ones and stores it, and
    is `correcting` while it replaces one: of two processes that correct the same, one is refused.
    With `put_new`, records and index are in one place.
    """

    records: RecordStore
    index: SelfHealingIndex
    mirror: Mirror | None = None
    meaning: SemanticIndex | None = None
    writing: CallLock = field(default_factory=CallLock)
    changes: Changes = field(default_factory=Changes)
    put_new: PutNew | None = None

    @asynccontextmanager
    async def correcting(self) -> AsyncGenerator[None]:
        """Hold `writing`, and let no other process correct a record of the bank meanwhile.

        Raises:
            StoreUnavailableError: another process corrects for too long.
        """
        async with self.writing, wait_for_lock(self.records.alone, LOCK_SECONDS_MAX) as held:
            if held:
                yield
                return
        raise StoreUnavailableError(
            f"Another process has been correcting a memory for {LOCK_SECONDS_MAX:.0f} s; nothing "
            "was changed. End that process and try again."
        )

    async def keep(self, record: Record) -> tuple[str, ...]:
        """Store the record durably, then index it; notes for the receipt.

        The outbox has it first, so no acknowledged record is missing there. A busy or broken index
        or outbox does not undo the write.
        """
        notes = await self.mirror.note(record) if self.mirror else ()
        await self.records.put(record)
        try:
            await self.index.add([record])
        except StoreError as error:
            return (*notes, f"Stored, but not yet to be found: {error}")
        finally:
            self.changes.note()  # after indexing: listeners search at once
        if self.meaning:
            self.meaning.wake.set()
        return notes

    async def keep_new(
        self, records: Sequence[Record], stated: Stated, view: View
    ) -> tuple[str, ...] | None:
        """Store the records as `keep` does; None if others have stored the same since a look.

        `stated` is what that look found: of several processes that store one statement at once, one
        does, and the others look again.
        """
        if self.put_new:
            if not await self.put_new(records, stated):
                return None
            self.changes.note()
            if self.meaning:
                self.meaning.wake.set()
            return ()
        alone = partial(self.records.alone, stated.statement)
        async with wait_for_lock(alone, LOCK_SECONDS_MAX):
            with suppress(StoreError):  # what cannot be compared is stored
                if (await self.index.find_stated(view, stated.statement, 0)).mark != stated.mark:
                    return None
            return await self.keep_each(records)

    async def keep_each(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Store the first record as `keep` does, and the others if that works."""
        notes = await self.keep(records[0])
        for record in records[1:]:
            try:
                notes += await self.keep(record)
            except StoreUnavailableError as error:  # the first is stored: this is no failure
                notes += (f"Merged; the new text could not be stored by itself as well: {error}",)
        return notes

    async def keep_all(
        self, records: Sequence[Record], advance: Callable[[int], None] = lambda _: None
    ) -> tuple[str, ...]:
        """Store many records durably, then index them; notes for the receipt.

        The outbox has them last, because an import that is cut short may be taken back. The caller
        sees to it that a cut is completed.
        """
        for done, record in enumerate(records, 1):
            await self.records.put(record)
            advance(done)
        notes: tuple[str, ...] = ()
        try:
            for start in range(0, len(records), INDEX_BATCH):
                await self.index.add(records[start : start + INDEX_BATCH])
        except StoreError as error:
            notes = (f"Stored, but not yet to be found: {error}",)
        if self.mirror:
            notes += await self.mirror.note_all(records)
        if self.meaning:
            self.meaning.wake.set()
        if records:
            self.changes.note()
        return notes

    async def erase(self, record_ids: set[RecordId]) -> None:
        """Erase these records here and in the cloud, and again if anything brings them back."""
        await self.index.remember_erased(record_ids)
        await self.take_back(record_ids)

    async def take_back(self, record_ids: set[RecordId]) -> None:
        """Erase these records here and in the cloud; they may come again."""
        if self.mirror:
            await self.mirror.note_erased(record_ids)
        await self.records.erase(record_ids)
        await self.index.remove(record_ids)
        if record_ids:
            self.changes.note()


@frozen
class WaitingRecords:
    """New records that wait on this machine for a database that is away.

    The `outbox` has an entry for each, `records` its text. `wake` starts their delivery. What is
    there is delivered even where nothing more is accepted.
    """

    records: RecordStore
    outbox: Outbox
    accepts: bool = True
    wake: asyncio.Event = field(default_factory=asyncio.Event)


@mutable
class Strangers:
    """What came with the repository, before the user trusts the project.

    `settings` are the keys of its settings file that would count. `timeline` and `count` (of
    visible memories) are as of the last look. Too many of them are not `searchable`; then all are
    counted.
    """

    bank: MemoryBank
    trust: ProjectTrust
    settings: tuple[str, ...] = ()
    timeline: Timeline = field(default_factory=Timeline)
    count: int = 0
    searchable: bool = False
    mentioned: bool = False
    asked: bool = False


class GitFollower:
    """What this process knows of git: where memories stand, and what is to be told of it.

    `rewound` are the memories that are marked as written in turns that the user took back.

    `told` is what this process has told of where HEAD is; before that, what is stored counts.

    `asked` is the mode of the settings, if they set one. `task` reads git while calls go on,
    from the state `asked_with`. A call holds `looking` while it looks. `silent` is why git said
    nothing when it was asked last.
    """

    def __init__(self, history: GitHistory, asked: GitMode | None) -> None:
        self.history = history
        self.asked: GitMode | None = asked
        self.mode: GitMode = self.find_mode()
        self.pause: Pause = ""
        self.standing = EVERYWHERE
        self.rewound: frozenset[RecordId] = frozenset()
        self.stamp: object = None
        self.placed: tuple[object, object] = None, None
        self.files: SeenFiles | None = None
        self.told: ToldTree | None = None
        self.task: asyncio.Task[Any] | None = None
        self.asked_with: object = None
        self.silent = ""
        self.looking = asyncio.Lock()
        self._notes: list[str] = []

    def find_mode(self) -> GitMode:
        """What was set, else what was chosen for this project on this machine, else `mark`."""
        chosen: GitMode | None = self.asked or self.history.load().mode
        return "mark" if chosen is None else chosen

    def list_followed(self) -> Sequence[str]:
        """The files that say where the work tree stands, if what stands elsewhere is hidden."""
        return self.history.files if self.mode == "follow" else ()

    def tell(self, note: str) -> None:
        """Keep the note for the next answer."""
        if note not in self._notes:
            self._notes = [*self._notes, note][-_NOTES_MAX:]

    def take_notes(self) -> list[str]:
        """The notes that no answer has told yet."""
        notes, self._notes = self._notes, []
        return notes


@frozen
class Workspace:
    """Everything that a use case is given: the banks, the other ports, the caller and the policy.

    Each request gets a copy with its own `caller`. Only a search reads `strangers`. Without
    `language`, or when it fails, rules judge and compose. Only a database has `waiting` records.
    """

    project: MemoryBank
    user: MemoryBank
    heads: HeadStore
    nudges: NudgeQueue
    views: Views
    inbox: Inbox
    suggestions: SuggestionStore
    journal: ImportJournal
    clock: Clock
    ids: Ids
    provenance: Provenance
    caller: Caller
    policy: Policy
    conversations: Conversations
    reviews: Reviews
    folders: StoreFolders
    team: MemoryBank | None = None
    language: LanguageModel | None = None
    strangers: Strangers | None = None
    git: GitFollower | None = None
    code: CodeFiles | None = None
    waiting: WaitingRecords | None = None
    recovered: RecoveredHead = field(default_factory=RecoveredHead)
    shortened: ShortenedTexts = field(default_factory=ShortenedTexts)
    comparisons: Comparisons = field(default_factory=Comparisons)

    @property
    def scope(self) -> Scope:
        return self.caller.scope

    def at(self, branch: BranchName) -> "Workspace":
        """The same caller on another branch."""
        return replace(self, caller=replace(self.caller, branch=branch))

    def origin(self) -> Origin:
        """Who is writing, in which session, at which commit."""
        found = self.provenance.origin(self.caller.client)
        name = self.caller.conversation
        if name == "":  # the only client may have begun another session
            name = self.conversations.prompts.session
        return found.model_copy(
            update={
                "client": normalise_name(found.client),
                "session": self.named(name or found.session),
                "git_branch": normalise_name(found.git_branch),
            }
        )

    def named(self, session: str) -> str:
        """The session's name without secrets."""
        return hide_secret_name(normalise_name(session), self.policy.secrets)

    @property
    def mirrored(self) -> bool:
        """Whether the banks are mirrored to a cloud."""
        return self.project.mirror is not None

    @property
    def asks_elsewhere(self) -> bool:
        """Whether a query leaves this machine: to the cloud, or to a remote embedder."""
        meaning = self.project.meaning
        return self.mirrored or (meaning is not None and not meaning.embedder.here)

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """Whose memories there are: the project's, those of a team if there is one, the user's."""
        return ("project", "team", "user") if self.team else ("project", "user")

    @property
    def banks(self) -> tuple[MemoryBank, ...]:
        """The bank of each of `reaches`."""
        return tuple(map(self.bank_of, self.reaches))

    def bank_of(self, reach: Reach) -> MemoryBank:
        """The bank of what is kept for these.

        Raises:
            InvalidRequestError: it is for a team, and there is none.
        """
        match reach:
            case "project":
                return self.project
            case "team":
                if self.team is None:
                    raise InvalidRequestError(_NO_TEAM)
                return self.team
            case "user":
                return self.user

    def banks_of(self, reach: Reach | None) -> tuple[MemoryBank, ...]:
        """The banks within reach; None reaches all.

        Raises:
            InvalidRequestError: it is for a team, and there is none.
        """
        return self.banks if reach is None else (self.bank_of(reach),)


_NO_TEAM: Final = (
    "There is no team here: use scope project or user. A team has memories of its own where "
    "MEMORY_TEAM names it and MEMORY_PROVIDER is postgres, or where a server is reached by a token "
    "that names it (`memory-mcp token add NAME --team TEAM`)."
)


def refuse_reads(workspace: Workspace) -> Skipped | None:
    """The outcome to return if this session may not read."""
    return None if workspace.policy.enabled else make_off(workspace.policy.off)


def make_off(why: str) -> Skipped:
    """The outcome of whatever is asked while memory is off; `why` is what is wrong, if anything."""
    to_model = "Memory is off (MEMORY_ENABLED=false): go on without it."
    to_person = "Memory is off: `memory-mcp config MEMORY_ENABLED` shows who set it to false."
    return Skipped(why or address(to_model, to_person))


def describe_no_project(workspace: Workspace) -> tuple[str, ...]:
    """A note on a write where there is no project; each conversation hears it once."""
    key = (workspace.caller.conversation, "no project")
    if not workspace.policy.homeless or not workspace.conversations.is_first_time(key):
        return ()
    begin = address(
        "The user begins one with `git init` there, or names it in MEMORY_PROJECT_DIR.",
        "`git init`, or `--project .`, begins one.",
    )
    return (f"No project here: this is shared by all folders without one. {begin}",)


def refuse_writes(workspace: Workspace) -> Skipped | None:
    """The outcome to return if this session may not write."""
    if workspace.policy.lost:
        return Skipped(
            "Nothing was stored: it cannot be told where the memory is. The note says why, and "
            "what to do."
        )
    if workspace.policy.meta and workspace.policy.enabled:
        return Skipped(
            "Nothing was stored: this is a meta session (MEMORY_MODE=meta, or a token that may "
            "only read), which reads the project's memory without writing to it. "
            + address(
                "Go on; this is no error.", "`memory-mcp config MEMORY_MODE` shows who set it."
            )
        )
    return refuse_reads(workspace)
