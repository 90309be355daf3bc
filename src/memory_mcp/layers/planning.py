"""Plans the records of several writes to one node, each as of after those before it."""

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.layers import (
    ArchivalUpdate,
    ArchivalWrite,
    Consolidate,
    CoreDelete,
    CoreSet,
    LayerReceipt,
    RecallAppend,
    RecallEvict,
    Write,
)
from memory_mcp.domain.record import CORE_PREFIX, Record, RecordContext
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.head import make_view, make_writing
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.frozen import mutable
from memory_mcp.layers.selecting import (
    CORE,
    choose_events,
    find_inherited_events,
    find_successor,
    require_same_node,
)
from memory_mcp.text.drafts import build_exclusion
from memory_mcp.text.layers import (
    build_archival,
    build_core,
    build_core_tombstone,
    build_event,
    build_summary,
    make_label_tags,
    update_archival,
)

_EVICTED: Final = "Taken out of the window."
_SUMMED_UP: Final = "A summary stands in their place."


@mutable
class LayerPlan:
    """The records planned so far.

    `keys` are what the core holds of the keys that were written; by `more` keys it has grown.
    """

    workspace: Workspace
    timeline: Timeline
    at: datetime
    records: list[Record] = field(default_factory=list[Record])
    keys: dict[str, tuple[RecordId, ...]] = field(default_factory=dict[str, tuple[RecordId, ...]])
    more: int = 0
    core_set: list[str] = field(default_factory=list[str])
    core_deleted: list[str] = field(default_factory=list[str])
    events: list[RecordId] = field(default_factory=list[RecordId])
    archival: list[RecordId] = field(default_factory=list[RecordId])
    evicted: int = 0
    summary: RecordId | None = None
    sums_up: int = 0
    notes: list[str] = field(default_factory=list[str])

    @property
    def view(self) -> View:
        return make_view(self.workspace, self.timeline)

    def place(self) -> RecordContext:
        return make_writing(self.workspace, self.timeline, self.at)

    def make_receipt(self, notes: tuple[str, ...]) -> LayerReceipt:
        return LayerReceipt(
            node=self.workspace.caller.branch,
            core_set=tuple(dict.fromkeys(self.core_set)),
            core_deleted=tuple(self.core_deleted),
            events=tuple(self.events),
            archival=tuple(self.archival),
            evicted=self.evicted,
            summary=self.summary,
            sums_up=self.sums_up,
            notes=(*self.notes, *notes),
        )


async def plan_writes(
    workspace: Workspace, timeline: Timeline, writes: Sequence[Write]
) -> LayerPlan:
    """The records of these writes on the caller's node.

    Raises:
        InvalidRequestError: one of them cannot be stored.
        UnknownMemoryError: one of them names a memory that the node does not see.
    """
    plan = LayerPlan(workspace, timeline, workspace.clock.now())
    for write in writes:
        match write:
            case CoreSet():
                await _plan_core(plan, write)
            case CoreDelete(key=key):
                await _plan_core_delete(plan, key)
            case RecallAppend():
                _plan_event(plan, write)
            case RecallEvict():
                await _plan_evict(plan, write)
            case ArchivalWrite():
                _plan_archival(plan, write)
            case ArchivalUpdate():
                await _plan_archival_update(plan, write)
            case Consolidate():
                await _plan_summary(plan, write)
    await _require_room(plan)
    return plan


async def _find_key(plan: LayerPlan, key: str) -> tuple[RecordId, ...]:
    """The records that give the key its value, as the node sees it."""
    if key not in plan.keys:
        index = plan.workspace.project.index
        filters = Filters(layer="core", durable=False, key=f"{CORE_PREFIX}{key}")
        plan.keys[key] = tuple(await index.find(plan.view, filters, limits.REPLACED_MAX))
    return plan.keys[key]


async def _plan_core(plan: LayerPlan, write: CoreSet) -> None:
    replaces = await _find_key(plan, write.key)
    plan.more += not replaces
    record = build_core(write, plan.place(), replaces)
    plan.records.append(record)
    plan.keys[write.key] = (record.id,)
    plan.core_set.append(write.key)


async def _require_room(plan: LayerPlan) -> None:
    """Refuse more keys than a core may have."""
    if plan.more < 1:
        return
    held = await plan.workspace.project.index.count(plan.view, CORE)
    if held + plan.more > limits.CORE_KEYS_MAX:
        raise InvalidRequestError(
            f"The core of node {plan.workspace.caller.branch!r} has {held} keys and would have "
            f"{held + plan.more}; the limit is {limits.CORE_KEYS_MAX}. Nothing was written. Delete "
            "some, or store this in the archive."
        )


async def _plan_core_delete(plan: LayerPlan, key: str) -> None:
    deletes = await _find_key(plan, key)
    if not deletes:
        return
    plan.records.append(build_core_tombstone(key, plan.place(), deletes))
    plan.keys[key] = ()
    plan.more -= 1
    plan.core_deleted.append(key)


def _plan_event(plan: LayerPlan, write: RecallAppend) -> None:
    for named in (write.branch_id, write.node_id):
        require_same_node(plan.workspace, plan.timeline, named)
    record = build_event(write, plan.place())
    plan.records.append(record)
    plan.events.append(record.id)
    if write.write_archival:
        tags = make_label_tags(str(write.phase), write.kind)
        double = build_archival(
            ArchivalWrite(text=record.content, tags=(*write.tags, *tags)), plan.place()
        )
        plan.records.append(double)
        plan.archival.append(double.id)


async def _plan_evict(plan: LayerPlan, write: RecallEvict) -> None:
    chosen = await choose_events(plan.workspace, plan.view, write, plan.at)
    if chosen:
        plan.records.append(build_exclusion(chosen, plan.place(), _EVICTED))
    plan.evicted += len(chosen)


def _plan_archival(plan: LayerPlan, write: ArchivalWrite) -> None:
    record = build_archival(write, plan.place())
    plan.records.append(record)
    plan.archival.append(record.id)


async def _plan_archival_update(plan: LayerPlan, write: ArchivalUpdate) -> None:
    try:
        old = await require_memory(plan.workspace, write.id, plan.view)
    except UnknownMemoryError as error:
        named = RecordId(write.id.strip().casefold())
        if (now := await find_successor(plan.workspace, plan.view, named)) is None:
            raise
        why = f"was replaced by {now.id}; nothing was written. Read that one, and give its id"
        raise UnknownMemoryError(write.id, why=why) from error
    if old.durable or old.layer != "archival" or old.move is not None:
        raise InvalidRequestError(
            f"{old.id} is a {old.kind} outside of the archive of a node. Give the id of a text "
            "that mem_archival_write or mem_archival_search returned."
        )
    record = update_archival(old, write, plan.place())
    if (record.content, record.tags, record.meta) == (old.content, old.tags, old.meta):
        plan.archival.append(old.id)
        plan.notes.append(f"{old.id} says this already: nothing was changed.")
        return
    plan.records.append(record)
    plan.archival.append(record.id)


async def _plan_summary(plan: LayerPlan, write: Consolidate) -> None:
    """A summary, and the exclusion that takes what it sums up out of sight.

    They are two records, because whether a summary holds takes a look at each of its sources, and
    whether an event is excluded must not.
    """
    workspace, view = plan.workspace, plan.view
    chosen = (
        await choose_events(workspace, view, RecallEvict(ids=write.ids), plan.at)
        if write.ids
        else await find_inherited_events(workspace, plan.timeline, view)
    )
    if not chosen:
        raise InvalidRequestError(
            f"Node {workspace.caller.branch!r} inherits no events to sum up. Name those of its "
            "own with ids."
        )
    summary = build_summary(write.summary, chosen, plan.place())
    exclusion = build_exclusion(chosen, plan.place(), _SUMMED_UP, because=[summary.id])
    plan.records += (summary, exclusion)
    plan.summary, plan.sums_up = summary.id, plan.sums_up + len(chosen)
