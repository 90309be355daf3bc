"""The port of vectors in memory, beside a `MemoryIndex`: the oracle for the one in SQLite.

What is visible is asked of the pure rule; nearness is counted sign by sign.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import count

import numpy as np
from stores_in_memory import MemoryIndex, candidate_of

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Candidate, Filters, PassageVectors, StoredVectors, View

__all__ = ["MemoryVectors"]

_Key = tuple[str, RecordId]


class MemoryVectors:
    """Implements `ports.VectorIndex`. No await between look and change, so claims are atomic."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._used: dict[str, datetime] = {}
        self._leased: dict[_Key, datetime] = {}
        self._made: dict[_Key, tuple[int, PassageVectors]] = {}
        self._numbers = count(1)

    async def claim(
        self, embedder: str, limit: int, now: datetime, until: datetime
    ) -> list[RecordId]:
        waiting = self._waiting(embedder)
        self._used[embedder] = now
        free = [id_ for id_ in waiting if self._leased.get((embedder, id_), now) <= now]
        claimed = sorted(free, reverse=True)[:limit]
        self._leased |= {(embedder, id_): until for id_ in claimed}
        return claimed

    async def keep(self, embedder: str, made: Mapping[RecordId, PassageVectors]) -> None:
        there = {record.id for record in self._index.every()}
        for id_, passage in made.items():
            if id_ in there and embedder in self._used:
                self._made[embedder, id_] = next(self._numbers), passage

    async def missing(self, embedder: str) -> int:
        return len(self._waiting(embedder))

    async def near(
        self, embedder: str, pooled: bytes, view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        asked = np.frombuffer(pooled, "<f4") > 0
        ranked: list[tuple[int, int, Candidate]] = []
        for record in self._index.seen(view, filters):
            number, passage = self._made.get((embedder, record.id), (0, ()))
            signs = [np.frombuffer(chunk.pooled, np.int8) > 0 for chunk in passage]
            apart = [int((one != asked).sum()) for one in signs if 0 < len(one) == len(asked)]
            if apart:
                ranked.append((min(apart), -number, candidate_of(record)))
        return [each for _, _, each in sorted(ranked, key=lambda one: one[:2])[:limit]]

    async def vectors(self, embedder: str, record_ids: Collection[RecordId]) -> StoredVectors:
        there = {record.id for record in self._index.every()}.intersection(record_ids)
        made = {id_: self._made[embedder, id_][1] for id_ in there if (embedder, id_) in self._made}
        return StoredVectors(made)

    async def damaged(self) -> int:
        return 0

    async def drop_unused(self, embedder: str, since: datetime) -> None:
        gone = {name for name, at in self._used.items() if name != embedder and at < since}
        self._used = {name: at for name, at in self._used.items() if name not in gone}
        self._leased = {key: at for key, at in self._leased.items() if key[0] not in gone}
        self._made = {key: made for key, made in self._made.items() if key[0] not in gone}

    def _waiting(self, embedder: str) -> list[RecordId]:
        """Who has yet to be encoded. What the index no longer holds is forgotten here as well."""
        records = list(self._index.every())
        there = {record.id for record in records}
        self._made = {key: made for key, made in self._made.items() if key[1] in there}
        self._leased = {key: at for key, at in self._leased.items() if key[1] in there}
        return [r.id for r in records if r.recalled and (embedder, r.id) not in self._made]
