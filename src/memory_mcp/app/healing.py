"""An index that keeps itself in step with the records it is derived from."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.limits import INDEX_CATCH_UP_SECONDS_MAX
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Candidate, Corpus, Neighbour
from memory_mcp.domain.views import Filters, View
from memory_mcp.errors import IndexBusyError, IndexDamagedError, StoreError, StoreUnavailableError
from memory_mcp.ports import RecordStore, SearchIndex

__all__ = ["RECORDS_GONE", "CaughtUp", "HealedIndex", "Progress", "erase_late"]

RECORDS_GONE: Final = (
    "The index knows memories, but there is not one record: their folder was renamed or removed, "
    "or is not mounted. Bring it back and repeat; or, if this is meant, run `memory-mcp reindex`."
)

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with how many records are done, and of how many."""

_BATCH: Final = 500
"""Records indexed in one transaction: large enough to be quick, small enough to let others in."""


@dataclass(frozen=True)
class CaughtUp:
    """How many records were adopted, dropped (their files are gone) and erased (late)."""

    adopted: int = 0
    dropped: int = 0
    erased: int = 0

    def __add__(self, other: "CaughtUp") -> "CaughtUp":
        return CaughtUp(
            self.adopted + other.adopted,
            self.dropped + other.dropped,
            self.erased + other.erased,
        )


class HealedIndex:
    """A `SearchIndex` that fills or rebuilds the one it wraps when that says it must be.

    A record that could not be indexed is safe in its file; the next call catches up first.
    """

    def __init__(self, index: SearchIndex, records: RecordStore) -> None:
        self._index = index
        self._records = records
        self._behind = False
        self._mending = asyncio.Lock()

    async def catch_up(self, progress: Progress | None = None) -> CaughtUp:
        """Bring the index in step with the records: orphans adopted, forgets completed."""
        async with self._mending:
            self._behind = False
            try:
                return await _follow(self._records, self._index, progress)
            except IndexDamagedError:
                await self._index.reset()
                return await _follow(self._records, self._index, progress)

    async def add(self, records: Sequence[Record]) -> None:
        try:
            await self._healed(lambda: self._index.add(records))
        except StoreError:
            self._behind = True
            raise

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        await self._healed(lambda: self._index.remove(record_ids))

    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]:
        return await self._healed(lambda: self._index.ids(among))

    async def corpus(self, terms: Collection[str], view: View) -> Corpus:
        return await self._healed(lambda: self._index.corpus(terms, view))

    async def spellings(self, term: str) -> list[tuple[str, int]]:
        return await self._healed(lambda: self._index.spellings(term))

    async def match(
        self, terms: Sequence[str], corpus: Corpus, view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        return await self._healed(lambda: self._index.match(terms, corpus, view, filters, limit))

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]:
        return await self._healed(lambda: self._index.around(record_ids, view, filters))

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]:
        return await self._healed(lambda: self._index.find(view, filters, limit, best=best))

    async def count(self, view: View, filters: Filters) -> int:
        return await self._healed(lambda: self._index.count(view, filters))

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        return await self._healed(lambda: self._index.visible(record_ids, view))

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        return await self._healed(lambda: self._index.nearest(record_id, view))

    async def moves(self) -> list[RecordId]:
        return await self._healed(self._index.moves)

    async def of_segments(self, segments: Collection[SegmentId]) -> set[RecordId]:
        return await self._healed(lambda: self._index.of_segments(segments))

    async def suppressed_by(self, segments: Collection[SegmentId]) -> set[RecordId]:
        return await self._healed(lambda: self._index.suppressed_by(segments))

    async def to_erase(self) -> set[RecordId]:
        return await self._healed(self._index.to_erase)

    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        return await self._healed(lambda: self._index.derived(record_ids))

    async def erased(self) -> set[RecordId]:
        return await self._healed(self._index.erased)

    async def mark_complete(self) -> None:
        await self._index.mark_complete()

    async def reset(self) -> None:
        await self._index.reset()

    async def aclose(self) -> None:
        await self._index.aclose()

    async def findings(self, *, repair: bool) -> list[Finding]:
        return await self._index.findings(repair=repair)

    async def healed(self, call: Callable[[], Awaitable[T]]) -> T:
        """A call on what lies in the same file, as the vectors do, with the same care."""
        return await self._healed(call)

    async def _healed(self, call: Callable[[], Awaitable[T]]) -> T:
        if not self._behind:
            try:
                return await call()
            except IndexDamagedError:  # empty, unfinished, broken or of another version
                pass
        try:
            async with asyncio.timeout(INDEX_CATCH_UP_SECONDS_MAX):
                await self.catch_up()
                try:
                    return await call()
                except IndexDamagedError:  # broken where catching up does not look
                    await self._index.reset()
                    await self.catch_up()
        except TimeoutError as error:
            raise IndexBusyError(
                "The index is being made anew from the records, which takes longer than "
                f"{INDEX_CATCH_UP_SECONDS_MAX:.0f} s. Nothing is lost; try again in a moment, or "
                "run `memory-mcp reindex` to watch it."
            ) from error
        return await call()


async def _follow(records: RecordStore, index: SearchIndex, progress: Progress | None) -> CaughtUp:
    # in this order: a record is stored before it is indexed, so what is indexed now and not
    # stored afterwards is gone for good, while the reverse is only on its way
    known = await index.ids()
    stored = await records.ids()
    if known and not stored:  # every forget leaves a record: an outage, and no reason to follow
        raise StoreUnavailableError(RECORDS_GONE)
    missing = stored - known
    adopted = 0
    batch: list[Record] = []
    async for record in records.scan(missing):
        batch.append(record)
        if len(batch) == _BATCH:
            await index.add(batch)
            adopted += len(batch)
            batch = []
            if progress:
                progress(adopted, len(missing))
    await index.add(batch)
    await index.remove(known - stored)
    erased = await erase_late(records, index)
    await index.mark_complete()
    return CaughtUp(adopted + len(batch), len(known - stored), erased)


async def erase_late(records: RecordStore, index: SearchIndex) -> int:
    """Erase what some record says must not exist any more; how many there were."""
    late = await index.to_erase()
    await records.erase(late)
    await index.remove(late)
    return len(late)
