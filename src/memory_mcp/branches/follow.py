"""Follows what any process writes: memories, checkpoints, moves, and what is forgotten."""

from collections.abc import AsyncGenerator
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import RecordArrived, RecordGone, TimelineEvent
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.engine.head import follow_folder_changes
from memory_mcp.engine.looks import ChangeLooks, make_observer
from memory_mcp.engine.members import find_author
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import MemoryMcpError

_LOOK_SECONDS: Final = 0.5
"""How often the files are looked at for what other processes wrote."""


async def follow_timeline(workspace: Workspace) -> AsyncGenerator[list[TimelineEvent]]:
    """What happens from now on, in the order of each look; the first is empty. It never ends.

    A look without news is empty, too. What cannot be read now is looked for again.
    """
    workspace = make_observer(workspace)
    looks = ChangeLooks(workspace.project.changes, workspace.views)
    await follow_folder_changes(workspace)
    known = [await bank.index.ids() for bank in workspace.banks]
    yield []
    while True:
        events: list[TimelineEvent] = []
        if await looks.find_news():
            try:
                await follow_folder_changes(workspace)
                for ids, bank in zip(known, workspace.banks, strict=True):
                    events += await _find_events(workspace, bank, ids)
            except MemoryMcpError:  # an index that is being made anew, a database that is away
                looks.forget()
        yield events
        await looks.wait(_LOOK_SECONDS)


async def _find_events(
    workspace: Workspace, bank: MemoryBank, known: set[RecordId]
) -> list[TimelineEvent]:
    """What became of the bank since; `known` then holds the ids that were told."""
    now = await bank.index.ids()
    gone = known - now
    if gone:  # what was erased is told by the record that orders it
        known -= gone
        gone -= await bank.index.erased()
    fresh = {record.id: record async for record in bank.records.scan(now - known)}
    known.update(fresh)
    events: list[TimelineEvent] = [RecordGone(id_) for id_ in sorted(gone)]
    events += [
        RecordArrived(record, find_author(workspace, record))
        for _, record in sorted(fresh.items())
        if find_profile_field(record) is None  # repeats what a memory says
    ]
    return events
