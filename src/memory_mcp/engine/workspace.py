"""The workspace of a request: the ports, whose memory it is, who calls, and how it is set up."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar

from memory_mcp.deadlines import CallLock
from memory_mcp.domain.deduplication import Merging, Secrets
from memory_mcp.domain.fields import normalise_name
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.nudges import NudgeHandover, SessionNudge
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Origin, Reach, Record, Scope
from memory_mcp.domain.search import RerankWeights
from memory_mcp.domain.sessions import ContextSettings, EpisodeSettings
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.index_sync import HealedIndex
from memory_mcp.engine.mirror import Mirror
from memory_mcp.errors import StoreError
from memory_mcp.ports import (
    Clock,
    Embedder,
    HeadStore,
    Ids,
    ImportJournal,
    Inbox,
    LanguageModel,
    NudgeQueue,
    ProjectTrust,
    Provenance,
    RecordStore,
    VectorIndex,
    Views,
)
from memory_mcp.text.secrets import hide_secret_name


class Changes:
    """Counts what this process wrote. Shared by the pools of one process.

    `shown` is how many of these the rendered files show.
    """

    def __init__(self) -> None:
        self.count = 0
        self.shown = 0
        self._news = asyncio.Event()

    def note(self) -> None:
        """Something was written or erased."""
        self.count += 1
        self._news.set()
        self._news = asyncio.Event()

    async def after(self, count: int, seconds_max: float | None = None) -> int:
        """How many there are, once there are more than `count`, or the time is up."""
        if self.count <= count:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds_max):
                    await self._news.wait()
        return self.count


@dataclass(frozen=True)
class Meaning:
    """The embedder that both pools share, and the vectors of this one.

    `wake` is set when there is something to encode beside the calls.
    """

    embedder: Embedder
    vectors: VectorIndex
    wake: asyncio.Event


K = TypeVar("K")
V = TypeVar("V")


def _keep_newest(known: dict[K, V], key: K, value: V, most: int) -> V:
    """Put this entry last, and let go of the first one if there are too many."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
    return value


_SESSIONS_MAX: Final = 1_000
"""How many a server remembers; one that was silent for longest is given things again."""
_IDS_MAX: Final = 1_000


class ShownMemories:
    """What one session knows: the ids it was shown, and whether it has been greeted."""

    def __init__(self) -> None:
        self.greeted = False
        self._ids: dict[str, None] = {}

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._ids

    def note(self, record_id: str) -> None:
        """It has been shown."""
        _keep_newest(self._ids, record_id, None, _IDS_MAX)


class Prompts:
    """What the sessions of this server were given; `session` is the one that spoke last.

    `came` is set by each prompt: then there may be news in the inbox.
    """

    def __init__(self) -> None:
        self.session = ""
        self.came = asyncio.Event()
        self._given: dict[str, ShownMemories] = {}

    def of(self, session: str) -> ShownMemories:
        """What this session was given."""
        given = self._given.get(session) or ShownMemories()
        return _keep_newest(self._given, session, given, _SESSIONS_MAX)


_CONVERSATIONS_MAX: Final = 1_000
"""How many a server remembers; one that was silent for longest would open again."""

_INDEX_BATCH: Final = 500
"""Records indexed in one transaction, as when the index is made anew."""

MEMORY_OFF: Final = "Memory is off (MEMORY_ENABLED=false): go on without it."


@dataclass(frozen=True)
class Policy:
    """How the memory is set up for this session.

    `warnings` say what of it cannot be as it was asked for, and what to do. `weights` say what
    counts for the order of what is found, `merging` when two memories are one fact, `pace` how
    often a session leaves an episode, `opening` how much it opens with. `reminds`: receipts do,
    where no hook does. `lost`: it cannot be told where the project's memory is.
    """

    enabled: bool = True
    meta: bool = False
    lost: bool = False
    approval: Literal["ask", "auto"] = "ask"
    phase: int | None = None
    warnings: tuple[str, ...] = ()
    reminds: bool = False
    weights: RerankWeights = field(default_factory=RerankWeights)
    secrets: Secrets = "redact"
    merging: Merging = field(default_factory=Merging)
    episode_settings: EpisodeSettings = field(default_factory=EpisodeSettings)
    opening: ContextSettings = field(default_factory=ContextSettings)


class Opening:
    """How a conversation opens: what it brings up, once its first context has asked."""

    def __init__(self) -> None:
        self.taking = NudgeHandover()
        self.task: asyncio.Task[SessionNudge] | None = None


@dataclass(frozen=True)
class Caller:
    """Who calls, and about what: made at the door, the same for the whole of a request.

    `branch` is the one that the request reads and writes. `client` names the program as
    `name/version`, `conversation` the one of its conversations that calls: '' where one client has
    the server to itself, None where nothing tells the requests of several apart.
    """

    scope: Scope
    branch: BranchName
    client: str = "cli"
    conversation: str | None = ""


class Conversations:
    """What a server remembers of each conversation: its branch, and what it was told.

    A server that several clients reach at once has a conversation with each. A request of none
    (`conversation` is None) is not remembered.
    """

    def __init__(self, begun_on: BranchName) -> None:
        self.begun_on = begun_on
        self.prompts = Prompts()
        self._branches: dict[str, BranchName] = {}
        self._written: dict[str, int] = {}
        self._openings: dict[str, Opening] = {}
        self._unshown: list[Opening] = []
        self._told: dict[tuple[object, ...], None] = {}

    def branch_of(self, conversation: str | None) -> BranchName | None:
        """The branch that a conversation was put on, if it was."""
        if conversation is None or conversation not in self._branches:
            return None
        # asking keeps it: no other conversation may take the branch of one that is still at work
        branch = self._branches[conversation]
        return _keep_newest(self._branches, conversation, branch, _CONVERSATIONS_MAX)

    @property
    def branches(self) -> tuple[BranchName, ...]:
        """The branches that conversations are on, by name."""
        alone = "" in self._branches  # one client has the server to itself
        return tuple(sorted({*self._branches.values(), *([] if alone else [self.begun_on])}))

    def put_on(self, conversation: str, branch: BranchName) -> None:
        """Let the conversation's next requests read and write this branch."""
        _keep_newest(self._branches, conversation, branch, _CONVERSATIONS_MAX)

    def wrote(self, conversation: str | None) -> int:
        """Count a call that wrote; how many there were since the last that handed something on."""
        if conversation is None:  # nothing tells one request's work from another's
            return 0
        written = self._written.get(conversation, 0) + 1
        return _keep_newest(self._written, conversation, written, _CONVERSATIONS_MAX)

    def handed_on(self, conversation: str | None) -> None:
        """What was written so far is summed up by a checkpoint or a consolidation."""
        if conversation is not None:
            self._written.pop(conversation, None)

    def opening(self, conversation: str | None) -> Opening:
        """How this conversation opens. Without one (None) every request opens its own."""
        if conversation is None:
            return self._unshown.pop() if self._unshown else Opening()
        opening = self._openings.get(conversation) or Opening()
        return _keep_newest(self._openings, conversation, opening, _CONVERSATIONS_MAX)

    def first_told(self, about: tuple[object, ...]) -> bool:
        """Whether this is said for the first time; from now on it was said."""
        if about in self._told:
            return False
        _keep_newest(self._told, about, None, _CONVERSATIONS_MAX)
        return True

    def begin_anew(self, conversation: str) -> None:
        """The client has begun another session in the same conversation (`/clear`)."""
        self._openings.pop(conversation, None)

    def shown_later(self, opening: Opening) -> None:
        """What a request of no conversation took and cannot show: the next one does."""
        self._unshown.append(opening)


@dataclass
class RecoveredHead:
    """At which revision of the head all that it holds was last known to be found."""

    revision: int = 0


@dataclass(frozen=True)
class Pool:
    """A place where records rest, with the index over them.

    The cloud and the vectors are there if they were set up. `writing` is held by whoever compares
    what is to be stored with what is there; `changes` tells whoever shows what is there.
    """

    records: RecordStore
    index: HealedIndex
    mirror: Mirror | None = None
    meaning: Meaning | None = None
    writing: CallLock = field(default_factory=CallLock)
    changes: Changes = field(default_factory=Changes)

    async def keep(self, record: Record) -> tuple[str, ...]:
        """Make the record durable, then let it be found: never the other way round.

        What is to be mirrored is noted before that: no record that was acknowledged is missing in
        the outbox. Returns what the caller should be told. A busy or broken index or outbox does
        not undo the write.
        """
        notes = await self.mirror.note(record) if self.mirror else ()
        await self.records.put(record)
        try:
            await self.index.add([record])
        except StoreError as error:
            return (*notes, f"Stored, but not yet to be found: {error}")
        finally:
            self.changes.note()  # now, not before: whoever hears of it looks into the index
        if self.meaning:
            self.meaning.wake.set()
        return notes

    async def keep_all(
        self, records: Sequence[Record], advance: Callable[[int], None] = lambda _: None
    ) -> tuple[str, ...]:
        """As `keep`, for many: all are durable before any of them can be found.

        What is to be mirrored is noted last: until then the cloud knows nothing of what may yet be
        taken back. Whoever calls this makes sure that it is done whole, if it is cut short.
        """
        for done, record in enumerate(records, 1):
            await self.records.put(record)
            advance(done)
        notes: tuple[str, ...] = ()
        try:
            for start in range(0, len(records), _INDEX_BATCH):
                await self.index.add(records[start : start + _INDEX_BATCH])
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
        """Leave nothing of these records, here or in the cloud, whatever brings them back."""
        await self.index.remember_erased(record_ids)
        await self.take_back(record_ids)

    async def take_back(self, record_ids: set[RecordId]) -> None:
        """Leave nothing of these records, which may come again one day."""
        if self.mirror:
            await self.mirror.note_erased(record_ids)
        await self.records.erase(record_ids)
        await self.index.remove(record_ids)
        if record_ids:
            self.changes.note()


@dataclass
class Strangers:
    """What came with the repository and counts for nothing until the user trusts the project.

    `timeline` and `count` (of its visible memories) are as of the last look. Where there are too
    many they are not `searchable`, and all are counted.
    """

    pool: Pool
    trust: ProjectTrust
    timeline: Timeline = field(default_factory=Timeline)
    count: int = 0
    searchable: bool = False
    mentioned: bool = False
    asked: bool = False


@dataclass(frozen=True)
class Workspace:
    """The project's pool and timeline, the user's pool, and the world around them.

    `caller` is whose request this is: each request gets a copy of its own. `strangers` is what came
    with the repository: a search finds it, and nothing else looks there. `language` judges and
    composes where rules would; without one, or when it fails, they do.
    """

    project: Pool
    user: Pool
    heads: HeadStore
    nudges: NudgeQueue
    views: Views
    inbox: Inbox
    journal: ImportJournal
    clock: Clock
    ids: Ids
    provenance: Provenance
    caller: Caller
    policy: Policy
    conversations: Conversations
    language: LanguageModel | None = None
    strangers: Strangers | None = None
    settled: RecoveredHead = field(default_factory=RecoveredHead)

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self.caller.scope

    def at(self, branch: BranchName) -> "Workspace":
        """The same caller on another branch; nobody else is moved."""
        return replace(self, caller=replace(self.caller, branch=branch))

    def origin(self) -> Origin:
        """Who is writing, in which session, at which commit."""
        found = self.provenance.origin(self.caller.client)
        origin = found.model_copy(
            update={
                "client": normalise_name(found.client),
                "session": normalise_name(found.session),
                "git_branch": normalise_name(found.git_branch),
            }
        )
        name = self.caller.conversation
        if name == "":  # one client has the server to itself: it may have begun another session
            name = self.conversations.prompts.session
        named = self.named(name or origin.session)
        return origin if named == origin.session else origin.model_copy(update={"session": named})

    def named(self, session: str) -> str:
        """The name of a session as it may be written."""
        return hide_secret_name(normalise_name(session), self.policy.secrets)

    @property
    def mirrored(self) -> bool:
        """Whether there is a cloud behind the pools."""
        return self.project.mirror is not None

    @property
    def asks_elsewhere(self) -> bool:
        """Whether a question leaves this machine: to the cloud, or to a server for vectors."""
        meaning = self.project.meaning
        return self.mirrored or (meaning is not None and not meaning.embedder.here)

    @property
    def pools(self) -> tuple[Pool, Pool]:
        return self.project, self.user

    def pools_of(self, reach: Reach | None) -> tuple[Pool, ...]:
        """The pools that hold what is wanted; without a wish, both."""
        match reach:
            case None:
                return self.pools
            case "project":
                return (self.project,)
            case "user":
                return (self.user,)


def reads_refused(workspace: Workspace) -> Skipped | None:
    """Why nothing is read, if nothing is."""
    if not workspace.policy.enabled:
        return Skipped(MEMORY_OFF)
    return None


def writes_refused(workspace: Workspace) -> Skipped | None:
    """Why nothing is written, if nothing is."""
    if workspace.policy.lost:
        return Skipped(
            "Nothing was stored: it cannot be told where the memory is. The note says why, and "
            "what to do."
        )
    if workspace.policy.meta and workspace.policy.enabled:
        return Skipped(
            "Nothing was stored: this is a meta session (MEMORY_MODE=meta), which reads the "
            "project's memory without writing to it. Go on; this is no error."
        )
    return reads_refused(workspace)
