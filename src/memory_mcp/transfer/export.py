"""What leaves with an export: what holds from here, or, asked for by name, everything there is.

It is chosen as the export begins, and read record by record, so that its size does not matter.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.profile import PROFILE_CATEGORY
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head
from memory_mcp.domain.transfer import Export
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.reading import require_records
from memory_mcp.engine.workspace import Pool, Workspace, reads_refused

_EVERY: Final = 1_000_000_000
"""More than any pool holds: an export has no limit."""


@dataclass(frozen=True)
class Chosen:
    """What an export is of. `last` is a move whose own record is yet to be written."""

    about: Export
    ids: Sequence[tuple[Pool, Sequence[RecordId]]]
    last: Record | None = None

    @property
    def count(self) -> int:
        """How many records that are."""
        return sum(len(ids) for _, ids in self.ids) + (self.last is not None)


async def choose_export(
    workspace: Workspace, pools: tuple[Reach, ...], *, history: bool
) -> Chosen | Skipped:
    """What is to leave: of these pools what is visible from here, or with its history all of it.

    Raises:
        StoreUnavailableError: there should be records, and there is not one.
    """
    if skipped := reads_refused(workspace):
        return skipped
    head = await current(workspace)
    view = view_on(workspace, head.timeline)
    await require_records(workspace, view)
    about = Export(workspace.scope, view.now, workspace.caller.branch, pools, history)
    found: list[tuple[Pool, Sequence[RecordId]]] = []
    last: Record | None = None
    for reach in pools:
        (pool,) = workspace.pools_of(reach)
        ids = await _everything(pool) if history else await _visible(pool, view)
        if history and reach == "project":
            last = _unwritten(head, ids)
        found.append((pool, sorted(ids)))
    return Chosen(about, found, last)


async def exported(chosen: Chosen) -> AsyncGenerator[Record]:
    """The records, in the order in which they were made, the project's first."""
    for pool, ids in chosen.ids:
        async for record in pool.records.scan(ids):
            yield record
    if chosen.last is not None:
        yield chosen.last


async def unreadable(chosen: Chosen, written: set[RecordId]) -> list[RecordId]:
    """What should have been there and could not be read: not what was forgotten meanwhile."""
    lost: list[RecordId] = []
    for pool, ids in chosen.ids:
        if missing := set(ids) - written:
            lost += sorted(missing & await pool.records.ids())
    return lost


async def _visible(pool: Pool, view: View) -> set[RecordId]:
    """Facts of the profile are memories too, though no search shows them unasked."""
    found = await pool.index.find(view, Filters(), _EVERY)
    return {*found, *await pool.index.find(view, Filters(category=PROFILE_CATEGORY), _EVERY)}


async def _everything(pool: Pool) -> set[RecordId]:
    """All but what a forget that was cut short has yet to erase."""
    return await pool.records.ids() - await pool.index.erased()


def _unwritten(head: Head, ids: set[RecordId]) -> Record | None:
    return head.last if head.last is not None and head.last.id not in ids else None
