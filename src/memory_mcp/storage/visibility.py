"""The rule of visibility and the filters as SQL, which the indexes in SQLite and PostgreSQL share.

The rule is `timeline.visibility`; tests/contracts prove on random timelines that this agrees with
it, for each index. What differs between the two is how an entry and the chain are named, and how
they find whether an entry is abandoned: made of something that is gone, or not on the chain. They
also differ in how the value of a filter is compared.
"""

from collections.abc import Callable
from typing import Any

from memory_mcp.domain.record import format_time
from memory_mcp.domain.search import Filters
from memory_mcp.frozen import frozen


@frozen
class VisibilityDialect:
    """How a database names what the rule speaks of.

    - `row`: the column that leads from `suppression` and `source` to an entry.
    - `own`: what a row of another bank does not meet, where banks share tables.
    - `reachable`: an entry `r` is durable or on the chain.
    - `counts`: what is written in one segment counts for what lies in the other.
    - `void`: the exclusions whose reason holds no more. `abandoned` is asked of a row and of its
      segment.
    """

    row: str
    own: str
    reachable: str
    counts: Callable[[str, str], str]
    void: str
    abandoned: Callable[[str, str], str]


def build_visible(dialect: VisibilityDialect, row: str) -> str:
    """The condition on an entry `r`, whose key is `row`, that a reader may see it now.

    It is reachable, holds still, and nothing that counts supersedes or buries it. A record that was
    composed of it takes its place only for as long as that stands itself.
    """
    d = dialect
    return f"""
    {d.reachable}
    AND (r.expires_at IS NULL OR r.expires_at > :now)
    AND NOT EXISTS (
        SELECT 1 FROM suppression taker
        WHERE {d.own}taker.target = r.id AND {d.counts("taker.segment", "r.segment")}
            AND taker.{d.row} NOT IN ({d.void}) AND NOT (
                EXISTS (SELECT 1 FROM source WHERE source.{d.row} = taker.{d.row} AND source = r.id)
                AND {d.abandoned(f"taker.{d.row}", "taker.segment")}))
    AND (NOT r.derived OR NOT {d.abandoned(row, "r.segment")})
"""


def read_filters(filters: Filters) -> tuple[list[str], dict[str, Any]]:
    """The conditions on an entry `r` that take no value, and the named values of the other filters.

    Categories and tags are folded as `stored.describe_entry` does it.
    """
    conditions: list[str] = []
    if filters.history:
        conditions.append("(r.recalled OR r.kind = 'tombstone')")
    elif not filters.by_statement:
        conditions.append("r.recalled")
    if not filters.includes_profile:
        conditions.append("NOT r.profile")
    if filters.citing:
        conditions.append("r.citing")
    if filters.durable is not None:
        conditions.append("r.segment IS NULL" if filters.durable else "r.segment IS NOT NULL")
    begins = filters.key.endswith("*")
    values: dict[str, Any] = {
        "key": None if begins else filters.key or None,
        "key_beginning": filters.key.removesuffix("*") if begins else None,
        "category": filters.category.casefold() or None,
        "kinds": sorted(filters.kinds) or None,
        "phase": filters.phase,
        "segments": None if filters.segments is None else sorted(filters.segments),
        "away": sorted(filters.away) or None,
        "branch": filters.branch,
        "session": filters.session,
        "since": format_time(filters.since) if filters.since else None,
        "until": format_time(filters.until) if filters.until else None,
        "statement": filters.statement or None,
        "statements": sorted(filters.statements) or None,
        "layer": filters.layer,
        "tags": [tag.casefold() for tag in filters.tags] or None,
    }
    return conditions, {name: value for name, value in values.items() if value is not None}
