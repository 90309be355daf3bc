"""Corrects one memory, pins it, or puts back what was replaced or hidden."""

from dataclasses import replace
from typing import Any, Final

from memory_mcp.bootstrap.views import withdraw_removed
from memory_mcp.code import cite_again
from memory_mcp.deduplication import find_exact_matches
from memory_mcp.domain import limits
from memory_mcp.domain.deduplication import find_rejection
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import AddOutcome, MemoryAdded, SimilarMemory
from memory_mcp.domain.profile import LABELS, find_profile_field
from memory_mcp.domain.record import Draft, Record
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.git import select_here
from memory_mcp.engine.head import load_head_to_write, load_view, make_view, make_writing
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.records import choose_bank, describe_line, load_records, refuse_checkpoint
from memory_mcp.engine.redaction import redact_draft, redact_with_note
from memory_mcp.engine.suppression import list_suppressors
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.hints import name_id
from memory_mcp.memories.beside import place_copy, place_update
from memory_mcp.profile import sync_profile
from memory_mcp.text.drafts import build_rejection, build_tombstone, check_text, correct_record
from memory_mcp.text.profile import parse_correction
from memory_mcp.zones import find_time_zone

_HOLDS_AGAIN: Final = "This was rejected on {:%Y-%m-%d} ({}); now it holds again."


async def update_memory(
    workspace: Workspace,
    memory_id: str,
    content: str,
    title: str = "",
    reason: str = "",
    *,
    pinned: bool | None = None,
) -> AddOutcome:
    """Replace what a memory says; a backtrack restores the old text.

    The new title replaces the old one, even if it is empty. With a reason the old statement counts
    as rejected: whoever states it again is told so. Another memory with exactly the new statement
    is replaced too.

    Raises:
        UnknownMemoryError: no visible memory has this id.
        InvalidRequestError: the text cannot be stored, or the memory is a checkpoint.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    draft, redactions = redact_draft(workspace, Draft(content=content, title=title))
    reason, redacted = redact_with_note(workspace, reason)
    check_text("content", draft.content, limits.CONTENT_CHARS_MAX)
    check_text("title", draft.title, limits.TITLE_CHARS_MAX, required=False)
    check_text("reason", reason, limits.REASON_CHARS_MAX, required=False)
    old = await require_memory(workspace, memory_id, await load_view(workspace))
    bank = choose_bank(workspace, old)
    async with bank.correcting():
        done = await _correct(workspace, bank, old.id, draft, reason, pinned=pinned)
    return replace(done, notes=(*done.notes, *redacted), redactions=redactions)


async def _correct(
    workspace: Workspace,
    bank: MemoryBank,
    memory_id: RecordId,
    draft: Draft,
    reason: str,
    *,
    pinned: bool | None,
) -> MemoryAdded:
    timeline = (await load_head_to_write(workspace)).timeline
    view = make_view(workspace, timeline)
    old = await require_memory(workspace, memory_id, view)
    refuse_checkpoint(old)
    is_fact = find_profile_field(old) is not None
    if is_fact:
        draft = replace(draft, content=_parse_fact(old, draft.content), title=old.title)
    at = workspace.clock.now()
    record = correct_record(old, draft.content, draft.title, make_writing(workspace, timeline, at))
    matches = await find_exact_matches(workspace, bank, record, view)
    same = select_here(workspace, matches.records)
    replaced = {r.id: r for r in same if _is_replaceable(r, old)} | {old.id: old}
    # a corrected fact of the profile keeps the sources of the old one
    sources = old.derived_from if is_fact else ()
    cites, recited = old.cites, ()
    if pinned is None:  # whoever pins a memory says nothing of the code that it cites
        cites, recited = cite_again(workspace, old.cites, record.origin.commit)
    update: dict[str, Any] = {
        "supersedes": tuple(sorted(replaced)),
        "derived_from": sources,
        "cites": cites,
        "pinned": old.pinned if pinned is None else pinned,
    }
    record = record.model_copy(update=update)
    rivals: tuple[SimilarMemory, ...] = ()
    if pinned is None:
        record, rivals = await place_update(workspace, view, old, record)
    else:
        record = await place_copy(workspace, view, old, record)
    notes = await bank.keep(record)
    if reason.strip() and record.statement != old.statement:
        # after the correction: a cut in between loses nothing
        tombstone = build_tombstone(old, reason, make_writing(workspace, timeline, at), erase=False)
        notes += await bank.keep(tombstone)
        place = make_writing(workspace, timeline, at)
        if rejected := build_rejection(old, tombstone, reason, place):
            notes += await workspace.project.keep(rejected)
    if tombstone := find_rejection(same):
        notes += (_HOLDS_AGAIN.format(tombstone.created_at, tombstone.content),)
    notes += await sync_profile(workspace, record, record.supersedes)
    notes += await withdraw_removed(workspace, bank)
    notes += (
        *recited,
        *await describe_line(workspace, record),
        *await describe_pending(workspace),
    )
    tombstones = {id_ for id_, each in replaced.items() if not each.recalled}
    memories = tuple(id_ for id_ in record.supersedes if id_ not in tombstones)
    return MemoryAdded(record, replaced=memories, notes=notes, similar=rivals)


async def pin_memory(workspace: Workspace, memory_id: str, *, pinned: bool) -> AddOutcome:
    """Pin a memory, so that it comes first, or no longer: the same text takes its place.

    Raises:
        UnknownMemoryError: no visible memory has this id.
        InvalidRequestError: the memory is a checkpoint.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    old = await require_memory(workspace, memory_id, await load_view(workspace))
    return await update_memory(workspace, old.id, old.content, old.title, pinned=pinned)


async def put_back_memory(workspace: Workspace, memory_id: str, instead: str = "") -> AddOutcome:
    """Remember a memory again as it was, with its labels and what it cited then.

    It is written anew, in the place of `instead`, a visible memory, or of the tombstones that hide
    it. What it cites is not looked at: who puts it back has not said that the code still agrees.

    Raises:
        UnknownMemoryError: nothing of this id is stored, or `instead` is not visible.
        InvalidRequestError: no tombstone hides it, it has expired, or it is a checkpoint.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    old = await _require_stored(workspace, memory_id)
    bank = choose_bank(workspace, old)
    async with bank.correcting():
        return await _put_back(workspace, bank, old, instead)


async def _put_back(
    workspace: Workspace, bank: MemoryBank, old: Record, instead: str
) -> MemoryAdded:
    timeline = (await load_head_to_write(workspace)).timeline
    view = make_view(workspace, timeline)
    at = workspace.clock.now()
    if await bank.index.visible([old.id], view):
        raise InvalidRequestError(f"{name_id(old.id)} holds: nothing hides it.")
    if old.expires_at and old.expires_at <= at:
        raise InvalidRequestError(
            f"{name_id(old.id)} expired on {old.expires_at:%Y-%m-%d}. Add it anew if it holds."
        )
    if instead:
        hiding = [await require_memory(workspace, instead, view)]
        refuse_checkpoint(hiding[0])
    else:
        suppressors = await list_suppressors(bank, old, view)
        hiding = [each for each in suppressors if each.kind == "tombstone"]
        if not hiding:
            raise InvalidRequestError(
                f"{name_id(old.id)} was not hidden here: it was replaced, or a backtrack left it. "
                "Correct what replaced it, or restore the line that was left."
            )
    record = correct_record(old, old.content, old.title, make_writing(workspace, timeline, at))
    matches = await find_exact_matches(workspace, bank, record, view)
    same = select_here(workspace, matches.records)
    same = [each for each in same if _is_replaceable(each, old)]
    if not instead and (holds := next((each for each in same if each.recalled), None)):
        raise InvalidRequestError(f"{name_id(holds.id)} says the same, and holds.")
    replaced = {each.id: each for each in (old, *hiding, *same)}
    whole = {"supersedes": tuple(sorted(replaced)), "derived_from": old.derived_from}
    record = await place_copy(workspace, view, old, record.model_copy(update=whole))
    notes = await bank.keep(record)
    notes += await sync_profile(workspace, record, record.supersedes)
    notes += await withdraw_removed(workspace, bank)
    notes += (*await describe_line(workspace, record), *await describe_pending(workspace))
    memories = tuple(each.id for each in (*hiding, *same) if each.recalled)
    return MemoryAdded(record, replaced=memories, notes=notes)


async def _require_stored(workspace: Workspace, memory_id: str) -> Record:
    """The memory of that id, visible or not."""
    wanted = RecordId(memory_id.strip().casefold())
    for bank in workspace.banks:
        for record in await load_records(bank, [wanted]):
            refuse_checkpoint(record)
            if record.recalled:
                return record
    raise UnknownMemoryError(memory_id)


def _parse_fact(old: Record, content: str) -> str:
    """The new line of a fact in the profile; refuse a text that is no value of its field."""
    field = find_profile_field(old)
    fact = parse_correction(old, content)
    if field is None or fact is None or (field == "time_zone" and not find_time_zone(fact.value)):
        label = LABELS[field] if field else "?"
        raise InvalidRequestError(
            f"{name_id(old.id)} is a fact of the user's profile ({label}), and this is no such "
            f"value. Give one plain line like {old.content!r}; or correct what it was drawn from "
            f"({', '.join(map(name_id, old.derived_from)) or 'nothing'}), or add what the user "
            "says anew."
        )
    return fact.line


def _is_replaceable(other: Record, old: Record) -> bool:
    """Whether this memory of the same statement is replaced too: it must be of the same sort."""
    same_sort = (find_profile_field(other) is None) is (find_profile_field(old) is None)
    return other.durable is old.durable and other.move is None and same_sort
