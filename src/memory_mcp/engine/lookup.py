"""Finds one memory by its id or a part of one, and explains why it does not hold here.

What does not hold is never given in its place: prompts and notes go on naming an id after its
memory has gone, and the error says what became of it.
"""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final, NamedTuple

from memory_mcp.domain.ids import ID_END_CHARS_MIN, RecordId, explain_short_part
from memory_mcp.domain.record import MEMORY_KINDS, Record, format_time
from memory_mcp.domain.search import View
from memory_mcp.domain.timeline import Line, Timeline
from memory_mcp.engine.git import explain_elsewhere
from memory_mcp.engine.head import load_head, view_chain
from memory_mcp.engine.records import choose_bank
from memory_mcp.engine.suppression import explain_suppression
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import AmbiguousIdError, UnknownMemoryError
from memory_mcp.hints import address, name_id, name_step
from memory_mcp.timeline.visibility import is_reachable

_NAMED_MAX: Final = 20
"""Memories that one part of an id fits and that are looked up; a message names fewer."""


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
    if found is None or not is_reachable(found, view):
        return None
    return None if _has_expired(found, view) else found


async def find_left(workspace: Workspace, memory_id: str, timeline: Timeline) -> Record | None:
    """The memory of that id on a line that a backtrack left, if there is one."""
    found = await _find_stored(workspace.banks, memory_id.strip().casefold())
    if found is None or found.segment is None or found.segment in timeline.held():
        return None
    return None if found.segment in timeline.forgotten else found


async def find_own_view(
    workspace: Workspace, record: Record, view: View, timeline: Timeline
) -> View:
    """From where a memory that does not hold here is looked at: its left line, or else the view."""
    if is_reachable(record, view):
        return view
    line = await _find_left_line(workspace, record, timeline)
    return line[1] if line else view


async def _find_left_line(
    workspace: Workspace, record: Record, timeline: Timeline
) -> tuple[Line, View, bool] | None:
    """A left line of this branch that has the memory, and what is seen once it is restored.

    The last value says whether the memory is: the first such line goes before all others.
    """
    here, bank = workspace.caller.branch, choose_bank(workspace, record)
    first: tuple[Line, View, bool] | None = None
    for line in timeline.left_lines([record.segment] if record.segment else []):
        if line.branch != here or record.segment not in timeline.ancestors(line.tips):
            continue
        view = view_chain(workspace, timeline.find_restore_effect(here, line).chain)
        if await bank.index.visible([record.id], view):
            return line, view, True
        first = first or (line, view, False)
    return first


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
    if not is_reachable(record, view):
        timeline = (await load_head(workspace)).timeline
        return await _explain_other_segment(workspace, record, timeline)
    end = await _describe_end(workspace, record, view)
    if end.now:
        return f"{end.what}: read that one"
    return f"{end.what}. {name_step('search_memories')} finds what holds now"


class _End(NamedTuple):
    """What became of a memory, and the one that holds in its place."""

    what: str
    now: Record | None = None


async def _describe_end(workspace: Workspace, record: Record, view: View) -> _End:
    """Why a memory of this line does not hold on it. Says nothing of what another one says."""
    if record.expires_at is not None and _has_expired(record, view):
        return _End(f"expired at {format_time(record.expires_at)}")
    ended = await explain_suppression(workspace, record, view)
    if ended is None:
        return _End("was made of what does not hold any more")
    if ended.now:
        return _End(f"was replaced by {name_id(ended.now.id)}", ended.now)
    day = f"{ended.by.created_at:%Y-%m-%d}"
    if ended.by.kind in MEMORY_KINDS:
        by = name_id(ended.by.id)
        return _End(f"was replaced by {by} on {day}, which does not hold any more either")
    if ended.by.erases:
        return _End(f"is an older version of a memory that was erased for good on {day}")
    return _End(f"was hidden on {day}")


def _ends_so(id_: str, part: str) -> bool:
    return len(part) >= ID_END_CHARS_MIN and id_.endswith(part)


def _has_expired(record: Record, view: View) -> bool:
    return record.expires_at is not None and record.expires_at <= view.now


async def _explain_other_segment(workspace: Workspace, record: Record, timeline: Timeline) -> str:
    here = workspace.caller.branch
    if record.segment in timeline.chain(here) and (why := explain_elsewhere(workspace, record)):
        return why
    for branch in timeline.branches:
        if record.segment in timeline.chain(branch):
            return f"belongs to branch {branch!r}; this session is on {here!r}"
    found = await _find_left_line(workspace, record, timeline)
    if found is None:
        return "was left by a backtrack on another branch, or given up for good"
    line, then, returns = found
    step = name_step("backtrack", to=line.id)
    if returns:
        return f"was left by a backtrack. {step} would restore it"
    end = await _describe_end(workspace, record, then)
    if end.now:
        return f"{end.what}, which a backtrack left. {step} would restore that one"
    return f"{end.what}, and a backtrack left its line. {step} would not bring it back"


def _count_common_prefix(one: str, other: str) -> int:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)
