"""The index in SQLite: what goes in, and what can be asked.

An index that was never completed says `IndexDamagedError` instead of answering from half of the
memories; the use cases then fill it from the records.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from memory_mcp.database import Database, Make, Rows
from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.limits import QUERY_TERMS_MAX
from memory_mcp.domain.record import Record
from memory_mcp.domain.views import Candidate, Filters, LexicalQuery, Match, View
from memory_mcp.errors import IndexBusyError, IndexDamagedError
from memory_mcp.index.fulltext import any_of, searches
from memory_mcp.index.schema import INSERT, SCHEMA, VERSION, row
from memory_mcp.index.visibility import CHAIN, VISIBLE, filtered, view_values

__all__ = ["SqliteIndex"]

_MATCHES_MAX: Final = 2_000
"""How many matches one search scores, the newest first: what it costs follows from this."""

_NEAREST: Final = 4

_MAKE: Final = Make(
    schema=SCHEMA,
    version=VERSION,
    full=False,
    busy=IndexBusyError,
    damaged=IndexDamagedError,
    comfort="The memories are safe; try again.",
)


class SqliteIndex:
    """Implements `ports.SearchIndex`. `prepare` makes the folder before the file is created."""

    def __init__(self, path: Path, prepare: Callable[[], None]) -> None:
        self.path = path
        self._file = Database(path, _MAKE, prepare)
        self._complete: int | None = None  # the opening that is known to be complete

    async def add(self, records: Sequence[Record]) -> None:
        if records:
            await self._file.write(INSERT, [row(record) for record in records])

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            rows = [(id_,) for id_ in record_ids]
            await self._file.write("DELETE FROM record WHERE id = ?", rows)
            await self._file.wipe("INSERT INTO text (text) VALUES ('optimize')")

    async def ids(self) -> set[RecordId]:
        return {RecordId(r[0]) for r in await self._file.rows("SELECT id FROM record")}

    async def match(self, query: LexicalQuery, view: View, filters: Filters, limit: int) -> Match:
        await self._require_complete()
        counts, total = await self._counts(query.terms)
        weights = {i: math.log(1 + (total + 0.5) / (n + 0.5)) for i, n in counts.items()}
        found: dict[int, Sequence[Any]] = {}
        matched: dict[int, set[int]] = {}
        present = {position: query.terms[position] for position, n in counts.items() if n}
        for looked_for in searches(query.terms, counts, _MATCHES_MAX):
            if len(found) >= limit:
                break
            rows = await self._best(looked_for, present, view, filters, limit)
            for position, rowid, *fields in rows:
                if position is None:
                    found[rowid] = fields
                else:
                    matched.setdefault(rowid, set()).add(position)
        candidates = [
            Candidate(
                id=RecordId(id_),
                relevance=relevance,
                matched=frozenset(matched.get(rowid, ())),
                importance=importance,
                pinned=bool(pinned),
                created_at=created_at,
            )
            for rowid, (id_, relevance, importance, pinned, created_at) in found.items()
        ]
        return Match(candidates=tuple(candidates[:limit]), weights=weights)

    async def find(self, view: View, filters: Filters, limit: int) -> list[RecordId]:
        await self._require_complete()
        condition, values = filtered(filters)
        rows = await self._file.rows(
            f"{CHAIN} SELECT r.id FROM record r WHERE {condition} AND {VISIBLE} "
            "ORDER BY r.id DESC LIMIT :limit",
            {**view_values(view), **values, "limit": limit},
        )
        return [RecordId(r[0]) for r in rows]

    async def count(self, view: View, filters: Filters) -> int:
        await self._require_complete()
        condition, values = filtered(filters)
        rows = await self._file.rows(
            f"{CHAIN} SELECT count(*) FROM record r WHERE {condition} AND {VISIBLE}",
            {**view_values(view), **values},
        )
        return rows[0][0]

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        await self._require_complete()
        rows = await self._file.rows(
            f"{CHAIN} SELECT r.id FROM record r "
            f"WHERE r.id IN (SELECT value FROM json_each(:ids)) AND r.recalled AND {VISIBLE}",
            {**view_values(view), "ids": json.dumps(sorted(record_ids))},
        )
        return {RecordId(r[0]) for r in rows}

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        await self._require_complete()
        found: list[RecordId] = []
        wanted = record_id.encode(errors="replace").decode()  # half a character is mistyped too
        for side, order in (("<=", "DESC"), (">", "ASC")):
            rows = await self._file.rows(
                f"{CHAIN} SELECT r.id FROM record r WHERE r.id {side} :id AND r.recalled "
                f"AND {VISIBLE} ORDER BY r.id {order} LIMIT {_NEAREST}",
                {**view_values(view), "id": wanted},
            )
            found.extend(RecordId(r[0]) for r in rows)
        return found

    async def moves(self) -> list[RecordId]:
        await self._require_complete()
        rows = await self._file.rows("SELECT id FROM record WHERE moves = 1 ORDER BY id")
        return [RecordId(r[0]) for r in rows]

    async def of_segments(self, segments: Collection[SegmentId]) -> set[RecordId]:
        await self._require_complete()
        rows = await self._file.rows(
            "SELECT id FROM record WHERE segment IN (SELECT value FROM json_each(:segments))",
            {"segments": json.dumps(sorted(segments))},
        )
        return {RecordId(r[0]) for r in rows}

    async def suppressed_by(self, segments: Collection[SegmentId]) -> set[RecordId]:
        await self._require_complete()
        rows = await self._file.rows(
            "SELECT target FROM suppression "
            "WHERE segment IN (SELECT value FROM json_each(:segments))",
            {"segments": json.dumps(sorted(segments))},
        )
        return {RecordId(r[0]) for r in rows}

    async def to_erase(self) -> set[RecordId]:
        rows = await self._file.rows(
            "SELECT id FROM record WHERE id IN (SELECT target FROM erasure)"
        )
        return {RecordId(r[0]) for r in rows}

    async def erased(self) -> set[RecordId]:
        await self._require_complete()
        rows = await self._file.rows("SELECT DISTINCT target FROM erasure")
        return {RecordId(r[0]) for r in rows}

    async def mark_complete(self) -> None:
        await self._file.rows(
            "INSERT INTO complete SELECT datetime() WHERE NOT EXISTS (SELECT 1 FROM complete)"
        )

    async def findings(self, *, repair: bool) -> list[Finding]:
        """SQLite's own word on the file. A broken one is rebuilt by whoever asks it next."""
        try:
            said = await self._file.integrity()
        except IndexDamagedError as error:
            said = str(error)
        if said == "ok":
            return []
        if repair:
            await self.reset()
        return [
            Finding(
                "index-damaged", "should", f"{self.path}: {said}",
                "It is a derivative: `memory-mcp reindex` makes it anew.", repaired=repair,
            )
        ]  # fmt: skip

    async def reset(self) -> None:
        await self._file.replace()

    async def aclose(self) -> None:
        await self._file.aclose()

    async def _require_complete(self) -> None:
        if self._complete is None or self._complete != self._file.opening:
            rows = await self._file.rows("SELECT count(*) FROM complete")
            if not rows[0][0]:
                raise IndexDamagedError(f"{self.path} is not complete yet.")
            self._complete = self._file.opening

    async def _counts(self, terms: Sequence[str]) -> tuple[dict[int, int], int]:
        """In how many records each of the rarest terms occurs, and how many there are at all."""
        asked = terms[: 4 * QUERY_TERMS_MAX]
        parts = [f"SELECT {i}, count(*) FROM text WHERE text MATCH ?" for i in range(len(asked))]
        whole = "SELECT -1, coalesce(max(rowid), 0) FROM record"
        (_, total), *rows = await self._file.rows(
            " UNION ALL ".join([whole, *parts]), [any_of([t]) for t in asked]
        )
        rarest = sorted(rows, key=lambda r: (r[1] == 0, r[1], r[0]))[:QUERY_TERMS_MAX]
        return {r[0]: r[1] for r in rarest}, total

    async def _best(
        self,
        looked_for: str,
        terms: Mapping[int, str],
        view: View,
        filters: Filters,
        limit: int,
    ) -> Rows:
        """The best rows (without a position), then which of the terms occur in which of them.

        One statement, so that it speaks of one state of the index.
        """
        condition, values = filtered(filters)
        # the + keeps SQLite from asking the full-text index once per row
        occurs = (
            "SELECT {0}, rowid, 0, 0, 0, 0, 0 FROM text WHERE text MATCH :t{0} "
            "AND +rowid IN (SELECT row FROM hit)"
        )
        return await self._file.rows(
            f"""{CHAIN}, hit AS MATERIALIZED (SELECT * FROM (
                SELECT r.rowid AS row, r.id AS id, -bm25(text, 1.0, 1.0, 0.6) AS relevance
                FROM text CROSS JOIN record r ON r.rowid = text.rowid
                WHERE text MATCH :match AND {condition} AND {VISIBLE}
                ORDER BY text.rowid DESC LIMIT {_MATCHES_MAX})
                ORDER BY relevance DESC, id DESC LIMIT :limit)
            SELECT NULL, row, hit.id, relevance, importance, pinned, created_at
            FROM hit CROSS JOIN record ON record.rowid = row UNION ALL """
            + " UNION ALL ".join(occurs.format(position) for position in terms),
            {
                **view_values(view),
                **values,
                **{f"t{position}": any_of([term]) for position, term in terms.items()},
                "match": looked_for,
                "limit": limit,
            },
        )
