"""Indexes with vectors, as several processes see them, and vectors that are as near as told."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from fakes import Scribe
from postgres import new_bank, open_bank
from stores_in_memory import MemoryIndex
from vectors_in_memory import MemoryVectors

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Chunk, Filters, PassageVectors, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.ports import SearchIndex, VectorIndex
from memory_mcp.storage.postgres import PostgresIndex, PostgresVectors
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.sqlite.vectors import SqliteVectors

__all__ = ["ANY", "ASKED", "DIMENSIONS", "HERE", "MODEL", "Door", "away", "doors_to", "view_of"]

HERE: Final = SegmentId("here")
ANY: Final = Filters()
MODEL: Final = "a-model/1"
DIMENSIONS: Final = 192
ASKED: Final = np.ones(DIMENSIONS, "<f4").tobytes()
"""The vector of the question that everything is asked with."""


def away(steps: int, tokens: bytes = b"", dimensions: int = DIMENSIONS) -> Chunk:
    """A stretch of text whose vector differs from `ASKED` in the signs of so many dimensions."""
    pooled = np.full(dimensions, 127, np.int8)
    pooled[:steps] = -127
    return Chunk(pooled.tobytes(), tokens)


def view_of(scribe: Scribe, segments: Collection[SegmentId] = (HERE,)) -> View:
    """What is seen from these segments now."""
    return View(chain=frozenset(segments), now=scribe.clock.now())


@dataclass(frozen=True)
class Door:
    """One process's index and vectors."""

    index: SearchIndex
    vectors: VectorIndex

    async def put(
        self, passages: Sequence[tuple[Record, PassageVectors]], embedder: str = MODEL
    ) -> list[RecordId]:
        """Records that are there and encoded, as if some session had done it."""
        await self.index.add([record for record, _ in passages])
        at = max(record.created_at for record, _ in passages)
        await self.vectors.claim(embedder, 0, at, at)  # makes the embedder known
        await self.vectors.keep(embedder, {record.id: passage for record, passage in passages})
        return [record.id for record, _ in passages]

    async def near(
        self,
        view: View,
        filters: Filters = ANY,
        limit: int = 60,
        embedder: str = MODEL,
        asked: bytes = ASKED,
    ) -> list[RecordId]:
        """The ids of what is near, nearest first."""
        found = await self.vectors.near(embedder, asked, view, filters, limit)
        return [candidate.id for candidate in found]


@asynccontextmanager
async def doors_to(where: Path | str | None, count: int) -> AsyncGenerator[list[Door]]:
    """So many processes' doors to one complete index: a file, a database's URL, or memory."""
    match where:
        case None:
            index = MemoryIndex()
            doors = [Door(index, MemoryVectors(index))] * count
        case Path():
            indexes = [SqliteIndex(where, make_fields, lambda: None) for _ in range(count)]
            doors = [Door(each, SqliteVectors(each)) for each in indexes]
        case str():
            first = new_bank(where)
            banks = [open_bank(where, first.owner) for _ in range(count)]
            doors = [Door(PostgresIndex(b, make_fields), PostgresVectors(b)) for b in banks]
    await doors[0].index.mark_complete()
    yield doors
    for door in doors:
        await door.index.aclose()
