"""Time, ids, and what rests in files: records, the head, trust, the journal of an import."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Origin, Record
from memory_mcp.domain.timeline import Head
from memory_mcp.errors import StoreUnavailableError


class Clock(Protocol):
    """The time, aware and in UTC."""

    def now(self) -> datetime: ...


class Ids(Protocol):
    """New record ids: UUIDv7 of the given time, unique, and rising within one process."""

    def new(self, at: datetime) -> RecordId: ...


class Provenance(Protocol):
    """Where a client (`name/version`) stands: who, in which session, at which commit.

    Never fails, never waits: what is unknown is left empty.
    """

    def origin(self, client: str) -> Origin: ...


class ProjectTrust(Protocol):
    """What the user said of a project whose files may come from somebody else.

    - `remote`: the remote that the repository names, or ''.
    - `trusted`: every valid record counts, whoever wrote it. The user said so for this folder under
      this remote. A change takes effect at once, in every process.
    - `trusted_remote`: the remote under which the user said so, which may have changed since; or
      None.
    - `trusts_settings`: the project is trusted, and its settings file sets what it set then.
    - `may_use_cloud`: the repository gives the project no name, or the user trusts it.
    - `find_links`: the links that stand where the project's memory would be; none is followed.
    - `grant` and `revoke` change the trust. `revoke` also ends the trust in clouds, and returns
      whether it changed anything. What the file system refuses raises `StoreUnavailableError`.
    """

    @property
    def remote(self) -> str: ...
    def trusted(self) -> bool: ...
    def trusted_remote(self) -> str | None: ...
    def trusts_settings(self) -> bool: ...
    def may_use_cloud(self) -> bool: ...
    def find_links(self) -> Sequence[str]: ...
    def grant(self) -> None: ...
    def revoke(self) -> bool: ...


class StoreFolders(Protocol):
    """The folders that this process stores in.

    `find_unwritable` tries each with a small file, of which nothing is left, and returns why those
    that take none do not.
    """

    async def find_unwritable(self) -> Sequence[StoreUnavailableError]: ...


class Reviews(Protocol):
    """What the user said of records that other members of a project wrote.

    `note` is durable when it returns, and idempotent; so is `withdraw`, which takes a word back.
    A word for one record says nothing of another. What the file system refuses raises
    `StoreUnavailableError`.
    """

    def note(self, record: Record, word: str) -> None: ...
    def withdraw(self, record: Record, word: str) -> None: ...
    def knows(self, record: Record, word: str) -> bool: ...


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
    """Where records are stored.

    - `refuse_unreadable` raises `InvalidRequestError` for a record that could not be read again.
    - `put` is durable when it returns, and idempotent; it refuses what cannot be read, too. Another
      record under an id that is taken raises `StoreDamagedError`. A record `of_this_machine` counts
      whatever the user trusts.
    - `get` returns exactly what was put, or None; never half a record. A file that cannot be
      read as a record raises `StoreDamagedError` or `NewerSchemaError`.
    - `ids` names every record there is, readable or not, in no promised order.
    - `changed` says, without waiting, whether others may have added or removed records since the
      last `ids`: another process, git, or a person. Writes of this store do not count; what came in
      the very moment of one is named a second later.
    - `may_be_emptied` says whether a folder without records may have been emptied, as git does when
      it switches branches or cleans; else it is gone, or not mounted.
    - `scan` yields every readable record among the ids, and skips what cannot be read. `digest`
      gives the `stored.compute_record_digest` of those that are written as this machine does it, at
      a fraction of the cost; of another one it gives none, or a digest of no record.
    - `erase` leaves nothing of the records; an id that is not there is no error.
    - `remove_litter` removes what interrupted writes left, once it is `LITTER_SECONDS_MIN` old:
      younger files may be a write of another process.
    - `alone` is held by whoever corrects a record, and, for a `statement`, by whoever stores a new
      one; it yields whether it could be had: one at a time, in all processes. It ends with the
      process.
    - `check` yields every readable record, each once, and a finding for whatever is wrong; it
      repairs what it safely can.
    - What the file system refuses raises `StoreUnavailableError`.
    """

    def refuse_unreadable(self, record: Record) -> None: ...
    async def put(self, record: Record, *, of_this_machine: bool = True) -> None: ...
    async def get(self, record_id: RecordId) -> Record | None: ...
    async def ids(self) -> set[RecordId]: ...
    def changed(self) -> bool: ...
    def may_be_emptied(self) -> bool: ...
    def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]: ...
    async def digest(self, record_ids: Collection[RecordId]) -> dict[RecordId, str]: ...
    async def erase(self, record_ids: Collection[RecordId]) -> None: ...
    async def remove_litter(self) -> None: ...
    def alone(self, statement: str = "") -> AbstractAsyncContextManager[bool]: ...
    def check(self, *, repair: bool) -> AsyncIterator[Record | Finding]: ...


class ErasedLog(Protocol):
    """The ids that were erased here, whatever records say now.

    - `ids` returns them all; `add` is durable when it returns.
    - What the store refuses raises `StoreUnavailableError`.
    """

    async def ids(self) -> frozenset[RecordId]: ...
    async def add(self, record_ids: Collection[RecordId]) -> None: ...


class HeadStore(Protocol):
    """The head of one project: small, shared, replaced whole.

    - `read` returns the newest head, or None before the first move (or when the file was lost).
    - `replace` makes `head` the newest one, durably, if the present revision is `expected`
      (0 = there is none), and adds a line to the history. Otherwise it changes nothing and
      raises `ConflictError`. Of several that compete, exactly one succeeds.
    - The history holds every move once: `replace` adds its own, `find_unlogged` returns the moves
      that are missing, `log` adds those that are still missing.
    - A head that cannot be read raises `StoreDamagedError` or `NewerSchemaError`; `findings` with
      `repair` sets a damaged one aside, so that it can be made anew.
    - `place` is where the head lies: a path, or words that name it.
    """

    @property
    def place(self) -> str: ...
    async def read(self) -> Head | None: ...
    async def replace(self, head: Head, *, expected: int) -> None: ...
    async def find_unlogged(self, moves: Sequence[Record]) -> list[Record]: ...
    async def log(self, moves: Sequence[Record]) -> None: ...
    async def findings(self, *, repair: bool) -> list[Finding]: ...


class ImportJournal(Protocol):
    """The records of one import, until all of them are where they belong.

    - `alone` is held by whoever imports or completes an import, and yields whether it could be had:
      one at a time, in all processes. It ends with the process. The other methods need it.
    - `note` is durable when it returns; a cut leaves all of it or nothing.
    - `noted` returns the records that were noted and not cleared. A note that cannot be read raises
      `StoreDamagedError` or `NewerSchemaError`, and stays.
    - `clear` is durable when it returns; clearing nothing is no error.
    - `waiting` says whether there may be a note, without reading it.
    - What the store refuses raises `StoreUnavailableError`.
    """

    def alone(self) -> AbstractAsyncContextManager[bool]: ...
    async def waiting(self) -> bool: ...
    async def note(self, records: Sequence[Record]) -> None: ...
    async def noted(self) -> list[Record]: ...
    async def clear(self) -> None: ...
