"""Forgets one memory, and with it everything that repeats its words."""

from typing import Final

from memory_mcp.bootstrap.views import withdraw_removed
from memory_mcp.domain import limits
from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryForgotten, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.git import find_mark
from memory_mcp.engine.head import load_head_to_write, make_view, make_writing
from memory_mcp.engine.lookup import find_memory, require_memory
from memory_mcp.engine.records import choose_bank, load_records, refuse_checkpoint
from memory_mcp.engine.recovery import drop_from_head
from memory_mcp.engine.redaction import redact_with_note
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_writes
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.hints import Value, name_id, name_memory, name_step
from memory_mcp.profile import load_affected_facts, restore_facts
from memory_mcp.text.drafts import build_rejection, build_tombstone, check_text
from memory_mcp.text.merge import ForgetPlan, plan_forget, recompose

_REPLACED_MAX: Final = 3
"""What a memory was composed of is mostly two: more calls than a receipt is read for."""
_QUOTED_CHARS_MAX: Final = 400
"""A longer text is named and not repeated in the call that brings it back."""


async def forget_memory(
    workspace: Workspace, memory_id: str, reason: str, *, erase: bool
) -> MemoryForgotten | Skipped:
    """Erase one memory everywhere and for good, or hide it from this line on.

    Hidden and abandoned memories can be erased too. What was composed of the memory is erased
    along with it, because it repeats its words; the other parts of that become visible again. What
    the memory itself replaced or was composed of stays hidden, and the notes say how each comes
    back. With a reason the statement counts as rejected: whoever states it again is told so.

    The tombstone is durable before anything is erased, so the next start completes a cut.

    Raises:
        UnknownMemoryError: no visible memory has this id.
        AmbiguousIdError: several memories have this part of an id.
        InvalidRequestError: the memory is a checkpoint.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    reason, redacted = redact_with_note(workspace, reason)
    check_text("reason", reason, limits.REASON_CHARS_MAX, required=False)
    timeline = (await load_head_to_write(workspace)).timeline
    view = make_view(workspace, timeline)
    target = await _find_any_memory(workspace, memory_id) if erase else None
    target = target or await require_memory(workspace, memory_id, view)
    refuse_checkpoint(target)
    bank = choose_bank(workspace, target)
    place = make_writing(workspace, timeline, workspace.clock.now())
    facts = await load_affected_facts(workspace, bank, target)
    visible_again: list[RecordId] = []
    plan_notes: tuple[str, ...] = ()
    if erase:
        plan = await _plan_forget(bank, target, view)
        visible_again += plan.back
        for whole, parts in plan.again:  # written first: a cut leaves a copy too many, not too few
            if rest := recompose(whole, parts, make_writing(workspace, timeline, place.at)):
                await bank.keep(rest)
                visible_again.append(rest.id)
        last_key = await _find_last_episode_key(bank, target, plan)
        tombstone = build_tombstone(
            target, reason, place, erase=True, along=plan.along, older=plan.older, told=last_key
        )
        await drop_from_head(workspace, tombstone.erases)
        notes = await bank.keep(tombstone)
        await bank.erase({target.id, *plan.along})
        plan_notes = (*redacted, *_describe_plan(plan), *_describe_owner(workspace, target))
    else:
        tombstone = build_tombstone(target, reason, place, erase=False)
        notes = redacted + await bank.keep(tombstone)
    notes += await _write_rejection(workspace, timeline, target, tombstone, reason)
    notes += await restore_facts(workspace, bank, visible_again, facts)
    notes += await withdraw_removed(workspace, bank)
    notes += await _describe_replaced(bank, target, view, erase=erase)
    notes += (*plan_notes, *await describe_pending(workspace))
    return MemoryForgotten(target.id, erased=erase, notes=notes)


async def _write_rejection(
    workspace: Workspace, timeline: Timeline, target: Record, tombstone: Record, reason: str
) -> tuple[str, ...]:
    """Record the reason on this line. The tombstone is stored already, so this raises nothing."""
    place = make_writing(workspace, timeline, workspace.clock.now())
    rejection = build_rejection(target, tombstone, reason, place)
    try:
        return await workspace.project.keep(rejection) if rejection else ()
    except StoreUnavailableError as error:
        return (f"Done, but the reason could not be stored: {error}",)


async def _find_last_episode_key(bank: MemoryBank, target: Record, plan: ForgetPlan) -> str:
    """The key of the last episode that is erased: the turns up to it are not captured again."""
    if target.kind != "episode":
        return ""
    erased = [target, *await load_records(bank, list(plan.along))]
    return max((r for r in erased if r.kind == "episode"), key=lambda record: record.id).key


async def _plan_forget(bank: MemoryBank, target: Record, view: View) -> ForgetPlan:
    """What else is erased, stays hidden, or becomes visible again."""
    doomed = {target.id: target}
    made = await load_records(bank, sorted(await bank.index.derived(doomed.keys())))
    doomed |= {record.id: record for record in made}
    sources = {id_ for record in doomed.values() for id_ in record.derived_from}
    others = await load_records(bank, sorted(sources - doomed.keys()))
    known = {record.id: record for record in others}
    visible = await bank.index.visible(doomed.keys(), view)
    return plan_forget(target, doomed, known, visible, view)


async def _describe_replaced(
    bank: MemoryBank, target: Record, view: View, *, erase: bool
) -> tuple[str, ...]:
    """What the memory had replaced or was composed of, and what to call if that holds again."""
    older = [each for each in await load_records(bank, list(target.supersedes)) if each.recalled]
    held = await bank.index.visible([each.id for each in older], view)
    hidden = [each for each in older if each.id not in held][:_REPLACED_MAX]
    return tuple(_describe_hidden(each, erase=erase) for each in hidden)


def _describe_hidden(older: Record, *, erase: bool) -> str:
    says = [f"What it had replaced stays hidden: {name_id(older.id)}."]
    if states_truth(older):  # what happened is not stated again
        long = len(older.content) > _QUOTED_CHARS_MAX
        labels: dict[str, Value] = {"kind": older.kind} if older.kind != "fact" else {}
        labels |= {"scope": reach} if (reach := older.scope.reach) != "project" else {}
        again = name_step("add_memory", content=... if long else older.content, **labels)
        text = f" with its text ({name_memory(older.id)})" if long else ""
        says.append(f"If that holds again, call {again}{text}.")
    if erase:
        says.append(
            f"To erase that as well, call {name_step('forget_memory', memory_id=older.id)}."
        )
    return " ".join(says)


def _describe_plan(plan: ForgetPlan) -> tuple[str, ...]:
    notes: list[str] = []
    if plan.along:
        notes.append(f"What repeats its words went along: {', '.join(plan.along)}.")
    if plan.back:
        notes.append(f"What else that was made of holds again: {', '.join(plan.back)}.")
    return tuple(notes)


def _describe_owner(workspace: Workspace, target: Record) -> tuple[str, ...]:
    """Says that others lose it, where it was inherited or stands on another commit of git."""
    if mark := find_mark(workspace, target):
        return (f"It did not stand on this commit of git ({mark}), and is gone there, too.",)
    if target.branch in (None, workspace.caller.branch):
        return ()
    note = (
        f"It was written on branch {target.branch!r}, and is gone there and on every branch that "
        "saw it. To hide it on one branch alone, do not erase (mode hide; in Python erase=False)."
    )
    return (note,)


async def _find_any_memory(workspace: Workspace, memory_id: str) -> Record | None:
    """The memory of that id or part of one, visible or not; no record of another kind."""
    wanted = memory_id.strip().casefold()
    for bank in workspace.banks:
        found = await bank.records.get(RecordId(wanted))
        if found is not None and found.recalled:
            return found
    return await find_memory(workspace, wanted, None)
