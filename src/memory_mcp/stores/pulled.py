"""Which records came in from the cloud: a table in the outbox's file, read without a cloud too.

It is opened apart from the outbox, because the outbox begins anew for another address and this
never does: a record that came from any cloud stays one that came from a cloud.
"""

from collections.abc import Callable, Collection
from pathlib import Path

from memory_mcp.database import Database
from memory_mcp.domain.ids import RecordId
from memory_mcp.stores.outbox_schema import OUTBOX

__all__ = ["SqlitePulledRecords"]


class SqlitePulledRecords:
    """Implements `ports.PulledRecords`. `prepare` makes the folder before the file is created."""

    def __init__(self, path: Path, prepare: Callable[[], None]) -> None:
        self._file = Database(path, OUTBOX, prepare)

    async def note(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            rows = [(record_id,) for record_id in sorted(record_ids)]
            await self._file.write("INSERT OR IGNORE INTO pulled VALUES (?)", rows)

    async def ids(self) -> set[RecordId]:
        if not self._file.path.exists():  # nothing ever came in: no file for that
            return set()
        return {RecordId(row[0]) for row in await self._file.rows("SELECT record FROM pulled")}

    async def aclose(self) -> None:
        await self._file.aclose()
