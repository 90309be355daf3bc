"""What replaced or hid a memory, the reason that was given for it, and what holds in its place."""

from collections.abc import Sequence
from typing import Final

from memory_mcp.domain.outcomes import Suppression
from memory_mcp.domain.record import (
    MEMORY_KINDS,
    REASON_PREFIX,
    REJECTED_PREFIX,
    Kind,
    Record,
)
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.records import choose_bank, load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.text.drafts import NO_REASONS
from memory_mcp.timeline.visibility import select_reachable

_STEPS_MAX: Final = 100
"""Replacements, one after the other, that are followed to what holds now."""
_REASONS_MAX: Final = 10
"""Reasons given for one statement among which the newest is taken."""


async def list_suppressors(bank: MemoryBank, record: Record, view: View) -> list[Record]:
    """What supersedes or buries the memory on this line, the newest first."""
    ids = await bank.index.suppressing([record.id])
    return select_reachable(await load_records(bank, sorted(ids, reverse=True)), view)


async def explain_suppression(
    workspace: Workspace, record: Record, view: View
) -> Suppression | None:
    """What ended a memory that is not visible from this view; None if nothing replaced or hid it.

    It may have expired, or been made of memories that do not hold.
    """
    bank = choose_bank(workspace, record)
    found = await list_suppressors(bank, record, view)
    by = last = await _choose(bank, found, view)
    for _ in range(_STEPS_MAX):
        if last is None or last.kind not in MEMORY_KINDS or await _holds(bank, last, view):
            break
        last = await _choose(bank, await list_suppressors(bank, last, view), view)
    if by is None:
        return None
    now = last if last and last.kind in MEMORY_KINDS and await _holds(bank, last, view) else None
    return Suppression(by, await _find_reason(workspace, record, found, view), now)


async def find_reason(workspace: Workspace, record: Record, view: View) -> str:
    """The reason that was given when the memory was corrected or hidden on this line, or ''."""
    found = await list_suppressors(choose_bank(workspace, record), record, view)
    return await _find_reason(workspace, record, found, view)


async def _holds(bank: MemoryBank, record: Record, view: View) -> bool:
    return bool(await bank.index.visible([record.id], view))


async def _choose(bank: MemoryBank, found: Sequence[Record], view: View) -> Record | None:
    """The one of these that ended a memory: a correction goes before the reason stored with it.

    What was made of others may be abandoned, and then replaces nothing: it is taken last.
    """
    memories = [each for each in found if each.kind in MEMORY_KINDS]
    seen = await bank.index.visible([each.id for each in memories], view)
    visible = [each for each in memories if each.id in seen]
    plain = [each for each in memories if not each.derived_from]
    hiding = [each for each in found if each.kind not in MEMORY_KINDS]
    return next(iter((*visible, *plain, *hiding, *memories)), None)


async def _find_reason(
    workspace: Workspace, record: Record, found: Sequence[Record], view: View
) -> str:
    for each in found:
        about = each.supersedes if each.kind == "exclusion" else each.supersedes[:1]
        if each.kind not in MEMORY_KINDS and record.id in about and each.content not in NO_REASONS:
            return each.content
    if not any(each.key.startswith(REJECTED_PREFIX) for each in found):
        return ""
    # the tombstone may not hold it: then it is stored where it was given
    wanted = Filters(
        history=True, kinds=frozenset[Kind]({"tombstone"}), key=f"{REASON_PREFIX}{record.statement}"
    )
    ids = await workspace.project.index.find(view, wanted, _REASONS_MAX)
    return next((each.content for each in await load_records(workspace.project, ids)), "")
