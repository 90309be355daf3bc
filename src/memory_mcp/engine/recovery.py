"""Commits a head and completes what a cut left between the head and its records.

The head is the commit. It holds every record that was written in one step with it until each of
these has its file and is in the index. Whoever reads the head first after a cut completes that.
"""

import asyncio
from collections.abc import Collection, Iterable
from contextlib import suppress

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.limits import (
    HEAD_MOVES_RETRY_MAX,
    HEAD_PAUSE_SECONDS_MAX,
    HEAD_PAUSE_SECONDS_MIN,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import (
    ConflictError,
    NewerSchemaError,
    StoreDamagedError,
    StoreError,
    StoreUnavailableError,
)
from memory_mcp.hints import name_step


def describe_head_conflict() -> str:
    """Say that nobody got round to moving the head."""
    return (
        f"Other sessions moved the head {HEAD_MOVES_RETRY_MAX} times in a row; nothing was "
        f"changed. Look again with {name_step('memory_head')} and repeat."
    )


async def give_way(tries: int) -> None:
    """Wait for a random moment after so many tries to move the head that others forestalled.

    Of many that try again at once, the slowest would be forestalled each time.
    """
    if tries:
        import random  # noqa: PLC0415  # seldom needed

        most = min(HEAD_PAUSE_SECONDS_MIN * 2**tries, HEAD_PAUSE_SECONDS_MAX)
        await asyncio.sleep(random.uniform(0, most))  # noqa: S311  # no secret


async def recover_if_needed(workspace: Workspace, head: Head) -> Head:
    """Recover the head if a record that it holds is not in the index; once for each revision.

    A recovery that fails prevents no reading. A meta session writes nothing, so it recovers
    nothing.
    """
    if workspace.policy.meta or workspace.recovered.revision == head.revision:
        return head
    with suppress(StoreError):
        held = {record.id for record in _list_held(head)}
        if held - await workspace.project.index.ids(held):
            head = await recover_head(workspace, head)
        workspace.recovered.revision = head.revision
    return head


async def recover_head(workspace: Workspace, head: Head) -> Head:
    """Write, index and erase what the head holds and a cut left undone; the head as it is then.

    The returned head holds no text of a record that was erased meanwhile.
    """
    if not _list_held(head):
        return head
    bank = workspace.project
    held = {record.id for record in head.with_last}
    if held and (erased := await bank.index.ordered(held)):
        # another session moved the head if this fails: only its head can be recovered
        pruned = await _commit_without(workspace, head, erased)
        head = pruned or await recover_head(workspace, await workspace.heads.read() or head)
    written: list[Record] = []
    for record in head.with_last:
        with suppress(StoreDamagedError, NewerSchemaError):  # there is a file: the doctor names it
            if await bank.records.get(record.id) is None:
                await bank.keep(record)
                written.append(record)
    if head.last is not None and await bank.records.get(head.last.id) is None:
        await bank.keep(head.last)
        if await bank.index.own([head.last.id]):
            await bank.erase(set(head.last.erases))
    with suppress(StoreError):  # they are durable; the index catches up before its next answer
        held = {record.id for record in _list_held(head)}
        missing = held - await bank.index.ids(held)
        if late := [record async for record in bank.records.scan(missing)]:
            await bank.index.add(late)
    await _erase_forgotten(workspace, written)
    return await _release_held(workspace, head)


async def commit_head(workspace: Workspace, head: Head, new: Head) -> bool:
    """Replace the head and write what it holds; False if another session was first.

    Raises:
        InvalidRequestError: a record could not be read again; in the head it would stop every call.
    """
    for record in _list_held(new):
        workspace.project.records.refuse_unreadable(record)
    try:
        await workspace.heads.replace(new, expected=head.revision)
    except ConflictError:
        return False
    with suppress(StoreUnavailableError):  # committed: `recover_head` completes the rest
        for record in _list_held(new):
            await workspace.project.keep(record)
        await _erase_forgotten(workspace, new.with_last)
        await _release_held(workspace, new)
    return True


async def drop_from_head(workspace: Workspace, record_ids: Collection[RecordId]) -> None:
    """Remove these records from the head before they are erased: no text of them may stay there.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for tries in range(HEAD_MOVES_RETRY_MAX):
        await give_way(tries)
        # always the newest head: another session may have committed these records meanwhile
        head = await workspace.heads.read()
        if head is None or all(record.id not in record_ids for record in head.with_last):
            return
        if await _commit_without(workspace, await recover_head(workspace, head), record_ids):
            return
    raise ConflictError(describe_head_conflict())


async def find_forgotten_segments(workspace: Workspace, head: Head) -> frozenset[SegmentId]:
    """The segments that a move of this machine gave up for good, so that they may be erased.

    A move that came from the cloud gives them up too, but only hides them.
    """
    forgotten = head.timeline.forgotten
    if not forgotten:
        return forgotten
    index = workspace.project.index
    moves = [r async for r in workspace.project.records.scan(await index.own(await index.moves()))]
    if head.last is not None and await index.own([head.last.id]):
        moves.append(head.last)  # its own file may not be written yet
    ours = {segment for record in moves if record.move for segment in record.move.forgets}
    return forgotten & ours


async def find_records_of_segments(
    bank: MemoryBank, segments: Collection[SegmentId]
) -> set[RecordId]:
    """The records of these segments, by their own files."""
    if not segments:
        return set()
    written = await bank.index.ids_by_segment(segments)
    found = bank.records.scan(set[RecordId]().union(*written.values()))
    return {record.id async for record in found if record.segment in segments}


async def _release_held(workspace: Workspace, head: Head) -> Head:
    """The same head, at the same revision, without the records that have their files now.

    If one is not indexed yet, or the head cannot be written, the next recovery does it.
    """
    released = head.model_copy(update={"last": None, "with_last": ()})
    held = {record.id for record in _list_held(head)}
    index = workspace.project.index
    try:
        if held - await index.ids(held) - await index.erased():
            return head
        await workspace.heads.replace(released, expected=head.revision)
    except (ConflictError, StoreError):
        return head
    return released


async def _erase_forgotten(workspace: Workspace, written: Iterable[Record]) -> None:
    """Erase what another session forgot while it was being written here."""
    segments = {record.id: record.segment for record in written}
    if not segments:
        return
    head = await workspace.heads.read()  # only the newest head knows what was given up meanwhile
    late: set[RecordId] = set()
    with suppress(StoreError):  # the next catch-up completes it
        gone = await find_forgotten_segments(workspace, head) if head else frozenset[SegmentId]()
        late |= {id_ for id_, segment in segments.items() if segment in gone}
        late |= await workspace.project.index.ordered(segments.keys())
    if late:
        await workspace.project.erase(late)


async def _commit_without(
    workspace: Workspace, head: Head, record_ids: Collection[RecordId]
) -> Head | None:
    """The head without these records; None if another session moved it first."""
    rest = tuple(record for record in head.with_last if record.id not in record_ids)
    if len(rest) == len(head.with_last):
        return head
    pruned = head.model_copy(update={"revision": head.revision + 1, "with_last": rest})
    with suppress(ConflictError):
        await workspace.heads.replace(pruned, expected=head.revision)
        return pruned
    return None


def _list_held(head: Head) -> tuple[Record, ...]:
    return (*head.with_last, *([head.last] if head.last else []))
