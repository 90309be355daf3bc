"""What every use case is given: the ports, whose memory it is, and how it is set up."""

from dataclasses import dataclass, field
from typing import Final, Literal

from memory_mcp.app.healing import HealedIndex
from memory_mcp.app.meaning import Meaning
from memory_mcp.app.mirror import Mirror
from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Origin, Record, Scope
from memory_mcp.domain.search import RerankWeights
from memory_mcp.errors import StoreError
from memory_mcp.ports import Clock, HeadStore, Ids, Provenance, RecordStore

__all__ = ["MEMORY_OFF", "Policy", "Pool", "Rooms", "Session", "reads_refused", "writes_refused"]


MEMORY_OFF: Final = "Memory is off (MEMORY_ENABLED=false): go on without it."


@dataclass(frozen=True)
class Policy:
    """How the memory is set up for this session.

    `unusable` says why it cannot be used as it was asked for, and what to do. `weights` say what
    counts for the order of what is found.
    """

    enabled: bool = True
    meta: bool = False
    approval: Literal["ask", "auto"] = "ask"
    phase: int | None = None
    unusable: str = ""
    weights: RerankWeights = field(default_factory=RerankWeights)


class Session:
    """Which branch this session is on. Tips are shared by all; this is the session's own."""

    def __init__(self, branch: BranchName) -> None:
        self.branch = branch


@dataclass(frozen=True)
class Pool:
    """A place where records rest, with the index over them.

    The cloud and the vectors are there if they were set up.
    """

    records: RecordStore
    index: HealedIndex
    mirror: Mirror | None = None
    meaning: Meaning | None = None

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
        if self.meaning:
            self.meaning.wake.set()
        return notes

    async def erase(self, record_ids: set[RecordId]) -> None:
        """Leave nothing of these records, here or in the cloud."""
        if self.mirror:
            await self.mirror.note_erased(record_ids)
        await self.records.erase(record_ids)
        await self.index.remove(record_ids)


@dataclass(frozen=True)
class Rooms:
    """The project's pool and timeline, the user's pool, and the world around them.

    `client` names the program that is calling, as `name/version`.
    """

    project: Pool
    user: Pool
    heads: HeadStore
    clock: Clock
    ids: Ids
    provenance: Provenance
    scope: Scope
    policy: Policy
    session: Session
    client: str = "cli"

    def origin(self) -> Origin:
        """Who is writing, in which session, at which commit."""
        return self.provenance.origin(self.client)

    @property
    def mirrored(self) -> bool:
        """Whether there is a cloud behind the pools."""
        return self.project.mirror is not None

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


def reads_refused(rooms: Rooms) -> Skipped | None:
    """Why nothing is read, if nothing is."""
    if rooms.policy.unusable:
        return Skipped(rooms.policy.unusable)
    if not rooms.policy.enabled:
        return Skipped(MEMORY_OFF)
    return None


def writes_refused(rooms: Rooms) -> Skipped | None:
    """Why nothing is written, if nothing is."""
    if rooms.policy.meta and not rooms.policy.unusable:
        return Skipped(
            "Nothing was stored: this is a meta session (MEMORY_MODE=meta), which reads the "
            "project's memory without writing to it. Go on; this is no error."
        )
    return reads_refused(rooms)
