"""Where the project stands."""

from collections.abc import Collection, Sequence

from memory_mcp.branches.backtrack import replaced_by
from memory_mcp.domain import limits
from memory_mcp.domain.cloud import Tally
from memory_mcp.domain.ids import SegmentId
from memory_mcp.domain.outcomes import CheckpointState, HeadReport, LineState, Skipped
from memory_mcp.domain.record import MEMORY_KINDS
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Checkpoint, Timeline
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.pending import tally_of, unseen
from memory_mcp.engine.phases import phase_now
from memory_mcp.engine.workspace import Workspace, reads_refused
from memory_mcp.errors import StoreError
from memory_mcp.timeline.plans import phase_again, plan_restore
from memory_mcp.trust.erasing import waiting_note
from memory_mcp.trust.strangers import strangers_note

_SHOWN = 10
"""Checkpoints and lines reported one by one; older ones are counted."""


async def memory_head(workspace: Workspace) -> HeadReport | Skipped:
    """Checkpoints with what a backtrack to each would hide, pending approvals, left lines."""
    if skipped := reads_refused(workspace):
        return skipped
    head = await current(workspace)
    timeline, branch = head.timeline, workspace.caller.branch
    view = view_on(workspace, timeline)
    valid = timeline.valid(branch)
    durable = [
        await pool.index.count(view, Filters(durable=True, kinds=MEMORY_KINDS))
        for pool in workspace.pools
    ]
    phase = await phase_now(workspace, timeline)
    holding = (await workspace.project.index.segments(orders=False)).keys()
    invalidated = timeline.invalidated(branch, holding)
    warnings = (
        *await strangers_note(workspace),
        *_warnings(workspace, timeline, phase.worked_on, invalidated),
        *await waiting_note(workspace),
    )
    mirrored: Tally | None = None
    if workspace.mirrored:
        try:
            mirrored = await tally_of(workspace)
            warnings += await unseen(workspace)
        except StoreError as error:  # the head is here, whatever becomes of the mirror
            warnings += (str(error),)
    return HeadReport(
        project=head.project,
        branch=branch,
        branches=timeline.branches,
        phase=phase.number,
        memories=await workspace.project.index.count(
            view, Filters(durable=False, kinds=MEMORY_KINDS)
        ),
        durable=sum(durable),
        checkpoints=[
            CheckpointState(c, await _between(workspace, view, timeline, c.seals))
            for c in valid[-_SHOWN:]
        ],
        earlier_checkpoints=max(0, len(valid) - _SHOWN),
        invalidated=invalidated[-_SHOWN:],
        pending=timeline.pending(branch)[-_SHOWN:],
        lines=await _lines(workspace, view, timeline, holding),
        warnings=warnings,
        mirrored=mirrored,
        phase_sealed=phase.by == "checkpoint",
    )


async def _between(
    workspace: Workspace, view: View, timeline: Timeline, seals: tuple[SegmentId, ...]
) -> int:
    hides = view.chain - timeline.ancestors(seals)
    return await workspace.project.index.count(view, Filters(segments=hides, kinds=MEMORY_KINDS))


async def _lines(
    workspace: Workspace, view: View, timeline: Timeline, holding: Collection[SegmentId]
) -> list[LineState]:
    """The left lines of this branch on which anything was written or hidden, newest last."""
    found: list[LineState] = []
    every = timeline.left_lines(holding)
    lines = [line for line in every if line.branch == workspace.caller.branch]
    for line in lines[-_SHOWN:]:
        plan = plan_restore(timeline, workspace.caller.branch, line)
        there = (view.chain - plan.hides) | plan.brings
        brings = Filters(segments=plan.brings, kinds=MEMORY_KINDS)
        count = await workspace.project.index.count(View(chain=there, now=view.now), brings)
        again = await replaced_by(workspace, plan, view, View(chain=there, now=view.now))
        if count or again:
            found.append(LineState(line, count, len(again)))
    return found


def _warnings(
    workspace: Workspace, timeline: Timeline, phase: int | None, invalidated: Sequence[Checkpoint]
) -> tuple[str, ...]:
    warnings: list[str] = []
    if again := phase_again(timeline, workspace.caller.branch, phase):
        warnings.append(again.said)
    for what, known in (
        ("invalidated", invalidated),
        ("pending", timeline.pending(workspace.caller.branch)),
    ):
        if len(known) > _SHOWN:
            warnings.append(f"{len(known) - _SHOWN} earlier {what} checkpoints are not shown.")
    depth = len(timeline.chain(workspace.caller.branch))
    if depth > limits.CHAIN_SEGMENTS_WARN:
        warnings.append(f"{depth:,} segments lie on this branch: seal checkpoints more rarely.")
    return tuple(warnings)
