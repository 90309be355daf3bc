"""A second home for records, and what has yet to reach it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from memory_mcp.domain.cloud import (
    Claim,
    Fate,
    Letter,
    Listing,
    RemoteDocument,
    RemoteHit,
    RemoteProfile,
    Standing,
    Stored,
    Tally,
    Test,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding


class Outbox(Protocol):
    """What the cloud has not confirmed yet, for one pool: durable, shared by all processes.

    - `note` is durable when it returns, and idempotent. A noted deletion cancels additions of the
      same record that were never sent or were given up.
    - `claim` leases due parcels until `until`, oldest first, all of one operation and stage, and
      none whose record has an older parcel under way. A claimed addition counts as sent. Quiet
      parcels are claimed together with others, never by themselves. None: nothing to do now.
    - `settle` records the outcome of each parcel under the claim's token. It changes nothing for a
      lease that ran out and was taken over. `hurry` makes everything due at once, quiet and paused
      parcels too.
    - `known` returns the records that are in the cloud or on their way there; `mark` notes that
      records are there, `unmark` that it is unknown. `gone` returns those that were deleted there,
      or are being deleted.
    - `seen_until` is the time, by the cloud's clock, up to which every record of the cloud was
      looked at.
    - `standing` says whether the cloud may be asked; all processes share it.
    - `StoreUnavailableError` and `StoreDamagedError` are the only failures.
    """

    async def note(self, letters: Sequence[Letter], now: float) -> None: ...

    async def claim(self, now: float, until: float) -> Claim | None: ...

    async def settle(self, claim: Claim, fates: Mapping[int, Fate]) -> None: ...

    async def hurry(self, now: float) -> None: ...

    async def known(self) -> set[RecordId]: ...

    async def gone(self) -> set[RecordId]: ...

    async def mark(self, record_ids: Collection[RecordId]) -> None: ...

    async def seen_until(self) -> str: ...

    async def see_until(self, at: str) -> None: ...

    async def unmark(self, record_ids: Collection[RecordId]) -> None: ...

    async def tally(self) -> Tally: ...

    async def standing(self) -> Standing: ...

    async def stand(self, standing: Standing) -> None: ...

    async def findings(self, *, repair: bool) -> list[Finding]: ...

    async def aclose(self) -> None: ...


class PulledRecords(Protocol):
    """Which records of a pool came from the cloud: what they would erase waits for the user.

    - `note` is durable when it returns, and is called before the record's file is written.
    - `ids` returns every record that was ever noted, also while no cloud is set up.
    - `StoreUnavailableError` and `StoreDamagedError` are the only failures.
    """

    async def note(self, record_ids: Collection[RecordId]) -> None: ...

    async def ids(self) -> set[RecordId]: ...

    async def aclose(self) -> None: ...


class Remote(Protocol):
    """A cloud that holds copies of records and can fail at any time. All ids are ours.

    - `deliver` hands documents over and answers for each: None (accepted) or the reason why not. An
      id that is not in the answer may or may not have been accepted.
    - `get` is the sure way to learn whether a document is there (None: it is not).
    - `erase` deletes documents for good and returns the failures by id.
    - `search` returns the best passages of documents that meet every test.
    - `listing` pages through the documents that meet every test, oldest or newest first.
    - `probe` only checks that the service answers.
    - Every call is bounded in time and raises `RemoteError` and nothing else. An answer of another
      shape than promised counts as none: `RemoteUnavailableError`.
    """

    async def deliver(
        self, namespace: str, documents: Sequence[RemoteDocument]
    ) -> Mapping[RecordId, str | None]: ...

    async def get(self, namespace: str, record_id: RecordId) -> Stored | None: ...

    async def erase(
        self, namespace: str, record_ids: Sequence[RecordId]
    ) -> Mapping[RecordId, str]: ...

    async def search(
        self, namespace: str, query: str, tests: Sequence[Test], limit: int
    ) -> list[RemoteHit]: ...

    async def listing(
        self,
        namespace: str,
        tests: Sequence[Test],
        page: int,
        *,
        content: bool = False,
        newest_first: bool = False,
    ) -> Listing: ...

    async def profile(self, namespace: str, tests: Sequence[Test]) -> RemoteProfile: ...

    async def probe(self) -> None: ...

    async def aclose(self) -> None: ...
