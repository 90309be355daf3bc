"""What the project is: one durable sentence or two that open every session."""

from dataclasses import replace
from typing import Final

from memory_mcp.deduplication.decide import rejection, twins
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
from memory_mcp.engine.cleaning import cleaned, own_words
from memory_mcp.engine.head import view_of, view_on, write_together, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.reading import newest
from memory_mcp.engine.workspace import Workspace, reads_refused, writes_refused
from memory_mcp.memories.add import NOTHING_LEFT, RECALLED
from memory_mcp.text.drafts import build_record, check_draft
from memory_mcp.text.secrets import Redacted

_LOOKED_AT: Final = 20


async def project_identity(workspace: Workspace) -> list[Record] | Skipped:
    """What is known of the project itself, newest first."""
    if skipped := reads_refused(workspace):
        return skipped
    return await _known(workspace, await view_of(workspace))


async def set_identity(workspace: Workspace, text: str) -> AddOutcome:
    """Say what the project is, in the place of whatever was said before.

    What stood before is looked up in the same step that replaces it: of several sessions that say
    it at once one stands, the last.

    Raises:
        InvalidRequestError: the text cannot be stored.
    """
    if skipped := writes_refused(workspace):
        return skipped
    draft, redactions = cleaned(workspace, Draft(text, kind="identity"))
    if Redacted(draft.content).nothing_left:
        return MemoryDeclined(NOTHING_LEFT)
    own = await own_words(workspace, draft.content)
    if not own and draft.content.strip():
        return MemoryDeclined(RECALLED)
    draft = replace(draft, content=own)
    check_draft(draft, workspace.clock.now())
    planned: list[AddOutcome] = []  # the last one took place

    async def plan(head: Head) -> tuple[Record, ...]:
        view = view_on(workspace, head.timeline)
        known = await _known(workspace, view)
        record = build_record(draft, writing(workspace, head.timeline, workspace.clock.now()))
        tombstone = rejection(await twins(workspace, workspace.project, record, view))
        if tombstone is not None:
            planned.append(MemoryRejected(tombstone))
            return ()
        if [each.statement for each in known] == [record.statement]:
            planned.append(AlreadyKnown(known[0], redactions=redactions))
            return ()
        replaced = tuple(each.id for each in known)
        record = record.model_copy(update={"supersedes": replaced})
        planned.append(MemoryAdded(record, replaced=replaced, redactions=redactions))
        return (record,)

    async with workspace.project.writing:
        await write_together(workspace, plan)
    outcome = planned[-1]
    if isinstance(outcome, MemoryAdded):
        return replace(outcome, notes=await pending_note(workspace))
    return outcome


async def _known(workspace: Workspace, view: View) -> list[Record]:
    filters = Filters(kinds=frozenset({"identity"}), durable=True, reach="project")
    read = await newest(workspace, view, filters, _LOOKED_AT)
    key = f"project:{workspace.scope.project or 'none'}:identity"
    return [record for record in read.records if record.key == key]
