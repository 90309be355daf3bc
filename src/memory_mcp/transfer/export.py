"""Selects and reads what an export holds: what is visible here, or the whole history.

The ids are chosen as the export begins. Records are read one by one, so their number is no limit.
"""

from collections.abc import AsyncGenerator, Sequence

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.profile import PROFILE_CATEGORY
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.transfer import ExportHeader
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.records import require_records_folder
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_reads
from memory_mcp.frozen import frozen
from memory_mcp.transfer.existing import NO_LIMIT


@frozen
class ExportSelection:
    """What an export holds. `last` is a move whose own record is not written yet."""

    about: ExportHeader
    ids: Sequence[tuple[MemoryBank, Sequence[RecordId]]]
    last: Record | None = None

    @property
    def count(self) -> int:
        """How many records that are."""
        return sum(len(ids) for _, ids in self.ids) + (self.last is not None)


async def select_export(
    workspace: Workspace, banks: tuple[Reach, ...], *, history: bool
) -> ExportSelection | Skipped:
    """Select what is visible in these banks, or with their history everything.

    Raises:
        StoreUnavailableError: there should be records, and there is not one.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    head = await load_head(workspace)
    view = make_view(workspace, head.timeline)
    await require_records_folder(workspace, view)
    scope = workspace.scope
    if "team" in banks:  # beside the project: it says whose each bank is
        scope = scope.model_copy(update={"team": workspace.caller.team})
    about = ExportHeader(
        scope=scope, at=view.now, branch=workspace.caller.branch, banks=banks, history=history
    )
    selected: list[tuple[MemoryBank, Sequence[RecordId]]] = []
    last: Record | None = None
    for reach in banks:
        (bank,) = workspace.banks_of(reach)
        if history:  # but for what an interrupted forget has yet to erase
            ids = await bank.records.ids() - await bank.index.erased()
        else:
            ids = await _find_visible(bank, view)
        if history and reach == "project" and head.last and head.last.id not in ids:
            last = head.last
        selected.append((bank, sorted(ids)))
    return ExportSelection(about, selected, last)


async def read_selected(selection: ExportSelection) -> AsyncGenerator[Record]:
    """The records in the order in which they were made, the project's first."""
    for bank, ids in selection.ids:
        async for record in bank.records.scan(ids):
            yield record
    if selection.last is not None:
        yield selection.last


async def find_unreadable(selection: ExportSelection, written: set[RecordId]) -> list[RecordId]:
    """Selected records that exist and were not written, so could not be read."""
    lost: list[RecordId] = []
    for bank, ids in selection.ids:
        if missing := set(ids) - written:
            lost += sorted(missing & await bank.records.ids())
    return lost


async def _find_visible(bank: MemoryBank, view: View) -> set[RecordId]:
    """Visible memories, with the facts of the profile, which no search finds without a filter."""
    found = await bank.index.find(view, Filters(), NO_LIMIT)
    return {*found, *await bank.index.find(view, Filters(category=PROFILE_CATEGORY), NO_LIMIT)}
