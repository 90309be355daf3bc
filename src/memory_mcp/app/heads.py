"""Reading the head and moving it: the part that all timeline use cases share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_mcp.app.rooms import Rooms
from memory_mcp.app.settling import CONFLICT, replaced, settle, settled
from memory_mcp.domain.drafts import Writing
from memory_mcp.domain.ids import RecordId, time_of
from memory_mcp.domain.limits import HEAD_MOVES_RETRY_MAX
from memory_mcp.domain.record import Kind, Move, Record
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.domain.views import View
from memory_mcp.errors import (
    ConflictError,
    StoreUnavailableError,
    UnknownMemoryError,
)
from memory_mcp.timeline.moves import advance, fold
from memory_mcp.timeline.plans import require_branch

__all__ = [
    "Planned",
    "absorb",
    "current",
    "known_memory",
    "move",
    "moving_record",
    "view_of",
    "view_on",
    "write_together",
    "writing",
]


async def current(rooms: Rooms) -> Head:
    """The head; made from the records when there is none (a first use, or a fresh clone).

    What a cut left to be completed is completed first: whoever reads or adds sees it.
    """
    head = await rooms.heads.read()
    head = await _begin(rooms) if head is None else await settled(rooms, head)
    require_branch(head.timeline, rooms.session.branch)
    return head


def view_on(rooms: Rooms, timeline: Timeline) -> View:
    """What can be seen now from this session's branch."""
    return View(chain=timeline.chain(rooms.session.branch), now=rooms.clock.now())


async def view_of(rooms: Rooms) -> View:
    """What can be seen now from this session's branch, as the head stands."""
    return view_on(rooms, (await current(rooms)).timeline)


def writing(rooms: Rooms, timeline: Timeline, at: datetime) -> Writing:
    """The circumstances of a record that this session writes now."""
    return Writing(
        id=rooms.ids.new(at),
        at=at,
        segment=timeline.tips(rooms.session.branch)[-1],
        branch=rooms.session.branch,
        scope=rooms.scope,
        origin=rooms.origin(),
    )


async def known_memory(rooms: Rooms, memory_id: str, view: View) -> Record:
    """The visible memory of that id.

    Raises:
        UnknownMemoryError: there is none, or it does not hold from here; names the nearest.
    """
    wanted = RecordId(memory_id.strip())
    for pool in rooms.pools:
        if await pool.index.visible([wanted], view):
            record = await pool.records.get(wanted)
            if record is not None:
                return record
    nearest = [id_ for pool in rooms.pools for id_ in await pool.index.nearest(wanted, view)]
    raise UnknownMemoryError(memory_id, nearest=_closest(wanted, nearest))


@dataclass(frozen=True)
class Planned:
    """A move's record, and the records that are written with it in one step."""

    record: Record
    along: tuple[Record, ...] = ()


async def move(
    rooms: Rooms, plan: Callable[[Head, RecordId, datetime], Awaitable[Record | Planned]]
) -> tuple[Head, Record]:
    """Plan a move from the newest head and make it the next one; plan again if another was first.

    What is planned along with it takes place with it or not at all: the new head is the commit.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await settle(rooms, await current(rooms))
        at = _after(head, rooms.clock.now())
        planned = await plan(head, rooms.ids.new(at), at)
        if isinstance(planned, Record):
            planned = Planned(planned)
        record = planned.record
        moved = Head(
            project=head.project,
            revision=head.revision + 1,
            timeline=advance(head.timeline, record),
            last=record,
            with_last=planned.along,
        )
        if await replaced(rooms, head, moved):
            return moved, record
    raise ConflictError(CONFLICT)


async def write_together(
    rooms: Rooms, plan: Callable[[Head], Awaitable[tuple[Record, ...]]]
) -> tuple[Record, ...]:
    """Write several records in one step that moves nothing: all of them, or none.

    Planned nothing, nothing is written.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await settle(rooms, await current(rooms))
        records = await plan(head)
        if not records:
            return ()
        update = {"revision": head.revision + 1, "with_last": records}
        if await replaced(rooms, head, head.model_copy(update=update)):
            return records
    raise ConflictError(CONFLICT)


async def absorb(rooms: Rooms) -> int:
    """Take in moves that came with records of another clone; returns how many."""
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await rooms.heads.read()
        if head is None:
            return len((await _begin(rooms)).timeline.moves)
        head = await settle(rooms, head)
        known = await rooms.project.index.moves()
        fresh = set(known) - head.timeline.moves
        if not fresh:
            return 0
        # folded from the start where possible: both clones then give everything the same name
        base = None if head.timeline.moves.issubset(known) else head.timeline
        records = [record async for record in rooms.project.records.scan(known)]
        joined = Head(
            project=head.project,
            revision=head.revision + 1,
            timeline=fold(records, onto=base),
            last=head.last,
            with_last=head.with_last,
        )
        try:
            await rooms.heads.replace(joined, expected=head.revision)
        except ConflictError:
            continue
        await rooms.heads.log(await rooms.heads.unlogged(records))
        return len(fresh)
    return 0


def moving_record(
    rooms: Rooms, head: Head, step: Move, *, id_: RecordId, at: datetime, kind: Kind, content: str
) -> Record:
    """The record of a move.

    It stands outside the timeline that it moves; only a checkpoint's summary is part of what the
    checkpoint seals.
    """
    return Record(
        id=id_,
        kind=kind,
        layer="recall",
        content=content,
        phase=step.phase,
        segment=step.parents[-1] if kind == "checkpoint" and step.parents else None,
        branch=step.branch,
        move=step,
        scope=rooms.scope,
        origin=rooms.origin(),
        created_at=at,
        key=f"project:{head.project}:phase" if step.phase is not None else "",
    )


async def _begin(rooms: Rooms) -> Head:
    known = await rooms.project.index.moves()
    records = [record async for record in rooms.project.records.scan(known)]
    records.sort(key=lambda record: record.id)
    head = Head(
        project=rooms.scope.project or "none",
        revision=1,
        timeline=fold(records),
        last=records[-1] if records else None,  # the next move must come after it
    )
    if rooms.policy.meta:  # a meta session reads and leaves no trace
        return head
    try:
        await rooms.heads.replace(head, expected=0)
        await rooms.heads.log(await rooms.heads.unlogged(records))
    except ConflictError:
        return await rooms.heads.read() or head
    except StoreUnavailableError:  # a read-only folder can still be read
        return head
    return head


def _after(head: Head, now: datetime) -> datetime:
    """Moves are ordered by time, so a clock that was set back must not reorder them."""
    known = [time_of(id_) for id_ in head.timeline.moves]
    return max(now, *(at + timedelta(milliseconds=1) for at in known)) if known else now


def _closest(wanted: str, known: list[RecordId]) -> list[RecordId]:
    def shared(id_: str) -> int:
        return next((i for i, (a, b) in enumerate(zip(wanted, id_, strict=False)) if a != b), 0)

    return sorted(known, key=lambda id_: (-shared(id_), id_))[:3]
