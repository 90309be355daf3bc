"""Points of the timeline: what a name stands for, what was known there, and how two differ.

A point is a chain of segments and a time. What stands on the timeline is known at a point if it
lies on the chain; what is durable, if it was written by then. A time of its own also cuts what lies
on the chain: the segment that was being written to goes on after it.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from memory_mcp.domain.ids import BranchName, CheckpointId, RecordId, SegmentId
from memory_mcp.domain.outcomes import BranchTip, Correction, Point, TimelineStart
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.timeline import Checkpoint, Line, Timeline
from memory_mcp.errors import UnknownTargetError
from memory_mcp.timeline.graph import select_lines
from memory_mcp.timeline.plans import START, find_nearest, read_phase, require_phase, resolve_name
from memory_mcp.timeline.visibility import select_visible

HEAD_NAMES: Final = ("head", "now")
"""Where the caller's branch stands; a branch of that name goes before."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


def find_point(
    timeline: Timeline,
    branch: BranchName,
    name: str,
    holding: Collection[SegmentId],
    elsewhere: Container[CheckpointId] = (),
) -> Point | None:
    """The point of that name: a branch, checkpoint, left line or phase, `head`, or `start`.

    A part of the id of a checkpoint or line will do. A checkpoint that was left, or that waits for
    approval, is a point as well. None: nothing has that name.

    Raises:
        AmbiguousIdError: it fits several.
        InvalidRequestError: the branch has no checkpoint of that phase.
    """
    wanted = name.strip()
    if wanted in timeline.branches:
        return _make_branch_point(timeline, wanted, BranchName(wanted))
    if wanted.lower() in HEAD_NAMES:
        return _make_branch_point(timeline, wanted, branch)
    if wanted.lower() == START:
        return Point(START, TimelineStart(), frozenset(), _BEGINNING)
    checkpoints, lines = _list_named(timeline, holding)
    wanted = resolve_name("checkpoints and lines", wanted, [*checkpoints, *lines])
    if line := lines.get(wanted):
        chain = timeline.find_restore_effect(line.branch, line).chain
        return Point(line.id, line, chain, line.at)
    found = checkpoints.get(wanted)
    if found is None and (phase := read_phase(wanted)) is not None:
        found = require_phase(timeline, branch, phase, holding, elsewhere)
    return Point(found.id, found, timeline.ancestors(found.seals), found.at) if found else None


def make_unknown_point_error(
    timeline: Timeline, name: str, holding: Collection[SegmentId]
) -> UnknownTargetError:
    """The error that lists what can be compared."""
    checkpoints, lines = _list_named(timeline, holding)
    shown = select_lines(timeline, lines.values(), holding) if holding else [*lines.values()]
    known = [*checkpoints, *(line.id for line in shown), *timeline.branches]
    return UnknownTargetError(
        "checkpoint, phase, line, branch or time",
        name,
        known=[*known, HEAD_NAMES[0], START, "a time (2026-01-31, 2026-01-31T14:30Z, 2h, 3d)"],
        nearest=find_nearest(name, known),
    )


def _list_named(
    timeline: Timeline, holding: Collection[SegmentId]
) -> tuple[Mapping[str, Checkpoint], Mapping[str, Line]]:
    """The checkpoints that nobody skipped, and the left lines, of all branches."""
    checkpoints = (c for c in timeline.checkpoints.values() if c.approval != "skipped")
    return {c.id: c for c in checkpoints}, {line.id: line for line in timeline.left_lines(holding)}


def _make_branch_point(timeline: Timeline, name: str, branch: BranchName) -> Point:
    return Point(name, BranchTip(branch), timeline.chain(branch), None)


def select_known(records: Sequence[Record], point: Point, now: datetime) -> list[Record]:
    """The memories that were visible at the point, in the order given."""
    seen = [record for record in records if _was_written(record, point)]
    return [
        record
        for record in select_visible(seen, point.view(now))
        if record.kind in MEMORY_KINDS and find_profile_field(record) is None
    ]


def _was_written(record: Record, point: Point) -> bool:
    if point.at is None or record.created_at <= point.at:
        return True
    return record.segment is not None and not isinstance(point.shows, datetime)


def pair_corrections(
    gone: Sequence[Record], come: Sequence[Record], records: Iterable[Record]
) -> list[Correction]:
    """Each memory of one point with the one of the other that replaced it, directly or not.

    The correction may have been made on either side: seen from a later point it is taken back.
    """
    known = {record.id: record for record in records}
    old, new = {r.id: r for r in gone}, {r.id: r for r in come}
    later = [(old[id_], r) for r in come for id_ in _find_replaced(r, known) if id_ in old]
    earlier = [(r, new[id_]) for r in gone for id_ in _find_replaced(r, known) if id_ in new]
    return [Correction(before, after) for before, after in (*later, *earlier)]


def _find_replaced(record: Record, known: Mapping[RecordId, Record]) -> Iterator[RecordId]:
    """What the record replaces, and what that replaced."""
    waiting, seen = [*record.supersedes], {record.id}
    while waiting:
        id_ = waiting.pop()
        if id_ in seen:
            continue
        seen.add(id_)
        yield id_
        if id_ in known:
            waiting += known[id_].supersedes


def list_checkpoints_between(
    timeline: Timeline, one: Point, other: Point
) -> tuple[list[Checkpoint], list[Checkpoint]]:
    """The approved checkpoints that hold at the first of two points alone, and at the other one."""
    first, second = (
        {c.id: c for c in timeline.decided() if _holds_at(timeline, c, point)}
        for point in (one, other)
    )
    return (
        [c for id_, c in first.items() if id_ not in second],
        [c for id_, c in second.items() if id_ not in first],
    )


def _holds_at(timeline: Timeline, checkpoint: Checkpoint, point: Point) -> bool:
    known = {each for each in checkpoint.seals if timeline.find_branch(each) is not None}
    return known <= point.chain and (point.at is None or checkpoint.at <= point.at)
