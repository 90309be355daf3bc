"""Records as append-only rows of the JSON that the files hold.

A record and its entry in the index are stored in one statement and erased in one transaction, so
whoever sees one sees the other.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import SearchFields, Stated
from memory_mcp.errors import NewerSchemaError, StoreDamagedError
from memory_mcp.storage.postgres.database import fetch
from memory_mcp.storage.postgres.rows import INSERT, Bank, dump_rows, remove_entries
from memory_mcp.storage.postgres.schema import Connection
from memory_mcp.storage.stored import compute_record_digest, dump_record, load_record

_SCAN_BATCH: Final = 500
"""Records fetched at once."""

_SOME: Final = "SELECT id, json FROM record WHERE bank = :bank AND id = ANY(:ids) ORDER BY id"


_CORRECTING: Final = 730_583
"""The space of the advisory locks of those who correct a record."""


class PostgresRecords:
    """Implements `ports.RecordStore`. `fields_of` says what of a record is searched."""

    def __init__(self, bank: Bank, fields_of: Callable[[Record], SearchFields]) -> None:
        self._bank = bank
        self._fields_of = fields_of
        self._asked = False

    def refuse_unreadable(self, record: Record) -> None:
        dump_record(record)

    async def put(self, record: Record, *, of_this_machine: bool = True) -> None:
        del of_this_machine  # what is in the database counts: nobody else writes there
        await self._insert([record], None)

    async def put_new(self, records: Sequence[Record], stated: Stated) -> bool:
        """Put all of these at once, and nothing if another record states the same by now.

        Whether they are there.
        """
        return await self._insert(records, stated)

    async def _insert(self, records: Sequence[Record], stated: Stated | None) -> bool:
        texts = {record.id: dump_record(record).decode() for record in records}
        rows = [(record, self._fields_of(record), texts[record.id]) for record in records]
        values = dump_rows(await self._bank.number(), rows, stated)
        if len(await self._bank.rows(INSERT, values)) == len(records):
            return True
        present = await self._bank.rows(_SOME, {"ids": sorted(texts)})
        for id_, text in present:
            if text != texts[id_]:
                raise StoreDamagedError(
                    f"{self._where(id_)} already holds another record; it is left as it is. "
                    "Run `memory-mcp doctor`."
                )
        return len(present) == len(records)  # the first try, whose answer was lost

    async def get(self, record_id: RecordId) -> Record | None:
        if not is_record_id(record_id):
            return None
        rows = await self._bank.rows(_SOME, {"ids": [record_id]})
        return self._load(rows[0]) if rows else None

    async def ids(self) -> set[RecordId]:
        rows = await self._bank.rows("SELECT id FROM record WHERE bank = :bank")
        return {RecordId(row[0]) for row in rows}

    def changed(self) -> bool:
        """Once, so that a forget that was cut short is completed; then the index has it all."""
        first, self._asked = not self._asked, True
        return first

    def may_be_emptied(self) -> bool:
        return True  # what the database says is so: no folder can be missing

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        async for each in self._inspect_each(record_ids):
            if isinstance(each, Record):
                yield each

    async def digest(self, record_ids: Collection[RecordId]) -> dict[RecordId, str]:
        return {r.id: compute_record_digest(r) async for r in self.scan(record_ids)}

    async def erase(self, record_ids: Collection[RecordId]) -> None:
        number, ids = await self._bank.number(), sorted(record_ids)

        async def erase(connection: Connection) -> None:
            await remove_entries(connection, number, ids)
            gone = {"bank": number, "ids": ids}
            await fetch(
                connection, "DELETE FROM record WHERE bank = :bank AND id = ANY(:ids)", gone
            )

        if ids:
            await self._bank.transact(erase)

    async def remove_litter(self) -> None:
        """Nothing here is ever cut short."""

    @asynccontextmanager
    async def alone(self, statement: str = "") -> AsyncGenerator[bool]:
        del statement  # `put_new` compares by itself
        lock = _CORRECTING, await self._bank.number()
        async with self._bank.database.hold_lock(*lock) as free:
            yield free

    async def check(self, *, repair: bool) -> AsyncIterator[Record | Finding]:
        del repair  # what cannot be read is left for a person
        async for each in self._inspect_each(await self.ids()):
            yield each

    async def _inspect_each(
        self, record_ids: Collection[RecordId]
    ) -> AsyncIterator[Record | Finding]:
        ordered = sorted(record_ids)
        for start in range(0, len(ordered), _SCAN_BATCH):
            batch = ordered[start : start + _SCAN_BATCH]
            for row in await self._bank.rows(_SOME, {"ids": batch}):
                yield self._inspect(row)

    def _inspect(self, row: Any) -> Record | Finding:
        """The record in a row, or why it cannot be read."""
        try:
            return self._load(row)
        except (StoreDamagedError, NewerSchemaError) as error:
            return Finding.of("record-unreadable", "must", error, "Mend that, and look again.")

    def _load(self, row: Any) -> Record:
        return load_record(row["json"].encode(), self._where(row["id"]), row["id"])

    def _where(self, record_id: str) -> str:
        return f"record {record_id} in {self._bank.database.name}"
