"""Draw a graph whose nodes stand below each other, as `git log --graph` and `jj log` do.

Values in, lines out: nothing here knows what a node is. Every edge runs in a column from the row of
a node down to the row of its parent; side lines join the column that awaits their parent.

    @  b
    │ ○  c
    ├─╯
    ○  a
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from memory_mcp.domain.ids import BranchName
from memory_mcp.frozen import frozen

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOXES: Final = " ??│?╯╮┤?╰╭├─┴┬┼"
"""The sign for each sum of directions; an edge never ends within a column."""
_ASCII: Final = str.maketrans("│╯╮┤╰╭├─┴┬┼○●◌◆◇\xd7…", "|'.+`.+-+++o*?+=x~")


@frozen
class GraphNode:
    """A node of a drawing: its sign, its parents, and how many lines of text stand beside it."""

    key: str
    parents: tuple[str, ...]
    sign: str
    lines: int = 1


@frozen
class GraphLine:
    """A line of a drawing, to be followed by a line of text if one `takes_text`.

    The sign of the node stands between the edges to its left and to its right.
    """

    left: str
    sign: str = ""
    right: str = ""
    takes_text: bool = False


@frozen
class PlacedNode:
    """The column of a node, and the edges from its row to the next, each from column to column."""

    key: str
    column: int
    edges: tuple[tuple[int, int], ...]


class _Step(NamedTuple):
    """A node in its column: where edges led above it and lead below it, and which it touches."""

    node: GraphNode
    at: int
    before: list[str | None]
    columns: list[str | None]
    touched: set[int]


def place_nodes(nodes: Sequence[GraphNode]) -> Iterator[PlacedNode]:
    """Where each node stands, for whoever draws with lines. A parent stands below its children."""
    for node, at, before, columns, _ in _place(nodes):
        passing = [(i, each) for i, each in enumerate(before) if each is not None and i != at]
        leading = [(at, parent) for parent in node.parents]
        edges = {(start, columns.index(goal)): None for start, goal in (*passing, *leading)}
        yield PlacedNode(node.key, at, tuple(edges))


def draw_graph(nodes: Sequence[GraphNode]) -> Iterator[list[GraphLine]]:
    """The lines of each node. A parent stands below all its children."""
    for node, at, before, columns, touched in _place(nodes):
        edges = ["│" if each else " " for each in before]
        left, right = "".join(f"{edge} " for edge in edges[:at]), edges[at + 1 :]
        lines = [GraphLine(left, node.sign, "".join(f" {edge}" for edge in right), takes_text=True)]

        above = [each is not None for each in before]
        for _ in range(node.lines - 1):
            edges = ["│" if each and (i != at or touched) else " " for i, each in enumerate(above)]
            lines.append(GraphLine(" ".join(edges), takes_text=True))
        if touched and touched != {at}:
            lines.append(GraphLine(_draw_join(above, columns, at, touched)))
        yield lines


def _place(nodes: Sequence[GraphNode]) -> Iterator[_Step]:
    columns: list[str | None] = []
    """The parent that the edge in each column leads to."""
    for node in nodes:
        at = columns.index(node.key) if node.key in columns else _find_free(columns)
        columns[at] = node.key
        before = [*columns]
        touched = _lead_edges(columns, at, node.parents)
        yield _Step(node, at, before, [*columns], touched)
        while columns and columns[-1] is None:
            columns.pop()


def use_ascii(text: str) -> str:
    """The edges and signs of a drawing in ASCII."""
    return text.translate(_ASCII)


def _find_free(columns: list[str | None]) -> int:
    """The first column without an edge, which may be a new one."""
    if None not in columns:
        columns.append(None)
    return columns.index(None)


def _lead_edges(columns: list[str | None], at: int, parents: Sequence[str]) -> set[int]:
    """Lead an edge from this column to each parent; the columns that these edges touch.

    Edges to the same parent are joined at once, in the leftmost of their columns.
    """
    columns[at] = None
    touched: set[int] = set()
    for parent in parents:
        target = at if columns[at] is None else _find_free(columns)
        if parent in columns:
            awaits = columns.index(parent)
            touched.add(awaits)
            columns[awaits] = None
            target = min(target, awaits)
        columns[target] = parent
        touched.add(target)
    return touched


def _draw_join(
    above: Sequence[bool], columns: Sequence[str | None], at: int, touched: set[int]
) -> str:
    """The line below a node that leads its edges to columns beside it."""
    first, last = min(at, *touched), max(at, *touched)
    drawn = ""
    for column, awaited in enumerate(columns):
        directions = _UP if column < len(above) and above[column] else 0
        directions |= _DOWN if awaited else 0
        directions |= _LEFT if first < column <= last else 0
        directions |= _RIGHT if first <= column < last else 0
        drawn += _BOXES[directions] + ("─" if first <= column < last else " ")
    return drawn.rstrip()


def render_tree(parents: Mapping[BranchName, BranchName], here: BranchName) -> Iterator[str]:
    """The lines of a tree, with a mark at `here`."""
    children: dict[BranchName, list[BranchName]] = {}
    for node in sorted(parents):
        children.setdefault(parents[node], []).append(node)
    waiting = [(root, "", "") for root in sorted(children.keys() - parents.keys(), reverse=True)]
    while waiting:
        node, before, below = waiting.pop()
        yield f"{before}{node}{' @' if node == here else ''}"
        rest = children.get(node, [])
        for each in reversed(rest):
            signs = ("└ ", "  ") if each == rest[-1] else ("├ ", "│ ")
            waiting.append((each, below + signs[0], below + signs[1]))
