"""Completing what a cut left between the head and its records, and the commit itself.

The head is the commit: it holds what was written in one step with it until every record has its
file and can be found. Whoever looks at it first after a cut completes that.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.limits import HEAD_MOVES_RETRY_MAX
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import (
    ConflictError,
    NewerSchemaError,
    StoreDamagedError,
    StoreError,
    StoreUnavailableError,
)

CONFLICT: Final = (
    f"Other sessions moved the head {HEAD_MOVES_RETRY_MAX} times in a row; nothing was changed. "
    "Look again with memory_head and repeat."
)


async def settled(workspace: Workspace, head: Head) -> Head:
    """The head, once what it holds can be found; it is looked at once for each revision.

    What cannot be completed now keeps nobody from reading. A meta session leaves no trace.
    """
    if workspace.policy.meta or workspace.settled.revision == head.revision:
        return head
    with suppress(StoreError):
        named = {record.id for record in _held(head)}
        if named - await workspace.project.index.ids(named):
            head = await settle(workspace, head)
        workspace.settled.revision = head.revision
    return head


async def settle(workspace: Workspace, head: Head) -> Head:
    """Complete what a cut left between the head and its records: writes, finding and forgets.

    Returns the head as it is then. It keeps no text of a record that was erased meanwhile.
    """
    if not _held(head):
        return head
    pool = workspace.project
    held = {record.id for record in head.with_last}
    if held and (erased := await pool.index.ordered(held)):
        pruned = await _without(workspace, head, erased)
        head = pruned or await settle(workspace, await workspace.heads.read() or head)
    written: list[Record] = []
    for record in head.with_last:
        with suppress(StoreDamagedError, NewerSchemaError):  # it is there: the doctor names it
            if await pool.records.get(record.id) is None:
                await pool.keep(record)
                written.append(record)
    if head.last is not None and await pool.records.get(head.last.id) is None:
        await pool.keep(head.last)
        if await pool.index.own([head.last.id]):
            await pool.erase(set(head.last.erases))
    with suppress(StoreError):  # they are durable; the index catches up before its next answer
        known = await pool.index.ids({record.id for record in _held(head)})
        stored = pool.records.scan({record.id for record in _held(head)} - known)
        if late := [record async for record in stored]:
            await pool.index.add(late)
    await _given_up(workspace, written)
    return await _let_go_of_all(workspace, head)


async def _let_go_of_all(workspace: Workspace, head: Head) -> Head:
    """The head without what has its files now. It stands where it stood, at the same revision.

    If one cannot be found yet, or the head cannot be written, the next look does it.
    """
    done = head.model_copy(update={"last": None, "with_last": ()})
    named = {record.id for record in _held(head)}
    try:
        if (
            named
            - await workspace.project.index.ids(named)
            - await workspace.project.index.erased()
        ):
            return head
        await workspace.heads.replace(done, expected=head.revision)
    except (ConflictError, StoreError):
        return head
    return done


async def replaced(workspace: Workspace, head: Head, by: Head) -> bool:
    """Make it the head, and write what came with it; False if another session was first."""
    try:
        await workspace.heads.replace(by, expected=head.revision)
    except ConflictError:
        return False
    with suppress(StoreUnavailableError):  # it took place: the head holds them, see `settle`
        for record in _held(by):
            await workspace.project.keep(record)
        await _given_up(workspace, by.with_last)
        await _let_go_of_all(workspace, by)
    return True


async def let_go(workspace: Workspace, record_ids: Collection[RecordId]) -> None:
    """Have the head hold none of these records: what is about to be erased must leave no text.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for _ in range(HEAD_MOVES_RETRY_MAX):
        head = await workspace.heads.read()
        if head is None or all(record.id not in record_ids for record in head.with_last):
            return
        if await _without(workspace, await settle(workspace, head), record_ids):
            return
    raise ConflictError(CONFLICT)


async def forgotten_here(workspace: Workspace, head: Head) -> frozenset[SegmentId]:
    """The segments that a move of this machine's own gave up for good: they may be erased.

    A move that came from the cloud gives them up too, but only hides them.
    """
    forgotten = head.timeline.forgotten
    if not forgotten:
        return forgotten
    index = workspace.project.index
    moves = [r async for r in workspace.project.records.scan(await index.own(await index.moves()))]
    if head.last is not None and await index.own([head.last.id]):
        moves.append(head.last)  # its own record may be yet to be written
    ours = {segment for record in moves if record.move for segment in record.move.forgets}
    return forgotten & ours


async def in_segments(pool: Pool, segments: Collection[SegmentId]) -> set[RecordId]:
    """The records of these segments, by their own files."""
    if not segments:
        return set()
    found = pool.records.scan(await pool.index.of_segments(segments))
    return {record.id async for record in found if record.segment in segments}


async def _given_up(workspace: Workspace, written: Iterable[Record]) -> None:
    """Erase again what others completed before us, and gave up or forgot since."""
    theirs = {record.id: record.segment for record in written}
    if not theirs:
        return
    head = await workspace.heads.read()
    late: set[RecordId] = set()
    with suppress(StoreError):  # whoever catches up completes it
        gone = await forgotten_here(workspace, head) if head else frozenset[SegmentId]()
        late |= {id_ for id_, segment in theirs.items() if segment in gone}
        late |= await workspace.project.index.ordered(theirs.keys())
    if late:
        await workspace.project.erase(late)


async def _without(
    workspace: Workspace, head: Head, record_ids: Collection[RecordId]
) -> Head | None:
    """The head without these records; None if another session moved it first."""
    kept = tuple(record for record in head.with_last if record.id not in record_ids)
    if len(kept) == len(head.with_last):
        return head
    left = head.model_copy(update={"revision": head.revision + 1, "with_last": kept})
    try:
        await workspace.heads.replace(left, expected=head.revision)
    except ConflictError:
        return None
    return left


def _held(head: Head) -> tuple[Record, ...]:
    return (*head.with_last, *([head.last] if head.last else []))
