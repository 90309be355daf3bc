"""What the use cases that write a memory have in common."""

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.engine.head import current
from memory_mcp.engine.recovery import forgotten_here
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import ConflictError, InvalidRequestError


def pool_of(workspace: Workspace, record: Record) -> Pool:
    """A record without a project in its scope is the user's."""
    return workspace.user if record.scope.project is None else workspace.project


def refuse_checkpoint(record: Record) -> None:
    """A checkpoint is no memory that could be replaced or forgotten by itself.

    Raises:
        InvalidRequestError: with what to do instead.
    """
    if record.kind == "checkpoint":
        raise InvalidRequestError(
            f"{record.id} is a checkpoint, which is part of the timeline. To leave what came after "
            "it, use backtrack; to correct its summary, seal another checkpoint."
        )


async def still_on_line(
    workspace: Workspace, record: Record, written: frozenset[RecordId] = frozenset()
) -> tuple[str, ...]:
    """Say so if another session left this line while the memory was being written.

    `written` was stored on the way to it, on the same line.

    Raises:
        ConflictError: it gave the line up for good, so the memory was erased with it.
    """
    if record.segment is None:
        return ()
    head = await current(workspace)
    if record.segment in await forgotten_here(workspace, head):
        await workspace.project.erase({record.id, *written})
        raise ConflictError(
            "Another session gave up this line for good while the memory was being written, so "
            "it was erased with it. If it still holds, add it again."
        )
    if record.segment in head.timeline.chain(workspace.caller.branch):
        return ()
    note = (
        "Another session backtracked while this was being written: it was stored on the line "
        "that was left and is hidden. If it still holds, add it again."
    )
    return (note,)
