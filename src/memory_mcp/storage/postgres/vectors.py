"""The vectors in PostgreSQL, beside the entries they are of.

The nearest are found by comparing the signs of all visible vectors, as bit strings. That is exact:
an approximate index would filter what it found, and lose visible records behind hidden ones.
"""

from array import array
from collections.abc import Collection, Mapping
from datetime import datetime
from sys import byteorder
from typing import Any, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import format_time
from memory_mcp.domain.search import Candidate, Chunk, Filters, PassageVectors, StoredVectors, View
from memory_mcp.storage.index_rules import make_candidate
from memory_mcp.storage.postgres.database import fetch
from memory_mcp.storage.postgres.index import CANDIDATE, read_complete
from memory_mcp.storage.postgres.rows import Bank
from memory_mcp.storage.postgres.schema import Connection
from memory_mcp.storage.postgres.visible import CHAIN, VISIBLE, build_filter, view_values
from memory_mcp.storage.stored import compute_checksum, pack_signs

_NUMBER: Final = "(SELECT number FROM embedder WHERE bank = :bank AND identity = :embedder)"

_USE: Final = f"UPDATE embedder SET used_at = :now WHERE number = {_NUMBER} RETURNING number"
_BEGIN: Final = """
    INSERT INTO embedder (bank, identity, used_at) VALUES (:bank, :embedder, :now)
    ON CONFLICT (bank, identity) DO NOTHING RETURNING number"""
_AWAIT_ALL: Final = f"""
    INSERT INTO encoding (embedder, row, until)
    SELECT {_NUMBER}, row, '' FROM entry WHERE bank = :bank AND recalled"""

_CLAIM: Final = f"""
    WITH next AS (
        SELECT embedder, row FROM encoding WHERE embedder = {_NUMBER} AND until < :now
        ORDER BY row DESC LIMIT :limit FOR UPDATE SKIP LOCKED)
    UPDATE encoding SET until = :until FROM next JOIN entry USING (row)
    WHERE encoding.embedder = next.embedder AND encoding.row = next.row RETURNING entry.id"""

_KEEP: Final = f"""
    WITH given AS MATERIALIZED (
        SELECT r.row, g.* FROM unnest(
            :ids::text[], :chunks::integer[], :signs::text[], :pooled::bytea[], :tokens::bytea[],
            :crcs::bigint[]) g (id, chunk, signs, pooled, tokens, crc)
        JOIN entry r ON r.bank = :bank AND r.id = g.id),
    done AS (
        DELETE FROM encoding WHERE embedder = {_NUMBER} AND row IN (SELECT row FROM given))
    INSERT INTO vector (embedder, row, chunk, signs, pooled, tokens, crc)
    SELECT {_NUMBER}, row, chunk, signs::bit varying, pooled, tokens, crc FROM given
    WHERE {_NUMBER} IS NOT NULL
    ON CONFLICT (row, embedder, chunk) DO UPDATE SET signs = excluded.signs,
        pooled = excluded.pooled, tokens = excluded.tokens, crc = excluded.crc"""
_CLEAR: Final = f"""
    DELETE FROM vector USING entry r
    WHERE embedder = {_NUMBER} AND vector.row = r.row AND r.bank = :bank AND r.id = ANY(:ids)"""

_NEAR: Final = f"""
    {CHAIN}, near AS MATERIALIZED (
        SELECT r.row, r.id, min(bit_count(v.signs # :signs::text::bit varying)) AS away
        FROM vector v JOIN entry r USING (row)
        WHERE v.embedder = {_NUMBER} AND length(v.signs) = :width AND {{condition}} AND r.recalled
            AND {VISIBLE}
        GROUP BY r.row, r.id ORDER BY away, r.id DESC LIMIT :limit)
    SELECT {CANDIDATE} FROM near JOIN entry r USING (row) ORDER BY near.away, r.id DESC"""

_UNENCODED: Final = """
    SELECT count(*) FROM embedder e JOIN entry r ON r.bank = e.bank AND r.recalled
    WHERE e.bank = :bank
        AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.row = r.row AND v.embedder = e.number)
        AND NOT EXISTS (SELECT 1 FROM encoding q WHERE q.row = r.row AND q.embedder = e.number)"""
"""Counts the records that have no vector and wait for none."""

_CHECKED_ROWS: Final = """
    SELECT v.row, v.embedder, v.chunk, v.signs, v.pooled, v.tokens, v.crc
    FROM vector v JOIN embedder e ON e.number = v.embedder
    WHERE e.bank = :bank AND (v.row, v.embedder, v.chunk) > (:row, :embedder, :chunk)
    ORDER BY v.row, v.embedder, v.chunk LIMIT :limit"""
_CHECKED_ROWS_MAX: Final = 1_000
"""Rows checked at once: 2 MB."""


class PostgresVectors:
    """Implements `ports.VectorIndex` for a bank."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank

    async def claim(
        self, embedder: str, limit: int, now: datetime, until: datetime
    ) -> list[RecordId]:
        await read_complete(self._bank, "SELECT 1")
        values = {"embedder": embedder, "now": format_time(now)}
        if not await self._bank.rows(_USE, values):
            await self._begin(values)
        rows = await self._bank.rows(
            _CLAIM, {**values, "until": format_time(until), "limit": limit}
        )
        return sorted((RecordId(row[0]) for row in rows), reverse=True)

    async def keep(self, embedder: str, made: Mapping[RecordId, PassageVectors]) -> None:
        if not made:
            return
        named = {"bank": await self._bank.number(), "embedder": embedder}
        values = {**named, **_dump_chunks(made)}

        async def keep(connection: Connection) -> None:
            await fetch(connection, _CLEAR, {**named, "ids": list(made)})
            await fetch(connection, _KEEP, values)

        await self._bank.transact(keep)

    async def missing(self, embedder: str) -> int:
        rows = await read_complete(
            self._bank,
            f"""SELECT CASE WHEN {_NUMBER} IS NULL
                THEN (SELECT count(*) FROM entry WHERE bank = :bank AND recalled)
                ELSE (SELECT count(*) FROM encoding WHERE embedder = {_NUMBER}) END AS missing""",
            {"embedder": embedder},
        )
        return rows[0][0]

    async def near(
        self, embedder: str, pooled: bytes, view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        if not (signs := pack_query_signs(pooled)):
            return []
        condition, values = build_filter(filters)
        asked = {"embedder": embedder, "signs": signs, "width": len(signs), "limit": limit}
        query = _NEAR.format(condition=condition)
        rows = await read_complete(self._bank, query, {**view_values(view), **values, **asked})
        return [make_candidate(row) for row in rows]

    async def vectors(self, embedder: str, record_ids: Collection[RecordId]) -> StoredVectors:
        rows = await self._bank.rows(
            f"""SELECT r.id, v.signs, v.pooled, v.tokens, v.crc
            FROM entry r JOIN vector v ON v.row = r.row AND v.embedder = {_NUMBER}
            WHERE r.bank = :bank AND r.id = ANY(:ids) ORDER BY v.row, v.chunk""",
            {"embedder": embedder, "ids": sorted(record_ids)},
        )
        found: dict[RecordId, PassageVectors] = {}
        damaged = 0
        for id_, *stored in rows:
            if _is_whole(*stored):
                chunk = Chunk(stored[1], stored[2])
                found[RecordId(id_)] = (*found.get(RecordId(id_), ()), chunk)
            else:
                damaged += 1
        return StoredVectors(found, damaged)

    async def damaged(self) -> int:
        found: int = (await read_complete(self._bank, _UNENCODED))[0][0]
        last = {"row": 0, "embedder": 0, "chunk": 0}
        while rows := await self._bank.rows(_CHECKED_ROWS, {**last, "limit": _CHECKED_ROWS_MAX}):
            found += sum(not _is_whole(*stored) for _, _, _, *stored in rows)
            last = dict(zip(last, rows[-1][:3], strict=True))
        return found

    async def drop_unused(self, embedder: str, since: datetime) -> None:
        await self._bank.rows(
            "DELETE FROM embedder "
            "WHERE bank = :bank AND identity <> :embedder AND used_at < :since",
            {"embedder": embedder, "since": format_time(since)},
        )

    async def _begin(self, values: Mapping[str, Any]) -> None:
        """Make an embedder known, with all there is waiting for it."""
        named = {"bank": await self._bank.number(), **values}

        async def begin(connection: Connection) -> None:
            # whoever adds an entry meanwhile would not see that it is to be encoded
            await connection.execute("LOCK TABLE entry IN SHARE ROW EXCLUSIVE MODE")
            if await fetch(connection, _BEGIN, named):
                await fetch(connection, _AWAIT_ALL, named)

        await self._bank.transact(begin)


def pack_query_signs(pooled: bytes) -> str:
    """The signs of a question's vector as bits, as many as `pack_signs` gives a memory's."""
    values = array("f", pooled)
    if byteorder == "big":
        values.byteswap()
    bits = "".join("1" if value > 0 else "0" for value in values)
    return bits + "0" * (-len(bits) % 64)


def _dump_chunks(made: Mapping[RecordId, PassageVectors]) -> dict[str, list[Any]]:
    """The chunks as the values of `_KEEP`."""
    rows: list[tuple[Any, ...]] = []
    for record_id, passage in made.items():
        for number, chunk in enumerate(passage):
            signs = pack_signs(chunk)
            crc = compute_checksum(signs, chunk)
            bits = "".join(f"{byte:08b}" for byte in signs)
            rows.append((record_id, number, bits, chunk.pooled, chunk.tokens, crc))
    names = ("ids", "chunks", "signs", "pooled", "tokens", "crcs")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _is_whole(signs: Any, pooled: bytes, tokens: bytes, crc: int) -> bool:
    """Whether a row is what was written."""
    return compute_checksum(signs.bytes, Chunk(pooled, tokens)) == crc
