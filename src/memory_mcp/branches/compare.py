"""Compares what was known at two points of the timeline."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from memory_mcp.domain.ids import RecordId, SegmentId, parse_id_time
from memory_mcp.domain.outcomes import Point, PointComparison, Skipped
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.domain.record import MEMORY_KINDS, Record, format_time
from memory_mcp.domain.search import Filters
from memory_mcp.domain.spans import parse_span
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.head import load_timeline_at, view_chain, view_head
from memory_mcp.engine.members import find_author
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.timeline.points import (
    find_point,
    list_checkpoints_between,
    make_unknown_point_error,
    pair_corrections,
    select_known,
)

_IDS_BEFORE: Final = timedelta(minutes=1)
"""How much earlier than its record an id may have been made."""


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
        read = await _read_bank(bank, points, now)
        seen, seen_there = (
            {r.id: r for r in select_known(read.records, p, now) if r.id in read.differing}
            for p in points
        )
        gone += [record for id_, record in seen.items() if id_ not in seen_there]
        come += [record for id_, record in seen_there.items() if id_ not in seen]
        same += read.same + len(seen.keys() & seen_there.keys())
        every += read.records
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


@frozen
class _BankRead:
    """The records of a bank that tell in what two points differ.

    `differing` are those that may be known at one of them alone, and `records` those with all that
    says whether they are. `same` counts the others that both know.
    """

    differing: frozenset[RecordId]
    records: Sequence[Record]
    same: int


async def _read_bank(bank: MemoryBank, points: Sequence[Point], now: datetime) -> _BankRead:
    """Read what may differ: most of a project is older than either point, and known at both.

    The index knows what is visible from each chain, but not what was written later.
    """
    index = bank.index
    ids = await index.ids() - await index.erased()
    views = [point.view(now) for point in points]
    first, second = [await index.visible(ids, view) for view in views]
    later = _select_later(ids, points)
    differing = (first ^ second) | await _find_concerned(bank, later) & ids
    records = await _load_with_causes(bank, differing)
    memories = Filters(kinds=MEMORY_KINDS)
    among = {r.id for r in records if r.kind in MEMORY_KINDS and find_profile_field(r) is None}
    same = await index.count(views[1], memories) - len(among & differing & second)
    return _BankRead(frozenset(differing), records, same)


def _select_later(ids: Iterable[RecordId], points: Sequence[Point]) -> set[RecordId]:
    """What was written after either point, and shortly before it."""
    times = [point.at for point in points if point.at is not None]
    if not times:
        return set()
    if (earliest := min(times)).year > 1:  # not the start
        earliest -= _IDS_BEFORE
    return {id_ for id_ in ids if parse_id_time(id_) >= earliest}


async def _find_concerned(bank: MemoryBank, records: Collection[RecordId]) -> set[RecordId]:
    """These records, and those whose visibility they have a part in."""
    found = {record.id: record for record in await load_records(bank, sorted(records))}
    concerned = set(records)
    concerned.update(id_ for each in found.values() for id_ in each.supersedes)
    made = await bank.index.derived(concerned)
    concerned |= made
    for record in await load_records(bank, sorted(made)):  # without it what it replaced is back
        concerned.update(record.supersedes)
    return concerned


async def _load_with_causes(bank: MemoryBank, records: Collection[RecordId]) -> list[Record]:
    """These records, what they were made from, and what replaces or hides any of them."""
    known: dict[RecordId, Record] = {}
    looked: set[RecordId] = set()
    waiting = set(records)
    while waiting:
        looked |= waiting
        loaded = await load_records(bank, sorted(waiting))
        known |= {record.id: record for record in loaded}
        named = {id_ for r in loaded for id_ in (*r.derived_from, *r.supersedes)}
        waiting = (named | await bank.index.suppressing(waiting)) - looked
    return list(known.values())


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
