"""Compares incoming records with those that exist, and finds what an import would do to them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from typing import Final

from memory_mcp.domain.deduplication import makes_superfluous
from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.git import choose_segment, explain_elsewhere, select_here
from memory_mcp.engine.head import load_head_to_write, make_view
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import StoreError
from memory_mcp.frozen import frozen
from memory_mcp.listing import list_disputes
from memory_mcp.timeline.moves import fold_moves
from memory_mcp.timeline.visibility import is_reachable

FORGOTTEN: Final = "was forgotten here"

_LINE_CHARS_MAX: Final = 100
_STATEMENTS_MAX: Final = 500
"""Statements asked for in one query."""
NAMED_MAX: Final = 5
"""How many memories of each sort a report names."""
NO_LIMIT: Final = 1_000_000_000
"""More than any bank holds."""


@frozen
class Inventory:
    """What exists before the import, seen from the caller's branch; `erased` never comes back."""

    timeline: Timeline
    branch: BranchName
    segment: SegmentId
    view: View
    ids_of: Mapping[Reach, AbstractSet[RecordId]]
    erased: AbstractSet[RecordId]

    @property
    def ids(self) -> AbstractSet[RecordId]:
        """The ids of all banks."""
        return frozenset[RecordId]().union(*self.ids_of.values())


@frozen
class ExistingRecords:
    """The existing records with the same id, or the same statement, as incoming ones.

    `successors` are the records that superseded or buried one of the same id; `elsewhere` says of
    those that do not stand on this commit of git where they do. `contradicted` says when a later
    memory first contradicted one of the same statement.
    """

    inventory: Inventory
    same_id: Mapping[RecordId, Record]
    visible: AbstractSet[RecordId]
    successors: Mapping[RecordId, Record]
    elsewhere: Mapping[RecordId, str]
    by_statement: Mapping[tuple[Reach, str], Sequence[Record]]
    contradicted: Mapping[RecordId, datetime]

    def find_twins(self, record: Record) -> Sequence[Record]:
        """Visible records with this very statement, and tombstones that reject it."""
        return self.by_statement.get(statement_key(record), ()) if record.statement else ()

    def holds_already(self, record: Record) -> bool:
        """Whether a visible memory says the same, and nothing has contradicted it before this."""
        return any(
            makes_superfluous(twin, record)
            and not (
                twin.id in self.contradicted and self.contradicted[twin.id] < record.created_at
            )
            for twin in self.find_twins(record)
        )

    def explain_conflict(self, record: Record) -> str:
        """Why a record whose id exists does not count as known; empty if it does."""
        existing = self.same_id.get(record.id)
        if existing is None:
            return "is here, and cannot be read: `memory-mcp doctor` says why"
        if (existing.statement, existing.kind) != (record.statement, record.kind):
            return f"differs from the memory of that id here: {summarise_in_line(existing)}"
        why = self.elsewhere.get(record.id, "")
        if why or record.id in self.visible:
            return why and f"is here, and {why}"
        successor = self.successors.get(record.id)
        if successor is None:
            return self._explain_hidden(existing)
        if successor.kind == "tombstone":
            return FORGOTTEN
        return f"was superseded here by {successor.id}: {summarise_in_line(successor)}"

    def _explain_hidden(self, existing: Record) -> str:
        view, timeline = self.inventory.view, self.inventory.timeline
        if existing.expires_at is not None and existing.expires_at <= view.now:
            return f"expired on {existing.expires_at:%Y-%m-%d}"
        on = [b for b in timeline.branches if existing.segment in timeline.chain(b)]
        if existing.segment is not None and on and existing.segment not in view.chain:
            return f"is here on the branch {on[0]}"
        return "is here on a road that was left"

    def holds_same(self, record: Record) -> bool:
        """Whether a record of that id is equal to this one, or is visible and says the same."""
        if record.id not in self.inventory.ids:
            return False
        return self.same_id.get(record.id) == record or not self.explain_conflict(record)


async def take_inventory(workspace: Workspace) -> Inventory:
    """What exists now."""
    timeline = (await load_head_to_write(workspace)).timeline
    ids: list[set[RecordId]] = []
    erased: set[RecordId] = set()
    for bank in workspace.banks:
        ids.append(await bank.index.ids() | await bank.records.ids())
        erased |= await bank.index.erased()
        if bank.mirror:
            erased |= await bank.mirror.outbox.gone()
    view = make_view(workspace, timeline)
    segment = choose_segment(workspace, timeline)
    return Inventory(
        timeline,
        workspace.caller.branch,
        segment,
        view,
        dict(zip(workspace.reaches, ids, strict=True)),
        erased,
    )


async def load_existing(
    workspace: Workspace, inventory: Inventory, records: Sequence[Record]
) -> ExistingRecords:
    """The existing records that these incoming ones are compared with."""
    wanted = {record.id for record in records} & inventory.ids
    same_id: dict[RecordId, Record] = {}
    visible: set[RecordId] = set()
    for reach, ids in inventory.ids_of.items():
        bank = workspace.bank_of(reach)
        if some := wanted & ids:
            same_id |= {record.id: record for record in await load_records(bank, sorted(some))}
            visible |= await bank.index.visible(some, inventory.view)
    hidden = wanted - visible
    successors = await _find_successors(workspace, hidden, inventory) if hidden else {}
    by_statement = await _load_by_statement(workspace, inventory, records)
    elsewhere = {id_: explain_elsewhere(workspace, each) for id_, each in same_id.items()}
    keys = {statement_key(record) for record in records if record.id not in inventory.ids}
    contradicted = await _find_contradicted(
        workspace, inventory, [twin for key in keys for twin in by_statement.get(key, ())]
    )
    return ExistingRecords(
        inventory, same_id, visible, successors, elsewhere, by_statement, contradicted
    )


async def _find_contradicted(
    workspace: Workspace, inventory: Inventory, twins: Sequence[Record]
) -> dict[RecordId, datetime]:
    """When a later memory first contradicted each of these, as far as the banks can be asked."""
    found: dict[RecordId, datetime] = {}
    with suppress(StoreError):
        for each in await list_disputes(workspace, inventory.view, twins):
            found[each.older.id] = each.newer.created_at  # the newest first, so the oldest stays
    return found


async def _find_successors(
    workspace: Workspace, hidden: AbstractSet[RecordId], inventory: Inventory
) -> dict[RecordId, Record]:
    """What superseded these on the caller's branch. Reads every record; imports are rare."""
    found: dict[RecordId, Record] = {}
    for bank in workspace.banks:
        async for record in bank.records.scan(await bank.records.ids()):
            if is_reachable(record, inventory.view):
                found |= dict.fromkeys(hidden & set(record.supersedes), record)
    return found


async def _load_by_statement(
    workspace: Workspace, inventory: Inventory, records: Sequence[Record]
) -> dict[tuple[Reach, str], list[Record]]:
    """Visible records with the statements of these, and tombstones of any bank, that stand here.

    A bank whose index cannot be asked is left out, as when one memory is added.
    """
    found: dict[tuple[Reach, str], list[Record]] = defaultdict(list)
    statements = sorted({record.statement for record in records} - {""}) if inventory.ids else []
    for start in range(0, len(statements), _STATEMENTS_MAX):
        filters = Filters(statements=frozenset(statements[start : start + _STATEMENTS_MAX]))
        for reach, bank in zip(workspace.reaches, workspace.banks, strict=True):
            try:
                ids = await bank.index.find(inventory.view, filters, NO_LIMIT)
            except StoreError:
                continue
            for record in select_here(workspace, await load_records(bank, ids)):
                for each in workspace.reaches if record.kind == "tombstone" else (reach,):
                    found[each, record.statement].append(record)
    return found


def statement_key(record: Record) -> tuple[Reach, str]:
    """Whose the record is, and what it states."""
    return record.scope.reach, record.statement


def summarise_in_line(record: Record) -> str:
    """A record's title and first words, in one line."""
    text = f"{record.title}: {record.content}" if record.title else record.content
    text = " ".join(text.split())
    return text if len(text) <= _LINE_CHARS_MAX else f"{text[: _LINE_CHARS_MAX - 1]}\u2026"


@frozen
class TouchedMemories:
    """How many existing memories an import erases, hides or replaces, and the first of them."""

    count: int = 0
    first: tuple[str, ...] = ()


@frozen
class ImportEffects:
    """What an import does to the memories that exist; each of them counts once."""

    erases: TouchedMemories = TouchedMemories()
    hides: TouchedMemories = TouchedMemories()
    replaces: TouchedMemories = TouchedMemories()


async def find_effects(
    workspace: Workspace, inventory: Inventory, records: Sequence[Record]
) -> ImportEffects:
    """What these records would do to the existing memories."""
    joined = fold_moves(records, onto=inventory.timeline)
    erases: list[tuple[MemoryBank, set[RecordId]]] = []
    hides: list[tuple[MemoryBank, set[RecordId]]] = []
    replaces: list[tuple[MemoryBank, set[RecordId]]] = []
    for reach, ids in inventory.ids_of.items():
        bank = workspace.bank_of(reach)
        own = [record for record in records if record.scope.reach == reach]
        erased = {id_ for record in own for id_ in record.erases}
        if erased:
            erased = (erased | await bank.index.derived(erased)) & ids
        buried, superseded = await _find_suppressed(bank, inventory, joined, records)
        hidden = (await _find_left(bank, inventory, joined) | buried) - erased
        erases.append((bank, erased))
        hides.append((bank, hidden))
        replaces.append((bank, superseded - erased - hidden))
    return ImportEffects(await _describe(erases), await _describe(hides), await _describe(replaces))


async def _find_left(bank: MemoryBank, inventory: Inventory, joined: Timeline) -> set[RecordId]:
    """What some branch shows now, and does not once the timelines are joined."""
    found: set[RecordId] = set()
    for branch in inventory.timeline.branches:
        now = View(inventory.timeline.chain(branch), inventory.view.now)
        after = View(joined.chain(branch), inventory.view.now)
        if lost := now.chain - after.chain:
            seen = set(await bank.index.find(now, Filters(segments=lost), NO_LIMIT))
            found |= seen - await bank.index.visible(seen, after)
    return found


async def _find_suppressed(
    bank: MemoryBank, inventory: Inventory, joined: Timeline, records: Sequence[Record]
) -> tuple[set[RecordId], set[RecordId]]:
    """The visible records that incoming ones bury, and those that they supersede."""
    chain = joined.chain(inventory.branch)
    buried: set[RecordId] = set()
    superseded: set[RecordId] = set()
    for record in records:
        if record.segment is None or record.segment in chain:
            (buried if record.kind == "tombstone" else superseded).update(record.supersedes)
    named = buried | superseded
    seen = await bank.index.visible(named, inventory.view) if named else set[RecordId]()
    return buried & seen, superseded & seen


async def _describe(touched: list[tuple[MemoryBank, set[RecordId]]]) -> TouchedMemories:
    first: list[str] = []
    for bank, ids in touched:
        first += [summarise_in_line(r) for r in await load_records(bank, sorted(ids)[:NAMED_MAX])]
    return TouchedMemories(sum(len(ids) for _, ids in touched), tuple(first[:NAMED_MAX]))
