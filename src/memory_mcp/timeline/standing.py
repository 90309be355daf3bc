"""Where memories stand in git: the rule, from anchors, claims and what a commit reaches.

A segment stands here if one of its anchors names a commit that HEAD reaches, if its work on this
branch, or at this detached HEAD, is not committed yet (a claim), or if nothing is known of it: what
cannot be proved to be elsewhere is never marked and never hidden.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from memory_mcp.domain.git import Loss, Mark, RenamedBranch, Standing, find_detached
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.timeline import Anchor, Timeline


def list_anchors(
    timeline: Timeline, renamed: Collection[RenamedBranch] = ()
) -> dict[RecordId, Anchor]:
    """The anchors that count: those that no later one took back, with their branches' names now."""
    anchors = {
        move: anchor for move, anchor in timeline.anchors.items() if move not in timeline.undone
    }
    for each in renamed:
        for move, anchor in anchors.items():
            if anchor.git_branch == each.old and move <= each.last:
                anchors[move] = name_branch(anchor, each.old, each.new)
    return anchors


def name_branch(anchor: Anchor, old: str, new: str) -> Anchor:
    """The anchor as it is after the branch was renamed."""
    return anchor.model_copy(update={"git_branch": new}) if anchor.git_branch == old else anchor


def group_by_segment(anchors: Iterable[Anchor]) -> dict[SegmentId, list[Anchor]]:
    """The anchors of each segment, in the order given."""
    grouped: dict[SegmentId, list[Anchor]] = {}
    for anchor in anchors:
        for segment in anchor.segments:
            grouped.setdefault(segment, []).append(anchor)
    return grouped


def find_standing(
    timeline: Timeline,
    branch: str,
    owner: str,
    *,
    away: Collection[str],
    claims: Mapping[SegmentId, Collection[str]],
    reverts: Mapping[str, Collection[str]],
    lost: Mapping[str, Loss] = MappingProxyType({}),
    tracked: Collection[SegmentId] = (),
    renamed: Collection[RenamedBranch] = (),
    absent: Mapping[SegmentId, str] = MappingProxyType({}),
) -> Standing:
    """Where each segment stands, seen from this branch of git; `owner` has what is written now.

    `away` are the commits, of anchors and of reverts, that its HEAD does not reach; `lost` what had
    become of those that left a branch; `absent` what is committed with the code in other work trees
    alone, with their branches.
    """
    marks = {segment: Mark("elsewhere", other) for segment, other in absent.items()}
    hides = set(absent)
    reverted = find_reverted(reverts, away)
    anchored = group_by_segment(list_anchors(timeline, renamed).values())
    for segment in anchored.keys() | claims.keys():
        owners = claims.get(segment, ())
        if branch in owners or owner in owners or segment in tracked:
            continue
        anchors = anchored.get(segment, [])
        here = [anchor for anchor in anchors if anchor.commit not in away]
        if not here and (anchors or owners):
            marks[segment] = _mark_away(branch, anchors, owners, lost)
            hides.add(segment)
        elif here and _are_reverted(anchors, reverted, away):
            marks[segment] = Mark("reverted", here[-1].git_branch, here[-1].commit)
    return Standing(marks, frozenset(hides))


def _mark_away(
    branch: str, anchors: list[Anchor], owners: Collection[str], lost: Mapping[str, Loss]
) -> Mark:
    elsewhere = [anchor for anchor in anchors if anchor.git_branch != branch]
    if anchors and not elsewhere:
        commit = anchors[-1].commit
        match lost.get(commit):
            case "dropped":
                return Mark("dropped", branch, commit)
            case "reverted":
                return Mark("undone", branch, commit)
            case None:
                return Mark("reset", branch, commit)
    commit = elsewhere[-1].commit if elsewhere else ""
    left = [at for owner in owners if (at := find_detached(owner))]
    names = [owner for owner in owners if not find_detached(owner)]
    names += [anchor.git_branch for anchor in elsewhere if anchor.git_branch]
    if not names:
        return Mark("detached", "", commit or left[0])
    return Mark("elsewhere", names[0], commit)


def _are_reverted(
    anchors: Collection[Anchor], reverted: Collection[str], away: Collection[str]
) -> bool:
    """Whether all that is here of these was reverted, or what that is a copy of.

    The revert that a rebase has copied names the commit as it was before.
    """
    here, copied = (
        [anchor.commit in reverted for anchor in anchors if (anchor.commit in away) is gone]
        for gone in (False, True)
    )
    return all(here) or any(copied)


def find_reverted(reverts: Mapping[str, Collection[str]], away: Collection[str]) -> set[str]:
    """The commits that one which is not `away` reverts, and none such reverts that one."""
    known: dict[str, bool] = {}
    begun: set[str] = set()  # no commit can name a later one, but a damaged state may
    waiting = [*reverts]
    while waiting:
        commit = waiting[-1]
        begun.add(commit)
        by = [each for each in reverts[commit] if each not in away]
        fresh = [each for each in by if each in reverts and each not in begun]
        if commit in known or not fresh:
            known.setdefault(commit, any(not known.get(each, False) for each in by))
            waiting.pop()
        else:
            waiting += fresh
    return {commit for commit, is_so in known.items() if is_so}
