"""Gets one memory or checkpoint by its id, in full.

What does not hold on this branch is never shown, but by `get_replaced` and `get_left`. The error
says why it does not, and what to do: prompts and notes go on naming an id after its memory has
gone.
"""

from dataclasses import replace
from typing import Final

from memory_mcp.branches.backtrack import preview_backtrack
from memory_mcp.code import find_moved_ground
from memory_mcp.domain.outcomes import CheckpointDetails, MovePreview, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.timeline import Checkpoint, Timeline
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.head import load_head, load_view, make_view
from memory_mcp.engine.lookup import find_left, find_replaced, require_memory
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.hints import name_step
from memory_mcp.timeline.plans import require_checkpoint, resolve_name

_CLOSED: Final = Filters(kinds=frozenset({"closeout", "decision"}))
_CLOSED_MAX: Final = 30
"""Records shown with a checkpoint."""


async def get_memory(workspace: Workspace, memory_id: str) -> Record | Skipped:
    """The memory of that id.

    Raises:
        UnknownMemoryError: it does not hold here; the message says why, or names the nearest ids.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    return await require_memory(workspace, memory_id, await load_view(workspace))


async def get_replaced(workspace: Workspace, memory_id: str) -> Record | None:
    """A memory that was replaced or hidden on this line, as it was; None if there is none.

    It is asked for by name, as history: what a backtrack left is not given.
    """
    if refuse_reads(workspace):
        return None
    return await find_replaced(workspace, memory_id, await load_view(workspace))


async def get_left(workspace: Workspace, memory_id: str) -> Record | None:
    """A memory that a backtrack left, as it was; None if there is none.

    For the person who may restore it, and asks for it by name. No agent is given it.
    """
    if refuse_reads(workspace):
        return None
    return await find_left(workspace, memory_id, (await load_head(workspace)).timeline)


async def get_checkpoint(workspace: Workspace, checkpoint_id: str) -> CheckpointDetails | Skipped:
    """The checkpoint of that id, or the newest of that phase, with the closeout of its phase.

    Raises:
        UnknownTargetError: there is none; the message lists those there are.
        InvalidRequestError: a backtrack left it.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    branch = workspace.caller.branch
    pending = {str(c.id): c for c in timeline.pending(branch)}
    # the id of an invalidated checkpoint must be given in full
    known = [*(c.id for c in timeline.valid(branch)), *pending]
    checkpoint_id = resolve_name("checkpoints", checkpoint_id.strip(), known)
    found = pending.get(checkpoint_id)
    preview: MovePreview | None = None
    if found is None:
        _refuse_invalidated(workspace, timeline, checkpoint_id)
        elsewhere = (await place_checkpoints(workspace, timeline.valid(branch))).marks
        found = require_checkpoint(timeline, branch, checkpoint_id, elsewhere)
        outcome = await preview_backtrack(workspace, found.id)
        preview = (
            outcome if isinstance(outcome, MovePreview) else None
        )  # a meta session moves nothing
    ground = await find_moved_ground(workspace, make_view(workspace, timeline), [found])
    closed = await _load_closed(workspace, timeline, found)
    return CheckpointDetails(found, preview, closed, ground.get(found.id, ""))


async def list_checkpoints(workspace: Workspace) -> list[Checkpoint]:
    """The checkpoints one can go back to, newest first. Writes nothing, not even a first head."""
    if refuse_reads(workspace):
        return []
    head = await workspace.heads.read()
    valid = head.timeline.valid(workspace.caller.branch) if head else []
    return (await place_checkpoints(workspace, valid)).order_shown(valid)[::-1]


def _refuse_invalidated(workspace: Workspace, timeline: Timeline, wanted: str) -> None:
    if any(left.id == wanted for left in timeline.invalidated(workspace.caller.branch)):
        raise InvalidRequestError(
            f"Checkpoint {wanted!r} was left by a backtrack. "
            f"{name_step('backtrack', to=wanted)} would restore its line."
        )


async def _load_closed(workspace: Workspace, timeline: Timeline, found: Checkpoint) -> list[Record]:
    """Closeouts and decisions of its phase; without a phase, of the segments it seals."""
    wanted = replace(_CLOSED, reach="project")
    if found.phase is None:
        wanted = replace(wanted, segments=frozenset(found.seals))
    else:
        wanted = replace(wanted, phase=found.phase)
    read = await load_newest(workspace, make_view(workspace, timeline), wanted, _CLOSED_MAX)
    return list(read.records)
