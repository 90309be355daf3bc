"""What a reader may see, and which of that passes the filters, as SQL.

The rule of visibility is that of `storage.visibility`. A statement with `VISIBLE` in it begins with
`CHAIN`, and calls the entry `r`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, get_args

from memory_mcp.domain.ids import SegmentId
from memory_mcp.domain.record import Kind, format_time
from memory_mcp.domain.search import Filters, View, Wanted
from memory_mcp.patterns import compile_later
from memory_mcp.storage.visibility import VisibilityDialect, build_visible, read_filters

Values = dict[str, Any]

SEGMENTS: Final = "string_to_array(:chain, ' ')"
"""The chain as an array. It is sent as one text: asyncpg looks at each element of a list."""

_ELSEWHERE: Final = "string_to_array(:elsewhere, ' ')"
_ABANDONED: Final = (
    f"is_abandoned(:bank, {{}}, {SEGMENTS}, CASE WHEN {{}} = ANY({_ELSEWHERE}) "
    f"THEN ARRAY[]::text[] ELSE {_ELSEWHERE} END)"
).format

# `void` are the exclusions whose reason holds no more
CHAIN: Final = f"""WITH RECURSIVE chain AS MATERIALIZED (
        SELECT unnest({SEGMENTS}) COLLATE "C" AS segment),
    void AS MATERIALIZED (
        SELECT e.row FROM entry e
        WHERE e.bank = :bank AND e.kind = 'exclusion' AND e.derived
            AND (e.segment IS NULL OR e.segment IN (SELECT segment FROM chain))
            AND {_ABANDONED("e.row", "e.segment")})"""

_ON_CHAIN: Final = "({0} IS NULL OR {0} IN (SELECT segment FROM chain))"

REACHABLE: Final = _ON_CHAIN.format("r.segment")

ON_CHAIN: Final = """(
    SELECT * FROM entry WHERE bank = :bank AND segment IS NULL
    UNION ALL SELECT entry.* FROM chain JOIN entry USING (segment) WHERE bank = :bank) r"""
"""The `REACHABLE` entries, met segment by segment: for a count of them all."""

VISIBLE: Final = build_visible(
    VisibilityDialect(
        row="row",
        own="taker.bank = :bank AND ",
        reachable=REACHABLE,
        counts=(
            "({0} IS NULL OR {0} IN (SELECT segment FROM chain) "
            f"AND ({{0}} <> ALL({_ELSEWHERE}) OR {{1}} = ANY({_ELSEWHERE})))"
        ).format,
        void="SELECT row FROM void",
        abandoned=_ABANDONED,
    ),
    "r.row",
)

_BEST: Final = "r.pinned DESC, r.importance DESC, r.id DESC"

_CONDITIONS: Final = {
    "category": "r.category = :category AND r.category <> ''",
    "key": "r.key = :key AND r.key <> ''",
    "key_beginning": "r.key <> '' AND starts_with(r.key, :key_beginning)",
    "phase": "r.phase = :phase",
    "segments": "r.segment = ANY(:segments)",
    "away": "(r.segment IS NULL OR r.segment <> ALL(:away))",
    "branch": "r.branch = :branch",
    "session": "r.session = :session",
    "since": "r.created_at >= :since",
    "until": "r.created_at < :until",
    "statement": "r.statement = :statement AND r.statement <> ''",
    "statements": "r.statement = ANY(:statements) AND r.statement <> ''",
    "tags": "r.tags @> :tags AND r.row IN (SELECT look_up(ask_all(ARRAY("
    f"SELECT :bank || '#' || tag FROM unnest(:tags) tag)), {SEGMENTS}))",
}
"""The condition on `r` for each filter that has a value."""

_OWN_PARAMETER: Final = compile_later(r"(?<![:\w]):(?!(?:bank|chain|elsewhere|now)\b)([a-z]\w*)")
"""A value of one question; the view is the same for all."""


def view_values(view: View) -> Values:
    """The named values that `CHAIN` and `VISIBLE` need."""
    return {
        "chain": _join(view.chain),
        "elsewhere": _join(view.away),
        "now": format_time(view.now),
    }


@lru_cache(maxsize=16)
def _join(chain: frozenset[SegmentId]) -> str:
    return " ".join(sorted(chain))


def build_filter(filters: Filters) -> tuple[str, Values]:
    """The filters as a condition on `r`, and its named values."""
    conditions, values = read_filters(filters)
    # spelt out, because a plan that is kept must know how rare they are
    kinds, layer = values.pop("kinds", None), values.pop("layer", None)
    conditions += ("r.bank = :bank", *(_CONDITIONS[name] for name in values))
    if layer is not None:
        conditions.append(f"r.layer = '{layer}'")
    if kinds:
        named = ",".join(kind for kind in get_args(Kind) if kind in kinds)
        conditions.append(f"r.kind = ANY ('{{{named}}}')")
    return " AND ".join(conditions), values


def build_query(wanted: Wanted) -> tuple[str, Values]:
    """The query for the ids of the newest or best entries that pass the filters, and its values."""
    filters, order = wanted.filters, _BEST if wanted.best else "r.id DESC"
    condition, values = build_filter(filters)
    seen = REACHABLE if filters.history else VISIBLE
    values["limit"] = wanted.limit
    query = f"FROM entry r WHERE {condition} AND {seen} ORDER BY {order} LIMIT :limit"
    if not (wanted.best and filters.by_kind_alone):
        return f"SELECT r.id {query}", values
    # the best of each kind, of which an index keeps the order, and of these the best
    condition, values = build_filter(replace(filters, kinds=frozenset()))
    values |= {"limit": wanted.limit, "ranked": sorted(filters.kinds or get_args(Kind))}
    best = (
        f"SELECT r.* FROM entry r WHERE r.kind = ranked.kind AND {condition} AND {seen} "
        f"ORDER BY {_BEST} LIMIT :limit"
    )
    return (
        f"SELECT r.id FROM unnest(:ranked::text[]) ranked (kind) CROSS JOIN LATERAL ({best}) r "
        f"ORDER BY {_BEST} LIMIT :limit"
    ), values


def build_queries(wanted: Sequence[Wanted]) -> tuple[str, Values]:
    """One query that answers several such questions: a column of ids for each, and its values."""
    columns: list[str] = []
    values: Values = {}
    for number, each in enumerate(wanted):
        query, own = build_query(each)
        query = _OWN_PARAMETER.sub(rf":\1_{number}", query)
        columns.append(f"ARRAY({query})")
        values |= {f"{name}_{number}": value for name, value in own.items()}
    return f"{CHAIN} SELECT {', '.join(columns)}", values
