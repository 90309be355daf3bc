"""Imports what another program remembers, or an export of ours: all of it, or nothing.

1. Everything is read and planned before anything is written.
2. All records are noted in the journal. This is the commit: after a cut, whoever opens the project
   next completes the import.
3. They are written, then indexed. An error here takes back what was written, and the journal.
4. The timelines are joined, if there are two; then the journal is cleared.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Final

from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Finding, Skipped
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.transfer import ImportReport, ParsedSource
from memory_mcp.engine.head import load_head
from memory_mcp.engine.recovery import find_forgotten_segments
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import (
    ConflictError,
    InvalidRequestError,
    StoreError,
    StoreUnavailableError,
)
from memory_mcp.profile import sync_profile
from memory_mcp.sync.pull import apply_incoming
from memory_mcp.transfer.plan import ImportPlan, ReportProgress, plan_import

_LATER: Final = "It could not be taken back: the next command completes it."


def _ignore_progress(done: int, total: int) -> None:
    pass


async def preview_import(
    workspace: Workspace,
    parsed: ParsedSource,
    reach: Reach | None,
    advance: ReportProgress = _ignore_progress,
) -> ImportReport | Skipped:
    """What an import would do. Nothing is written."""
    if skipped := refuse_reads(workspace):
        return skipped
    # as a meta session, which does not write a first head either
    meta = replace(workspace, policy=replace(workspace.policy, meta=True))
    plan = await plan_import(meta, parsed, reach, advance)
    return plan.report(parsed, dry=True)


async def import_memories(
    workspace: Workspace,
    parsed: ParsedSource,
    reach: Reach | None,
    advance: ReportProgress = _ignore_progress,
    *,
    erase: bool = False,
) -> ImportReport | Skipped:
    """Import what was read of a source. `reach`, if given, is the scope of all of it.

    Only with `erase` may it erase existing memories.

    Raises:
        InvalidRequestError: an export of ours cannot be taken as it is, or would erase.
        StoreUnavailableError: another import is under way, or a write failed; nothing was kept.
        ConflictError: this line of the timeline was given up meanwhile; nothing was kept.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    async with workspace.journal.alone() as alone:
        if not alone:
            raise StoreUnavailableError(
                "Another import is under way in this project. Wait until it is done, and repeat; "
                "nothing was changed."
            )
        await _complete(workspace)
        async with AsyncExitStack() as stack:
            for bank in workspace.banks:
                await stack.enter_async_context(bank.writing)
            plan = await plan_import(workspace, parsed, reach, advance)
            if not erase:
                _refuse_to_erase(plan)
            if plan.records:
                plan.notes += await _write_or_take_back(workspace, plan, advance)
    if parsed.own is None:
        plan.notes += await _update_profile(workspace, plan.records)
    return plan.report(parsed, dry=False)


async def complete_import(workspace: Workspace) -> int:
    """Complete an import that was cut short; returns how many records it has."""
    if not await workspace.journal.waiting() or refuse_writes(workspace):
        return 0
    async with workspace.journal.alone() as alone:
        return await _complete(workspace) if alone else 0


async def check_import(workspace: Workspace, *, repair: bool) -> list[Finding]:
    """The doctor's findings: an import that was cut short, or a journal that cannot be read."""
    if not await workspace.journal.waiting():
        return []
    async with workspace.journal.alone() as alone:
        if not alone:  # one is under way
            return []
        try:
            count = len(await workspace.journal.noted())
            if repair:
                await _complete(workspace)
        except StoreError as error:
            return [Finding.of("import-damaged", "should", error, "Then look again.")]
    what = f"An import of {pluralise(count, 'record', 'records')} was cut short."
    remedy = "`memory-mcp doctor --repair` completes it."
    return [Finding("import-unfinished", "must", what, remedy, repaired=repair)]


def _may_complete(workspace: Workspace, record: Record) -> bool:
    """Whether it is the project's, or this user's or team's: others have to repeat their import."""
    scope = record.scope
    match scope.reach:
        case "project":
            return True
        case "team":
            return scope.team == workspace.caller.team
        case "user":
            return scope.user == workspace.scope.user


async def _complete(workspace: Workspace) -> int:
    records = await workspace.journal.noted()
    if records:
        forgotten = await find_forgotten_segments(workspace, await load_head(workspace))
        ids = {record.id for record in records}
        erased = {id_ for bank in workspace.banks for id_ in await bank.index.ordered(ids)}
        wanted = [
            record
            for record in records
            if record.id not in erased
            and _may_complete(workspace, record)
            and (record.move is not None or record.segment not in forgotten)
        ]
        await _store_records(workspace, wanted, _ignore_progress)
        await _join_timelines(workspace, wanted)
        await workspace.journal.clear()
    return len(records)


def _refuse_to_erase(plan: ImportPlan) -> None:
    if count := plan.effects.erases.count:
        some = "; ".join(plan.effects.erases.first)
        raise InvalidRequestError(
            f"The export erases {count} memories that are here, for good: {some}. If that is "
            "meant, repeat with --erase. Nothing was changed."
        )


async def _write_or_take_back(
    workspace: Workspace, plan: ImportPlan, advance: ReportProgress
) -> tuple[str, ...]:
    """Write the plan. If cancelled, take it back before the cancellation goes on.

    So no thread still writes when this returns. A note on the cancellation says what was kept.
    """
    stopped = False

    def report(done: int, total: int) -> None:
        if stopped:
            raise asyncio.CancelledError
        advance(done, total)

    work = asyncio.ensure_future(_write_plan(workspace, plan, report))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError as error:
        stopped = True
        await asyncio.wait([work])
        taken_back = work.cancelled() and not await workspace.journal.waiting()
        kept = "All of the import is kept: it was done." if not work.cancelled() else _LATER
        error.add_note("Nothing of the import was kept." if taken_back else kept)
        raise


async def _write_plan(
    workspace: Workspace, plan: ImportPlan, advance: ReportProgress
) -> tuple[str, ...]:
    await workspace.journal.note(plan.records)
    try:
        notes = await _store_records(workspace, plan.records, advance)
        await _refuse_forgotten_line(workspace, plan.records)
    except BaseException:
        with suppress(StoreError):  # what cannot be taken back now is completed by the next start
            for bank, records in _split_by_bank(workspace, plan.records):
                await bank.take_back({record.id for record in records})
            await workspace.journal.clear()
        raise
    await _join_timelines(workspace, plan.records)
    await workspace.journal.clear()
    return notes


async def _store_records(
    workspace: Workspace, records: Sequence[Record], advance: ReportProgress
) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    before = 0
    for bank, some in _split_by_bank(workspace, records):

        def done(count: int, before: int = before) -> None:
            advance(before + count, len(records))

        notes += await bank.keep_all(some, done)
        before += len(some)
    return notes


async def _join_timelines(workspace: Workspace, records: Sequence[Record]) -> None:
    if any(record.move is not None or record.erases for record in records):
        for bank, _ in _split_by_bank(workspace, records):
            await apply_incoming(workspace, bank)


async def _refuse_forgotten_line(workspace: Workspace, records: Sequence[Record]) -> None:
    """Refuse records whose line another session gave up for good while they were written.

    Raises:
        ConflictError: one did.
    """
    forgotten = (await load_head(workspace)).timeline.forgotten
    if any(record.segment in forgotten for record in records if record.move is None):
        raise ConflictError(
            "Another session gave up this line for good during the import, so nothing of it was "
            "kept. Import it again where it should go."
        )


async def _update_profile(workspace: Workspace, records: Sequence[Record]) -> tuple[str, ...]:
    """Derive the user's profile from the records; not part of the atomic step."""
    notes: list[str] = []
    for record in records:
        if record.scope.reach == "user":
            notes += await sync_profile(workspace, record)
    return tuple(dict.fromkeys(notes))


def _split_by_bank(
    workspace: Workspace, records: Sequence[Record]
) -> list[tuple[MemoryBank, list[Record]]]:
    found: dict[Reach, list[Record]] = {}
    for record in records:
        found.setdefault(record.scope.reach, []).append(record)
    return [(workspace.bank_of(reach), some) for reach, some in found.items()]
