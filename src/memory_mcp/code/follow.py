"""Where memories stand in git, as a report; brings them here, and takes the last of it back."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from shlex import quote
from typing import Final

from memory_mcp.code.rewinds import count_hidden, find_marked, undo_rewind
from memory_mcp.domain.git import SHORT, GitEvent, GitMode, GitPlace, Mark
from memory_mcp.domain.ids import MAIN, RecordId, SegmentId
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import LaterAct, Skipped
from memory_mcp.domain.record import Record, format_time
from memory_mcp.domain.timeline import Anchor, Timeline
from memory_mcp.engine.acts import find_later_act
from memory_mcp.engine.git import (
    PAUSES,
    WRITTEN,
    anchor_segments,
    choose_memories,
    count_memories,
    write_bring,
)
from memory_mcp.engine.git_left import find_left_over
from memory_mcp.engine.git_look import NewAnchor
from memory_mcp.engine.head import load_head, load_moves
from memory_mcp.engine.workspace import GitFollower, Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import GitSilentError, InvalidRequestError, UnknownTargetError
from memory_mcp.frozen import frozen
from memory_mcp.timeline.standing import group_by_segment, list_anchors

_NO_GIT: Final = (
    "Nothing follows git here: this is no git work tree, or MEMORY_GIT is off. "
    "`memory-mcp config` says whether it is, and who set it."
)
_ERASING: Final = "The memories themselves stay as they are."
_FIRST: Final[Mapping[str, str]] = {
    "no commit": "Commit something first.",
    "detached": "Check out a branch first.",
    "operation": "End that first.",
    "locked": "Wait until git is done.",
}
"""What ends a pause, where something can."""


@frozen
class GitGroup:
    """Memories with one mark, the name of what they stand on, and the command that moves them.

    `hidden`: they are not recalled here.
    """

    mark: Mark
    memories: int
    name: str
    command: str
    hidden: bool


@frozen
class GitReport:
    """The mode, where the work tree stands, why it is paused, and what stands elsewhere."""

    mode: GitMode
    place: GitPlace
    pause: str
    groups: Sequence[GitGroup]


@frozen
class GitMoved:
    """Memories were brought here, or the last move of git's was taken back or done again."""

    memories: int
    message: str


@frozen
class GitHeldBack:
    """Nothing was taken back: `takes_back` is older than what was done `later` to a memory."""

    takes_back: str
    later: LaterAct


async def report_git(workspace: Workspace) -> GitReport | Skipped:
    """Where git is, and what stands elsewhere. Moves nothing but what git itself has moved."""
    if skipped := refuse_reads(workspace):
        return skipped
    timeline = (await load_head(workspace)).timeline
    git = workspace.git
    if git is None:
        return Skipped(_NO_GIT)
    if (chosen := workspace.caller.branch) != MAIN:
        why = f"memory's branch {chosen!r} was chosen, and all of that is recalled"
        return GitReport(git.mode, git.history.look(), why, [])
    tree = git.history.load().trees.get(git.history.name)
    place = git.history.look()
    if tree and not place.followed:
        place = GitPlace(*tree.here)
    groups = [
        *await _group(workspace, git, timeline),
        *await _group_files(workspace, git),
        *await _group_rewound(workspace, git),
    ]
    pause = PAUSES.get(git.pause, "") or git.silent
    if git.mode != "off" and (left := find_left_over(git.history, workspace.clock.now())):
        pause = f"{left.what} {left.remedy}"
    return GitReport(git.mode, place, pause.removesuffix("."), groups)


async def choose_mode(workspace: Workspace, mode: GitMode) -> GitReport | Skipped:
    """Choose for this project, on this machine, whether memory follows git.

    Raises:
        InvalidRequestError: MEMORY_GIT says otherwise.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    git = workspace.git
    if git is None:
        return Skipped(_NO_GIT)
    if git.asked not in (None, mode):
        raise InvalidRequestError(
            f"MEMORY_GIT is {git.asked!r} and counts before this choice. Set it to {mode!r}, or "
            "take it out of the settings."
        )
    with git.history.alone() as alone:
        if not alone:
            raise InvalidRequestError("Another session is looking at git right now; repeat this.")
        state, was = git.history.load(), git.find_mode()
        update: dict[str, object] = {"mode": mode}
        if mode != was:
            at, text = format_time(workspace.clock.now()), f"git: mode {mode} instead of {was}"
            update["event"] = GitEvent(at=at, text=text, was=was)
            update["told"] = {}  # where memories stand is told anew, and not of git
        git.history.save(state.model_copy(update=update))
    git.mode = git.find_mode()
    workspace.project.changes.note()  # pages and openings are rendered anew
    return await report_git(workspace)


async def bring_here(workspace: Workspace, name: str) -> GitMoved | Skipped:
    """Let the memories of a branch or commit of git hold on this commit, too.

    Raises:
        UnknownTargetError: nothing of that name stands elsewhere.
        InvalidRequestError: git cannot be followed now, or is what brings them.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    workspace = workspace.at(MAIN)
    timeline = (await load_head(workspace)).timeline
    git = _require_git(workspace)
    groups = _find_groups(git, timeline)
    found = [s for key, segments in groups.items() if name in key.names for s in segments]
    for group in await _group_files(workspace, git) if not found else ():
        if name in (group.name, *group.mark.names):
            raise InvalidRequestError(f"Git has their files: `{group.command}` brings them.")
    if not found:
        known = dict.fromkeys(key.names[0] for key in groups)
        raise UnknownTargetError("branch or commit with memories elsewhere", name, known=known)
    count = await count_memories(workspace, timeline, found)
    await _anchor_here(workspace, git, found, f"on {name}, brought to")
    here = git.history.load().trees[git.history.name].branch
    message = (
        f"{pluralise(count)} of {name} now {'counts' if count == 1 else 'count'} on {here}, too. "
        "`memory-mcp undo` takes it back."
    )
    return GitMoved(count, message)


async def undo_git(workspace: Workspace, *, older: bool = False) -> GitMoved | GitHeldBack | None:
    """Take back the last thing that git did to what is recalled; None if a move came after it.

    What a checkout or a reset took out of sight is brought here; an anchor is taken back, and so is
    the choice of a mode. Done again, each is redone. What is older than what was done to a memory
    is taken back only with `older`; for the choice of a mode, which hides nothing newer, that is
    whatever was written since.
    """
    git = workspace.git
    if git is None or workspace.caller.branch != MAIN or refuse_writes(workspace):
        return None
    timeline = (await load_head(workspace)).timeline
    moves = await load_moves(workspace)
    last = _find_last(moves, timeline)
    for event in _list_events(git):
        if last and event.at < format_time(last.created_at):
            break
        hidden = [segment for segment in event.hides if segment in git.standing.hides]
        takes_back = _describe_event(event, git.find_mode(), hidden=bool(hidden))
        if not takes_back:
            continue
        at, acts = datetime.fromisoformat(event.at), "all" if event.was else "changes"
        if not older and (later := await find_later_act(workspace, timeline, at, acts)):
            return GitHeldBack(takes_back, later)
        return await _undo_event(workspace, git, timeline, event, hidden)
    if last is None or last.move is None or last.move.act != "anchor":
        return None
    if not older and (later := await find_later_act(workspace, timeline, last, "changes")):
        return GitHeldBack(f"what git moved ({last.content})", later)
    return await _take_back(workspace, git, last, {move.id: move for move in moves})


def _describe_event(event: GitEvent, mode: GitMode, *, hidden: bool) -> str:
    """What taking it back would take back, in words; '' if nothing of it is left."""
    if event.rewound:
        return "the hiding of what turns wrote that /rewind took back"
    if event.was:
        return f"the choice of git's mode ({mode} instead of {event.was})"
    return "what a checkout or a reset of git's took out of sight" if hidden else ""


async def _undo_event(
    workspace: Workspace,
    git: GitFollower,
    timeline: Timeline,
    event: GitEvent,
    hidden: Sequence[SegmentId],
) -> GitMoved:
    if event.rewound:
        message = await undo_rewind(workspace, git, event)
        return GitMoved(await count_hidden(workspace, event), f"{message} {_ERASING}")
    if event.was:
        return await _choose_again(workspace, git, timeline, event.was)
    count = await count_memories(workspace, timeline, hidden)
    await _anchor_here(workspace, git, hidden, "elsewhere, kept at")
    return GitMoved(count, f"{pluralise(count)} kept here all the same. {_ERASING}")


def _list_events(git: GitFollower) -> list[GitEvent]:
    """What git did to what is recalled in this work tree, and what was chosen; the last first."""
    state = git.history.load()
    here = state.told.get(git.history.name)
    events = [event for event in (here and here.event, state.event) if event]
    return sorted(events, key=lambda event: event.at, reverse=True)


async def _choose_again(
    workspace: Workspace, git: GitFollower, timeline: Timeline, mode: GitMode
) -> GitMoved:
    """Choose the mode that was chosen before."""
    before = git.standing.hides if git.mode == "follow" else frozenset[SegmentId]()
    await choose_mode(workspace, mode)
    after = git.standing.hides if git.mode == "follow" else frozenset[SegmentId]()
    count = await count_memories(workspace, timeline, before ^ after)
    became = "not recalled here" if after else "recalled again"
    effect = f": {pluralise(count)} of other commits {became}" if count else ""
    return GitMoved(count, f"The mode is {mode} again{effect}. {_ERASING}")


async def _take_back(
    workspace: Workspace, git: GitFollower, last: Record, moves: Mapping[RecordId, Record]
) -> GitMoved:
    """Take an anchor back; what took one back itself gives it again."""
    before = git.standing.hides
    content, given = f"{last.content}, taken back", Anchor(segments=(), commit="")
    taken = last.move.undoes if last.move and not last.move.anchors else ()
    original = next((moves[id_] for id_ in taken if id_ in moves), None)
    if original and original.move:
        move, content = original.move, original.content
        given = Anchor(segments=move.anchors, commit=move.commit, git_branch=move.git_branch)
    why = content.removeprefix(WRITTEN)
    await anchor_segments(workspace, NewAnchor(given, why), (last.id,), by_git=False)
    timeline = (await load_head(workspace)).timeline
    if original:
        count = await count_memories(workspace, timeline, before - git.standing.hides)
        return GitMoved(count, f"Done again: {content}. {pluralise(count)} recalled here again.")
    count = await count_memories(workspace, timeline, git.standing.hides - before)
    again = f"{pluralise(count)} marked or hidden again"
    return GitMoved(count, f"Taken back: {last.content}. {again}.")


def _require_git(workspace: Workspace) -> GitFollower:
    if workspace.git is None:
        raise InvalidRequestError(_NO_GIT)
    if workspace.git.mode == "off":
        raise InvalidRequestError(
            "Git is not followed in this project. `memory-mcp git mark` or `follow` begins with it."
        )
    if why := PAUSES.get(workspace.git.pause):
        first = _FIRST.get(workspace.git.pause, "")
        raise InvalidRequestError(f"Git is not followed at the moment: {why}. {first}".rstrip())
    return workspace.git


def _find_last(moves: Sequence[Record], timeline: Timeline) -> Record | None:
    """The newest move that hid or placed something; an anchor that closed a segment did not."""
    known = group_by_segment(list_anchors(timeline).values())
    for record in sorted(moves, key=lambda record: record.id, reverse=True):
        move = record.move
        if move is None or move.branch != MAIN or move.act in ("fork", "join"):
            continue
        if move.act != "anchor":
            return record
        again = move.anchors and all(
            len({anchor.commit for anchor in known.get(s, ())}) > 1 for s in move.anchors
        )
        if record.id not in timeline.undone and (again or record.origin.client != "git"):
            return record
    return None


async def _anchor_here(
    workspace: Workspace, git: GitFollower, segments: Sequence[SegmentId], why: str
) -> RecordId:
    branch, commit = git.history.load().trees[git.history.name].here
    if not commit:
        raise InvalidRequestError(
            f"Nothing is committed on {branch} yet on which they could count. Commit something "
            "first."
        )
    anchor = Anchor(segments=tuple(segments), commit=commit, git_branch=branch)
    new = NewAnchor(anchor, f"{why} {commit[:SHORT]}")
    _, record = await anchor_segments(workspace, new, by_git=False)
    await load_head(workspace)
    return record.id


def _find_groups(git: GitFollower, timeline: Timeline) -> dict[Mark, list[SegmentId]]:
    """The segments that stand elsewhere, by their mark: a branch's together, a commit's too."""
    groups: dict[Mark, list[SegmentId]] = {}
    chain = timeline.chain(MAIN)
    for segment, mark in git.standing.marks.items():
        if segment in chain and mark.why != "reverted":
            groups.setdefault(mark, []).append(segment)
    return groups


async def _group(workspace: Workspace, git: GitFollower, timeline: Timeline) -> Sequence[GitGroup]:
    merged: dict[tuple[str, str], tuple[Mark, list[SegmentId]]] = {}
    for mark, segments in _find_groups(git, timeline).items():
        key = (mark.why, mark.names[0] if mark.names else "")
        merged.setdefault(key, (mark, []))[1].extend(segments)
    hidden = git.mode == "follow"
    return [
        GitGroup(mark, count, name, write_bring(name), hidden)
        for (_, name), (mark, segments) in merged.items()
        if (count := await count_memories(workspace, timeline, segments))
    ]


async def _group_files(workspace: Workspace, git: GitFollower) -> Sequence[GitGroup]:
    """Memories that are committed on other branches alone, or on the commit that a reset left.

    A branch that is gone has no name for git any more: its last commit is named.
    """
    place = git.history.look()
    if git.mode == "off" or not git.history.load().with_code or not place.commit:
        return []
    try:
        tips = await asyncio.to_thread(git.history.list_tips)
        ask = git.history.compare_records
        found = await asyncio.to_thread(ask, place.commit, [tip.commit for tip in tips])
        index = workspace.project.index
        every = {id_: blob for each in found for id_, blob in each.beyond.items()}
        known = await index.ids(every) | await index.logged()
        away = {id_: blob for id_, blob in every.items() if id_ not in known}
        memories = await choose_memories(workspace, git, away)
    except GitSilentError:
        return []
    groups: list[GitGroup] = []
    for tip, each in zip(tips, found, strict=True):
        fresh = each.beyond.keys() & memories
        memories -= fresh
        if fresh:
            mark = Mark("elsewhere" if tip.branch else "reset", tip.branch, tip.commit)
            command = f"git checkout {quote(tip.name)} -- {quote(each.folder)}"
            groups.append(GitGroup(mark, len(fresh), tip.name, command, hidden=True))
    return groups


async def _group_rewound(workspace: Workspace, git: GitFollower) -> Sequence[GitGroup]:
    """What turns wrote that were taken back: what is marked, and what the last one hid."""
    event = git.history.load().event
    marked = len(await find_marked(workspace))
    hidden = await count_hidden(workspace, event) if event and event.lifts else 0
    groups = (
        GitGroup(Mark("rewound"), marked, "rewind", "memory-mcp git rewind", hidden=False),
        GitGroup(Mark("rewound"), hidden, "rewind", "memory-mcp undo", hidden=True),
    )
    return [each for each in groups if each.memories]


def describe_groups(groups: Sequence[GitGroup]) -> list[str]:
    """A sentence for each: why they are marked or hidden, and what changes that."""
    return [
        f"{pluralise(each.memories)}: {each.mark} "
        f"({'not recalled here' if each.hidden else 'marked'}; `{each.command}`)."
        for each in groups
    ]
