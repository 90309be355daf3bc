"""The rule of visibility as SQL, which the indexes in SQLite and PostgreSQL share.

The rule is `timeline.visibility`; tests/contracts prove on random timelines that this agrees with
it, for each index. What differs between the two is how an entry and the chain are named, and how
they find whether an entry is abandoned: made of something that is gone, or not on the chain.
"""

from collections.abc import Callable

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
