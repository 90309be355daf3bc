"""What was written just before and after a record, in the same go, and is visible."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import SESSION_PAUSE_SECONDS_MAX
from memory_mcp.domain.search import Candidate, Fields, Neighbour
from memory_mcp.domain.views import Filters
from memory_mcp.index.visibility import CHAIN, VISIBLE, Values, filtered

__all__ = ["CANDIDATE", "around", "candidate", "neighbours"]

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
        fields=Fields(body=body, names=names, dates=dates, extra=extra, day=day),
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
