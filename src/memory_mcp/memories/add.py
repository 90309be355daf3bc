"""Storing one memory: cleaned, compared with what is known, and then kept, merged or left out."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.deduplication.decide import decided, twins
from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.domain.limits import LANGUAGE_SECONDS_MAX
from memory_mcp.domain.outcomes import (
    AddOutcome,
    AlreadyKnown,
    Contradiction,
    MemoryAdded,
    MemoryDeclined,
    MemoryRejected,
    Redaction,
)
from memory_mcp.domain.profile import field_of
from memory_mcp.domain.record import Draft, Record, RecordContext
from memory_mcp.domain.search import View
from memory_mcp.engine.cleaning import cleaned, own_words
from memory_mcp.engine.head import current, known_memory, view_on, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.phases import phase_at_work, redoing_once
from memory_mcp.engine.receipts import refuse_checkpoint, still_on_line
from memory_mcp.engine.workspace import Pool, Workspace, writes_refused
from memory_mcp.errors import InvalidRequestError, ModelUnavailableError, StoreUnavailableError
from memory_mcp.profile.sync import profile_sync, rejected_facts
from memory_mcp.text.drafts import build_record, check_draft, join_records
from memory_mcp.text.gate import Chatter, should_create
from memory_mcp.text.merge import Decision, Insert, Merge, Refuse, Skip
from memory_mcp.text.secrets import Redacted
from memory_mcp.trust.strangers import mention_strangers

_TOO_LITTLE: Final = "is of importance {}, and what is below {} is not kept as a new memory."
NOTHING_LEFT: Final = "is nothing but a secret, which is not kept."
RECALLED: Final = "came out of this memory's own recall."


async def add_memory(workspace: Workspace, draft: Draft, *, gate: bool = False) -> AddOutcome:
    """Remember one thing: refused before a byte is written, or durable when this returns.

    What is known already is not stored again; a newer version of a known fact takes its place, and
    stays restorable. With the gate, what is not worth keeping is not stored.

    Raises:
        InvalidRequestError: the draft cannot be stored; the message says why and what would do.
        UnknownMemoryError: it supersedes something that does not hold from here.
    """
    if skipped := writes_refused(workspace):
        return skipped
    draft, redactions = cleaned(workspace, draft)
    if Redacted(draft.content).nothing_left:
        return MemoryDeclined(NOTHING_LEFT)
    own = await own_words(workspace, draft.content)
    if not own and draft.content.strip():
        return MemoryDeclined(RECALLED)
    phase = await phase_at_work(workspace, draft.reach) if draft.phase is None else draft.phase
    draft = replace(draft, content=own, phase=phase)
    check_draft(draft, workspace.clock.now())
    until = asyncio.get_running_loop().time() + LANGUAGE_SECONDS_MAX
    if gate and (reason := await _chatter(workspace, draft, until)):
        return MemoryDeclined(reason)
    pool = workspace.user if draft.reach == "user" else workspace.project
    async with pool.writing:  # two calls at once must not miss each other
        return await _stored(workspace, pool, draft, redactions, until)


async def _stored(
    workspace: Workspace, pool: Pool, draft: Draft, redactions: tuple[Redaction, ...], until: float
) -> AddOutcome:
    now = workspace.clock.now()
    head = await current(workspace)
    view = view_on(workspace, head.timeline)
    draft = replace(draft, supersedes=await _whole_ids(workspace, draft.supersedes, view))
    record = build_record(draft, writing(workspace, head.timeline, now))
    there = await twins(workspace, pool, record, view)
    record, tombstones = await _answering(workspace, record, there)
    for memory_id in set(record.supersedes) - tombstones:
        _refuse_unlike(await known_memory(workspace, memory_id, view), record)
    decision = await decided(workspace, pool, record, there, view=view, until=until)
    again = writing(workspace, head.timeline, now)
    outcome = await _carried_out(workspace, pool, record, decision, again=again, view=view)
    if isinstance(outcome, AlreadyKnown):
        notes = _not_taken_over(record, outcome.record)
        notes += await profile_sync(workspace, outcome.record)  # said again, it counts as said now
        return replace(outcome, redactions=redactions, notes=notes)
    if not isinstance(outcome, MemoryAdded):
        return outcome
    notes = await profile_sync(workspace, outcome.record, outcome.replaced)
    notes += await still_on_line(workspace, outcome.record, frozenset({record.id}))
    notes += redoing_once(workspace, head.timeline, record.phase)
    notes = (
        *outcome.notes,
        *notes,
        *await pending_note(workspace),
        *await mention_strangers(workspace),
    )
    replaced = tuple(id_ for id_ in outcome.replaced if id_ not in tombstones)
    return replace(outcome, replaced=replaced, notes=notes, redactions=redactions)


async def _whole_ids(workspace: Workspace, given: Sequence[str], view: View) -> tuple[str, ...]:
    """The ids that these stand for: one may be given by a part that fits no other."""
    whole = [
        id_ if is_record_id(id_) else (await known_memory(workspace, id_, view)).id for id_ in given
    ]
    return tuple(dict.fromkeys(whole))


async def _answering(
    workspace: Workspace, record: Record, there: Sequence[Record]
) -> tuple[Record, set[RecordId]]:
    """The record, and the tombstones that it may name in `supersedes`.

    A memory whose fact in the profile was rejected takes its own place when it is said anew.
    """
    tombstones = {r.id for r in there if r.kind == "tombstone"}
    if not record.supersedes:
        return record, tombstones
    rejected = {t.id for t in (await rejected_facts(workspace, record)).values()}
    if not rejected.intersection(record.supersedes):
        return record, tombstones
    again = {r.id for r in there if r.recalled and r.durable and field_of(r) is None}
    supersedes = tuple(dict.fromkeys((*record.supersedes, *sorted(again))))
    return record.model_copy(update={"supersedes": supersedes}), tombstones | rejected


async def _carried_out(
    workspace: Workspace,
    pool: Pool,
    new: Record,
    decision: Decision,
    *,
    again: RecordContext,
    view: View,
) -> AddOutcome:
    """Store what is to be stored; `again` is for a second record."""
    match decision:
        case Skip(known):
            return AlreadyKnown(known)
        case Refuse(tombstone):
            return MemoryRejected(tombstone)
        case Merge() as merge:
            return await _merged(pool, new, merge, again, view)
        case Insert() if new.importance < (least := workspace.policy.merging.min_importance):
            return MemoryDeclined(_TOO_LITTLE.format(new.importance, least))
        case Insert(similar, notes):
            notes += await pool.keep(new)
            return MemoryAdded(new, replaced=new.supersedes, notes=notes, similar=similar)


async def _merged(
    pool: Pool, new: Record, merge: Merge, again: RecordContext, view: View
) -> MemoryAdded:
    """Put one memory in the place of the old ones.

    What is composed of them is a record of its own that names them, so that each can be told from
    the others again. It is written first: cut short, it says all that there is to say.
    """
    if merge.text == new.content:  # nothing of the old ones is left to keep
        whole = join_records(new, merge.olds)
        notes = await pool.keep(whole)
    else:
        whole = join_records(new, merge.olds, text=merge.text, writing=again)
        notes = await pool.keep(whole) + await _kept_beside(pool, new)
        if not await pool.index.visible([whole.id], view):  # an old one was just forgotten
            await pool.erase(await pool.index.ordered({whole.id}))
            return MemoryAdded(new, notes=notes)
    told = tuple(Contradiction(old.id, old.content, new.content) for old in merge.olds)
    return MemoryAdded(
        whole,
        replaced=tuple(old.id for old in merge.olds),
        notes=notes,
        merged=bool(whole.derived_from),
        contradictions=told if merge.contradicts else (),
    )


async def _kept_beside(pool: Pool, part: Record) -> tuple[str, ...]:
    """The part by itself. The whole is stored, so no error may say that nothing was."""
    try:
        return await pool.keep(part)
    except StoreUnavailableError as error:
        return (f"Merged; the new text could not be stored by itself as well: {error}",)


async def _chatter(workspace: Workspace, draft: Draft, until: float) -> str:
    """Why this is not worth a memory; nothing if it is."""
    if workspace.language is not None:
        try:
            async with asyncio.timeout_at(until):
                said = await workspace.language.classify(draft.content)
        except (ModelUnavailableError, TimeoutError):
            pass
        else:
            return "" if said.keep else f"is {said.reason}."
    match should_create(draft.content, draft.kind):
        case Chatter(reason):
            return reason
        case _:
            return ""


def _not_taken_over(new: Record, known: Record) -> tuple[str, ...]:
    """A word on labels that were given with what is known already, and are not its own."""
    given = {
        "title": new.title and new.title != known.title,
        "category": new.category and new.category != known.category,
        "tags": not set(new.tags) <= set(known.tags),
        "importance": new.importance not in (known.importance, limits.IMPORTANCE_DEFAULT),
        "pinned": new.pinned and not known.pinned,
        "kind": new.kind not in (known.kind, "fact"),
    }
    names = [name for name, other in given.items() if other]
    if not names:
        return ()
    return (
        f"Its {' and '.join(names)} stay as they were: supersedes=[{known.id!r}] changes them.",
    )


def _refuse_unlike(old: Record, new: Record) -> None:
    """A project's memory cannot replace what the user keeps for every project, nor the reverse."""
    refuse_checkpoint(old)
    if (old.scope.project is None) != (new.scope.project is None):
        scope = "user" if old.scope.project is None else "project"
        raise InvalidRequestError(
            f"{old.id} is in the {scope} scope, so only a memory with scope={scope!r} can "
            "supersede it. Add this one with that scope, or without supersedes."
        )
