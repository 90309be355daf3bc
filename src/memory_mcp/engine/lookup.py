"""Finds one memory by its id or a part of one, and explains why it does not hold here.

What does not hold is never given in its place: prompts and notes go on naming an id after its
memory has gone, and the error says what became of it.
"""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from memory_mcp.domain.ids import ID_END_CHARS_MIN, RecordId, explain_short_part
from memory_mcp.domain.record import Record, format_time
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.git import explain_elsewhere
from memory_mcp.engine.head import load_head
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import AmbiguousIdError, UnknownMemoryError
from memory_mcp.hints import address, name_id, name_step

_NAMED_MAX: Final = 20
"""Memories that one part of an id fits and that are looked up; a message names fewer."""

_SUCCESSORS_MAX: Final = 100
"""The newest memories among which the successor of a replaced memory is looked for."""


async def require_memory(workspace: Workspace, memory_id: str, view: View) -> Record:
    """The visible memory of that id, or the only one whose id has this part.

    Raises:
        UnknownMemoryError: no visible memory has it; says why, or names the nearest ids.
        AmbiguousIdError: several have this part.
    """
    wanted = RecordId(memory_id.strip().casefold())
    for bank in workspace.banks:
        if await bank.index.visible([wanted], view):
            record = await bank.records.get(wanted)
            if record is not None:
                return record
    if record := await find_memory(workspace, wanted, view):
        return record
    if why := await _explain_missing(workspace, wanted, view):
        raise UnknownMemoryError(memory_id, why=why)
    near = [id_ for bank in workspace.banks for id_ in await bank.index.nearest(wanted, view)]
    near.sort(key=lambda id_: (-_count_common_prefix(wanted, id_), id_))
    raise UnknownMemoryError(memory_id, nearest=near[:3], needed=explain_short_part(wanted, near))


async def find_memory(workspace: Workspace, part: str, view: View | None) -> Record | None:
    """The only memory whose id has this part; without a view, hidden ones count too.

    Raises:
        AmbiguousIdError: several have it.
    """
    return await _find_named(workspace.banks, part, view)


async def find_replaced(workspace: Workspace, memory_id: str, view: View) -> Record | None:
    """The memory of that id that was replaced or hidden on this line, if there is one."""
    found = await _find_stored(workspace.banks, memory_id.strip().casefold())
    if found is None or not _is_on_line(found, view):
        return None
    return None if _has_expired(found, view) else found


async def find_left(workspace: Workspace, memory_id: str, timeline: Timeline) -> Record | None:
    """The memory of that id on a line that a backtrack left, if there is one."""
    found = await _find_stored(workspace.banks, memory_id.strip().casefold())
    if found is None or found.segment is None or found.segment in timeline.held():
        return None
    return None if found.segment in timeline.forgotten else found


async def _find_named(banks: Iterable[MemoryBank], part: str, view: View | None) -> Record | None:
    found = {id_: bank for bank in banks for id_ in await bank.index.named(part, view, _NAMED_MAX)}
    if len(found) > 1:
        raise AmbiguousIdError("memories", part, sorted(found))
    for id_, bank in found.items():
        return await bank.records.get(id_)
    return None


async def _find_stored(banks: Iterable[MemoryBank], wanted: str) -> Record | None:
    """The memory of that id or of the only one that ends so, visible or not.

    Beginnings are times, which can be guessed: what does not hold is not told by one.
    """
    for bank in banks:
        record = await bank.records.get(RecordId(wanted))
        if record is not None and record.recalled:
            return record
    try:
        found = await _find_named(banks, wanted, None)
    except AmbiguousIdError:  # none of them holds, so which one is meant is no question
        return None
    return found if found and _ends_so(found.id, wanted) else None


async def _explain_missing(workspace: Workspace, wanted: str, view: View) -> str:
    """Why an existing or erased memory does not hold here; empty if it never existed."""
    for bank in workspace.banks:
        if any(_ends_so(id_, wanted) for id_ in await bank.index.erased()):
            return "was erased for good. " + address(
                "Ask the user before you write it down again", "Nothing of it is left"
            )
    if record := await _find_stored(workspace.banks, wanted):
        return await _explain_hidden(workspace, record, view)
    for bank in workspace.banks:
        if await bank.index.list_aside([RecordId(wanted)]):
            return (
                "does not stand on this commit of git, which has taken its file away. `memory-mcp "
                "git` names the branches that have such files, and what brings them"
            )
    strangers = workspace.strangers
    if strangers and await _find_stored([strangers.bank], wanted):
        return (
            f"came with this repository, which is not trusted. {address('The user', 'You')} can "
            "look at all that came, and trust it, with `memory-mcp trust`"
        )
    return ""


async def _explain_hidden(workspace: Workspace, record: Record, view: View) -> str:
    if not _is_on_line(record, view):
        return _explain_other_segment(workspace, record, (await load_head(workspace)).timeline)
    if record.expires_at is not None and _has_expired(record, view):
        return f"expired at {format_time(record.expires_at)}"
    latest = await load_newest(workspace, view, Filters(), _SUCCESSORS_MAX)
    for other in latest.records:
        if record.id in other.supersedes:
            return f"was replaced by {name_id(other.id)}: read that one"
    return f"was replaced or hidden since. {name_step('search_memories')} finds what holds now"


def _ends_so(id_: str, part: str) -> bool:
    return len(part) >= ID_END_CHARS_MIN and id_.endswith(part)


def _is_on_line(record: Record, view: View) -> bool:
    return record.segment is None or record.segment in view.chain


def _has_expired(record: Record, view: View) -> bool:
    return record.expires_at is not None and record.expires_at <= view.now


def _explain_other_segment(workspace: Workspace, record: Record, timeline: Timeline) -> str:
    here = workspace.caller.branch
    if record.segment in timeline.chain(here) and (why := explain_elsewhere(workspace, record)):
        return why
    for branch in timeline.branches:
        if record.segment in timeline.chain(branch):
            return f"belongs to branch {branch!r}; this session is on {here!r}"
    holding = [record.segment] if record.segment else []
    for line in timeline.left_lines(holding):
        if line.branch == here and record.segment in timeline.ancestors(line.tips):
            return f"was left by a backtrack. {name_step('backtrack', to=line.id)} would restore it"
    return "was left by a backtrack on another branch, or given up for good"


def _count_common_prefix(one: str, other: str) -> int:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)
