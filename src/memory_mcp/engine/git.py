"""Follows git: looks when HEAD moved, anchors what was written, and knows where memories stand.

When nothing moved, a call pays for three file stamps. When something did, git is read and asked in
a thread; the call waits for that a little, and goes on with what was known if it takes longer.

Only the main line of the timeline follows git: a session that chose a branch of its own stays as it
is. Each branch of git writes in an open segment of its own, so that a segment stands in one place.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import chain
from shlex import quote
from typing import Final

from memory_mcp.deadlines import LOCK_PAUSE_SECONDS, wait_for_lock
from memory_mcp.domain.git import (
    EVERYWHERE,
    SHORT,
    GitEvent,
    GitMode,
    GitPlace,
    GitState,
    Mark,
    SeenFiles,
    SeenTree,
    Standing,
    ToldTree,
    find_detached,
)
from memory_mcp.domain.ids import MAIN, ROOT, RecordId, SegmentId
from memory_mcp.domain.limits import HEAD_MOVES_RETRY_MAX, SUMMARY_CHARS_MAX
from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.record import MEMORY_KINDS, Move, Record, format_time
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Anchor, Head, Timeline
from memory_mcp.engine.git_look import KnownMemories, NewAnchor, Observation, Offer, observe
from memory_mcp.engine.moves import PlannedMove, Planner, build_move_record, try_move
from memory_mcp.engine.recovery import (
    describe_head_conflict,
    give_way,
    recover_head,
    recover_if_needed,
)
from memory_mcp.engine.workspace import GitFollower, Workspace
from memory_mcp.errors import ConflictError, GitSilentError, StoreError
from memory_mcp.timeline.standing import find_standing, group_by_segment, list_anchors

WAIT_SECONDS_MAX: Final = 1.0
"""A call that reads waits so long for git; then it goes on with what was known."""
WRITTEN: Final = "git: what was written "
"""How the move of an anchor begins; why it was made follows."""
_WRITE_SECONDS_MAX: Final = 8.0
_OFFERS_MAX: Final = 8
"""Offers that one answer tells."""
_OFFERS_TOLD_MAX: Final = 512
_MEMORIES: Final = Filters(kinds=MEMORY_KINDS, durable=False)
_SLOW: Final = "Git moved and has not answered yet: memories stand as they stood before."
PAUSES: Final = {
    "no repository": "this is no git work tree",
    "no commit": "there is no commit yet",
    "detached": "HEAD is detached",
    "operation": "a merge, rebase, cherry-pick, revert or bisect is in progress",
    "locked": "git's index is locked",
    "no reflog": "git keeps no reflog here (core.logAllRefUpdates)",
    "reftable": "its refs are stored as reftable, which cannot be read",
}


def get_standing(workspace: Workspace) -> Standing:
    """Where memories stand for this caller; everywhere, on a branch that was chosen."""
    git = workspace.git
    return git.standing if git and workspace.caller.branch == MAIN else EVERYWHERE


def find_mark(workspace: Workspace, record: Record) -> Mark | None:
    """Where the memory stands, if not on this commit, or that its turn was taken back."""
    marks = get_standing(workspace).marks
    mark = marks.get(record.segment) if marks and record.segment else None
    if mark is None and workspace.git and record.id in workspace.git.rewound:
        return Mark("rewound")
    return mark


def list_git_anchors(workspace: Workspace, timeline: Timeline) -> dict[RecordId, Anchor]:
    """The anchors that count, with their branches' names now."""
    git = workspace.git
    return list_anchors(timeline, git.history.load().renamed if git else ())


def write_bring(name: str) -> str:
    """The command that lets memories of a branch or commit count here, to be pasted."""
    return f"memory-mcp git bring {quote(name)}"


def explain_elsewhere(workspace: Workspace, record: Record) -> str:
    """Where a memory stands that does not stand on this commit, and what lets it count; else ''."""
    mark = find_mark(workspace, record)
    if mark is None or not mark.names:
        return ""
    ways = [f"`{write_bring(mark.names[0])}` lets it count here, too"]
    if mark.why == "elsewhere":
        ways.append(f"`git switch {quote(mark.names[0])}` goes there")
    return f"does not stand on this commit of git ({mark}): {'; '.join(ways)}"


def select_here(workspace: Workspace, records: Iterable[Record]) -> list[Record]:
    """Those of the memories that stand on this commit: others say nothing of what is known here."""
    return [record for record in records if find_mark(workspace, record) is None]


def stands_elsewhere(workspace: Workspace, record: Record) -> bool:
    """Whether this commit does not have the memory. It has one whose commit was reverted."""
    return record.segment in get_standing(workspace).hides


def list_elsewhere(workspace: Workspace, records: Iterable[Record]) -> frozenset[RecordId]:
    """Those of the memories that do not stand on this commit."""
    return frozenset(record.id for record in records if find_mark(workspace, record))


def list_away(workspace: Workspace, chain: frozenset[SegmentId]) -> frozenset[SegmentId]:
    """The segments of the chain that do not stand on this commit."""
    marks = get_standing(workspace).marks
    return chain.intersection(marks)


def hide_elsewhere(workspace: Workspace, chain: frozenset[SegmentId]) -> frozenset[SegmentId]:
    """The chain without what stands elsewhere in git, if git is followed."""
    git = workspace.git
    hides = get_standing(workspace).hides
    return chain - hides if git and hides and git.mode == "follow" else chain


async def find_away(workspace: Workspace, head: Head) -> frozenset[SegmentId]:
    """The segments whose memories git keeps from being recalled here, so that no move leaves them.

    A segment that holds nothing, and in which nothing more is written, goes with what it grew from.
    Where records are committed with the code, git may have taken the files of any such segment.
    What is about to be left must not be taken for what is here, so git is waited for.
    """
    git = workspace.git
    if git is None or git.mode == "off" or workspace.caller.branch != MAIN:
        return frozenset()
    if git.task is not None or git.pause == "locked":
        await follow_git(workspace, head, writes=True)
    timeline, state = head.timeline, git.history.load()
    away = git.standing.hides if git.mode == "follow" else frozenset[SegmentId]()
    every = {ROOT, *timeline.segments} if state.with_code else timeline.descendants(away)
    done = every.difference(tip for tip in timeline.tips(MAIN) if tip not in state.closed)
    return away | (done - await workspace.project.index.holding(done)) if done else away


async def follow_git(workspace: Workspace, head: Head, *, writes: bool = False) -> Head:
    """Look at git if it moved since the last look; the head, with the anchors that came of it.

    Who `writes` waits longer, and looks at HEAD also while git's index is locked: that may last.

    It raises nothing: where git cannot be followed, memories stand as they stood.
    """
    git = workspace.git
    if git is None or workspace.caller.branch != MAIN or not workspace.policy.enabled:
        return head
    stamp = git.history.stamp()
    if stamp == git.stamp and _is_placed(git, head.timeline):
        return head
    async with git.looking:
        was, hid = git.mode, git.standing.hides
        git.mode = git.find_mode()
        for damage in git.history.take_damage(chosen=git.asked is None):
            git.tell(damage)
        if git.mode != was:  # whoever chose it has told where memories stand
            git.told = None
        git.rewound = frozenset(git.history.load().rewound) if git.mode != "off" else frozenset()
        if git.mode == "off":
            git.standing, git.stamp, git.placed = EVERYWHERE, stamp, _find_placing(head.timeline)
            await _tell_mode(workspace, git, head.timeline, was, hid)
            return head
        with suppress(StoreError, ConflictError):
            own, seen = git.standing.own, git.history.load()
            head, stamp = await _catch_up(workspace, git, head, writes=writes)
            brought = await _tell_files(workspace, git, own, seen)
            head = await _update_standing(workspace, git, head, brought)
            git.stamp, git.placed = stamp, _find_placing(head.timeline)
            await _tell_mode(workspace, git, head.timeline, was, hid)
    return head


def _find_placing(timeline: Timeline) -> tuple[object, object]:
    """The parts of the timeline that say where memories stand; a move that changes none keeps it.

    To take an anchor back is to add none.
    """
    return timeline.anchors, timeline.undone


def _is_placed(git: GitFollower, timeline: Timeline) -> bool:
    return all(a is b for a, b in zip(git.placed, _find_placing(timeline), strict=True))


async def open_segment(workspace: Workspace, head: Head) -> Head:
    """The head, in which this branch of git has an open segment of its own to write in.

    What is about to be written must not land beside its place, so git is waited for. If it does
    not answer in time, HEAD still says which branch this is.

    Raises:
        ConflictError: other sessions look at git, or move the head, for too long.
    """
    git = workspace.git
    if git is None or git.mode == "off" or workspace.caller.branch != MAIN or workspace.policy.meta:
        return head
    if git.task is not None or git.pause == "locked":
        head = await follow_git(workspace, head, writes=True)
    state, owner = git.history.load(), _find_owner(git)
    own = git.standing.own
    if not owner:
        return head
    if own and own in head.timeline.tips(MAIN) and state.may_write(own, owner):
        return head
    with suppress(StoreError):
        async with git.looking:
            head = await _claim_segment(workspace, git, head, owner)
            head = await _update_standing(workspace, git, head)
            stamp, seen = git.history.stamp(), _is_seen(git, git.history.look())
            git.stamp, git.placed = stamp if seen else None, _find_placing(head.timeline)
    return head


def _find_owner(git: GitFollower) -> str:
    """Whose is what is written now, by HEAD's own file; '' where that is not known.

    Where git is not followed, it is whose it was when it was followed last.
    """
    if (place := git.history.look()).followed:
        return place.find_owner(git.history.name)
    seen = git.history.load().trees.get(git.history.name)
    return seen.find_owner(git.history.name) if seen else ""


def choose_segment(workspace: Workspace, timeline: Timeline) -> SegmentId:
    """The open segment in which the caller writes."""
    tips = timeline.tips(workspace.caller.branch)
    own = get_standing(workspace).own
    return own if own is not None and own in tips else tips[-1]


async def _catch_up(
    workspace: Workspace, git: GitFollower, head: Head, *, writes: bool
) -> tuple[Head, object]:
    """Look until what was seen is where HEAD is now; the head, and the stamp if that succeeded."""
    seconds = _WRITE_SECONDS_MAX if writes else WAIT_SECONDS_MAX
    until = asyncio.get_running_loop().time() + seconds
    while True:
        stamp = git.history.stamp()
        place = git.history.look()
        git.pause = place.pause
        followed = place.followed and (place.pause != "locked" or writes)
        if not followed or workspace.policy.meta or _is_seen(git, place):
            return head, stamp
        with git.history.alone() as alone:
            if alone:
                head, answered = await _look(workspace, git, head, place, until)
            else:  # another session looks, and leaves what it finds
                answered = asyncio.get_running_loop().time() < until
                if not answered:
                    git.tell(_SLOW)
                await asyncio.sleep(LOCK_PAUSE_SECONDS)
        if not answered:
            return head, None


def _is_seen(git: GitFollower, place: GitPlace) -> bool:
    seen = git.history.load().trees.get(git.history.name)
    return seen is not None and seen.is_at(place)


async def _look(
    workspace: Workspace, git: GitFollower, head: Head, place: GitPlace, until: float
) -> tuple[Head, bool]:
    """Look at git and write what came of it; whether git answered in time.

    An answer that comes late is taken by the next call, unless another session was first.
    """
    state = git.history.load()
    if git.task is None or git.asked_with is not state:
        known = await _list_known(workspace, git, head.timeline, state)
        work = asyncio.to_thread(observe, git.history, place, state, known)
        git.task, git.asked_with = asyncio.create_task(work), state
    left = max(0.0, until - asyncio.get_running_loop().time())
    answered, _ = await asyncio.wait([git.task], timeout=left)
    if not answered:
        git.tell(_SLOW)
        return head, False
    task, git.task = git.task, None
    was, git.silent = git.silent, ""
    try:
        found: Observation = task.result()
    except GitSilentError as error:
        git.silent = str(error)
        if git.silent != was:  # it may stay so, and is told once
            git.tell(f"Git could not be followed ({error}): memories stand as they stood before.")
        return head, False
    head, done = await _write_anchors(workspace, head, found, until)
    if not done:
        git.tell(_SLOW)
        return head, False
    git.history.save(await _tell_offers(workspace, git, head.timeline, found))
    for note in found.notes:
        git.tell(note)
    return head, True


async def _list_known(
    workspace: Workspace, git: GitFollower, timeline: Timeline, state: GitState
) -> KnownMemories:
    written = await workspace.project.index.ids_by_segment(list(state.claims))
    tracked = await _find_tracked(git, written, anywhere=True)
    anchors = list_anchors(timeline, state.renamed)
    with_code = state.with_code or bool(git.history.list_tracked())
    return KnownMemories(
        tuple(anchors.values()), frozenset(written), frozenset(tracked), with_code,
        max(anchors, default=None),
    )  # fmt: skip


async def _find_tracked(
    git: GitFollower, written: Mapping[SegmentId, Collection[RecordId]], *, anywhere: bool = False
) -> set[SegmentId]:
    """Those of these segments of which git tracks any record: they go where their files go."""
    every = set[RecordId]().union(*written.values())
    tracked = await asyncio.to_thread(git.history.tracked, every, anywhere=anywhere)
    return {segment for segment, ids in written.items() if not tracked.isdisjoint(ids)}


async def _find_absent(
    workspace: Workspace, git: GitFollower, timeline: Timeline, state: GitState
) -> dict[SegmentId, str]:
    """The segments that are committed with the code in other work trees alone, with the branch."""
    elsewhere = await asyncio.to_thread(git.history.list_tracked_elsewhere)
    if not elsewhere:
        return {}
    known = state.claims.keys() | group_by_segment(list_anchors(timeline).values()).keys()
    written = await workspace.project.index.ids_by_segment(timeline.chain(MAIN) - known)
    here = await _find_tracked(git, written)
    return {
        segment: elsewhere[names[0]]
        for segment, ids in written.items()
        if segment not in here and (names := sorted(ids.intersection(elsewhere)))
    }


async def _write_anchors(
    workspace: Workspace, head: Head, found: Observation, until: float
) -> tuple[Head, bool]:
    """Write the anchors, at least one; whether all are written. Else the next look finds the rest.

    A rebase may copy many commits with memories, and a call that reads waits no longer for it.
    """
    for count, new in enumerate(found.anchors):
        if count and asyncio.get_running_loop().time() > until:
            return head, False
        head, _ = await anchor_segments(workspace, new)
    return head, True


async def anchor_segments(
    workspace: Workspace, new: NewAnchor, undoes: tuple[RecordId, ...] = (), *, by_git: bool = True
) -> tuple[Head, Record]:
    """Write the anchor as a move; it seals those of its segments that are open."""

    async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[None]:
        anchor = new.anchor
        open_ = tuple(s for s in head.timeline.tips(MAIN) if s in anchor.segments)
        step = Move(
            act="anchor",
            branch=MAIN,
            opens={MAIN: SegmentId(workspace.ids.new(at))} if open_ else {},
            parents=open_,
            leaves=open_,
            anchors=anchor.segments,
            commit=anchor.commit,
            git_branch=anchor.git_branch,
            undoes=undoes,
        )
        content = cut(f"{WRITTEN}{new.why}", SUMMARY_CHARS_MAX)
        record = build_move_record(
            workspace, head, step, id_=id_, at=at, kind="move", content=content
        )
        return PlannedMove(sign_by_git(record) if by_git else record, None)

    return await _move(workspace, plan)


async def _claim_segment(workspace: Workspace, git: GitFollower, head: Head, owner: str) -> Head:
    """Give this branch of git an open segment: an empty one, or a new one beside the others'.

    A detached HEAD has one of its own, too: nobody knows yet which branch takes it up.

    A segment is claimed only to be written in, so one that is claimed or that git has is not empty,
    even if a checkout has taken its files away.
    """
    commit = find_detached(owner)
    branch = "" if commit else owner
    async with _wait_alone(git):
        state = git.history.load()
        tips = head.timeline.tips(MAIN)
        written = await workspace.project.index.ids_by_segment(tips)
        used = state.claims.keys() | state.closed
        free = [s for s in tips if s not in written and s not in used]
        mine = [s for s in tips if state.may_write(s, owner)]
        if not (mine or free):

            async def plan(head: Head, id_: RecordId, at: datetime) -> PlannedMove[None]:
                tips = head.timeline.tips(MAIN)
                left = tuple(s for s in tips if s not in state.claims or s in state.closed)
                under = left or _find_parents(head.timeline, tips)
                step = Move(
                    act="anchor", branch=MAIN, opens={MAIN: SegmentId(workspace.ids.new(at))},
                    parents=under, leaves=left, git_branch=branch,
                )  # fmt: skip
                content = f"git: work on {branch or commit[:SHORT]} begins a segment"
                record = build_move_record(
                    workspace, head, step, id_=id_, at=at, kind="move", content=content
                )
                return PlannedMove(sign_by_git(record), None)

            head, record = await _move(workspace, plan)
            free = list(record.move.opens.values()) if record.move else []
        own = (mine or free)[-1]
        claims = {**state.claims, own: (owner,)}
        closed = state.closed.intersection(head.timeline.tips(MAIN))
        git.history.save(state.model_copy(update={"claims": claims, "closed": closed}))
    return head


async def _move(workspace: Workspace, plan: Planner[None]) -> tuple[Head, Record]:
    for tries in range(HEAD_MOVES_RETRY_MAX):
        await give_way(tries)
        head = await workspace.heads.read()
        if head is None:
            break
        if moved := await try_move(workspace, await recover_head(workspace, head), plan):
            return moved[0], moved[1].record
    raise ConflictError(describe_head_conflict())


async def change_state(git: GitFollower, change: Callable[[GitState], GitState]) -> None:
    """Change what this machine remembers of git; another session that looks is waited for.

    Raises:
        ConflictError: that takes too long; nothing was changed.
    """
    async with _wait_alone(git):
        git.history.save(change(git.history.load()))


@asynccontextmanager
async def _wait_alone(git: GitFollower) -> AsyncGenerator[None]:
    """Hold the lock on what is remembered of git, once no other session looks any more."""

    @asynccontextmanager
    async def try_lock() -> AsyncGenerator[bool]:
        with git.history.alone() as alone:
            yield alone

    async with wait_for_lock(try_lock, _WRITE_SECONDS_MAX) as held:
        if not held:
            raise ConflictError("Another session is looking at git for too long; nothing was done.")
        yield


def sign_by_git(record: Record) -> Record:
    """The record as written by git, not by whoever called."""
    origin = record.origin.model_copy(update={"by": "system", "client": "git"})
    return record.model_copy(update={"origin": origin})


def _find_parents(timeline: Timeline, tips: Sequence[SegmentId]) -> tuple[SegmentId, ...]:
    """What the open segments stand on: a new one beside them stands on the same."""
    parents = [p for tip in tips if tip in timeline.segments
               for p in timeline.segments[tip].parents]  # fmt: skip
    return tuple(dict.fromkeys(parents)) or (ROOT,)


async def _update_standing(
    workspace: Workspace, git: GitFollower, head: Head, told: Collection[RecordId] = ()
) -> Head:
    """Compute where memories stand, and tell once what is shown no more, or again, if not `told`.

    Whoever looks writes anchors first and then the state, which forgets their claims. So the head
    is read after the state: by an older one, what was anchored meanwhile would stand everywhere.
    """
    at, state = workspace.clock.now(), git.history.load()
    newest = await workspace.heads.read()
    if newest is not None and newest.revision > head.revision:
        head = await recover_if_needed(workspace, newest)
    timeline = head.timeline
    tree, owner = state.trees.get(git.history.name), _find_owner(git)
    own = next((s for s in timeline.tips(MAIN) if state.may_write(s, owner)), None)
    if tree is None:  # never looked: nothing is known
        git.standing = Standing({}, own=own)
        return head
    reverting = chain.from_iterable(state.reverts.values())  # another work tree may have seen them
    unasked = {a.commit for a in list_anchors(timeline).values()}.union(reverting) - tree.asked
    away = set(tree.away)
    if unasked:
        with suppress(GitSilentError):
            away |= await asyncio.to_thread(git.history.find_away, unasked, tree.heads)
    away -= state.unproved
    find = partial(
        find_standing, timeline, tree.branch, owner,
        away=away, claims=state.claims, reverts=state.reverts, lost=state.lost,
        renamed=state.renamed, absent=await _find_absent(workspace, git, timeline, state),
    )  # fmt: skip
    found = find()
    if tracked := await _find_tracked(
        git, await workspace.project.index.ids_by_segment(found.hides)
    ):
        found = find(tracked=tracked)
    if not tree.branch:  # HEAD was never on a branch here
        found = EVERYWHERE
    git.standing = Standing(found.marks, found.hides, own)
    place = git.history.look()
    late = place.rests and not _is_seen(git, place)  # of an answer that came after HEAD moved on
    if git.mode == "follow" and not workspace.policy.meta and not late:
        await _tell_moves(workspace, git, timeline, tree, at=at, told=told)
    return head


async def _tell_moves(
    workspace: Workspace,
    git: GitFollower,
    timeline: Timeline,
    tree: SeenTree,
    *,
    at: datetime,
    told: Collection[RecordId],
) -> None:
    """Tell what git has taken out of sight since the last look, or brought; note it for `undo`.

    `at` is from before the look: what others write while git is asked was not recalled here.
    A process that looks first goes on from what was stored, so each checkout is told once. Segments
    of which git brought a file that was `told` are not told again. Where git did not move, others
    wrote in their work trees, or whoever moved memories is told of it: nothing is said.
    """
    stored = git.history.load().told.get(git.history.name)
    before = git.told or stored
    (branch, commit), standing = tree.here, git.standing
    now = ToldTree(
        branch=branch, commit=commit, cuts=tree.cuts, hides=standing.hides, own=standing.own,
        at=format_time(at), event=stored.event if stored else None,
    )  # fmt: skip
    if before and before.hides != now.hides:
        workspace.project.changes.note()  # pages and openings are rendered anew
    text, hides = await _describe_moves(workspace, timeline, before, now, told)
    undo = " `memory-mcp undo` keeps them here all the same." if hides and commit else ""
    if stored != before:  # another process was here: what it told is its event
        _, hides = await _describe_moves(workspace, timeline, stored, now, told)
    if hides:
        event = GitEvent(at=now.at, text=text, hides=hides)
        now = now.model_copy(update={"event": event})
    if stored is None or stored != now.model_copy(update={"at": stored.at}):
        name = git.history.name
        await change_state(
            git, lambda state: state.model_copy(update={"told": {**state.told, name: now}})
        )
    git.told = now
    if text:
        git.tell(text + undo)


async def _describe_moves(
    workspace: Workspace,
    timeline: Timeline,
    before: ToldTree | None,
    now: ToldTree,
    told: Collection[RecordId],
) -> tuple[str, tuple[SegmentId, ...]]:
    """What git has done to what is recalled, in words, and the segments that it hid."""
    if before is None or before.place == now.place:
        return "", ()
    changed = (now.hides ^ before.hides) & timeline.chain(MAIN)
    written = await workspace.project.index.ids_by_segment(changed)
    fresh = [s for s, ids in written.items() if s in now.hides and before.had(s, ids)]
    back = [s for s, ids in written.items() if s in before.hides and ids.isdisjoint(told)]
    gone = await count_memories(workspace, timeline, fresh)
    here = await count_memories(workspace, timeline, back)
    parts = [f"{pluralise(here)} of it recalled again"] if here else []
    parts += [f"{pluralise(gone)} of other commits not recalled here"] if gone else []
    where = now.branch or now.commit[:SHORT]
    text = f"Git is on {where} now: {' and '.join(parts)}." if parts else ""
    return text, tuple(sorted(fresh)) if gone else ()


async def _tell_mode(
    workspace: Workspace,
    git: GitFollower,
    timeline: Timeline,
    was: GitMode,
    hid: Collection[SegmentId],
) -> None:
    """Tell what is recalled no more, or again, since somebody else chose another mode."""
    if "follow" not in (was, git.mode) or was == git.mode:
        return
    workspace.project.changes.note()
    follows = git.mode == "follow"
    count = await count_memories(workspace, timeline, git.standing.hides if follows else hid)
    became = "of other commits not recalled here" if follows else "recalled again"
    if count:
        git.tell(
            f"The mode of git is {git.mode} now: {pluralise(count)} {became}. "
            f"`memory-mcp undo` chooses {was} again."
        )


async def _tell_files(
    workspace: Workspace, git: GitFollower, own: SegmentId | None, seen: GitState
) -> frozenset[RecordId]:
    """Tell which recalled memories git took away with their files, or brought; the latter.

    What was written since the last look was recalled, too: git may have taken it again. If it was
    written in the `own` segment, or nothing but work was committed, it was not brought. A process
    that looks first goes on from what was `seen` by others.
    """
    place, before = git.history.look(), git.files
    if not (place.rests and place.commit) or (before and before.moves == place.moves):
        return frozenset()
    index = workspace.project.index
    here = await index.ids() - git.history.list_tracked_elsewhere().keys()
    now = workspace.clock.now()
    git.files = SeenFiles(place.commit, place.moves, now, frozenset(here))
    if workspace.policy.meta or not git.history.load().with_code:
        return frozenset()
    with suppress(GitSilentError):
        before = before or await _recall_files(workspace, git, seen, place)
        if before is None:
            return frozenset()
        steps = git.history.list_steps(before.moves)
        made = [step.new for step in steps if step.commits_work]
        commits = list(dict.fromkeys([before.commit, *made]))
        ask = git.history.compare_records
        first, *others = await asyncio.to_thread(ask, place.commit, commits)
        fresh = first.lacks.keys() - before.ids
        mine = set[RecordId]().union(*(await index.ids_by_segment([own] if own else [])).values())
        if len(made) == len(steps):
            mine |= {id_ for id_ in fresh if before.precedes(id_)}
        had = {id_: blob for each in (first, *others) for id_, blob in each.beyond.items()}
        gone = had.keys() - here - await index.logged()
        taken = {id_ for id_ in gone if id_ in before.ids or before.precedes(id_)}
        objects = {**first.lacks, **had}
        changed = {id_: objects[id_] for id_ in (fresh - mine) | taken}
        memories = await choose_memories(workspace, git, changed)
        brought, taken = frozenset(memories - taken), taken & memories
        parts = [f"brought the files of {pluralise(len(brought))}"] if brought else []
        parts += [f"took the files of {pluralise(len(taken))} away"] if taken else []
        if parts:
            where = place.branch or place.commit[:SHORT]
            git.tell(f"Git is on {where} now: it {' and '.join(parts)}.")
        return brought
    return frozenset()


async def _recall_files(
    workspace: Workspace, git: GitFollower, seen: GitState, place: GitPlace
) -> SeenFiles | None:
    """What lay here when another process looked last; None if HEAD has not moved since.

    What was written here and no commit had closed did, and what HEAD had. What was committed since
    and is away, the index has set aside: it lay here, too.

    Raises:
        GitSilentError: git does not say.
    """
    tree = seen.trees.get(git.history.name)
    if tree is None or tree.moves == place.moves or not tree.here[1]:
        return None
    commit, index = tree.here[1], workspace.project.index
    made = [step.new for step in git.history.list_steps(tree.moves) if step.commits_work]
    commits = list(dict.fromkeys([commit, *made]))
    ask = git.history.compare_records
    first, *others = await asyncio.to_thread(ask, place.commit, commits)
    owner = tree.find_owner(git.history.name)
    claimed = [segment for segment, owners in seen.claims.items() if owner in owners]
    open_ = (await index.ids_by_segment(claimed)).values()
    aside = await index.list_aside({id_ for each in others for id_ in each.beyond})
    ids = aside.union(first.beyond, *open_)
    return SeenFiles(commit, tree.moves, workspace.clock.now(), frozenset(ids))


async def choose_memories(
    workspace: Workspace, git: GitFollower, objects: Mapping[RecordId, str]
) -> set[RecordId]:
    """Those of these records that are memories; git is asked of what the index does not know.

    Raises:
        GitSilentError: git does not say.
    """
    kinds = await workspace.project.index.kinds(objects)
    unknown = {blob: id_ for id_, blob in objects.items() if id_ not in kinds}
    found = await asyncio.to_thread(git.history.find_memories, unknown) if unknown else ()
    known = {id_ for id_, kind in kinds.items() if kind in MEMORY_KINDS}
    return known.union(unknown[blob] for blob in found)


async def count_memories(
    workspace: Workspace, timeline: Timeline, segments: Collection[SegmentId]
) -> int:
    """How many memories lie in these segments, wherever these stand."""
    if not segments:
        return 0
    view = View(chain=timeline.chain(MAIN), now=workspace.clock.now())
    filters = Filters(kinds=_MEMORIES.kinds, durable=False, segments=frozenset(segments))
    return await workspace.project.index.count(view, filters)


async def _tell_offers(
    workspace: Workspace, git: GitFollower, timeline: Timeline, found: Observation
) -> GitState:
    """Tell each offer once, and of many the rest later; the state that remembers it."""
    told = {offer.key for offer in found.offers}.intersection(found.state.offered)
    # what is still offered stands last: as long as it is, it is not told again
    offered = sorted(found.state.offered, key=told.__contains__)
    sentences: list[str] = []
    for offer in found.offers:
        if offer.key in told or len(sentences) == _OFFERS_MAX:
            continue
        if count := await count_memories(workspace, timeline, offer.segments):
            told.add(offer.key)
            offered.append(offer.key)
            sentences.append(describe_offer(offer, count))
    if sentences:
        git.tell(" ".join(sentences))
    return found.state.model_copy(update={"offered": tuple(offered[-_OFFERS_TOLD_MAX:])})


def describe_offer(offer: Offer, count: int) -> str:
    """What happened, and the command that brings the memories along."""
    return (
        f"Git: {offer.what}. If its {pluralise(count)} should hold here too, run "
        f"`{write_bring(offer.brings)}`."
    )
