"""The cloud behind a bank, and the outbox entries for records that are written or erased."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import field
from typing import Final

from memory_mcp.domain.cloud import NewEntry
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import PULL_INTERVAL_SECONDS_MIN
from memory_mcp.domain.record import Record
from memory_mcp.errors import StoreError
from memory_mcp.frozen import mutable
from memory_mcp.ports import Clock, CloudTrust, Outbox, Remote

_NOT_QUEUED: Final = (
    "It is not queued for Supermemory: {} When that is mended, run `memory-mcp cloud sync "
    "--push-all`."
)


@mutable
class Mirror:
    """The cloud of a bank: its records go through `outbox` to a `namespace` of `remote`.

    `wake` is set when there is work beside the calls: to deliver, or to look for records of other
    machines. `strangers` are documents that were refused. Nothing is pulled without `trust`, and
    nothing is sent or asked unless the namespace is `vouched` for.
    """

    remote: Remote
    outbox: Outbox
    namespace: str
    clock: Clock
    wake: asyncio.Event
    trust: CloudTrust
    may_use_cloud: Callable[[], bool]
    search_seconds: float
    extract: bool = False
    strangers: set[RecordId] = field(default_factory=set[RecordId])
    to_look: bool = False  # whether to look around beside the calls
    _look: "asyncio.Task[object] | None" = None
    _looked_at: float = field(default=float("-inf"))
    _waits_from: float = field(default=float("-inf"))

    def now(self) -> float:
        """The time as the outbox keeps it: Unix seconds."""
        return self.clock.now().timestamp()

    def look_soon(self) -> None:
        """Look around beside the calls, unless this session did so a moment ago."""
        if self.now() - self._looked_at > PULL_INTERVAL_SECONDS_MIN:
            self.to_look = True
            self.wake.set()

    def looked(self) -> None:
        self._looked_at = self.now()
        self.to_look = False

    @property
    def waits(self) -> bool:
        """Whether a search may wait for a look around: not soon after one waited in vain."""
        return self.now() >= self._waits_from

    def waited(self, *, in_vain: bool) -> None:
        if in_vain and self.waits:
            self._waits_from = self.now() + PULL_INTERVAL_SECONDS_MIN

    def looking(
        self, look: Callable[[], Coroutine[object, object, object]]
    ) -> asyncio.Task[object]:
        """The look around that is under way, or this one, started now; it outlives the caller."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(look())
        return self._look

    async def aclose(self) -> None:
        """Cancel the look around; what it pulled so far stays."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait([self._look])
        await self.outbox.aclose()
        await self.remote.aclose()

    async def note(self, record: Record) -> tuple[str, ...]:
        """Note that the record is to be delivered, before it is written."""
        return await self.note_all([record])

    async def note_all(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Note that each of these is to be delivered; a move that only hides waits for a memory."""
        return await self._note(
            [NewEntry(r.id, "add", quiet=r.kind == "move" and not r.erases) for r in records]
        )

    async def note_erased(self, record_ids: Iterable[RecordId]) -> None:
        """Note that the documents of these records are to be removed."""
        await self._note([NewEntry(record_id, "delete") for record_id in sorted(record_ids)])

    async def _note(self, entries: list[NewEntry]) -> tuple[str, ...]:
        try:
            await self.outbox.note(entries, self.now())
        except StoreError as error:  # the local write goes on without the mirror
            return (_NOT_QUEUED.format(error),)
        self.wake.set()
        return ()
