"""Compares what was known at two points of the timeline."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from memory_mcp.domain.ids import SegmentId
from memory_mcp.domain.outcomes import Point, PointComparison, Skipped
from memory_mcp.domain.record import Record, format_time
from memory_mcp.domain.spans import parse_span
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.head import load_timeline_at, view_chain, view_head
from memory_mcp.engine.members import find_author
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.timeline.points import (
    find_point,
    list_checkpoints_between,
    make_unknown_point_error,
    pair_corrections,
    select_known,
)


async def compare_points(workspace: Workspace, a: str, b: str) -> PointComparison | Skipped:
    """What was known at one point and not at the other. Moves nothing.

    A point is a checkpoint, a phase, a left line, a branch, `head`, `start`, or a time ("2h" is two
    hours ago). What was erased since is at neither.

    Raises:
        UnknownTargetError: nothing has that name; the message lists what there is.
        InvalidRequestError: the name fits several, or the time is yet to come.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    head = await view_head(workspace)
    points = [await resolve_point(workspace, head, name) for name in (a, b)]
    first, second = points
    now = workspace.clock.now()
    gone: list[Record] = []
    come: list[Record] = []
    every: list[Record] = []
    same = 0
    for bank in workspace.banks:
        ids = await bank.index.ids() - await bank.index.erased()
        records = [record async for record in bank.records.scan(ids)]
        seen, seen_there = ({r.id: r for r in select_known(records, p, now)} for p in points)
        gone += [record for id_, record in seen.items() if id_ not in seen_there]
        come += [record for id_, record in seen_there.items() if id_ not in seen]
        same += len(seen.keys() & seen_there.keys())
        every += records
    corrected = pair_corrections(gone, come, every)
    paired = {record.id for pair in corrected for record in pair}
    authors = {r.id: find_author(workspace, r) for r in (*gone, *come)}
    left, reached = list_checkpoints_between(head.timeline, first, second)
    return PointComparison(
        a=first,
        b=second,
        only_a=_sort(record for record in gone if record.id not in paired),
        only_b=_sort(record for record in come if record.id not in paired),
        corrected=tuple(sorted(corrected, key=lambda pair: pair.after.id)),
        left=tuple(left),
        reached=tuple(reached),
        same=same,
        authors={id_: author for id_, author in authors.items() if author},
    )


async def resolve_point(workspace: Workspace, head: Head, name: str) -> Point:
    """The point of that name, without what stands elsewhere in git.

    Raises:
        UnknownTargetError: nothing has that name; the message lists what there is.
        InvalidRequestError: the name fits several, or the time is yet to come.
    """
    holding = await workspace.project.index.holding()
    branch = workspace.caller.branch
    elsewhere = (await place_checkpoints(workspace, head.timeline.valid(branch))).marks
    point = find_point(head.timeline, branch, name, holding, elsewhere)
    if point is None:
        at = _read_time(workspace, name)
        if at is None:
            raise make_unknown_point_error(head.timeline, name, holding)
        then = await load_timeline_at(workspace, head, at)
        chain = then.chain(branch) if branch in then.branches else frozenset[SegmentId]()
        point = Point(name.strip(), at, chain, at)
    seen = view_chain(workspace, point.chain)
    return replace(point, chain=seen.chain, away=seen.away)


def _read_time(workspace: Workspace, name: str) -> datetime | None:
    """The time of that name; None if it is none.

    Raises:
        InvalidRequestError: it is yet to come.
    """
    now = workspace.clock.now()
    try:
        at = parse_span("time", name.strip(), now, -1)
    except InvalidRequestError:
        return None
    if at > now:
        raise InvalidRequestError(
            f"{name!r} is yet to come: it is {format_time(now)} now. Give a time before that, or "
            "`head` for what is known now."
        )
    return at


def _sort(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple(sorted(records, key=lambda record: record.id))
