"""Forgetting one memory, and with it everything that repeats its words."""

from memory_mcp.bootstrap.views import render_after_removal
from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryForgotten, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import View
from memory_mcp.engine.cleaning import cleaned_text
from memory_mcp.engine.head import current, known_memory, memory_named, view_on, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.reading import load
from memory_mcp.engine.receipts import pool_of, refuse_checkpoint
from memory_mcp.engine.recovery import let_go
from memory_mcp.engine.workspace import Pool, Workspace, writes_refused
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.profile.sync import profile_again, profile_before
from memory_mcp.text.drafts import build_rejection, build_tombstone, check_text
from memory_mcp.text.merge import ForgetPlan, find_parts, plan_forget, recompose


async def forget_memory(
    workspace: Workspace, memory_id: str, reason: str, *, erase: bool
) -> MemoryForgotten | Skipped:
    """Erase one memory everywhere and for good, or hide it from this line on.

    To erase, any memory may be named: a corrected, hidden or abandoned text can be forgotten too.
    What was made of it goes along, because it holds the same words; what else that was made of
    comes back. With a reason the statement counts as rejected: whoever states it again hears of it.

    The tombstone is durable before anything is erased, so that a cut in between is completed at
    the next start and another clone learns of it.

    Raises:
        UnknownMemoryError: no such memory holds from here.
        AmbiguousIdError: a part of an id fits several, visible or not.
        InvalidRequestError: the memory is a checkpoint.
    """
    if skipped := writes_refused(workspace):
        return skipped
    reason, cleaning = cleaned_text(workspace, reason)
    check_text("reason", reason, limits.REASON_CHARS_MAX, required=False)
    head = await current(workspace)
    view = view_on(workspace, head.timeline)
    target = await _any_memory(workspace, memory_id) if erase else None
    target = target or await known_memory(workspace, memory_id, view)
    refuse_checkpoint(target)
    pool = pool_of(workspace, target)
    place = writing(workspace, head.timeline, workspace.clock.now())
    rested = await profile_before(workspace, pool, target)
    if not erase:
        tombstone = build_tombstone(target, reason, place, erase=False)
        notes = cleaning + await pool.keep(tombstone)
        notes += await _keep_reason(workspace, target, tombstone, reason)
        notes += await profile_again(workspace, pool, (), rested)
        notes += await render_after_removal(workspace, pool)
        return MemoryForgotten(target.id, erased=False, notes=notes + await pending_note(workspace))
    fate = await _fate(pool, target, view)
    held = list(fate.back)
    for whole, parts in fate.again:  # first: cut short, it stands beside what is to go
        if left := recompose(whole, parts, writing(workspace, head.timeline, place.at)):
            await pool.keep(left)
            held.append(left.id)
    told = await _last_told(pool, target, fate)
    buried = build_tombstone(
        target, reason, place, erase=True, along=fate.along, older=fate.older, told=told
    )
    await let_go(workspace, buried.erases)
    notes = await pool.keep(buried)
    await pool.erase({target.id, *fate.along})
    notes += await _keep_reason(workspace, target, buried, reason)
    notes += await profile_again(workspace, pool, held, rested)
    notes += await render_after_removal(workspace, pool)
    notes += (*cleaning, *_told(target, fate), *await pending_note(workspace))
    return MemoryForgotten(target.id, erased=True, notes=notes)


async def _keep_reason(
    workspace: Workspace, target: Record, tombstone: Record, reason: str
) -> tuple[str, ...]:
    """What was said on this road stays on it. The tombstone is stored, so this raises nothing."""
    place = writing(workspace, (await current(workspace)).timeline, workspace.clock.now())
    said = build_rejection(target, tombstone, reason, place)
    try:
        return await workspace.project.keep(said) if said else ()
    except StoreUnavailableError as error:
        return (f"Done, but the reason could not be stored: {error}",)


async def _last_told(pool: Pool, target: Record, fate: ForgetPlan) -> str:
    """The key of the last episode that goes: all turns up to it were told."""
    if target.kind != "episode":
        return ""
    gone = [target, *await load(pool, list(fate.along))]
    return max((r for r in gone if r.kind == "episode"), key=lambda record: record.id).key


async def _fate(pool: Pool, target: Record, view: View) -> ForgetPlan:
    """What else goes, stays hidden or comes back."""
    doomed = {target.id: target}
    while missing := {id_ for r in doomed.values() for id_ in find_parts(r)} - doomed.keys():
        found = await load(pool, sorted(missing))
        doomed |= {record.id: record for record in found}
        if len(found) < len(missing):  # a part was erased or lost before
            break
    made = await load(pool, sorted(await pool.index.derived(doomed.keys())))
    doomed |= {record.id: record for record in made}
    sources = {id_ for record in doomed.values() for id_ in record.derived_from}
    known = {record.id: record for record in await load(pool, sorted(sources - doomed.keys()))}
    visible = await pool.index.visible(doomed.keys(), view)
    return plan_forget(target, doomed, known, visible, view)


def _told(target: Record, fate: ForgetPlan) -> tuple[str, ...]:
    notes: list[str] = []
    if fate.along:
        notes.append(f"What repeats its words went along: {', '.join(fate.along)}.")
    if fate.back:
        notes.append(f"What else that was made of holds again: {', '.join(fate.back)}.")
    if older := [id_ for id_ in target.supersedes if id_ in fate.older]:
        notes.append(
            f"Earlier versions are hidden, not erased; forget them as well: {', '.join(older)}."
        )
    return tuple(notes)


async def _any_memory(workspace: Workspace, memory_id: str) -> Record | None:
    """The memory of that id or part of one, visible or not; what is no memory is not named here."""
    wanted = memory_id.strip().casefold()
    for pool in workspace.pools:
        found = await pool.records.get(RecordId(wanted))
        if found is not None and found.recalled:
            return found
    return await memory_named(workspace, wanted, None)
