"""Folding moves into a timeline.

A move is a set of additions, so two clones that exchange their records arrive at the same timeline.
"""

from collections.abc import Container, Iterable
from typing import Any

from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, RecordId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import (
    AbandonedSegments,
    Anchor,
    Checkpoint,
    Line,
    MovesMade,
    Segment,
    Timeline,
    make_timeline,
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
    draft = _Draft(timeline)
    records = list(records)
    taken_back = {id_ for r in records if r.move and r.move.decides for id_ in r.move.undoes}
    concerns: set[BranchName] = set()
    for record in records:
        move = record.move
        if move is None or record.id in draft.now["moves"]:
            continue
        draft.include("moves", [record.id])
        concerns |= {move.branch, *move.opens}
        given_up: _Abandoned = draft.now["given_up"]
        concerns.update(given_up[other].branch for other in move.undoes if other in given_up)
        for branch, opened in move.opens.items():
            begun = Segment(id=opened, parents=move.parents, branch=branch, move=record.id)
            draft.put("segments", opened, begun)
        draft.include("left", move.leaves)
        draft.include("forgotten", move.forgets)
        if move.decides is None:
            draft.include("undone", move.undoes)
        if record.id not in taken_back:
            _apply_checkpoint(draft, record, move)
        _apply_line(draft, record, move)
        if move.anchors and move.commit:
            anchor = Anchor(segments=move.anchors, commit=move.commit, git_branch=move.git_branch)
            draft.put("anchors", record.id, anchor)
        if gone := _find_abandoned(given_up, record.id, move.branch, move.gives_up, move.keeps):
            draft.put("given_up", record.id, gone)
        draft.drop_forgotten_checkpoints()
    if len(draft.now["moves"]) == len(timeline.moves):
        return timeline
    moved = MovesMade(concerns, make_timeline(draft.added), draft.replaced)
    return timeline.change(moved, **draft.now)


class _Draft:
    """The fields of a timeline as moves change them: `now`, and what of that they `added`.

    A field is copied when it is first changed. `replaced` are those in which anything that was
    there before was changed or removed.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._before: dict[str, Any] = dict(timeline)
        self.now: dict[str, Any] = dict(timeline)
        self.added: dict[str, Any] = {}
        self.replaced: set[str] = set()

    def put(self, field: str, key: str, value: object) -> None:
        """Let a field of named values have this one."""
        known = self.now[field]
        if key in known and known[key] == value:
            return
        if key in self._before[field]:
            self.replaced.add(field)
        if known is self._before[field]:
            self.now[field] = known = dict(known)
        self.added.setdefault(field, {})[key] = known[key] = value

    def include(self, field: str, members: Iterable[str]) -> None:
        """Let a field that is a set have these members."""
        known = self.now[field]
        if new := set(members).difference(known):
            if known is self._before[field]:
                self.now[field] = known = set(known)
            known.update(new)
            self.added.setdefault(field, set()).update(new)

    def drop_forgotten_checkpoints(self) -> None:
        """Drop the checkpoints that seal what was forgotten."""
        forgotten = self.now["forgotten"]
        if not forgotten:  # nearly always: a fold of thousands of moves asks after each
            return
        known: dict[CheckpointId, Checkpoint] = self.now["checkpoints"]
        gone = [i for i, c in known.items() if not forgotten.isdisjoint(c.seals)]
        if gone:
            self.replaced.add("checkpoints")
            self.now["checkpoints"] = {i: c for i, c in known.items() if i not in gone}


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
        for move, segments_left in lineage.given_up.items():
            kept = lineage.kept.get(move, ())
            if gone := _find_abandoned(given_up, move, branch, segments_left, kept):
                given_up[move] = gone
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
    for move, theirs in other.given_up.items():
        if gone := _find_abandoned(given_up, move, theirs.branch, theirs.segments, theirs.keeps):
            given_up[move] = gone
    bases = {**timeline.bases}
    for branch, base in other.bases.items():
        bases[branch] = bases.get(branch, frozenset[SegmentId]()) | base
    return timeline.change(
        segments=other.segments | timeline.segments,
        given_up=given_up,
        undone=timeline.undone | other.undone,
        bases=bases,
    )


def _find_abandoned(
    known: _Abandoned,
    move: RecordId,
    branch: BranchName,
    segments: Iterable[SegmentId],
    keeps: Iterable[SegmentId],
) -> AbandonedSegments | None:
    """What the move abandoned and kept with these; None if that is known."""
    before = known.get(move) or AbandonedSegments(branch=branch, segments=frozenset())
    if before.segments.issuperset(segments) and before.keeps.issuperset(keeps):
        return None
    return AbandonedSegments(
        branch=branch, segments=before.segments.union(segments), keeps=before.keeps.union(keeps)
    )


def _apply_checkpoint(draft: _Draft, record: Record, move: Move) -> None:
    known: dict[CheckpointId, Checkpoint] = draft.now["checkpoints"]
    if move.checkpoint is None or move.approval is None:
        return
    if move.act == "checkpoint":
        name = CheckpointId(_make_unique(move.checkpoint, known, record))
        sealed = Checkpoint(
            id=name,
            phase=move.phase,
            summary=record.content,
            approval=move.approval,
            seals=move.parents,
            branch=move.branch,
            move=record.id,
            at=record.created_at,
        )
        draft.put("checkpoints", name, sealed)
    elif move.act == "decide":
        asked = next((c for c in known.values() if c.move == move.decides), None)
        if asked is not None and (asked.approval == "pending" or move.undoes):
            decision = {"approval": move.approval, "summary": record.content}
            draft.put("checkpoints", asked.id, asked.model_copy(update=decision))


def _apply_line(draft: _Draft, record: Record, move: Move) -> None:
    if move.line is not None:
        name = LineId(_make_unique(move.line, draft.now["lines"], record))
        left = Line(
            id=name, tips=move.leaves, branch=move.branch, move=record.id, at=record.created_at
        )
        draft.put("lines", name, left)


def _make_unique(name: str, taken: Container[str], record: Record) -> str:
    """If two clones moved in the same second, the later name gets the end of its record's id."""
    return f"{name}-{record.id[-4:]}" if name in taken else name
