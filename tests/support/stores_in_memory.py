"""The ports in memory.

They obey the contracts of `memory_mcp.ports`; tests/contracts proves it. `MemoryIndex` asks the
pure rule what is visible, which makes it the oracle for the SQL. It knows no BM25.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import reduce
from typing import Final

from memory_mcp.domain.ids import (
    ID_BEGINNING_CHARS_MIN,
    ID_END_CHARS_MIN,
    RecordId,
    SegmentId,
    mark_id,
    matches_part,
)
from memory_mcp.domain.limits import (
    QUERY_TERMS_MAX,
    QUOTE_TERMS_MIN,
    RARE_TERM_RECORDS_MAX,
    SESSION_PAUSE_SECONDS_MAX,
)
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Kind, Record
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Filters,
    IdSummary,
    Neighbour,
    SearchFields,
    Stated,
    View,
    Wanted,
)
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.fields import make_fields
from memory_mcp.errors import ConflictError, IndexDamagedError, StoreDamagedError
from memory_mcp.ranking.query import matches_filters
from memory_mcp.storage.stored import compute_record_digest
from memory_mcp.timeline.visibility import select_reachable, select_visible

_NEAREST: Final = 4
_STEPS: Final = 2
_SPELLINGS_MAX: Final = 30


class MemoryRecords:
    """Implements `ports.RecordStore`."""

    def __init__(self) -> None:
        self._records: dict[RecordId, Record] = {}
        self._held = set[str]()

    @asynccontextmanager
    async def alone(self, statement: str = "") -> AsyncGenerator[bool]:
        if free := statement not in self._held:
            self._held.add(statement)
        try:
            yield free
        finally:
            self._held -= {statement} if free else set()

    def refuse_unreadable(self, record: Record) -> None:
        del record

    async def put(self, record: Record, *, of_this_machine: bool = True) -> None:
        del of_this_machine
        if self._records.setdefault(record.id, record) != record:
            raise StoreDamagedError(f"{record.id} is taken by another record.")

    async def get(self, record_id: RecordId) -> Record | None:
        return self._records.get(record_id)

    def changed(self) -> bool:
        return False

    def may_be_emptied(self) -> bool:
        return False

    async def ids(self) -> set[RecordId]:
        return set(self._records)

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        for record_id in sorted(record_ids):
            if record_id in self._records:
                yield self._records[record_id]

    async def digest(self, record_ids: Collection[RecordId]) -> dict[RecordId, str]:
        return {r.id: compute_record_digest(r) async for r in self.scan(record_ids)}

    async def erase(self, record_ids: Collection[RecordId]) -> None:
        for record_id in record_ids:
            self._records.pop(record_id, None)

    async def remove_litter(self) -> None:
        """Nothing here is ever cut short."""

    async def check(self, *, repair: bool) -> AsyncIterator[Record | Finding]:
        del repair  # nothing here can be damaged
        for record_id in [*self._records]:
            if record := self._records.get(record_id):
                yield record


class MemoryJournal:
    """Implements `ports.ImportJournal`."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._held = False

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        if self._held:
            yield False
            return
        self._held = True
        try:
            yield True
        finally:
            self._held = False

    async def waiting(self) -> bool:
        return bool(self._records)

    async def note(self, records: Sequence[Record]) -> None:
        self._records = list(records)

    async def noted(self) -> list[Record]:
        return list(self._records)

    async def clear(self) -> None:
        self._records = []


class MemoryHeads:
    """Implements `ports.HeadStore`. No await between compare and replace, so it is atomic."""

    def __init__(self) -> None:
        self.history: list[Record] = []
        self.place = "the head in memory"
        self._head: Head | None = None

    async def read(self) -> Head | None:
        return self._head

    async def replace(self, head: Head, *, expected: int) -> None:
        revision = self._head.revision if self._head else 0
        if revision != expected:
            raise ConflictError(f"The head is at revision {revision}, not {expected}.")
        self._head = head
        if head.last is not None:
            await self.log(await self.find_unlogged([head.last]))

    async def find_unlogged(self, moves: Sequence[Record]) -> list[Record]:
        return [move for move in moves if move not in self.history]

    async def log(self, moves: Sequence[Record]) -> None:
        self.history.extend(move for move in moves if move not in self.history)

    async def findings(self, *, repair: bool) -> list[Finding]:
        del repair
        return []


class MemoryIndex:
    """Implements `ports.SearchIndex` with the pure rule."""

    def __init__(self) -> None:
        self._records: dict[RecordId, Record] = {}
        self._aside: dict[RecordId, Record] = {}
        self._complete = False

    async def add(self, records: Sequence[Record]) -> None:
        for record in records:
            self._aside.pop(record.id, None)
            self._records.setdefault(record.id, record)

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        for record_id in self._made_of(record_ids):
            self._aside.pop(record_id, None)
        for record_id in record_ids:
            self._records.pop(record_id, None)

    async def set_aside(self, record_ids: Collection[RecordId]) -> None:
        for record_id in self._records.keys() & set(record_ids):
            self._aside[record_id] = self._records.pop(record_id)

    async def list_aside(self, among: Collection[RecordId]) -> set[RecordId]:
        return self._aside.keys() & set(among)

    async def take_up(self, digests: Mapping[RecordId, str]) -> set[RecordId]:
        aside = {id_: self._aside[id_] for id_ in self._aside.keys() & digests.keys()}
        same = {
            id_ for id_, record in aside.items() if compute_record_digest(record) == digests[id_]
        }
        self._records |= {id_: self._aside.pop(id_) for id_ in sorted(same)}
        return same

    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]:
        return set(self._records) if among is None else set(self._records).intersection(among)

    async def kinds(self, among: Collection[RecordId]) -> dict[RecordId, Kind]:
        every = self._aside | self._records
        return {id_: every[id_].kind for id_ in every.keys() & set(among)}

    async def outlines(self, among: Collection[RecordId]) -> dict[RecordId, bytes]:
        there = (self._records[id_] for id_ in self._records.keys() & set(among))
        return {each.id: fields_of(each).outline for each in there if each.recalled}

    async def summarise_ids(self, bound: str) -> IdSummary:
        marks = reduce(lambda xor, id_: xor ^ mark_id(id_), self._records, 0)
        return IdSummary(max((id_ for id_ in self._records if id_ < bound), default=""), marks)

    async def corpus(self, terms: Collection[str], view: View) -> CorpusStatistics:
        def held(records: Iterable[Record]) -> Counter[str]:
            return Counter(term for r in records if r.recalled for term in _terms(r))

        every, seen = held(self.every()), held(select_visible(self.every(), view))
        few = {term for term in terms if every[term] <= RARE_TERM_RECORDS_MAX}
        counts = {term: seen[term] if term in few else every[term] for term in terms}
        return CorpusStatistics(len(self._records), counts)

    async def spellings(self, terms: Collection[str]) -> dict[str, list[str]]:
        every = {there for r in self.every() if r.recalled for there in _terms(r)}
        found: dict[str, list[str]] = {}
        for term in terms:
            shared = {there: len(_trigrams(term) & _trigrams(there)) for there in every}
            near = (there for there in every if shared[there])
            found[term] = sorted(near, key=lambda t: (-shared[t], t))[:_SPELLINGS_MAX]
        return found

    async def match(
        self,
        terms: Sequence[str],
        corpus: CorpusStatistics,
        view: View,
        filters: Filters,
        limit: int,
    ) -> list[Candidate]:
        known = sorted((n, term) for term in set(terms) if (n := corpus.counts.get(term, 0)))
        rarest = {term for _, term in known[:QUERY_TERMS_MAX]}
        # a tombstone that a statement finds is found by no word
        there = [r for r in self.seen(view, filters) if r.recalled and rarest & _terms(r)]
        there.sort(key=lambda r: (len(rarest & _terms(r)), r.id), reverse=True)
        return [candidate_of(record) for record in there[:limit]]

    async def quote(
        self, row: Sequence[str], view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        phrase = f" {' '.join(row)} "
        there = [r for r in self.seen(view, filters) if phrase in f" {fields_of(r).body} "]
        there.sort(key=lambda r: r.id, reverse=True)
        return [candidate_of(r) for r in there[:limit]] if len(row) >= QUOTE_TERMS_MIN else []

    async def newest(self, view: View, filters: Filters, limit: int) -> list[Candidate]:
        there = sorted(self.seen(view, filters), key=lambda r: r.id, reverse=True)
        return [candidate_of(record) for record in there[:limit]]

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]:
        near: list[Neighbour] = []
        there = sorted(self.seen(view), key=lambda r: r.id)
        for mine in (r for r in self.every() if r.id in record_ids):
            same = [r for r in there if r.origin.session == mine.origin.session]
            before = [r for r in reversed(same) if r.id < mine.id][:_STEPS]
            after = [r for r in same if r.id > mine.id][:_STEPS]
            near += [
                _neighbour(mine, sign * number, r, wanted=matches_filters(r, filters))
                for sign, side in ((-1, before), (1, after))
                for number, r in enumerate(side, start=1)
                if fields_of(r).day == fields_of(mine).day
                and abs(r.created_at - mine.created_at).total_seconds() <= SESSION_PAUSE_SECONDS_MAX
            ]
        return near

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]:
        worth = {
            r.id: (best and (r.pinned, r.importance), r.id) for r in self.listed(view, filters)
        }
        return sorted(worth, key=lambda id_: worth[id_], reverse=True)[:limit]

    async def find_stated(self, view: View, statement: str, limit: int) -> Stated:
        marks = [mark_id(r.id) for r in self._records.values() if r.statement == statement]
        ids = await self.find(view, Filters(statement=statement), limit)
        return Stated(statement, ids, reduce(int.__xor__, marks, 0))

    async def find_each(self, view: View, wanted: Sequence[Wanted]) -> list[list[RecordId]]:
        return [await self.find(view, w.filters, w.limit, best=w.best) for w in wanted]

    async def count(self, view: View, filters: Filters) -> int:
        return len(self.listed(view, filters))

    async def count_by_segment(self, view: View, filters: Filters) -> dict[SegmentId | None, int]:
        return dict(Counter(record.segment for record in self.listed(view, filters)))

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        return {r.id for r in self.seen(view)}.intersection(record_ids)

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        there = sorted(r.id for r in self.seen(view))
        before = [id_ for id_ in reversed(there) if id_ <= record_id]
        after = [id_ for id_ in there if id_ > record_id]
        return before[:_NEAREST] + after[:_NEAREST]

    async def named(self, part: str, view: View | None, limit: int) -> list[RecordId]:
        there = self.seen(view) if view else [r for r in self.every() if r.recalled]
        return sorted(r.id for r in there if _matches(r.id, part))[:limit]

    async def moves(self) -> list[RecordId]:
        return sorted(r.id for r in self.every() if r.move is not None)

    async def ids_by_segment(
        self, segments: Collection[SegmentId]
    ) -> dict[SegmentId, set[RecordId]]:
        found: dict[SegmentId, set[RecordId]] = {}
        for record in self.every():
            if record.segment is not None and record.segment in segments:
                found.setdefault(record.segment, set()).add(record.id)
        return found

    async def segments(self, *, orders: bool = True) -> dict[SegmentId, RecordId]:
        found: dict[SegmentId, RecordId] = {}
        for record in self.every():
            if record.segment is not None and (orders or not record.erases):
                found[record.segment] = max(record.id, found.get(record.segment, record.id))
        return found

    async def holding(self, among: Collection[SegmentId] | None = None) -> set[SegmentId]:
        found = {r.segment for r in self.every() if r.segment is not None and not r.erases}
        return found if among is None else found.intersection(among)

    async def suppressed_by(
        self, segments: Collection[SegmentId], *, but: Collection[SegmentId] = ()
    ) -> set[RecordId]:
        found = {target for r in self.every() if r.segment in segments for target in r.supersedes}
        return found - {record.id for record in self.every() if record.segment in but}

    async def suppressing(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        return {r.id for r in self.every() if set(r.supersedes).intersection(record_ids)}

    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        found = set(record_ids)
        while more := {r.id for r in self.every() if found & set(r.derived_from)} - found:
            found |= more
        return found - set(record_ids)

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]:
        gone = self._gone(also)
        known = self._records.keys() | self._aside.keys()
        wanted = gone.intersection(known if among is None else among)
        found: dict[RecordId, set[RecordId]] = {id_: set() for id_ in wanted}
        for record in self._records.values():
            for target in self._made_of(record.erases).intersection(wanted):
                found[target].add(record.id)
        return found

    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]:
        self.every()
        return self._gone(also)

    async def erased_by(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        return {target for r in self.every() if r.id in record_ids for target in r.erases}

    async def erased_since(self, bound: str) -> set[RecordId]:
        return {target for r in self.every() if r.id > bound for target in r.erases}

    def _made_of(self, ids: Collection[RecordId]) -> set[RecordId]:
        gone, every = set(ids), [*self._records.values(), *self._aside.values()]
        while more := {r.id for r in every if gone & set(r.derived_from)} - gone:
            gone |= more
        return gone

    def _gone(self, also: Collection[RecordId]) -> set[RecordId]:
        records = self._records.values()
        gone = self._made_of({target for record in records for target in record.erases}.union(also))
        ordered = {target for r in records if r.id not in gone for target in r.erases}
        return gone - {r.id for r in records if not ordered.issuperset(r.erases)}

    async def mark_complete(self) -> None:
        self._complete = True

    async def reset(self) -> None:
        self._records.clear()
        self._aside.clear()
        self._complete = False

    async def aclose(self) -> None:
        pass

    async def findings(self, *, repair: bool) -> list[Finding]:
        del repair
        return []

    def every(self) -> Iterable[Record]:
        if not self._complete:
            raise IndexDamagedError("The index is not complete yet.")
        return self._records.values()

    def seen(self, view: View, filters: Filters | None = None) -> list[Record]:
        there = select_visible(self.every(), view)
        if filters is None:
            return [r for r in there if r.recalled]
        wanted = [r for r in there if r.recalled or filters.by_statement]
        return [record for record in wanted if matches_filters(record, filters)]

    def listed(self, view: View, filters: Filters) -> list[Record]:
        if not filters.history:
            return self.seen(view, filters)
        there = select_reachable(self.every(), view)
        wanted = [r for r in there if r.recalled or r.kind == "tombstone"]
        return [record for record in wanted if matches_filters(record, filters)]


def _matches(id_: str, part: str) -> bool:
    """Whether the part may stand for a memory's id, or begins what is printed of that."""
    printed = id_[-ID_END_CHARS_MIN:]
    begins = len(part) >= ID_BEGINNING_CHARS_MIN and printed.startswith(part.casefold())
    return begins or matches_part(id_, part)


def _terms(record: Record) -> set[str]:
    fields = fields_of(record)
    return set(f"{fields.body} {fields.names} {fields.dates} {fields.extra}".split())


def fields_of(record: Record) -> SearchFields:
    """As the real index holds them: worked out once, not at each look."""
    of = (record.content, record.title, record.category, record.tags)
    key = (*of, record.key, record.layer, record.phase, record.kind, record.created_at)
    if key not in _FIELDS:
        _FIELDS[key] = make_fields(record)
    return _FIELDS[key]


_FIELDS: Final[dict[tuple[object, ...], SearchFields]] = {}


def _trigrams(term: str) -> set[str]:
    return {term[i : i + 3] for i in range(len(term) - 2)}


def _neighbour(of: Record, steps: int, record: Record, *, wanted: bool) -> Neighbour:
    return Neighbour(of=of.id, steps=steps, wanted=wanted, **candidate_of(record)._asdict())


def candidate_of(record: Record) -> Candidate:
    return Candidate(
        id=record.id,
        fields=fields_of(record),
        importance=record.importance,
        pinned=record.pinned,
        created_at=record.as_json()["created_at"],
    )
