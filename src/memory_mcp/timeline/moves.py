"""Folding moves into a timeline.

A move is a set of additions, so two clones that exchange their records arrive at the same timeline.
"""

from collections.abc import Container, Iterable
from typing import Any

from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import AbandonedSegments, Checkpoint, Line, Segment, Timeline

_Abandoned = dict[RecordId, AbandonedSegments]


def fold_moves(records: Iterable[Record], onto: Timeline | None = None) -> Timeline:
    """The timeline after all the moves among these records, and with the lineage of all of them."""
    records = list(records)
    timeline = apply_lineages(records, onto or Timeline())
    moves = (r for r in records if r.move is not None and r.id not in timeline.moves)
    # a clock may have been set back between a checkpoint and its decision, or on another machine
    for record in sorted(moves, key=lambda r: (r.move is not None and bool(r.move.decides), r.id)):
        timeline = apply_move(timeline, record)
    return timeline


def apply_move(timeline: Timeline, record: Record) -> Timeline:
    """The timeline after one more move. A record that is no move changes nothing."""
    move = record.move
    if move is None or record.id in timeline.moves:
        return timeline
    opened = {
        segment: Segment(id=segment, parents=move.parents, branch=branch, move=record.id)
        for branch, segment in move.opens.items()
    }
    forgotten = timeline.forgotten | frozenset(move.forgets)
    checkpoints = _apply_checkpoint(timeline.checkpoints, record, move)
    return _replace(
        timeline,
        segments=timeline.segments | opened,
        left=timeline.left | frozenset(move.leaves),
        forgotten=forgotten,
        checkpoints={i: c for i, c in checkpoints.items() if not forgotten.intersection(c.seals)},
        lines=_apply_line(timeline.lines, record, move),
        given_up=_abandon(timeline.given_up, record.id, move.branch, move.gives_up),
        undone=timeline.undone | frozenset(move.undoes),
        moves=timeline.moves | {record.id},
    )


def apply_lineages(records: Iterable[Record], onto: Timeline) -> Timeline:
    """The timeline with the places that records name in their lineage.

    The moves themselves add the same once they are here: in any order and as often as may be, this
    is a union of sets.
    """
    segments, given_up, bases = dict(onto.segments), onto.given_up, dict(onto.bases)
    undone: set[RecordId] = set(onto.undone)
    for record in records:
        lineage, branch = record.lineage, record.branch
        if branch is None:
            continue
        if (opened := record.segment) is not None and lineage.move is not None:
            segments.setdefault(
                opened,
                Segment(id=opened, parents=lineage.parents, branch=branch, move=lineage.move),
            )
        for move, gone in lineage.given_up.items():
            given_up = _abandon(given_up, move, branch, gone)
        undone.update(lineage.undone)
        if lineage.base:
            bases[branch] = bases.get(branch, frozenset[SegmentId]()) | frozenset(lineage.base)
    known = (onto.segments, onto.given_up, onto.undone, onto.bases)
    if known == (segments, given_up, undone, bases):
        return onto
    return _replace(onto, segments=segments, given_up=given_up, undone=undone, bases=bases)


def merge_lineages(timeline: Timeline, other: Timeline) -> Timeline:
    """The timeline with the segments, bases and abandoned segments of another one."""
    given_up = timeline.given_up
    for move, gone in other.given_up.items():
        given_up = _abandon(given_up, move, gone.branch, gone.segments)
    bases = {**timeline.bases}
    for branch, base in other.bases.items():
        bases[branch] = bases.get(branch, frozenset[SegmentId]()) | base
    return _replace(
        timeline,
        segments=other.segments | timeline.segments,
        given_up=given_up,
        undone=timeline.undone | other.undone,
        bases=bases,
    )


def _replace(timeline: Timeline, **changes: Any) -> Timeline:
    """A new timeline, because a copy would keep what the old one has cached."""
    return Timeline(**{**dict(timeline), **changes})


def _abandon(
    known: _Abandoned, move: RecordId, branch: BranchName, segments: Iterable[SegmentId]
) -> _Abandoned:
    before = known[move].segments if move in known else frozenset[SegmentId]()
    if before.issuperset(segments):
        return known
    return {**known, move: AbandonedSegments(branch=branch, segments=before.union(segments))}


def _apply_checkpoint(
    known: dict[CheckpointId, Checkpoint], record: Record, move: Move
) -> dict[CheckpointId, Checkpoint]:
    if move.checkpoint is None or move.approval is None:
        return known
    if move.act == "checkpoint":
        sealed = Checkpoint(
            id=CheckpointId(_make_unique(move.checkpoint, known, record)),
            phase=move.phase,
            summary=record.content,
            approval=move.approval,
            seals=move.parents,
            branch=move.branch,
            move=record.id,
            at=record.created_at,
        )
        return {**known, sealed.id: sealed}
    pending = next((c for c in known.values() if c.move == move.decides), None)
    if move.act == "decide" and pending is not None and pending.approval == "pending":
        decision = {"approval": move.approval, "summary": record.content}
        return {**known, pending.id: pending.model_copy(update=decision)}
    return known


def _apply_line(known: dict[LineId, Line], record: Record, move: Move) -> dict[LineId, Line]:
    if move.line is None:
        return known
    line = Line(
        id=LineId(_make_unique(move.line, known, record)),
        tips=move.leaves,
        branch=move.branch,
        move=record.id,
        at=record.created_at,
    )
    return {**known, line.id: line}


def _make_unique(name: str, taken: Container[str], record: Record) -> str:
    """If two clones moved in the same second, the later name gets the end of its record's id."""
    return f"{name}-{record.id[-4:]}" if name in taken else name
