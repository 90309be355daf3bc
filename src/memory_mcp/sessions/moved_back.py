"""Whether a road was given up since something was said on it."""

from datetime import datetime
from typing import Final

from memory_mcp.domain.ids import parse_id_time
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.reading import load
from memory_mcp.engine.workspace import Workspace

GIVEN_UP: Final = "it was said on a road that the branch has left since"


async def moved_back_since(workspace: Workspace, head: Head, at: datetime) -> bool:
    """Whether a backtrack or a restore moved this session's branch after that moment.

    A forget is one of them. What was said before may belong to what it gave up, and nobody can
    tell that from its words.
    """
    later = [id_ for id_ in head.timeline.moves if parse_id_time(id_) >= at]
    records = await load(workspace.project, later)
    if head.last is not None and head.last.id in later:  # it may not be written yet
        records = [*records, head.last]
    return any(
        record.move is not None
        and record.move.act in ("backtrack", "restore")
        and record.move.branch == workspace.caller.branch
        for record in records
    )
