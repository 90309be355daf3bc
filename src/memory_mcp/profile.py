"""Keeps the profile of the user in step with the memories of the user scope.

A fact of the profile is a record that names the memory it was drawn from. It holds only while that
memory does, unless another memory says the same. If a fact cannot be written, only the fact is
lost, never the memory.
"""

from collections.abc import Collection, Sequence
from typing import Final

from memory_mcp.domain.deduplication import find_rejection
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.profile import PROFILE_CATEGORY, Profile, ProfileFact, find_profile_field
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, Hit, View
from memory_mcp.engine.head import load_view
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_reads
from memory_mcp.errors import StoreError
from memory_mcp.hints import name_argument
from memory_mcp.text.profile import (
    PUT_IN,
    SPEAKING_KINDS,
    TAKEN_OUT,
    StoredFact,
    build_fact_record,
    build_fact_tombstone,
    find_last_statement,
    may_contradict,
    order_entries,
    parse_entry,
    plan_profile,
    read_contradicted,
    read_facts_of_memory,
    suggest_user_scope,
)
from memory_mcp.zones import find_time_zone

_FACTS: Final = Filters(category=PROFILE_CATEGORY, kinds=frozenset({"fact"}), durable=True)
_SPEAKING: Final = Filters(kinds=SPEAKING_KINDS, durable=True)

_FACTS_MAX: Final = 200
"""There are 30 facts at most, and what others may have filed under the same category."""

_MEMORIES_MAX: Final = 2_000
"""Memories that are read again when a fact loses its source: about a second, and seldom."""

_NOT_UP_TO_DATE: Final = "The profile was not brought up to date: {}"
_REJECTED: Final = (
    "Not put into the profile: {}, which was rejected on {:%Y-%m-%d} ({}). If it holds after all, "
    "say so in a memory with {}."
)


async def sync_profile(
    workspace: Workspace, record: Record, replaced: Sequence[RecordId] = ()
) -> tuple[str, ...]:
    """Draw from a memory that was just stored what it says of the user; return notes about it.

    Facts drawn from what it `replaced` fall, unless it or another memory says them. Doing this
    twice is doing it once. Of a memory that is not the user's own a note says that it could be in
    the profile.
    """
    facts = read_facts_of_memory(record)
    if record.scope.reach != "user":
        return suggest_user_scope(facts)
    if not (facts or replaced or may_contradict(record)):
        return ()
    try:
        return await _update_profile(workspace, record, facts, replaced)
    except StoreError as error:
        return (_NOT_UP_TO_DATE.format(error),)


async def read_profile(workspace: Workspace, view: View) -> Profile:
    """What is known of the user now."""
    stored = await _load_facts(workspace.user, view)
    return order_entries([fact.entry for fact in stored if fact.stands])


async def get_profile(workspace: Workspace) -> Profile | Skipped:
    """The profile with what it rests on, for a caller that may read."""
    if skipped := refuse_reads(workspace):
        return skipped
    return await read_profile(workspace, await load_view(workspace))


async def drop_unsupported_hits(workspace: Workspace, hits: Sequence[Hit], view: View) -> list[Hit]:
    """The hits without facts whose source is gone, as between a correction and its consequences."""
    sources = {s for h in hits if find_profile_field(h.record) for s in h.record.derived_from}
    visible = await _find_visible(workspace.user, sources, view)
    return [
        hit
        for hit in hits
        if not find_profile_field(hit.record) or visible.issuperset(hit.record.derived_from)
    ]


async def load_affected_facts(
    workspace: Workspace, bank: MemoryBank, target: Record
) -> Sequence[StoredFact]:
    """The facts that may fall with a memory of this bank; a fact by itself takes none along."""
    if bank is not workspace.user or find_profile_field(target) is not None:
        return ()
    return [fact for fact in await _load_facts(bank, _make_view(workspace)) if fact.stands]


async def restore_facts(
    workspace: Workspace,
    bank: MemoryBank,
    record_ids: Sequence[RecordId],
    before: Sequence[StoredFact],
) -> tuple[str, ...]:
    """Draw facts anew, after a forget, from memories that hold again or still say the same.

    `before` is what `load_affected_facts` gave. This is no news: it fills what is empty, and
    overrides nothing that was said since.
    """
    if bank is not workspace.user:
        return ()
    notes: list[str] = []
    try:
        for record in await load_records(
            bank, sorted(await _find_visible(bank, record_ids, _make_view(workspace)))
        ):
            notes += await sync_profile(workspace, record, (record.id,))
        notes += await _draw_from_others(workspace, before)
    except StoreError as error:
        notes.append(_NOT_UP_TO_DATE.format(error))
    return tuple(notes)


async def find_rejected_facts(workspace: Workspace, record: Record) -> dict[ProfileFact, Record]:
    """The facts of a memory that the user rejected, with the tombstones that say so."""
    if record.scope.reach != "user":
        return {}
    facts = read_facts_of_memory(record)
    return await _find_rejected(workspace.user, facts, _make_view(workspace))


async def _update_profile(
    workspace: Workspace, record: Record, facts: Sequence[ProfileFact], replaced: Sequence[RecordId]
) -> tuple[str, ...]:
    bank, view = workspace.user, _make_view(workspace)
    stored = await _load_facts(bank, view)
    sources = dict.fromkeys(id_ for fact in stored for id_ in fact.entry.sources)
    there = {each.id: each for each in await load_records(bank, list(sources))}
    facts = (*facts, *read_contradicted(record, facts, stored, there))
    known = [fact for fact in facts if not _is_unknown_zone(fact)]
    notes = tuple(
        f"{fact.value!r} is no time zone that is known here; name one like Europe/Berlin."
        for fact in facts
        if _is_unknown_zone(fact)
    )
    rejected = await _find_rejected(bank, known, view)
    notes += tuple(
        _REJECTED.format(
            fact.line,
            tombstone.created_at,
            tombstone.content,
            name_argument("supersedes", [tombstone.id]),
        )
        for fact, tombstone in rejected.items()
    )
    before = [
        fact
        for old in await load_records(bank, list(replaced))
        for fact in read_facts_of_memory(old)
    ]
    accepted = [fact for fact in known if fact not in rejected]
    notes += await _write_plan(workspace, record, accepted, stored, before)
    lost = [fact for fact in stored if not fact.stands]
    found = await _draw_from_others(workspace, lost)
    for line in (fact.entry.fact.line for fact in lost):  # no news: another memory says it too
        taken_out, put_in = TAKEN_OUT.format(line), PUT_IN.format(line, "")
        if taken_out in notes and put_in in found:
            notes = tuple(note for note in notes if note != taken_out)
            found = tuple(note for note in found if note != put_in)
    return notes + found


async def _write_plan(
    workspace: Workspace,
    record: Record,
    facts: Sequence[ProfileFact],
    stored: Sequence[StoredFact],
    before: Sequence[ProfileFact],
) -> tuple[str, ...]:
    bank = workspace.user
    plan = plan_profile(record, facts, stored, before)
    notes: tuple[str, ...] = ()
    for fact, supersedes in plan.facts:
        id_ = workspace.ids.new(record.created_at)
        notes += await bank.keep(build_fact_record(fact, supersedes, record, id_))
    if plan.fallen:
        id_ = workspace.ids.new(record.created_at)
        notes += await bank.keep(build_fact_tombstone(plan.fallen, record, id_))
    return (*notes, *plan.notes)


async def _draw_from_others(workspace: Workspace, lost: Sequence[StoredFact]) -> tuple[str, ...]:
    """Draw facts that lost their source from another memory that still says them."""
    bank, view = workspace.user, _make_view(workspace)
    standing = [f.entry.fact for f in await _load_facts(bank, view) if f.stands] if lost else []
    lost = [each for each in lost if not any(map(each.entry.fact.is_same_as, standing))]
    if not lost:
        return ()
    records = await load_records(bank, await bank.index.find(view, _SPEAKING, _MEMORIES_MAX))
    statements = [(record, facts) for record in records if (facts := read_facts_of_memory(record))]
    notes: tuple[str, ...] = ()
    for each in lost:
        if (statement := find_last_statement(each, statements)) is None:
            continue
        record, fact = statement
        if _is_unknown_zone(fact) or await _find_rejected(bank, [fact], view):
            continue
        stored = await _load_facts(bank, view)
        notes += await _write_plan(workspace, record, [fact], stored, [fact])
    return notes


async def _find_rejected(
    bank: MemoryBank, facts: Sequence[ProfileFact], view: View
) -> dict[ProfileFact, Record]:
    found: dict[ProfileFact, Record] = {}
    for fact in facts:
        if fact.holds:
            ids = await bank.index.find(view, Filters(statement=digest(fact.line)), _FACTS_MAX)
            if tombstone := find_rejection(await load_records(bank, ids)):
                found[fact] = tombstone
    return found


async def _load_facts(bank: MemoryBank, view: View) -> list[StoredFact]:
    """The visible facts: those that end first, then the newest."""
    records = await load_records(bank, await bank.index.find(view, _FACTS, _FACTS_MAX))
    found = [(record, entry) for record in records if (entry := parse_entry(record))]
    found.sort(key=lambda each: each[1].until is None)
    sources = {source for record, _ in found for source in record.derived_from}
    visible = await _find_visible(bank, sources, view)
    return [
        StoredFact(entry, record, visible.issuperset(record.derived_from))
        for record, entry in found
    ]


async def _find_visible(
    bank: MemoryBank, record_ids: Collection[RecordId], view: View
) -> set[RecordId]:
    return await bank.index.visible(record_ids, view) if record_ids else set()


def _make_view(workspace: Workspace) -> View:
    """The view on the user's records: they are on no timeline."""
    return View(frozenset(), workspace.clock.now())


def _is_unknown_zone(fact: ProfileFact) -> bool:
    return fact.field == "time_zone" and bool(fact.value) and find_time_zone(fact.value) is None
