"""The profile of the user: kept in step with what the memories of the user scope say.

It is written beside the memories, never instead of them, and rests on them: what a fact was drawn
from is named in it, and where that does not hold the fact does not either, unless another memory
says the same. What keeps a fact from being written costs the fact, never the memory.
"""

from collections.abc import Sequence
from datetime import timedelta, timezone, tzinfo
from re import fullmatch
from typing import Final
from zoneinfo import ZoneInfo

from memory_mcp.deduplication.decide import rejection
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.profile import PROFILE_CATEGORY, Profile, ProfileFact, field_of
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, Hit, View
from memory_mcp.engine.head import load_view
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Pool, Workspace, refuse_reads
from memory_mcp.errors import StoreError
from memory_mcp.text.profile import (
    PUT_IN,
    SPEAKING_KINDS,
    TAKEN_OUT,
    KeptFact,
    build_fact_record,
    build_fact_tombstone,
    find_last_statement,
    order_entries,
    plan_profile,
    read_entry,
    read_memory,
    suggest_user_scope,
)

_FACTS: Final = Filters(category=PROFILE_CATEGORY, kinds=frozenset({"fact"}), durable=True)
_SAYING: Final = Filters(kinds=SPEAKING_KINDS, durable=True)

_LOOKED_AT: Final = 200
"""Facts there are at most (30), and what others may have filed under the same category."""

_ASKED_AGAIN_MAX: Final = 2_000
"""Memories that are read again when a fact loses its source: about a second, and seldom."""

_NOT_UP_TO_DATE: Final = "The profile was not brought up to date: {}"
_REJECTED: Final = (
    "Not put into the profile: {}, which was rejected on {:%Y-%m-%d} ({}). If it holds after all, "
    "say so in a memory with supersedes=[{!r}]."
)


async def profile_sync(
    workspace: Workspace, record: Record, replaced: Sequence[RecordId] = ()
) -> tuple[str, ...]:
    """Draw from a memory that was just stored what it says of the user; what to tell about it.

    Facts that were drawn from what it `replaced`, and that neither it nor another memory says,
    fall. Doing this twice is doing it once. Of a memory of the project it is only said that it
    could be in the profile.
    """
    said = read_memory(record)
    if record.scope.project is not None:
        return suggest_user_scope(said)
    if not said and not replaced:
        return ()
    try:
        return await _brought_up_to_date(workspace, record, said, replaced)
    except StoreError as error:
        return (_NOT_UP_TO_DATE.format(error),)


async def read_profile(workspace: Workspace, view: View) -> Profile:
    """What is known of the user now."""
    return order_entries([k.entry for k in await _kept(workspace.user, view) if k.stands])


async def user_profile(workspace: Workspace) -> Profile | Skipped:
    """What is known of the user, for whoever wants to see what it rests on."""
    if skipped := refuse_reads(workspace):
        return skipped
    return await read_profile(workspace, await load_view(workspace))


async def standing_hits(workspace: Workspace, hits: Sequence[Hit], view: View) -> list[Hit]:
    """The hits without facts whose source is gone, as between a correction and its consequences."""
    rests = {s for h in hits if field_of(h.record) for s in h.record.derived_from}
    there = await workspace.user.index.visible(rests, view) if rests else set[RecordId]()
    return [h for h in hits if not field_of(h.record) or there.issuperset(h.record.derived_from)]


async def profile_before(workspace: Workspace, pool: Pool, target: Record) -> Sequence[KeptFact]:
    """The facts that a memory of this pool may take along; a fact by itself takes none."""
    if pool is not workspace.user or field_of(target) is not None:
        return ()
    return [k for k in await _kept(pool, _now(workspace)) if k.stands]


async def profile_again(
    workspace: Workspace, pool: Pool, record_ids: Sequence[RecordId], before: Sequence[KeptFact]
) -> tuple[str, ...]:
    """Draw anew, after a forget, from what holds again and from what says the same still.

    `before` is what `profile_before` said. This is no news: it fills what is empty, and overrides
    nothing that was said since.
    """
    if pool is not workspace.user:
        return ()
    notes: list[str] = []
    try:
        there = await pool.index.visible(record_ids, _now(workspace)) if record_ids else ()
        for record in await load_records(pool, sorted(there)):
            notes += await profile_sync(workspace, record, (record.id,))
        notes += await _from_others(workspace, before)
    except StoreError as error:
        notes.append(_NOT_UP_TO_DATE.format(error))
    return tuple(notes)


async def rejected_facts(workspace: Workspace, record: Record) -> dict[ProfileFact, Record]:
    """What a memory says of the user that the user rejected, with the tombstones that say so."""
    if record.scope.project is not None:
        return {}
    return await _rejected(workspace.user, read_memory(record), _now(workspace))


def zone_named(name: str) -> tzinfo | None:
    """The time zone of that name, if this machine knows it: `Europe/Berlin`, `UTC`, `UTC+2`."""
    if offset := fullmatch(r"(?:UTC|GMT)\s?([+-])(\d{1,2})(?::(\d\d))?", name):
        sign, hours, minutes = offset.groups()
        away = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(away if sign == "+" else -away, name) if away < timedelta(days=1) else None
    try:
        return ZoneInfo(name) if name else None
    except (LookupError, ValueError, OSError):  # none of that name, no name at all, or a folder
        return None


async def _brought_up_to_date(
    workspace: Workspace, record: Record, said: Sequence[ProfileFact], replaced: Sequence[RecordId]
) -> tuple[str, ...]:
    pool, view = workspace.user, _now(workspace)
    known = [f for f in said if not _unknown_zone(f)]
    notes = tuple(
        f"{f.value!r} is no time zone that is known here; name one like Europe/Berlin."
        for f in said
        if _unknown_zone(f)
    )
    rejected = await _rejected(pool, known, view)
    notes += tuple(
        _REJECTED.format(f.line, t.created_at, t.content, t.id) for f, t in rejected.items()
    )
    kept = await _kept(pool, view)
    before = [fact for old in await load_records(pool, list(replaced)) for fact in read_memory(old)]
    notes += await _carried_out(
        workspace, record, [f for f in known if f not in rejected], kept, before
    )
    lost = [k for k in kept if not k.stands]
    found = await _from_others(workspace, lost)
    for line in (k.entry.fact.line for k in lost):  # no news: another memory says it too
        taken, given = TAKEN_OUT.format(line), PUT_IN.format(line, "")
        if taken in notes and given in found:
            notes = tuple(note for note in notes if note != taken)
            found = tuple(note for note in found if note != given)
    return notes + found


async def _carried_out(
    workspace: Workspace,
    record: Record,
    said: Sequence[ProfileFact],
    kept: Sequence[KeptFact],
    before: Sequence[ProfileFact],
) -> tuple[str, ...]:
    pool = workspace.user
    plan = plan_profile(record, said, kept, before)
    notes: tuple[str, ...] = ()
    for fact, supersedes in plan.facts:
        notes += await pool.keep(
            build_fact_record(fact, supersedes, record, workspace.ids.new(record.created_at))
        )
    if plan.fallen:
        notes += await pool.keep(
            build_fact_tombstone(plan.fallen, record, workspace.ids.new(record.created_at))
        )
    return (*notes, *plan.notes)


async def _from_others(workspace: Workspace, lost: Sequence[KeptFact]) -> tuple[str, ...]:
    """Draw what lost its source from another memory that says it still."""
    pool, view = workspace.user, _now(workspace)
    kept = await _kept(pool, view) if lost else []
    lost = [k for k in lost if not any(_same(k, other) for other in kept if other.stands)]
    if not lost:
        return ()
    found = await load_records(pool, await pool.index.find(view, _SAYING, _ASKED_AGAIN_MAX))
    told = [(record, said) for record in found if (said := read_memory(record))]
    notes: tuple[str, ...] = ()
    for one in lost:
        if (said := find_last_statement(one, told)) is None:
            continue
        record, fact = said
        if _unknown_zone(fact) or await _rejected(pool, [fact], view):
            continue
        notes += await _carried_out(workspace, record, [fact], await _kept(pool, view), [fact])
    return notes


async def _rejected(
    pool: Pool, said: Sequence[ProfileFact], view: View
) -> dict[ProfileFact, Record]:
    found: dict[ProfileFact, Record] = {}
    for fact in said:
        if fact.holds:
            ids = await pool.index.find(view, Filters(statement=digest(fact.line)), _LOOKED_AT)
            if tombstone := rejection(await load_records(pool, ids)):
                found[fact] = tombstone
    return found


async def _kept(pool: Pool, view: View) -> list[KeptFact]:
    """The visible facts, what is said for a while first, then the newest; and which ones stand.

    One does not, for a moment, between a correction and what follows from it.
    """
    records = await load_records(pool, await pool.index.find(view, _FACTS, _LOOKED_AT))
    found = [(record, entry) for record in records if (entry := read_entry(record))]
    found.sort(key=lambda each: each[1].until is None)
    sources = {source for record, _ in found for source in record.derived_from}
    there = await pool.index.visible(sources, view) if sources else set[RecordId]()
    return [KeptFact(e, record, there.issuperset(record.derived_from)) for record, e in found]


def _now(workspace: Workspace) -> View:
    return View(frozenset(), workspace.clock.now())  # nothing of the user's is on a timeline


def _same(one: KeptFact, other: KeptFact) -> bool:
    return one.entry.fact.same_as(other.entry.fact)


def _unknown_zone(fact: ProfileFact) -> bool:
    return fact.field == "time_zone" and bool(fact.value) and zone_named(fact.value) is None
