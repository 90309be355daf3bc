"""The index in PostgreSQL: rows beside the records, in the same database.

An index that was never completed raises `IndexDamagedError` instead of answering from half of the
memories; the use cases then fill it from the records.

Full text: terms are lexemes of a `tsvector`, each with its bank before it, and a GIN index finds
those that hold them. Scores are BM25 over the newest matches a reader may see; commoner terms find
entries on their own only if nothing better is left.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from memory_mcp.domain.ids import ID_END_CHARS_MIN, RecordId, SegmentId, is_id_part
from memory_mcp.domain.limits import (
    QUOTE_TERMS_MIN,
    RARE_TERM_RECORDS_MAX,
    RESULTS_MAX,
)
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Kind, Record
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
from memory_mcp.errors import IndexDamagedError
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
from memory_mcp.storage.postgres.database import Rows, fetch
from memory_mcp.storage.postgres.rows import (
    INSERT,
    LEXEME,
    Bank,
    count_terms,
    dump_rows,
    quote_lexeme,
    remove_entries,
)
from memory_mcp.storage.postgres.visible import (
    CHAIN,
    ON_CHAIN,
    REACHABLE,
    SEGMENTS,
    VISIBLE,
    build_filter,
    build_queries,
    view_values,
)

_LENGTH_USUAL: Final = 40
"""Terms of a usual memory, until the bank's own are counted: a longer one says less with each."""
_UNCOUNTED_MAX: Final = 200
"""Entries whose terms are counted with each search; more are counted for good."""

CANDIDATE: Final = (
    "r.id, r.importance, r.pinned, r.created_at, r.day, r.body, r.names, r.dates, r.extra, "
    "r.meaning, r.outline"
)
"""The columns that `make_candidate` takes."""

_CORPUS: Final = f"""
    {CHAIN},
    asked AS MATERIALIZED (
        SELECT term, :bank || ':' || term AS lexeme FROM unnest(string_to_array(:terms, ' ')) term),
    waiting AS MATERIALIZED (SELECT row FROM uncounted WHERE bank = :bank),
    fresh AS (
        SELECT asked.term, count(*) AS records
        FROM entry CROSS JOIN LATERAL unnest(tsvector_to_array(words)) held (lexeme)
        JOIN asked USING (lexeme)
        WHERE row = ANY(ARRAY(SELECT row FROM waiting)) AND recalled GROUP BY asked.term),
    counted AS MATERIALIZED (
        SELECT asked.term, coalesce(fresh.records, 0) + coalesce((
            SELECT term.records FROM term
            WHERE term.bank = :bank AND term.term = asked.term), 0) AS records
        FROM asked LEFT JOIN fresh USING (term)),
    rare AS MATERIALIZED (
        SELECT term, {LEXEME}::tsquery AS query FROM counted
        WHERE records BETWEEN 1 AND {RARE_TERM_RECORDS_MAX}),
    holding AS MATERIALIZED (
        SELECT r.words FROM (
            SELECT string_agg(query::text, ' | ')::tsquery AS query FROM rare HAVING count(*) > 0
        ) any_of_them CROSS JOIN LATERAL look_up(query, {SEGMENTS}) found (row)
        JOIN entry r USING (row) WHERE r.recalled AND {VISIBLE}),
    seen AS (
        SELECT rare.term, count(*) AS records FROM rare JOIN holding ON words @@ query
        GROUP BY rare.term)
    SELECT NULL AS term, b.records + (SELECT count(*) FROM waiting),
        (SELECT count(*) FROM waiting) FROM bank b WHERE b.number = :bank
    UNION ALL
    SELECT c.term, CASE WHEN c.records > {RARE_TERM_RECORDS_MAX} THEN c.records
        ELSE coalesce(seen.records, 0) END, 0
    FROM counted c LEFT JOIN seen USING (term)"""
"""How many records hold each term: of a rare one those that are visible, of others all."""

_LOOK_UP: Final = f"look_up(:query::tsquery, {SEGMENTS})"
_MATCHES: Final = f"{_LOOK_UP} found (row) JOIN entry r USING (row) WHERE true"
_LOOKED_UP_MAX: Final = 50_000
"""Matches looked up by their words; of more than these, the newest are met going back in time."""
_WINDOW_MATCHES_MIN: Final = 5_000
"""Of more than these, those among the newest entries will do, if that is enough."""
_WINDOWS: Final = (1_000, 4_000)
"""So many of the newest entries on the chain are gone through for that; if need be, so many."""
_ENOUGH: Final = 2 * RESULTS_MAX
_NEWEST_MATCHES: Final = "entry r WHERE r.words @@ :query::tsquery"
_MATCHES_IN_WINDOWS: Final = tuple(
    f"""(
    SELECT row FROM entry n WHERE n.bank = :bank AND n.recalled
        AND (n.segment IS NULL OR n.segment IN (SELECT segment FROM chain))
    ORDER BY n.id DESC LIMIT {window}) near JOIN entry r USING (row)
    WHERE r.words @@ :wanted::tsquery"""
    for window in _WINDOWS
)
"""With what a later query seeks: most of what a window costs is to go through it."""

# Okapi BM25 with its usual constants (k1 = 1.2, b = 0.75); a field counts as the ranking weighs it.
# Of one lexeme `ts_rank_cd` is the sum of the weights of its places, which are tenths. With `|| ''`
# words are unpacked once, instead of for each lexeme asked for.
_SCORED: Final = f"""
    matched AS MATERIALIZED (
        SELECT r.row, r.id, r.words, r.length FROM {{found}}
            AND {{condition}} AND r.recalled AND {VISIBLE}
        ORDER BY r.id DESC LIMIT {MATCHES_MAX}),
    asked AS MATERIALIZED (
        SELECT lexeme::tsquery AS query, rarity
        FROM unnest(:lexemes::text[], :rarities::float8[]) given (lexeme, rarity)),
    scored AS (
        SELECT m.row, m.sought, sum(asked.rarity * 2.2 * held.often
            / (held.often + 1.2 * (0.25 + 0.75 * m.length / (
                SELECT coalesce(length::float8 / nullif(records, 0), {_LENGTH_USUAL})
                FROM bank WHERE number = :bank)))) AS score
        FROM (
            SELECT row, id, length, words @@ :query::tsquery AS sought, words || '' AS words
            FROM matched OFFSET 0) m
        JOIN asked ON m.words @@ asked.query
        CROSS JOIN LATERAL (
            SELECT round(10 * ts_rank_cd('{{{{0.6,0.5,0.6,1}}}}', m.words, asked.query)) / 10
                AS often OFFSET 0) held
        GROUP BY m.row, m.id, m.sought
        ORDER BY m.sought DESC, score DESC, m.id DESC LIMIT :limit)"""

_AROUND: Final = f"""
    {CHAIN}, near AS MATERIALIZED ({
    " UNION ALL ".join(
        f'''
        SELECT c.id AS of, {sign} * there.number AS steps, c.created_at AS at, c.day, there.row
        FROM entry c CROSS JOIN LATERAL (
            SELECT r.row, row_number() OVER (ORDER BY r.id {order}) AS number FROM entry r
            WHERE r.bank = :bank AND r.session = c.session AND r.recalled AND r.id {side} c.id
                AND {VISIBLE}
            ORDER BY r.id {order} LIMIT {STEPS}) there
        WHERE c.bank = :bank AND c.id = ANY(:ids)'''
        for side, order, sign in (("<", "DESC", -1), (">", "ASC", 1))
    )
})
    SELECT near.of, near.steps, near.at, ({{wanted}}) IS TRUE AS wanted, {CANDIDATE}
    FROM near JOIN entry r USING (row) WHERE r.day = near.day ORDER BY near.of, near.steps"""

_IN_STEP: Final = """
    SELECT complete AND records + (SELECT count(*) FROM uncounted WHERE bank = :bank)
            = (SELECT count(*) FROM record WHERE bank = :bank),
        coalesce((
            SELECT row = ANY(ARRAY(SELECT look_up(ask_all(tsvector_to_array(words)))))
            FROM entry WHERE bank = :bank AND recalled AND length(words) > 0
            ORDER BY id DESC LIMIT 1), true)
    FROM bank WHERE number = :bank"""

_GONE: Final = """WITH RECURSIVE doomed (id) AS (
        (SELECT target FROM erasure WHERE bank = :bank
            UNION SELECT unnest(:also::text[]) COLLATE "C")
        UNION
        SELECT r.id FROM doomed JOIN source ON source.bank = :bank AND source.source = doomed.id
            JOIN entry r ON r.row = source.row),
    gone (id) AS (
        SELECT id FROM doomed WHERE NOT EXISTS (
            SELECT 1 FROM entry r JOIN erasure mine ON mine.row = r.row
            WHERE r.bank = :bank AND r.id = doomed.id AND NOT EXISTS (
                SELECT 1 FROM erasure same JOIN entry other ON other.row = same.row
                WHERE same.bank = :bank AND same.target = mine.target
                    AND other.id NOT IN (SELECT id FROM doomed))))"""
"""The records to erase, and those derived from them, which repeat their words.

A record that orders an erasure stays, unless another record that stays orders the same.
"""

_ORDERED: Final = f"""{_GONE},
    ordered (id, eraser) AS (
        (SELECT e.target, o.id FROM erasure e JOIN entry o ON o.row = e.row WHERE e.bank = :bank
            UNION SELECT unnest(:also::text[]) COLLATE "C", '')
        UNION
        SELECT r.id, ordered.eraser FROM ordered
            JOIN source ON source.bank = :bank AND source.source = ordered.id
            JOIN entry r ON r.row = source.row)"""
"""The same, with the record that orders each; '' for those of `also`."""

_NEWEST_OF_EACH: Final = """
    WITH RECURSIVE each (segment) AS (
        SELECT min(segment) FROM entry WHERE bank = :bank
        UNION ALL
        SELECT (SELECT min(e.segment) FROM entry e
            WHERE e.bank = :bank AND e.segment > each.segment)
        FROM each WHERE each.segment IS NOT NULL)
    SELECT each.segment, newest.id FROM each CROSS JOIN LATERAL (
        SELECT r.id FROM entry r WHERE r.bank = :bank AND r.segment = each.segment {condition}
        ORDER BY r.id DESC LIMIT 1) newest"""
"""The newest entry of each segment, however many entries each has."""

_ORDERS: Final = "EXISTS (SELECT 1 FROM erasure WHERE erasure.row = r.row)"
"""The record orders an erasure."""


class PostgresIndex:
    """Implements `ports.SearchIndex`. `fields_of` says what of a record is searched."""

    def __init__(self, bank: Bank, fields_of: Callable[[Record], SearchFields]) -> None:
        self.bank = bank
        self._fields_of = fields_of

    async def add(self, records: Sequence[Record]) -> None:
        known = await self.ids({record.id for record in records}) if records else set[RecordId]()
        new = [(r, self._fields_of(r), None) for r in records if r.id not in known]
        if new:
            await self.bank.rows(INSERT, dump_rows(await self.bank.number(), new))
        if len(new) > _UNCOUNTED_MAX:
            await count_terms(self.bank)

    async def remove(self, record_ids: Collection[RecordId]) -> None:
        number = await self.bank.number()
        if known := sorted(await self.ids(record_ids)):
            await self.bank.transact(lambda db: remove_entries(db, number, known))

    async def ids(self, among: Collection[RecordId] | None = None) -> set[RecordId]:
        if among is None:
            return _id_set(await self.bank.rows("SELECT id FROM entry WHERE bank = :bank"))
        some = "SELECT id FROM entry WHERE bank = :bank AND id = ANY(:ids)"
        return _id_set(await self.bank.rows(some, {"ids": sorted(among)}))

    async def kinds(self, among: Collection[RecordId]) -> dict[RecordId, Kind]:
        some = "SELECT id, kind FROM entry WHERE bank = :bank AND id = ANY(:ids)"
        rows = await self.bank.rows(some, {"ids": sorted(among)})
        return {RecordId(row[0]): row[1] for row in rows}

    async def outlines(self, among: Collection[RecordId]) -> dict[RecordId, bytes]:
        some = "SELECT id, outline FROM entry WHERE bank = :bank AND id = ANY(:ids) AND recalled"
        rows = await self.bank.rows(some, {"ids": sorted(among)})
        return {RecordId(row[0]): row[1] for row in rows}

    async def summarise_ids(self, bound: str) -> IdSummary:
        rows = await self.bank.rows(
            "SELECT coalesce((SELECT max(id) FROM entry WHERE bank = :bank AND id < :bound), ''), "
            "b.marks # coalesce((SELECT bit_xor(mark) FROM entry WHERE row = ANY(ARRAY("
            "SELECT row FROM uncounted WHERE bank = :bank))), 0) "
            "FROM bank b WHERE b.number = :bank",
            {"bound": bound},
        )
        return IdSummary(*rows[0])

    async def is_in_step(self) -> bool:
        """Whether every record has its entry, by their numbers: both come and go together.

        Raises:
            IndexDamagedError: no words lead to the newest entry, as after a restored dump.
        """
        ((in_step, found),) = await self.bank.rows(_IN_STEP)
        if not found:
            raise IndexDamagedError(f"The index in {self.bank.database.name} has lost its words.")
        return in_step

    async def set_aside(self, record_ids: Collection[RecordId]) -> None:
        await self.remove(record_ids)  # no git takes a record out of a database

    async def list_aside(self, among: Collection[RecordId]) -> set[RecordId]:
        del among
        return set()

    async def take_up(self, digests: Mapping[RecordId, str]) -> set[RecordId]:
        del digests
        return set()

    async def mark_complete(self) -> None:
        await self.bank.rows("UPDATE bank SET complete = true WHERE number = :bank")

    async def reset(self) -> None:
        number = {"bank": await self.bank.number()}

        async def reset(connection: Any) -> None:
            await fetch(
                connection,
                "UPDATE bank SET complete = false, records = 0, marks = 0, length = 0 "
                "WHERE number = :bank",
                number,
            )
            await fetch(connection, "DELETE FROM term WHERE bank = :bank", number)
            await fetch(connection, "DELETE FROM entry WHERE bank = :bank", number)

        await self.bank.transact(reset)

    async def findings(self, *, repair: bool) -> list[Finding]:
        del repair
        return []  # PostgreSQL looks after its own files

    async def aclose(self) -> None:
        await self.bank.database.aclose()

    async def corpus(self, terms: Collection[str], view: View) -> CorpusStatistics:
        values = {**view_values(view), "terms": " ".join(sorted(set(terms)))}
        (_, records, waiting), *rows = await self._read(_CORPUS, values)
        if waiting > _UNCOUNTED_MAX:
            await count_terms(self.bank)
        counts = {term: count for term, count, _ in rows}
        return CorpusStatistics(records, {term: counts[term] for term in terms})

    async def spellings(self, terms: Collection[str]) -> dict[str, list[str]]:
        await count_terms(self.bank)
        found: dict[str, list[str]] = {}
        for term in terms:
            rows = await self._read(
                "SELECT term FROM (SELECT term, count(*) AS same FROM trigram "
                "WHERE bank = :bank AND trigram = ANY(:trigrams) GROUP BY term "
                f"ORDER BY same DESC, term LIMIT {SPELLINGS_MAX}) near "
                "JOIN term t USING (term) WHERE t.bank = :bank ORDER BY same DESC, term",
                {"trigrams": split_trigrams(term)},
            )
            found[term] = [row[0] for row in rows]
        return found

    async def match(
        self,
        terms: Sequence[str],
        corpus: CorpusStatistics,
        view: View,
        filters: Filters,
        limit: int,
    ) -> list[Candidate]:
        counts, rarities = weigh_terms(terms, corpus)
        number = await self.bank.number()
        asked = {
            "lexemes": [quote_lexeme(number, term) for term in counts],
            "rarities": [*rarities.values()],
        }
        found: dict[RecordId, Candidate] = {}
        queries = plan_queries(number, counts, corpus.records, MATCHES_MAX)
        beside: Sequence[Candidate] | None = None
        for query, matches in queries:
            enough = _ENOUGH - len(found)
            best = beside
            if best is None or len(best) < enough:
                values = {**asked, **view_values(view), "limit": limit}
                values |= {
                    "query": query,
                    "wanted": " | ".join(dict.fromkeys((query, queries[-1][0]))),
                }
                ways = _plan_ways(matches)
                best, beside = await self._find_best(values, filters, ways, enough)
            found.update((candidate.id, candidate) for candidate in best)
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    async def quote(
        self, row: Sequence[str], view: View, filters: Filters, limit: int
    ) -> list[Candidate]:
        if len(row) < QUOTE_TERMS_MIN:
            return []
        number = await self.bank.number()
        lexemes = [quote_lexeme(number, term) for term in row]
        return await self._find_candidates(
            view,
            filters,
            limit,
            f" AND r.row IN (SELECT {_LOOK_UP}) AND r.recalled AND r.words @@ :phrase::tsquery",
            query=" & ".join(lexemes),
            phrase=" <-> ".join(f"{lexeme}:A" for lexeme in lexemes),
        )

    async def newest(self, view: View, filters: Filters, limit: int) -> list[Candidate]:
        return await self._find_candidates(view, filters, limit, " AND r.recalled")

    async def around(
        self, record_ids: Collection[RecordId], view: View, filters: Filters
    ) -> list[Neighbour]:
        condition, values = build_filter(filters)
        rows = await self._read(
            _AROUND.format(wanted=condition),
            {**view_values(view), **values, "ids": sorted(record_ids)},
        )
        return make_neighbours(rows)

    async def find(
        self, view: View, filters: Filters, limit: int, *, best: bool = False
    ) -> list[RecordId]:
        return (await self.find_each(view, [Wanted(filters, limit, best)]))[0]

    async def find_stated(self, view: View, statement: str, limit: int) -> Stated:
        query, values = build_queries([Wanted(Filters(statement=statement), limit)])
        values |= {**view_values(view), "stated": statement}
        rows = await self._read(f"{query}, mark_statement(:bank, :stated)", values)
        return Stated(statement, [RecordId(id_) for id_ in rows[0][0]], rows[0][1])

    async def find_each(self, view: View, wanted: Sequence[Wanted]) -> list[list[RecordId]]:
        if not wanted:
            return []
        query, values = build_queries(wanted)
        rows = await self._read(query, {**view_values(view), **values})
        return [[RecordId(id_) for id_ in column] for column in rows[0]]

    async def count(self, view: View, filters: Filters) -> int:
        return sum((await self.count_by_segment(view, filters)).values())

    async def count_by_segment(self, view: View, filters: Filters) -> dict[SegmentId | None, int]:
        condition, values = build_filter(filters)
        seen = REACHABLE if filters.history else VISIBLE
        rows = await self._read(
            f"{CHAIN} SELECT r.segment, count(*) FROM {ON_CHAIN} WHERE {condition} AND {seen} "
            "GROUP BY r.segment",
            {**view_values(view), **values},
        )
        return {row[0]: row[1] for row in rows}

    async def visible(self, record_ids: Collection[RecordId], view: View) -> set[RecordId]:
        rows = await self._read(
            f"{CHAIN} SELECT r.id FROM entry r WHERE r.bank = :bank AND r.id = ANY(:ids) "
            f"AND r.recalled AND {VISIBLE}",
            {**view_values(view), "ids": sorted(record_ids)},
        )
        return _id_set(rows)

    async def nearest(self, record_id: str, view: View) -> list[RecordId]:
        wanted = record_id.encode(errors="replace").decode().replace("\0", "?")
        found: list[RecordId] = []
        for side, order in (("<=", "DESC"), (">", "ASC")):
            rows = await self._read(
                f"{CHAIN} SELECT r.id FROM entry r WHERE r.bank = :bank AND r.id {side} :id "
                f"AND r.recalled AND {VISIBLE} ORDER BY r.id {order} LIMIT {NEAREST}",
                {**view_values(view), "id": wanted},
            )
            found += _ids(rows)
        return found

    async def named(self, part: str, view: View | None, limit: int) -> list[RecordId]:
        part = part.casefold()
        if not is_id_part(part):
            return []
        sides = ["(r.id >= :part AND r.id < :after)"]
        values: dict[str, Any] = {"part": part, "after": f"{part}g", "limit": limit}
        if len(part) >= ID_END_CHARS_MIN:
            sides.append("(r.backwards >= :end AND r.backwards < :past)")
            values |= {"end": part[::-1], "past": f"{part[::-1]}g"}
        else:  # the beginning of what is printed of an id
            sides.append(f"left(right(r.id, {ID_END_CHARS_MIN}), {len(part)}) = :part")
        chain, seen = (CHAIN, f" AND {VISIBLE}") if view else ("", "")
        rows = await self._read(
            f"{chain} SELECT r.id FROM entry r WHERE r.bank = :bank AND r.recalled "
            f"AND ({' OR '.join(sides)}){seen} ORDER BY r.id LIMIT :limit",
            {**(view_values(view) if view else {}), **values},
        )
        return _ids(rows)

    async def moves(self) -> list[RecordId]:
        return _ids(
            await self._read("SELECT id FROM entry WHERE bank = :bank AND moves ORDER BY id")
        )

    async def ids_by_segment(
        self, segments: Collection[SegmentId]
    ) -> dict[SegmentId, set[RecordId]]:
        some = "SELECT segment, id FROM entry WHERE bank = :bank AND segment = ANY(:segments)"
        found: dict[SegmentId, set[RecordId]] = {}
        for row in await self._read(some, {"segments": sorted(segments)}):
            found.setdefault(SegmentId(row[0]), set()).add(RecordId(row[1]))
        return found

    async def segments(self, *, orders: bool = True) -> dict[SegmentId, RecordId]:
        condition = "" if orders else f"AND NOT {_ORDERS}"
        rows = await self._read(_NEWEST_OF_EACH.format(condition=condition))
        return {SegmentId(row[0]): RecordId(row[1]) for row in rows}

    async def holding(self, among: Collection[SegmentId] | None = None) -> set[SegmentId]:
        found = {*await self.segments(orders=False)}
        return found if among is None else found.intersection(among)

    async def suppressed_by(
        self, segments: Collection[SegmentId], *, but: Collection[SegmentId] = ()
    ) -> set[RecordId]:
        rows = await self._read(
            "SELECT s.target FROM suppression s WHERE s.bank = :bank "
            "AND s.segment = ANY(:segments) AND NOT EXISTS (SELECT 1 FROM entry r "
            "WHERE r.bank = :bank AND r.id = s.target AND r.segment = ANY(:but))",
            {"segments": sorted(segments), "but": sorted(but)},
        )
        return _id_set(rows)

    async def suppressing(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self._read(
            "SELECT r.id FROM suppression s JOIN entry r ON r.row = s.row "
            "WHERE s.bank = :bank AND s.target = ANY(:ids)",
            {"ids": sorted(record_ids)},
        )
        return _id_set(rows)

    async def derived(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self._read(
            """WITH RECURSIVE made (id) AS (
                SELECT unnest(:ids::text[]) COLLATE "C" UNION
                SELECT r.id FROM made JOIN source ON source.bank = :bank AND source.source = made.id
                    JOIN entry r ON r.row = source.row)
            SELECT id FROM made WHERE NOT id = ANY(:ids)""",
            {"ids": sorted(record_ids)},
        )
        return _id_set(rows)

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]:
        some = (
            "SELECT id FROM entry WHERE bank = :bank"
            if among is None
            else "SELECT unnest(:ids::text[])"
        )
        rows = await self.bank.rows(
            f"{_ORDERED} SELECT id, eraser FROM ordered "
            f"WHERE id IN ({some}) AND id IN (SELECT id FROM gone)",
            {"also": sorted(also)} | ({} if among is None else {"ids": sorted(among)}),
        )
        return group_orders(rows)

    async def erased(self, also: Collection[RecordId] = ()) -> set[RecordId]:
        return _id_set(await self._read(f"{_GONE} SELECT id FROM gone", {"also": sorted(also)}))

    async def erased_by(self, record_ids: Collection[RecordId]) -> set[RecordId]:
        rows = await self._read(
            "SELECT e.target FROM erasure e JOIN entry r USING (row) "
            "WHERE r.bank = :bank AND r.id = ANY(:ids)",
            {"ids": sorted(record_ids)},
        )
        return _id_set(rows)

    async def erased_since(self, bound: str) -> set[RecordId]:
        rows = await self._read(
            "SELECT e.target FROM erasure e JOIN entry r USING (row) "
            "WHERE r.bank = :bank AND r.id > :bound",
            {"bound": bound},
        )
        return _id_set(rows)

    async def _read(self, statement: str, values: Mapping[str, Any] | None = None) -> Rows:
        """Run a query on an index that holds every record.

        Raises:
            IndexDamagedError: not every record is in.
        """
        return await read_complete(self.bank, statement, values)

    async def _find_candidates(
        self, view: View, filters: Filters, limit: int, more: str, **values: Any
    ) -> list[Candidate]:
        """The newest visible entries that pass the filters, and `more`."""
        condition, own = build_filter(filters)
        rows = await self._read(
            f"{CHAIN} SELECT {CANDIDATE} FROM entry r WHERE {condition}{more} AND {VISIBLE} "
            "ORDER BY r.id DESC LIMIT :limit",
            {**view_values(view), **own, **values, "limit": limit},
        )
        return [make_candidate(row) for row in rows]

    async def _find_best(
        self, values: Mapping[str, Any], filters: Filters, ways: Sequence[str], enough: int
    ) -> tuple[list[Candidate], list[Candidate] | None]:
        """The best of the newest visible matches, found in the first way that gives `enough`.

        Then those of the later query, if the first way goes through all entries of a time.
        """
        condition, own = build_filter(filters)
        best: list[Candidate] = []
        beside: list[Candidate] | None = None
        for number, found in enumerate(ways):
            scored = _SCORED.format(found=found, condition=condition)
            rows = await self._read(
                f"{CHAIN}, {scored} SELECT scored.sought, {CANDIDATE} "
                "FROM scored JOIN entry r USING (row) "
                "ORDER BY scored.sought DESC, scored.score DESC, r.id DESC",
                {**values, **own} | ({"wanted": values["query"]} if number else {}),
            )
            best = [make_candidate(row) for sought, *row in rows if sought]
            if not number and found in _MATCHES_IN_WINDOWS:
                beside = [make_candidate(row) for sought, *row in rows if not sought]
            if len(best) >= enough:
                break
        return best, beside


def _plan_ways(matches: int) -> tuple[str, ...]:
    """The ways to find so many matches, the quickest first: what is common is among the newest."""
    rest = _MATCHES if matches <= _LOOKED_UP_MAX else _NEWEST_MATCHES
    return (*_MATCHES_IN_WINDOWS, rest) if matches > _WINDOW_MATCHES_MIN else (rest,)


def plan_queries(
    number: int, counts: Mapping[str, int], records: int, matches_max: int
) -> list[tuple[str, int]]:
    """Queries that share no match and together find every record with a term, best first.

    With each the number of matches to expect among so many records. The first one has at most
    `matches_max`, unless even the two rarest terms together have more.
    """
    rare, common = split_terms(counts, matches_max)
    matches = sum(counts[term] for term in rare)

    def any_of(terms: Sequence[str]) -> str:
        return "(" + " | ".join(quote_lexeme(number, term) for term in terms) + ")"

    if not common:
        return [(any_of(rare), matches)] if rare else []
    others = sum(counts[term] for term in common)
    if rare:
        first = any_of(rare)
    elif len(common) == 1:
        return [(any_of(common), others)]
    else:
        first = f"({any_of(common[:1])} & {any_of(common[1:])})"
        least = counts[common[0]]
        matches = min(least, least * (others - least) // max(records, 1))
    return [(first, matches), (f"{any_of(common)} & !{first}", others)]


_IF_COMPLETE: Final = """
    SELECT b.complete, answer.* FROM bank b
    LEFT JOIN LATERAL (SELECT true AS found, asked.* FROM ({}) asked) answer ON true
    WHERE b.number = :bank"""


async def read_complete(
    bank: Bank, statement: str, values: Mapping[str, Any] | None = None
) -> Rows:
    """Run a query, and see in the same statement that every record of the bank is in its index.

    Raises:
        IndexDamagedError: not every record is in, and parts of them will not do.
    """
    rows = await bank.rows(_IF_COMPLETE.format(statement), values)
    if not (rows and rows[0][0]) and not PARTIAL_ANSWERS.get():
        raise IndexDamagedError(f"The index in {bank.database.name} is not complete yet.")
    return [row[2:] for row in rows if row[1]]


def _ids(rows: Rows) -> list[RecordId]:
    return [RecordId(row[0]) for row in rows]


def _id_set(rows: Rows) -> set[RecordId]:
    return set(_ids(rows))
