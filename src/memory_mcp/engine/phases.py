"""In which phase a project is: what the setting says, else what its records say.

A transition is an event on the timeline, so a backtrack past it takes it back. Where a checkpoint
seals a phase, the transition to that phase follows from it and needs no record of its own. The
setting (MEMORY_PHASE) wins for its session and changes nothing for the others.
"""

from contextlib import suppress
from typing import Final

from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.timeline import CurrentPhase, PhaseChange, PhaseHistory, PhaseStep, Timeline
from memory_mcp.engine.head import current, view_on, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.reading import load
from memory_mcp.engine.receipts import still_on_line
from memory_mcp.engine.workspace import Workspace, reads_refused, writes_refused
from memory_mcp.errors import IndexBusyError, IndexDamagedError
from memory_mcp.text.drafts import check_phase
from memory_mcp.timeline.plans import find_phase_repetition

_CATEGORY: Final = "phase"
_LOOKED_AT: Final = 100
"""Transitions and events of the same category among which the project's own are looked for."""


async def phase_now(workspace: Workspace, timeline: Timeline) -> CurrentPhase:
    """In which phase this session works, as the timeline stands."""
    if workspace.policy.phase is not None:
        return CurrentPhase(workspace.policy.phase, "setting")
    steps = await _steps(workspace, timeline)
    if not steps:
        return CurrentPhase()
    return CurrentPhase(steps[-1].number, "checkpoint" if steps[-1].sealed else "transition")


async def phase_at_work(workspace: Workspace, reach: Reach) -> int | None:
    """The phase that a new memory belongs to. One for every project belongs to no project's phase.

    An index that does not answer has nothing to say: it must not keep a memory from being stored.
    """
    if workspace.policy.phase is not None or reach == "user":
        return workspace.policy.phase
    with suppress(IndexBusyError, IndexDamagedError):
        return (await phase_now(workspace, (await current(workspace)).timeline)).worked_on
    return None


def redoing(workspace: Workspace, timeline: Timeline, phase: int | None) -> tuple[str, ...]:
    """A sentence if this phase was sealed before, with what the user can choose."""
    again = find_phase_repetition(timeline, workspace.caller.branch, phase)
    return (again.said,) if again else ()


def redoing_once(workspace: Workspace, timeline: Timeline, phase: int | None) -> tuple[str, ...]:
    """As `redoing`, for the first memory of a conversation that is added to the phase."""
    again = find_phase_repetition(timeline, workspace.caller.branch, phase)
    if again is None:
        return ()
    about = (workspace.caller.conversation, again.phase, again.sealed.id)
    return (again.said,) if workspace.conversations.first_told(about) else ()


async def phases(workspace: Workspace) -> PhaseHistory | Skipped:
    """The phase now, and the transitions and sealed phases that hold from here."""
    if skipped := reads_refused(workspace):
        return skipped
    timeline = (await current(workspace)).timeline
    return PhaseHistory(
        await phase_now(workspace, timeline), tuple(await _steps(workspace, timeline))
    )


async def move_to_phase(workspace: Workspace, number: int) -> PhaseChange | Skipped:
    """Write down that the project moved to a phase.

    Raises:
        InvalidRequestError: it is no phase.
    """
    if skipped := writes_refused(workspace):
        return skipped
    check_phase(number)
    async with workspace.project.writing:
        timeline = (await current(workspace)).timeline
        steps = await _steps(workspace, timeline)
        notes = _notes(workspace, timeline, number)
        if steps and steps[-1].number == number and not steps[-1].sealed:
            return PhaseChange(number, None, notes)
        before = f" from phase {steps[-1].number}" if steps else ""
        place = writing(workspace, timeline, workspace.clock.now())
        record = Record(
            id=place.id,
            kind="event",
            layer="recall",
            key=f"project:{workspace.scope.project or 'none'}:phase",
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
        notes += (*await still_on_line(workspace, record), *await pending_note(workspace))
    return PhaseChange(number, record, notes)


def _notes(workspace: Workspace, timeline: Timeline, number: int) -> tuple[str, ...]:
    notes: list[str] = []
    if workspace.policy.phase not in (None, number):
        notes.append(f"This session goes on with phase {workspace.policy.phase} (MEMORY_PHASE).")
    if again := find_phase_repetition(timeline, workspace.caller.branch, number):
        notes.append(again.said)
    return tuple(notes)


async def _steps(workspace: Workspace, timeline: Timeline) -> list[PhaseStep]:
    pool = workspace.project
    filters = Filters(kinds=frozenset({"event"}), category=_CATEGORY)
    ids = await pool.index.find(view_on(workspace, timeline), filters, _LOOKED_AT)
    key = f"project:{workspace.scope.project or 'none'}:phase"
    moved = [
        PhaseStep(record.created_at, record.phase)
        for record in await load(pool, ids)
        if record.key == key and record.phase is not None
    ]
    sealed = [
        PhaseStep(c.at, c.phase, c.id)
        for c in timeline.valid(workspace.caller.branch)
        if c.phase is not None
    ]
    return sorted([*moved, *sealed], key=lambda step: step.at)
