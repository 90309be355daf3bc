"""Where memories stand in git: the rule, from anchors, claims and what a commit reaches.

A segment stands here if one of its anchors names a commit that HEAD reaches, if its work on this
branch, or at this detached HEAD, is not committed yet (a claim), or if nothing is known of it: what
cannot be proved to be elsewhere is never marked and never hidden.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from memory_mcp.domain.git import Mark, RenamedBranch, Standing, find_detached
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
    reverts: Mapping[str, str],
    tracked: Collection[SegmentId] = (),
    renamed: Collection[RenamedBranch] = (),
    absent: Mapping[SegmentId, str] = MappingProxyType({}),
) -> Standing:
    """Where each segment stands, seen from this branch of git; `owner` has what is written now.

    `away` are the commits, of anchors and of reverts, that its HEAD does not reach; `absent` what
    is committed with the code in other work trees alone, with their branches.
    """
    marks = {segment: Mark("elsewhere", other) for segment, other in absent.items()}
    hides = set(absent)
    anchored = group_by_segment(list_anchors(timeline, renamed).values())
    for segment in anchored.keys() | claims.keys():
        owners = claims.get(segment, ())
        if branch in owners or owner in owners or segment in tracked:
            continue
        anchors = anchored.get(segment, [])
        here = [anchor for anchor in anchors if anchor.commit not in away]
        if not here and (anchors or owners):
            marks[segment] = _mark_away(branch, anchors, owners)
            hides.add(segment)
        elif here and all(_is_reverted(anchor.commit, reverts, away) for anchor in here):
            marks[segment] = Mark("reverted", here[-1].git_branch, here[-1].commit)
    return Standing(marks, frozenset(hides))


def _mark_away(branch: str, anchors: list[Anchor], owners: Collection[str]) -> Mark:
    elsewhere = [anchor for anchor in anchors if anchor.git_branch != branch]
    if anchors and not elsewhere:
        return Mark("reset", branch, anchors[-1].commit)
    commit = elsewhere[-1].commit if elsewhere else ""
    left = [at for owner in owners if (at := find_detached(owner))]
    names = [owner for owner in owners if not find_detached(owner)]
    names += [anchor.git_branch for anchor in elsewhere if anchor.git_branch]
    if not names:
        return Mark("detached", "", commit or left[0])
    return Mark("elsewhere", names[0], commit)


def _is_reverted(commit: str, reverts: Mapping[str, str], away: Collection[str]) -> bool:
    """Whether a commit that HEAD reaches reverts it, and none that it reaches reverts that one."""
    by = reverts.get(commit)
    return by is not None and by not in away and not _is_reverted(by, reverts, away)
