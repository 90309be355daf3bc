"""The vectors in SQLite, in the same file as the records they are of.

The signs of all pooled vectors are kept in memory, because comparing them one by one in SQL would
take a second. What other processes add is loaded before each search. What they remove or set aside
drops out when the nearest are looked up in the tables.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import format_time
from memory_mcp.domain.search import Candidate, Chunk, Filters, PassageVectors, StoredVectors, View
from memory_mcp.storage.sqlite.index import (
    CANDIDATE,
    VISIBLE,
    SqliteIndex,
    build_filter,
    parse_candidate,
    view_parameters,
)
from memory_mcp.storage.sqlite.schema import INSERT_ENCODED, encoded_rows
from memory_mcp.storage.stored import compute_checksum

if TYPE_CHECKING:
    from memory_mcp.storage.sqlite.nearest import SignIndex  # numpy

_NUMBER: Final = "(SELECT number FROM embedder WHERE identity = :embedder)"

_WHOLE: Final = """
    CAST(signs AS BLOB) AS signs, CAST(coalesce(pooled, '') AS BLOB) AS pooled,
    CAST(coalesce(tokens, '') AS BLOB) AS tokens, crc
"""
"""The columns that the checksum covers, and the checksum; without a whole vector there is none.

The casts read bytes as bytes even if one flipped bit calls them text.
"""

_CHECKED_ROWS: Final = f"""
    SELECT number, {_WHOLE} FROM vector LEFT JOIN vector_whole USING (number)
    WHERE number > :last ORDER BY number LIMIT :limit
"""
_CHECKED_ROWS_MAX: Final = 1_000
"""Rows checked at once: 2 MB of a file that may be of hundreds."""

_UNENCODED: Final = """
    SELECT count(*) FROM embedder e CROSS JOIN record r WHERE r.recalled
        AND NOT EXISTS (SELECT 1 FROM vector WHERE record = r.rowid AND embedder = e.number)
        AND NOT EXISTS (
            SELECT 1 FROM encoding WHERE record = r.rowid AND embedder = e.number)
"""
"""Counts the records that have no vector and wait for none."""

_LOOKED_AT: Final = 1.5
"""How many of the nearest are first checked for visibility, for each that is wanted."""

_MORE: Final = 4
"""How many times as many are checked next, if too few of them were visible."""

_FEW_PASS: Final = 30
"""If among this many for each that is wanted too few pass, the filters are applied first."""


class SqliteVectors:
    """Implements `ports.VectorIndex` beside a `SqliteIndex`."""

    def __init__(self, index: SqliteIndex) -> None:
        self._index = index
        self._file = index.file
        self._signs: dict[tuple[str, int], SignIndex] = {}
        self._opening = 0

    async def claim(
        self, embedder: str, limit: int, now: datetime, until: datetime
    ) -> list[RecordId]:
        await self._index.read("SELECT 0")
        values = {
            "embedder": embedder,
            "now": format_time(now),
            "until": format_time(until),
            "limit": limit,
        }
        await self._file.rows(
            "INSERT INTO embedder (identity, used_at) VALUES (:embedder, :now) "
            "ON CONFLICT (identity) DO UPDATE SET used_at = :now",
            {"embedder": embedder, "now": format_time(now)},
        )
        rows = await self._file.rows(
            f"""UPDATE encoding SET until = :until WHERE embedder = {_NUMBER} AND record IN (
                SELECT record FROM encoding WHERE embedder = {_NUMBER} AND until < :now
                ORDER BY record DESC LIMIT :limit)
            RETURNING (SELECT id FROM record WHERE rowid = encoding.record)""",
            values,
        )
        return sorted((RecordId(r[0]) for r in rows if r[0]), reverse=True)

    async def keep(self, embedder: str, made: Mapping[RecordId, PassageVectors]) -> None:
        if not made:
            return
        try:
            await self._file.write(INSERT_ENCODED, list(encoded_rows(embedder, made)))
        except BaseException:
            self._signs = {}  # a search in between saw numbers that other rows will get
            raise

    async def missing(self, embedder: str) -> int:
        rows = await self._index.read(
            f"""SELECT CASE WHEN {_NUMBER} IS NULL
                THEN (SELECT count(*) FROM record WHERE recalled)
                ELSE (SELECT count(*) FROM encoding WHERE embedder = {_NUMBER}) END""",
            {"embedder": embedder},
        )
        return rows[0][0]

    async def near(
        self, embedder: str, pooled: bytes, view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        from memory_mcp.storage.sqlite.nearest import pack_query_signs  # noqa: PLC0415  # numpy

        if not (query := pack_query_signs(pooled)):
            return []
        signs = await self._load_signs(embedder, len(query))
        among: list[int] | None = None
        found: dict[RecordId, Candidate] = {}
        looked, looked_at = 0, int(limit * _LOOKED_AT)
        while True:
            numbers = signs.find_nearest(query, view.chain, looked_at, among)
            for candidate in await self._load_visible(numbers[looked:], view, filters, limit):
                found.setdefault(candidate.id, candidate)
            if len(found) >= limit or len(numbers) < looked_at:
                return list(found.values())[:limit]
            looked, looked_at = looked_at, looked_at * _MORE
            if among is None and filters != Filters() and looked_at > limit * _FEW_PASS:
                among = await self._filter_chunks(embedder, filters)
                looked, looked_at = 0, int(limit * _LOOKED_AT)

    async def vectors(self, embedder: str, record_ids: Collection[RecordId]) -> StoredVectors:
        rows = await self._file.rows(
            f"""SELECT r.id, {_WHOLE}
            FROM json_each(:ids) CROSS JOIN record r ON r.id = value
            CROSS JOIN vector v ON v.record = r.rowid AND v.embedder = {_NUMBER}
            LEFT JOIN vector_whole USING (number) ORDER BY v.number""",
            {"embedder": embedder, "ids": json.dumps(sorted(record_ids))},
        )
        found: dict[RecordId, PassageVectors] = {}
        damaged = 0
        for id_, signs, pooled, tokens, crc in rows:
            chunk = Chunk(pooled, tokens)
            if compute_checksum(signs, chunk) == crc:
                found[RecordId(id_)] = (*found.get(RecordId(id_), ()), chunk)
            else:
                damaged += 1
        return StoredVectors(found, damaged)

    async def damaged(self) -> int:
        rows = await self._index.read(_UNENCODED)
        found: int = rows[0][0]
        last = 0
        while rows := await self._file.rows(
            _CHECKED_ROWS, {"last": last, "limit": _CHECKED_ROWS_MAX}
        ):
            found += sum(compute_checksum(r[1], Chunk(r[2], r[3])) != r[4] for r in rows)
            last = rows[-1][0]
        return found

    async def drop_unused(self, embedder: str, since: datetime) -> None:
        await self._file.rows(
            "DELETE FROM embedder WHERE identity != :embedder AND used_at < :since",
            {"embedder": embedder, "since": format_time(since)},
        )

    async def _load_signs(self, embedder: str, width: int) -> "SignIndex":
        """Bring the signs of this width up to date; others cannot be compared with them."""
        from memory_mcp.storage.sqlite.nearest import SignIndex  # noqa: PLC0415  # numpy

        signs = self._signs.setdefault((embedder, width), SignIndex(width))
        rows = await self._index.read(
            f"""SELECT v.number, coalesce(r.segment, a.segment), CAST(v.signs AS BLOB) AS bits
            FROM vector v LEFT JOIN record r ON r.rowid = v.record
            LEFT JOIN aside a ON a.rowid = v.record
            WHERE v.embedder = {_NUMBER} AND v.number > :last AND length(bits) = :width
            ORDER BY v.number""",
            {"embedder": embedder, "last": signs.last, "width": width},
        )
        if self._opening != self._file.openings:  # another file: nothing of it is known
            self._signs, self._opening = {}, self._file.openings
            return await self._load_signs(embedder, width)
        signs.append([(r[0], r[1], r[2]) for r in rows if r[0] > signs.last])
        return signs

    async def _load_visible(
        self, numbers: list[int], view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        """The visible records of these chunks, nearest first, each once."""
        condition, values = build_filter(filters)
        rows = await self._file.rows(
            f"""SELECT {CANDIDATE}
            FROM json_each(:numbers) AS n CROSS JOIN vector v ON v.number = n.value
            CROSS JOIN record r ON r.rowid = v.record CROSS JOIN fields f ON f.record = r.rowid
            WHERE {condition} AND {VISIBLE} ORDER BY n.key""",
            {**view_parameters(view), **values, "numbers": json.dumps(numbers)},
        )
        found = {row[0]: row for row in reversed(rows)}
        order = dict.fromkeys(row[0] for row in rows)
        return [parse_candidate(found[id_]) for id_ in order][:limit]

    async def _filter_chunks(self, embedder: str, filters: Filters) -> list[int]:
        """The numbers of the chunks whose records pass the filters, visible or not."""
        condition, values = build_filter(filters)
        condition = condition.replace("+r.rowid", "r.rowid")  # here a tag's records are few
        rows = await self._file.rows(
            f"""SELECT v.number FROM record r
            JOIN vector v ON v.record = r.rowid AND v.embedder = {_NUMBER} WHERE {condition}""",
            {"embedder": embedder, **values},
        )
        return [r[0] for r in rows]
