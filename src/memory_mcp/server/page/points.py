"""The points of the timeline that the page names, and what is told of each.

A point is where a branch, a checkpoint or a left line stands; the graph names them by their keys.
"""

from datetime import datetime
from typing import Any, Final

from memory_mcp import branches
from memory_mcp.domain.ids import BranchName, CheckpointId, LineId, SegmentId
from memory_mcp.domain.outcomes import CheckpointDetails, MovePreview, Skipped
from memory_mcp.domain.record import Record, format_time
from memory_mcp.domain.search import View
from memory_mcp.domain.timeline import Checkpoint, Line, Timeline
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError, UnknownTargetError
from memory_mcp.frozen import frozen
from memory_mcp.render.outcomes import render_effect, render_record

Fields = dict[str, Any]

NOW: Final = ""


@frozen
class Point:
    """What was visible at a place of the timeline; `until`: what was written later is not of it."""

    view: View
    until: datetime | None = None


async def find_point(workspace: Workspace, key: str) -> Point:
    """The point of that key, as the graph names its nodes; without a key, now.

    Raises:
        UnknownTargetError: the timeline has no such node.
    """
    timeline = (await load_head(workspace)).timeline
    if key == NOW:
        return Point(make_view(workspace, timeline))
    now = workspace.clock.now()
    kind, _, name = key.partition(":")
    if kind == "branch" and name in timeline.branches:
        return Point(View(chain=timeline.chain(BranchName(name)), now=now))
    if found := find_node(timeline, key):
        segments = found.seals if isinstance(found, Checkpoint) else found.tips
        return Point(View(chain=timeline.ancestors(segments), now=found.at), found.at)
    if key == "start":
        return Point(View(chain=frozenset[SegmentId](), now=now))
    known = [f"branch:{each}" for each in timeline.branches]
    raise UnknownTargetError("point of the timeline", key, known=known)


def find_node(timeline: Timeline, key: str) -> Checkpoint | Line | None:
    """The checkpoint or left line that a node of the graph shows."""
    kind, _, name = key.partition(":")
    match kind:
        case "checkpoint":
            return timeline.checkpoints.get(CheckpointId(name))
        case "line":
            left = {line.id: line for line in timeline.left_lines()}
            return left.get(LineId(name)) or timeline.lines.get(LineId(name))
        case _:
            return None


async def read_point(workspace: Workspace, form: Any) -> Fields | Skipped:
    """A checkpoint with its closeout, or a left line, and what going there would do."""
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    found = find_node(timeline, form.key)
    if found is None:
        return {"key": form.key}
    here = workspace.at(found.branch)
    fields: Fields = {"key": form.key, "id": found.id, "branch": found.branch,
                      "at": format_time(found.at)}  # fmt: skip
    if isinstance(found, Checkpoint):
        fields |= {"phase": found.phase, "summary": found.summary, "approval": found.approval}
    try:
        details = await _get_details(here, found.id, checkpoint=isinstance(found, Checkpoint))
    except InvalidRequestError as error:  # it was left: its name restores the line
        fields["left"] = str(error)
        details = await branches.preview_backtrack(here, found.id)
    match details:
        case CheckpointDetails(_, preview, closed):
            fields |= {"closed": [_render_closed(each) for each in closed]}
            fields |= _render_effect(preview) if preview else {}
        case MovePreview():
            fields |= _render_effect(details)
        case Skipped(reason):
            fields["skipped"] = reason
    return fields


async def _get_details(
    workspace: Workspace, name: str, *, checkpoint: bool
) -> CheckpointDetails | MovePreview | Skipped:
    if checkpoint:
        return await branches.get_checkpoint(workspace, name)
    return await branches.preview_backtrack(workspace, name)


def _render_effect(preview: MovePreview) -> Fields:
    return {
        "effect": render_effect(preview),
        "hides": preview.hides,
        "titles": list(preview.titles),
        "brings": preview.brings,
        "restores": preview.restores,
    }


def _render_closed(record: Record) -> Fields:
    fields = render_record(record)
    return {name: fields[name] for name in ("memoryId", "kind", "key", "content") if name in fields}
