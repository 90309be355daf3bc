"""The phase of a project: the setting, else the newest transition or sealed phase.

A transition is an event on the timeline, so a backtrack past it takes it back. A checkpoint that
seals a phase needs no transition record. Both count where they stand in git. MEMORY_PHASE counts
for its own session alone.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.timeline import (
    Checkpoint,
    CurrentPhase,
    PhaseChange,
    PhaseHistory,
    PhaseStep,
    Timeline,
)
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.git import find_mark
from memory_mcp.engine.head import load_head, load_head_to_write, make_view, make_writing
from memory_mcp.engine.records import describe_line, load_records
from memory_mcp.engine.workspace import Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import IndexBusyError, IndexDamagedError
from memory_mcp.text.drafts import check_phase
from memory_mcp.timeline.plans import PhaseRepetition, find_phase_repetition

_CATEGORY: Final = "phase"
_LOOKED_AT: Final = 100
"""Events of the category that are read to find the project's transitions."""


async def find_phase(workspace: Workspace, timeline: Timeline) -> CurrentPhase:
    """The phase of this session, and what says so."""
    if workspace.policy.phase is not None:
        return CurrentPhase(workspace.policy.phase, "setting")
    valid = timeline.valid(workspace.caller.branch)
    elsewhere = (await place_checkpoints(workspace, valid)).marks
    # of the checkpoints only the last counts: a long line has thousands
    newest_first = (c for c in reversed(valid) if c.id not in elsewhere)
    sealed = next((c for c in newest_first if c.phase is not None), None)
    steps = [
        *_list_sealed([sealed] if sealed else []),
        *await _load_transitions(workspace, timeline),
    ]
    if not steps:
        return CurrentPhase()
    last = max(steps, key=lambda step: step.at)
    return CurrentPhase(last.number, "checkpoint" if last.sealed else "transition")


async def find_phase_to_file(workspace: Workspace, timeline: Timeline, reach: Reach) -> int | None:
    """The phase under which a new memory is filed; a memory for more than this project has none.

    None too if the index does not answer: that must not prevent storing the memory.
    """
    if workspace.policy.phase is not None or reach != "project":
        return workspace.policy.phase
    with suppress(IndexBusyError, IndexDamagedError):
        return (await find_phase(workspace, timeline)).worked_on
    return None


async def describe_sealed_phase(
    workspace: Workspace, timeline: Timeline, phase: int | None, *, once: bool = False
) -> tuple[str, ...]:
    """A note if this phase was sealed before; with `once`, a conversation hears it once."""
    again = await find_repetition(workspace, timeline, phase)
    if again is None:
        return ()
    key = (workspace.caller.conversation, again.phase, again.sealed.id)
    return () if once and not workspace.conversations.is_first_time(key) else (again.said,)


async def find_repetition(
    workspace: Workspace, timeline: Timeline, phase: int | None
) -> PhaseRepetition | None:
    """The repetition, if a checkpoint that stands here has sealed this phase or a later one."""
    if phase is None:
        return None
    valid = timeline.valid(workspace.caller.branch)
    elsewhere = (await place_checkpoints(workspace, valid)).marks
    return find_phase_repetition(timeline, workspace.caller.branch, phase, elsewhere)


async def list_phases(workspace: Workspace) -> PhaseHistory | Skipped:
    """The phase now, and the transitions and sealed phases that hold from here."""
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    return PhaseHistory(
        await find_phase(workspace, timeline), tuple(await _load_steps(workspace, timeline))
    )


async def move_to_phase(workspace: Workspace, number: int) -> PhaseChange | Skipped:
    """Record that the project moved to a phase.

    Raises:
        InvalidRequestError: the number is no phase.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    check_phase(number)
    async with workspace.project.writing:
        timeline = (await load_head_to_write(workspace)).timeline
        steps = await _load_steps(workspace, timeline)
        own = workspace.policy.phase
        notes = await describe_sealed_phase(workspace, timeline, number)
        if own not in (None, number):
            notes = (f"This session goes on with phase {own} (MEMORY_PHASE).", *notes)
        if steps and steps[-1].number == number and not steps[-1].sealed:
            return PhaseChange(number, None, notes)
        before = f" from phase {steps[-1].number}" if steps else ""
        place = make_writing(workspace, timeline, workspace.clock.now())
        record = Record(
            id=place.id,
            kind="event",
            layer="recall",
            key=_make_key(workspace),
            content=f"The project moved{before} to phase {number}.",
            category=_CATEGORY,
            phase=number,
            segment=place.segment,
            branch=place.branch,
            lineage=place.lineage,
            scope=place.scope,
            origin=place.origin,
            created_at=place.at,
        )
        notes += await workspace.project.keep(record)
        notes += (*await describe_line(workspace, record), *await describe_pending(workspace))
    return PhaseChange(number, record, notes)


def _make_key(workspace: Workspace) -> str:
    return f"project:{workspace.scope.project or 'none'}:phase"


async def _load_steps(workspace: Workspace, timeline: Timeline) -> list[PhaseStep]:
    valid = timeline.valid(workspace.caller.branch)
    sealed = _list_sealed((await place_checkpoints(workspace, valid)).select_here(valid))
    steps = [*await _load_transitions(workspace, timeline), *sealed]
    return sorted(steps, key=lambda step: step.at)


def _list_sealed(checkpoints: Iterable[Checkpoint]) -> list[PhaseStep]:
    return [PhaseStep(c.at, c.phase, c.id) for c in checkpoints if c.phase is not None]


async def _load_transitions(workspace: Workspace, timeline: Timeline) -> list[PhaseStep]:
    bank = workspace.project
    key = _make_key(workspace)  # few records have one, and they are found at once
    filters = Filters(kinds=frozenset({"event"}), category=_CATEGORY, key=key)
    ids = await bank.index.find(make_view(workspace, timeline), filters, _LOOKED_AT)
    return [
        PhaseStep(record.created_at, record.phase)
        for record in await load_records(bank, ids)
        if record.phase is not None and find_mark(workspace, record) is None
    ]
