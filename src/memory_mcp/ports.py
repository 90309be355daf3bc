"""What the use cases need from the world, as small Protocols.

Each docstring is the contract; tests/contracts proves it for every adapter. Adapters raise the
errors of `memory_mcp.errors` and nothing else on purpose.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memory_mcp.domain.cloud import (
    Claim,
    Document,
    Fate,
    Letter,
    Listing,
    Profile,
    RemoteHit,
    Standing,
    Stored,
    Tally,
    Test,
)
from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import Origin, Record
from memory_mcp.domain.search import Candidate, Corpus, Neighbour
from memory_mcp.domain.timeline import Head
from memory_mcp.domain.vectors import Passage, QueryVectors, ReadVectors
from memory_mcp.domain.views import Filters, View

__all__ = [
    "Clock",
    "Embedder",
    "HeadStore",
    "Ids",
    "Outbox",
    "Provenance",
    "RecordStore",
    "Remote",
    "SearchIndex",
    "VectorIndex",
]


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


class RecordStore(Protocol):
    """Where records rest.

    - `put` is durable when it returns, and idempotent: the same record twice is one.
      Another record under an id that is taken raises `StoreDamagedError`.
    - `get` returns exactly what was put, or None; never half a record. A file that cannot be
      read as a record raises `StoreDamagedError` or `NewerSchemaError`.
    - `ids` names every record there is, readable or not, in no promised order.
    - `scan` yields every readable record among the ids given, skipping what cannot be read.
    - `erase` leaves nothing of the records; an id that is not there is no error.
    - `tidy` removes what writes that were cut short left over, once it is `LITTER_SECONDS_MIN` old:
      what is younger may be a write of another process.
    - What the file system refuses raises `StoreUnavailableError`.
    - `findings` names what it can tell is wrong by itself, and mends what it safely can.
    """

    async def put(self, record: Record) -> None: ...

    async def get(self, record_id: RecordId) -> Record | None: ...

    async def ids(self) -> set[RecordId]: ...

    def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]: ...

    async def erase(self, record_ids: Collection[RecordId]) -> None: ...

    async def tidy(self) -> None: ...

    async def findings(self, *, repair: bool) -> list[Finding]: ...


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


class SearchIndex(Protocol):
    """A derivative of the records that answers quickly. Deleting it loses nothing.

    - `add` and `remove` are idempotent and visible to every process once they return.
    - `erased` names every id that some record erases, whether or not it was ever here.
    - `match`, `around`, `find`, `visible` and `nearest` return only what is visible from the view;
      filters apply first, so `limit` results are `limit` visible results if there are that many.
    - `corpus` counts the records that hold each term, visible or not; `spellings` names the terms
      there are that share most letters with one that is not there, with their counts.
    - `match` looks for records that hold at least one of the terms (those that `corpus` counted),
      best first. `around` names what was written up to two steps before and after, in one go,
      whether or not it passes the filters.
    - `find` returns the newest first (by id).
    - `nearest` names visible ids close to a mistyped one.
    - `moves` names the records that move the head; `of_segments` everything written in
      these segments, visible or not; `suppressed_by` what the records of these segments
      supersede or bury; `to_erase` what is there although some record erases it.
    - `mark_complete` says that every record is in. Until then (and after `reset`) the reading
      methods raise `IndexDamagedError` instead of answering from half of the memories; but for
      `ids` and `to_erase`, which are what completes it.
    - `IndexBusyError` (try again) and `IndexDamagedError` (rebuild) are the only failures.
    """

    async def add(self, records: Sequence[Record]) -> None: ...

    async def remove(self, record_ids: Collection[RecordId]) -> None: ...

    async def ids(self) -> set[RecordId]: ...

    async def corpus(self, terms: Collection[str]) -> Corpus: ...

    async def spellings(self, term: str) -> list[tuple[str, int]]: ...

    async def match(
        self, terms: Sequence[str], corpus: Corpus, view: View, filters: Filters, limit: int
    ) -> list[Candidate]: ...

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]: ...

    async def find(self, view: View, filters: Filters, limit: int) -> list[RecordId]: ...

    async def count(self, view: View, filters: Filters) -> int: ...

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]: ...

    async def nearest(self, record_id: str, view: View) -> list[RecordId]: ...

    async def moves(self) -> list[RecordId]: ...

    async def of_segments(self, segments: Collection[SegmentId]) -> set[RecordId]: ...

    async def suppressed_by(self, segments: Collection[SegmentId]) -> set[RecordId]: ...

    async def to_erase(self) -> set[RecordId]: ...

    async def erased(self) -> set[RecordId]: ...

    async def mark_complete(self) -> None: ...

    async def reset(self) -> None: ...

    async def aclose(self) -> None: ...

    async def findings(self, *, repair: bool) -> list[Finding]: ...


class VectorIndex(Protocol):
    """The vectors of the records in a search index, of any number of embedders side by side.

    - `claim` leases records that this embedder has not encoded, newest first, to one caller until
      `until`; `keep` stores what was made of them. What is no longer there is not stored.
    - `missing` counts the records that the embedder has yet to encode.
    - `near` returns the visible records whose pooled vectors are nearest; filters apply first.
    - `vectors` returns the chunks of those records that are encoded. A row whose checksum is wrong
      is left out and counted; `damaged` counts them in the whole index.
    - `let_go` drops the vectors of other embedders that nobody used since.
    - Failures are those of `SearchIndex`.
    """

    async def claim(
        self, embedder: str, limit: int, now: datetime, until: datetime
    ) -> list[RecordId]: ...

    async def keep(self, embedder: str, made: Mapping[RecordId, Passage]) -> None: ...

    async def missing(self, embedder: str) -> int: ...

    async def near(
        self, embedder: str, pooled: bytes, view: View, filters: Filters, limit: int
    ) -> list[Candidate]: ...

    async def vectors(self, embedder: str, record_ids: Collection[RecordId]) -> ReadVectors: ...

    async def damaged(self) -> int: ...

    async def let_go(self, embedder: str, since: datetime) -> None: ...


class Embedder(Protocol):
    """Text to vectors, by a model on this machine or behind an address.

    - `identity` names the model, its version and the form of its vectors: vectors of different
      identities are never compared. It is known without loading anything.
    - `passages` answers for each text in its order. `question` is for the other side of a search.
    - Texts longer than the model can take are cut into chunks that overlap a little.
    - The model is loaded by the first call and may be let go when idle; several calls at once are
      safe, and none blocks the event loop.
    - `ModelUnavailableError` is the only failure, never fatal: its message says what to do.
    """

    @property
    def identity(self) -> str: ...

    async def passages(self, texts: Sequence[str]) -> list[Passage]: ...

    async def question(self, text: str) -> QueryVectors: ...

    async def aclose(self) -> None: ...


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
        self, namespace: str, documents: Sequence[Document]
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

    async def profile(self, namespace: str, tests: Sequence[Test]) -> Profile: ...

    async def probe(self) -> None: ...

    async def aclose(self) -> None: ...
