"""Where the project stands."""

from memory_mcp.app.heads import current, view_on
from memory_mcp.app.pending import tally_of, unseen
from memory_mcp.app.phases import phase_now
from memory_mcp.app.rooms import Rooms, reads_refused
from memory_mcp.domain import limits
from memory_mcp.domain.cloud import Tally
from memory_mcp.domain.ids import SegmentId
from memory_mcp.domain.outcomes import CheckpointState, HeadReport, LineState, Skipped
from memory_mcp.domain.record import MEMORY_KINDS
from memory_mcp.domain.timeline import Timeline
from memory_mcp.domain.views import Filters, View
from memory_mcp.errors import StoreError
from memory_mcp.timeline.plans import phase_again

__all__ = ["memory_head"]

_SHOWN = 10
"""Checkpoints and lines reported one by one; older ones are counted."""


async def memory_head(rooms: Rooms) -> HeadReport | Skipped:
    """Checkpoints with what a backtrack to each would hide, pending approvals, left lines."""
    if skipped := reads_refused(rooms):
        return skipped
    head = await current(rooms)
    timeline, branch = head.timeline, rooms.session.branch
    view = view_on(rooms, timeline)
    valid = timeline.valid(branch)
    durable = [
        await pool.index.count(view, Filters(durable=True, kinds=MEMORY_KINDS))
        for pool in rooms.pools
    ]
    phase = await phase_now(rooms, timeline)
    warnings = _warnings(rooms, timeline, phase.worked_on)
    mirrored: Tally | None = None
    if rooms.mirrored:
        try:
            mirrored = await tally_of(rooms)
            warnings += await unseen(rooms)
        except StoreError as error:  # the head is here, whatever becomes of the mirror
            warnings += (str(error),)
    return HeadReport(
        project=head.project,
        branch=branch,
        branches=timeline.branches,
        phase=phase.number,
        memories=await rooms.project.index.count(view, Filters(durable=False, kinds=MEMORY_KINDS)),
        durable=sum(durable),
        checkpoints=[
            CheckpointState(c, await _between(rooms, view, timeline, c.seals))
            for c in valid[-_SHOWN:]
        ],
        earlier_checkpoints=max(0, len(valid) - _SHOWN),
        invalidated=timeline.invalidated(branch)[-_SHOWN:],
        pending=timeline.pending(branch)[-_SHOWN:],
        lines=await _lines(rooms, view, timeline),
        warnings=warnings,
        mirrored=mirrored,
        phase_sealed=phase.by == "checkpoint",
    )


async def _between(
    rooms: Rooms, view: View, timeline: Timeline, seals: tuple[SegmentId, ...]
) -> int:
    hides = view.chain - timeline.ancestors(seals)
    return await rooms.project.index.count(view, Filters(segments=hides, kinds=MEMORY_KINDS))


async def _lines(rooms: Rooms, view: View, timeline: Timeline) -> list[LineState]:
    """The left lines of this branch that hold any memory, newest last."""
    found: list[LineState] = []
    lines = [line for line in timeline.left_lines() if line.branch == rooms.session.branch]
    for line in lines[-_SHOWN:]:
        there = timeline.ancestors(line.tips) - timeline.forgotten
        brings = Filters(segments=there - view.chain, kinds=MEMORY_KINDS)
        count = await rooms.project.index.count(View(chain=there, now=view.now), brings)
        if count:
            found.append(LineState(line, count))
    return found


def _warnings(rooms: Rooms, timeline: Timeline, phase: int | None) -> tuple[str, ...]:
    warnings: list[str] = []
    if again := phase_again(timeline, rooms.session.branch, phase):
        warnings.append(
            f"Phase {again.phase} is being worked on, but {again.sealed.id} has sealed phase "
            f"{again.sealed.phase} already. If it is being redone, backtrack to the phase before "
            "it first, so that what the first attempt taught does not mix with the second."
        )
    for what, known in (
        ("invalidated", timeline.invalidated(rooms.session.branch)),
        ("pending", timeline.pending(rooms.session.branch)),
    ):
        if len(known) > _SHOWN:
            warnings.append(f"{len(known) - _SHOWN} earlier {what} checkpoints are not shown.")
    depth = len(timeline.chain(rooms.session.branch))
    if depth > limits.CHAIN_SEGMENTS_WARN:
        warnings.append(f"{depth:,} segments lie on this branch: seal checkpoints more rarely.")
    return tuple(warnings)
