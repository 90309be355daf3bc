"""Several people in one project or team: whose a record is, and which the user has agreed to.

A record names the user who wrote it. In a context, what another member wrote begins with that
name, so that it cannot pass for the user's own word. With `MEMORY_APPROVAL=review` it is left out
until the user has said yes to it; a search finds it all the same, by its author's name.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import nlargest
from typing import Final

from memory_mcp.domain.outcomes import LastMove
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.records import load_newest, load_records
from memory_mcp.engine.workspace import Workspace

WAITING_LOOKED_MAX: Final = 200
"""Among so many of the newest memories of a bank those that wait for review are looked for."""


def find_author(workspace: Workspace, record: Record) -> str:
    """The member who wrote a record; '' if it was this user."""
    return "" if record.scope.user == workspace.scope.user else record.scope.user


def waits_for_review(workspace: Workspace, record: Record) -> bool:
    """Whether the user has yet to agree that the record counts."""
    if workspace.policy.approval != "review" or not find_author(workspace, record):
        return False
    return not workspace.reviews.knows(record, "keep")


def present_records(workspace: Workspace, records: Iterable[Record]) -> list[Record]:
    """Records for a context: others' begin with their author, and none waits for review."""
    counting = [record for record in records if not waits_for_review(workspace, record)]
    return [_name_author(record, find_author(workspace, record)) for record in counting]


def _name_author(record: Record, author: str) -> Record:
    if not author:
        return record
    title = f"{author} wrote, {record.title}" if record.title else f"{author} wrote"
    return record.model_copy(update={"title": title})


async def find_waiting(workspace: Workspace, view: View) -> list[Record]:
    """What others wrote and the user has neither agreed to nor dropped, the newest first."""
    if workspace.policy.approval != "review":
        return []
    waiting: list[Record] = []
    for reach in workspace.reaches:
        if reach != "user":  # which nobody else writes
            filters = Filters(kinds=MEMORY_KINDS, reach=reach)
            read = await load_newest(workspace, view, filters, WAITING_LOOKED_MAX)
            waiting += [record for record in read.records if waits_for_review(workspace, record)]
    waiting = [record for record in waiting if not workspace.reviews.knows(record, "drop")]
    return sorted(waiting, key=lambda record: record.id, reverse=True)


def count_authors(workspace: Workspace, records: Iterable[Record]) -> dict[str, int]:
    """How many of these records each other member wrote, the most first."""
    authors = Counter(filter(None, (find_author(workspace, each) for each in records)))
    return dict(authors.most_common())


async def find_last_move(workspace: Workspace, timeline: Timeline) -> LastMove | None:
    """The newest move of this branch, if another member made it."""
    newest = nlargest(_MOVES_LOOKED_MAX, timeline.moves)
    for some in (newest[:_MOVES_LOOKED_FIRST], newest[_MOVES_LOOKED_FIRST:]):
        for record in await load_records(workspace.project, some):
            if record.move and record.move.branch == workspace.caller.branch:
                author = find_author(workspace, record)
                return LastMove(author, record.move.act, record.created_at) if author else None
    return None


_MOVES_LOOKED_FIRST: Final = 3
"""Nearly always one of these is it; a record of a move may name two thousand segments."""
_MOVES_LOOKED_MAX: Final = 50
"""Among so many of the newest moves the last one of the branch is looked for."""
