"""Collects what has changed since a moment: what is new, what holds again, what no longer does.

Of a memory that no longer holds only the id is named: it may have been wrong, and whoever reads
its text again may believe it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory_mcp.bootstrap.opening import OpeningFrame
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.members import present_records
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.hints import name_step
from memory_mcp.render.block import Section
from memory_mcp.render.since import Since
from memory_mcp.timeline.moves import fold_moves
from memory_mcp.timeline.visibility import is_reachable

CHANGES_MAX: Final = 2_000
"""Records since a moment that are read; after more of them, only the whole opening will do."""

_AGAIN_MAX: Final = 200
_IDS_MAX: Final = 12
"""Ids that are named; the others are counted."""


@frozen
class _Change:
    """The changes of one bank; `hidden` counts what a backtrack took out of view."""

    new: Sequence[Record]
    again: Sequence[Record]
    gone: frozenset[RecordId]
    hidden: int


async def collect_changes(
    workspace: Workspace, frame: OpeningFrame, since: Since
) -> tuple[OpeningFrame, list[Section]] | None:
    """The frame, with a figure for the changes alone, and the sections that list them.

    None if the changes cannot be determined: only the whole opening will do.

    Raises:
        InvalidRequestError: `since` is of another project, or too much has changed.
    """
    if since.revision is not None and since.revision > frame.head.revision:
        raise InvalidRequestError(
            f"since {since.said!r} names revision {since.revision} of the head, which stands at "
            f"{frame.head.revision}: it is of another project, or of a state that was lost. "
            f"Repeat {name_step('memory_context')} without it."
        )
    arrived = await _find_arrived(workspace, frame.view, since)
    if arrived is None:
        return None
    before, moved = await _load_chain_before(workspace, arrived)
    # a move whose record is gone may have made the difference
    unknown = frame.head.timeline.moves.difference(await workspace.project.index.moves())
    if since.revision not in {None, frame.head.revision} and (unknown or not moved):
        return None
    changes = [
        await _compare_bank(
            bank, frame.view, before, since.at, arrived, timed=bank is workspace.project
        )
        for bank in workspace.banks
    ]
    new = _sort_by_rank(record for change in changes for record in change.new)
    again = _sort_by_rank(record for change in changes for record in change.again)
    new, again = present_records(workspace, new), present_records(workspace, again)
    gone = sorted(id_ for change in changes for id_ in change.gone)
    hidden = sum(change.hidden for change in changes)
    ends: list[str] = []
    if gone:
        named, more = ", ".join(gone[:_IDS_MAX]), len(gone) - _IDS_MAX
        ends.append(f"{named}{f' and {more} more' if more > 0 else ''}.")
    if hidden:
        ends.append(f"A backtrack took {pluralise(hidden)} out of view.")
    figure = replace(frame.figure, total=len(new) + len(again))
    sections = [
        Section(f"New or changed since {since.said}", new, weight=4),
        Section("Holds again", again, weight=2),
        Section("No longer holds", facts=ends, weight=2),
    ]
    opening = frame.opening
    if not (new or again or ends):
        if since.total not in {None, frame.figure.total}:  # a clock was set back, another branch
            return None
        # a time does not tell what arrived from elsewhere since and was written before it
        what = "changed" if since.revision is not None else "was written here"
        opening = [*opening, f"Nothing {what} since {since.said}."]
    return replace(frame, figure=figure, opening=opening), sections


def _sort_by_rank(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (r.pinned, r.importance, r.id), reverse=True)


async def _find_arrived(workspace: Workspace, view: View, since: Since) -> set[RecordId] | None:
    """The ids that were not here at that moment; None if that cannot be determined."""
    every: set[RecordId] = set()
    erased: set[RecordId] = set()
    for bank in workspace.banks:
        ids = await bank.index.ids()
        later = [id_ for id_ in ids if since.precedes(id_)]
        if len(later) > CHANGES_MAX:
            raise InvalidRequestError(
                f"{len(later):,} records were written since {since.said!r}. Repeat "
                f"{name_step('memory_context')} without it: what matters of them is in the opening."
            )
        every |= ids
        erased |= {id_ for record in await load_records(bank, later) for id_ in record.erases}
    return since.new_among(every, erased - every, view.now)


async def _load_chain_before(
    workspace: Workspace, arrived: Collection[RecordId]
) -> tuple[frozenset[SegmentId], bool]:
    """The chain of the caller's branch before these arrived, and whether the head moved since.

    The chain is empty if there was no such branch yet.
    """
    moves = await workspace.project.index.moves()
    timeline = fold_moves(
        await load_records(workspace.project, [id_ for id_ in moves if id_ not in arrived])
    )
    branch = workspace.caller.branch
    chain = timeline.chain(branch) if branch in timeline.branches else frozenset[SegmentId]()
    return chain, any(id_ in arrived for id_ in moves)


async def _compare_bank(
    bank: MemoryBank,
    view: View,
    before: frozenset[SegmentId],
    then: datetime,
    arrived: Collection[RecordId],
    *,
    timed: bool,
) -> _Change:
    fresh = await load_records(bank, sorted(arrived))
    seen = await bank.index.visible(arrived, view)
    gone: set[RecordId] = set()
    for record in fresh:
        if is_reachable(record, view):
            # a forget's erasures are named; those of a backtrack are counted below
            gone |= {*record.supersedes, *(() if record.move else record.erases)}
    gone |= await _find_expired_between(bank, replace(view, now=min(then, view.now)), view)
    gone -= await bank.index.visible(gone, view) if gone else set[RecordId]()
    old = gone.difference(arrived)
    back = (
        await _find_expired_between(bank, view, replace(view, now=then))
        if then > view.now
        else set[RecordId]()
    )
    hidden = 0
    if timed and before:
        returned = Filters(segments=view.chain - before)
        back |= set(await bank.index.find(view, returned, _AGAIN_MAX, best=True))
        left = Filters(segments=before - view.chain, kinds=MEMORY_KINDS)
        lost = await bank.index.find(replace(view, chain=before), left, CHANGES_MAX)
        hidden = len(set(lost).difference(arrived))
        hidden += len({id_ for r in fresh if r.move for id_ in r.erases}.difference(arrived))
    again = await load_records(bank, sorted(back.difference(arrived)))
    return _Change([r for r in fresh if r.id in seen], again, frozenset(old), hidden)


async def _find_expired_between(bank: MemoryBank, view: View, elsewhere: View) -> set[RecordId]:
    """What is visible in one view and not in the other, because it expired in between."""
    count = await bank.index.count(view, Filters())
    held = await bank.index.find(view, Filters(), count)
    return set(held) - await bank.index.visible(held, elsewhere)
