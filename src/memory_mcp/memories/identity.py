"""The project's identity: one or two durable sentences that open every session."""

from dataclasses import replace
from typing import Final

from memory_mcp.deduplication import find_exact_matches
from memory_mcp.domain.deduplication import find_rejection
from memory_mcp.domain.outcomes import (
    AddOutcome,
    AlreadyKnown,
    MemoryAdded,
    MemoryDeclined,
    MemoryRejected,
    Skipped,
)
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.head import load_view, make_view, make_writing, write_in_one_step
from memory_mcp.engine.members import find_author
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.redaction import prepare_draft
from memory_mcp.engine.workspace import Workspace, refuse_reads, refuse_writes
from memory_mcp.text.drafts import build_record, check_draft

_LOOKED_AT: Final = 20


async def load_identity(workspace: Workspace) -> list[Record] | Skipped:
    """The memories that say what the project is, newest first."""
    if skipped := refuse_reads(workspace):
        return skipped
    return await _load_known(workspace, await load_view(workspace))


async def set_identity(workspace: Workspace, text: str) -> AddOutcome:
    """Say what the project is; this replaces every earlier identity.

    The earlier ones are looked up in the step that replaces them, so of several sessions that say
    it at once the last one counts.

    Raises:
        InvalidRequestError: the text cannot be stored.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    prepared = await prepare_draft(workspace, Draft(text, kind="identity"))
    if isinstance(prepared, MemoryDeclined):
        return prepared
    draft, redactions = prepared
    check_draft(draft, workspace.clock.now())

    async def plan(head: Head) -> tuple[tuple[Record, ...], AddOutcome]:
        view = make_view(workspace, head.timeline)
        known = await _load_known(workspace, view)
        record = build_record(draft, make_writing(workspace, head.timeline, workspace.clock.now()))
        matches = await find_exact_matches(workspace, workspace.project, record, view)
        if tombstone := find_rejection(matches.records):
            return (), MemoryRejected(tombstone, find_author(workspace, tombstone))
        if [each.statement for each in known] == [record.statement]:
            return (), AlreadyKnown(known[0], redactions=redactions)
        replaced = tuple(each.id for each in known)
        record = record.model_copy(update={"supersedes": replaced})
        return (record,), MemoryAdded(record, replaced=replaced, redactions=redactions)

    async with workspace.project.writing:
        _, outcome = await write_in_one_step(workspace, plan)
    if isinstance(outcome, MemoryAdded):
        return replace(outcome, notes=await describe_pending(workspace))
    return outcome


async def _load_known(workspace: Workspace, view: View) -> list[Record]:
    filters = Filters(kinds=frozenset({"identity"}), durable=True, reach="project")
    read = await load_newest(workspace, view, filters, _LOOKED_AT)
    key = f"project:{workspace.scope.project or 'none'}:identity"
    return [record for record in read.records if record.key == key]
