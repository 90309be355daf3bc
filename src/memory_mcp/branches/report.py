"""Reports where the project stands."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.branches.backtrack import find_suppressed_by_restore
from memory_mcp.code import describe_groups, find_moved_ground, report_git
from memory_mcp.domain import limits
from memory_mcp.domain.cloud import OutboxCounts
from memory_mcp.domain.ids import MAIN, SegmentId
from memory_mcp.domain.outcomes import CheckpointState, HeadReport, LineState, Skipped
from memory_mcp.domain.record import MEMORY_KINDS
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Checkpoint, Timeline
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.cloud import count_outboxes, describe_unpulled, describe_waiting
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.members import find_last_move, find_waiting
from memory_mcp.engine.phases import find_phase, find_repetition
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import StoreError
from memory_mcp.timeline.graph import brings_records, select_lines
from memory_mcp.timeline.nodes import find_parents, select_nodes
from memory_mcp.timeline.plans import plan_restore
from memory_mcp.trust.erasing import describe_pending_erasures
from memory_mcp.trust.strangers import describe_strangers

_MEMORIES: Final = Filters(kinds=MEMORY_KINDS)

_SHOWN_MAX: Final = 10
"""Checkpoints listed; older ones are counted."""
_LINES_SHOWN_MAX: Final = 3
"""Left lines listed; older ones are counted. What each would bring back costs a walk of its own."""
_LINES_READ_MAX: Final = 10
"""Lines looked into for these: of some, everything was corrected or forgotten since."""


async def report_head(workspace: Workspace) -> HeadReport | Skipped:
    """Checkpoints with what a backtrack to each would hide, pending ones, left lines, warnings."""
    if skipped := refuse_reads(workspace):
        return skipped
    head = await load_head(workspace)
    timeline, branch = head.timeline, workspace.caller.branch
    view = make_view(workspace, timeline)
    valid, pending = timeline.valid(branch), timeline.pending(branch)
    places = await place_checkpoints(workspace, [*valid, *pending])
    shown, pending = places.order_shown(valid), places.order_shown(pending)
    durable = [
        await bank.index.count(view, replace(_MEMORIES, durable=True)) for bank in workspace.banks
    ]
    phase = await find_phase(workspace, timeline)
    holding = await workspace.project.index.holding()
    invalidated = timeline.invalidated(branch, holding)
    warnings = (
        *await describe_strangers(workspace),
        *await _list_warnings(workspace, timeline, phase.worked_on, invalidated, pending),
        *await describe_pending_erasures(workspace),
        *await _describe_git(workspace),
    )
    mirrored: OutboxCounts | None = None
    warnings += await describe_waiting(workspace)
    if workspace.mirrored:
        try:
            mirrored = await count_outboxes(workspace)
            warnings += await describe_unpulled(workspace)
        except StoreError as error:  # the head is known even without the mirror
            warnings += (str(error),)
    lines, earlier_lines = await _list_left_lines(workspace, view, timeline, holding)
    named = select_nodes(timeline, branch, limits.NODES_SHOWN_MAX)
    return HeadReport(
        project=head.project,
        branch=branch,
        branches=named,
        other_branches=len(timeline.branches) - len(named),
        phase=phase.number,
        memories=await workspace.project.index.count(view, replace(_MEMORIES, durable=False)),
        durable=sum(durable),
        checkpoints=await _count_hidden(workspace, view, timeline, shown[-_SHOWN_MAX:]),
        earlier_checkpoints=max(0, len(shown) - _SHOWN_MAX),
        invalidated=invalidated[-_SHOWN_MAX:],
        pending=pending[-_SHOWN_MAX:],
        standing={id_: mark.describe("made") for id_, mark in places.marks.items()},
        lines=lines,
        earlier_lines=earlier_lines,
        warnings=warnings,
        mirrored=mirrored,
        phase_sealed=phase.by == "checkpoint",
        parents=find_parents(timeline, named),
        moved=await find_last_move(workspace, timeline),
        reviews=(await find_waiting(workspace, view))[:_SHOWN_MAX],
    )


async def _describe_git(workspace: Workspace) -> list[str]:
    """What stands elsewhere in git, on the line that follows it."""
    if workspace.git is None or workspace.caller.branch != MAIN:
        return []
    report = await report_git(workspace)
    return [] if isinstance(report, Skipped) else describe_groups(report.groups)


async def _count_hidden(
    workspace: Workspace, view: View, timeline: Timeline, checkpoints: Sequence[Checkpoint]
) -> list[CheckpointState]:
    """The checkpoints, each with how many memories a backtrack to it would hide, and its ground."""
    hides = [view.chain - timeline.ancestors(c.seals) for c in checkpoints]
    hidden = replace(_MEMORIES, segments=frozenset[SegmentId]().union(*hides))
    counts = await workspace.project.index.count_by_segment(view, hidden)
    ground = await find_moved_ground(workspace, view, checkpoints)
    return [
        CheckpointState(
            checkpoint,
            sum(counts.get(segment, 0) for segment in each),
            ground.get(checkpoint.id, ""),
        )
        for checkpoint, each in zip(checkpoints, hides, strict=True)
    ]


async def _list_left_lines(
    workspace: Workspace, view: View, timeline: Timeline, holding: Collection[SegmentId]
) -> tuple[list[LineState], int]:
    """The newest left lines of this branch that bring anything back, newest last.

    With them, how many older ones hold records.
    """
    found: list[LineState] = []
    branch = workspace.caller.branch
    lines = [line for line in timeline.left_lines(holding) if line.branch == branch]
    seals = {seal for checkpoint in timeline.checkpoints.values() for seal in checkpoint.seals}
    named = select_lines(timeline, lines, seals.union(holding))
    waiting = [line for line in named if brings_records(timeline, line, holding)]
    for _ in range(_LINES_READ_MAX):
        if not waiting or len(found) == _LINES_SHOWN_MAX:
            break
        line = waiting.pop()
        plan = plan_restore(timeline, branch, line)
        after = replace(view, chain=(view.chain - plan.hides) | plan.brings)
        brings = Filters(segments=plan.brings, kinds=MEMORY_KINDS)
        count = await workspace.project.index.count(after, brings)
        suppressed = await find_suppressed_by_restore(workspace, plan, view, after)
        if count or suppressed:
            found.append(LineState(line, count, len(suppressed)))
    return found[::-1], len(waiting)


async def _list_warnings(
    workspace: Workspace,
    timeline: Timeline,
    phase: int | None,
    invalidated: Sequence[Checkpoint],
    pending: Sequence[Checkpoint],
) -> tuple[str, ...]:
    warnings: list[str] = []
    if workspace.policy.meta and not workspace.policy.lost:
        warnings.append("This is a meta session (MEMORY_MODE=meta): it reads, and writes nothing.")
    if again := await find_repetition(workspace, timeline, phase):
        warnings.append(again.said)
    for what, known in (("invalidated", invalidated), ("pending", pending)):
        if len(known) > _SHOWN_MAX:
            warnings.append(f"{len(known) - _SHOWN_MAX} earlier {what} checkpoints are not shown.")
    depth = len(timeline.chain(workspace.caller.branch))
    if depth > limits.CHAIN_SEGMENTS_WARN:
        warnings.append(f"{depth:,} segments lie on this branch: seal checkpoints more rarely.")
    return tuple(warnings)
