"""Builds the record of a move, and tries to commit it on a head."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from memory_mcp.domain.ids import RecordId, parse_id_time
from memory_mcp.domain.record import Kind, Move, Record
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.recovery import commit_head
from memory_mcp.engine.workspace import Workspace
from memory_mcp.frozen import frozen
from memory_mcp.timeline.moves import apply_move

T = TypeVar("T")


@frozen
class PlannedMove(Generic[T]):
    """A move's record, what its planner `found`, and the records that are committed with it.

    These may be moves too. A move is planned anew if another session was first, so only what was
    found with the plan that was committed counts.
    """

    record: Record
    found: T
    along: tuple[Record, ...] = ()


Planner = Callable[[Head, RecordId, datetime], Awaitable[PlannedMove[T]]]
"""Plans a move of this id and time from a head."""


async def try_move(
    workspace: Workspace, head: Head, plan: Planner[T]
) -> tuple[Head, PlannedMove[T]] | None:
    """Plan a move from this head and commit it; None if another session was first."""
    at = _next_time(head, workspace.clock.now())
    planned = await plan(head, workspace.ids.new(at), at)
    record = planned.record
    timeline = head.timeline
    for step in (record, *(each for each in planned.along if each.move is not None)):
        timeline = apply_move(timeline, step)
    moved = Head(
        project=head.project,
        revision=head.revision + 1,
        timeline=timeline,
        last=record,
        with_last=planned.along,
    )
    return (moved, planned) if await commit_head(workspace, head, moved) else None


def build_move_record(
    workspace: Workspace,
    head: Head,
    step: Move,
    *,
    id_: RecordId,
    at: datetime,
    kind: Kind,
    content: str,
) -> Record:
    """The record of a move.

    It lies outside the timeline, except for a checkpoint, which lies in the last segment that it
    seals.
    It lists everything else that the branch gave up, because a clone may have this record alone.
    """
    record = Record(
        id=id_,
        kind=kind,
        layer="recall",
        content=content,
        phase=step.phase,
        segment=step.parents[-1] if kind == "checkpoint" and step.parents else None,
        branch=step.branch,
        move=step,
        scope=workspace.scope,
        origin=workspace.origin(),
        created_at=at,
        key=f"project:{head.project}:phase" if step.phase is not None else "",
    )
    lineage = apply_move(head.timeline, record).lineage(step.branch, record.segment)
    others, kept = (
        {move: segments for move, segments in each.items() if move != id_}
        for each in (lineage.given_up, lineage.kept)
    )
    update = {"given_up": others, "kept": kept}
    return record.model_copy(update={"lineage": lineage.model_copy(update=update)})


def _next_time(head: Head, now: datetime) -> datetime:
    """A time after every move: moves are ordered by time, even if the clock was set back."""
    if not head.timeline.moves:
        return now
    newest = max(head.timeline.moves)  # ids begin with their time
    return max(now, parse_id_time(newest) + timedelta(milliseconds=1))
