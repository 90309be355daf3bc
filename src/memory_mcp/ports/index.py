"""The index over the records and their vectors."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Candidate, Corpus, Neighbour
from memory_mcp.domain.vectors import Passage, ReadVectors
from memory_mcp.domain.views import Filters, View


class SearchIndex(Protocol):
    """A derivative of the records that answers quickly. Deleting it loses nothing.

    - `add` and `remove` are idempotent and visible to every process once they return.
    - `ids` names all that is in the index, or what of these is.
    - `erased` names every id that some record erases (or that is erased `also`), whether or not it
      was ever here, and what was made of these: it repeats their words. A record that orders an
      erasure is never among them, unless others that stay order the same; `erased_by` names what
      these records order to be erased.
    - `match`, `around`, `find`, `visible` and `nearest` return only what is visible from the view;
      filters apply first, so `limit` results are `limit` visible results if there are that many.
    - `corpus` counts the records that hold each term: of a term in few records those that can be
      seen, of others all. `spellings` names the terms there are, visible or not, that share most
      letters with one that is not there, with their counts.
    - `match` looks for records that hold at least one of the terms (those that `corpus` counted),
      best first. `around` names what was written up to two steps before and after, in one go,
      whether or not it passes the filters.
    - `find` returns the newest first (by id); with `best` the pinned first, then the important
      ones, then the newest. Asked for a statement it finds tombstones too.
    - `nearest` names visible ids close to a mistyped one.
    - `named` names the memories that a part of an id fits (`ids.fits_part`): visible from the view,
      or without one whether visible or not.
    - `moves` names the records that move the head; `of_segments` everything written in these
      segments, visible or not; `segments` the newest record of each segment that has any, not
      counting those that order an erasure if `orders` are not wanted; `suppressed_by` what the
      records of these segments supersede or bury; `derived` everything that was made of these, or
      of what was made of them, visible or not.
    - `to_erase` names what is there of the `erased`, or what of `among` is erased whether it is
      there or not, and for each of them the records that order it. A row may be forged: whoever
      erases asks those records themselves. `also` is erased too, by nobody's order.
    - `mark_complete` says that every record is in. Until then (and after `reset`) the reading
      methods raise `IndexDamagedError` instead of answering from half of the memories; but for
      `ids` and `to_erase`, which are what completes it.
    - `IndexBusyError` (try again) and `IndexDamagedError` (rebuild) are the only failures.
    """

    async def add(self, records: Sequence[Record]) -> None: ...

    async def remove(self, record_ids: Collection[RecordId]) -> None: ...

    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]: ...

    async def corpus(self, terms: Collection[str], view: View) -> Corpus: ...

    async def spellings(self, term: str) -> list[tuple[str, int]]: ...

    async def match(
        self, terms: Sequence[str], corpus: Corpus, view: View, filters: Filters, limit: int
    ) -> list[Candidate]: ...

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]: ...

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]: ...

    async def count(self, view: View, filters: Filters) -> int: ...

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]: ...

    async def nearest(self, record_id: str, view: View) -> list[RecordId]: ...

    async def named(self, part: str, view: View | None, limit: int) -> list[RecordId]: ...

    async def moves(self) -> list[RecordId]: ...

    async def of_segments(self, segments: Collection[SegmentId]) -> set[RecordId]: ...

    async def segments(self, *, orders: bool = True) -> dict[SegmentId, RecordId]: ...

    async def suppressed_by(self, segments: Collection[SegmentId]) -> set[RecordId]: ...

    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]: ...

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]: ...

    async def erased_by(self, record_ids: Collection[RecordId]) -> set[RecordId]: ...

    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]: ...

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
