"""The ports in memory.

They obey the contracts of `memory_mcp.ports`; tests/contracts proves it. `MemoryIndex` asks the
pure rule what is visible, which makes it the oracle for the SQL. It knows no endings and no BM25.
"""

import math
import re
import unicodedata
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Final

from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.limits import QUERY_TERMS_MAX
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head
from memory_mcp.domain.views import Candidate, Filters, LexicalQuery, Match, View
from memory_mcp.errors import ConflictError, IndexDamagedError, StoreDamagedError
from memory_mcp.retrieval.filters import passes
from memory_mcp.timeline.visibility import visible

_NEAREST: Final = 4
_WORD: Final = re.compile(r"[^\W_]+")


class MemoryRecords:
    """Implements `ports.RecordStore`."""

    def __init__(self) -> None:
        self._records: dict[RecordId, Record] = {}

    async def put(self, record: Record) -> None:
        if self._records.setdefault(record.id, record) != record:
            raise StoreDamagedError(f"{record.id} is taken by another record.")

    async def get(self, record_id: RecordId) -> Record | None:
        return self._records.get(record_id)

    async def ids(self) -> set[RecordId]:
        return set(self._records)

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        for record_id in sorted(record_ids):
            if record_id in self._records:
                yield self._records[record_id]

    async def erase(self, record_ids: Collection[RecordId]) -> None:
        for record_id in record_ids:
            self._records.pop(record_id, None)

    async def tidy(self) -> None:
        """Nothing here is ever cut short."""

    async def findings(self, *, repair: bool) -> list[Finding]:
        del repair  # nothing here can be damaged
        return []


class MemoryHeads:
    """Implements `ports.HeadStore`. No await between compare and replace, so it is atomic."""

    def __init__(self) -> None:
        self.history: list[Record] = []
        self._head: Head | None = None

    async def read(self) -> Head | None:
        return self._head

    async def replace(self, head: Head, *, expected: int) -> None:
        revision = self._head.revision if self._head else 0
        if revision != expected:
            raise ConflictError(f"The head is at revision {revision}, not {expected}.")
        self._head = head
        if head.last is not None:
            await self.log(await self.unlogged([head.last]))

    async def unlogged(self, moves: Sequence[Record]) -> list[Record]:
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
        self._complete = False

    async def add(self, records: Sequence[Record]) -> None:
        for record in records:
            self._records.setdefault(record.id, record)

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        for record_id in record_ids:
            self._records.pop(record_id, None)

    async def ids(self) -> set[RecordId]:
        return set(self._records)

    async def match(self, query: LexicalQuery, view: View, filters: Filters, limit: int) -> Match:
        words = {id_: _words(r) for id_, r in self._records.items() if r.recalled}
        terms = [_folded(term) for term in query.terms]
        counts = {i: sum(t in there for there in words.values()) for i, t in enumerate(terms)}
        rarest = sorted(counts, key=lambda i: (counts[i] == 0, counts[i], i))[:QUERY_TERMS_MAX]
        weights = {i: math.log(1 + (len(self._records) + 0.5) / (counts[i] + 0.5)) for i in rarest}
        found: list[Candidate] = []
        for record in self._seen(view, filters):
            matched = frozenset(i for i in rarest if terms[i] in words[record.id])
            if matched:
                found.append(_candidate(record, matched, sum(weights[i] for i in matched)))
        found.sort(key=lambda c: (c.relevance, c.id), reverse=True)
        return Match(candidates=tuple(found[:limit]), weights=weights)

    async def find(self, view: View, filters: Filters, limit: int) -> list[RecordId]:
        return sorted((r.id for r in self._seen(view, filters)), reverse=True)[:limit]

    async def count(self, view: View, filters: Filters) -> int:
        return len(self._seen(view, filters))

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        return {r.id for r in self._seen(view, Filters())}.intersection(record_ids)

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        there = sorted(r.id for r in self._seen(view, Filters()))
        before = [id_ for id_ in reversed(there) if id_ <= record_id]
        after = [id_ for id_ in there if id_ > record_id]
        return before[:_NEAREST] + after[:_NEAREST]

    async def moves(self) -> list[RecordId]:
        return sorted(r.id for r in self._all() if r.move is not None)

    async def of_segments(self, segments: Collection[SegmentId]) -> set[RecordId]:
        return {r.id for r in self._all() if r.segment in segments}

    async def suppressed_by(self, segments: Collection[SegmentId]) -> set[RecordId]:
        return {target for r in self._all() if r.segment in segments for target in r.supersedes}

    async def to_erase(self) -> set[RecordId]:
        named = {target for r in self._records.values() for target in r.erases}
        return named.intersection(self._records)

    async def erased(self) -> set[RecordId]:
        return {target for record in self._all() for target in record.erases}

    async def mark_complete(self) -> None:
        self._complete = True

    async def reset(self) -> None:
        self._records.clear()
        self._complete = False

    async def aclose(self) -> None:
        pass

    async def findings(self, *, repair: bool) -> list[Finding]:
        del repair
        return []

    def _all(self) -> Iterable[Record]:
        if not self._complete:
            raise IndexDamagedError("The index is not complete yet.")
        return self._records.values()

    def _seen(self, view: View, filters: Filters) -> list[Record]:
        there = visible(self._all(), view)
        return [record for record in there if record.recalled and passes(record, filters)]


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFD", text.lower())
    return "".join(char for char in plain if not unicodedata.combining(char))


def _words(record: Record) -> set[str]:
    return set(_WORD.findall(_folded(" ".join((record.content, record.title, *record.tags)))))


def _candidate(record: Record, matched: frozenset[int], relevance: float) -> Candidate:
    return Candidate(
        id=record.id,
        relevance=relevance,
        matched=matched,
        importance=record.importance,
        pinned=record.pinned,
        created_at=record.as_json()["created_at"],
    )
