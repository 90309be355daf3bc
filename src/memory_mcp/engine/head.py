"""Loads the head, moves it, and absorbs the moves of other clones.

A use case loads the head once and hands head, timeline or view to the steps it calls. It reads
again only after it lost a compare-and-swap, or to check what happened while it wrote.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from memory_mcp.domain.ids import ROOT, SegmentId, parse_id_time
from memory_mcp.domain.limits import HEAD_MOVES_RETRY_MAX, INDEX_FOLLOW_SECONDS_MAX
from memory_mcp.domain.record import Record, RecordContext
from memory_mcp.domain.search import View
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.git import (
    choose_segment,
    follow_git,
    hide_elsewhere,
    list_away,
    open_segment,
)
from memory_mcp.engine.moves import PlannedMove, Planner, try_move
from memory_mcp.engine.recovery import (
    commit_head,
    describe_head_conflict,
    give_way,
    recover_head,
    recover_if_needed,
)
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import (
    ConflictError,
    StoreError,
    StoreUnavailableError,
)
from memory_mcp.timeline.moves import apply_lineages, fold_moves, merge_lineages
from memory_mcp.timeline.plans import require_branch

T = TypeVar("T")


async def load_head(workspace: Workspace) -> Head:
    """The newest head, recovered after a cut; built from the records when there is no head file.

    Files that git or another process added or removed are taken into account first.

    Raises:
        UnknownTargetError: the caller's branch does not exist.
    """
    await follow_folder_changes(workspace)
    head = await workspace.heads.read()
    if head is None:
        head = await _begin_head(workspace)
    else:
        head = await recover_if_needed(workspace, head)
    require_branch(head.timeline, workspace.caller.branch)
    return await follow_git(workspace, head)


async def load_head_to_write(workspace: Workspace) -> Head:
    """The head as `load_head` gives it, with an open segment for the branch of git.

    Raises:
        UnknownTargetError: the caller's branch does not exist.
    """
    return await open_segment(workspace, await load_head(workspace))


async def view_head(workspace: Workspace) -> Head:
    """The head as `load_head` gives it, but where none was begun yet it is not written.

    Raises:
        UnknownTargetError: the caller's branch does not exist.
    """
    if await workspace.heads.read() is not None:
        return await load_head(workspace)
    head = await _build_head(workspace, 0)
    require_branch(head.timeline, workspace.caller.branch)
    return head


async def follow_folder_changes(workspace: Workspace) -> None:
    """Bring the indexes and the head in step with record folders that others changed.

    When nobody changed them, this costs one look at each month's folder. It raises nothing: the
    call that needs a broken store names it.
    """
    behind = [b for b in workspace.banks if b.records.changed() or b.index.goes_on]
    known = [bank.index.caught_up for bank in behind]
    # at once: a reader waits as long for several banks as for one
    followed = await asyncio.gather(
        *(bank.index.follow(INDEX_FOLLOW_SECONDS_MAX) for bank in behind), return_exceptions=True
    )
    for bank, was_known, done in zip(behind, known, followed, strict=True):
        if isinstance(done, BaseException) and not isinstance(done, StoreError):
            raise done
        if done is not True:
            continue
        if was_known:  # the first look of a process finds what was there before it
            bank.changes.note()
        if bank is workspace.project:
            with suppress(StoreError):
                if await workspace.heads.read() is not None:
                    await absorb_moves(workspace)


def make_view(workspace: Workspace, timeline: Timeline) -> View:
    """What the caller's branch can see now, on this timeline."""
    return view_chain(workspace, timeline.chain(workspace.caller.branch))


def view_chain(workspace: Workspace, chain: frozenset[SegmentId]) -> View:
    """What is seen of the chain now, from where git is."""
    chain = hide_elsewhere(workspace, chain)
    return View(chain=chain, now=workspace.clock.now(), away=list_away(workspace, chain))


async def load_view(workspace: Workspace) -> View:
    """What the caller's branch can see now, by the newest head."""
    return make_view(workspace, (await load_head(workspace)).timeline)


def make_writing(workspace: Workspace, timeline: Timeline, at: datetime) -> RecordContext:
    """Id, time, place and origin of a new record on the caller's branch."""
    branch = workspace.caller.branch
    segment = choose_segment(workspace, timeline)
    return RecordContext(
        id=workspace.ids.new(at),
        at=at,
        segment=segment,
        branch=branch,
        scope=workspace.scope,
        origin=workspace.origin(),
        lineage=timeline.lineage(branch, segment),
        team=workspace.caller.team,
    )


async def move_head(workspace: Workspace, plan: Planner[T]) -> tuple[Head, PlannedMove[T]]:
    """Plan a move from the newest head and commit it; plan again if another session was first.

    The records planned along with it are committed with it or not at all.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for tries in range(HEAD_MOVES_RETRY_MAX):
        await give_way(tries)
        head = await recover_head(workspace, await load_head(workspace))
        if moved := await try_move(workspace, head, plan):
            return moved
    raise ConflictError(describe_head_conflict())


async def write_in_one_step(
    workspace: Workspace, plan: Callable[[Head], Awaitable[tuple[tuple[Record, ...], T]]]
) -> tuple[tuple[Record, ...], T]:
    """Commit several records in one step that moves nothing: all of them, or none.

    What else its planner found is returned with them, as `move_head` does it.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for tries in range(HEAD_MOVES_RETRY_MAX):
        await give_way(tries)
        head = await recover_head(workspace, await load_head_to_write(workspace))
        records, found = await plan(head)
        if not records:
            return (), found
        update = {"revision": head.revision + 1, "last": None, "with_last": records}
        if await commit_head(workspace, head, head.model_copy(update=update)):
            return records, found
    raise ConflictError(describe_head_conflict())


async def absorb_moves(workspace: Workspace) -> int:
    """Add moves that came with records of another clone to the head; returns how many.

    A segment whose move did not come along is placed by the lineage of its newest record.
    """
    for tries in range(HEAD_MOVES_RETRY_MAX):
        await give_way(tries)
        head = await workspace.heads.read()
        if head is None:
            return len((await _begin_head(workspace)).timeline.moves)
        head = await recover_head(workspace, head)
        known = set(await workspace.project.index.moves())
        fresh = known - head.timeline.moves
        timeline = apply_lineages(
            await _load_placing_records(workspace, head.timeline), head.timeline
        )
        if not fresh and timeline is head.timeline:
            return 0
        records = [record async for record in workspace.project.records.scan(known)]
        if head.timeline.moves.issubset(known):
            # folding all of them gives everything the same names in both clones
            timeline = merge_lineages(fold_moves(records), timeline)
        else:
            timeline = fold_moves(records, onto=timeline)
        joined = head.model_copy(update={"revision": head.revision + 1, "timeline": timeline})
        try:
            await workspace.heads.replace(joined, expected=head.revision)
        except ConflictError:
            continue
        await log_missing_moves(workspace, records)
        return len(fresh)
    return 0


async def load_moves(workspace: Workspace) -> list[Record]:
    """The records of all moves."""
    bank = workspace.project
    return [record async for record in bank.records.scan(await bank.index.moves())]


async def load_timeline_at(workspace: Workspace, head: Head, at: datetime) -> Timeline:
    """The timeline as it stood then.

    A segment whose move is unknown is placed as it is now, if it was begun by then.
    """
    moves = {record.id: record for record in await load_moves(workspace)}
    if head.last is not None:  # its own file may not be written yet
        moves[head.last.id] = head.last
    known = head.timeline
    then = fold_moves(record for record in moves.values() if record.created_at <= at)
    rest = Timeline(
        segments={
            id_: segment
            for id_, segment in known.segments.items()
            if segment.move not in known.moves and parse_id_time(id_) <= at
        },
        given_up={
            move: gone
            for move, gone in known.given_up.items()
            if move not in known.moves and parse_id_time(move) <= at
        },
        bases=known.bases,
    )
    return merge_lineages(then, rest)


async def log_missing_moves(workspace: Workspace, moves: list[Record]) -> None:
    """Add the moves that the history lacks to it."""
    await workspace.heads.log(await workspace.heads.find_unlogged(moves))


async def _load_placing_records(workspace: Workspace, timeline: Timeline) -> list[Record]:
    """The newest record of each segment whose first move is unknown."""
    newest = await workspace.project.index.segments()
    known = {s.id for s in timeline.segments.values() if s.move in timeline.moves} | {ROOT}
    wanted = [id_ for segment, id_ in newest.items() if segment not in known]
    return [record async for record in workspace.project.records.scan(wanted)]


async def rebuild_head(workspace: Workspace) -> None:
    """Replace the head by one that is built from the records alone.

    Raises:
        ConflictError: others kept moving the head; nothing was changed.
    """
    for tries in range(HEAD_MOVES_RETRY_MAX):
        await give_way(tries)
        head = await workspace.heads.read()
        if head is None:
            return
        rebuilt = await _build_head(workspace, head.revision + 1)
        with suppress(ConflictError):
            await workspace.heads.replace(rebuilt, expected=head.revision)
            return
    raise ConflictError(describe_head_conflict())


async def _begin_head(workspace: Workspace) -> Head:
    head = await _build_head(workspace, 1)
    if workspace.policy.meta:  # a meta session writes nothing
        return head
    try:
        await workspace.heads.replace(head, expected=0)
        await log_missing_moves(workspace, await load_moves(workspace))
    except ConflictError:
        return await workspace.heads.read() or head
    except StoreUnavailableError:  # a read-only folder can still be read
        pass
    return head


async def _build_head(workspace: Workspace, revision: int) -> Head:
    timeline = fold_moves(await load_moves(workspace))
    timeline = apply_lineages(await _load_placing_records(workspace, timeline), timeline)
    return Head(
        project=workspace.scope.project or "none",
        revision=revision,
        timeline=timeline.drop_spare_bases(),
    )
