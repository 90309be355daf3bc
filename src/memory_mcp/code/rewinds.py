"""What the turns wrote that a user left by going back in the conversation (`/rewind`).

In `follow` it is taken out of sight, in `mark` it is marked. The move carries a reason, which hides
nothing itself; an exclusion that hides for as long as the reason counts; and a copy of what these
turns had replaced or forgotten. To bury the reason undoes all of it at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from memory_mcp.text.drafts import (
    build_exclusion,
    build_on_timeline,
    build_tombstone,
    correct_record,
)

_MARKED_MAX: Final = 500
_CAPTURED: Final = "captured"


@frozen
class LeftMemories:
    """What left turns wrote, and whether it is hidden or marked; what is durable stays.

    `sealed` are the checkpoints among it. `forgot` is how many memories they had forgotten that are
    still on disk.
    """

    records: Sequence[Record] = ()
    durable: Sequence[Record] = ()
    sealed: Sequence[Record] = ()
    forgot: int = 0
    hidden: bool = False
    marked: bool = False


async def follow_rewind(workspace: Workspace, event: ConversationRewound) -> LeftMemories:
    """Hide or mark what the turns wrote that were left, as the mode says.

    It says the same if it is asked twice, but hides once: what is hidden is found no more.
    """
    written = await _find_written(workspace, event)
    leading = await _find_leading(workspace, written)
    told = [record for record in leading if record.kind in MEMORY_KINDS]
    durable = [record for record in told if record.durable]
    moving = [record for record in told if not record.durable]
    sealed = [record for record in leading if record.kind == "checkpoint"]
    left = LeftMemories(moving, durable, sealed, len(leading) - len(told) - len(sealed))
    git = workspace.git
    ids = tuple(record.id for record in written if not record.durable)
    mode = git.find_mode() if git else "off"
    if git is None or mode == "off" or refuse_writes(workspace) or len(leading) == len(durable):
        return left
    if mode == "mark":
        await _mark(git, ids)
        return replace(left, marked=True)
    await _hide(workspace, git, ids)
    return replace(left, hidden=True)


async def hide_marked(workspace: Workspace) -> int | Skipped:
    """Take out of sight what is marked as written in turns that were left; how many memories."""
    if skipped := refuse_writes(workspace):
        return skipped
    git = workspace.git
    marked = await find_marked(workspace)
    if git is None or not marked:
        return 0
    ids = git.history.load().rewound
    await _hide(workspace, git, ids)
    await _mark(git, ids, marked=False)
    return len(marked)


async def find_marked(workspace: Workspace) -> Sequence[Record]:
    """What is marked as written in turns that were left, and still counts."""
    git = workspace.git
    marked = git.history.load().rewound if git else ()
    return await _find_leading(workspace, await load_records(workspace.project, list(marked)))


async def count_hidden(workspace: Workspace, event: GitEvent) -> int:
    """How many memories the last rewind took out of sight: of what was replaced, the last."""
    written = await load_records(workspace.project, list(event.rewound))
    replaced = {id_ for record in written for id_ in record.supersedes}
    return sum(each.kind in MEMORY_KINDS and each.id not in replaced for each in written)


async def undo_rewind(workspace: Workspace, git: GitFollower, event: GitEvent) -> str:
    """Bring back what the last rewind took out of sight; done again, take it out of sight."""
    many = pluralise(await count_hidden(workspace, event))
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
    """What these turns wrote: what their tools named and this session wrote since, or captured.

    A checkpoint is known by its time: a tool names it by its label alone.

    With it what they replaced themselves, and the tombstones of what they forgot.
    """
    if not isinstance(event.since, datetime) or not isinstance(event.until, datetime):
        return []
    view = make_view(workspace, (await load_head(workspace)).timeline)
    session = workspace.named(event.session)
    found: dict[RecordId, Record] = {}
    for bank in workspace.banks:
        for record in await load_records(bank, list(event.ids)):
            own = record.origin.session == session and record.created_at >= event.since
            if own and record.kind in MEMORY_KINDS:
                found[record.id] = record
    since = Filters(session=session, since=event.since)
    captured = replace(since, until=event.until, tags=(_CAPTURED,))
    sealed = replace(since, until=event.until, kinds=frozenset({"checkpoint"}))
    buried = replace(since, kinds=frozenset({"tombstone"}), history=True, reach="project")
    for filters in (captured, sealed):
        for record in (await load_newest(workspace, view, filters, RESULTS_MAX)).records:
            found[record.id] = record
    for record in (await load_newest(workspace, view, buried, RESULTS_MAX)).records:
        if not record.erases and set(record.supersedes) & set(event.ids):
            found[record.id] = record
    return [found[id_] for id_ in sorted(found)]


async def _find_leading(workspace: Workspace, written: Sequence[Record]) -> list[Record]:
    """Those that count: what is visible, and tombstones of what is said nowhere else now."""
    view = make_view(workspace, (await load_head(workspace)).timeline)
    ids = {record.id for record in written}
    seen = {id_ for bank in workspace.banks for id_ in await bank.index.visible(ids, view)}
    bank = workspace.project
    leading: list[Record] = []
    for record in written:
        counts = record.id in seen
        if record.kind == "tombstone":
            forgotten = await load_records(bank, sorted(set(record.supersedes) - ids))
            said = frozenset(old.statement for old in forgotten if old.statement)
            again = Filters(statements=said, kinds=MEMORY_KINDS)
            counts = bool(said) and not await bank.index.find(view, again, 1)
        if counts:
            leading.append(record)
    return leading


async def _mark(git: GitFollower, ids: Sequence[RecordId], *, marked: bool = True) -> None:
    rest = [id_ for id_ in git.history.load().rewound if id_ not in ids]
    kept = (*rest, *ids)[-_MARKED_MAX:] if marked else tuple(rest)
    await change_state(git, lambda state: state.model_copy(update={"rewound": kept}))
    git.rewound = frozenset(kept)


async def _hide(workspace: Workspace, git: GitFollower, ids: Sequence[RecordId]) -> None:
    """Take them out of sight in one move, and bring back what they had taken the place of."""
    written = {each.id: each for each in await load_records(workspace.project, list(ids))}
    left = [record.id for record in await _find_leading(workspace, [*written.values()])]
    for id_ in left:  # it grows by what these replaced of their own
        left += [old for old in written[id_].supersedes if old in written and old not in left]
    older = {id_ for each in left for id_ in written[each].supersedes} - set(left)
    replaced = await load_records(workspace.project, sorted(older))
    forgot = {id_ for each in left if written[each].kind == "tombstone"
              for id_ in written[each].supersedes}  # fmt: skip
    event = GitEvent(at="", text="", rewound=tuple(left))
    many = pluralise(await count_hidden(workspace, event))
    why = f"git: /rewind took back the turns that wrote {many}"
    reasons: list[RecordId] = []

    def exclude(head: Head, place: Callable[[], RecordContext]) -> list[Record]:
        del head
        reason = build_on_timeline(place(), "tombstone", why)
        exclusion = build_exclusion(left, place(), why, because=[reason.id])
        reasons[:] = [reason.id]
        return [
            reason,
            *(_copy(old, place(), reason.id, forgotten=old.id in forgot) for old in replaced),
            exclusion,
        ]

    await _write(workspace, why, exclude)
    at = format_time(workspace.clock.now())
    changes = {"at": at, "text": why, "lifts": tuple(reasons)}
    await _note_event(git, event.model_copy(update=changes))


def _copy(old: Record, place: RecordContext, reason: RecordId, *, forgotten: bool) -> Record:
    """What a memory said before another took its place; it counts as long as the reason does.

    Nothing made of a forgotten one would count, so that copy is its next version instead.
    """
    again = correct_record(old, old.content, old.title, place)
    again = again.model_copy(update={"stated_at": old.moment})
    if forgotten:
        return again.model_copy(update={"derived_from": (reason,)})
    return again.model_copy(update={"supersedes": (), "derived_from": (old.id, reason)})


async def _write(
    workspace: Workspace,
    why: str,
    build: Callable[[Head, Callable[[], RecordContext]], list[Record]],
) -> None:
    """Write these records in one move by git, which moves no segment."""
    await load_head_to_write(workspace)

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[None]:
        along = build(head, lambda: make_writing(workspace, head.timeline, at))
        carries = tuple(record.id for record in along)
        step = Move(act="anchor", branch=workspace.caller.branch, carries=carries)
        record = build_move_record(workspace, head, step, id_=id_, at=at, kind="move", content=why)
        return PlannedMove(sign_by_git(record), None, tuple(map(sign_by_git, along)))

    await move_head(workspace, plan)
    workspace.project.changes.note()


async def _note_event(git: GitFollower, event: GitEvent) -> None:
    await change_state(git, lambda state: state.model_copy(update={"event": event}))
