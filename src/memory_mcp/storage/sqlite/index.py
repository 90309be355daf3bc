"""The index in SQLite: its queries as SQL, and the class that asks them.

The rule of visibility is that of `storage.visibility`. An index that was never completed raises
`IndexDamagedError` instead of answering from half of the memories; the use cases then fill it from
the records.

Full text: scoring is what a search costs, and most matches hold nothing but a common word. So a
term finds records on its own only while it is rare. Commoner terms find them together with others,
and on their own only if nothing better is left. Every term counts for every record that was found.
The postings are rows of a plain table: FTS5 of SQLite before 3.45 takes a record's words out only
by writing its whole index anew.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args

from memory_mcp.disk import ANY_SETTING
from memory_mcp.domain.ids import ID_END_CHARS_MIN, RecordId, SegmentId, is_id_part
from memory_mcp.domain.limits import (
    INDEX_ASIDE_RECORDS_MAX,
    QUOTE_TERMS_MIN,
    RARE_TERM_RECORDS_MAX,
)
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Kind, Record, format_time
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Filters,
    IdSummary,
    Neighbour,
    SearchFields,
    Stated,
    View,
    Wanted,
)
from memory_mcp.errors import IndexBusyError, IndexDamagedError, StoreUnavailableError
from memory_mcp.ports.index import PARTIAL_ANSWERS
from memory_mcp.storage.index_rules import (
    MATCHES_MAX,
    NEAREST,
    SPELLINGS_MAX,
    STEPS,
    group_orders,
    make_candidate,
    make_neighbours,
    split_terms,
    split_trigrams,
    weigh_terms,
)
from memory_mcp.storage.sqlite.database import Database, DatabaseSpec, Rows
from memory_mcp.storage.sqlite.schema import (
    BLANK_FIELDS,
    BLOCK_BITS,
    DIGEST,
    INSERT_RECORD,
    SCHEMA,
    SET_ASIDE,
    TAKE_UP,
    VERSION,
    record_row,
)
from memory_mcp.storage.visibility import VisibilityDialect, build_visible, read_filters

Values = dict[str, str | int | frozenset[SegmentId] | None]
T = TypeVar("T")

# durable, or on the chain, and where the other stands
_COUNTS_FOR: Final = (
    "({0} IS NULL OR {0} IN chain AND ({0} NOT IN elsewhere OR {1} IN elsewhere))".format
)

_ABANDONED: Final = f"""EXISTS (
        WITH RECURSIVE up (id, made) AS (
            SELECT source, record FROM source WHERE record = {{row}}
            UNION
            SELECT source.source, o.rowid FROM up JOIN record o ON o.id = up.id
                JOIN source ON source.record = o.rowid)
        SELECT 1 FROM up LEFT JOIN record o ON o.id = up.id
        WHERE (o.id IS NULL AND NOT EXISTS (
                SELECT 1 FROM suppression s WHERE s.target = up.id AND s.record = up.made))
            OR NOT (o.segment IS NULL OR o.segment IN chain)
            OR EXISTS (
                SELECT 1 FROM suppression s
                WHERE s.target = up.id AND s.buries
                    AND {_COUNTS_FOR("s.segment", "{segment}")}))"""

# the exclusions whose reason holds no more; SQLite looks for them once in each query that asks
_VOID: Final = f"""
        SELECT e.rowid FROM record e INDEXED BY record_excluding
        WHERE e.kind = 'exclusion' AND e.derived
            AND (e.segment IS NULL OR +e.segment IN chain)
            AND {_ABANDONED.format(row="e.rowid", segment="e.segment")}"""

# the + keeps SQLite from collecting whole segments where the newest few are wanted
_REACHABLE: Final = "(+r.segment IS NULL OR +r.segment IN chain)"

VISIBLE: Final = build_visible(
    VisibilityDialect(
        row="record",
        own="",
        reachable=_REACHABLE,
        counts=_COUNTS_FOR,
        void=_VOID,
        abandoned=lambda row, segment: _ABANDONED.format(row=row, segment=segment),
    ),
    "r.rowid",
)

# each block of postings, the newest first
_BLOCKS: Final = """block (number) AS (
        SELECT max(block) FROM posting UNION ALL
        SELECT (SELECT max(p.block) FROM posting p WHERE p.block < block.number)
        FROM block WHERE number IS NOT NULL)"""

_STATED: Final = "SELECT mark FROM record WHERE statement = :statement AND statement <> ''"

# each end of the numbers by itself is the first or last row; both in one query read every row
_COUNTS: Final = f"""
    WITH RECURSIVE {_BLOCKS}
    SELECT '', coalesce((SELECT max(rowid) FROM record) - (SELECT min(rowid) FROM record) + 1, 0)
    UNION ALL
    SELECT t.term, CASE WHEN t.records > {RARE_TERM_RECORDS_MAX} THEN t.records ELSE (
        SELECT count(*) FROM block
        CROSS JOIN posting p ON p.block = block.number AND p.term = t.number
        CROSS JOIN record r ON r.rowid = p.record WHERE {VISIBLE}) END
    FROM json_each(:terms) CROSS JOIN term t ON t.term = value"""
"""How many records there are, and with each term; of a rare one only those that are visible, so
that hidden ones do not show in it."""

_BEST: Final = "r.pinned DESC, r.importance DESC, r.id DESC"

# the best of each kind, of which an index keeps the order, and of these the best
_RANKED: Final = f"""
    SELECT r.id FROM json_each(:ranked) ranked CROSS JOIN record r ON r.rowid IN ({{best}})
    ORDER BY {_BEST} LIMIT :limit"""

# the newest of each segment, of which an index keeps the order, and of these the newest
_BY_SEGMENT: Final = """
    SELECT r.id FROM json_each(:parts) part CROSS JOIN record r ON r.rowid IN (
        SELECT r.rowid FROM {table} WHERE r.segment = part.value AND r.id > :after AND {needed}
            AND {condition} AND {seen} ORDER BY r.id DESC LIMIT :limit)
    ORDER BY r.id DESC LIMIT :limit"""

_NEWEST_OF_SEGMENTS: Final = """
    SELECT segment, newest FROM (
        SELECT value AS segment, (
            SELECT max(r.id) FROM {table} WHERE r.segment = chain.value AND {needed}
        ) AS newest FROM chain)
    WHERE newest IS NOT NULL ORDER BY newest DESC"""

_SEGMENTS_FIRST: Final = 8
"""Of a chain, the newest: they mostly hold what a node shows of a layer."""

_CONDITIONS: Final = {
    "category": "r.category = :category",
    # compared by the beginning's own length: no character of a key is a wildcard
    "key": "r.key = :key AND r.key != ''",
    "key_beginning": "r.key >= :key_beginning "
    "AND r.key != '' AND substr(r.key, 1, length(:key_beginning)) = :key_beginning",
    # the + keeps SQLite from sorting a whole kind where the newest few are wanted
    "kinds": "+r.kind IN (SELECT value FROM json_each(:kinds))",
    "phase": "r.phase = :phase",
    "segments": "r.segment IN (SELECT value FROM json_each(:segments))",
    "away": "(r.segment IS NULL OR r.segment NOT IN (SELECT value FROM json_each(:away)))",
    "branch": "r.branch = :branch",
    "session": "r.session = :session",
    "since": "r.created_at >= :since",
    "until": "r.created_at < :until",
    # the second half lets SQLite use the index, which leaves the others out
    "statement": "r.statement = :statement AND r.statement != ''",
    "statements": "r.statement IN (SELECT value FROM json_each(:statements)) AND r.statement != ''",
    "layer": "r.layer = :layer",
}
"""The condition on `r` for each filter that is one value."""


def view_parameters(view: View) -> Values:
    """The named values that `VISIBLE` needs; the segments are lists of the database."""
    return {"chain": view.chain, "elsewhere": view.away, "now": format_time(view.now)}


def build_filter(filters: Filters) -> tuple[str, Values]:
    """The filters as a condition on `r`, and its named values."""
    conditions, given = read_filters(filters)
    tags = given.pop("tags", ())
    values: Values = {
        name: json.dumps(value) if isinstance(value, list) else value
        for name, value in given.items()
    }
    conditions += (_CONDITIONS[name] for name in values)
    for number, tag in enumerate(tags):
        conditions.append(f"+r.rowid IN (SELECT record FROM tag WHERE tag = :tag{number})")
        values[f"tag{number}"] = tag
    return " AND ".join(conditions), values


def _choose_layer(filters: Filters) -> tuple[str, str] | None:
    """The table to read a layer of a node from, and the condition that its index needs.

    What a node of a large tree sees of a layer is little among all: it is found by its segments.
    """
    if filters.layer is None or filters.durable is not False:
        return None
    if filters.layer == "archival":
        return "record r INDEXED BY record_by_segment", "TRUE"
    return "record r INDEXED BY record_by_layer", "r.layer = :layer AND r.layer != 'archival'"


def build_query(wanted: Wanted) -> tuple[str, Values]:
    """The query for the ids of the newest or best records that pass the filters, and its values."""
    filters, order = wanted.filters, _BEST if wanted.best else "r.id DESC"
    ranked = wanted.best and filters.by_kind_alone
    condition, values = build_filter(replace(filters, kinds=frozenset()) if ranked else filters)
    values["limit"] = wanted.limit
    if ranked:
        condition = f"r.kind = ranked.value AND {condition}"
        values["ranked"] = json.dumps(sorted(filters.kinds or get_args(Kind)))
    seen = _REACHABLE if filters.history else VISIBLE
    query = f"FROM record r WHERE {condition} AND {seen} ORDER BY {order} LIMIT :limit"
    query = _RANKED.format(best=f"SELECT r.rowid {query}") if ranked else f"SELECT r.id {query}"
    return query, values


def build_count(filters: Filters) -> tuple[str, str, Values]:
    """Two queries for segments and how many visible `records` there are, and their named values.

    What the first finds holds until anybody writes; it is '' if time may hide any of them.
    """
    condition, values = build_filter(filters)
    if not replace(filters, segments=None, layer=None).by_kind_alone:
        chosen = _choose_layer(filters)
        table, needed = chosen or ("record r", "TRUE")
        seen = _REACHABLE if filters.history else VISIBLE
        seen += " AND r.segment IN chain" if chosen else ""
        counted = f"FROM {table} WHERE {needed} AND {condition} AND {seen}"
        return "", f"SELECT r.segment, 1 AS records {counted}", values
    doubtful = f"FROM record r INDEXED BY record_doubtful WHERE {condition} AND {VISIBLE}"
    plus = "+" if filters.segments else ""  # which are fewer
    # an OR would be looked up twice, and merged
    places = {True: "r.segment IS NULL", False: f"{plus}r.segment IN chain"}
    certain = (
        f"SELECT r.segment, r.records FROM tally r WHERE {condition} AND {place} "
        "AND (r.hider = '' OR r.hider NOT IN ('-', '?') "
        f"AND {_COUNTS_FOR('r.hider', 'r.segment')} IS NOT TRUE)"
        for durable, place in places.items()
        if filters.durable in (durable, None)
    )
    return (
        " UNION ALL ".join(certain),
        f"SELECT r.segment, 1 AS records {doubtful} AND r.hider = '?'",
        values,
    )


class TextQuery(NamedTuple):
    """Finds the records that hold one of the terms `some`.

    With `also` only those that hold one of these as well, and none that `without` finds.
    """

    some: Sequence[str]
    also: Sequence[str] = ()
    without: "TextQuery | None" = None


def plan_text_queries(counts: Mapping[str, int], matches_max: int) -> list[TextQuery]:
    """Queries that share no match and together find every record with a term, best first.

    `counts` says in how many records each term occurs. The first query has at most `matches_max`
    matches, unless even the two rarest terms together have more.
    """
    rare, common = split_terms(counts, matches_max)
    if not common:
        return [TextQuery(rare)] if rare else []
    if not rare and len(common) == 1:
        return [TextQuery(common)]
    first = TextQuery(rare) if rare else TextQuery(common[:1], also=common[1:])
    return [first, TextQuery(common, without=first)]


CANDIDATE: Final = (
    "r.id, r.importance, r.pinned, r.created_at, r.day, "
    "f.body, f.names, f.dates, f.extra, f.meaning, f.outline"
)
"""The columns that `parse_candidate` reads, of a record `r` and its fields `f`."""
_CANDIDATE_TYPES: Final = (str, int, int, str, str, str, str, str, str, bytes, bytes)


def parse_candidate(row: Sequence[Any]) -> Candidate:
    """The candidate in a row of `CANDIDATE`.

    Raises:
        IndexDamagedError: the file was changed by others; a broken page may hold anything.
    """
    if tuple(map(type, row)) != _CANDIDATE_TYPES:
        raise IndexDamagedError(
            f"The index holds {row!r:.100}, which nobody wrote.",
            "`memory-mcp doctor --reindex` makes it anew.",
        )
    return make_candidate(row)


_SIDES: Final = (("<", "DESC", -1), (">", "ASC", 1))

_ONE: Final = """
    SELECT c.id AS of, {step} AS steps, c.created_at AS at, (
        SELECT r.rowid FROM record r
        WHERE r.session = c.session AND r.recalled AND r.id {side} c.id AND {visible}
        ORDER BY r.id {order} LIMIT 1 OFFSET {offset}) AS row, c.day
    FROM json_each(:ids) JOIN record c ON c.id = value
"""

_AROUND: Final = (
    "WITH near AS MATERIALIZED ("
    + " UNION ALL ".join(
        _ONE.format(side=side, order=order, step=sign * (n + 1), offset=n, visible=VISIBLE)
        for side, order, sign in _SIDES
        for n in range(STEPS)
    )
    + """)
    SELECT of, steps, at, {wanted}, {candidate}
    FROM near CROSS JOIN record r ON r.rowid = near.row CROSS JOIN fields f ON f.record = r.rowid
    WHERE r.day = near.day
"""
)
"""The neighbours of the records `:ids`, with `wanted`: whether one passes the filters."""


_LOOKED_AT: Final = 1.5
"""How many of the best are first asked whether they are visible, for each that is wanted."""

_QUOTED_AMONG_MAX: Final = 2_000
"""Of the records with the rarest term of a quote, the newest are looked through for the others."""

_HERE: Final = "p.record NOT IN (SELECT rowid FROM aside)"
"""The record of a posting is not set aside: such ones must not take the places of others."""

_POSTING: Final = f"posting p ON p.block = each.record >> {BLOCK_BITS} AND p.record = each.record"

_QUOTING: Final = f"""WITH RECURSIVE {_BLOCKS},
    words (number, records) AS MATERIALIZED (
        SELECT t.number, t.records FROM json_each(:words) CROSS JOIN term t ON t.term = value
        ORDER BY t.records)
    SELECT {CANDIDATE} FROM (
        SELECT p.record FROM block CROSS JOIN posting p ON p.block = block.number
            AND p.term = (SELECT number FROM words LIMIT 1) AND {_HERE}
        ORDER BY p.record DESC LIMIT {_QUOTED_AMONG_MAX}) each
    CROSS JOIN fields f ON f.record = each.record
    CROSS JOIN record r ON r.rowid = each.record
    WHERE json_array_length(:words) = (SELECT count(*) FROM words)
        AND NOT EXISTS (
            SELECT 1 FROM words LEFT JOIN {_POSTING} AND p.term = words.number
            WHERE p.term IS NULL)
        AND instr(' ' || f.body || ' ', :phrase) AND {{condition}} AND {VISIBLE}
    ORDER BY each.record DESC LIMIT :limit"""

# as in `_BLOCKS`, until there are `enough` postings of the commonest term
_BLOCKS_WITH_MATCHES: Final = f"""block (number, seen) AS (
        SELECT max(block), 0 FROM posting UNION ALL
        SELECT (SELECT max(p.block) FROM posting p WHERE p.block < block.number),
            seen + (SELECT count(*) FROM posting p WHERE p.block = block.number
                AND p.term = (SELECT number FROM term WHERE term = :commonest) AND {_HERE})
        FROM block WHERE number IS NOT NULL AND seen < :enough)"""

_TERMS: Final = """{name} (number, rarity) AS MATERIALIZED (
        SELECT t.number, value FROM json_each(:{name}) CROSS JOIN term t ON t.term = key)"""
_HOLDS: Final = (
    f"EXISTS (SELECT 1 FROM {{name}} CROSS JOIN {_POSTING} AND p.term = {{name}}.number)"
)
_HELD: Final = """each.record IN (
            SELECT p.record FROM block CROSS JOIN {name}
            CROSS JOIN posting p ON p.block = block.number AND p.term = {name}.number)"""

# Okapi BM25 with its usual constants (k1 = 1.2, b = 0.75); a weight is stored ten times
_WORTH: Final = """coalesce(sum(rarity * 0.22 * p.weight / (
            0.1 * p.weight + 1.2 * (0.25 + 0.75 * p.length / usual.length))), 0)"""

# the terms that a record is found by are scored on the way, the rest for those that were found
_MATCHED: Final = f"""WITH RECURSIVE {_BLOCKS_WITH_MATCHES}, {{terms}},
    usual (length) AS MATERIALIZED (
        SELECT max(total(letters), 1) / max(total(texts), 1) FROM held),
    matched (record, worth) AS MATERIALIZED (
        SELECT record, worth FROM (
            SELECT p.record, {_WORTH} AS worth FROM block CROSS JOIN usual CROSS JOIN some
            CROSS JOIN posting p ON p.block = block.number AND p.term = some.number AND {_HERE}
            GROUP BY p.record ORDER BY p.record DESC LIMIT -1) each
        WHERE {{condition}} LIMIT {MATCHES_MAX})"""
_COST: Final = f"""-(worth + (
            SELECT {_WORTH} FROM rest CROSS JOIN {_POSTING} AND p.term = rest.number)) AS cost"""
_SEEN: Final = f"""
    SELECT * FROM (
        SELECT cost, {CANDIDATE} FROM (
            SELECT {{cost}}, r.rowid AS row FROM {{matches}} ON r.rowid = each.record
            WHERE {{condition}} AND {VISIBLE} ORDER BY cost, r.id DESC LIMIT :limit) seen
        CROSS JOIN record r ON r.rowid = seen.row
        CROSS JOIN fields f ON f.record = seen.row)"""

# most of the matches are visible, so the best of them are asked first
_BEST_SEEN: Final = f""",
    best AS MATERIALIZED (
        SELECT each.record, {_COST} FROM matched each CROSS JOIN usual
        ORDER BY cost LIMIT :looked_at)
    SELECT count(*), max(cost), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM best UNION ALL
    {_SEEN.format(cost="cost", matches="best each CROSS JOIN record r", condition="{condition}")}"""

# a filter leaves few of them: only these are scored
_EVERY_SEEN: Final = _SEEN.format(
    cost=_COST, matches="matched each CROSS JOIN usual CROSS JOIN record r", condition="{condition}"
)


_SPELLED: Final = f"""
    SELECT t.term FROM spelling s JOIN term t ON t.number = s.term
    WHERE s.trigram IN (SELECT value FROM json_each(:trigrams)) AND t.records > 0
    GROUP BY s.term ORDER BY count(*) DESC, t.term LIMIT {SPELLINGS_MAX}"""

_GONE: Final = """WITH RECURSIVE doomed (id) AS (
    SELECT target FROM erasure UNION SELECT value FROM json_each(:also) UNION
    SELECT r.id FROM doomed JOIN source ON source.source = doomed.id
        JOIN record r ON r.rowid = source.record UNION
    SELECT a.id FROM doomed JOIN source ON source.source = doomed.id
        JOIN aside a ON a.rowid = source.record),
gone (id) AS (
    SELECT id FROM doomed WHERE NOT EXISTS (
        SELECT 1 FROM record r JOIN erasure mine ON mine.record = r.rowid
        WHERE r.id = doomed.id AND NOT EXISTS (
            SELECT 1 FROM erasure same JOIN record other ON other.rowid = same.record
            WHERE same.target = mine.target AND other.id NOT IN (SELECT id FROM doomed))))"""
"""The records to erase, and those derived from them, which repeat their words.

A record that orders an erasure stays, unless another record that stays orders the same.
"""

_ORDERED: Final = f"""{_GONE},
ordered (id, eraser) AS (
    SELECT e.target, o.id FROM erasure e JOIN record o ON o.rowid = e.record UNION
    SELECT value, '' FROM json_each(:also) UNION
    SELECT r.id, ordered.eraser FROM ordered JOIN source ON source.source = ordered.id
        JOIN record r ON r.rowid = source.record UNION
    SELECT a.id, ordered.eraser FROM ordered JOIN source ON source.source = ordered.id
        JOIN aside a ON a.rowid = source.record)"""
"""The same, with the record that orders each; '' for those of `also`."""

_ASIDE_WITH: Final = """WITH RECURSIVE made (id) AS (
    SELECT value FROM json_each(:ids) UNION
    SELECT a.id FROM made JOIN source ON source.source = made.id
        JOIN aside a ON a.rowid = source.record)
SELECT id FROM aside WHERE id IN (SELECT id FROM made)"""
"""What is set aside of these records, and of what was derived from them."""

_ORDERS: Final = "EXISTS (SELECT 1 FROM erasure WHERE record = r.rowid)"
"""The record orders an erasure."""

_INDEX_DATABASE: Final = DatabaseSpec(
    schema=SCHEMA,
    version=VERSION,
    full_sync=False,
    busy=IndexBusyError,
    damaged=IndexDamagedError,
    advice="The memories are safe; try again.",
    page_bytes=8_192,  # vectors of a memory are 1 to 3 kB
    lists=("chain", "elsewhere"),
    digest=DIGEST,
)


def build_match(query: TextQuery, rarities: Mapping[str, float]) -> tuple[str, Values]:
    """The tables that the `matched` of a query come from, and their named values.

    They are scored by all the terms with `rarities`.
    """
    without = query.without or TextQuery(())
    named = {
        "some": query.some, "also": query.also, "never": without.some, "never_also": without.also,
        "rest": rarities.keys() - {*query.some, *without.some},
    }  # fmt: skip
    values: Values = {
        name: json.dumps({term: rarities[term] for term in sorted(terms)})
        for name, terms in named.items()
    }
    plain = not query.also and not without.also
    conditions = [_HOLDS.format(name="also")] if query.also else []
    if without.also:
        both = _HOLDS.format(name="never"), _HOLDS.format(name="never_also")
        conditions.append(f"NOT ({' AND '.join(both)})")
    elif without.some:
        conditions.append(f"NOT {_HELD.format(name='never')}")
    # the postings of the commonest term tell how far back to look, unless few of them may count
    values |= {
        "commonest": query.some[-1] if plain else None,
        "enough": (2 if query.without else 1) * MATCHES_MAX,
    }
    return _MATCHED.format(
        terms=", ".join(_TERMS.format(name=name) for name in named),
        condition=" AND ".join(conditions) or "TRUE",
    ), values


class SqliteIndex:
    """Implements `ports.SearchIndex`.

    `fields_of` says what of a record is searched. `prepare` makes the folder before the file is
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
        self.file = Database(path, _INDEX_DATABASE, prepare, setting=setting)
        self._complete = 0  # the number of the opening that is known to be complete

    async def add(self, records: Sequence[Record]) -> None:
        """Insert them; several that are older than all there are get the rows below theirs.

        What matches is looked at from the newest row on, and an index that is made anew begins with
        the newest records.
        """
        numbers: Sequence[int | None] = [None] * len(records)
        if len(records) > 1:
            ((oldest, *lowest),) = await self.file.rows(
                "SELECT min(id), min(rowid), (SELECT min(rowid) FROM aside) FROM record"
            )
            if oldest is not None and max(record.id for record in records) < oldest:
                below = min(number for number in lowest if number is not None)
                numbers = range(below - len(records), below)
        rows = [
            (*record_row(record, self._fields_of(record)), number)
            for record, number in zip(records, numbers, strict=True)
        ]
        if rows:
            await self.file.write(INSERT_RECORD, rows)

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            aside = _ids(await self.file.rows(_ASIDE_WITH, {"ids": _as_list(record_ids)}))
            rows = [(id_,) for id_ in {*record_ids, *aside}]
            await self.file.write(BLANK_FIELDS, rows)
            await self.file.write("DELETE FROM record WHERE id = ?", rows)
            if aside:
                await self.file.write("DELETE FROM aside WHERE id = ?", [(id_,) for id_ in aside])
            await self.file.wipe()

    async def set_aside(self, record_ids: Collection[RecordId]) -> None:
        if not record_ids:
            return
        await self.file.transact(SET_ASIDE, {"ids": _as_list(record_ids)})
        beyond = "SELECT id FROM aside ORDER BY id DESC LIMIT -1 OFFSET :most"
        await self.remove(_ids(await self.file.rows(beyond, {"most": INDEX_ASIDE_RECORDS_MAX})))

    async def list_aside(self, among: Collection[RecordId]) -> set[RecordId]:
        if not among:
            return set()
        # all of them: they are bounded, and what is asked about is not
        return set(_ids(await self.file.rows("SELECT id FROM aside"))).intersection(among)

    async def take_up(self, digests: Mapping[RecordId, str]) -> set[RecordId]:
        same = """SELECT a.id FROM json_each(:digests) of CROSS JOIN aside a
            ON a.id = of.key AND a.digest = of.value"""
        found = _ids(await self.file.rows(same, {"digests": json.dumps(digests)}))
        if found:
            await self.file.transact(TAKE_UP, {"ids": _as_list(found)})
        return set(found)

    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]:
        condition = "" if among is None else " WHERE id IN (SELECT value FROM json_each(:ids))"
        values = {} if among is None else {"ids": _as_list(among)}
        query = f"SELECT coalesce(group_concat(id, ' '), '') FROM record{condition}"
        ((found,),) = await self.file.rows(query, values)
        return _split_ids(found)

    async def kinds(self, among: Collection[RecordId]) -> dict[RecordId, Kind]:
        some = "WHERE id IN (SELECT value FROM json_each(:ids))"
        both = f"SELECT id, kind FROM record {some} UNION ALL SELECT id, kind FROM aside {some}"
        rows = await self.file.rows(both, {"ids": _as_list(among)}) if among else ()
        return {RecordId(id_): kind for id_, kind in rows}

    async def outlines(self, among: Collection[RecordId]) -> dict[RecordId, bytes]:
        rows = await self.file.rows(
            "SELECT r.id, f.outline FROM json_each(:ids) CROSS JOIN record r ON r.id = value "
            "CROSS JOIN fields f ON f.record = r.rowid",
            {"ids": _as_list(among)},
        )
        return {RecordId(id_): outline for id_, outline in rows if isinstance(outline, bytes)}

    async def summarise_ids(self, bound: str) -> IdSummary:
        rows = await self.file.rows(
            "SELECT coalesce((SELECT max(id) FROM record WHERE id < :bound), ''), "
            "coalesce((SELECT marks FROM known), 0)",
            {"bound": bound},
        )
        return IdSummary(*rows[0])

    async def corpus(self, terms: Collection[str], view: View) -> CorpusStatistics:
        values = {**view_parameters(view), "terms": _as_list(terms)}
        (_, records), *rows = await self.read(_COUNTS, values)
        return CorpusStatistics(records, dict.fromkeys(terms, 0) | {row[0]: row[1] for row in rows})

    async def spellings(self, terms: Collection[str]) -> dict[str, list[str]]:
        queries = [(_SPELLED, {"trigrams": json.dumps(split_trigrams(term))}) for term in terms]
        found = await self._read_each(queries)
        return {term: [name for (name,) in rows] for term, rows in zip(terms, found, strict=True)}

    async def match(
        self,
        terms: Sequence[str],
        corpus: CorpusStatistics,
        view: View,
        filters: Filters,
        limit: int,
    ) -> list[Candidate]:
        rarest, asked = weigh_terms(terms, corpus)
        found: dict[RecordId, Candidate] = {}
        for query in plan_text_queries(rarest, MATCHES_MAX):
            match = build_match(query, asked)
            best = await self._find_best(match, view, filters, limit)
            found.update((candidate.id, candidate) for candidate in best)
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    async def quote(
        self, row: Sequence[str], view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        if len(row) < QUOTE_TERMS_MIN:
            return []
        condition, values = build_filter(filters)
        rows = await self.read(
            _QUOTING.format(condition=condition),
            {
                **view_parameters(view), **values, "limit": limit, "words": _as_list({*row}),
                "phrase": f" {' '.join(row)} ",
            },
        )  # fmt: skip
        return [parse_candidate(each) for each in rows]

    async def newest(self, view: View, filters: Filters, limit: int) -> list[Candidate]:
        condition, values = build_filter(filters)
        rows = await self.read(
            f"""SELECT {CANDIDATE} FROM record r
                CROSS JOIN fields f ON f.record = r.rowid
                WHERE {condition} AND {VISIBLE} ORDER BY r.id DESC LIMIT :limit""",
            {**view_parameters(view), **values, "limit": limit},
        )
        return [parse_candidate(each) for each in rows]

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]:
        condition, values = build_filter(filters)
        rows = await self.read(
            _AROUND.format(wanted=condition, candidate=CANDIDATE),
            {**view_parameters(view), **values, "ids": _as_list(record_ids)},
        )
        return make_neighbours(rows, parse_candidate)

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]:
        chosen = _choose_layer(filters)
        if chosen and not best:
            return await self._find_newest_of_layer(view, filters, limit, *chosen)
        return (await self.find_each(view, [Wanted(filters, limit, best)]))[0]

    async def find_stated(self, view: View, statement: str, limit: int) -> Stated:
        query, own = build_query(Wanted(Filters(statement=statement), limit))
        queries = [(_STATED, {"statement": statement}), (query, {**view_parameters(view), **own})]
        marks, *found = await self._read_each(queries if limit else queries[:1])
        ids = [id_ for rows in found for id_ in _ids(rows)]
        return Stated(statement, ids, reduce(int.__xor__, (row[0] for row in marks), 0))

    async def find_each(self, view: View, wanted: Sequence[Wanted]) -> list[list[RecordId]]:
        shared = view_parameters(view)
        queries = map(build_query, wanted)
        found = await self._read_each([(query, {**shared, **own}) for query, own in queries])
        return [_ids(rows) for rows in found]

    async def count(self, view: View, filters: Filters) -> int:
        counted = "SELECT coalesce(sum(records), 0) FROM ({})"
        return sum(row[0] for row in await self._count(counted, view, filters))

    async def count_by_segment(self, view: View, filters: Filters) -> dict[SegmentId | None, int]:
        counted = "SELECT segment, sum(records) FROM ({}) GROUP BY segment"
        found: dict[SegmentId | None, int] = {}
        for segment, records in await self._count(counted, view, filters):
            found[segment] = found.get(segment, 0) + records
        return found

    async def _count(self, counted: str, view: View, filters: Filters) -> Rows:
        """What is `counted` of the visible records, in rows of those that time may hide and others.

        Most of it is kept: a project of thousands of segments has five sorts of records in each.
        """
        certain, doubtful, own = build_count(filters)
        values = {**view_parameters(view), **own}
        if not certain:
            return await self.read(counted.format(doubtful), values)
        lasting = {name: value for name, value in values.items() if name != "now"}
        queries = (counted.format(certain), lasting), (counted.format(doubtful), values)
        parts = await self._when_complete(await self.file.rows_kept(*queries))
        return [row for rows in parts for row in rows]

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        rows = await self.read(
            f"SELECT r.id FROM record r "
            f"WHERE r.id IN (SELECT value FROM json_each(:ids)) AND r.recalled AND {VISIBLE}",
            {**view_parameters(view), "ids": _as_list(record_ids)},
        )
        return set(_ids(rows))

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        found: list[RecordId] = []
        wanted = record_id.encode(errors="replace").decode()  # a lone surrogate may be mistyped
        for side, order in (("<=", "DESC"), (">", "ASC")):
            rows = await self.read(
                f"SELECT r.id FROM record r WHERE r.id {side} :id AND r.recalled "
                f"AND {VISIBLE} ORDER BY r.id {order} LIMIT {NEAREST}",
                {**view_parameters(view), "id": wanted},
            )
            found.extend(_ids(rows))
        return found

    async def named(self, part: str, view: View | None, limit: int) -> list[RecordId]:
        part = part.casefold()
        if not is_id_part(part):
            return []
        sides = ["r.id >= :part AND r.id < :after"]
        if len(part) >= ID_END_CHARS_MIN:
            sides.append("substr(r.id, -:length) = :part")
        else:  # the beginning of what is printed of an id
            sides.append(f"substr(r.id, -{ID_END_CHARS_MIN}, :length) = :part")
        seen = f" AND {VISIBLE}" if view else ""
        rows = await self.read(
            f"SELECT r.id FROM record r WHERE r.recalled AND ({' OR '.join(sides)}){seen} "
            "ORDER BY r.id LIMIT :limit",
            {
                **(view_parameters(view) if view else {}),
                "part": part,
                "after": f"{part}g",
                "length": len(part),
                "limit": limit,
            },
        )
        return _ids(rows)

    async def moves(self) -> list[RecordId]:
        return _ids(await self.read("SELECT id FROM record WHERE moves = 1 ORDER BY id"))

    async def ids_by_segment(
        self, segments: Collection[SegmentId]
    ) -> dict[SegmentId, set[RecordId]]:
        rows = await self.read(
            "SELECT segment, group_concat(id, ' ') FROM record "
            "WHERE segment IN (SELECT value FROM json_each(:segments)) GROUP BY segment",
            {"segments": _as_list(segments)},
        )
        return {SegmentId(segment): _split_ids(ids) for segment, ids in rows}

    async def segments(self, *, orders: bool = True) -> dict[SegmentId, RecordId]:
        condition = "" if orders else f" AND NOT {_ORDERS}"
        rows = await self.read(
            "SELECT segment, max(id) FROM record r "
            f"WHERE segment IS NOT NULL{condition} GROUP BY segment"
        )
        return {SegmentId(row[0]): RecordId(row[1]) for row in rows}

    async def holding(self, among: Collection[SegmentId] | None = None) -> set[SegmentId]:
        some = "IS NOT NULL" if among is None else "IN (SELECT value FROM json_each(:segments))"
        values = {} if among is None else {"segments": _as_list(among)}
        query = f"""SELECT json_group_array(segment) FROM (
            SELECT DISTINCT segment FROM tally WHERE segment {some} AND segment NOT IN (
                SELECT r.segment FROM erasure CROSS JOIN record r ON r.rowid = erasure.record
                WHERE r.segment IS NOT NULL GROUP BY r.segment HAVING count(DISTINCT r.rowid) =
                    (SELECT sum(records) FROM tally t WHERE t.segment = r.segment)))"""
        (((found,),),) = await self._when_complete(await self.file.rows_kept((query, values)))
        return set(json.loads(found))

    async def suppressed_by(
        self, segments: Collection[SegmentId], *, but: Collection[SegmentId] = ()
    ) -> set[RecordId]:
        rows = await self.read(
            "SELECT target FROM suppression s "
            "WHERE segment IN (SELECT value FROM json_each(:segments)) AND NOT EXISTS ("
            "SELECT 1 FROM record r WHERE r.id = s.target "
            "AND r.segment IN (SELECT value FROM json_each(:but)))",
            {"segments": _as_list(segments), "but": _as_list(but)},
        )
        return set(_ids(rows))

    async def suppressing(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self.read(
            "SELECT r.id FROM suppression s JOIN record r ON r.rowid = s.record "
            "WHERE s.target IN (SELECT value FROM json_each(:ids))",
            {"ids": _as_list(record_ids)},
        )
        return set(_ids(rows))

    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self.read(
            """WITH RECURSIVE made (id) AS (
                SELECT value FROM json_each(:ids) UNION
                SELECT r.id FROM made JOIN source ON source.source = made.id
                    JOIN record r ON r.rowid = source.record)
            SELECT id FROM made WHERE id NOT IN (SELECT value FROM json_each(:ids))""",
            {"ids": _as_list(record_ids)},
        )
        return set(_ids(rows))

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]:
        every = "id IN (SELECT id FROM record) OR id IN (SELECT id FROM aside)"
        some = every if among is None else "id IN (SELECT value FROM json_each(:ids))"
        values = {} if among is None else {"ids": _as_list(among)}
        rows = await self.file.rows(
            f"{_ORDERED} SELECT id, eraser FROM ordered "
            f"WHERE ({some}) AND id IN (SELECT id FROM gone)",
            {**values, "also": _as_list(also)},
        )
        return group_orders(rows)

    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]:
        return set(_ids(await self.read(f"{_GONE} SELECT id FROM gone", {"also": _as_list(also)})))

    async def erased_by(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self.read(
            "SELECT target FROM erasure WHERE record IN ("
            "SELECT rowid FROM record WHERE id IN (SELECT value FROM json_each(:ids)))",
            {"ids": _as_list(record_ids)},
        )
        return set(_ids(rows))

    async def erased_since(self, bound: str) -> set[RecordId]:
        rows = await self.read(
            "SELECT target FROM erasure JOIN record r ON r.rowid = record WHERE r.id > :bound",
            {"bound": bound},
        )
        return set(_ids(rows))

    async def mark_complete(self) -> None:
        if not (await self.file.rows("SELECT count(*) FROM complete"))[0][0]:  # it may be read-only
            await self.file.rows(
                "INSERT INTO complete SELECT datetime() WHERE NOT EXISTS (SELECT 1 FROM complete)"
            )
        self._complete = self.file.openings

    async def findings(self, *, repair: bool) -> list[Finding]:
        try:
            verdict = await self.file.check_integrity()
        except IndexDamagedError as error:
            verdict = str(error)
        except StoreUnavailableError as error:  # a link or a folder in its place, or no access
            return [Finding.of("index-unusable", "must", error, "Then look again.")]
        if verdict == "ok":
            return []
        if repair:
            await self.reset()
        return [
            Finding(
                "index-damaged", "should", f"{self.path}: {verdict}",
                "It is a derivative: `memory-mcp doctor --reindex` makes it anew.", repaired=repair,
            )
        ]  # fmt: skip

    async def reset(self) -> None:
        await self.file.replace()

    async def aclose(self) -> None:
        await self.file.aclose()

    async def read(self, statement: str, values: Mapping[str, Any] | None = None) -> Rows:
        """Run a query on an index that holds every record.

        Raises:
            IndexDamagedError: not every record is in.
        """
        return await self._when_complete(await self.file.rows(statement, values or {}))

    async def _read_each(self, queries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Rows]:
        return await self._when_complete(await self.file.rows_of_each(queries))

    async def _when_complete(self, answer: T) -> T:
        checked = self._complete == self.file.openings  # once for each file
        if not checked and not PARTIAL_ANSWERS.get():
            complete = await self.file.rows("SELECT count(*) FROM complete")
            if not complete[0][0]:
                raise IndexDamagedError(f"{self.path} is not complete yet.")
            self._complete = self.file.openings
        return answer

    async def _find_newest_of_layer(
        self, view: View, filters: Filters, limit: int, table: str, needed: str
    ) -> list[RecordId]:
        """The newest of a layer, from as many segments of the chain as they lie in."""
        condition, own = build_filter(filters)
        values = {**view_parameters(view), **own, "limit": limit}
        named = {"layer": filters.layer, **view_parameters(view)}
        parts = await self.read(_NEWEST_OF_SEGMENTS.format(table=table, needed=needed), named)
        seen = _REACHABLE if filters.history else VISIBLE
        query = _BY_SEGMENT.format(table=table, needed=needed, condition=condition, seen=seen)
        found: list[RecordId] = []
        start, many = 0, _SEGMENTS_FIRST
        while start < len(parts) and not (len(found) == limit and found[-1] > parts[start][1]):
            asked = json.dumps([segment for segment, _ in parts[start : start + many]])
            after = found[-1] if len(found) == limit else ""
            found += _ids(await self.read(query, {**values, "parts": asked, "after": after}))
            found = sorted(found, reverse=True)[:limit]
            start, many = start + many, 4 * many
        return found

    async def _find_best(
        self, match: tuple[str, Values], view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        """The best visible records of the matches."""
        (tables, asked), (condition, values) = match, build_filter(filters)
        values |= {**view_parameters(view), **asked, "limit": limit}
        if filters == Filters():
            looked_at = int(limit * _LOOKED_AT)
            query = tables + _BEST_SEEN.format(condition=condition)
            (looked, worst, *_), *rows = await self.read(query, {**values, "looked_at": looked_at})
            best = _sort_matches(rows)
            if looked < looked_at or (len(best) == limit and best[-1][0] < worst):
                return [parse_candidate(row[1:]) for row in best]
        rows = await self.read(tables + _EVERY_SEEN.format(condition=condition), values)
        return [parse_candidate(row[1:]) for row in _sort_matches(rows)]


def _sort_matches(rows: Rows) -> Rows:
    """The rows of candidates behind their costs, in order: a join promises none."""
    return sorted(sorted(rows, key=itemgetter(1), reverse=True), key=itemgetter(0))


def _as_list(values: Collection[str]) -> str:
    """The values as SQL's `json_each` reads them."""
    return json.dumps(sorted(values))


def _ids(rows: Rows) -> list[RecordId]:
    return [RecordId(row[0]) for row in rows]


def _split_ids(text: str) -> set[RecordId]:
    """The ids that SQLite gave as one text: rows of their own take several times as long."""
    return cast("set[RecordId]", set(text.split()))
