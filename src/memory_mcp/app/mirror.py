"""The cloud behind a pool, and what is noted for it when a record is written or erased."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from memory_mcp.domain.cloud import Letter
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.errors import StoreError
from memory_mcp.ports import Clock, Outbox, Remote

__all__ = ["Mirror"]

_NOT_QUEUED: Final = (
    "It is not queued for Supermemory: {} When that is mended, run `memory-mcp sync --push-all`."
)


@dataclass
class Mirror:
    """Where a pool's records go besides their folder: `namespace` of `remote`, by way of `outbox`.

    `wake` is set when there is something to deliver. `looked_at` is when this session last looked
    what other machines did (Unix seconds).
    """

    remote: Remote
    outbox: Outbox
    namespace: str
    clock: Clock
    wake: asyncio.Event
    search_seconds: float
    extract: bool = False
    looked_at: float = field(default=float("-inf"))

    def now(self) -> float:
        """The time as the outbox keeps it: Unix seconds."""
        return self.clock.now().timestamp()

    async def note(self, record: Record) -> tuple[str, ...]:
        """Note that the record is to be delivered, before it is written.

        A move that only hides goes along with the next memory: hiding asks nothing of the cloud.
        """
        quiet = record.kind == "move" and not record.erases
        return await self._note([Letter(record.id, "add", quiet=quiet)])

    async def note_erased(self, record_ids: Iterable[RecordId]) -> None:
        """Note that the documents of these records are to be removed."""
        await self._note([Letter(record_id, "delete") for record_id in sorted(record_ids)])

    async def _note(self, letters: list[Letter]) -> tuple[str, ...]:
        try:
            await self.outbox.note(letters, self.now())
        except StoreError as error:  # local work goes on whatever becomes of the mirror
            return (_NOT_QUEUED.format(error),)
        self.wake.set()
        return ()
