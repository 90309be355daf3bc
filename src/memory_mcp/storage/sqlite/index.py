"""The index in SQLite: what goes in, and what can be asked.

An index that was never completed says `IndexDamagedError` instead of answering from half of the
memories; the use cases then fill it from the records.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from memory_mcp.disk import ANY_SETTING
from memory_mcp.domain.ids import (
    ID_BEGINNING_CHARS_MIN,
    ID_END_CHARS_MIN,
    RecordId,
    SegmentId,
)
from memory_mcp.domain.limits import QUERY_TERMS_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Filters,
    Neighbour,
    SearchFields,
    View,
)
from memory_mcp.errors import IndexBusyError, IndexDamagedError, StoreUnavailableError
from memory_mcp.storage.sqlite.database import Database, Make, Rows
from memory_mcp.storage.sqlite.queries import (
    CANDIDATE,
    CHAIN,
    VISIBLE,
    any_of,
    around,
    candidate,
    filtered,
    found_by,
    neighbours,
    searches,
    trigrams,
    view_values,
)
from memory_mcp.storage.sqlite.schema import INSERT, SCHEMA, VERSION, row

_MATCHES_MAX: Final = 1_000
"""How many matches one search scores, the newest first: what it costs follows from this."""

_LOOKED_AT: Final = 1.5
"""How many of the best are first asked whether they are visible, for each that is wanted."""

_NEAREST: Final = 4

_WEIGHTS: Final = "1.0, 0.6, 0.5, 0.6"
"""Of body, names, dates and extra: the figures of the ranking's own BM25."""

_NOTHING: Final[Mapping[str, Any]] = {}

_SEEN_MAX: Final = 20
"""Of terms in so few records those are counted that can be seen; in more, a few change nothing."""

_ID_PART: Final = re.compile(r"[0-9a-f-]+")

_TRIGRAM: Final = 3

_SPELLINGS_MAX: Final = 30
"""Terms that share most with an unknown one."""

_GONE: Final = """WITH RECURSIVE doomed (id) AS (
    SELECT target FROM erasure UNION SELECT value FROM json_each(:also) UNION
    SELECT r.id FROM doomed JOIN source ON source.source = doomed.id
        JOIN record r ON r.rowid = source.record),
gone (id) AS (
    SELECT id FROM doomed WHERE NOT EXISTS (
        SELECT 1 FROM record r JOIN erasure mine ON mine.record = r.rowid
        WHERE r.id = doomed.id AND NOT EXISTS (
            SELECT 1 FROM erasure same JOIN record other ON other.rowid = same.record
            WHERE same.target = mine.target AND other.id NOT IN (SELECT id FROM doomed))))"""
"""What is to be erased, and whatever was made of it: it repeats the words.

A record that orders an erasure stays, unless others that stay order the same.
"""

_ORDERED: Final = f"""{_GONE},
ordered (id, eraser) AS (
    SELECT e.target, o.id FROM erasure e JOIN record o ON o.rowid = e.record UNION
    SELECT value, '' FROM json_each(:also) UNION
    SELECT r.id, ordered.eraser FROM ordered JOIN source ON source.source = ordered.id
        JOIN record r ON r.rowid = source.record)"""
"""The same, with the record that orders each; nobody's name for what is asked about `also`."""

_ORDERS: Final = "EXISTS (SELECT 1 FROM erasure WHERE record = r.rowid)"
"""The record says that others are to be erased."""

_TEXTS: Final = ("text", "spelling")

_MAKE: Final = Make(
    schema=SCHEMA,
    version=VERSION,
    full=False,
    busy=IndexBusyError,
    damaged=IndexDamagedError,
    comfort="The memories are safe; try again.",
    page_bytes=8_192,  # vectors of a memory are 1 to 3 kB
)


class SqliteIndex:
    """Implements `ports.SearchIndex`.

    `fields_of` says what of a record is searched; `prepare` makes the folder before the file is
    created.
    """

    def __init__(
        self,
        path: Path,
        fields_of: Callable[[Record], SearchFields],
        prepare: Callable[[], None],
        *,
        setting: str = ANY_SETTING,
    ) -> None:
        self.path = path
        self._fields_of = fields_of
        self.file = Database(path, _MAKE, prepare, setting=setting)
        self._complete = 0  # the opening that is known to be complete

    async def add(self, records: Sequence[Record]) -> None:
        if records:
            rows = [row(record, self._fields_of(record)) for record in records]
            await self.file.write(INSERT, rows)

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            rows = [(id_,) for id_ in record_ids]
            await self.file.write("DELETE FROM record WHERE id = ?", rows)
            await self.file.wipe(*(f"INSERT INTO {t} ({t}) VALUES ('optimize')" for t in _TEXTS))

    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]:
        some = "" if among is None else " WHERE id IN (SELECT value FROM json_each(:ids))"
        values = {} if among is None else {"ids": json.dumps(sorted(among))}
        return set(_ids(await self.file.rows(f"SELECT id FROM record{some}", values)))

    async def corpus(self, terms: Collection[str], view: View) -> CorpusStatistics:
        (_, records), *rows = await self.read(
            "SELECT '', coalesce(max(rowid), 0) FROM record UNION ALL "
            "SELECT term, records FROM term WHERE term IN (SELECT value FROM json_each(:terms))",
            {"terms": json.dumps(sorted(terms))},
        )
        counts = dict.fromkeys(terms, 0) | {row[0]: row[1] for row in rows}
        few = [term for term, n in counts.items() if 0 < n <= _SEEN_MAX]
        return CorpusStatistics(records, counts | await self._seen(few, view))

    async def spellings(self, term: str) -> list[tuple[str, int]]:
        if len(term) < _TRIGRAM:
            return []
        rows = await self.read(
            "SELECT term.term, records FROM spelling JOIN term ON number = spelling.rowid "
            "WHERE spelling MATCH :parts ORDER BY spelling.rank, term.term LIMIT :limit",
            {"parts": any_of(trigrams(term)), "limit": _SPELLINGS_MAX},
        )
        return [(r[0], r[1]) for r in rows]

    async def match(
        self,
        terms: Sequence[str],
        corpus: CorpusStatistics,
        view: View,
        filters: Filters,
        limit: int,
    ) -> list[Candidate]:
        known = sorted((n, term) for term in set(terms) if (n := corpus.counts.get(term, 0)))
        rarest = {term: n for n, term in known[:QUERY_TERMS_MAX]}
        found: dict[RecordId, Candidate] = {}
        for looked_for in searches(rarest, _MATCHES_MAX):
            some = _MATCHES_MAX if filters != Filters() else int(limit * _LOOKED_AT)
            best, settled = await self._best(looked_for, view, filters, limit, some)
            if not settled and some < _MATCHES_MAX:
                best, _ = await self._best(looked_for, view, filters, limit, _MATCHES_MAX)
            found.update((candidate.id, candidate) for candidate in best)
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]:
        statement, values = around(filters)
        ids = json.dumps(sorted(record_ids))
        rows = await self.read(statement, {**view_values(view), **values, "ids": ids})
        return neighbours(rows)

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]:
        found, values = found_by(filters, best=best)
        return _ids(await self.read(found, {**view_values(view), **values, "limit": limit}))

    async def count(self, view: View, filters: Filters) -> int:
        condition, values = filtered(filters)
        rows = await self.read(
            f"{CHAIN} SELECT count(*) FROM record r WHERE {condition} AND {VISIBLE}",
            {**view_values(view), **values},
        )
        return rows[0][0]

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        rows = await self.read(
            f"{CHAIN} SELECT r.id FROM record r "
            f"WHERE r.id IN (SELECT value FROM json_each(:ids)) AND r.recalled AND {VISIBLE}",
            {**view_values(view), "ids": json.dumps(sorted(record_ids))},
        )
        return {RecordId(r[0]) for r in rows}

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        found: list[RecordId] = []
        wanted = record_id.encode(errors="replace").decode()  # half a character is mistyped too
        for side, order in (("<=", "DESC"), (">", "ASC")):
            rows = await self.read(
                f"{CHAIN} SELECT r.id FROM record r WHERE r.id {side} :id AND r.recalled "
                f"AND {VISIBLE} ORDER BY r.id {order} LIMIT {_NEAREST}",
                {**view_values(view), "id": wanted},
            )
            found.extend(RecordId(r[0]) for r in rows)
        return found

    async def named(self, part: str, view: View | None, limit: int) -> list[RecordId]:
        part = part.casefold()
        if len(part) < ID_BEGINNING_CHARS_MIN or not _ID_PART.fullmatch(part):
            return []
        sides = ["r.id >= :part AND r.id < :after"]
        if len(part) >= ID_END_CHARS_MIN:
            sides.append("substr(r.id, -:length) = :part")
        chain, seen = (CHAIN, f" AND {VISIBLE}") if view else ("", "")
        rows = await self.read(
            f"{chain} SELECT r.id FROM record r WHERE r.recalled AND ({' OR '.join(sides)}){seen} "
            "ORDER BY r.id LIMIT :limit",
            {
                **(view_values(view) if view else {}),
                "part": part,
                "after": f"{part}g",
                "length": len(part),
                "limit": limit,
            },
        )
        return _ids(rows)

    async def moves(self) -> list[RecordId]:
        return _ids(await self.read("SELECT id FROM record WHERE moves = 1 ORDER BY id"))

    async def of_segments(self, segments: Collection[SegmentId]) -> set[RecordId]:
        rows = await self.read(
            "SELECT id FROM record WHERE segment IN (SELECT value FROM json_each(:segments))",
            {"segments": json.dumps(sorted(segments))},
        )
        return {RecordId(r[0]) for r in rows}

    async def segments(self, *, orders: bool = True) -> dict[SegmentId, RecordId]:
        others = "" if orders else f" AND NOT {_ORDERS}"
        rows = await self.read(
            "SELECT segment, max(id) FROM record r "
            f"WHERE segment IS NOT NULL{others} GROUP BY segment"
        )
        return {SegmentId(row[0]): RecordId(row[1]) for row in rows}

    async def suppressed_by(self, segments: Collection[SegmentId]) -> set[RecordId]:
        rows = await self.read(
            "SELECT target FROM suppression "
            "WHERE segment IN (SELECT value FROM json_each(:segments))",
            {"segments": json.dumps(sorted(segments))},
        )
        return {RecordId(r[0]) for r in rows}

    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self.read(
            """WITH RECURSIVE made (id) AS (
                SELECT value FROM json_each(:ids) UNION
                SELECT r.id FROM made JOIN source ON source.source = made.id
                    JOIN record r ON r.rowid = source.record)
            SELECT id FROM made WHERE id NOT IN (SELECT value FROM json_each(:ids))""",
            {"ids": json.dumps(sorted(record_ids))},
        )
        return set(_ids(rows))

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]:
        some = "SELECT id FROM record" if among is None else "SELECT value FROM json_each(:ids)"
        values = {} if among is None else {"ids": json.dumps(sorted(among))}
        rows = await self.file.rows(
            f"{_ORDERED} SELECT id, eraser FROM ordered "
            f"WHERE id IN ({some}) AND id IN (SELECT id FROM gone)",
            {**values, "also": json.dumps(sorted(also))},
        )
        found: dict[RecordId, set[RecordId]] = {}
        for target, eraser in rows:
            found.setdefault(RecordId(target), set()).update([RecordId(eraser)] if eraser else ())
        return found

    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]:
        values = {"also": json.dumps(sorted(also))}
        return set(_ids(await self.read(f"{_GONE} SELECT id FROM gone", values)))

    async def erased_by(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self.read(
            "SELECT target FROM erasure WHERE record IN ("
            "SELECT rowid FROM record WHERE id IN (SELECT value FROM json_each(:ids)))",
            {"ids": json.dumps(sorted(record_ids))},
        )
        return set(_ids(rows))

    async def mark_complete(self) -> None:
        await self.file.rows(
            "INSERT INTO complete SELECT datetime() WHERE NOT EXISTS (SELECT 1 FROM complete)"
        )

    async def findings(self, *, repair: bool) -> list[Finding]:
        """SQLite's own word on the file. A broken one is rebuilt by whoever asks it next."""
        try:
            said = await self.file.integrity()
        except IndexDamagedError as error:
            said = str(error)
        except StoreUnavailableError as error:  # a link or a folder in its place, or no access
            return [Finding("index-unusable", "should", str(error), "Then look again.")]
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
        await self.file.replace()

    async def aclose(self) -> None:
        await self.file.aclose()

    async def read(self, statement: str, values: Mapping[str, Any] = _NOTHING) -> Rows:
        """Rows of a file that holds every record: half of the memories must not pass for all.

        Raises:
            IndexDamagedError: not every record is in.
        """
        rows = await self.file.rows(statement, values)
        if self._complete != self.file.openings:  # looked at once for each file
            known = await self.file.rows("SELECT count(*) FROM complete")
            if not known[0][0]:
                raise IndexDamagedError(f"{self.path} is not complete yet.")
            self._complete = self.file.openings
        return rows

    async def _seen(self, terms: Sequence[str], view: View) -> dict[str, int]:
        """In how many visible records each of these is: what is hidden must not tell of itself."""
        if not terms:
            return {}
        one = (
            "SELECT {0}, count(*) FROM text CROSS JOIN record r ON r.rowid = text.rowid "
            f"WHERE text MATCH :t{{0}} AND {VISIBLE}"
        )
        rows = await self.read(
            f"{CHAIN} " + " UNION ALL ".join(one.format(place) for place in range(len(terms))),
            {**view_values(view), **{f"t{n}": any_of([term]) for n, term in enumerate(terms)}},
        )
        return {terms[int(row[0])]: int(row[1]) for row in rows}

    async def _best(
        self, looked_for: str, view: View, filters: Filters, limit: int, looked_at: int
    ) -> tuple[list[Candidate], bool]:
        """The best visible ones of the best `looked_at` matches, and whether that settles it.

        It does not if there are more that are as good as the last of these, or better.
        """
        condition, values = filtered(filters)
        (looked, worst, *_), *rows = await self.read(
            f"""{CHAIN}, best AS MATERIALIZED (
                SELECT row, cost FROM (
                    SELECT rowid AS row, bm25(text, {_WEIGHTS}) AS cost FROM text
                    WHERE text MATCH :match ORDER BY rowid DESC LIMIT {_MATCHES_MAX})
                ORDER BY cost LIMIT :looked_at)
            SELECT count(*), max(cost), 0, 0, 0, 0, 0, 0, 0, 0 FROM best UNION ALL
            SELECT * FROM (
                SELECT cost, {CANDIDATE} FROM best CROSS JOIN record r ON r.rowid = best.row
                CROSS JOIN fields f ON f.record = best.row
                WHERE {condition} AND {VISIBLE}
                ORDER BY cost, r.id DESC LIMIT :limit)""",
            {
                **view_values(view), **values, "match": looked_for, "limit": limit,
                "looked_at": looked_at,
            },
        )  # fmt: skip
        settled = looked < looked_at or (len(rows) == limit and rows[-1][0] < worst)
        return [candidate(r[1:]) for r in rows], settled


def _ids(rows: Rows) -> list[RecordId]:
    return [RecordId(row[0]) for row in rows]
