"""Reading the head and moving it: the part that all timeline use cases share."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from memory_mcp.domain.ids import ROOT, RecordId, explain_short_part, parse_id_time
from memory_mcp.domain.limits import HEAD_MOVES_RETRY_MAX
from memory_mcp.domain.record import Kind, Move, Record, RecordContext
from memory_mcp.domain.search import View
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.recovery import CONFLICT, replaced, settle, settled
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import (
    AmbiguousIdError,
    ConflictError,
    StoreError,
    StoreUnavailableError,
    UnknownMemoryError,
)
from memory_mcp.timeline.moves import apply_lineages, apply_move, fold_moves, merge_lineages
from memory_mcp.timeline.plans import require_branch

_NAMED_MAX: Final = 20
"""Memories that a part of an id fits, looked up to name them; a message lists fewer."""


async def current(workspace: Workspace) -> Head:
    """The head; made from the records when there is none (a first use, or a fresh clone).

    What a cut left to be completed is completed first: whoever reads or adds sees it. So does what
    came or went in the folders since, by git or another process.
    """
    await follow_files(workspace)
    head = await workspace.heads.read()
    head = await _begin(workspace) if head is None else await settled(workspace, head)
    require_branch(head.timeline, workspace.caller.branch)
    return head


async def follow_files(workspace: Workspace) -> None:
    """Bring the indexes, and the head, in step with folders that others changed.

    Costs a look at each month's folder where nobody did. What fails here is named by the call that
    needs it.
    """
    with suppress(StoreError):
        for pool in workspace.pools:
            if not pool.records.changed():
                continue
            await pool.index.catch_up()
            pool.changes.note()
            if pool is workspace.project and await workspace.heads.read() is not None:
                await absorb(workspace)


def view_on(workspace: Workspace, timeline: Timeline) -> View:
    """What can be seen now from this session's branch."""
    return View(chain=timeline.chain(workspace.caller.branch), now=workspace.clock.now())


async def view_of(workspace: Workspace) -> View:
    """What can be seen now from this session's branch, as the head stands."""
    return view_on(workspace, (await current(workspace)).timeline)


def writing(workspace: Workspace, timeline: Timeline, at: datetime) -> RecordContext:
    """The circumstances of a record that this session writes now."""
    branch = workspace.caller.branch
    segment = timeline.tips(branch)[-1]
    return RecordContext(
        id=workspace.ids.new(at),
        at=at,
        segment=segment,
        branch=branch,
        scope=workspace.scope,
        origin=workspace.origin(),
        lineage=timeline.lineage(branch, segment),
    )


async def known_memory(workspace: Workspace, memory_id: str, view: View) -> Record:
    """The visible memory of that id, or the only one that this part of an id fits.

    Raises:
        UnknownMemoryError: there is none, or it does not hold from here; names the nearest.
        AmbiguousIdError: the part fits several.
    """
    wanted = RecordId(memory_id.strip().casefold())
    for pool in workspace.pools:
        if await pool.index.visible([wanted], view):
            record = await pool.records.get(wanted)
            if record is not None:
                return record
    if record := await memory_named(workspace, wanted, view):
        return record
    nearest = [id_ for pool in workspace.pools for id_ in await pool.index.nearest(wanted, view)]
    raise UnknownMemoryError(
        memory_id, nearest=_closest(wanted, nearest), needed=explain_short_part(wanted, nearest)
    )


async def memory_named(workspace: Workspace, part: str, view: View | None) -> Record | None:
    """The only memory that a part of an id fits; what is not visible counts without a view alone.

    Raises:
        AmbiguousIdError: it fits several.
    """
    found = {
        id_: pool
        for pool in workspace.pools
        for id_ in await pool.index.named(part, view, _NAMED_MAX)
    }
    if len(found) > 1:
        raise AmbiguousIdError("memories", part, sorted(found))
    for id_, pool in found.items():
        return await pool.records.get(id_)
    return None


@dataclass(frozen=True)
class Planned:
    """A move's record, and the records that are written with it in one step."""

    record: Record
    along: tuple[Record, ...] = ()


async def move(
    workspace: Workspace, plan: Callable[[Head, RecordId, datetime], Awaitable[Record | Planned]]
) -> tuple[Head, Record]:
    """Plan a move from the newest head and make it the next one; plan again if another was first.

    What is planned along with it takes place with it or not at all: the new head is the commit.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await settle(workspace, await current(workspace))
        at = _after(head, workspace.clock.now())
        planned = await plan(head, workspace.ids.new(at), at)
        if isinstance(planned, Record):
            planned = Planned(planned)
        record = planned.record
        moved = Head(
            project=head.project,
            revision=head.revision + 1,
            timeline=apply_move(head.timeline, record),
            last=record,
            with_last=planned.along,
        )
        if await replaced(workspace, head, moved):
            return moved, record
    raise ConflictError(CONFLICT)


async def write_together(
    workspace: Workspace, plan: Callable[[Head], Awaitable[tuple[Record, ...]]]
) -> tuple[Record, ...]:
    """Write several records in one step that moves nothing: all of them, or none.

    Planned nothing, nothing is written.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await settle(workspace, await current(workspace))
        records = await plan(head)
        if not records:
            return ()
        update = {"revision": head.revision + 1, "last": None, "with_last": records}
        if await replaced(workspace, head, head.model_copy(update=update)):
            return records
    raise ConflictError(CONFLICT)


async def absorb(workspace: Workspace) -> int:
    """Take in moves that came with records of another clone; returns how many.

    Of a segment whose move did not come along, its records tell the place.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await workspace.heads.read()
        if head is None:
            return len((await _begin(workspace)).timeline.moves)
        head = await settle(workspace, head)
        known = await workspace.project.index.moves()
        fresh = set(known) - head.timeline.moves
        timeline = apply_lineages(await _placing(workspace, head.timeline), head.timeline)
        if not fresh and timeline is head.timeline:
            return 0
        records = [record async for record in workspace.project.records.scan(known)]
        if head.timeline.moves.issubset(known):
            # folded from the start where possible: both clones then give everything the same name
            timeline = merge_lineages(fold_moves(records), timeline)
        else:
            timeline = fold_moves(records, onto=timeline)
        joined = head.model_copy(update={"revision": head.revision + 1, "timeline": timeline})
        try:
            await workspace.heads.replace(joined, expected=head.revision)
        except ConflictError:
            continue
        await workspace.heads.log(await workspace.heads.unlogged(records))
        return len(fresh)
    return 0


async def _placing(workspace: Workspace, timeline: Timeline) -> list[Record]:
    """The newest record of each segment of which it is not known what move began it."""
    newest = await workspace.project.index.segments()
    known = {s.id for s in timeline.segments.values() if s.move in timeline.moves} | {ROOT}
    wanted = [id_ for segment, id_ in newest.items() if segment not in known]
    return [record async for record in workspace.project.records.scan(wanted)]


def moving_record(
    workspace: Workspace,
    head: Head,
    step: Move,
    *,
    id_: RecordId,
    at: datetime,
    kind: Kind,
    content: str,
) -> Record:
    """The record of a move.

    It stands outside the timeline that it moves; only a checkpoint's summary is part of what the
    checkpoint seals. What else was given up on the branch goes with it: a clone may have it alone.
    """
    record = Record(
        id=id_,
        kind=kind,
        layer="recall",
        content=content,
        phase=step.phase,
        segment=step.parents[-1] if kind == "checkpoint" and step.parents else None,
        branch=step.branch,
        move=step,
        scope=workspace.scope,
        origin=workspace.origin(),
        created_at=at,
        key=f"project:{head.project}:phase" if step.phase is not None else "",
    )
    lineage = apply_move(head.timeline, record).lineage(step.branch, record.segment)
    others = {move: gone for move, gone in lineage.given_up.items() if move != id_}
    return record.model_copy(update={"lineage": lineage.model_copy(update={"given_up": others})})


async def rebuild_head(workspace: Workspace) -> None:
    """Make the head anew from the records that count now, whatever it said before.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await workspace.heads.read()
        if head is None:
            return
        made = await _from_records(workspace, head.revision + 1)
        try:
            await workspace.heads.replace(made, expected=head.revision)
        except ConflictError:
            continue
        return
    raise ConflictError(CONFLICT)


async def _begin(workspace: Workspace) -> Head:
    head = await _from_records(workspace, 1)
    if workspace.policy.meta:  # a meta session reads and leaves no trace
        return head
    try:
        await workspace.heads.replace(head, expected=0)
        known = await workspace.project.index.moves()
        records = [record async for record in workspace.project.records.scan(known)]
        await workspace.heads.log(await workspace.heads.unlogged(records))
    except ConflictError:
        return await workspace.heads.read() or head
    except StoreUnavailableError:  # a read-only folder can still be read
        return head
    return head


async def _from_records(workspace: Workspace, revision: int) -> Head:
    known = await workspace.project.index.moves()
    records = [record async for record in workspace.project.records.scan(known)]
    timeline = fold_moves(records)
    timeline = apply_lineages(await _placing(workspace, timeline), timeline)
    return Head(project=workspace.scope.project or "none", revision=revision, timeline=timeline)


def _after(head: Head, now: datetime) -> datetime:
    """Moves are ordered by time, so a clock that was set back must not reorder them."""
    known = [parse_id_time(id_) for id_ in head.timeline.moves]
    return max(now, *(at + timedelta(milliseconds=1) for at in known)) if known else now


def _closest(wanted: str, known: list[RecordId]) -> list[RecordId]:
    def shared(id_: str) -> int:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(wanted, id_, strict=False))
        return sum(1 for _ in same)

    return sorted(known, key=lambda id_: (-shared(id_), id_))[:3]
