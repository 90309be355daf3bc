"""Folding moves into a timeline.

A move is a set of additions, so two clones that exchange their records arrive at the same timeline.
"""

from collections.abc import Container, Iterable

from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import (
    AbandonedSegments,
    Anchor,
    Checkpoint,
    Line,
    Segment,
    Timeline,
)

_Abandoned = dict[RecordId, AbandonedSegments]


def fold_moves(records: Iterable[Record], onto: Timeline | None = None) -> Timeline:
    """The timeline after all the moves among these records, and with the lineage of all of them."""
    records = list(records)
    timeline = apply_lineages(records, onto or Timeline())
    moves = (r for r in records if r.move is not None and r.id not in timeline.moves)
    return _apply_moves(timeline, sorted(moves, key=_order))


def _order(record: Record) -> tuple[int, RecordId]:
    """Answers to checkpoints come after these, whatever clocks said; first those taken back."""
    move = record.move
    if move is None or not move.decides:
        return 0, record.id
    return (1 if move.undoes else 2), record.id


def apply_move(timeline: Timeline, record: Record) -> Timeline:
    """The timeline after one more move. A record that is no move changes nothing.

    Whoever plans a move looks at where it leads and then makes it, so that is worked out once.
    """
    step = (record.id, record.move, record.content, record.created_at)
    return timeline.find_next(step, lambda: _apply_moves(timeline, [record]))


def _apply_moves(timeline: Timeline, records: Iterable[Record]) -> Timeline:
    segments, left, forgotten = dict(timeline.segments), set(timeline.left), set(timeline.forgotten)
    checkpoints, lines = dict(timeline.checkpoints), dict(timeline.lines)
    given_up, undone = dict(timeline.given_up), set(timeline.undone)
    anchors = dict(timeline.anchors)
    moves = set(timeline.moves)
    records = list(records)
    taken_back = {id_ for r in records if r.move and r.move.decides for id_ in r.move.undoes}
    concerns: set[BranchName] = set()
    for record in records:
        move = record.move
        if move is None or record.id in moves:
            continue
        moves.add(record.id)
        concerns |= {move.branch, *move.opens}
        concerns.update(given_up[other].branch for other in move.undoes if other in given_up)
        for branch, opened in move.opens.items():
            segments[opened] = Segment(
                id=opened, parents=move.parents, branch=branch, move=record.id
            )
        left.update(move.leaves)
        forgotten.update(move.forgets)
        if move.decides is None:
            undone.update(move.undoes)
        if record.id not in taken_back:
            _apply_checkpoint(checkpoints, record, move)
        _apply_line(lines, record, move)
        if move.anchors and move.commit:
            anchors[record.id] = Anchor(
                segments=move.anchors, commit=move.commit, git_branch=move.git_branch
            )
        _abandon(given_up, record.id, move.branch, move.gives_up)
        if forgotten:
            checkpoints = {i: c for i, c in checkpoints.items() if forgotten.isdisjoint(c.seals)}
    if len(moves) == len(timeline.moves):
        return timeline
    return timeline.change(
        concerns,
        segments=segments,
        left=left,
        forgotten=forgotten,
        checkpoints=checkpoints,
        lines=lines,
        given_up=given_up,
        undone=undone,
        anchors=anchors,
        moves=moves,
    )


def apply_lineages(records: Iterable[Record], onto: Timeline) -> Timeline:
    """The timeline with the places that records name in their lineage.

    The moves themselves add the same once they are here: in any order and as often as may be, this
    is a union of sets.
    """
    segments, given_up, bases = dict(onto.segments), dict(onto.given_up), dict(onto.bases)
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
            _abandon(given_up, move, branch, gone)
        undone.update(lineage.undone)
        if lineage.base:
            bases[branch] = bases.get(branch, frozenset[SegmentId]()) | frozenset(lineage.base)
    known = (onto.segments, onto.given_up, onto.undone, onto.bases)
    if known == (segments, given_up, undone, bases):
        return onto
    return onto.change(segments=segments, given_up=given_up, undone=undone, bases=bases)


def merge_lineages(timeline: Timeline, other: Timeline) -> Timeline:
    """The timeline with the segments, bases and abandoned segments of another one."""
    given_up = dict(timeline.given_up)
    for move, gone in other.given_up.items():
        _abandon(given_up, move, gone.branch, gone.segments)
    bases = {**timeline.bases}
    for branch, base in other.bases.items():
        bases[branch] = bases.get(branch, frozenset[SegmentId]()) | base
    return timeline.change(
        segments=other.segments | timeline.segments,
        given_up=given_up,
        undone=timeline.undone | other.undone,
        bases=bases,
    )


def _abandon(
    known: _Abandoned, move: RecordId, branch: BranchName, segments: Iterable[SegmentId]
) -> None:
    before = known[move].segments if move in known else frozenset[SegmentId]()
    if not before.issuperset(segments):
        known[move] = AbandonedSegments(branch=branch, segments=before.union(segments))


def _apply_checkpoint(known: dict[CheckpointId, Checkpoint], record: Record, move: Move) -> None:
    if move.checkpoint is None or move.approval is None:
        return
    if move.act == "checkpoint":
        name = CheckpointId(_make_unique(move.checkpoint, known, record))
        known[name] = Checkpoint(
            id=name,
            phase=move.phase,
            summary=record.content,
            approval=move.approval,
            seals=move.parents,
            branch=move.branch,
            move=record.id,
            at=record.created_at,
        )
    elif move.act == "decide":
        asked = next((c for c in known.values() if c.move == move.decides), None)
        if asked is not None and (asked.approval == "pending" or move.undoes):
            decision = {"approval": move.approval, "summary": record.content}
            known[asked.id] = asked.model_copy(update=decision)


def _apply_line(known: dict[LineId, Line], record: Record, move: Move) -> None:
    if move.line is not None:
        name = LineId(_make_unique(move.line, known, record))
        known[name] = Line(
            id=name, tips=move.leaves, branch=move.branch, move=record.id, at=record.created_at
        )


def _make_unique(name: str, taken: Container[str], record: Record) -> str:
    """If two clones moved in the same second, the later name gets the end of its record's id."""
    return f"{name}-{record.id[-4:]}" if name in taken else name
