"""Erasures that came from the cloud and wait for the user's word.

Only a record of this machine, read from its file, orders an erasure. A record of the cloud hides at
once, but what it would erase stays on this disk until the user agrees.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Final

from memory_mcp.bootstrap.views import withdraw_removed
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_IDS_MAX
from memory_mcp.domain.record import Reach, Record, cut_title
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import load_head, make_writing
from memory_mcp.engine.recovery import drop_from_head
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import StoreError
from memory_mcp.frozen import frozen

_NOTE: Final = (
    "{} that another machine forgot {} hidden here, but still on this disk: the cloud erases "
    "nothing. Ask the user; `memory-mcp cloud sync --erase` erases {}."
)


@frozen
class PendingErasure:
    """A record that a record of the cloud would erase."""

    id: RecordId
    title: str


async def list_pending_erasures(workspace: Workspace) -> list[PendingErasure]:
    """The records that the cloud hides and that are still on this disk, oldest first."""
    found: list[PendingErasure] = []
    for bank in workspace.banks:
        found += [
            PendingErasure(record.id, cut_title(record, 80))
            async for record in bank.records.scan(await _find_pending(bank))
        ]
    return sorted(found, key=lambda waiting: waiting.id)


async def describe_pending_erasures(workspace: Workspace) -> tuple[str, ...]:
    """A note while an erasure waits."""
    with suppress(StoreError):  # a call that needs the index reports it
        if count := sum([len(await _find_pending(bank)) for bank in workspace.banks]):
            if count == 1:
                return (_NOTE.format("1 memory", "is", "it"),)
            return (_NOTE.format(f"{count:,} memories", "are", "them"),)
    return ()


async def erase_pending(workspace: Workspace) -> list[PendingErasure]:
    """Erase what waits, by the user's word; what that was.

    This machine's own tombstones are durable first, so the next start completes a cut.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    done = await list_pending_erasures(workspace)
    if not done:
        return done
    timeline = (await load_head(workspace)).timeline
    for reach, bank in zip(workspace.reaches, workspace.banks, strict=True):
        ids = sorted(await bank.records.ids() & {waiting.id for waiting in done})
        await drop_from_head(workspace, ids)
        for start in range(0, len(ids), BATCH_IDS_MAX):
            batch = ids[start : start + BATCH_IDS_MAX]
            await bank.keep(_build_tombstone(workspace, reach, timeline, batch))
            await bank.erase(set(batch))
        if ids:
            await withdraw_removed(workspace, bank)
    return done


async def _find_pending(bank: MemoryBank) -> set[RecordId]:
    """The existing ids that records of the cloud would erase and no own record erases."""
    waits = set(await bank.index.to_erase())
    if not waits:  # to list the records takes longer than all the rest
        return waits
    return (waits - await bank.index.ordered()) & await bank.records.ids()


def _build_tombstone(
    workspace: Workspace, reach: Reach, timeline: Timeline, ids: Collection[RecordId]
) -> Record:
    """A tombstone outside the timeline, so that no backtrack brings back what it names."""
    place = make_writing(workspace, timeline, workspace.clock.now())
    return Record(
        id=place.id,
        kind="tombstone",
        content="Erased on request, after another machine forgot it.",
        supersedes=tuple(ids),
        erases=tuple(ids),
        scope=place.scope_of(reach),
        origin=place.origin,
        created_at=place.at,
    )
