"""The index over the records, as small ports that a store can implement one after the other.

All of them are derivatives of the records: deleting an index loses nothing. The use cases receive a
`SearchIndex`, which is all of them together; tests/contracts holds a suite for each.

The failures of every method are `IndexBusyError` (try again) and `IndexDamagedError` (rebuild).
"""

from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Final, Protocol

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Kind, Record
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Filters,
    IdSummary,
    Neighbour,
    PassageVectors,
    Stated,
    StoredVectors,
    View,
    Wanted,
)

PARTIAL_ANSWERS: Final = ContextVar("PARTIAL_ANSWERS", default=False)
"""Whether this call takes answers from an index in which old records are not yet."""


class IndexContent(Protocol):
    """Which records are in the index, and whether that is all of them.

    - `add` and `remove` are idempotent and visible to every process once they return. No method of
      any port finds a removed record, and no byte of its text stays.
    - `set_aside` removes records that may come back as they were: no method finds one until
      `take_up` is given its `stored.compute_record_digest`, and returns it; any of these may be
      forgotten before. `list_aside` returns those of `among` that are not. `remove` removes such
      records, too, and those derived from what it removes; `Erasures.to_erase` names them.
    - `ids` returns the records in the index, or those of `among` that are. `kinds` says of which
      kind each of `among` is that is there or set aside. `outlines` returns by what those of
      `among` are compared that may be found (`SearchFields.outline`). `summarise_ids` says at
      once what all of them come to; the newest is below `bound`.
    - `mark_complete` states that every record is in. Until then, and after `reset`, the methods of
      the other ports raise `IndexDamagedError`, except `Erasures.to_erase`, which is needed to
      complete the index, and except in a call that takes `PARTIAL_ANSWERS`.
    - `reset` empties the index. `findings` names what is wrong with it.
    """

    async def add(self, records: Sequence[Record]) -> None: ...
    async def remove(self, record_ids: Collection[RecordId]) -> None: ...
    async def set_aside(self, record_ids: Collection[RecordId]) -> None: ...
    async def list_aside(self, among: Collection[RecordId]) -> set[RecordId]: ...
    async def take_up(self, digests: Mapping[RecordId, str]) -> set[RecordId]: ...
    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]: ...
    async def kinds(self, among: Collection[RecordId]) -> dict[RecordId, Kind]: ...
    async def outlines(self, among: Collection[RecordId]) -> dict[RecordId, bytes]: ...
    async def summarise_ids(self, bound: str) -> IdSummary: ...
    async def mark_complete(self) -> None: ...
    async def reset(self) -> None: ...
    async def aclose(self) -> None: ...
    async def findings(self, *, repair: bool) -> list[Finding]: ...


class VisibleRecords(Protocol):
    """The records that a reader may see.

    - Every answer agrees with `timeline.visibility.select_visible`, whatever the timeline. The
      contract suite proves that on random records.
    - Filters and visibility apply before the limit.
    - Only searchable records are found, and those that `Filters.by_statement` asks for.
    - With `Filters.history`, `find`, `find_each`, `count` and `count_by_segment` also show what is
      reachable (`timeline.visibility.select_reachable`), tombstones included; nothing else does.
      `Filters.reach` is left to the use case, which chooses the bank.
    - `find` returns the newest first (by id); with `best` the pinned first, then the important,
      then the newest. With `Filters.statement` it finds tombstones too; `find_stated` finds the
      same, and says what all records with that statement come to. `find_each` answers several
      such questions at once, in their order. `count` counts what `find` finds, `count_by_segment`
      where it lies: durable records under None.
    - `visible` returns the ids among these that a search may find.
    - `nearest` returns visible ids close to a mistyped one.
    - `named` returns the memories whose id fits a part (`ids.matches_part`), or whose printed end
      begins so: those visible from the view, or all without one.
    """

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]: ...
    async def find_stated(self, view: View, statement: str, limit: int) -> Stated: ...
    async def find_each(self, view: View, wanted: Sequence[Wanted]) -> list[list[RecordId]]: ...
    async def count(self, view: View, filters: Filters) -> int: ...
    async def count_by_segment(
        self, view: View, filters: Filters
    ) -> dict[SegmentId | None, int]: ...
    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]: ...
    async def nearest(self, record_id: str, view: View) -> list[RecordId]: ...
    async def named(self, part: str, view: View | None, limit: int) -> list[RecordId]: ...


class TextSearch(Protocol):
    """Visible records by their words. Terms come from `ranking.analysis`, folded and stemmed.

    - `corpus` counts the searchable records (`Record.recalled`) with each term: of a rare term (in
      `RARE_TERM_RECORDS_MAX` records at most) only visible ones, so that no count reveals a hidden
      word.
    - `spellings` returns for each of these unknown terms those of the index, visible or not, that
      share most letters with it; 30 at most.
    - `match` returns visible records that hold at least one of the terms that `corpus` counted,
      best first. Equal matches stand in one order, however they were added.
    - `quote` returns visible records that hold these terms one after the other, the newest first;
      none for fewer than `QUOTE_TERMS_MIN`.
    - `newest` returns the newest visible records.
    - `around` returns the visible records written up to two steps before and after each of these,
      in the same session and with the same day in its text, without a long pause since.
      `wanted` says whether one passes the filters.
    """

    async def corpus(self, terms: Collection[str], view: View) -> CorpusStatistics: ...
    async def spellings(self, terms: Collection[str]) -> dict[str, list[str]]: ...
    async def match(
        self,
        terms: Sequence[str],
        corpus: CorpusStatistics,
        view: View,
        filters: Filters,
        limit: int,
    ) -> list[Candidate]: ...
    async def quote(
        self, row: Sequence[str], view: View, filters: Filters, limit: int
    ) -> list[Candidate]: ...
    async def newest(self, view: View, filters: Filters, limit: int) -> list[Candidate]: ...
    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]: ...


class LineageIndex(Protocol):
    """How records relate to each other, visible or not.

    - `moves` returns the records that move the head, oldest first.
    - `ids_by_segment` returns everything written in these segments, by the segment; those in which
      nothing was written are left out.
    - `segments` returns the newest record of each segment that has any; without `orders` it does
      not count records that order an erasure. `holding` returns the segments that are left then,
      of all or `among` these.
    - `suppressed_by` returns what the records of these segments supersede or bury, `but` what lies
      in those. `suppressing` returns the records that supersede or bury any of these, wherever they
      lie.
    - `derived` returns everything derived from these records, directly or through others.
    """

    async def moves(self) -> list[RecordId]: ...
    async def ids_by_segment(
        self, segments: Collection[SegmentId]
    ) -> dict[SegmentId, set[RecordId]]: ...
    async def segments(self, *, orders: bool = True) -> dict[SegmentId, RecordId]: ...
    async def holding(self, among: Collection[SegmentId] | None = None) -> set[SegmentId]: ...
    async def suppressed_by(
        self, segments: Collection[SegmentId], *, but: Collection[SegmentId] = ()
    ) -> set[RecordId]: ...
    async def suppressing(self, record_ids: Collection[RecordId]) -> set[RecordId]: ...
    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]: ...


class Erasures(Protocol):
    """Which records are to be erased; those of `also` without an order.

    - `erased` returns every id that some record erases, in the index or not, and what was derived
      from these, because that repeats their words. It never contains a record that orders an
      erasure, unless others that stay order the same.
    - `erased_by` returns what these records order to be erased, `erased_since` what those with an
      id beyond the `bound` do.
    - `to_erase` returns those of `erased` that are in the index, or those of `among`, each with the
      records that order it. A row may be forged: the caller reads those records before it erases.
    """

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]: ...
    async def erased_by(self, record_ids: Collection[RecordId]) -> set[RecordId]: ...
    async def erased_since(self, bound: str) -> set[RecordId]: ...
    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]: ...


class SearchIndex(IndexContent, VisibleRecords, TextSearch, LineageIndex, Erasures, Protocol):
    """Everything that the use cases ask of an index."""


class VectorIndex(Protocol):
    """The vectors of the records in an index, of any number of embedders side by side.

    - `claim` leases records that this embedder has not encoded, newest first, until `until`. `keep`
      stores their vectors, except those of a record that is gone.
    - `missing` counts the records that the embedder has yet to encode.
    - `near` returns the visible records whose pooled vectors are nearest; filters apply first.
    - `vectors` returns the chunks of these records. A row with a wrong checksum is left out and
      counted; `damaged` counts such rows in the whole index.
    - `drop_unused` drops the vectors of other embedders that nobody used since.
    """

    async def claim(
        self, embedder: str, limit: int, now: datetime, until: datetime
    ) -> list[RecordId]: ...
    async def keep(self, embedder: str, made: Mapping[RecordId, PassageVectors]) -> None: ...
    async def missing(self, embedder: str) -> int: ...
    async def near(
        self, embedder: str, pooled: bytes, view: View, filters: Filters, limit: int
    ) -> list[Candidate]: ...
    async def vectors(self, embedder: str, record_ids: Collection[RecordId]) -> StoredVectors: ...
    async def damaged(self) -> int: ...
    async def drop_unused(self, embedder: str, since: datetime) -> None: ...
