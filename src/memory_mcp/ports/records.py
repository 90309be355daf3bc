"""Time, ids, and what rests in files: records, the head, trust, the journal of an import."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Origin, Record
from memory_mcp.domain.timeline import Head


class Clock(Protocol):
    """The time, aware and in UTC."""

    def now(self) -> datetime: ...


class Ids(Protocol):
    """New record ids: UUIDv7 of the given time, unique, and rising within one process."""

    def new(self, at: datetime) -> RecordId: ...


class Provenance(Protocol):
    """Where a client (`name/version`) stands: who, in which session, at which commit.

    Never fails, never waits: what cannot be told is left empty.
    """

    def origin(self, client: str) -> Origin: ...


class ProjectTrust(Protocol):
    """What the user said of a project whose files may come from somebody else.

    - `remote`: where the repository says that it comes from; '' if it does not.
    - `trusted`: every valid record counts, whoever wrote it: the user said so in this place, under
      this remote. Takes effect at once, in every process.
    - `trusted_as`: the remote under which they said so, which may be another one by now; or None.
    - `vouched`: the repository gives the project no name, or the user trusts it under that remote.
      Only then may the cloud be asked about it.
    - `links`: what is a link and stands where the project's memory would be; none is followed.
    - `grant` and `revoke` change that; `revoke` ends the trust in clouds, too, and tells whether it
      was otherwise. What the file system refuses raises `StoreUnavailableError`.
    """

    @property
    def remote(self) -> str: ...

    def trusted(self) -> bool: ...

    def trusted_as(self) -> str | None: ...

    def vouched(self) -> bool: ...

    def links(self) -> Sequence[str]: ...

    def grant(self) -> None: ...

    def revoke(self) -> bool: ...


class CloudTrust(Protocol):
    """Whether the user trusts the cloud at `address`.

    - `trusted`: records that other machines wrote there come in. A change takes effect at once, in
      every process. Asking is cheap.
    - `grant` trusts it; what the file system refuses raises `StoreUnavailableError`.
    """

    address: str

    def trusted(self) -> bool: ...

    def grant(self) -> None: ...


class RecordStore(Protocol):
    """Where records rest.

    - `put` is durable when it returns, and idempotent: the same record twice is one.
      Another record under an id that is taken raises `StoreDamagedError`.
      What was written `of_this_machine` counts whatever the user trusts.
    - `get` returns exactly what was put, or None; never half a record. A file that cannot be
      read as a record raises `StoreDamagedError` or `NewerSchemaError`.
    - `ids` names every record there is, readable or not, in no promised order.
    - `changed` tells, without waiting, whether others may have added or removed records since the
      last `ids`: another process, git, or a person. What this store wrote itself is no news.
    - `emptied` tells whether a folder without records may have been emptied, as git does when it
      switches to a branch without any, or cleans: else it is gone, or not mounted.
    - `scan` yields every readable record among the ids given, skipping what cannot be read.
    - `erase` leaves nothing of the records; an id that is not there is no error.
    - `tidy` removes what writes that were cut short left over, once it is `LITTER_SECONDS_MIN` old:
      what is younger may be a write of another process.
    - What the file system refuses raises `StoreUnavailableError`.
    - `findings` names what it can tell is wrong by itself, and mends what it safely can.
    """

    async def put(self, record: Record, *, of_this_machine: bool = True) -> None: ...

    async def get(self, record_id: RecordId) -> Record | None: ...

    async def ids(self) -> set[RecordId]: ...

    def changed(self) -> bool: ...

    def emptied(self) -> bool: ...

    def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]: ...

    async def erase(self, record_ids: Collection[RecordId]) -> None: ...

    async def tidy(self) -> None: ...

    async def findings(self, *, repair: bool) -> list[Finding]: ...


class ErasedLog(Protocol):
    """The ids that this machine has erased, whatever records say now.

    - `ids` returns them all; `add` is durable when it returns.
    - What the file system refuses raises `StoreUnavailableError`.
    """

    def ids(self) -> frozenset[RecordId]: ...

    def add(self, record_ids: Collection[RecordId]) -> None: ...


class HeadStore(Protocol):
    """The head of one project: small, shared, replaced whole.

    - `read` returns the newest head, or None before the first move (or when the file was lost).
    - `replace` makes `head` the newest one, durably, if the present revision is `expected`
      (0 = there is none), and adds a line to the history. Otherwise it changes nothing and
      raises `ConflictError`. Of several that compete, exactly one succeeds.
    - The history holds every move once: `replace` adds its own, `unlogged` tells which of these
      moves are missing, `log` adds those of its moves that are still missing.
    - A head that cannot be read raises `StoreDamagedError` or `NewerSchemaError`; `findings` with
      `repair` sets a damaged one aside, so that it can be made anew.
    """

    async def read(self) -> Head | None: ...

    async def replace(self, head: Head, *, expected: int) -> None: ...

    async def unlogged(self, moves: Sequence[Record]) -> list[Record]: ...

    async def log(self, moves: Sequence[Record]) -> None: ...

    async def findings(self, *, repair: bool) -> list[Finding]: ...


class ImportJournal(Protocol):
    """The records of one import, until all of them are where they belong.

    - `alone` is held by whoever imports or completes an import; it yields whether it could be: of
      several, in any process, one can at a time. It ends with the process. Only who holds it may
      call the others.
    - `note` is durable when it returns; a cut leaves the whole of it or nothing.
    - `noted` returns what was noted and not cleared, or nothing. A note that cannot be read raises
      `StoreDamagedError` or `NewerSchemaError`, and stays.
    - `clear` is durable when it returns; clearing nothing is no error.
    - `waiting` tells without waiting whether there may be something.
    - What the file system refuses raises `StoreUnavailableError`.
    """

    def alone(self) -> AbstractContextManager[bool]: ...

    def waiting(self) -> bool: ...

    async def note(self, records: Sequence[Record]) -> None: ...

    async def noted(self) -> list[Record]: ...

    async def clear(self) -> None: ...
