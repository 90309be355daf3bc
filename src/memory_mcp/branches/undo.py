"""Undoes the last move of a branch: a backtrack, restore or join, or an answer to a checkpoint."""

import shlex
from dataclasses import replace
from typing import Final

from memory_mcp.branches.backtrack import backtrack, preview_backtrack
from memory_mcp.branches.checkpoint import decide_checkpoint, preview_decision
from memory_mcp.domain.ids import MAIN, BranchName
from memory_mcp.domain.outcomes import (
    BacktrackOutcome,
    CheckpointOutcome,
    DecisionPreview,
    LaterAct,
    MovePreview,
    Skipped,
    UndoPreview,
)
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Checkpoint, Head, Timeline
from memory_mcp.engine.acts import find_later_act
from memory_mcp.engine.head import load_head
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError
from memory_mcp.timeline.nodes import find_fork
from memory_mcp.timeline.plans import plan_rest

_AT_ONCE: Final = 20

_ERASED: Final = "A memory was erased for good: that cannot be undone."


async def undo(
    workspace: Workspace, preview: MovePreview | DecisionPreview
) -> BacktrackOutcome | CheckpointOutcome:
    """Carry out what `preview_undo` said; of a backtrack nothing if that is no longer true.

    Raises:
        InvalidRequestError: the checkpoint was answered otherwise meanwhile.
    """
    match preview:
        case MovePreview(to=to, token=token):
            return await backtrack(workspace, to, "continue", token=token)
        case DecisionPreview(checkpoint, decision, summary):
            return await decide_checkpoint(workspace, checkpoint.id, decision, summary, again=True)


async def preview_undo(workspace: Workspace) -> UndoPreview:
    """The move that restores the line which the last move left, or that leads to before a join.

    After an answer to a checkpoint: the word that takes it back. A second one redoes it. A join is
    taken back on the caller's branch alone.
    What was erased, hidden or corrected since is not brought back by any move. It is named as
    `later`: the caller agrees to the older move first.

    Raises:
        InvalidRequestError: there is none, or it left nothing that could be restored; says why.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    branch = workspace.caller.branch
    head = await load_head(workspace)
    last, other = await _load_last_moves(workspace, head)
    erased = await _was_erased_since(workspace, last)
    if last is None or last.move is None:
        raise InvalidRequestError(
            f"Nothing to undo: branch {branch} was never moved."
            f"{f' {_ERASED}' if erased else ''}"
            f"{await _name_other(workspace, other, head.timeline)}"
        )
    move = last.move
    if move.act in ("checkpoint", "decide"):
        named = head.timeline.checkpoints.get(move.checkpoint) if move.checkpoint else None
        if move.act == "checkpoint" or named is None:
            raise _refuse_checkpoint(named)
        preview = await _preview_undecided(workspace, last, named)
        if isinstance(preview, Skipped):
            return preview
        later = await find_later_act(workspace, head.timeline, last, "changes")
        return replace(preview, later=later)
    back = await _find_way_back(workspace, head.timeline, last)
    if back is None and move.forgets:
        raise InvalidRequestError(
            "The last move erased what it left for good: it cannot be undone."
        )
    if back is None:
        raise InvalidRequestError(
            f"The last move on branch {branch} left nothing behind: there is nothing to undo."
            f"{await _name_other(workspace, other, head.timeline)}"
        )
    preview = await preview_backtrack(workspace, back)
    if isinstance(preview, Skipped):
        return preview
    later = await find_later_act(workspace, head.timeline, last, "not taken along")
    if later is None and erased:  # on another branch, by another's order
        later = LaterAct("erased", last.id, "A memory was erased for good")
    return replace(preview, takes_back=_describe_move(move, head.timeline), later=later)


async def _find_way_back(workspace: Workspace, timeline: Timeline, last: Record) -> str | None:
    """What a backtrack is given to take this move back; None if it left nothing behind."""
    if last.move is not None and last.move.act == "join":
        return last.id
    if left := [line.id for line in timeline.left_lines() if line.move == last.id]:
        return left[0]
    rest = plan_rest(timeline, workspace.caller.branch, last.id)
    found = await workspace.project.index.holding(rest.brings) if rest else None
    return last.id if found else None


async def _preview_undecided(
    workspace: Workspace, last: Record, checkpoint: Checkpoint
) -> DecisionPreview | Skipped:
    """The word that takes the last answer to the checkpoint back, or gives it again."""
    decision, summary = "reopen", ""
    taken_back = list(last.move.undoes if last.move else ())
    for answer in (await load_records(workspace.project, taken_back))[:1]:
        skipped = answer.move is not None and answer.move.approval == "skipped"
        decision, summary = "skip" if skipped else "edit", answer.content
    preview = await preview_decision(workspace, checkpoint.id, decision, summary)
    return preview if isinstance(preview, Skipped) else replace(preview, undoes=True)


async def _name_other(workspace: Workspace, record: Record | None, timeline: Timeline) -> str:
    """The newer move of another branch, if it can be undone there: it may be meant."""
    if record is None or record.move is None or await _was_erased_since(workspace, record):
        return ""
    branch = shlex.quote(record.move.branch)
    return (
        f" The last move on branch {record.move.branch} was {_describe_move(record.move, timeline)}"
        f": `memory-mcp --branch {branch} undo` takes it back."
    )


def _describe_move(move: Move, timeline: Timeline) -> str:
    """A backtrack, a discard, a restore or a join in words."""
    if move.act == "join":
        return "the join"
    if move.act == "restore":
        return f"the restore of {move.line}" if move.line else "the restore"
    if move.checkpoint or not move.parents:
        erased = ", but for what it erased" if move.forgets else ""
        return f"the backtrack to {move.checkpoint or 'the start'}{erased}"
    discarded = move.branch != MAIN and move.parents == find_fork(timeline, move.branch)
    return f"the discard of {move.branch}" if discarded else "the backtrack to before a join"


def _refuse_checkpoint(checkpoint: Checkpoint | None) -> InvalidRequestError:
    """The error that says why the checkpoint of the last move is not undone, and what to do."""
    match checkpoint:
        case Checkpoint(approval="pending", id=id_):
            return InvalidRequestError(
                f"Nothing to undo: checkpoint {id_} waits for approval. To drop it, "
                f"`memory-mcp checkpoint --pending {id_} --decision skip`."
            )
        case _:
            what = checkpoint.id if checkpoint else "a checkpoint"
    return InvalidRequestError(
        f"Nothing to undo: the last move sealed {what}, which hid nothing. "
        "`memory-mcp status` lists the lines that were left before; "
        "`memory-mcp backtrack LINE` restores one."
    )


async def _was_erased_since(workspace: Workspace, last: Record | None) -> bool:
    """Whether a memory was erased after that move, or ever."""
    bound = last.id if last else ""
    return any([await bank.index.erased_since(bound) for bank in workspace.banks])


async def _load_last_moves(workspace: Workspace, head: Head) -> tuple[Record | None, Record | None]:
    """The newest move of the caller's branch that left, joined or sealed something.

    With the newest of another branch that can be undone there, if that is newer. A backtrack from
    where nothing was written yet changed nothing: whoever takes something back means none of these.
    """
    branch, other = workspace.caller.branch, None
    passed: set[BranchName] = set()
    lines = {line.move for line in head.timeline.left_lines()}
    holding = await workspace.project.index.holding()
    ids = sorted(head.timeline.moves, reverse=True)
    for start in range(0, len(ids), _AT_ONCE):
        found = await load_records(workspace.project, ids[start : start + _AT_ONCE])
        if head.last is not None and start == 0:  # its own file may not be written yet
            found = [head.last, *found]
        for record in sorted(found, key=lambda record: record.id, reverse=True):
            move = record.move
            if move is None or move.act in ("fork", "anchor"):
                continue
            left = move.forgets or not holding.isdisjoint(move.gives_up)
            if move.act == "backtrack" and not left:
                continue
            if branch in ({*move.opens} if move.act == "join" else {move.branch}):
                return record, other
            undone = move.act in ("backtrack", "restore") and record.id in lines
            if other is None and undone and move.branch not in passed:
                other = record
            passed |= {*move.opens, move.branch}
    return None, other
