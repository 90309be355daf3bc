"""Folding moves into a timeline.

A move is a set of additions, so two clones that exchange their records arrive at the same timeline.
"""

from collections.abc import Container, Iterable

from memory_mcp.domain.ids import CheckpointId, LineId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Checkpoint, Line, Segment, Timeline

__all__ = ["advance", "fold"]


def fold(records: Iterable[Record], onto: Timeline | None = None) -> Timeline:
    """The timeline after all the moves among these records."""
    timeline = onto or Timeline()
    moved = (r for r in records if r.move is not None and r.id not in timeline.moves)
    # a clock may have been set back between a checkpoint and its decision, or on another machine
    for record in sorted(moved, key=lambda r: (r.move is not None and bool(r.move.decides), r.id)):
        timeline = advance(timeline, record)
    return timeline


def advance(timeline: Timeline, record: Record) -> Timeline:
    """The timeline after one more move. A record that is no move changes nothing."""
    move = record.move
    if move is None or record.id in timeline.moves:
        return timeline
    opened = {
        segment: Segment(id=segment, parents=move.parents, branch=branch, move=record.id)
        for branch, segment in move.opens.items()
    }
    forgotten = timeline.forgotten | frozenset(move.forgets)
    return Timeline(
        segments=timeline.segments | opened,
        left=timeline.left | frozenset(move.leaves),
        forgotten=forgotten,
        checkpoints=_without_forgotten(_checkpoints(timeline.checkpoints, record, move), forgotten),
        lines=_lines(timeline.lines, record, move),
        undone=timeline.undone | frozenset(move.undoes),
        moves=timeline.moves | {record.id},
    )


def _checkpoints(
    known: dict[CheckpointId, Checkpoint], record: Record, move: Move
) -> dict[CheckpointId, Checkpoint]:
    if move.checkpoint is None or move.approval is None:
        return known
    if move.act == "checkpoint":
        sealed = Checkpoint(
            id=CheckpointId(_free(move.checkpoint, known, record)),
            phase=move.phase,
            summary=record.content,
            approval=move.approval,
            seals=move.parents,
            branch=move.branch,
            move=record.id,
            at=record.created_at,
        )
        return {**known, sealed.id: sealed}
    asked = next((c for c in known.values() if c.move == move.decides), None)
    if move.act == "decide" and asked is not None and asked.approval == "pending":
        decided = {"approval": move.approval, "summary": record.content}
        return {**known, asked.id: asked.model_copy(update=decided)}
    return known


def _lines(known: dict[LineId, Line], record: Record, move: Move) -> dict[LineId, Line]:
    if move.line is None:
        return known
    line = Line(
        id=LineId(_free(move.line, known, record)),
        tips=move.leaves,
        back_to=move.parents,
        branch=move.branch,
        move=record.id,
        at=record.created_at,
    )
    return {**known, line.id: line}


def _free(name: str, taken: Container[str], record: Record) -> str:
    """Two clones may have moved in the same second: the later one's name gets its record's tail."""
    return f"{name}-{record.id[-4:]}" if name in taken else name


def _without_forgotten(
    checkpoints: dict[CheckpointId, Checkpoint], forgotten: frozenset[SegmentId]
) -> dict[CheckpointId, Checkpoint]:
    return {id_: c for id_, c in checkpoints.items() if not forgotten.intersection(c.seals)}
