"""The existing records that an import would change, and what it would do to them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.reading import load
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import StoreError
from memory_mcp.timeline.moves import fold

FORGOTTEN: Final = "was forgotten here"

_LINE_CHARS_MAX: Final = 100
_ASKED: Final = 500
"""Statements asked for in one query."""
_EVERY: Final = 1_000_000_000


@dataclass(frozen=True)
class Here:
    """What there is, and what was: it is not brought back. `ours` are the project's ids."""

    timeline: Timeline
    branch: BranchName
    view: View
    ours: AbstractSet[RecordId]
    mine: AbstractSet[RecordId]
    erased: AbstractSet[RecordId]

    @property
    def ids(self) -> AbstractSet[RecordId]:
        """The ids of both pools."""
        return self.ours | self.mine


@dataclass(frozen=True)
class Beside:
    """What is here beside what is to come: of the same id, or the same statement."""

    here: Here
    same_id: Mapping[RecordId, Record]
    seen: AbstractSet[RecordId]
    takers: Mapping[RecordId, Record]
    stated: Mapping[tuple[bool, str], Sequence[Record]]

    def twins(self, record: Record) -> Sequence[Record]:
        """What holds here and states this very thing, and tombstones that reject it."""
        return self.stated.get(_stated(record), ()) if record.statement else ()

    def unknown_because(self, record: Record) -> str:
        """Why a record is not known, whose id is here; empty if it is known."""
        there = self.same_id.get(record.id)
        if there is None:
            return "is here, and cannot be read: `memory-mcp doctor` says why"
        if (there.statement, there.kind) != (record.statement, record.kind):
            return f"differs from the memory of that id here: {first_words(there)}"
        if record.id in self.seen:
            return ""
        taker = self.takers.get(record.id)
        return self._hidden_because(there) if taker is None else _taken_by(taker)

    def _hidden_because(self, there: Record) -> str:
        here = self.here
        if there.expires_at is not None and there.expires_at <= here.view.now:
            return f"expired on {there.expires_at:%Y-%m-%d}"
        on = [b for b in here.timeline.branches if there.segment in here.timeline.chain(b)]
        if there.segment is not None and on and there.segment not in here.view.chain:
            return f"is here on the branch {on[0]}"
        return "is here on a road that was left"

    def is_the_same(self, record: Record) -> bool:
        """Whether a record of that id is here as it is, or holds and says the same."""
        if record.id not in self.here.ids:
            return False
        return self.same_id.get(record.id) == record or not self.unknown_because(record)


async def look(workspace: Workspace) -> Here:
    """What there is as a whole."""
    timeline = (await current(workspace)).timeline
    ids: list[set[RecordId]] = []
    erased: set[RecordId] = set()
    for pool in workspace.pools:
        ids.append(await pool.index.ids() | await pool.records.ids())
        erased |= await pool.index.erased()
        if pool.mirror:
            erased |= await pool.mirror.outbox.gone()
    ours, mine = ids
    return Here(timeline, workspace.caller.branch, view_on(workspace, timeline), ours, mine, erased)


async def beside(workspace: Workspace, here: Here, records: Sequence[Record]) -> Beside:
    """What is here beside these records."""
    wanted = {record.id for record in records} & here.ids
    same_id: dict[RecordId, Record] = {}
    seen: set[RecordId] = set()
    for pool, ids in ((workspace.project, here.ours), (workspace.user, here.mine)):
        if some := wanted & ids:
            same_id |= {record.id: record for record in await load(pool, sorted(some))}
            seen |= await pool.index.visible(some, here.view)
    hidden = wanted - seen
    takers = await _takers(workspace, hidden, here) if hidden else {}
    return Beside(here, same_id, seen, takers, await _all_stated(workspace, here, records))


async def _takers(
    workspace: Workspace, hidden: AbstractSet[RecordId], here: Here
) -> dict[RecordId, Record]:
    """What took the place of these, seen from here. Nobody asks often, so all are read for it."""
    found: dict[RecordId, Record] = {}
    for pool in workspace.pools:
        async for record in pool.records.scan(await pool.records.ids()):
            if record.segment is None or record.segment in here.view.chain:
                found |= dict.fromkeys(hidden & set(record.supersedes), record)
    return found


async def _all_stated(
    workspace: Workspace, here: Here, records: Sequence[Record]
) -> dict[tuple[bool, str], list[Record]]:
    """By whose it is and what it states: what holds here, and the tombstones of any pool.

    A pool that cannot be asked has nothing to say, as for a single memory.
    """
    found: dict[tuple[bool, str], list[Record]] = defaultdict(list)
    statements = sorted({record.statement for record in records} - {""}) if here.ids else []
    for start in range(0, len(statements), _ASKED):
        filters = Filters(statements=frozenset(statements[start : start + _ASKED]))
        for pool in workspace.pools:
            try:
                ids = await pool.index.find(here.view, filters, _EVERY)
            except StoreError:
                continue
            for record in await load(pool, ids):
                for mine in (
                    (True, False) if record.kind == "tombstone" else (pool is workspace.user,)
                ):
                    found[mine, record.statement].append(record)
    return found


def pool_of(workspace: Workspace, record: Record) -> Pool:
    """Where a record rests."""
    return workspace.user if record.scope.project is None else workspace.project


def first_words(record: Record) -> str:
    """A record in one line."""
    said = f"{record.title}: {record.content}" if record.title else record.content
    said = " ".join(said.split())
    return said if len(said) <= _LINE_CHARS_MAX else f"{said[: _LINE_CHARS_MAX - 1]}\u2026"


def _taken_by(taker: Record) -> str:
    if taker.kind == "tombstone":
        return FORGOTTEN
    return f"was superseded here by {taker.id}: {first_words(taker)}"


def _stated(record: Record) -> tuple[bool, str]:
    return record.scope.project is None, record.statement


_FIRST: Final = 5
_ANY: Final = 1_000_000_000


@dataclass(frozen=True)
class Effects:
    """How many memories here are erased, hidden and replaced, with the first of each."""

    erases: int = 0
    erased: tuple[str, ...] = ()
    hides: int = 0
    hidden: tuple[str, ...] = ()
    replaces: int = 0
    replaced: tuple[str, ...] = ()


async def effects(workspace: Workspace, here: Here, records: Sequence[Record]) -> Effects:
    """What these records, once they are in, do to the memories that are here.

    A memory that goes is not counted as hidden too, nor one that is hidden as replaced.
    """
    joined = fold(records, onto=here.timeline)
    gone: list[tuple[Pool, set[RecordId]]] = []
    hidden: list[tuple[Pool, set[RecordId]]] = []
    replaced: list[tuple[Pool, set[RecordId]]] = []
    for pool, ids in ((workspace.project, here.ours), (workspace.user, here.mine)):
        mine = [r for r in records if (r.scope.project is None) is (pool is workspace.user)]
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
    return set(await pool.index.find(view, Filters(segments=segments), _ANY))


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
