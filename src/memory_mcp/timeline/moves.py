"""Folding moves into a timeline.

A move is a set of additions, so two clones that exchange their records arrive at the same timeline.
"""

from collections.abc import Container, Iterable

from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Checkpoint, GivenUp, Line, Segment, Timeline


def fold(records: Iterable[Record], onto: Timeline | None = None) -> Timeline:
    """The timeline after all the moves among these records, and after what all of them tell."""
    records = list(records)
    timeline = place(records, onto or Timeline())
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
        given_up=_gives_up(timeline.given_up, record.id, move.branch, move.gives_up),
        undone=timeline.undone | frozenset(move.undoes),
        bases=timeline.bases,
        moves=timeline.moves | {record.id},
    )


def place(records: Iterable[Record], onto: Timeline) -> Timeline:
    """The timeline with what records tell of their own place.

    What the moves themselves tell, once they are here, is the same: in any order, as often as may
    be, this is joining sets.
    """
    segments, given_up, bases = dict(onto.segments), onto.given_up, dict(onto.bases)
    undone: set[RecordId] = set(onto.undone)
    for record in records:
        lineage, branch = record.lineage, record.branch
        if branch is None:
            continue
        if record.segment is not None and lineage.move is not None:
            segments.setdefault(
                record.segment,
                Segment(
                    id=record.segment, parents=lineage.parents, branch=branch, move=lineage.move
                ),
            )
        for move, gone in lineage.given_up.items():
            given_up = _gives_up(given_up, move, branch, gone)
        undone.update(lineage.undone)
        if lineage.base:
            bases[branch] = bases.get(branch, frozenset[SegmentId]()) | frozenset(lineage.base)
    told = (segments, given_up, frozenset(undone), bases)
    if told == (onto.segments, onto.given_up, onto.undone, onto.bases):
        return onto
    return Timeline(
        segments=segments,
        left=onto.left,
        forgotten=onto.forgotten,
        checkpoints=onto.checkpoints,
        lines=onto.lines,
        given_up=given_up,
        undone=told[2],
        bases=bases,
        moves=onto.moves,
    )


def placed_as(timeline: Timeline, other: Timeline) -> Timeline:
    """The timeline with the places that another one knows, and with what was given up there."""
    given_up = timeline.given_up
    for move, each in other.given_up.items():
        given_up = _gives_up(given_up, move, each.branch, each.segments)
    bases = {
        branch: timeline.bases.get(branch, frozenset[SegmentId]())
        | other.bases.get(branch, frozenset[SegmentId]())
        for branch in {**timeline.bases, **other.bases}
    }
    return Timeline(
        segments=other.segments | timeline.segments,
        left=timeline.left,
        forgotten=timeline.forgotten,
        checkpoints=timeline.checkpoints,
        lines=timeline.lines,
        given_up=given_up,
        undone=timeline.undone | other.undone,
        bases=bases,
        moves=timeline.moves,
    )


def _gives_up(
    known: dict[RecordId, GivenUp],
    move: RecordId,
    branch: BranchName,
    gone: Iterable[SegmentId],
) -> dict[RecordId, GivenUp]:
    before = known[move].segments if move in known else frozenset[SegmentId]()
    if before.issuperset(gone):
        return known
    return {**known, move: GivenUp(branch=branch, segments=before.union(gone))}


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
