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
from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId


class Outbox(Protocol):
    """What the cloud has not confirmed yet, of one pool: durable, shared by all its processes.

    - `note` is durable when it returns, and idempotent. A deletion takes back additions of the same
      record that were never sent, and any that is dead.
    - `claim` leases parcels that are due until `until`, oldest first, all of one op and stage, and
      none whose record has an older parcel under way. An add counts as sent from then on. Quiet
      parcels are claimed along with others, never by themselves. None: there is nothing to do now.
    - `settle` records the fates under the claim's token; a lease that ran out and was taken over
      settles nothing. `hurry` makes everything due at once, quiet parcels and paused ones too.
    - `known` names the records on their way to the cloud or there; `mark` notes that these are
      there, `unmark` that it is not known; `gone` names those that are there no longer, or are on
      their way out.
    - `seen_until` is when (by the cloud's clock) the newest was taken that a whole look has seen.
    - `standing` is shared by all processes: whether the cloud may be asked.
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
    """Which records of a pool came in from the cloud: what they would erase waits for the user.

    - `note` is durable when it returns. It comes before the record's file.
    - `ids` names all that were ever noted, also while there is no cloud.
    - `StoreUnavailableError` and `StoreDamagedError` are the only failures.
    """

    async def note(self, record_ids: Collection[RecordId]) -> None: ...

    async def ids(self) -> set[RecordId]: ...

    async def aclose(self) -> None: ...


class Remote(Protocol):
    """A second home for records that can fail at any time. Ids are ours, whatever it calls them.

    - `deliver` hands documents over and answers for each: None (taken) or what was wrong with it;
      an id that the answer does not name may or may not have been taken.
    - `get` is the sure way to know whether a document is there (None: it is not).
    - `erase` removes documents for good and answers, by id, what was wrong.
    - `search` returns the best passages of documents that meet every test.
    - `listing` pages through the documents that meet every test, oldest or newest first.
    - `probe` asks for nothing but an answer.
    - Every call is bounded in time and raises `RemoteError` and nothing else. An answer that does
      not have the promised shape is none: `RemoteUnavailableError`.
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
