"""Storing, correcting and forgetting one memory."""

from dataclasses import replace

from memory_mcp.app.heads import current, known_memory, view_on, writing
from memory_mcp.app.pending import pending_note
from memory_mcp.app.rooms import Pool, Rooms, writes_refused
from memory_mcp.domain import limits
from memory_mcp.domain.drafts import Draft
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Added, AddOutcome, Forgotten, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.errors import ConflictError, InvalidRequestError
from memory_mcp.ingestion.drafts import accept, bury, check_draft, check_text, corrected

__all__ = ["add_memory", "forget_memory", "update_memory"]


async def add_memory(rooms: Rooms, draft: Draft) -> AddOutcome:
    """Remember one thing: refused before a byte is written, or durable when this returns.

    Raises:
        InvalidRequestError: the draft cannot be stored; the message says why and what would do.
        UnknownMemoryError: it supersedes something that does not hold from here.
    """
    if skipped := writes_refused(rooms):
        return skipped
    now = rooms.clock.now()
    if draft.phase is None:
        draft = replace(draft, phase=rooms.policy.phase)
    check_draft(draft, now)
    head = await current(rooms)
    record = accept(draft, writing(rooms, head.timeline, now))
    for memory_id in record.supersedes:
        _refuse_unlike(await known_memory(rooms, memory_id, view_on(rooms, head.timeline)), record)
    notes = await _pool_of(rooms, record).keep(record)
    notes += (*await _still_on_line(rooms, record), *await pending_note(rooms))
    return Added(record, replaced=record.supersedes, notes=notes)


async def update_memory(rooms: Rooms, memory_id: str, content: str, title: str = "") -> AddOutcome:
    """Replace what a memory says. The old text stays restorable: a backtrack brings it back.

    The old title goes with the old text; without a new one there is none.

    Raises:
        UnknownMemoryError: no such memory holds from here.
        InvalidRequestError: the text cannot be stored, or the memory is a checkpoint.
    """
    if skipped := writes_refused(rooms):
        return skipped
    check_text("content", content, limits.CONTENT_CHARS_MAX)
    check_text("title", title, limits.TITLE_CHARS_MAX, required=False)
    head = await current(rooms)
    old = await known_memory(rooms, memory_id, view_on(rooms, head.timeline))
    _refuse_checkpoint(old)
    record = corrected(old, content, title, writing(rooms, head.timeline, rooms.clock.now()))
    notes = await _pool_of(rooms, record).keep(record)
    notes += (*await _still_on_line(rooms, record), *await pending_note(rooms))
    return Added(record, replaced=(old.id,), notes=notes)


async def forget_memory(
    rooms: Rooms, memory_id: str, reason: str, *, erase: bool
) -> Forgotten | Skipped:
    """Erase one memory everywhere and for good, or hide it from this line on.

    To erase, any memory may be named: a corrected, hidden or abandoned text can be forgotten too.

    The tombstone is durable before anything is erased, so that a cut in between is completed at
    the next start and another clone learns of it.

    Raises:
        UnknownMemoryError: no such memory holds from here.
        InvalidRequestError: the memory is a checkpoint.
    """
    if skipped := writes_refused(rooms):
        return skipped
    check_text("reason", reason, limits.REASON_CHARS_MAX, required=False)
    head = await current(rooms)
    view = view_on(rooms, head.timeline)
    target = await _any_memory(rooms, memory_id) if erase else None
    target = target or await known_memory(rooms, memory_id, view)
    _refuse_checkpoint(target)
    now = rooms.clock.now()
    tombstone = bury(target, reason, writing(rooms, head.timeline, now), erase=erase)
    pool = _pool_of(rooms, target)
    notes = await pool.keep(tombstone)
    if erase:
        await pool.erase({target.id})
        if target.supersedes:
            older = ", ".join(target.supersedes)
            notes += (f"Earlier versions are hidden, not erased; forget them as well: {older}.",)
    return Forgotten(target.id, erased=erase, notes=notes + await pending_note(rooms))


async def _any_memory(rooms: Rooms, memory_id: str) -> Record | None:
    """The memory of that id, visible or not; what is no memory is not named here."""
    for pool in rooms.pools:
        found = await pool.records.get(RecordId(memory_id.strip()))
        if found is not None and found.recalled:
            return found
    return None


def _pool_of(rooms: Rooms, record: Record) -> Pool:
    """A record without a project in its scope is the user's."""
    return rooms.user if record.scope.project is None else rooms.project


def _refuse_checkpoint(record: Record) -> None:
    if record.kind == "checkpoint":
        raise InvalidRequestError(
            f"{record.id} is a checkpoint, which is part of the timeline. To leave what came after "
            "it, use backtrack; to correct its summary, seal another checkpoint."
        )


def _refuse_unlike(old: Record, new: Record) -> None:
    """A project's memory cannot replace what the user keeps for every project, nor the reverse."""
    _refuse_checkpoint(old)
    if (old.scope.project is None) != (new.scope.project is None):
        scope = "user" if old.scope.project is None else "project"
        raise InvalidRequestError(
            f"{old.id} is in the {scope} scope, so only a memory with scope={scope!r} can "
            "supersede it. Add this one with that scope, or without supersedes."
        )


async def _still_on_line(rooms: Rooms, record: Record) -> tuple[str, ...]:
    """Say so if another session left this line while the memory was being written."""
    if record.segment is None:
        return ()
    timeline = (await current(rooms)).timeline
    if record.segment in timeline.forgotten:
        await rooms.project.erase({record.id})
        raise ConflictError(
            "Another session gave up this line for good while the memory was being written, so "
            "it was erased with it. If it still holds, add it again."
        )
    if record.segment in timeline.chain(rooms.session.branch):
        return ()
    note = (
        "Another session backtracked while this was being written: it was stored on the line "
        "that was left and is hidden. If it still holds, add it again."
    )
    return (note,)
