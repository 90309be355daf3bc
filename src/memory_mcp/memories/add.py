"""Stores one memory, after comparing it with what is known: as new, merged, or not at all."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.code import cite_places, propose_citations
from memory_mcp.deduplication import decide_duplicate, find_exact_matches
from memory_mcp.domain import limits
from memory_mcp.domain.cloud import NewEntry
from memory_mcp.domain.deduplication import Insert, Merge, Refuse, Skip
from memory_mcp.domain.ids import ROOT, RecordId, is_record_id
from memory_mcp.domain.outcomes import (
    AddOutcome,
    AlreadyKnown,
    Contradiction,
    MemoryAdded,
    MemoryDeclined,
    MemoryRejected,
    MemoryWaiting,
    Redaction,
)
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.domain.record import Citation, Draft, Record, RecordContext
from memory_mcp.domain.search import Stated, View
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.head import load_head, load_head_to_write, make_view, make_writing
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.members import find_author
from memory_mcp.engine.phases import describe_sealed_phase, find_phase_to_file
from memory_mcp.engine.records import describe_line, refuse_checkpoint
from memory_mcp.engine.redaction import prepare_draft
from memory_mcp.engine.workspace import (
    MemoryBank,
    WaitingRecords,
    Workspace,
    describe_no_project,
    refuse_writes,
)
from memory_mcp.errors import (
    DatabaseAwayError,
    InvalidRequestError,
    ModelUnavailableError,
    StoreUnavailableError,
)
from memory_mcp.hints import name_argument, name_id
from memory_mcp.memories.beside import place_merge
from memory_mcp.profile import find_rejected_facts, sync_profile
from memory_mcp.text.drafts import build_record, check_draft, join_records
from memory_mcp.trust.strangers import describe_strangers_once

_CITES_NOTHING: Final = "Nothing was cited: a memory of the {} is about no project's code."
_TOO_LITTLE: Final = "is of importance {}, and what is below {} is not kept as a new memory."


async def add_memory(workspace: Workspace, draft: Draft, *, gate: bool = False) -> AddOutcome:
    """Remember one thing. It is durable when this returns `Added`.

    A known memory is not stored again. A newer version of a known fact replaces it; the old one
    stays restorable. With the gate, chatter is declined. It may wait for a database that is away.

    Raises:
        InvalidRequestError: the draft cannot be stored; the message says why and what would do.
        UnknownMemoryError: it supersedes a memory that is not visible.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    prepared = await prepare_draft(workspace, draft)
    if isinstance(prepared, MemoryDeclined):
        return prepared
    draft, redactions = prepared
    check_draft(draft, workspace.clock.now())
    until = asyncio.get_running_loop().time() + limits.LANGUAGE_SECONDS_MAX
    if gate and (reason := await _judge_chatter(workspace, draft, until)):
        return MemoryDeclined(reason)
    try:
        return await _store_once(workspace, draft, redactions, until)
    except DatabaseAwayError:
        if workspace.waiting is None or not workspace.waiting.accepts:
            raise
        return await _leave_waiting(workspace, workspace.waiting, draft, redactions)


async def store_waiting(workspace: Workspace, record: Record) -> AddOutcome:
    """Store a memory that was accepted while the database was away, by its id, time and author.

    Raises:
        InvalidRequestError: its branch is gone, or what it supersedes.
    """
    draft = Draft(
        record.content, record.kind, record.title, record.category, record.tags,
        record.importance, record.pinned, record.expires_at, record.phase, record.supersedes,
        reach=record.scope.reach,
    )  # fmt: skip
    workspace = workspace.at(record.branch or workspace.caller.branch)
    until = asyncio.get_running_loop().time() + limits.LANGUAGE_SECONDS_MAX
    return await _store_once(workspace, draft, (), until, waited=record)


async def _leave_waiting(
    workspace: Workspace,
    waiting: WaitingRecords,
    draft: Draft,
    redactions: tuple[Redaction, ...],
) -> MemoryWaiting:
    """Let the memory wait on this machine. Its place on the timeline is found when it is stored.

    If the database had stored it after all, it is known there, and not stored again.
    """
    if parts := [id_ for id_ in draft.supersedes if not is_record_id(id_)]:
        raise InvalidRequestError(
            f"The database is away, so which memory {parts[0]!r} is part of cannot be looked up. "
            "Give the whole id, or repeat it when the database is back. Nothing was stored."
        )
    now = workspace.clock.now()
    writing = RecordContext(
        id=workspace.ids.new(now), at=now, segment=ROOT, branch=workspace.caller.branch,
        scope=workspace.scope, origin=workspace.origin(), team=workspace.caller.team,
    )  # fmt: skip
    record = build_record(draft, writing)
    record = record.model_copy(update={"cites": _cite(workspace, draft, record)[0]})
    await waiting.records.put(record)
    await waiting.outbox.note([NewEntry(record.id, "add")], now.timestamp())
    waiting.wake.set()
    return MemoryWaiting(record, redactions)


async def is_known(workspace: Workspace, draft: Draft) -> bool:
    """Whether a visible memory says all of it, or the user rejected this very statement."""
    prepared = await prepare_draft(workspace, draft)
    if isinstance(prepared, MemoryDeclined):
        return True
    bank, view, record, same = await _find_same(workspace, prepared[0])
    until = asyncio.get_running_loop().time() + limits.LANGUAGE_SECONDS_MAX
    decision = await decide_duplicate(workspace, bank, record, same, view=view, until=until)
    return isinstance(decision, Skip | Refuse)


async def _find_same(
    workspace: Workspace, draft: Draft
) -> tuple[MemoryBank, View, Record, list[Record]]:
    """Where a draft would be stored and as what, and what says exactly the same."""
    bank = workspace.bank_of(draft.reach)
    now = workspace.clock.now()
    timeline = (await load_head(workspace)).timeline
    view = make_view(workspace, timeline)
    record = build_record(draft, make_writing(workspace, timeline, now))
    same = await find_exact_matches(workspace, bank, record, view)
    return bank, view, record, same.records


async def _store_once(
    workspace: Workspace,
    draft: Draft,
    redactions: tuple[Redaction, ...],
    until: float,
    *,
    waited: Record | None = None,
) -> AddOutcome:
    """Store the draft; decide anew if others store the same statement meanwhile.

    Raises:
        StoreUnavailableError: they go on and on.
    """
    bank = workspace.bank_of(draft.reach)
    # of two calls at once, the second must find what the first stored
    async with bank.correcting() if draft.supersedes else bank.writing:
        for _ in range(limits.ADD_TRIES_MAX):
            outcome = await _store_draft(workspace, bank, draft, redactions, until, waited=waited)
            if outcome is not None:
                return outcome
    raise StoreUnavailableError(
        f"Others stored this very statement {limits.ADD_TRIES_MAX} times meanwhile, each time in "
        "another way. Nothing was stored by this call; search for it, and try again."
    )


async def _store_draft(
    workspace: Workspace,
    bank: MemoryBank,
    draft: Draft,
    redactions: tuple[Redaction, ...],
    until: float,
    *,
    waited: Record | None,
) -> AddOutcome | None:
    """What became of it; None if others have stored the same statement since it was looked up."""
    timeline = (await load_head_to_write(workspace)).timeline
    now = workspace.clock.now()  # its segment is claimed: whoever looked before knew nothing of it
    view = make_view(workspace, timeline)
    if draft.phase is None:
        draft = replace(draft, phase=await find_phase_to_file(workspace, timeline, draft.reach))
    draft = replace(draft, supersedes=await _resolve_ids(workspace, draft.supersedes, view))
    writing = make_writing(workspace, timeline, now)
    if waited:
        writing = replace(writing, id=waited.id, at=waited.created_at, origin=waited.origin)
    second = replace(writing, id=workspace.ids.new(now))  # for a composed record beside the new one
    record = build_record(draft, writing)
    cites, cited = (waited.cites, ()) if waited else _cite(workspace, draft, record)
    record = record.model_copy(update={"cites": cites})
    same, stated = await find_exact_matches(workspace, bank, record, view)
    record, tombstones = await _find_answered(workspace, record, same)
    for memory_id in set(record.supersedes) - tombstones:
        _refuse_other_scope(await require_memory(workspace, memory_id, view), record)
    decision = await decide_duplicate(workspace, bank, record, same, view=view, until=until)
    match decision:
        case Skip(known):
            notes = _describe_labels_kept(record, known)
            notes += await sync_profile(workspace, known)  # a repeated fact is renewed
            return AlreadyKnown(known, redactions=redactions, notes=notes)
        case Refuse(tombstone):
            return MemoryRejected(tombstone, find_author(workspace, tombstone))
        case Insert() if record.importance < (least := workspace.policy.merging.min_importance):
            return MemoryDeclined(_TOO_LITTLE.format(record.importance, least))
        case Insert() | Merge():
            outcome = await _write(
                workspace, bank, record, decision, second, view=view, stated=stated
            )
    if outcome is None:
        return None
    returns = outcome.record.content in outcome.repeats  # what it says of the user is news again
    notes = (
        *outcome.notes,
        *cited,
        *await sync_profile(workspace, outcome.record, () if returns else outcome.replaced),
        *await describe_line(workspace, outcome.record, frozenset({record.id})),
        *await describe_sealed_phase(workspace, timeline, record.phase, once=True),
        *await describe_pending(workspace),
        *await describe_strangers_once(workspace),
        *(describe_no_project(workspace) if record.scope.reach == "project" else ()),
    )
    replaced = tuple(id_ for id_ in outcome.replaced if id_ not in tombstones)
    return replace(outcome, replaced=replaced, notes=notes, redactions=redactions)


def _cite(
    workspace: Workspace, draft: Draft, record: Record
) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """What the memory cites, and what is to be said of it; without any, what it could cite."""
    if draft.reach != "project":
        return (), ((_CITES_NOTHING.format(draft.reach),) if draft.cites else ())
    if draft.cites:
        return cite_places(workspace, draft.cites, record.origin.commit)
    return (), propose_citations(workspace, draft.content)


async def _resolve_ids(workspace: Workspace, ids: Sequence[str], view: View) -> tuple[str, ...]:
    """The whole ids, each once; a part of an id stands for the only memory that has it."""
    whole = [
        id_ if is_record_id(id_) else (await require_memory(workspace, id_, view)).id for id_ in ids
    ]
    return tuple(dict.fromkeys(whole))


async def _find_answered(
    workspace: Workspace, record: Record, same: Sequence[Record]
) -> tuple[Record, set[RecordId]]:
    """The record, and the tombstones that it may supersede.

    When it supersedes the rejection of a fact in the profile, it also supersedes the memory that
    says the same already: otherwise it would count as known.
    """
    tombstones = {r.id for r in same if r.kind == "tombstone"}
    if not record.supersedes:
        return record, tombstones
    rejected = {t.id for t in (await find_rejected_facts(workspace, record)).values()}
    if not rejected.intersection(record.supersedes):
        return record, tombstones
    known = {r.id for r in same if r.recalled and r.durable and find_profile_field(r) is None}
    supersedes = tuple(dict.fromkeys((*record.supersedes, *sorted(known))))
    return record.model_copy(update={"supersedes": supersedes}), tombstones | rejected


async def _keep(
    bank: MemoryBank, records: Sequence[Record], stated: Stated | None, view: View
) -> tuple[str, ...] | None:
    """Store the records unless others have stored the statement; without a look, in any case."""
    return await (bank.keep_new(records, stated, view) if stated else bank.keep_each(records))


async def _write(
    workspace: Workspace,
    bank: MemoryBank,
    new: Record,
    decision: Insert | Merge,
    second: RecordContext,
    *,
    view: View,
    stated: Stated | None,
) -> MemoryAdded | None:
    """Store the memory, or one in place of old ones; None if others have stored the same.

    A composed text is a record of its own that names its parts. It is written first, so that a cut
    loses nothing.
    """
    if isinstance(decision, Insert):
        kept = await _keep(bank, [new], stated, view)
        if kept is None:
            return None
        notes = decision.notes + kept
        return MemoryAdded(new, replaced=new.supersedes, notes=notes, similar=decision.similar)
    composed = decision.text != new.content  # else nothing of the old ones is left to keep
    whole = join_records(new, decision.olds)
    if composed:
        whole = join_records(new, decision.olds, text=decision.text, writing=second)
        whole = await place_merge(workspace, view, decision.olds, whole, new.content)
    notes = await _keep(bank, [whole, new] if composed else [whole], stated, view)
    if notes is None:
        return None
    if composed and not await bank.index.visible([whole.id], view):  # an old one was just forgotten
        await bank.erase(await bank.index.ordered({whole.id}))
        return MemoryAdded(new, notes=notes)
    contradictions = tuple(Contradiction(old.id, old.content, new.content) for old in decision.olds)
    return MemoryAdded(
        whole,
        replaced=tuple(dict.fromkeys((*(old.id for old in decision.olds), *new.supersedes))),
        notes=notes,
        merged=bool(whole.derived_from),
        contradictions=contradictions if decision.contradicts else (),
        similar=decision.similar,
        repeats=() if decision.contradicts else tuple(old.content for old in decision.olds),
    )


async def _judge_chatter(workspace: Workspace, draft: Draft, until: float) -> str:
    """Why this is not worth a memory; empty if it is."""
    from memory_mcp.text.gate import Chatter, judge_worth  # noqa: PLC0415  # few calls ask

    if workspace.language is not None:
        try:
            async with asyncio.timeout_at(until):
                judgement = await workspace.language.classify(draft.content)
        except (ModelUnavailableError, TimeoutError):
            pass
        else:
            return "" if judgement.keep else f"is {judgement.reason}."
    match judge_worth(draft.content, draft.kind):
        case Chatter(reason):
            return reason
        case _:
            return ""


def _describe_labels_kept(new: Record, known: Record) -> tuple[str, ...]:
    """A note on labels of the new memory that the known one does not take over."""
    differs = {
        "title": new.title and new.title != known.title,
        "category": new.category and new.category != known.category,
        "tags": not set(new.tags) <= set(known.tags),
        "importance": new.importance not in (known.importance, limits.IMPORTANCE_DEFAULT),
        "pinned": new.pinned and not known.pinned,
        "kind": new.kind not in (known.kind, "fact"),
        "citations": new.cites and new.cites != known.cites,
    }
    names = " and ".join(name for name, other in differs.items() if other)
    if not names:
        return ()
    return (
        f"Its {names} stay as they were: {name_argument('supersedes', [known.id])} changes them.",
    )


def _refuse_other_scope(old: Record, new: Record) -> None:
    """Refuse to replace a memory of one scope by one of another."""
    refuse_checkpoint(old)
    if (scope := old.scope.reach) != new.scope.reach:
        raise InvalidRequestError(
            f"{name_id(old.id)} is in the {scope} scope, so only a memory with "
            f"{name_argument('scope', scope)} can supersede it. Add this one with that scope, or "
            f"without {name_argument('supersedes')}."
        )
