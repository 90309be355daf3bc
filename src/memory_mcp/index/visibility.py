"""The visibility rule and the filters as SQL.

The rule itself is told in `timeline.visibility`; the two are compared by tests/properties, record
by record.
"""

import json
from typing import Final

from memory_mcp.domain.record import iso
from memory_mcp.domain.views import Filters, View

__all__ = ["CHAIN", "VISIBLE", "Values", "filtered", "view_values"]

Values = dict[str, str | int | None]

CHAIN: Final = "WITH chain (segment) AS MATERIALIZED (SELECT value FROM json_each(:chain))"

# the + keeps SQLite from collecting whole segments where the newest few are wanted
VISIBLE: Final = """
    (+r.segment IS NULL OR +r.segment IN chain)
    AND (r.expires_at IS NULL OR r.expires_at > :now)
    AND NOT EXISTS (
        SELECT 1 FROM suppression s
        WHERE s.target = r.id AND (s.segment IS NULL OR s.segment IN chain))
    AND (NOT r.derived OR NOT EXISTS (
        WITH RECURSIVE up (id) AS (
            SELECT source FROM source WHERE record = r.rowid
            UNION
            SELECT source.source FROM up JOIN record o ON o.id = up.id
                JOIN source ON source.record = o.rowid)
        SELECT 1 FROM up LEFT JOIN record o ON o.id = up.id
        WHERE o.id IS NULL
            OR NOT (o.segment IS NULL OR o.segment IN chain)
            OR EXISTS (
                SELECT 1 FROM suppression s
                WHERE s.target = o.id AND s.buries
                    AND (s.segment IS NULL OR s.segment IN chain))))
"""


def view_values(view: View) -> Values:
    """The named values that `CHAIN` and `VISIBLE` need."""
    return {"chain": json.dumps(sorted(view.chain)), "now": iso(view.now)}


def filtered(filters: Filters) -> tuple[str, Values]:
    """The filters as a condition on `r` and its named values."""
    conditions = ["r.recalled"]
    values: Values = {}
    if filters.category:
        conditions.append("r.category = :category")
        values["category"] = filters.category.casefold()
    for number, tag in enumerate(filters.tags):
        conditions.append(f"+r.rowid IN (SELECT record FROM tag WHERE tag = :tag{number})")
        values[f"tag{number}"] = tag.casefold()
    if filters.kinds:
        conditions.append("r.kind IN (SELECT value FROM json_each(:kinds))")
        values["kinds"] = json.dumps(sorted(filters.kinds))
    if filters.phase is not None:
        conditions.append("r.phase = :phase")
        values["phase"] = filters.phase
    if filters.segments is not None:
        conditions.append("r.segment IN (SELECT value FROM json_each(:segments))")
        values["segments"] = json.dumps(sorted(filters.segments))
    if filters.branch is not None:
        conditions.append("r.branch = :branch")
        values["branch"] = filters.branch
    if filters.durable is not None:
        conditions.append("r.segment IS NULL" if filters.durable else "r.segment IS NOT NULL")
    if filters.since is not None:
        conditions.append("r.created_at >= :since")
        values["since"] = iso(filters.since)
    if filters.until is not None:
        conditions.append("r.created_at < :until")
        values["until"] = iso(filters.until)
    return " AND ".join(conditions), values
