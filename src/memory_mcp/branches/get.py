"""One thing by its name, whole: a memory or a checkpoint.

What does not hold from here is not shown, whoever names it. It is only said why, and what to do:
an id lives longer than the memory, in the prompts and notes that name it.
"""

from dataclasses import replace
from typing import Final

from memory_mcp.branches.backtrack import preview_backtrack
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Preview, Skipped, WholeCheckpoint
from memory_mcp.domain.record import Record, iso
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Checkpoint, Timeline
from memory_mcp.engine.head import current, known_memory, view_on
from memory_mcp.engine.reading import newest
from memory_mcp.engine.workspace import Workspace, reads_refused
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.timeline.plans import named_once, target_checkpoint

_CLOSED: Final = Filters(kinds=frozenset({"closeout", "decision"}))
_CLOSED_MAX: Final = 30
"""Records shown with a checkpoint: a phase with more has been cut too large."""

_SUCCESSORS_MAX: Final = 100
"""Among so many of the newest memories the one is looked for that replaced a memory."""


async def whole_memory(workspace: Workspace, memory_id: str) -> Record | Skipped:
    """The memory of that id.

    Raises:
        UnknownMemoryError: it does not hold here; the message says why, or names the nearest.
    """
    if skipped := reads_refused(workspace):
        return skipped
    timeline = (await current(workspace)).timeline
    view = view_on(workspace, timeline)
    try:
        return await known_memory(workspace, memory_id, view)
    except UnknownMemoryError as error:
        if why := await _why_gone(workspace, RecordId(memory_id.strip()), timeline, view):
            raise UnknownMemoryError(memory_id, why=why) from error
        raise


async def whole_checkpoint(workspace: Workspace, checkpoint_id: str) -> WholeCheckpoint | Skipped:
    """The checkpoint of that id (or the newest of that phase), with what was closed with it.

    Raises:
        UnknownTargetError: there is none; the message lists those there are.
        InvalidRequestError: a backtrack left it. It is not shown: what it says was learnt there.
    """
    if skipped := reads_refused(workspace):
        return skipped
    timeline = (await current(workspace)).timeline
    checkpoint_id = _meant(workspace, timeline, checkpoint_id.strip())
    found = _pending(workspace, timeline, checkpoint_id)
    preview: Preview | None = None
    if found is None:
        _refuse_left(workspace, timeline, checkpoint_id)
        found = target_checkpoint(timeline, workspace.caller.branch, checkpoint_id)
        outlook = await preview_backtrack(workspace, found.id)
        preview = outlook if isinstance(outlook, Preview) else None  # a meta session moves nothing
    return WholeCheckpoint(found, preview, await _closed(workspace, timeline, found))


async def valid_checkpoints(workspace: Workspace) -> list[Checkpoint]:
    """Those one can go back to, newest first. Nothing is begun or written to tell."""
    if reads_refused(workspace):
        return []
    head = await workspace.heads.read()
    return head.timeline.valid(workspace.caller.branch)[::-1] if head else []


def _meant(workspace: Workspace, timeline: Timeline, given: str) -> str:
    """The checkpoint that a part of an id fits. What was left is told by its whole name alone."""
    here = workspace.caller.branch
    known = [c.id for c in (*timeline.valid(here), *timeline.pending(here))]
    return named_once("checkpoints", given, known)


def _pending(workspace: Workspace, timeline: Timeline, wanted: str) -> Checkpoint | None:
    waiting = timeline.pending(workspace.caller.branch)
    return next((checkpoint for checkpoint in waiting if checkpoint.id == wanted), None)


def _refuse_left(workspace: Workspace, timeline: Timeline, wanted: str) -> None:
    if any(left.id == wanted for left in timeline.invalidated(workspace.caller.branch)):
        raise InvalidRequestError(
            f"Checkpoint {wanted!r} was left by a backtrack. backtrack(to={wanted!r}) would "
            "restore its road."
        )


async def _closed(workspace: Workspace, timeline: Timeline, found: Checkpoint) -> list[Record]:
    """What was closed and decided in its phase; without a phase, in the segments it seals."""
    wanted = replace(_CLOSED, reach="project")
    if found.phase is None:
        wanted = replace(wanted, segments=frozenset(found.seals))
    else:
        wanted = replace(wanted, phase=found.phase)
    read = await newest(workspace, view_on(workspace, timeline), wanted, _CLOSED_MAX)
    return list(read.records)


async def _why_gone(workspace: Workspace, wanted: RecordId, timeline: Timeline, view: View) -> str:
    """Why a memory that there is, or was, does not hold here; nothing if it never was."""
    for pool in workspace.pools:
        if wanted in await pool.index.erased():
            return "was erased for good. Ask the user before you write it down again"
        record = await pool.records.get(wanted)
        if record is not None and record.recalled:
            return await _why_hidden(workspace, record, timeline, view)
    return ""


async def _why_hidden(workspace: Workspace, record: Record, timeline: Timeline, view: View) -> str:
    if record.segment is not None and record.segment not in view.chain:
        return _where_left(workspace, record, timeline)
    if record.expires_at is not None and record.expires_at <= view.now:
        return f"expired at {iso(record.expires_at)}"
    latest = await newest(workspace, view, Filters(), _SUCCESSORS_MAX)
    for other in latest.records:
        if record.id in other.supersedes:
            return f"was replaced by {other.id}: read that one"
    return "was replaced or hidden since. search_memories finds what holds now"


def _where_left(workspace: Workspace, record: Record, timeline: Timeline) -> str:
    here = workspace.caller.branch
    for branch in timeline.branches:
        if record.segment in timeline.chain(branch):
            return f"belongs to branch {branch!r}; this session is on {here!r}"
    holding = [record.segment] if record.segment else []
    for line in timeline.left_lines(holding):
        if line.branch == here and record.segment in timeline.ancestors(line.tips):
            return f"was left by a backtrack. backtrack(to={line.id!r}) would restore that road"
    return "was left by a backtrack on another branch, or given up for good"
