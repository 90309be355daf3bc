"""An index that keeps itself in step with the records from which it is derived."""

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import suppress
from functools import wraps
from math import inf
from types import CoroutineType
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from memory_mcp.deadlines import time_limit
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import INDEX_CATCH_UP_SECONDS_MAX, INDEX_PAUSE_SECONDS_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.errors import (
    IndexBusyError,
    IndexDamagedError,
    StoreError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from memory_mcp.frozen import frozen
from memory_mcp.ports import ErasedLog, PulledRecords, RecordStore, SearchIndex
from memory_mcp.ports.index import PARTIAL_ANSWERS

RECORDS_GONE: Final = (
    "The index knows memories, but there is not one record: their folder was renamed or removed, "
    "or is not mounted. Bring it back and repeat; or, if this is meant, run `memory-mcp doctor "
    "--reindex`."
)

P = ParamSpec("P")
T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the number of records that are done, and of all."""

INDEX_BATCH: Final = 100
"""Records indexed in one transaction: enough to be quick, few enough to let calls in between."""
_FIRST_BATCH: Final = 25
"""Of an index that is made anew, as somebody may wait for it; the next ones are larger."""
_GROWTH: Final = 2
_PAUSE_SECONDS: Final = 0.01
"""Between two looks whether a reader is still at it."""


def takes_partial_answers(
    use_case: "Callable[P, CoroutineType[Any, Any, T]]",
) -> "Callable[P, CoroutineType[Any, Any, T]]":
    """Let a use case that only reads answer from an index that is being made anew."""

    @wraps(use_case)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        before = PARTIAL_ANSWERS.set(True)
        reader = object()
        _READERS.add(reader)
        try:
            return await use_case(*args, **kwargs)
        finally:
            _READERS.discard(reader)
            PARTIAL_ANSWERS.reset(before)

    return run


_READERS: Final[set[object]] = set()
"""The use cases under way that may answer from what is there."""


async def let_readers_pass() -> None:
    """Wait until no use case under way would be kept waiting by a batch, within a limit.

    A batch keeps the event loop for a tenth of a second, and a search comes back to it a dozen
    times.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(INDEX_PAUSE_SECONDS_MAX):
            while _READERS:  # noqa: ASYNC110  # use cases of several event loops may be under way
                await asyncio.sleep(_PAUSE_SECONDS)


CATCHING_UP: Final = "catching up"
"""The name of the task, for whoever looks at what runs."""


@frozen
class CatchUpCounts:
    """How many records were adopted, dropped (their files are gone) and erased (late)."""

    adopted: int = 0
    dropped: int = 0
    erased: int = 0

    def __add__(self, other: "CatchUpCounts") -> "CatchUpCounts":
        return CatchUpCounts(
            self.adopted + other.adopted,
            self.dropped + other.dropped,
            self.erased + other.erased,
        )


_Orders = dict[RecordId, set[RecordId]]
"""What is ordered to be erased, each with the records that order it."""


def _heal(
    method: Callable[Concatenate[SearchIndex, P], Coroutine[Any, Any, T]], *, partial: bool = False
) -> Callable[Concatenate["SelfHealingIndex", P], "CoroutineType[Any, Any, T]"]:
    """The same method of a `SelfHealingIndex`: it asks the index that is wrapped, in `run`."""

    @wraps(method)
    async def ask(self: "SelfHealingIndex", *args: P.args, **kwargs: P.kwargs) -> T:
        call: Callable[P, Awaitable[T]] = getattr(self.wrapped, ask.__name__)
        return await self.run(lambda: call(*args, **kwargs), partial=partial)

    return ask


class SelfHealingIndex:
    """A `SearchIndex` that rebuilds the one that is `wrapped` when that is damaged.

    A record that could not be indexed is safe in its file; the next call catches up first.
    `in_step` says, where index and records are in one place, that neither need be read through.
    Records in `pulled` came from the cloud and erase nothing. Once it has `caught_up`, what others
    write is a change for this process. While `goes_on`, it catches up beside the calls, and `left`
    records are not in it yet.
    """

    def __init__(
        self,
        index: SearchIndex,
        records: RecordStore,
        log: ErasedLog | None = None,
        pulled: PulledRecords | None = None,
        *,
        obeys: bool = True,
        in_step: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self.wrapped = index
        self._records = records
        self._log = log
        self._pulled = pulled
        self._obeys = obeys  # untrusted records erase nothing, not even each other
        self._in_step = in_step
        self._behind = False
        self._catching: asyncio.Task[CatchUpCounts] | None = None
        self._progress: Progress | None = None
        self._from_newest = False
        self._answerable = asyncio.Event()  # there is something to answer from
        self._late = asyncio.Event()  # another batch would keep a reader waiting for too long
        self._until = inf
        self.caught_up = False
        self.goes_on = False
        self.left = 0

    async def catch_up(self, progress: Progress | None = None) -> CatchUpCounts:
        """Adopt orphan files, drop rows without a file, and complete forgets.

        It goes on if the call is cancelled, until the index is closed.
        """
        self._progress = progress or self._progress
        if (running := self._catching) is not None:  # it may have looked before the call began
            await asyncio.wait({running})
        self._progress = progress or self._progress
        return await asyncio.shield(self._start())

    async def follow(self, seconds: float) -> bool:
        """Catch up; False if that takes longer, and goes on beside the calls.

        Only an index that is made anew may go on, because it begins with the newest records: what
        supersedes or hides a record is newer than that, unless the clocks of two machines differ.
        """
        if self.goes_on and self._catching is None:
            self.goes_on = False
            if not self._records.changed():  # it has come to its end, and nothing came since
                return True
        running = self._start()
        if not self.goes_on:
            self._until = asyncio.get_running_loop().time() + seconds
            late = asyncio.create_task(self._late.wait())
            await asyncio.wait({running, late}, timeout=seconds, return_when=FIRST_COMPLETED)
            late.cancel()
        if not running.done():  # of very many records the ids alone may take longer
            await self._answerable.wait()
        if not running.done() and not self._from_newest:
            await asyncio.wait({running})
        self.goes_on = not running.done()
        if not self.goes_on:
            running.result()
        return not self.goes_on

    def _start(self) -> "asyncio.Task[CatchUpCounts]":
        if self._catching is None:
            self._answerable.clear()
            self._late.clear()
            self._until = inf
            self._catching = asyncio.create_task(self._catch_up(), name=CATCHING_UP)
            self._catching.add_done_callback(self._end)
        return self._catching

    def _end(self, task: "asyncio.Task[CatchUpCounts]") -> None:
        self._catching, self._progress, self.left = None, None, 0
        self._answerable.set()  # whatever became of it, nobody waits any more
        if not task.cancelled():
            task.exception()  # whoever waits raises it; else the next call finds it again

    async def _catch_up(self) -> CatchUpCounts:
        self._behind = self._from_newest = False
        try:
            counts = await self._follow()
        except StoreReadOnlyError:  # what it lacks may hide what it has: it answers nothing
            self._behind = True
            raise
        except IndexDamagedError:
            await self.wrapped.reset()
            counts = await self._follow()
        self.caught_up = True
        return counts

    async def add(self, records: Sequence[Record]) -> None:
        if self._in_step:  # a record brings its entry along
            return
        try:
            await self.run(lambda: self.wrapped.add(records))
        except StoreError:
            self._behind = True
            raise

    remove = _heal(SearchIndex.remove)
    ids = _heal(SearchIndex.ids)
    kinds = _heal(SearchIndex.kinds)
    outlines = _heal(SearchIndex.outlines)
    summarise_ids = _heal(SearchIndex.summarise_ids)
    list_aside = _heal(SearchIndex.list_aside)
    corpus = _heal(SearchIndex.corpus, partial=True)
    spellings = _heal(SearchIndex.spellings, partial=True)
    match = _heal(SearchIndex.match, partial=True)
    quote = _heal(SearchIndex.quote, partial=True)
    newest = _heal(SearchIndex.newest, partial=True)
    around = _heal(SearchIndex.around, partial=True)
    find = _heal(SearchIndex.find, partial=True)
    find_stated = _heal(SearchIndex.find_stated, partial=True)
    find_each = _heal(SearchIndex.find_each, partial=True)
    count = _heal(SearchIndex.count, partial=True)
    count_by_segment = _heal(SearchIndex.count_by_segment, partial=True)
    visible = _heal(SearchIndex.visible, partial=True)
    nearest = _heal(SearchIndex.nearest, partial=True)
    named = _heal(SearchIndex.named, partial=True)
    moves = _heal(SearchIndex.moves)
    ids_by_segment = _heal(SearchIndex.ids_by_segment)
    segments = _heal(SearchIndex.segments)
    holding = _heal(SearchIndex.holding)
    suppressed_by = _heal(SearchIndex.suppressed_by)
    suppressing = _heal(SearchIndex.suppressing)
    derived = _heal(SearchIndex.derived)
    erased_by = _heal(SearchIndex.erased_by)
    erased_since = _heal(SearchIndex.erased_since)

    async def to_erase(
        self, among: Collection[RecordId] | None = None
    ) -> dict[RecordId, set[RecordId]]:
        logged = await self.logged()
        return await self.run(lambda: self.wrapped.to_erase(among, logged))

    async def ordered(self, among: Collection[RecordId] | None = None) -> set[RecordId]:
        """The existing records, or those among these, that must be erased.

        The index only says where to look: the order is a record of this machine, read from its
        file, or this machine's log of erased ids. What was derived from an erased record is erased
        too, if its own file says so.
        """

        async def look() -> set[RecordId]:
            return await self._list_late(await self._find_orders(among))

        return await self.run(look)

    async def erase_late(self) -> int:
        """Erase the `ordered` records that still exist; how many there were."""
        return await self.run(self._erase_late)

    async def own(self, record_ids: Iterable[RecordId]) -> set[RecordId]:
        """Those of the records that may order an erasure: not those of the cloud or of strangers.

        None of them if that cannot be determined.
        """
        if not self._obeys:
            return set()
        if self._pulled is None:
            return set(record_ids)
        try:
            return set(record_ids) - await self._pulled.ids()
        except StoreError:  # what they would erase waits
            return set()

    async def note_pulled(self, record_ids: Collection[RecordId]) -> None:
        """Note, before their files are written, that these come from the cloud."""
        if self._pulled is not None:
            await self._pulled.note(record_ids)

    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]:
        gone = {*also, *await self.logged()}
        return await self.run(lambda: self.wrapped.erased(gone))

    async def remember_erased(self, record_ids: Collection[RecordId]) -> None:
        """Log that this machine erases them, before it does; a full disk does not prevent it."""
        if self._log and record_ids:
            with suppress(StoreUnavailableError):
                await self._log.add(record_ids)

    async def mark_complete(self) -> None:
        await self.wrapped.mark_complete()

    async def reset(self) -> None:
        await self.wrapped.reset()

    async def aclose(self) -> None:
        if (running := self._catching) is not None:
            running.cancel()
            await asyncio.wait({running})
        await self.wrapped.aclose()
        if self._pulled is not None:
            await self._pulled.aclose()

    async def findings(self, *, repair: bool) -> list[Finding]:
        return await self.wrapped.findings(repair=repair)

    async def run(self, call: Callable[[], Awaitable[T]], *, partial: bool = False) -> T:
        """Call the index, or what shares its file; rebuild it first if it is damaged or behind.

        Only what a reader sees may be `partial`: from some of the moves a head would be made wrong.
        """
        if not self._behind:
            taken = PARTIAL_ANSWERS.set(partial and PARTIAL_ANSWERS.get() and self.goes_on)
            try:
                return await call()
            except IndexDamagedError:  # empty, unfinished, broken, or of another version
                pass
            finally:
                PARTIAL_ANSWERS.reset(taken)
        try:
            async with time_limit(
                "the index, which is being made anew from the records", INDEX_CATCH_UP_SECONDS_MAX
            ):
                await self.catch_up()
                try:
                    return await call()
                except IndexDamagedError:  # broken where catching up does not look
                    await self.wrapped.reset()
                    await self.catch_up()
        except TimeoutError as error:
            raise IndexBusyError(
                "The index is being made anew from the records, which takes longer than "
                f"{INDEX_CATCH_UP_SECONDS_MAX:.0f} s.",
                "Nothing is lost; try again in a moment, or run `memory-mcp doctor --reindex` to "
                "watch it.",
            ) from error
        return await call()

    async def logged(self) -> frozenset[RecordId]:
        """The ids that were erased here, whatever records say now."""
        return await self._log.ids() if self._log else frozenset()

    async def _follow(self) -> CatchUpCounts:
        if self._in_step and await self._in_step():
            return CatchUpCounts(erased=await self._erase_late())
        # read the index first: a record is stored before it is indexed, so an id that is indexed
        # and then not stored is gone for good
        known = await self.wrapped.ids()
        stored = await self._records.ids()
        if known and not stored and not self._records.may_be_emptied():
            # every forget leaves a record, so an empty folder is an outage
            raise StoreUnavailableError(RECORDS_GONE)
        taken = await self._take_up(stored - known)
        known |= taken
        missing = sorted(stored - known, reverse=True)
        if gone := known - stored:  # first: nobody may be answered from what git took away
            await self._drop(gone)
        self._from_newest = bool(missing) and (not known or missing[0] < min(known))
        adopted = len(taken)
        self.left = len(missing)
        if known:
            self._answerable.set()
        now = asyncio.get_running_loop().time
        batches = _split(missing, _FIRST_BATCH if self._from_newest else INDEX_BATCH)
        for number, batch in enumerate(batches):
            if self.goes_on:
                await let_readers_pass()
            began = now()
            found = [record async for record in self._records.scan(batch)]
            await self.wrapped.add(found)
            adopted, self.left = adopted + len(found), self.left - len(batch)
            self._answerable.set()
            # the first one also loads what indexing takes, so it says nothing of the next
            next_seconds = _GROWTH * (now() - began) if number else 0
            if self._from_newest and now() + next_seconds > self._until:
                self.goes_on = True
                self._late.set()
            if self._progress:
                self._progress(adopted, len(missing) + len(taken))
        erased = await self._erase_late()
        await self.wrapped.mark_complete()
        return CatchUpCounts(adopted, len(gone), erased)

    async def _take_up(self, missing: Collection[RecordId]) -> set[RecordId]:
        """Those that came back with the branch of git and say what they said: none is read anew."""
        aside = await self.wrapped.list_aside(missing)
        if not aside:
            return set()
        taken = await self.wrapped.take_up(await self._records.digest(sorted(aside)))
        await self.wrapped.remove(aside - taken)  # they say something else, and are added anew
        return taken

    async def _drop(self, gone: Collection[RecordId]) -> None:
        """Remove these, whose files are gone, from the index; git may bring back what it took."""
        if self._records.may_be_emptied():
            await self.wrapped.set_aside(gone)
        else:
            await self.wrapped.remove(gone)

    async def _erase_late(self) -> int:
        if not (orders := await self._find_orders(None)):
            return 0
        late = await self._list_late(orders)
        await self.remember_erased(late)
        # derived records first: after a cut, their sources still say that they must be erased
        await self._records.erase(sorted(late, reverse=True))
        orders = await self._find_orders(None)
        # what is set aside has no file that could say what it was made of, and needs none to go
        await self.wrapped.remove(late | await self.wrapped.list_aside(orders))
        return len(late)

    async def _find_orders(self, among: Collection[RecordId] | None) -> _Orders:
        return await self.wrapped.to_erase(among, await self.logged())

    async def _list_late(self, orders: _Orders) -> set[RecordId]:
        """Those that are to be erased, of what the index says is ordered."""
        if not orders or not self._obeys:
            return set()
        logged = await self.logged()
        erasers = await self.own(set[RecordId]().union(*orders.values()))
        named = {id_ async for r in self._records.scan(erasers) for id_ in r.erases} | logged
        late = named.intersection(orders)
        made = {r.id: set(r.derived_from) async for r in self._records.scan(orders.keys() - late)}
        while more := {id_ for id_, of in made.items() if of & (named | late)} - late:
            late |= more
        return late


def _split(ids: Sequence[RecordId], first: int) -> Iterator[Sequence[RecordId]]:
    """The ids in batches: the first of so many, the others of more, up to `INDEX_BATCH`."""
    start, many = 0, min(first, INDEX_BATCH)
    while start < len(ids):
        yield ids[start : start + many]
        start, many = start + many, min(_GROWTH * many, INDEX_BATCH)
