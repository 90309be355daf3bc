"""Who may order that a record is erased: a record of this machine's own, read from its file.

What came from the cloud hides at once, but what it would erase stays on the disk and waits here for
the user's word. A row of the index only says where to look.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from memory_mcp.bootstrap.views import render_after_removal
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_IDS_MAX
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.record import Record, Scope
from memory_mcp.engine.head import current, writing
from memory_mcp.engine.recovery import let_go
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import StoreError

_TITLE_CHARS: Final = 80

_NOTE: Final = (
    "{} that another machine forgot {} hidden here, but still on this disk: the cloud erases "
    "nothing. Ask the user; `memory-mcp sync --erase` erases {}."
)


@dataclass(frozen=True)
class PendingErasure:
    """A record that something from the cloud would erase."""

    id: RecordId
    title: str


async def waiting_to_be_erased(workspace: Workspace) -> list[PendingErasure]:
    """What is hidden by the word of the cloud and still on the disk, oldest first."""
    found: list[PendingErasure] = []
    for pool in workspace.pools:
        found += [
            PendingErasure(record.id, _title(record))
            async for record in pool.records.scan(await _waiting(pool))
        ]
    return sorted(found, key=lambda waiting: waiting.id)


async def waiting_note(workspace: Workspace) -> tuple[str, ...]:
    """A sentence for as long as something waits."""
    with suppress(StoreError):  # whoever needs the index says so
        if count := sum([len(await _waiting(pool)) for pool in workspace.pools]):
            if count == 1:
                return (_NOTE.format("1 memory", "is", "it"),)
            return (_NOTE.format(f"{count:,} memories", "are", "them"),)
    return ()


async def erase_waiting(workspace: Workspace) -> list[PendingErasure]:
    """Erase what waits, by the user's word; what that was.

    The tombstones are this machine's own and durable before anything is erased: a cut in between
    is completed by the next start.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    done = await waiting_to_be_erased(workspace)
    for pool in workspace.pools:
        ids = sorted(await pool.records.ids() & {waiting.id for waiting in done})
        await let_go(workspace, ids)
        for start in range(0, len(ids), BATCH_IDS_MAX):
            batch = ids[start : start + BATCH_IDS_MAX]
            await pool.keep(await _tombstone(workspace, pool, batch))
            await pool.erase(set(batch))
        if ids:
            await render_after_removal(workspace, pool)
    return done


async def _waiting(pool: Pool) -> set[RecordId]:
    """What the other machine named: what was written here on a line that it gave up is ours."""
    waits = set(await pool.index.to_erase()) - await pool.index.ordered()
    return waits & await pool.records.ids()


async def _tombstone(workspace: Workspace, pool: Pool, ids: Collection[RecordId]) -> Record:
    """Outside the timeline, so that no road brings back what it names."""
    place = writing(workspace, (await current(workspace)).timeline, workspace.clock.now())
    mine = pool is workspace.user
    return Record(
        id=place.id,
        kind="tombstone",
        content="Erased on request, after another machine forgot it.",
        supersedes=tuple(ids),
        erases=tuple(ids),
        scope=Scope(user=place.scope.user) if mine else place.scope,
        origin=place.origin,
        created_at=place.at,
    )


def _title(record: Record) -> str:
    return cut(" ".join((record.title or record.content).split()), _TITLE_CHARS)
