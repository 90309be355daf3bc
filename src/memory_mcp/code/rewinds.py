"""What the turns wrote that a user left by going back in the conversation (`/rewind`).

In `follow` it is taken out of sight, in `mark` it is marked. The move carries a reason, which hides
nothing itself; an exclusion that hides for as long as the reason counts; and a copy of what the
hidden memories had taken the place of. To bury the reason undoes all of it at once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain.git import GitEvent
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import RESULTS_MAX
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import MEMORY_KINDS, Move, Record, RecordContext, format_time
from memory_mcp.domain.search import Filters
from memory_mcp.domain.sessions import ConversationRewound
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.git import change_state, sign_by_git
from memory_mcp.engine.head import (
    load_head,
    load_head_to_write,
    make_view,
    make_writing,
    move_head,
)
from memory_mcp.engine.moves import PlannedMove, build_move_record
from memory_mcp.engine.records import load_newest, load_records
from memory_mcp.engine.workspace import GitFollower, Workspace, refuse_writes
from memory_mcp.frozen import frozen
from memory_mcp.text.drafts import build_on_timeline, build_tombstone, correct_record
from memory_mcp.text.layers import build_exclusion

_MARKED_MAX: Final = 500
_CAPTURED: Final = "captured"


@frozen
class LeftMemories:
    """What left turns wrote, and whether it is hidden or marked; what is durable stays."""

    records: Sequence[Record] = ()
    durable: Sequence[Record] = ()
    hidden: bool = False
    marked: bool = False


async def follow_rewind(workspace: Workspace, event: ConversationRewound) -> LeftMemories:
    """Hide or mark what the turns wrote that were left, as the mode says.

    It says the same if it is asked twice, but hides once: what is hidden is found no more.
    """
    found = await _find_written(workspace, event)
    moving = [record for record in found if not record.durable]
    durable = [record for record in found if record.durable]
    git = workspace.git
    ids = tuple(record.id for record in moving)
    if not ids or git is None or git.find_mode() == "off" or refuse_writes(workspace):
        return LeftMemories(moving, durable)
    if git.find_mode() == "mark":
        await _mark(git, ids)
        return LeftMemories(moving, durable, marked=True)
    await _hide(workspace, git, ids)
    return LeftMemories(moving, durable, hidden=True)


async def hide_marked(workspace: Workspace) -> int | Skipped:
    """Take out of sight what is marked as written in turns that were left; how many memories."""
    if skipped := refuse_writes(workspace):
        return skipped
    git = workspace.git
    ids = await find_marked(workspace) if git else ()
    if git is None or not ids:
        return 0
    await _hide(workspace, git, ids)
    await _mark(git, ids, marked=False)
    return len(ids)


async def find_marked(workspace: Workspace) -> tuple[RecordId, ...]:
    """The visible memories that are marked as written in turns that were left."""
    git = workspace.git
    marked = git.history.load().rewound if git else ()
    if not marked:
        return ()
    view = make_view(workspace, (await load_head(workspace)).timeline)
    seen = await workspace.project.index.visible(marked, view)
    return tuple(id_ for id_ in marked if id_ in seen)


async def undo_rewind(workspace: Workspace, git: GitFollower, event: GitEvent) -> str:
    """Bring back what the last rewind took out of sight; done again, take it out of sight."""
    many = pluralise(len(event.rewound))
    if not event.lifts:
        await _hide(workspace, git, event.rewound)
        return f"{many} of turns that were taken back not recalled any more."
    reasons = await load_records(workspace.project, list(event.lifts))

    def bury(head: Head, place: Callable[[], RecordContext]) -> list[Record]:
        del head
        return [build_tombstone(each, "", place(), erase=False) for each in reasons]

    await _write(workspace, f"git: /rewind undone, {many} recalled again", bury)
    now = format_time(workspace.clock.now())
    await _note_event(git, event.model_copy(update={"at": now, "lifts": ()}))
    return f"{many} of turns that were taken back recalled again."


async def _find_written(workspace: Workspace, event: ConversationRewound) -> list[Record]:
    """What these turns wrote: what their tools named and this session wrote since, or captured."""
    if not isinstance(event.since, datetime) or not isinstance(event.until, datetime):
        return []
    view = make_view(workspace, (await load_head(workspace)).timeline)
    session = workspace.named(event.session)
    found: dict[RecordId, Record] = {}
    for bank in workspace.banks:
        seen = await bank.index.visible(event.ids, view)
        for record in await load_records(bank, sorted(seen)):
            own = record.origin.session == session and record.created_at >= event.since
            if own and record.kind in MEMORY_KINDS:
                found[record.id] = record
    captured = Filters(session=session, since=event.since, until=event.until, tags=(_CAPTURED,))
    for record in (await load_newest(workspace, view, captured, RESULTS_MAX)).records:
        found[record.id] = record
    return [found[id_] for id_ in sorted(found)]


async def _mark(git: GitFollower, ids: Sequence[RecordId], *, marked: bool = True) -> None:
    rest = [id_ for id_ in git.history.load().rewound if id_ not in ids]
    kept = (*rest, *ids)[-_MARKED_MAX:] if marked else tuple(rest)
    await change_state(git, lambda state: state.model_copy(update={"rewound": kept}))
    git.rewound = frozenset(kept)


async def _hide(workspace: Workspace, git: GitFollower, ids: Sequence[RecordId]) -> None:
    """Take them out of sight in one move, and bring back what they had taken the place of."""
    left = await load_records(workspace.project, list(ids))
    older = {id_ for record in left for id_ in record.supersedes} - set(ids)
    replaced = await load_records(workspace.project, sorted(older))
    why = f"git: /rewind took back the turns that wrote {pluralise(len(ids))}"
    reasons: list[RecordId] = []

    def exclude(head: Head, place: Callable[[], RecordContext]) -> list[Record]:
        del head
        reason = build_on_timeline(place(), "tombstone", why)
        exclusion = build_exclusion(ids, place(), why, because=[reason.id])
        reasons[:] = [reason.id]
        return [reason, *(_copy(old, place(), reason.id) for old in replaced), exclusion]

    await _write(workspace, why, exclude)
    at = format_time(workspace.clock.now())
    event = GitEvent(at=at, text=why, rewound=tuple(ids), lifts=tuple(reasons))
    await _note_event(git, event)


def _copy(old: Record, place: RecordContext, reason: RecordId) -> Record:
    """What a memory said before another took its place; it counts as long as the reason does."""
    again = correct_record(old, old.content, old.title, place)
    return again.model_copy(update={"supersedes": (), "derived_from": (old.id, reason)})


async def _write(
    workspace: Workspace,
    why: str,
    build: Callable[[Head, Callable[[], RecordContext]], list[Record]],
) -> None:
    """Write these records in one move by git, which moves no segment."""
    await load_head_to_write(workspace)

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove:
        along = build(head, lambda: make_writing(workspace, head.timeline, at))
        carries = tuple(record.id for record in along)
        step = Move(act="anchor", branch=workspace.caller.branch, carries=carries)
        record = build_move_record(workspace, head, step, id_=id_, at=at, kind="move", content=why)
        return PlannedMove(sign_by_git(record), tuple(map(sign_by_git, along)))

    await move_head(workspace, plan)
    workspace.project.changes.note()


async def _note_event(git: GitFollower, event: GitEvent) -> None:
    await change_state(git, lambda state: state.model_copy(update={"event": event}))
