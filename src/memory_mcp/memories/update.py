"""Correcting one memory."""

from dataclasses import replace
from typing import Final

from memory_mcp.bootstrap.views import render_after_removal
from memory_mcp.deduplication.decide import rejection, twins
from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import AddOutcome, MemoryAdded
from memory_mcp.domain.profile import LABELS, field_of
from memory_mcp.domain.record import Draft, Record
from memory_mcp.engine.cleaning import cleaned, cleaned_text
from memory_mcp.engine.head import current, known_memory, view_on, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.receipts import pool_of, refuse_checkpoint, still_on_line
from memory_mcp.engine.workspace import Workspace, writes_refused
from memory_mcp.errors import InvalidRequestError
from memory_mcp.profile.sync import profile_sync, zone_named
from memory_mcp.text.drafts import build_rejection, build_tombstone, check_text, correct_record
from memory_mcp.text.profile import parse_correction

_AGAIN: Final = "This was rejected on {:%Y-%m-%d} ({}); now it holds again."


async def update_memory(
    workspace: Workspace, memory_id: str, content: str, title: str = "", reason: str = ""
) -> AddOutcome:
    """Replace what a memory says. The old text stays restorable: a backtrack brings it back.

    The old title goes with the old text; without a new one there is none. With a reason the old
    statement counts as rejected: whoever states it again hears of it. Another memory that says
    just what this one says from now on is replaced as well.

    Raises:
        UnknownMemoryError: no such memory holds from here.
        InvalidRequestError: the text cannot be stored, or the memory is a checkpoint.
    """
    if skipped := writes_refused(workspace):
        return skipped
    draft, redactions = cleaned(workspace, Draft(content=content, title=title))
    reason, cleaning = cleaned_text(workspace, reason)
    check_text("content", draft.content, limits.CONTENT_CHARS_MAX)
    check_text("title", draft.title, limits.TITLE_CHARS_MAX, required=False)
    check_text("reason", reason, limits.REASON_CHARS_MAX, required=False)
    head = await current(workspace)
    view = view_on(workspace, head.timeline)
    old = await known_memory(workspace, memory_id, view)
    refuse_checkpoint(old)
    if field_of(old) is not None:
        draft = replace(draft, content=_fact(old, draft.content), title=old.title)
    at = workspace.clock.now()
    record = correct_record(old, draft.content, draft.title, writing(workspace, head.timeline, at))
    pool = pool_of(workspace, record)
    there = await twins(workspace, pool, record, view)
    same = {r.id: r for r in there if _replaceable(r, old)} | {old.id: old}
    # a fact of the profile goes on resting on what it was drawn from
    sources = old.derived_from if field_of(old) is not None else ()
    record = record.model_copy(update={"supersedes": tuple(sorted(same)), "derived_from": sources})
    notes = await pool.keep(record)
    if reason.strip() and record.statement != old.statement:
        # only now: cut short, the correction stands and nothing is lost
        place = writing(workspace, head.timeline, at)
        tombstone = build_tombstone(old, reason, place, erase=False)
        notes += await pool.keep(tombstone)
        again = writing(workspace, head.timeline, at)
        if said := build_rejection(old, tombstone, reason, again):
            notes += await workspace.project.keep(said)
    if tombstone := rejection(there):
        notes += (_AGAIN.format(tombstone.created_at, tombstone.content),)
    notes += await profile_sync(workspace, record, record.supersedes)
    notes += await render_after_removal(workspace, pool)
    notes += (*cleaning, *await still_on_line(workspace, record), *await pending_note(workspace))
    replaced = tuple(id_ for id_, each in same.items() if each.recalled)
    return MemoryAdded(record, replaced=replaced, notes=notes, redactions=redactions)


def _fact(old: Record, content: str) -> str:
    """What a fact of the profile says from now on: a value as short and plain as such a value is.

    Raises:
        InvalidRequestError: it is none; with what to do instead.
    """
    field = field_of(old)
    fact = parse_correction(old, content)
    if field is None or fact is None or (field == "time_zone" and not zone_named(fact.value)):
        label = LABELS[field] if field else "?"
        raise InvalidRequestError(
            f"{old.id} is a fact of the user's profile ({label}), and this is no such value. Give "
            f"one plain line like {old.content!r}; or correct what it was drawn from "
            f"({', '.join(old.derived_from) or 'nothing'}), or add what the user says anew."
        )
    return fact.line


def _replaceable(other: Record, old: Record) -> bool:
    """Whether what says just the same goes as well: a memory for a memory, a fact for a fact."""
    alike = (field_of(other) is None) is (field_of(old) is None)
    return other.durable is old.durable and other.move is None and alike
