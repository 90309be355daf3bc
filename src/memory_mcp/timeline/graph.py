"""The timeline as a graph: branches and left lines above the checkpoints that they follow.

Segments are many and have no names, so they are no nodes. A node follows the newest checkpoints
whose sealed segments all lie on its way back to the start: one checkpoint, or several where two
clones were joined. All functions go through the segments once.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.ids import (
    ROOT,
    BranchName,
    RecordId,
    SegmentId,
    make_unique_name,
    parse_id_time,
)
from memory_mcp.domain.outcomes import BranchTip, GitMove, LogNode, OlderNodes, TimelineStart
from memory_mcp.domain.timeline import Anchor, Checkpoint, Line, Timeline

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_START: Final = "start"
_OLDER: Final = "older"


def make_branch_key(branch: BranchName) -> str:
    """The key of the node where the branch stands."""
    return f"branch:{branch}"


def build_graph(
    timeline: Timeline,
    newest: Mapping[SegmentId, RecordId],
    anchors: Mapping[RecordId, Anchor] = MappingProxyType({}),
) -> list[LogNode]:
    """The nodes of the timeline, each after those that it follows: the start is the first.

    `newest` names the newest record of each segment that has any. Of the `anchors`, which are moves
    of git's, the first of a segment closes it, a later one stands beside the line.
    """
    held = timeline.held()
    tips = {branch: timeline.tips(branch) for branch in timeline.branches}
    lines = timeline.left_lines(newest)
    ends = [*tips.values(), *(line.tips for line in lines), held]
    segments = _sort_segments(timeline, (segment for end in ends for segment in end))
    sealed = _group_by_last_seal(timeline, segments)
    closed, later = _group_anchors(anchors, segments)
    written = newest.keys() | sealed.keys()

    graph = _Graph(timeline)
    for segment in segments:
        graph.pass_segment(segment, timeline.predecessors(segment))
        for checkpoint, seals in sealed.get(segment, ()):
            holds = held.issuperset(seals) and (
                len(seals) <= 1 or any(timeline.holds(b, seals) for b in timeline.branches)
            )
            key = f"checkpoint:{checkpoint.id}"
            graph.add_seal(key, checkpoint, seals, checkpoint.at, left=not holds)
        for move, closes in closed.get(segment, ()):
            holds = held.issuperset(closes)
            graph.add_seal(*_show_anchor(move, anchors[move], closes), left=not holds)
    for branch, end in tips.items():
        graph.add_end(make_branch_key(branch), BranchTip(branch), end, _find_time(end, newest))
    for line in select_lines(timeline, lines, written):
        graph.add_end(f"line:{line.id}", line, line.tips, line.at)
    for move in later:
        if held.issuperset(anchors[move].segments):
            graph.add_end(*_show_anchor(move, anchors[move], anchors[move].segments))
    return graph.list_nodes()


def select_lines(
    timeline: Timeline, lines: Iterable[Line], written: Container[SegmentId]
) -> list[Line]:
    """Of these lines, oldest first, those to show: each would bring back something of its own.

    A line may have nothing that was written on it, or only what a later one has as well: to undo
    and redo a move leaves a line each time, and all of them restore the same.
    """
    newest = {
        (line.branch, last): line
        for line in lines
        if (last := _find_last_written(timeline, line, written))
    }
    return sorted(newest.values(), key=lambda line: (line.at, line.move or ""))


def brings_records(timeline: Timeline, line: Line, holding: Container[SegmentId]) -> bool:
    """Whether any record lies on the line beyond its branch; `holding` are the segments of all."""
    return bool(_find_last_written(timeline, line, holding))


def limit_nodes(nodes: Sequence[LogNode], limit: int, here: BranchName) -> list[LogNode]:
    """The newest of these nodes, at most so many, above one that stands for all the others.

    `nodes` are in the order of `build_graph`. Where the branch `here` stands is always among them.
    """
    if len(nodes) - 1 <= limit:
        return [*nodes]
    times: dict[str, datetime] = {}  # never before what a node follows, whatever the clocks said
    for node in nodes:
        times[node.key] = max([node.at or _EPOCH, *(times[parent] for parent in node.parents)])
    places = {node.key: place for place, node in enumerate(nodes)}
    mine = make_branch_key(here)
    newest = sorted(places, key=lambda key: (key == mine, times[key], places[key]), reverse=True)
    kept = {*newest[:limit]}
    older = LogNode(_OLDER, OlderNodes(len(nodes) - 1 - len(kept)))
    shown = [older]
    for node in nodes:
        if node.key in kept:
            parents = dict.fromkeys(key if key in kept else _OLDER for key in node.parents)
            shown.append(replace(node, parents=tuple(parents)))
    return shown


def order_nodes(nodes: Sequence[LogNode], here: BranchName) -> list[LogNode]:
    """Newest first, each node above those that it follows; what parts at a node stands together.

    `nodes` are in the order of `build_graph`. The line of the branch `here` is the first.
    """
    known = {node.key: node for node in nodes}
    followers: dict[str, list[str]] = {node.key: [] for node in nodes}
    rank: dict[str, tuple[bool, datetime, datetime]] = {}
    for node in reversed(nodes):
        ranks = [rank[key] for key in followers[node.key]]
        mine = node.key == make_branch_key(here)
        at = node.at or _EPOCH
        rank[node.key] = (
            mine or any(first for first, _, _ in ranks),
            max([at, *(newest for _, newest, _ in ranks)]),
            at,
        )
        for parent in node.parents:
            followers[parent].append(node.key)

    def iterate_followers(key: str) -> Iterator[str]:
        return iter(sorted(followers[key], key=rank.__getitem__, reverse=True))

    bottom = nodes[0].key
    seen = {bottom}
    ordered: list[LogNode] = []
    waiting = [(bottom, iterate_followers(bottom))]
    while waiting:
        key, rest = waiting[-1]
        above = next((each for each in rest if each not in seen), None)
        if above is None:
            ordered.append(known[key])
            waiting.pop()
        else:
            seen.add(above)
            waiting.append((above, iterate_followers(above)))
    return ordered


class _Graph:
    """The nodes added so far, and the nearest of them below each segment that was passed."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._nodes: dict[str, LogNode] = {_START: LogNode(_START, TimelineStart())}
        self._nearest: dict[SegmentId, tuple[str, ...]] = {}
        self._joins: list[LogNode] = []  # the seals of several segments
        self._ends: list[str] = []

    def pass_segment(self, segment: SegmentId, before: Collection[SegmentId]) -> None:
        self._nearest[segment] = self._find_nearest(before)

    def add_seal(
        self,
        key: str,
        shows: Checkpoint | GitMove,
        seals: tuple[SegmentId, ...],
        at: datetime,
        *,
        left: bool,
    ) -> None:
        node = LogNode(key, shows, self._find_nearest(seals), seals, at, left)
        self._nodes[node.key] = node
        if len(seals) == 1:
            self._nearest[seals[0]] = (node.key,)
        else:
            self._joins.append(node)

    def add_end(
        self,
        key: str,
        shows: BranchTip | Line | GitMove,
        segments: tuple[SegmentId, ...],
        at: datetime | None,
    ) -> None:
        key = make_unique_name(key, self._nodes)  # ids of lines adrift are short
        parents = self._find_nearest(segments)
        self._nodes[key] = LogNode(key, shows, parents, segments, at)
        self._ends.append(key)

    def list_nodes(self) -> list[LogNode]:
        """The start, the checkpoints that hold or that an end follows, and the ends."""
        shown = {key for key, node in self._nodes.items() if not node.left}
        shown |= self._find_followed(self._ends)
        return [node for key, node in self._nodes.items() if key in shown]

    def _find_nearest(self, segments: Collection[SegmentId]) -> tuple[str, ...]:
        """The newest nodes among those that lie on the way from these segments to the start."""
        found = {key for segment in segments for key in self._nearest.get(segment, ())}
        if len(segments) > 1 and self._joins:
            reached = self._timeline.ancestors(segments)
            found.update(join.key for join in self._joins if reached.issuperset(join.segments))
        if len(found) > 1:
            found -= self._find_followed(found)
        newest_first = sorted(found, key=lambda key: (self._nodes[key].at or _EPOCH, key))[::-1]
        return tuple(newest_first) or (_START,)

    def _find_followed(self, keys: Iterable[str]) -> set[str]:
        """The nodes that these follow, directly or through others."""
        followed: set[str] = set()
        waiting = [*keys]
        while waiting:
            fresh = set(self._nodes[waiting.pop()].parents) - followed
            followed |= fresh
            waiting += fresh
        return followed


def _sort_segments(timeline: Timeline, ends: Iterable[SegmentId]) -> list[SegmentId]:
    """These segments and all before them, each after those that it stands on."""
    sorted_: dict[SegmentId, None] = {}
    seen: set[SegmentId] = set()
    for end in (ROOT, *ends):
        waiting = [(end, False)]
        while waiting:
            segment, ready = waiting.pop()
            if ready:
                sorted_[segment] = None
            elif segment not in seen:
                seen.add(segment)
                waiting.append((segment, True))
                waiting += [(before, False) for before in timeline.predecessors(segment)]
    return [*sorted_]


def _group_by_last_seal(
    timeline: Timeline, segments: Sequence[SegmentId]
) -> dict[SegmentId, list[tuple[Checkpoint, tuple[SegmentId, ...]]]]:
    """The checkpoints that count or are pending, each under the last of the segments it seals.

    A segment that is not known is not asked for, as the timeline does it: if none is known, the
    checkpoint holds everywhere, and stands at the start.
    """
    places = {segment: place for place, segment in enumerate(segments)}
    grouped: dict[SegmentId, list[tuple[Checkpoint, tuple[SegmentId, ...]]]] = {}
    for checkpoint in sorted(timeline.checkpoints.values(), key=lambda c: (c.at, c.move)):
        known = {s for s in checkpoint.seals if s in timeline.segments or s == ROOT}
        if checkpoint.approval != "skipped" and known <= places.keys():
            seals = tuple(sorted(known, key=places.__getitem__))
            grouped.setdefault(seals[-1] if seals else ROOT, []).append((checkpoint, seals))
    for group in grouped.values():
        group.sort(key=lambda each: len(each[1]))
    return grouped


def _group_anchors(
    anchors: Mapping[RecordId, Anchor], segments: Sequence[SegmentId]
) -> tuple[dict[SegmentId, list[tuple[RecordId, tuple[SegmentId, ...]]]], list[RecordId]]:
    """What each anchor closes, under the last of these segments; and the anchors that close none.

    Of an anchor whose segments are not all known here nothing is shown.
    """
    places = {segment: place for place, segment in enumerate(segments)}
    closed: dict[SegmentId, list[tuple[RecordId, tuple[SegmentId, ...]]]] = {}
    later: list[RecordId] = []
    seen: set[SegmentId] = set()
    for move in sorted(anchors):
        mine = anchors[move].segments
        if not places.keys() >= {*mine}:
            continue
        closes = tuple(sorted({*mine} - seen, key=places.__getitem__))
        seen.update(mine)
        if closes:
            closed.setdefault(closes[-1], []).append((move, closes))
        else:
            later.append(move)
    return closed, later


def _show_anchor(
    move: RecordId, anchor: Anchor, segments: tuple[SegmentId, ...]
) -> tuple[str, GitMove, tuple[SegmentId, ...], datetime]:
    return f"git:{move}", GitMove(move, anchor), segments, parse_id_time(move)


def _find_last_written(
    timeline: Timeline, line: Line, written: Container[SegmentId]
) -> frozenset[SegmentId]:
    """The last written segments of the line that are not on its branch."""
    chain = timeline.chain(line.branch)
    found: set[SegmentId] = set()
    seen: set[SegmentId] = set()
    waiting = [*line.tips]
    while waiting:
        segment = waiting.pop()
        if segment in chain or segment in seen:
            continue
        seen.add(segment)
        if segment in written:
            found.add(segment)
        else:
            waiting += timeline.predecessors(segment)
    return frozenset(found)


def _find_time(
    segments: Iterable[SegmentId], newest: Mapping[SegmentId, RecordId]
) -> datetime | None:
    """When the segments were last written to, else when they were begun."""
    ids = [newest.get(segment, segment) for segment in segments]
    return max((parse_id_time(id_) for id_ in ids if id_ != ROOT), default=None)
