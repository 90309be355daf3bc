"""Reads records by filter and by rank, for every use case.

A record that is indexed and cannot be read is named; it never passes for one that does not exist.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from memory_mcp.domain.ids import RecordId, parse_id_time
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, Hit, RankedCandidate, View, Wanted
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.git import find_mark
from memory_mcp.engine.head import load_head
from memory_mcp.engine.index_sync import RECORDS_GONE
from memory_mcp.engine.recovery import find_forgotten_segments
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import (
    ConflictError,
    InvalidRequestError,
    StoreUnavailableError,
)
from memory_mcp.frozen import frozen

T = TypeVar("T")

_LINE_LEFT: Final = (
    "Another session backtracked while this was being written: it was stored on the line that was "
    "left and is hidden. If it still holds, add it again."
)
_LINE_GIVEN_UP: Final = (
    "Another session gave up this line for good while the memory was being written, so it was "
    "erased with it. If it still holds, add it again."
)


async def gather_all(calls: Iterable[Awaitable[T]]) -> list[T]:
    """The answers in order. A failure is raised only when every call is over."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


@asynccontextmanager
async def run_beside(call: Coroutine[Any, Any, T]) -> AsyncGenerator[asyncio.Task[T]]:
    """Runs the call as a task within the block; the task is over when the block is left."""
    task = asyncio.create_task(call)
    try:
        yield task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


@frozen
class RecordsRead:
    """The records that could be read, and the ids of those that are indexed but could not."""

    records: Sequence[Record]
    unreadable: frozenset[RecordId]


async def load_records(bank: MemoryBank, record_ids: list[RecordId]) -> list[Record]:
    """The records of these ids that can be read, in the order of the ids."""
    found = {record.id: record async for record in bank.records.scan(record_ids)}
    return [found[id_] for id_ in record_ids if id_ in found]


async def load_newest(
    workspace: Workspace, view: View, filters: Filters, limit: int, *, best: bool = False
) -> RecordsRead:
    """The newest visible records that pass the filters; with `best`, pinned and important first."""
    return (await load_each(workspace, view, [Wanted(filters, limit, best)]))[0]


async def load_each(
    workspace: Workspace, view: View, wanted: Sequence[Wanted]
) -> list[RecordsRead]:
    """What `load_newest` returns for each of these, asked for at once. They have one reach."""
    banks = workspace.banks_of(wanted[0].filters.reach)
    reads = await gather_all(_load_first(bank, view, wanted) for bank in banks)
    return [_join(each, parts) for each, *parts in zip(wanted, *reads, strict=True)]


async def load_here_first(
    workspace: Workspace, view: View, wanted: Sequence[Wanted]
) -> list[RecordsRead]:
    """What `load_each` returns; what does not stand on this commit takes no place from the rest.

    It is last in each list, and what it crowded out is read in its place.
    """
    reads = await load_each(workspace, view, wanted)
    if not view.away:
        return reads
    behind = [[r for r in read.records if find_mark(workspace, r)] for read in reads]
    crowded = [
        at
        for at, (each, read) in enumerate(zip(wanted, reads, strict=True))
        if behind[at] and len(read.records) == each.limit
    ]
    if crowded:
        asked = [wanted[at] for at in crowded]
        asked = [replace(each, filters=replace(each.filters, away=view.away)) for each in asked]
        for at, read in zip(crowded, await load_each(workspace, view, asked), strict=True):
            reads[at] = replace(read, unreadable=read.unreadable | reads[at].unreadable)
    return [
        replace(read, records=_put_behind(read.records, last, each.limit))
        for read, last, each in zip(reads, behind, wanted, strict=True)
    ]


def _put_behind(records: Sequence[Record], last: Sequence[Record], limit: int) -> Sequence[Record]:
    """The records, those that are `last` behind the others."""
    ids = {record.id for record in last}
    return [*(record for record in records if record.id not in ids), *last][:limit]


def _join(wanted: Wanted, parts: Sequence[RecordsRead]) -> RecordsRead:
    def rank(record: Record) -> tuple[bool, int, RecordId]:
        return wanted.best and record.pinned, wanted.best * record.importance, record.id

    records = sorted((r for read in parts for r in read.records), key=rank, reverse=True)
    unreadable = frozenset[RecordId]().union(*(read.unreadable for read in parts))
    return RecordsRead(records[: wanted.limit], unreadable)


async def load_hits(
    ranked: Sequence[RankedCandidate], home: Mapping[RecordId, MemoryBank], view: View, limit: int
) -> tuple[list[Hit], frozenset[RecordId]]:
    """The best hits, and the ids of better ones that could not be read."""
    hits: list[Hit] = []
    lost: set[RecordId] = set()
    while ranked and len(hits) < limit:
        wanted, ranked = ranked[: limit - len(hits)], ranked[limit - len(hits) :]
        records: dict[RecordId, Record] = {}
        for bank in dict.fromkeys(home[place.id] for place in wanted):
            ids = [place.id for place in wanted if home[place.id] is bank]
            records.update({record.id: record async for record in bank.records.scan(ids)})
        for place in wanted:
            if place.id in records:
                hits.append(
                    Hit(
                        records[place.id],
                        place.score,
                        parts=place.parts,
                        agreement=place.agreement,
                    )
                )
            else:
                lost.add(place.id)
    unreadable = [
        await _find_unreadable(bank, {id_ for id_ in lost if home[id_] is bank}, view)
        for bank in dict.fromkeys(home[id_] for id_ in lost)
    ]
    return hits, frozenset[RecordId]().union(*unreadable)


async def require_records_folder(workspace: Workspace, view: View) -> None:
    """Refuse an empty answer when the records' folder is gone: renamed, or not mounted.

    Raises:
        StoreUnavailableError: the index knows memories, and there is not one record.
    """
    for bank in workspace.banks:
        known = await bank.index.find(view, Filters(), 1)
        if known and not await load_records(bank, known) and not await bank.records.ids():
            raise StoreUnavailableError(RECORDS_GONE)


async def find_moves_back(workspace: Workspace, head: Head, since: datetime) -> list[Record]:
    """The backtracks and restores of the caller's branch since then; a forget is a backtrack."""
    later = [id_ for id_ in head.timeline.moves if parse_id_time(id_) >= since]
    records = await load_records(workspace.project, later)
    if head.last is not None and head.last.id in later:  # its own file may not be written yet
        records.append(head.last)
    return [record for record in records if is_move_back(workspace, record)]


def is_move_back(workspace: Workspace, record: Record) -> bool:
    """Whether this is a backtrack or a restore of the caller's branch."""
    move = record.move
    return (
        move is not None
        and move.act in ("backtrack", "restore")
        and move.branch == workspace.caller.branch
    )


def choose_bank(workspace: Workspace, record: Record) -> MemoryBank:
    """The bank of a record, by its scope.

    Raises:
        InvalidRequestError: it is a team's, and there is none.
    """
    return workspace.bank_of(record.scope.reach)


def refuse_checkpoint(record: Record) -> None:
    """Refuse to replace or forget a checkpoint by itself.

    Raises:
        InvalidRequestError: the record is a checkpoint; says what to do instead.
    """
    if record.kind == "checkpoint":
        raise InvalidRequestError(
            f"{record.id} is a checkpoint, which is part of the timeline. To leave what came after "
            "it, use backtrack; to correct its summary, seal another checkpoint."
        )


async def recheck_line(
    workspace: Workspace, record: Record, written: frozenset[RecordId] = frozenset()
) -> Literal["holds", "left", "given up"]:
    """What became of the record's line while the record was being written.

    If the line was given up for good, the record and the other `written` ones are erased with it.
    """
    if record.segment is None:
        return "holds"
    # The head is read again on purpose. A record is stored without the head's lock, so a session
    # that forgot the line meanwhile could not see it: nobody else would erase it.
    head = await workspace.heads.read() or await load_head(workspace)
    if record.segment in await find_forgotten_segments(workspace, head):
        await workspace.project.erase({record.id, *written})
        return "given up"
    return "holds" if record.segment in head.timeline.chain(workspace.caller.branch) else "left"


async def describe_line(
    workspace: Workspace, record: Record, written: frozenset[RecordId] = frozenset()
) -> tuple[str, ...]:
    """Recheck the line; a note if another session left it meanwhile.

    Raises:
        ConflictError: the line was given up for good, so the records were erased with it.
    """
    match await recheck_line(workspace, record, written):
        case "holds":
            return ()
        case "left":
            return (_LINE_LEFT,)
        case "given up":
            raise ConflictError(_LINE_GIVEN_UP)


async def _load_first(bank: MemoryBank, view: View, wanted: Sequence[Wanted]) -> list[RecordsRead]:
    found = await bank.index.find_each(view, wanted)
    every = {id_: None for ids in found for id_ in ids}
    there = {record.id: record async for record in bank.records.scan([*every])}
    reads: list[RecordsRead] = []
    for each, ids in zip(wanted, found, strict=True):
        lost = {id_ for id_ in ids if id_ not in there}
        if lost and len(ids) == each.limit:  # they must not crowd out readable ones
            reads.append(await _load_more(bank, view, each, len(lost)))
        else:
            records = [there[id_] for id_ in ids if id_ not in lost]
            reads.append(RecordsRead(records, await _find_unreadable(bank, lost, view)))
    return reads


async def _load_more(bank: MemoryBank, view: View, wanted: Wanted, lost_once: int) -> RecordsRead:
    """Look for more than is wanted, because some of it cannot be read."""
    limit = wanted.limit + 2 * lost_once
    while True:
        ids = await bank.index.find(view, wanted.filters, limit, best=wanted.best)
        records = await load_records(bank, ids)
        lost = set(ids) - {record.id for record in records}
        if len(records) >= wanted.limit or len(ids) < limit:
            return RecordsRead(records, await _find_unreadable(bank, lost, view))
        limit = wanted.limit + 2 * len(lost)


async def _find_unreadable(
    bank: MemoryBank, lost: set[RecordId], view: View
) -> frozenset[RecordId]:
    """Those of the lost records that should exist; a moment ago forgotten ones should not."""
    if not lost:
        return frozenset()
    return frozenset(await bank.index.visible(lost, view) - set(await bank.index.to_erase()))


def describe_unindexed(workspace: Workspace) -> str:
    """How much an answer could not look at yet, because an index is being made anew."""
    left = sum(bank.index.left for bank in workspace.banks if bank.index.goes_on)
    if not left:
        return ""
    return (
        f"The index is being made anew: the {left:,} oldest records are not in it yet, only newer "
        "ones were looked at. Ask again in a moment."
    )
