"""Which records of a layer a node sees, and which events a request means."""

import unicodedata
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.layers import RecallEvict
from memory_mcp.domain.record import CORE_PREFIX, MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.spans import parse_span
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.text.layers import EVENT_KINDS, make_label_tags, read_event

CORE: Final = Filters(layer="core", durable=False, key=f"{CORE_PREFIX}*")
EVENTS: Final = Filters(layer="recall", durable=False, kinds=EVENT_KINDS)
ARCHIVE: Final = Filters(layer="archival", durable=False)


async def choose_events(
    workspace: Workspace, view: View, wanted: RecallEvict, now: datetime
) -> list[RecordId]:
    """The events in sight that a request means, newest first.

    Raises:
        UnknownMemoryError: one of the ids is in sight of nobody here.
        InvalidRequestError: one of them is no event, or nothing says which are meant.
    """
    if wanted.ids:
        return [await _require_event(workspace, view, id_) for id_ in wanted.ids]
    if wanted.older_than is None and wanted.keep is None and not wanted.kind:
        raise InvalidRequestError(
            "Nothing says which events are meant. Give ids, kind, older_than or keep."
        )
    until = (
        None
        if wanted.older_than is None
        else parse_span("older_than", wanted.older_than, now, sign=-1)
    )
    filters = replace(EVENTS, tags=make_label_tags("", wanted.kind))
    bank = workspace.project
    found = await bank.index.find(view, filters, limits.EVENTS_MAX)
    if until is not None:
        found = [r.id for r in await load_records(bank, found) if read_event(r).ts < until]
    return found[wanted.keep or 0 :]


async def find_inherited_events(
    workspace: Workspace, timeline: Timeline, view: View
) -> list[RecordId]:
    """The events in sight that were written on other nodes, newest first."""
    node = workspace.caller.branch
    segments = timeline.segments
    inherited = frozenset(
        s for s in view.chain if (segments[s].branch if s in segments else _ROOT_NODE) != node
    )
    filters = replace(EVENTS, segments=inherited)
    return await workspace.project.index.find(view, filters, limits.EVENTS_MAX)


def require_same_node(workspace: Workspace, timeline: Timeline, node_id: str) -> None:
    """Refuse to write to one node what names another. An id that is no node's is a label.

    Raises:
        InvalidRequestError: it names both.
    """
    node, named = workspace.caller.branch, unicodedata.normalize("NFC", node_id)
    if named and named != node and named in timeline.branches:
        raise InvalidRequestError(
            f"branch_id is {node!r} and node_id is {named!r}, which is another node. Give one of "
            "them. Nothing was written."
        )


async def find_successor(workspace: Workspace, view: View, old: RecordId) -> Record | None:
    """The text of the archive that stands in the place of an older one now, as far as it holds.

    Several may follow one: a join brings what both sides put in its place, and one of it stands.
    """
    bank, filters = workspace.project, replace(ARCHIVE, history=True)
    found = await bank.index.find(view, filters, limits.EVENTS_MAX)
    followers: dict[RecordId, Record] = {}
    for record in await load_records(bank, sorted(id_ for id_ in found if id_ > old)):
        if record.kind in MEMORY_KINDS and {old, *followers}.intersection(record.supersedes):
            followers[record.id] = record  # the oldest first, so that each follows one before it
    seen = await bank.index.visible([*followers], view)
    return max((followers[id_] for id_ in seen), key=lambda record: record.id, default=None)


_ROOT_NODE: Final = BranchName("main")


async def _require_event(workspace: Workspace, view: View, part: str) -> RecordId:
    record = await require_memory(workspace, part, view)
    if record.layer != "recall" or record.kind not in EVENT_KINDS:
        raise InvalidRequestError(f"{record.id} is a {record.kind}, no event. Give ids of events.")
    return record.id
