"""Taking in what another program remembers, or an export of ours: all of it, or nothing.

1. Everything is read and weighed; nothing is written that was not.
2. The records are noted in the journal, whole. This is the commit: from here on a cut is completed
   by whoever opens the project next.
3. They are written, then indexed. An error here takes back what was written, and the journal.
4. The timelines are joined, if there are two; then the journal is cleared.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from memory_mcp.domain.outcomes import Finding, Skipped
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.transfer import Imported, Parsed
from memory_mcp.engine.head import current
from memory_mcp.engine.recovery import forgotten_here
from memory_mcp.engine.workspace import Pool, Workspace, reads_refused, writes_refused
from memory_mcp.errors import (
    ConflictError,
    InvalidRequestError,
    StoreError,
    StoreUnavailableError,
)
from memory_mcp.profile.sync import profile_sync
from memory_mcp.sync.pull import put_in_place
from memory_mcp.transfer.plan import Advance, Plan, planned

_LATER: Final = "It could not be taken back: the next command completes it."


def _quietly(done: int, total: int) -> None:
    """Whoever does not show how far it is."""


async def preview_import(
    workspace: Workspace, parsed: Parsed, reach: Reach | None, advance: Advance = _quietly
) -> Imported | Skipped:
    """What an import would do. Nothing is written."""
    if skipped := reads_refused(workspace):
        return skipped
    reading = replace(
        workspace, policy=replace(workspace.policy, meta=True)
    )  # begins no head either
    plan = await planned(reading, parsed, reach, advance)
    return plan.report(parsed, dry=True)


async def import_memories(
    workspace: Workspace,
    parsed: Parsed,
    reach: Reach | None,
    advance: Advance = _quietly,
    *,
    erase: bool = False,
) -> Imported | Skipped:
    """Take in what was read of a source; `reach` says whose all of it is to be.

    Only with `erase` may it erase what is here.

    Raises:
        InvalidRequestError: an export of ours cannot be taken as it is, or would erase.
        StoreUnavailableError: another import is under way, or a write was refused: then nothing
            of it is left.
        ConflictError: this line of the timeline was given up meanwhile; nothing of it is left.
    """
    if skipped := writes_refused(workspace):
        return skipped
    with workspace.journal.alone() as alone:
        if not alone:
            raise StoreUnavailableError(
                "Another import is under way in this project. Wait until it is done, and repeat; "
                "nothing was changed."
            )
        await _complete(workspace)
        async with workspace.project.writing, workspace.user.writing:
            plan = await planned(workspace, parsed, reach, advance)
            if not erase:
                _refuse_to_erase(plan)
            if plan.records:
                plan.notes += await _to_an_end(workspace, plan, advance)
    if parsed.own is None:
        plan.notes += await _profile(workspace, plan.records)
    return plan.report(parsed, dry=False)


async def complete_import(workspace: Workspace) -> int:
    """Complete an import that a cut left in the middle; how many records it was of."""
    if not workspace.journal.waiting() or writes_refused(workspace):
        return 0
    with workspace.journal.alone() as alone:
        return await _complete(workspace) if alone else 0


async def import_findings(workspace: Workspace, *, repair: bool) -> list[Finding]:
    """What is wrong with an import: it was cut short, or its journal cannot be read."""
    if not workspace.journal.waiting():
        return []
    with workspace.journal.alone() as alone:
        if not alone:  # one is under way
            return []
        try:
            count = len(await workspace.journal.noted())
            if repair:
                await _complete(workspace)
        except StoreError as error:
            return [Finding("import-damaged", "should", str(error), "Then look again.")]
    return [
        Finding(
            "import-unfinished", "must", f"An import of {count} record(s) was cut short.",
            "`memory-mcp doctor --repair` completes it.", repaired=repair,
        )
    ]  # fmt: skip


async def _complete(workspace: Workspace) -> int:
    records = await workspace.journal.noted()
    if records:
        forgotten = await forgotten_here(workspace, await current(workspace))
        ids = {record.id for record in records}
        erased = {id_ for pool in workspace.pools for id_ in await pool.index.ordered(ids)}
        wanted = [
            r
            for r in records
            if r.id not in erased and (r.move is not None or r.segment not in forgotten)
        ]
        await _store(workspace, wanted, _quietly)
        await _join(workspace, wanted)
        await workspace.journal.clear()
    return len(records)


def _refuse_to_erase(plan: Plan) -> None:
    if count := plan.effects.erases:
        some = "; ".join(plan.effects.erased)
        raise InvalidRequestError(
            f"The export erases {count} memories that are here, for good: {some}. If that is "
            "meant, repeat with --erase. Nothing was changed."
        )


async def _to_an_end(workspace: Workspace, plan: Plan, advance: Advance) -> tuple[str, ...]:
    """Carry it out; if it is cancelled, take it back first: no thread writes on behind our back.

    The cancellation then says what became of it, as a note.
    """
    stopped = False

    def told(done: int, total: int) -> None:
        if stopped:
            raise asyncio.CancelledError
        advance(done, total)

    work = asyncio.ensure_future(_carried_out(workspace, plan, told))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError as error:
        stopped = True
        await asyncio.wait([work])
        taken_back = work.cancelled() and not workspace.journal.waiting()
        kept = "All of the import is kept: it was done." if not work.cancelled() else _LATER
        error.add_note("Nothing of the import was kept." if taken_back else kept)
        raise


async def _carried_out(workspace: Workspace, plan: Plan, advance: Advance) -> tuple[str, ...]:
    await workspace.journal.note(plan.records)
    try:
        notes = await _store(workspace, plan.records, advance)
        await _require_line(workspace, plan.records)
    except BaseException:
        with suppress(StoreError):  # what cannot be taken back now is completed by the next start
            for pool, records in _by_pool(workspace, plan.records):
                await pool.take_back({record.id for record in records})
            await workspace.journal.clear()
        raise
    await _join(workspace, plan.records)
    await workspace.journal.clear()
    return notes


async def _store(
    workspace: Workspace, records: Sequence[Record], advance: Advance
) -> tuple[str, ...]:
    """Write and index the records."""
    notes: tuple[str, ...] = ()
    before = 0
    for pool, some in _by_pool(workspace, records):

        def done(count: int, before: int = before) -> None:
            advance(before + count, len(records))

        notes += await pool.keep_all(some, done)
        before += len(some)
    return notes


async def _join(workspace: Workspace, records: Sequence[Record]) -> None:
    """What came in moves the head, and erases what was forgotten there."""
    if any(record.move is not None or record.erases for record in records):
        for pool, _ in _by_pool(workspace, records):
            await put_in_place(workspace, pool)


async def _require_line(workspace: Workspace, records: Sequence[Record]) -> None:
    """Another session may have given up this line while all this was written.

    Raises:
        ConflictError: it did so for good.
    """
    forgotten = (await current(workspace)).timeline.forgotten
    if any(record.segment in forgotten for record in records if record.move is None):
        raise ConflictError(
            "Another session gave up this line for good during the import, so nothing of it was "
            "kept. Import it again where it should go."
        )


async def _profile(workspace: Workspace, records: Sequence[Record]) -> tuple[str, ...]:
    """What they say of the user. It follows from them, so it is no part of the one step."""
    notes: list[str] = []
    for record in records:
        if record.scope.project is None:
            notes += await profile_sync(workspace, record)
    return tuple(dict.fromkeys(notes))


def _by_pool(workspace: Workspace, records: Sequence[Record]) -> list[tuple[Pool, list[Record]]]:
    mine = [record for record in records if record.scope.project is None]
    ours = [record for record in records if record.scope.project is not None]
    return [(p, some) for p, some in ((workspace.project, ours), (workspace.user, mine)) if some]
