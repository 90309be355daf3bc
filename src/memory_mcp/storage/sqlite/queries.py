"""The index's queries as SQL: visibility, filters, full text, neighbours.

The visibility rule is `timeline.visibility`; tests/contracts prove on random timelines that this
SQL agrees with it.

Full text: scoring is what a search costs, and most matches hold nothing but a common word. So a
term finds records on its own only while it is rare; commoner terms find them together with others,
and on their own only if nothing better is left. Every term counts for every record that was found.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import SESSION_PAUSE_SECONDS_MAX
from memory_mcp.domain.record import format_time
from memory_mcp.domain.search import Candidate, Filters, Neighbour, SearchFields, View

Values = dict[str, str | int | None]

CHAIN: Final = "WITH chain (segment) AS MATERIALIZED (SELECT value FROM json_each(:chain))"

_ABANDONED: Final = """EXISTS (
        WITH RECURSIVE up (id, made) AS (
            SELECT source, record FROM source WHERE record = {row}
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
                    AND (s.segment IS NULL OR s.segment IN chain)))"""

# the + keeps SQLite from collecting whole segments where the newest few are wanted
VISIBLE: Final = f"""
    (+r.segment IS NULL OR +r.segment IN chain)
    AND (r.expires_at IS NULL OR r.expires_at > :now)
    AND NOT EXISTS (
        SELECT 1 FROM suppression taker
        WHERE taker.target = r.id AND (taker.segment IS NULL OR taker.segment IN chain)
            AND NOT (
                EXISTS (SELECT 1 FROM source WHERE record = taker.record AND source = r.id)
                AND {_ABANDONED.format(row="taker.record")}))
    AND (NOT r.derived OR NOT {_ABANDONED.format(row="r.rowid")})
"""


_CONDITIONS: Final = {
    "category": "r.category = :category",
    # compared by the beginning's own length: no character of a key is a wildcard
    "key": "r.key = :key AND r.key != ''",
    "key_beginning": "r.key >= :key_beginning "
    "AND r.key != '' AND substr(r.key, 1, length(:key_beginning)) = :key_beginning",
    "kinds": "r.kind IN (SELECT value FROM json_each(:kinds))",
    "phase": "r.phase = :phase",
    "segments": "r.segment IN (SELECT value FROM json_each(:segments))",
    "branch": "r.branch = :branch",
    "session": "r.session = :session",
    "since": "r.created_at >= :since",
    "until": "r.created_at < :until",
    # the second half lets SQLite use the index, which leaves the others out
    "statement": "r.statement = :statement AND r.statement != ''",
    "statements": "r.statement IN (SELECT value FROM json_each(:statements)) AND r.statement != ''",
}
"""Each filter that is one value, as a condition on `r`."""


def view_values(view: View) -> Values:
    """The named values that `CHAIN` and `VISIBLE` need."""
    return {"chain": json.dumps(sorted(view.chain)), "now": format_time(view.now)}


def filtered(filters: Filters) -> tuple[str, Values]:
    """The filters as a condition on `r` and its named values."""
    begins = filters.key.endswith("*")
    values: Values = {
        "key": None if begins else filters.key or None,
        "key_beginning": filters.key.removesuffix("*") if begins else None,
        "category": filters.category.casefold() or None,
        "kinds": json.dumps(sorted(filters.kinds)) if filters.kinds else None,
        "phase": filters.phase,
        "segments": None if filters.segments is None else json.dumps(sorted(filters.segments)),
        "branch": filters.branch,
        "session": filters.session,
        "since": format_time(filters.since) if filters.since else None,
        "until": format_time(filters.until) if filters.until else None,
        "statement": filters.statement or None,
        "statements": json.dumps(sorted(filters.statements)) if filters.statements else None,
    }
    values = {name: value for name, value in values.items() if value is not None}
    conditions = [_CONDITIONS[name] for name in values]
    if not filters.by_statement:
        conditions.insert(0, "r.recalled")
    if not filters.includes_profile:
        conditions.append("NOT r.profile")
    for number, tag in enumerate(filters.tags):
        conditions.append(f"+r.rowid IN (SELECT record FROM tag WHERE tag = :tag{number})")
        values[f"tag{number}"] = tag.casefold()
    if filters.durable is not None:
        conditions.append("r.segment IS NULL" if filters.durable else "r.segment IS NOT NULL")
    return " AND ".join(conditions), values


def found_by(filters: Filters, *, best: bool) -> tuple[str, Values]:
    """The query for the first ids that pass, and the values that the filters need."""
    condition, values = filtered(filters)
    order = "r.pinned DESC, r.importance DESC, r.id DESC" if best else "r.id DESC"
    query = f"SELECT r.id FROM record r WHERE {condition} AND {VISIBLE}"
    return f"{CHAIN} {query} ORDER BY {order} LIMIT :limit", values


def any_of(terms: Sequence[str]) -> str:
    """An FTS5 query that holds nothing but words."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def trigrams(term: str) -> list[str]:
    """Every three characters of a term that follow one another; none of a shorter one."""
    return sorted({term[i : i + 3] for i in range(len(term) - 2)})


def searches(counts: Mapping[str, int], matches_max: int) -> list[str]:
    """FTS5 queries that share no match and together find every record with a term; best first.

    `counts` says in how many records each term occurs. The first query has at most `matches_max`
    matches, unless even the two rarest terms are commoner than that together.
    """
    rising = sorted((n, term) for term, n in counts.items() if n)
    running = accumulate(count for count, _ in rising)
    alone = [
        term for (_, term), matches in zip(rising, running, strict=True) if matches <= matches_max
    ]
    common = [term for _, term in rising[len(alone) :]]
    if not common:
        return [any_of(alone)] if alone else []
    if not alone and len(common) == 1:
        return [any_of(common)]
    first = any_of(alone) or f"{any_of(common[:1])} AND ({any_of(common[1:])})"
    # the second half of the first query demands nothing: it lets the common terms count
    return [f"({first}) AND ({any_of([*alone, *common])})", f"({any_of(common)}) NOT ({first})"]


CANDIDATE: Final = (
    "r.id, r.importance, r.pinned, r.created_at, r.day, f.body, f.names, f.dates, f.extra"
)
"""What `candidate` makes one of: columns of a record `r` and its fields `f`."""

_SIDES: Final = (("<", "DESC", -1), (">", "ASC", 1))
_STEPS: Final = 2

_ONE: Final = """
    SELECT c.id AS of, {step} AS steps, c.created_at AS at, (
        SELECT r.rowid FROM record r
        WHERE r.session = c.session AND r.recalled AND r.id {side} c.id AND {visible}
        ORDER BY r.id {order} LIMIT 1 OFFSET {offset}) AS row, c.day
    FROM json_each(:ids) JOIN record c ON c.id = value
"""

_AROUND: Final = (
    f"{CHAIN}, near AS MATERIALIZED ("
    + " UNION ALL ".join(
        _ONE.format(side=side, order=order, step=sign * (n + 1), offset=n, visible=VISIBLE)
        for side, order, sign in _SIDES
        for n in range(_STEPS)
    )
    + """)
    SELECT of, steps, at, {wanted}, {candidate}
    FROM near CROSS JOIN record r ON r.rowid = near.row CROSS JOIN fields f ON f.record = r.rowid
    WHERE r.day = near.day
"""
)


def around(filters: Filters) -> tuple[str, Values]:
    """What finds the neighbours of the records `:ids`, and its named values."""
    wanted, values = filtered(filters)
    return _AROUND.format(wanted=wanted, candidate=CANDIDATE), values


def candidate(row: Sequence[Any]) -> Candidate:
    """A row of the columns of `CANDIDATE`."""
    id_, importance, pinned, created_at, day, body, names, dates, extra = row
    return Candidate(
        id=RecordId(id_),
        fields=SearchFields(body=body, names=names, dates=dates, extra=extra, day=day),
        importance=importance,
        pinned=bool(pinned),
        created_at=created_at,
    )


def neighbours(rows: Iterable[Sequence[Any]]) -> list[Neighbour]:
    """The rows of `around` without what stands on the other side of a pause."""
    return [
        Neighbour(
            of=RecordId(of),
            steps=steps,
            id=there.id,
            fields=there.fields,
            importance=there.importance,
            pinned=there.pinned,
            created_at=there.created_at,
            wanted=bool(wanted),
        )
        for of, steps, at, wanted, *rest in rows
        for there in [candidate(rest)]
        if _apart(at, there.created_at) <= timedelta(seconds=SESSION_PAUSE_SECONDS_MAX)
    ]


def _apart(one: str, other: str) -> timedelta:
    return abs(datetime.fromisoformat(one) - datetime.fromisoformat(other))
