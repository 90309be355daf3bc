"""What has changed since a moment: what is new, what holds again, and what no longer does.

Of what no longer holds only ids are said, never a word: it may have been given up because it was
wrong, and whoever reads the old text again may believe it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memory_mcp.bootstrap.opening import OpeningFrame
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.reading import load
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.block import Section
from memory_mcp.render.outcomes import pluralise
from memory_mcp.render.since import Since
from memory_mcp.timeline.moves import fold_moves

CHANGES_MAX: Final = 2_000
"""Records since a moment that are read to say what is new; whoever was away longer begins anew."""

_AGAIN_MAX: Final = 200
_IDS_MAX: Final = 12
"""So many ids are named; the others are counted."""


@dataclass(frozen=True)
class _Change:
    """What became of one pool: records that are new, that hold again, ids of what is gone."""

    new: Sequence[Record]
    again: Sequence[Record]
    gone: frozenset[RecordId]
    hidden: int


async def changed_since(
    workspace: Workspace, frame: OpeningFrame, since: Since
) -> tuple[OpeningFrame, list[Section]] | None:
    """New or changed first, then what holds again or no longer does; the frame counts only these.

    None: what was known then cannot be told from what came since. Only the whole opening will do.

    Raises:
        InvalidRequestError: it is of another memory, or so much has happened since that the whole
            opening says it better.
    """
    if since.revision is not None and since.revision > frame.head.revision:
        raise InvalidRequestError(
            f"since {since.said!r} names revision {since.revision} of the head, which stands at "
            f"{frame.head.revision}: it is of another project, or of a state that was lost. Call "
            "memory_context without it."
        )
    came = await _came(workspace, frame.view, since)
    if came is None:
        return None
    before, moved = await _chain_at(workspace, came)
    # a move whose record is gone may be the one that made the difference
    untold = frame.head.timeline.moves.difference(await workspace.project.index.moves())
    if since.revision not in {None, frame.head.revision} and (untold or not moved):
        return None
    changes = [
        await _changed(pool, frame.view, before, since.at, came, timed=pool is workspace.project)
        for pool in workspace.pools
    ]
    new = [record for change in changes for record in change.new]
    again = [record for change in changes for record in change.again]
    again.sort(key=lambda r: (r.pinned, r.importance, r.id), reverse=True)
    new.sort(key=lambda r: (r.pinned, r.importance, r.id), reverse=True)
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
        # of a time it is not known what came from elsewhere after it and was written before
        what = "changed" if since.revision is not None else "was written here"
        opening = [*opening, f"Nothing {what} since {since.said}."]
    return replace(frame, figure=figure, opening=opening), sections


async def _came(workspace: Workspace, view: View, since: Since) -> set[RecordId] | None:
    """What was not here at that moment; None if that cannot be told."""
    every: set[RecordId] = set()
    fell: set[RecordId] = set()
    for pool in workspace.pools:
        ids = await pool.index.ids()
        later = [id_ for id_ in ids if since.precedes(id_)]
        if len(later) > CHANGES_MAX:
            raise InvalidRequestError(
                f"{len(later):,} records were written since {since.said!r}. Call memory_context "
                "without since: what matters of them is in the opening."
            )
        every |= ids
        fell |= {id_ for record in await load(pool, later) for id_ in record.erases}
    return since.new_among(every, fell - every, view.now)


async def _chain_at(
    workspace: Workspace, came: Collection[RecordId]
) -> tuple[frozenset[SegmentId], bool]:
    """What this session's branch stood on then, and whether the head has moved since.

    It stood on nothing if there was no such branch yet.
    """
    moves = await workspace.project.index.moves()
    timeline = fold_moves(await load(workspace.project, [id_ for id_ in moves if id_ not in came]))
    branch = workspace.caller.branch
    chain = timeline.chain(branch) if branch in timeline.branches else frozenset[SegmentId]()
    return chain, any(id_ in came for id_ in moves)


async def _changed(
    pool: Pool,
    view: View,
    before: frozenset[SegmentId],
    then: datetime,
    came: Collection[RecordId],
    *,
    timed: bool,
) -> _Change:
    fresh = await load(pool, sorted(came))
    seen = await pool.index.visible(came, view)
    gone = {t for r in fresh if _counts(r, view) for t in (*r.supersedes, *_erased(r))}
    gone |= await _held(pool, View(view.chain, min(then, view.now)), view)
    gone -= await pool.index.visible(gone, view) if gone else set[RecordId]()
    old = gone.difference(came)
    back = await _held(pool, view, View(view.chain, then)) if then > view.now else set[RecordId]()
    hidden = 0
    if timed and before:
        returned = Filters(segments=view.chain - before)
        back |= set(await pool.index.find(view, returned, _AGAIN_MAX, best=True))
        left = Filters(segments=before - view.chain, kinds=MEMORY_KINDS)
        lost = await pool.index.find(View(before, view.now), left, CHANGES_MAX)
        hidden = len(set(lost).difference(came))
        hidden += len({id_ for r in fresh if r.move for id_ in r.erases}.difference(came))
    again = await load(pool, sorted(back.difference(came)))
    return _Change([r for r in fresh if r.id in seen], again, frozenset(old), hidden)


def _counts(record: Record, view: View) -> bool:
    """Whether what the record says of others is to be heeded from here."""
    return record.segment is None or record.segment in view.chain


def _erased(record: Record) -> Sequence[RecordId]:
    """What a forget erased. What a backtrack did is counted, not named."""
    return () if record.move else record.erases


async def _held(pool: Pool, view: View, elsewhere: View) -> set[RecordId]:
    """What holds in the one view and not in the other, for it expired in between."""
    count = await pool.index.count(view, Filters())
    held = await pool.index.find(view, Filters(), count)
    return set(held) - await pool.index.visible(held, elsewhere)
