"""A bank's records as rows: how they come in, and how they go."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import SearchFields, Stated
from memory_mcp.storage.postgres.database import Postgres, Rows, Work, fetch
from memory_mcp.storage.postgres.schema import Connection
from memory_mcp.storage.stored import describe_entry

_FIND_BANK: Final = "SELECT number FROM bank WHERE owner = :owner AND project = :project"
_BEGIN_BANK: Final = """
    INSERT INTO bank (owner, project) VALUES (:owner, :project) ON CONFLICT DO NOTHING"""

# the record and its entry in one statement, so that there is never one without the other; none of
# them if another record states the same by now
INSERT: Final = """
    WITH claimed AS MATERIALIZED (
        SELECT :stated::text IS NULL OR claim_statement(:bank, :stated, :seen) AS free),
    given AS MATERIALIZED (
        SELECT given.* FROM claimed CROSS JOIN json_to_recordset(:rows) AS given (
            id text, json text, kind text, layer text, segment text, branch text, key text,
            category text, tags text[], phase integer, importance smallint, pinned boolean,
            recalled boolean, moves boolean, profile boolean, citing boolean, expires_at text,
            created_at text, session text, day text, statement text, mark bigint, body text,
            names text, dates text, extra text, meaning text, outline text, words text,
            length integer, supersedes text[], derived_from text[], erases text[])
        WHERE claimed.free),
    stored AS (
        INSERT INTO record (bank, id, json) SELECT :bank, id, json FROM given
        WHERE json IS NOT NULL ON CONFLICT DO NOTHING RETURNING id),
    fresh AS (
        INSERT INTO entry (
            bank, id, kind, layer, segment, branch, key, category, tags, phase, importance, pinned,
            recalled, moves, derived, profile, citing, expires_at, created_at, session, day,
            statement, mark, body, names, dates, extra, meaning, outline, words, length)
        SELECT :bank, id, kind, layer, segment, branch, key, category, tags, phase, importance,
            pinned, recalled, moves, cardinality(derived_from) > 0, profile, citing, expires_at,
            created_at, session, day, statement, mark, body, names, dates, extra,
            decode(meaning, 'hex'), decode(outline, 'hex'), words::tsvector, length
        FROM given WHERE json IS NULL OR id IN (SELECT id FROM stored)
        ON CONFLICT DO NOTHING RETURNING row, id, segment, words, tags),
    lookups AS (
        INSERT INTO lookup (row, bank, lexemes, segment)
        SELECT row, :bank, strip(words) || name_tags(:bank, tags), segment FROM fresh),
    sources AS (
        INSERT INTO source (bank, row, source)
        SELECT DISTINCT :bank, row, unnest(derived_from) FROM fresh JOIN given USING (id)),
    suppressions AS (
        INSERT INTO suppression (bank, target, row, segment, buries)
        SELECT DISTINCT :bank, unnest(supersedes), row, fresh.segment, kind = 'tombstone'
        FROM fresh JOIN given USING (id)),
    erasures AS (
        INSERT INTO erasure (bank, target, row)
        SELECT DISTINCT :bank, unnest(erases), row FROM fresh JOIN given USING (id)),
    waiting AS (INSERT INTO uncounted (bank, row) SELECT :bank, row FROM fresh),
    encodings AS (
        INSERT INTO encoding (embedder, row, until)
        SELECT embedder.number, fresh.row, '' FROM fresh JOIN given USING (id), embedder
        WHERE given.recalled AND embedder.bank = :bank)
    SELECT id FROM stored"""

_LOCK_COUNTS: Final = "SELECT pg_advisory_xact_lock(:space, :bank)"
_TRY_LOCK_COUNTS: Final = "SELECT pg_try_advisory_xact_lock(:space, :bank)"
_COUNT_LOCKS: Final = 730_581
"""The space of the advisory locks of those who change a bank's counts, which are ordered so."""

_COUNT: Final = """
    WITH taken AS (DELETE FROM uncounted WHERE bank = :bank RETURNING row),
    counted AS MATERIALIZED (
        SELECT * FROM entry WHERE row = ANY(ARRAY(SELECT row FROM taken))),
    held AS (
        SELECT lexeme, count(*) AS records FROM counted, unnest(tsvector_to_array(words)) lexeme
        WHERE recalled GROUP BY lexeme),
    terms AS (
        INSERT INTO term (bank, term, records)
        SELECT :bank, substr(lexeme, :prefix), records FROM held
        ON CONFLICT (bank, term) DO UPDATE SET records = term.records + excluded.records
        RETURNING term, xmax = 0 AS is_new),  -- xmax is who updated it
    trigrams AS (
        INSERT INTO trigram (bank, trigram, term)
        SELECT DISTINCT :bank, substr(term, n, 3), term
        FROM terms CROSS JOIN LATERAL generate_series(1, length(term) - 2) n WHERE is_new)
    UPDATE bank SET (records, marks, length) = (
        SELECT bank.records + count(*), bank.marks # coalesce(bit_xor(mark), 0),
            bank.length + coalesce(sum(length), 0) FROM counted)
    WHERE number = :bank AND EXISTS (SELECT 1 FROM counted)"""

_UNCOUNT: Final = """
    WITH going AS MATERIALIZED (SELECT * FROM entry WHERE bank = :bank AND id = ANY(:ids)),
    held AS (
        SELECT substr(lexeme, :prefix) AS term, count(*) AS records
        FROM going, unnest(tsvector_to_array(words)) lexeme WHERE recalled GROUP BY lexeme),
    terms AS (
        UPDATE term SET records = term.records - held.records
        FROM held WHERE term.bank = :bank AND term.term = held.term)
    UPDATE bank SET (records, marks, length) = (
        SELECT bank.records - count(*), bank.marks # coalesce(bit_xor(mark), 0),
            bank.length - coalesce(sum(length), 0) FROM going)
    WHERE number = :bank"""


class Bank:
    """The rows of one project; or of an `owner`: of a user without a project, of a team as `TEAM`.

    A project without an owner is everyone's. Every statement is given the bank's number as `:bank`.
    The database shows its identity no other rows in any case.
    """

    def __init__(self, database: Postgres, owner: str, project: str) -> None:
        self.database = database
        self.owner = owner
        self.project = project
        self._number: int | None = None

    async def rows(self, statement: str, values: Mapping[str, Any] | None = None) -> Rows:
        """Run one statement, atomically."""
        number = await self.number()
        return await self.database.rows(statement, {"bank": number, **(values or {})})

    async def transact(self, work: Work[Any]) -> Any:
        """Do the work in one transaction, which may be done twice."""
        await self.number()
        return await self.database.transact(work)

    async def number(self) -> int:
        """The number of the bank, which is begun if need be."""
        if self._number is None:
            named = {"owner": self.owner, "project": self.project}
            rows = await self.database.rows(_FIND_BANK, named)
            if not rows:
                await self.database.rows(_BEGIN_BANK, named)
                rows = await self.database.rows(_FIND_BANK, named)
            self._number = int(rows[0][0])
        return self._number


async def count_terms(bank: Bank) -> None:
    """Count what was added since the last time, which additions leave to be done together.

    If somebody else is at it, they do it: many searches at once must not wait for each other.
    """
    if not await bank.rows("SELECT FROM uncounted WHERE bank = :bank LIMIT 1"):
        return
    number = await bank.number()

    async def count(connection: Connection) -> None:
        lock = {"space": _COUNT_LOCKS, "bank": number}
        ((free,),) = await fetch(connection, _TRY_LOCK_COUNTS, lock)
        if free:
            await fetch(connection, _COUNT, {"bank": number, "prefix": len(f"{number}:") + 1})

    await bank.transact(count)


async def remove_entries(connection: Connection, number: int, ids: Sequence[RecordId]) -> None:
    """Remove these entries and all that is derived from them, within a transaction."""
    values = {"bank": number, "prefix": len(f"{number}:") + 1}
    await fetch(connection, _LOCK_COUNTS, {"space": _COUNT_LOCKS, "bank": number})
    await fetch(connection, _COUNT, values)
    await fetch(connection, _UNCOUNT, {**values, "ids": ids})
    await fetch(connection, "DELETE FROM term WHERE bank = :bank AND records < 1", values)
    gone = {"bank": number, "ids": ids}
    await fetch(connection, "DELETE FROM entry WHERE bank = :bank AND id = ANY(:ids)", gone)


def dump_rows(
    number: int,
    records: Sequence[tuple[Record, SearchFields, str | None]],
    stated: Stated | None = None,
) -> Mapping[str, Any]:
    """The values of `INSERT` for these records, each with its JSON if that is to be stored.

    With `stated`, for nothing if anything else states the same by then.
    """
    rows = [
        {
            **describe_entry(record, fields),
            "meaning": fields.meaning.hex(),
            "outline": fields.outline.hex(),
            "length": sum(len(part.split()) for part in fields[:4]),
            "json": text,
            "words": make_words(number, fields),
        }
        for record, fields, text in records
    ]
    return {"bank": number, "rows": json.dumps(rows, ensure_ascii=False), **claim_values(stated)}


def claim_values(stated: Stated | None) -> Mapping[str, Any]:
    """The values of `INSERT` that say what states the same."""
    return {
        "stated": stated.statement if stated else None,
        "seen": stated.mark if stated else 0,
    }


_FIELD_WEIGHTS: Final = ("A", "B", "C", "D")
"""Of body, names, dates and extra, as PostgreSQL tells them apart."""
_POSITION_MAX: Final = 16_383
_PLACES_MAX: Final = 255
"""What a tsvector keeps of a lexeme."""


def make_words(number: int, fields: SearchFields) -> str:
    """The terms as a tsvector. Each begins with the bank, so that a search reads no other's.

    A gap keeps a phrase from going on in the next field.
    """
    places: dict[str, list[str]] = {}
    at = 0
    for weight, part in zip(_FIELD_WEIGHTS, fields[:4], strict=True):
        for term in part.split():
            at = min(at + 1, _POSITION_MAX)
            places.setdefault(term.lstrip(_MARKS), []).append(f"{at}{weight}")
        at += 1
    return " ".join(
        f"{quote_lexeme(number, term)}:{','.join(where[:_PLACES_MAX])}"
        for term, where in places.items()
        if term
    )


LEXEME: Final = r"""format('''%s:%s''', :bank,
    replace(replace(term, '\', '\\'), '''', ''''''))"""
"""What `quote_lexeme` makes of a `term`, in SQL."""

_MARKS: Final = "?"
"""What may stand before a term (`ranking.analysis.ASKED_MARK`) and is no part of it."""


def quote_lexeme(number: int, term: str) -> str:
    """A term of a bank as a lexeme, in quotes."""
    text = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{number}:{text}'"
