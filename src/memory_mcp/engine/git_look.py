"""What became of git since the last look, as anchors, claims and offers.

Everything here reads: files of git, and git itself. The caller, which holds the lock, writes what
is found. It runs in a thread, because git takes milliseconds to answer.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from memory_mcp.domain.git import (
    BRANCHES_SEEN_MAX,
    SHORT,
    GitPlace,
    GitState,
    Loss,
    NewCommit,
    RefStep,
    RenamedBranch,
    Reversal,
    SeenBranch,
    SeenTree,
    find_detached,
    name_detached,
)
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.timeline import Anchor
from memory_mcp.engine.git_replaced import forget_replaced
from memory_mcp.errors import GitSilentError
from memory_mcp.frozen import frozen, mutable
from memory_mcp.ports import GitHistory
from memory_mcp.timeline.standing import find_reverted, group_by_segment, name_branch

_ADVANCES: Final = ("commit:", "commit (merge)", "commit (initial)", "merge ", "revert",
                    "cherry-pick", "am:", "pull: Fast-forward", "pull: Merge")  # fmt: skip
"""Beginnings of lines that only add commits; for others git is asked what they dropped."""
_COPIES_MAX: Final = 50
"""Of the commits that came, the newest are looked at as possible copies."""
_ORIGINALS_MAX: Final = 1_000
"""Commits with memories of which they may be copies; of more, the newest."""
_REWRITES_MAX: Final = 20
"""Rewriting steps of a branch seen for the first time; git is asked what each took away."""


@frozen
class NewAnchor:
    """Segments that hold where this commit does, and why."""

    anchor: Anchor
    why: str


@frozen
class Offer:
    """Something that only the user can decide: what happened, and the name to bring."""

    key: str
    what: str
    brings: str
    segments: tuple[SegmentId, ...]


@frozen
class Observation:
    """What was seen: the new state, what is to be anchored, what is to be offered or said."""

    state: GitState
    anchors: Sequence[NewAnchor]
    offers: Sequence[Offer]
    notes: Sequence[str]


@frozen
class KnownMemories:
    """The anchors before a look, and the claimed segments with records, and with tracked ones.

    `with_code`: git tracks records in this work tree, or did. `newest` is the move of an anchor.
    """

    anchors: Sequence[Anchor]
    written: frozenset[SegmentId]
    tracked: frozenset[SegmentId]
    with_code: bool = False
    newest: RecordId | None = None


@mutable
class _Rewrite:
    """A step that took commits away, and how many anchors were compared with these."""

    step: RefStep
    lost: Sequence[str]
    compared: int = 0


@mutable
class _Look:
    """What one look has found so far."""

    git: GitHistory
    place: GitPlace
    known: KnownMemories
    branches: dict[str, SeenBranch]
    claims: dict[SegmentId, tuple[str, ...]]
    reverts: dict[str, tuple[str, ...]]
    lost: dict[str, Loss]
    closed: set[SegmentId]
    known_anchors: list[Anchor]
    renamed: list[RenamedBranch]
    orphans: frozenset[str]
    added: list[NewAnchor] = field(default_factory=list[NewAnchor])
    start: str = ""
    came: list[NewCommit] = field(default_factory=list[NewCommit])
    fresh: frozenset[str] = frozenset()
    picked: set[str] = field(default_factory=set[str])
    notes: list[str] = field(default_factory=list[str])
    gone: set[str] = field(default_factory=set[str])
    left: dict[str, list[RefStep]] = field(default_factory=dict[str, list[RefStep]])
    rest: dict[str, Sequence[RefStep]] = field(default_factory=dict[str, Sequence[RefStep]])
    rewrites: list["_Rewrite"] = field(default_factory=list["_Rewrite"])

    @property
    def anchors(self) -> list[Anchor]:
        return [*self.known_anchors, *(new.anchor for new in self.added)]


def observe(git: GitHistory, place: GitPlace, state: GitState, known: KnownMemories) -> Observation:
    """What became of the branches since the state was noted, seen from where HEAD is now.

    Raises:
        GitSilentError: git could not say what HEAD reaches.
    """
    state = forget_replaced(git, state, known.anchors)
    anchors = [each for each in known.anchors if each.commit not in state.unproved]
    look = _Look(git, place, known, dict(state.branches), dict(state.claims),
                 dict(state.reverts), dict(state.lost), set(state.closed), anchors,
                 [*state.renamed], _list_orphans(git, place, state))  # fmt: skip
    owners = {owner for each in state.claims.values() for owner in each}
    seen = state.trees.get(git.name)
    _follow_visits(look, seen)
    for branch in dict.fromkeys((place.branch, *sorted(owners), *state.branches)):
        if branch and not find_detached(branch):
            _read_branch(look, branch)
    _find_renamed(look)
    _follow_rewrites(look)
    _list_came(look, state.branches.get(place.branch))
    _close_merged(look)
    _follow_other_branches(look, state.branches)
    tree = _place_tree(place, seen)
    asked = _list_asked(look).union(*look.reverts.values())
    away = git.find_away(asked, tree.heads)
    tree = tree.model_copy(update={"asked": asked, "away": frozenset(away)})
    followed = place.branch and place.commit and place.rests
    offers = _find_arrivals(look, away) if followed else []
    _note_reverts(look, look.came)
    branches = dict(list(look.branches.items())[-BRANCHES_SEEN_MAX:])
    update = {
        "trees": {**state.trees, git.name: tree},
        "branches": branches,
        "claims": look.claims,
        "closed": frozenset(look.closed),
        "reverts": look.reverts,
        "lost": look.lost,
        "renamed": tuple(look.renamed[-BRANCHES_SEEN_MAX:]),
        "with_code": known.with_code,
    }
    return Observation(state.model_copy(update=update), look.added, offers, look.notes)


def _list_orphans(git: GitHistory, place: GitPlace, state: GitState) -> frozenset[str]:
    """The branches of work trees that have no commit yet: git does not know of them."""
    others = {tree.orphan for name, tree in state.trees.items() if name != git.name}
    return frozenset({*others, "" if place.commit else place.branch} - {""})


def _place_tree(place: GitPlace, seen: SeenTree | None) -> SeenTree:
    """Where the work tree is now. A detached HEAD takes nothing away from what the branch has.

    While git is in the middle of something, what it does is not followed: it is when that ends.
    """
    if place.branch:
        now = SeenTree(branch=place.branch, commit=place.commit)
    else:
        now = (seen or SeenTree()).model_copy(update={"detached": place.commit})
    moves = place.moves if place.rests else seen.moves if seen else 0
    return now.model_copy(update={"moves": moves, "cuts": place.cuts, "named": place.named})


def _follow_visits(look: _Look, seen: SeenTree | None) -> None:
    """Follow HEAD through the branches to which it went since this work tree was seen, in order.

    Where it was detached in between, its own steps are followed as those of a branch are.

    A branch that was begun and left again took along what was not committed then, and no more. What
    a commit there has taken away with its files is written no more here. At the first look, the
    branches are only noted: what is written from now on does not go along to them.
    """
    begun = seen.moves if seen else 0
    steps = _join_steps(look.git.list_steps(begun))
    if seen:
        look.left = _list_left(steps, "" if seen.detached else seen.branch)
    visits = [at for at, step in enumerate(steps) if step.visits][-BRANCHES_SEEN_MAX:]
    detached = _list_detached(steps, now=not look.place.branch) if begun else ()
    for at, step in enumerate(steps):
        branch = step.visits
        if branch and at >= visits[0] and branch not in look.branches:
            if begun:
                _read_branch(look, branch, step.new)
            elif branch != look.place.branch and (found := look.git.read_branch(branch, None)):
                look.branches[branch] = found[1]
        elif at in detached:
            _follow_detached(look, step)
    if visits and begun:
        look.closed.update(look.claims.keys() - look.known.written)


def _list_left(steps: Sequence[RefStep], branch: str) -> dict[str, list[RefStep]]:
    """What HEAD did on each branch that it has left since; it stood on `branch` before.

    Only where git says that HEAD went to the branch and that it left the same one. A detached HEAD
    may be said to go to a branch, and a rebase goes to one without a word.
    """
    left: dict[str, list[RefStep]] = {}
    made: list[RefStep] = []
    for step in steps:
        if not step.leaves:
            made.append(step)
            continue
        if step.leaves == branch:
            left.setdefault(branch, []).extend(made)
        branch, made = step.visits, []
    return left


def _list_detached(steps: Sequence[RefStep], *, now: bool) -> set[int]:
    """Which of these steps of HEAD were made while it was detached, as it may be `now`."""
    found: set[int] = set()
    for at in range(len(steps) - 1, -1, -1):
        if steps[at].leaves:
            now = steps[at].leaves == steps[at].old
        elif now:
            found.add(at)
    return found


def _follow_detached(look: _Look, step: RefStep) -> None:
    """Follow a step of a detached HEAD. What no commit has closed goes along with HEAD."""
    old, new = (name_detached(commit, look.git.name) for commit in (step.old, step.new))
    _follow_step(look, old, step)
    if old != new:
        _rename(look, old, new)


def _read_branch(look: _Look, branch: str, until: str = "") -> None:
    """Follow what became of the branch; with `until`, up to that commit, and the rest later."""
    seen, begun = look.branches.get(branch), ""
    found = look.git.read_branch(branch, seen)
    anew = branch in look.orphans if found is None else any(s.creates for s in found[0][:1])
    if seen and anew:
        _rename_former(look, branch, seen)
        seen = None
    if found is None and branch not in look.rest:
        found = _read_gone(look, branch, seen)
    if branch in look.rest:
        steps = look.rest.pop(branch)
    elif found is None:
        return
    else:
        steps, now = found
        look.branches.pop(branch, None)
        look.branches[branch] = now  # the last that was looked at stands last
        if seen is None:
            begun = steps[0].new if steps and steps[0].creates else ""
            steps = _begin_branch(look, branch, steps)
    if until:
        at = max((at for at, step in enumerate(steps, 1) if step.new == until), default=0)
        steps, look.rest[branch] = steps[:at], steps[at:]
    _read_steps(look, branch, steps, seen, begun)


def _read_gone(
    look: _Look, branch: str, seen: SeenBranch | None
) -> tuple[Sequence[RefStep], SeenBranch] | None:
    """What HEAD's reflog tells of a branch that is gone, and its own with it; None if nothing."""
    if branch in look.orphans:
        return None
    if seen or not any(each.old == branch for each in look.renamed):
        look.gone.add(branch)
    steps = _find_left(look, branch, seen.commit) if seen else ()
    if seen is None or not steps or look.git.find_new_name(branch, seen):
        return None
    return steps, seen.model_copy(update={"commit": steps[-1].new, "own": steps[-1].makes})


def _find_left(look: _Look, branch: str, commit: str) -> Sequence[RefStep]:
    """What HEAD did on a branch that is gone since it stood at the commit."""
    steps: list[RefStep] = []
    for step in look.left.pop(branch, ()):
        if step.old == (steps[-1].new if steps else commit):
            steps.append(step)
    return steps


def _rename_former(look: _Look, branch: str, seen: SeenBranch) -> None:
    """Name a branch after its last commit that was removed before another had its name.

    So its memories are not taken for the other's. If it was renamed, it has the name that git says.
    """
    new = look.git.find_new_name(branch, seen)
    if new and new not in look.branches:
        _read_branch(look, new)
        return
    steps = _find_left(look, branch, seen.commit)
    last = steps[-1].new if steps else seen.commit
    former = f"{branch}@{last[:SHORT]}"
    _rename(look, branch, former)
    look.branches[former] = seen.model_copy(update={"commit": last})
    look.gone.add(former)
    for step in _join_steps(steps):
        _follow_step(look, former, step)


def _begin_branch(look: _Look, branch: str, steps: Sequence[RefStep]) -> Sequence[RefStep]:
    """The steps to follow of a branch that was not seen before: those since it was begun here.

    What is not committed goes along to a branch that is begun from where the work tree stood. Of
    any other branch, the last steps that rewrote commits: it may have merged these from another.
    """
    kept = [step for step in steps if not step.begins and not step.resets]
    kept = [s for s in kept if s.creates or not s.message.startswith(_ADVANCES)][-_REWRITES_MAX:]
    for step in steps:
        before = look.branches.get(step.renames)
        if before and look.git.find_new_name(step.renames, before, [branch]):
            found = look.git.read_branch(branch, before)
            _rename(look, step.renames, branch)
            return [each for each in found[0] if not each.renames] if found else ()
    made = steps[0] if steps else None
    if made is None or not made.begins_work(branch):
        return kept
    went = look.git.find_beginning(branch, made)
    origin = went.leaves if went else ""
    if went is None or origin in ("", branch):
        return kept
    if origin == went.old:
        origin = name_detached(origin, look.git.name)
        _take_up(look, branch, made.new)
    else:
        _read_branch(look, origin, went.old)
    for segment, owners in look.claims.items():
        if origin in owners and branch not in owners:
            look.claims[segment] = (*owners, branch)
    return steps[1:]


def _take_up(look: _Look, branch: str, commit: str) -> None:
    """Anchor to the branch what was committed before it, while HEAD was detached."""
    loose = [anchor for anchor in look.anchors if not anchor.git_branch]
    reached = look.git.find_reached({anchor.commit for anchor in loose}, [commit])
    for anchor in loose:
        if anchor.commit in reached:
            taken = anchor.model_copy(update={"git_branch": branch})
            why = f"on {anchor.commit[:SHORT]}, which {branch} has taken up"
            look.added.append(NewAnchor(taken, why))


def _read_steps(
    look: _Look, branch: str, steps: Sequence[RefStep], seen: SeenBranch | None, begun: str
) -> None:
    """Follow the steps. What came to a branch that was not seen before came since it was begun."""
    if not (look.anchors or look.claims or look.known.with_code):
        steps = ()  # nothing was written here: git need not be asked anything
    for step in _join_steps(steps):
        if old := step.renames:
            _rename(look, old, branch)
        elif not step.begins:
            _follow_step(look, branch, step)
    start = next((s.old for s in steps if not s.creates), "")
    _follow_arrivals(look, branch, (seen.since if seen else begun) or start)


def _follow_step(look: _Look, owner: str, step: RefStep) -> None:
    """Follow a step of a branch or of a detached HEAD."""
    try:
        if step.resets:
            _follow_reset(look, owner, step)
        elif step.old != step.new:
            _follow_advance(look, owner, step)
    except GitSilentError as error:  # commits that git has removed: what was known stays
        name = find_detached(owner)[:SHORT] or owner
        look.notes.append(f"A step of {name} could not be followed ({error}).")


def _follow_arrivals(look: _Look, branch: str, start: str) -> None:
    """Note that what came to the branch after `start` is to be listed, once HEAD is there."""
    here = branch == look.place.branch and look.place.rests
    if here:
        look.start = look.start or start
    if now := look.branches.get(branch):
        look.branches[branch] = now.model_copy(update={"since": "" if here else start})


def _list_came(look: _Look, before: SeenBranch | None) -> None:
    """Note the commits that came to HEAD.

    All branches were read before: any of them may have an anchor that these commits gather. What
    came there while HEAD was elsewhere was seen, but is listed again: `before` is the last look.
    """
    if not (look.start and (look.anchors or look.claims)):
        return
    try:
        look.came = fresh = look.git.list_commits(look.start, look.place.commit)
        if before and before.commit != look.start:
            fresh = look.git.list_commits(before.commit, look.place.commit)
        look.fresh = frozenset(commit.commit for commit in fresh)
    except GitSilentError as error:  # `start` was removed: nothing is offered or marked for it
        look.notes.append(f"What came to {look.place.branch} could not be listed ({error}).")


def _note_reverts(look: _Look, commits: Sequence[NewCommit]) -> None:
    """Note what these commits revert by their words; of a merge, what it brought.

    What came as a copy was anchored before: it may have come by that merge.
    """
    for new in commits:
        for each in new.reverts:
            for commit in (each.commit, *(_list_merged(look, each) if each.onto else ())):
                by = look.reverts.get(commit, ())
                look.reverts[commit] = (*(one for one in by if one != new.commit), new.commit)


def _list_merged(look: _Look, merge: Reversal) -> set[str]:
    """The commits with memories that the merge brought; none if git knows neither."""
    commits = {anchor.commit for anchor in look.anchors}
    try:
        before = look.git.find_reached(commits, [merge.onto])
        return look.git.find_reached(commits, [merge.commit]) - before
    except GitSilentError:
        return set()


def _close_merged(look: _Look) -> None:
    """Close what was written on a branch after its last commit, once that came with a merge.

    The end of a session is written then: it belongs to the branch that was merged. What is written
    there later does not: only what came since the last look counts.
    """
    for branch, tip in _list_unclosed(look).items():
        if tip in look.fresh:
            why = f"on {branch} after {tip[:SHORT]}, which came to {look.place.branch}"
            _anchor_claims(look, branch, tip, why)


def _list_unclosed(look: _Look) -> dict[str, str]:
    """The other branches with memories that no commit has closed, and their last commits.

    Of a branch whose commit was not made for it nothing shows that it was merged: it may have been
    moved to where HEAD's own is.
    """
    found: dict[str, str] = {}
    for segment, owners in look.claims.items():
        if segment in look.known.written and look.place.branch not in owners:
            for owner in owners:
                seen = look.branches.get(owner)
                if seen and seen.own:
                    found[owner] = seen.commit
    return found


def _follow_other_branches(look: _Look, seen: Mapping[str, SeenBranch]) -> None:
    """Find what came as one commit to a branch on which HEAD is not: it may come here from there.

    What is offered for it is for who works there.
    """
    for branch, before in seen.items() if look.anchors or look.claims else ():
        now = look.branches.get(branch)
        if branch == look.place.branch or now is None or now.commit == before.commit:
            continue
        place = GitPlace(branch=branch, commit=now.commit)
        there = replace(look, place=place, start=before.commit, came=[], fresh=frozenset())
        _list_came(there, before)
        _close_merged(there)
        if there.came:
            _find_arrivals(there, look.git.find_away(_list_asked(there), [now.commit]))
            _note_reverts(there, there.came)


def _list_asked(look: _Look) -> frozenset[str]:
    """The commits of which it counts whether HEAD reaches them: of what is closed, and may be."""
    return frozenset(anchor.commit for anchor in look.anchors) | {*_list_unclosed(look).values()}


def _join_steps(steps: Sequence[RefStep]) -> list[RefStep]:
    """Resets that follow one another count as one, and rebases: only where they end can be seen."""
    joined: list[RefStep] = []
    for step in steps:
        last = joined[-1] if joined else None
        if last and ((step.resets and last.resets) or (step.rebases and last.rebases)):
            step = replace(step, old=joined.pop().old)  # noqa: PLW2901
        joined.append(step)
    return joined


def _follow_advance(look: _Look, branch: str, step: RefStep) -> None:
    if step.picks:
        look.picked.add(step.new)
    if not step.message.startswith(_ADVANCES):
        lost = [commit.commit for commit in look.git.list_commits(step.new, step.old)]
        if lost:
            look.rewrites.append(_Rewrite(step, lost))
            _anchor_anew(look, look.rewrites[-1])
    if step.closes:
        _anchor_claims(look, branch, step.new, f"before commit {step.new[:SHORT]}")


def _follow_rewrites(look: _Look) -> None:
    """Compare what was rewritten with anchors that branches brought which were read later."""
    known = -1
    while known != (known := len(look.anchors)):
        for rewrite in look.rewrites:
            try:
                _anchor_anew(look, rewrite)
            except GitSilentError as error:
                look.notes.append(f"A rewritten commit could not be followed ({error}).")


def _anchor_anew(look: _Look, rewrite: _Rewrite) -> None:
    """Anchor what stood on commits that were rewritten to those that took their place."""
    step = rewrite.step
    fresh, rewrite.compared = look.anchors[rewrite.compared :], len(look.anchors)
    anchors = [anchor for anchor in fresh if anchor.commit in rewrite.lost]
    if not anchors:
        return
    gained = [commit.commit for commit in look.git.list_commits(step.old, step.new)]
    after = {patch: commit for commit, patch in look.git.find_patches(gained).items()}
    before = look.git.find_patches(rewrite.lost)
    only_copies = len(after) == len(gained) and after.keys() <= {*before.values()}
    drops = only_copies and _goes_back(look, step)
    copies = {lost: after[patch] for lost, patch in before.items() if patch in after}
    if not only_copies and not step.resets:
        copies |= _match_authors(look, rewrite.lost, gained, copies)
    for anchor in anchors:
        patch = before.get(anchor.commit, "")
        if drops and patch and patch not in after:
            look.lost[anchor.commit] = "dropped"
            continue
        target = copies.get(anchor.commit, "" if step.resets else step.new)
        if not target:  # a reset makes nothing anew: only a copy takes a commit's place
            continue
        why = f"on {anchor.commit[:SHORT]}, which became {target[:SHORT]}"
        _add_anchor(look, anchor.segments, target, anchor.git_branch, why)


def _match_authors(
    look: _Look, lost: Sequence[str], gained: Sequence[str], copies: Mapping[str, str]
) -> dict[str, str]:
    """What became of commits whose changes became others: by a conflict, a fixup, an edit.

    A rebase keeps who wrote each of them when, and mostly its subject. Where two have the same,
    none is guessed.
    """
    taken = {*copies.values()}
    old, new = [c for c in lost if c not in copies], [c for c in gained if c not in taken]
    if not (old and new):
        return {}
    said = look.git.find_authors([*old, *new])
    alike = _match_alike({c: said[c] for c in old}, {c: said[c] for c in new})
    found = {*alike, *alike.values()}
    rest = ({c: said[c][0] for c in each if c not in found} for each in (old, new))
    return alike | _match_alike(*rest)


def _match_alike(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, str]:
    """The pairs of which the same is said as of no other on either side."""
    olds, news = Counter(old.values()), Counter(new.values())
    once = {what: commit for commit, what in new.items() if olds[what] == news[what] == 1}
    return {commit: once[what] for commit, what in old.items() if what in once}


def _goes_back(look: _Look, step: RefStep) -> bool:
    """Whether it is a rebase onto a commit of the branch itself.

    If that made copies alone, a commit without one was left out: nothing that was made anew, joined
    with another or came from elsewhere can have its changes.
    """
    return bool(step.onto and look.git.find_reached([step.onto], [step.old]))


def _follow_reset(look: _Look, branch: str, step: RefStep) -> None:
    """A hard reset leaves what is not committed on the old commit; any other leaves all here."""
    if step.old == step.new or not (branch == look.place.branch or find_detached(branch)):
        return
    lost = _note_lost(look, look.git.list_commits(step.new, step.old))
    gained = look.git.list_commits(step.old, step.new) if lost else ()
    if gained:  # of a branch that somebody else has rewritten
        look.rewrites.append(_Rewrite(step, sorted(lost)))
        _anchor_anew(look, look.rewrites[-1])
    if look.git.shows(step.old, step.new) == step.new:
        why = f"on {step.old[:SHORT]}, which a reset left"
        _anchor_claims(look, branch, step.old, why)
        return
    came = {commit.commit for commit in gained}
    held = {s for anchor in look.anchors if anchor.commit in came for s in anchor.segments}
    kept = [s for anchor in look.anchors if anchor.commit in lost for s in anchor.segments]
    kept = [segment for segment in dict.fromkeys(kept) if segment not in held]
    for segment in kept:
        owners = look.claims.get(segment, ())
        look.claims[segment] = (*(o for o in owners if o != branch), branch)
    if kept or _keeps_files(look, step):
        look.notes.append(
            f"HEAD went back to {step.new[:SHORT]} and the work stayed: so did its memories."
        )


def _note_lost(look: _Look, commits: Sequence[NewCommit]) -> set[str]:
    """Note which of the commits that a reset left were reverted by others of them; the rest."""
    lost = {commit.commit for commit in commits}
    _note_reverts(look, commits)
    others = {by for each in look.reverts.values() for by in each} - lost
    undone = lost & find_reverted(look.reverts, others)
    for commit in lost:
        look.lost.pop(commit, None)
    look.lost.update(dict.fromkeys(undone, "reverted"))
    return lost - undone


def _keeps_files(look: _Look, step: RefStep) -> bool:
    """Whether files of memories are still here that the reset took out of the history."""
    if not look.known.with_code:
        return False
    (found,) = look.git.compare_records(step.new, [step.old])
    memories = look.git.find_memories(found.beyond.values())
    kept = [id_ for id_, blob in found.beyond.items() if blob in memories]
    return bool(kept) and look.git.shows(step.old, step.new, kept) == step.old


def _find_renamed(look: _Look) -> None:
    """Follow the branches that are gone and whose reflog goes on under another name."""
    named = {anchor.git_branch for anchor in look.anchors}
    named |= {owner for owners in look.claims.values() for owner in owners}
    for branch in sorted(look.gone & named):
        seen = look.branches.get(branch)
        new = look.git.find_new_name(branch, seen) if seen else ""
        if new and new not in look.branches:
            _read_branch(look, new)


def _rename(look: _Look, old: str, new: str) -> None:
    look.branches.pop(old, None)
    look.gone.discard(old)
    look.known_anchors = [name_branch(anchor, old, new) for anchor in look.known_anchors]
    look.added = [NewAnchor(name_branch(each.anchor, old, new), each.why) for each in look.added]
    if last := look.known.newest:
        look.renamed.append(RenamedBranch(old=old, new=new, last=last))
    for segment, owners in look.claims.items():
        look.claims[segment] = tuple(dict.fromkeys(new if o == old else o for o in owners))


def _anchor_claims(look: _Look, branch: str, commit: str, why: str) -> None:
    """Anchor what was written on the branch to the commit. Files that git tracks need no anchor."""
    closed: list[SegmentId] = []
    written = look.known.written | group_by_segment(look.anchors).keys()
    for segment, owners in list(look.claims.items()):
        if branch not in owners:
            continue
        if segment not in written:  # git may have taken its files away since then
            look.closed.add(segment)
            continue
        rest = tuple(owner for owner in owners if owner != branch)
        if rest:
            look.claims[segment] = rest
        else:
            del look.claims[segment]
        if segment in look.known.tracked:
            look.closed.add(segment)
        else:
            closed.append(segment)
    _add_anchor(look, closed, commit, branch, why)


def _add_anchor(
    look: _Look, segments: Iterable[SegmentId], commit: str, branch: str, why: str
) -> None:
    known = group_by_segment(look.anchors)
    fresh = [s for s in segments if all(a.commit != commit for a in known.get(s, ()))]
    if fresh:
        name = "" if find_detached(branch) else branch
        anchor = Anchor(segments=tuple(fresh), commit=commit, git_branch=name)
        look.added.append(NewAnchor(anchor, why))


def _find_arrivals(look: _Look, away: set[str]) -> list[Offer]:
    """Find lines of work that came as one commit, or as copies; offer what is not proved."""
    apart = _list_apart(look, away)
    unclosed = {branch: tip for branch, tip in _list_unclosed(look).items() if tip in away}
    single = {c.commit: c for c in look.came if len(c.parents) == 1}
    wanted = list(single)[-_COPIES_MAX:] if apart or unclosed else []
    offers: list[Offer] = []
    if wanted:
        picked = _list_picked(look)
        originals = [a.commit for anchors in _list_lines(look, apart).values() for a in anchors]
        asked = [*wanted, *picked, *originals[-_ORIGINALS_MAX:]]
        patches = look.git.find_patches(list(dict.fromkeys(asked)))
        made = {patches[commit]: commit for commit in wanted if commit in patches}
        remade = {patches[commit] for commit in picked if commit in patches}
        tips = _list_tips(look, apart) | unclosed
        for name, squashed in _find_squashes(look, made, remade, tips).items():
            tip = tips[name]
            why = f"up to {tip[:SHORT]} of {name}, all of which came with {squashed[:SHORT]}"
            if unclosed.get(name) == tip and squashed in look.fresh:
                _anchor_claims(look, name, tip, f"on {name} after {tip[:SHORT]}")
            reached = _find_reached(look, _list_apart(look, away), tip)
            _add_anchor(look, reached, squashed, look.place.branch, why)
        apart = _list_apart(look, away)
        for name, anchors in _list_lines(look, apart).items():
            offers += _offer_copies(look, name, anchors, made, patches)
    return [*offers, *_offer_gone(look, apart)]


def _offer_gone(look: _Look, apart: Mapping[SegmentId, Sequence[Anchor]]) -> list[Offer]:
    """Offer what was written on branches that are gone, also what no known commit has closed."""
    lines = {
        name: [segment for anchor in anchors for segment in anchor.segments]
        for name, anchors in _list_lines(look, apart).items()
        if name in look.gone
    }
    unclosed = look.known.written - look.known.tracked
    here = group_by_segment(look.anchors).keys() - apart.keys()
    for segment, owners in look.claims.items():
        if segment in unclosed - here and look.gone.issuperset(owners):
            lines.setdefault(owners[-1], []).append(segment)
    offers: list[Offer] = []
    for name, segments in list(lines.items())[-BRANCHES_SEEN_MAX:]:
        tip = look.branches[name].commit if name in look.branches else ""
        key = f"gone:{name}:{tip or segments[-1]}"
        offers.append(Offer(key, f"{name} is gone", name, tuple(dict.fromkeys(segments))))
    return offers


def _list_tips(look: _Look, apart: Mapping[SegmentId, Sequence[Anchor]]) -> dict[str, str]:
    """The ends of lines of work that may have come as one commit, by the names of their branches.

    What was written on one branch may lie on others by now, on which nothing was written. Of a
    branch that git does not name any more, it is where it was last.
    """
    commits = {anchor.commit for anchors in apart.values() for anchor in anchors}
    tips = dict(look.git.find_tips(commits, look.place.commit))
    for name, anchors in list(_list_lines(look, apart).items())[-BRANCHES_SEEN_MAX:]:
        seen = look.branches.get(name)
        tips.setdefault(name, seen.commit if seen else anchors[-1].commit)
    return tips


def _find_squashes(
    look: _Look, made: Mapping[str, str], remade: Collection[str], tips: Mapping[str, str]
) -> dict[str, str]:
    """For each of these names, the commit that came and has all changes of its tip.

    Not those of which the commits that were picked make the changes: it may be one of them.
    """
    try:
        ends = {*tips.values()} if made else ()
        found = look.git.find_squashes(ends, look.place.commit, [*made.values()])
    except GitSilentError:  # of that much at once: nothing is proved
        return {}
    squashes: dict[str, str] = {}
    for name, tip in tips.items():
        patch = found.get(tip, "")
        squashed = _find_made(look, made, patch, tip)
        if squashed and squashed not in look.picked and patch not in remade:
            squashes[name] = squashed
    return squashes


def _list_picked(look: _Look) -> list[str]:
    """The newest commits that were ever picked to the branch: it may make their changes anew."""
    found = look.git.read_branch(look.place.branch, None)
    return [step.new for step in (found[0] if found else ()) if step.picks][-_COPIES_MAX:]


def _find_made(look: _Look, made: Mapping[str, str], patch: str, tip: str) -> str:
    """The commit that came and makes this change, if it may be made of this tip; '' if none.

    One that is older is what the tip was made of: it was taken back softly, or amended, since.
    """
    commit = made.get(patch, "")
    if not commit:
        return ""
    times = look.git.find_times([commit, tip])
    return commit if times[commit] >= times[tip] else ""


def _find_reached(
    look: _Look, apart: Mapping[SegmentId, Sequence[Anchor]], tip: str
) -> list[SegmentId]:
    """What stands on any commit that this tip reaches, on whatever branch it was written.

    A branch may have been merged into it, or HEAD may have left the commit before.
    """
    anchors = [anchor for each in apart.values() for anchor in each]
    reached = look.git.find_reached({anchor.commit for anchor in anchors}, [tip])
    return [s for s, each in apart.items() if any(a.commit in reached for a in each)]


def _list_apart(look: _Look, away: set[str]) -> dict[SegmentId, list[Anchor]]:
    """The segments that stand nowhere here, with their anchors."""
    return {
        segment: anchors
        for segment, anchors in group_by_segment(look.anchors).items()
        if look.place.branch not in look.claims.get(segment, ())
        and all(anchor.commit in away for anchor in anchors)
    }


def _list_lines(
    look: _Look, apart: Mapping[SegmentId, Sequence[Anchor]]
) -> dict[str, list[Anchor]]:
    """The anchors of what stands nowhere here, by the other branch on which it was written."""
    lines: dict[str, list[Anchor]] = {}
    for anchors in apart.values():
        for anchor in anchors:
            if anchor.git_branch != look.place.branch:
                lines.setdefault(anchor.git_branch, []).append(anchor)
    return lines


def _offer_copies(
    look: _Look,
    name: str,
    anchors: Sequence[Anchor],
    made: Mapping[str, str],
    patches: Mapping[str, str],
) -> list[Offer]:
    offers: list[Offer] = []
    for anchor in anchors:
        copy = _find_made(look, made, patches.get(anchor.commit, ""), anchor.commit)
        if copy:
            what = f"{copy[:SHORT]} copies {anchor.commit[:SHORT]} of {name}"
            key = f"copy:{anchor.commit}:{copy}"
            offers.append(Offer(key, what, anchor.commit[:SHORT], anchor.segments))
    return offers
