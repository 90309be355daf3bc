"""The cloud that holds copies of records, and the outbox of what it has not confirmed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from memory_mcp.domain.cloud import (
    CircuitState,
    DeliveryOutcome,
    DocumentPage,
    Lease,
    MetadataCondition,
    NewEntry,
    OutboxCounts,
    RemoteDocument,
    RemoteHit,
    RemoteProfile,
    StoredDocument,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding


class Outbox(Protocol):
    """What the cloud has not confirmed yet, for one bank: durable, shared by all processes.

    - `note` adds entries durably and is idempotent. A deletion cancels an addition of the same
      record that was never sent or was dead-lettered.
    - `claim` leases due entries until `until`, oldest first, all of one operation and stage, and
      none whose record has an older entry. A claimed addition counts as sent. Quiet entries are
      claimed together with others, never by themselves. None: nothing to do now.
    - `record_outcomes` records what became of each entry (by `seq`) under the lease's token. It
      changes nothing for a lease that ran out and was taken over.
    - `make_all_due` makes everything due at once, quiet and paused entries too.
    - `known` returns the records that are in the cloud or on their way there. `mark` notes that
      records are there, `unmark` that it is unknown. `gone` returns those that were or are being
      deleted there.
    - The pull cursor is the time, by the cloud's clock, up to which this machine has looked at
      every record of the cloud; '' before the first look.
    - `circuit` is the circuit breaker, which all processes share.
    - `StoreUnavailableError` and `StoreDamagedError` are the only failures.
    """

    async def note(self, entries: Sequence[NewEntry], now: float) -> None: ...
    async def claim(self, now: float, until: float) -> Lease | None: ...
    async def record_outcomes(
        self, lease: Lease, outcomes: Mapping[int, DeliveryOutcome]
    ) -> None: ...
    async def make_all_due(self, now: float) -> None: ...
    async def known(self) -> set[RecordId]: ...
    async def gone(self) -> set[RecordId]: ...
    async def mark(self, record_ids: Collection[RecordId]) -> None: ...
    async def unmark(self, record_ids: Collection[RecordId]) -> None: ...
    async def load_pull_cursor(self) -> str: ...
    async def save_pull_cursor(self, at: str) -> None: ...
    async def counts(self) -> OutboxCounts: ...
    async def circuit(self) -> CircuitState: ...
    async def save_circuit(self, circuit: CircuitState) -> None: ...
    async def findings(self, *, repair: bool) -> list[Finding]: ...
    async def aclose(self) -> None: ...


class PulledRecords(Protocol):
    """Which records of a bank came from the cloud: what they would erase waits for the user.

    - `note` is durable when it returns, and is called before the record's file is written.
    - `ids` returns every record that was ever noted, also while no cloud is set up.
    - `StoreUnavailableError` and `StoreDamagedError` are the only failures.
    """

    async def note(self, record_ids: Collection[RecordId]) -> None: ...
    async def ids(self) -> set[RecordId]: ...
    async def aclose(self) -> None: ...


class Remote(Protocol):
    """A cloud that holds copies of records and can fail at any time. All ids are ours.

    - `deliver` sends documents and answers for each: None (accepted) or the reason why not. An id
      that is not in the answer may or may not have been accepted.
    - `get` is the sure way to learn whether a document is there (None: it is not).
    - `erase` deletes documents for good and returns the failures by id.
    - `search` returns the best passages of documents that meet every condition.
    - `listing` pages through the documents that meet every condition, oldest or newest first.
    - `probe` only checks that the service answers.
    - Every call is bounded in time and raises `RemoteError` and nothing else. An answer of another
      shape than promised is no answer: `RemoteUnavailableError`.
    """

    async def deliver(
        self, namespace: str, documents: Sequence[RemoteDocument]
    ) -> Mapping[RecordId, str | None]: ...
    async def get(self, namespace: str, record_id: RecordId) -> StoredDocument | None: ...
    async def erase(
        self, namespace: str, record_ids: Sequence[RecordId]
    ) -> Mapping[RecordId, str]: ...
    async def search(
        self, namespace: str, query: str, conditions: Sequence[MetadataCondition], limit: int
    ) -> list[RemoteHit]: ...
    async def listing(
        self,
        namespace: str,
        conditions: Sequence[MetadataCondition],
        page: int,
        *,
        content: bool = False,
        newest_first: bool = False,
    ) -> DocumentPage: ...
    async def profile(
        self, namespace: str, conditions: Sequence[MetadataCondition]
    ) -> RemoteProfile: ...
    async def probe(self) -> None: ...
    async def aclose(self) -> None: ...
