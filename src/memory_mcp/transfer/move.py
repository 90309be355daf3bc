"""Carry a project's and a user's memories from one store to another, as they are.

A team's stay where the team is. Nothing is taken away where they come from. The order: what was
erased, so that nothing comes back; the records, oldest first; the head. After a cut the same call
goes on where it was, because a record that is there already is not written again. In the end both
sides are read once more and compared.
"""

from collections.abc import Collection
from hashlib import sha256
from typing import Final

from memory_mcp.checker import to_json
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Reach
from memory_mcp.domain.transfer import BankMoved, MoveReport
from memory_mcp.engine.head import absorb_moves, load_head, load_moves, log_missing_moves
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_writes
from memory_mcp.errors import StoreDamagedError, StoreUnavailableError
from memory_mcp.transfer.plan import ReportProgress

_MOVED: Final[tuple[Reach, ...]] = ("project", "user")


async def move_memories(
    source: Workspace, target: Workspace, advance: ReportProgress
) -> MoveReport | Skipped:
    """Copy what `source` has to `target`, and compare.

    Raises:
        StoreDamagedError: a record cannot be read here, or another one is there under its id.
        StoreUnavailableError: an import or another move is under way there.
    """
    if skipped := refuse_writes(source) or refuse_writes(target):
        return skipped
    async with target.journal.alone() as alone:
        if not alone:
            raise StoreUnavailableError(
                "An import or another move is under way there. Wait until it is done, and repeat."
            )
        head = await load_head(source)
        for reach in _MOVED:
            bank, other = source.bank_of(reach), target.bank_of(reach)
            await other.index.remember_erased(await bank.index.logged())
            await _copy_records(bank, other, advance)
            await other.index.catch_up()
        await _copy_head(source, target)
        compared = [
            await _compare(reach, source.bank_of(reach), target.bank_of(reach)) for reach in _MOVED
        ]
        there = await load_head(target)
        moves = head.timeline.moves
        same_head = moves <= there.timeline.moves
        return MoveReport(tuple(compared), len(moves), same_head, source.caller.team)


async def _copy_records(bank: MemoryBank, other: MemoryBank, advance: ReportProgress) -> None:
    """Copy the records that are not there yet."""
    ids = await bank.records.ids() - await other.index.logged()
    missing = sorted(ids - await other.records.ids())
    done = 0
    async for record in bank.records.scan(missing):
        await other.records.put(record)
        done += 1
        advance(done, len(missing))
    if done < len(missing):
        raise StoreDamagedError(
            f"{len(missing) - done} of {len(ids)} records cannot be read, so they were not carried "
            "over. `memory-mcp doctor` names them; restore or remove them, and repeat."
        )


async def _copy_head(source: Workspace, target: Workspace) -> None:
    """Put the head there, if that has no moves of its own; else join the two timelines."""
    head, there = await load_head(source), await target.heads.read()
    if there is None:
        await target.heads.replace(head, expected=0)
    elif there.timeline.moves <= head.timeline.moves:
        if there.timeline != head.timeline:
            revision = max(head.revision, there.revision + 1)
            newer = head.model_copy(update={"revision": revision})
            await target.heads.replace(newer, expected=there.revision)
    else:
        await absorb_moves(target)
    await log_missing_moves(target, await load_moves(target))


async def _compare(reach: Reach, bank: MemoryBank, other: MemoryBank) -> BankMoved:
    """Read both sides, and say what they come to; what was forgotten there stays so."""
    ids = await bank.records.ids() - await other.index.logged()
    there = await other.records.ids()
    return BankMoved(
        reach=reach,
        records=len(ids),
        digest=await _digest(bank, ids),
        arrived=len(ids & there),
        digest_there=await _digest(other, ids & there),
        others=len(there - ids),
    )


async def _digest(bank: MemoryBank, ids: Collection[RecordId]) -> str:
    """The digest of these records, in the order of their ids."""
    found = sha256()
    async for record in bank.records.scan(ids):
        found.update(to_json(record.as_json()) + b"\n")
    return found.hexdigest()
