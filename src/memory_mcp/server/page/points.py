"""The points of the timeline as the page shows them: what was known, and what a move would do."""

from typing import Any, Final

from memory_mcp import branches
from memory_mcp.domain.outcomes import CheckpointDetails, MovePreview, Point, Skipped
from memory_mcp.domain.record import Record, cut_title, format_time
from memory_mcp.domain.search import View
from memory_mcp.domain.timeline import Checkpoint, Line
from memory_mcp.engine.head import load_head
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.difference import compare_words
from memory_mcp.render.outcomes import render_effect, render_record

Fields = dict[str, Any]

NOW: Final = "head"
"""The name of the point where the caller's branch stands."""


_COMPARED_MAX: Final = 200
"""The newest memories that are listed of each side of a comparison; all are counted."""

_LINE_CHARS_MAX: Final = 300


async def find_point(workspace: Workspace, name: str) -> Point:
    """The point of that name; without one, now.

    Raises:
        UnknownTargetError: nothing has that name; the message lists what there is.
    """
    return await branches.resolve_point(workspace, await load_head(workspace), name or NOW)


def view_point(workspace: Workspace, point: Point) -> View:
    """What was visible there and then."""
    return point.view(workspace.clock.now())


async def read_point(workspace: Workspace, form: Any) -> Fields | Skipped:
    """A checkpoint with its closeout, or a left line, and what going there would do."""
    if skipped := refuse_reads(workspace):
        return skipped
    point = await find_point(workspace, form.point)
    fields: Fields = {"name": point.name, "at": format_time(point.at) if point.at else None}
    match point.shows:
        case Checkpoint() as sealed:
            fields |= {"phase": sealed.phase, "summary": sealed.summary}
            fields |= {"branch": sealed.branch, "approval": sealed.approval}
            return fields | await _describe_checkpoint(workspace.at(sealed.branch), sealed)
        case Line() as line:
            preview = await branches.preview_backtrack(workspace.at(line.branch), line.id)
            return {**fields, "branch": line.branch, **_render_effect(preview)}
        case _:
            return fields


async def _describe_checkpoint(workspace: Workspace, sealed: Checkpoint) -> Fields:
    try:
        details = await branches.get_checkpoint(workspace, sealed.id)
    except InvalidRequestError as error:  # it was left: its name restores the line
        preview = await branches.preview_backtrack(workspace, sealed.id)
        return {"left": str(error), **_render_effect(preview)}
    match details:
        case CheckpointDetails(_, preview, closed):
            effect = _render_effect(preview) if preview else {}
            return {"closed": [_render_closed(each) for each in closed], **effect}
        case Skipped(reason):
            return {"skipped": reason}


def _render_effect(preview: MovePreview | Skipped) -> Fields:
    if isinstance(preview, Skipped):
        return {"skipped": preview.reason}
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


async def read_diff(workspace: Workspace, form: Any) -> Fields | Skipped:
    """What was known at one point and not at the other, and what was corrected between them."""
    found = await branches.compare_points(workspace, form.a, form.b)
    if isinstance(found, Skipped):
        return found

    def render(record: Record) -> Fields:
        fields: Fields = {"memoryId": record.id, "kind": record.kind}
        fields["content"] = cut_title(record, _LINE_CHARS_MAX)
        author = found.authors.get(record.id)
        return {**fields, "user": author} if author else fields

    return {
        "onlyA": [render(each) for each in found.only_a[-_COMPARED_MAX:]],
        "onlyB": [render(each) for each in found.only_b[-_COMPARED_MAX:]],
        "changed": [
            {"after": render(each.after),
             "words": compare_words(each.before.content, each.after.content)}
            for each in found.corrected[-_COMPARED_MAX:]
        ],
        "left": [each.id for each in found.left],
        "reached": [each.id for each in found.reached],
        "same": found.same,
        "counts": [len(found.only_a), len(found.only_b), len(found.corrected)],
    }  # fmt: skip
