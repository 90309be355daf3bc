"""Every timeline can be drawn: each name stands there once, and each edge leads down to its end."""

from collections.abc import Sequence

from fakes import Scribe
from hypothesis import given
from hypothesis import strategies as st
from test_moves import Clone, two_clones, united

from memory_mcp.domain.ids import MAIN, ROOT, BranchName, RecordId, SegmentId
from memory_mcp.domain.outcomes import LogNode
from memory_mcp.domain.timeline import Line, Timeline
from memory_mcp.render.graph import GraphNode, draw_graph
from memory_mcp.timeline.graph import build_graph, limit_nodes, order_nodes
from memory_mcp.timeline.moves import fold_moves

_DOWN = set("│╮┤╭├┬┼")
_LEFT = set("╯╮┤─┴┬┼")
_RIGHT = set("╰╭├─┴┬┼")
_NODE = "o"

Cell = tuple[int, int]


def everything_written(timeline: Timeline) -> dict[SegmentId, RecordId]:
    """As if there were a record in every segment."""
    left = [segment for line in timeline.lines.values() for segment in line.tips]
    return {segment: RecordId(segment) for segment in (ROOT, *timeline.segments, *left)}


def keys(nodes: Sequence[LogNode], kind: str) -> list[str]:
    return sorted(n.key.removeprefix(kind) for n in nodes if n.key.startswith(kind))


def assert_parents_below(nodes: Sequence[LogNode]) -> None:
    places = {node.key: place for place, node in enumerate(nodes)}
    assert len(places) == len(nodes)
    for node in nodes:
        assert all(places[parent] > places[node.key] for parent in node.parents)


def trace(lines: Sequence[str], at: Cell) -> set[Cell]:
    """The nodes to which one comes from this one by its edges, never going up."""
    width = max(map(len, lines))
    drawing = [line.ljust(width) for line in lines]
    found: set[Cell] = set()
    seen: set[Cell] = set()
    waiting = [(at[0] + 1, at[1])]
    while waiting:
        row, column = waiting.pop()
        if (row, column) in seen or row == len(drawing):
            continue
        seen.add((row, column))
        sign = drawing[row][column]
        if sign == _NODE:
            found.add((row, column))
            continue
        waiting += [(row + 1, column)] if sign in _DOWN else []
        waiting += [(row, column - 1)] if sign in _LEFT else []
        waiting += [(row, column + 1)] if sign in _RIGHT else []
    return found


def assert_edges_lead_to_parents(nodes: Sequence[LogNode]) -> None:
    drawing: list[str] = []
    cells: dict[str, Cell] = {}
    shapes = [GraphNode(node.key, node.parents, _NODE) for node in nodes]
    for node, lines in zip(nodes, draw_graph(shapes), strict=True):
        cells[node.key] = len(drawing), len(lines[0].left)
        drawing += [f"{line.left}{line.sign}{line.right}" for line in lines]
    assert "?" not in "".join(drawing)
    for node in nodes:
        assert {cells[parent] for parent in node.parents} <= trace(drawing, cells[node.key])


@given(two_clones(), st.integers(1, 20))
def test_each_name_is_drawn_once_above_what_it_follows(
    clones: tuple[Clone, Clone], known: int
) -> None:
    """Nobody can give a name that the drawing does not show, and none is lost between two clones.

    Only so many moves are `known`, the newest: git may not have brought those before along.
    """
    timeline = fold_moves(united(*clones)[-known:])
    written = everything_written(timeline)
    nodes = build_graph(timeline, written)
    ordered = order_nodes(nodes, MAIN)

    counts = {c.id for b in timeline.branches for c in timeline.valid(b)}
    waits = {c.id for b in timeline.branches for c in timeline.pending(b)}
    left = {c.id for b in timeline.branches for c in timeline.invalidated(b, written)}
    drawn = keys(ordered, "checkpoint:")
    assert counts | waits | left <= set(drawn)
    holds = [node for node in nodes if not node.left]
    assert counts | waits == set(keys(holds, "checkpoint:"))
    assert keys(ordered, "branch:") == sorted(timeline.branches)
    # two clones may have given one name, as ids here differ only where a name does not show it
    lines = {node.shows.id for node in ordered if isinstance(node.shows, Line)}
    assert lines == {line.id for line in timeline.left_lines(written)}
    assert ordered[0].key == "branch:main"
    assert ordered[-1].key == "start"
    assert_parents_below(ordered)
    assert_edges_lead_to_parents(ordered)


@given(two_clones(), st.integers(1, 8))
def test_a_limit_leaves_a_drawing_of_the_newest(clones: tuple[Clone, Clone], limit: int) -> None:
    """Whatever is left out stands below, in one place."""
    timeline = fold_moves(united(*clones))
    nodes = build_graph(timeline, everything_written(timeline))
    shown = order_nodes(limit_nodes(nodes, limit, MAIN), MAIN)

    assert len(shown) <= limit + 1
    assert shown[0].key == "branch:main"
    assert len(nodes) - 1 <= limit or shown[-1].key == "older"
    assert_parents_below(shown)
    assert_edges_lead_to_parents(shown)


def test_a_timeline_of_many_branches_is_gone_through_once() -> None:
    """A thousand branches are drawn in the time of a thousand checkpoints."""
    clone = Clone([], Scribe())
    for number in range(100):
        clone.fork(MAIN, BranchName(f"b{number}"))
    looks = 0

    class Counted(Timeline):
        def predecessors(self, segment: SegmentId) -> Sequence[SegmentId]:
            nonlocal looks
            looks += 1
            return super().predecessors(segment)

    timeline = Counted(**dict(clone.timeline))
    for branch in timeline.branches:
        timeline.tips(branch)
    looks = 0
    nodes = build_graph(timeline, {})

    assert len(nodes) == 102
    assert looks <= 3 * len({*timeline.segments, ROOT})
