"""Gets one memory or checkpoint by its id, in full.

What does not hold on this branch is never shown. The error says why it does not, and what to do:
prompts and notes go on naming an id after its memory has gone.
"""

from dataclasses import replace
from typing import Final

from memory_mcp.branches.backtrack import preview_backtrack
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import CheckpointDetails, MovePreview, Skipped
from memory_mcp.domain.record import Record, format_time
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Checkpoint, Timeline
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.records import load_newest, require_memory
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.hints import address, name_id, name_step
from memory_mcp.timeline.plans import require_checkpoint, resolve_name

_CLOSED: Final = Filters(kinds=frozenset({"closeout", "decision"}))
_CLOSED_MAX: Final = 30
"""Records shown with a checkpoint."""

_SUCCESSORS_MAX: Final = 100
"""The newest memories among which the successor of a replaced memory is looked for."""


async def get_memory(workspace: Workspace, memory_id: str) -> Record | Skipped:
    """The memory of that id.

    Raises:
        UnknownMemoryError: it does not hold here; the message says why, or names the nearest ids.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    view = make_view(workspace, timeline)
    try:
        return await require_memory(workspace, memory_id, view)
    except UnknownMemoryError as error:
        if why := await _explain_missing(workspace, RecordId(memory_id.strip()), timeline, view):
            raise UnknownMemoryError(memory_id, why=why) from error
        raise


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
        found = require_checkpoint(timeline, branch, checkpoint_id)
        outcome = await preview_backtrack(workspace, found.id)
        preview = (
            outcome if isinstance(outcome, MovePreview) else None
        )  # a meta session moves nothing
    return CheckpointDetails(found, preview, await _load_closed(workspace, timeline, found))


async def list_checkpoints(workspace: Workspace) -> list[Checkpoint]:
    """The checkpoints one can go back to, newest first. Writes nothing, not even a first head."""
    if refuse_reads(workspace):
        return []
    head = await workspace.heads.read()
    return head.timeline.valid(workspace.caller.branch)[::-1] if head else []


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


async def _explain_missing(
    workspace: Workspace, wanted: RecordId, timeline: Timeline, view: View
) -> str:
    """Why an existing or erased memory does not hold here; empty if it never existed."""
    for bank in workspace.banks:
        if wanted in await bank.index.erased():
            return "was erased for good. Ask the user before you write it down again"
        record = await bank.records.get(wanted)
        if record is not None and record.recalled:
            return await _explain_hidden(workspace, record, timeline, view)
    strangers = workspace.strangers
    if strangers and await strangers.bank.records.get(wanted):
        return (
            f"came with this repository, which is not trusted. {address('The user', 'You')} can "
            "look at all that came, and trust it, with `memory-mcp trust`"
        )
    return ""


async def _explain_hidden(
    workspace: Workspace, record: Record, timeline: Timeline, view: View
) -> str:
    if record.segment is not None and record.segment not in view.chain:
        return _explain_other_segment(workspace, record, timeline)
    if record.expires_at is not None and record.expires_at <= view.now:
        return f"expired at {format_time(record.expires_at)}"
    latest = await load_newest(workspace, view, Filters(), _SUCCESSORS_MAX)
    for other in latest.records:
        if record.id in other.supersedes:
            return f"was replaced by {name_id(other.id)}: read that one"
    return f"was replaced or hidden since. {name_step('search_memories')} finds what holds now"


def _explain_other_segment(workspace: Workspace, record: Record, timeline: Timeline) -> str:
    here = workspace.caller.branch
    for branch in timeline.branches:
        if record.segment in timeline.chain(branch):
            return f"belongs to branch {branch!r}; this session is on {here!r}"
    holding = [record.segment] if record.segment else []
    for line in timeline.left_lines(holding):
        if line.branch == here and record.segment in timeline.ancestors(line.tips):
            return f"was left by a backtrack. {name_step('backtrack', to=line.id)} would restore it"
    return "was left by a backtrack on another branch, or given up for good"
