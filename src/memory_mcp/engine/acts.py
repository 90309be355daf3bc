"""What was done to memories since a move, for whoever is about to take that back."""

from datetime import datetime
from typing import Final, Literal

from memory_mcp.domain.outcomes import LaterAct, LaterActKind
from memory_mcp.domain.record import REASON_PREFIX, Record, cut_title
from memory_mcp.domain.search import Filters
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import make_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Workspace
from memory_mcp.hints import name_id

_LOOKED_MAX: Final = 200
"""The newest records among which the act is looked for."""

_TITLE_CHARS_MAX: Final = 60

Acts = Literal["all", "changes", "not taken along"]
"""Whatever was written; hides, erasures and corrections; or of these without the corrections on the
timeline, which a backtrack hides and shows beforehand."""


async def find_later_act(
    workspace: Workspace, timeline: Timeline, since: datetime | Record, acts: Acts
) -> LaterAct | None:
    """The last of these acts on the caller's branch since that time or move.

    What the move wrote itself is none, nor is what nobody asked for: facts of the profile, what git
    moved.
    """
    move, at = (since, since.created_at) if isinstance(since, Record) else (None, since)
    part_of_it = move.move.carries if move and move.move else ()
    view = make_view(workspace, timeline)
    read = await load_newest(workspace, view, Filters(history=True, since=at), _LOOKED_MAX)
    for record in read.records:
        later = record.id not in part_of_it and (move is None or record.id > move.id)
        if later and record.origin.by != "system" and _counts(record, acts):
            return await _describe_act(workspace, record)
    return None


def _counts(record: Record, acts: Acts) -> bool:
    if record.kind == "checkpoint":  # moves, and what answers to them
        return False
    if record.kind == "tombstone":
        return not record.key.startswith(REASON_PREFIX)  # its own tombstone is there as well
    if acts == "all":
        return record.recalled
    return bool(record.supersedes) and (acts == "changes" or record.durable)


async def _describe_act(workspace: Workspace, record: Record) -> LaterAct:
    if record.erases:
        return LaterAct("erased", record.erases[0], "A memory was erased for good")
    what: LaterActKind = "added"
    named: Record | None = record
    if record.supersedes:
        what, id_ = ("hidden" if record.kind == "tombstone" else "corrected"), record.supersedes[0]
        found = [await bank.records.get(id_) for bank in workspace.banks]
        named = next((each for each in found if each), None)
    memory = named.id if named else record.id
    title = f' ("{cut_title(named, _TITLE_CHARS_MAX)}")' if named else ""
    return LaterAct(what, memory, f"Memory {name_id(memory)}{title} was {what}")
