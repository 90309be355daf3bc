"""What an import would do to what is here: erase it, hide it, take its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.app.import_here import Here, first_words
from memory_mcp.app.reading import load
from memory_mcp.app.rooms import Pool, Rooms
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Timeline
from memory_mcp.domain.views import Filters, View
from memory_mcp.timeline.moves import fold

__all__ = ["Effects", "effects"]

_FIRST: Final = 5
_EVERY: Final = 1_000_000_000


@dataclass(frozen=True)
class Effects:
    """How many memories here are erased, hidden and replaced, with the first of each."""

    erases: int = 0
    erased: tuple[str, ...] = ()
    hides: int = 0
    hidden: tuple[str, ...] = ()
    replaces: int = 0
    replaced: tuple[str, ...] = ()


async def effects(rooms: Rooms, here: Here, records: Sequence[Record]) -> Effects:
    """What these records, once they are in, do to the memories that are here.

    A memory that goes is not counted as hidden too, nor one that is hidden as replaced.
    """
    joined = fold(records, onto=here.timeline)
    gone: list[tuple[Pool, set[RecordId]]] = []
    hidden: list[tuple[Pool, set[RecordId]]] = []
    replaced: list[tuple[Pool, set[RecordId]]] = []
    for pool, ids in ((rooms.project, here.ours), (rooms.user, here.mine)):
        mine = [r for r in records if (r.scope.project is None) is (pool is rooms.user)]
        erased = {id_ for record in mine for id_ in record.erases}
        if erased:
            erased = (erased | await pool.index.derived(erased)) & ids
        gone.append((pool, erased))
        left = await _left(pool, here, joined) - erased
        buried, taken = await _suppressed(pool, here, joined, records)
        left |= buried - erased
        hidden.append((pool, left))
        replaced.append((pool, taken - erased - left))
    return Effects(
        sum(len(ids) for _, ids in gone), await _first(gone),
        sum(len(ids) for _, ids in hidden), await _first(hidden),
        sum(len(ids) for _, ids in replaced), await _first(replaced),
    )  # fmt: skip


async def _left(pool: Pool, here: Here, joined: Timeline) -> set[RecordId]:
    """What some branch shows now, and will not once the moves are joined."""
    found: set[RecordId] = set()
    for branch in here.timeline.branches:
        before, after = here.timeline.chain(branch), joined.chain(branch)
        if lost := before - after:
            seen = await _visible(pool, View(before, here.view.now), lost)
            found |= seen - await pool.index.visible(seen, View(after, here.view.now))
    return found


async def _visible(pool: Pool, view: View, segments: frozenset[SegmentId]) -> set[RecordId]:
    return set(await pool.index.find(view, Filters(segments=segments), _EVERY))


async def _suppressed(
    pool: Pool, here: Here, joined: Timeline, records: Sequence[Record]
) -> tuple[set[RecordId], set[RecordId]]:
    """What holds here and is buried, or replaced, by what can be seen from here then."""
    chain = joined.chain(here.branch)
    buried: set[RecordId] = set()
    taken: set[RecordId] = set()
    for record in records:
        if record.segment is None or record.segment in chain:
            (buried if record.kind == "tombstone" else taken).update(record.supersedes)
    named = buried | taken
    seen = await pool.index.visible(named, here.view) if named else set[RecordId]()
    return buried & seen, taken & seen


async def _first(found: list[tuple[Pool, set[RecordId]]]) -> tuple[str, ...]:
    said: list[str] = []
    for pool, ids in found:
        said += [first_words(r) for r in await load(pool, sorted(ids)[:_FIRST])]
    return tuple(said[:_FIRST])
