"""The visibility rule and the filters as SQL.

The rule itself is told in `timeline.visibility`; the two are compared by tests/properties, record
by record.
"""

import json
from typing import Final

from memory_mcp.domain.record import iso
from memory_mcp.domain.views import Filters, View

__all__ = ["CHAIN", "VISIBLE", "Values", "filtered", "found_by", "view_values"]

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
    return {"chain": json.dumps(sorted(view.chain)), "now": iso(view.now)}


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
        "since": iso(filters.since) if filters.since else None,
        "until": iso(filters.until) if filters.until else None,
        "statement": filters.statement or None,
        "statements": json.dumps(sorted(filters.statements)) if filters.statements else None,
    }
    values = {name: value for name, value in values.items() if value is not None}
    conditions = [_CONDITIONS[name] for name in values]
    if not filters.stating:
        conditions.insert(0, "r.recalled")
    if not filters.with_profile:
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
