"""A drawing of a graph: every shape that joins and parts, drawn by hand."""

from textwrap import dedent

import pytest

from memory_mcp.render.graph import GraphNode, draw_graph, use_ascii

DRAWINGS = {
    "nothing": ("", ""),
    "one node": ("a", "a"),
    "one line": (
        "c:b b:a a",
        """
        c
        b
        a
        """,
    ),
    "a side line": (
        "c:a b:a a",
        """
        c
        │ b
        ├─╯
        a
        """,
    ),
    "side lines one after the other": (
        "e:d d:a c:b b:a f:a a",
        """
        e
        d
        │ c
        │ b
        ├─╯
        │ f
        ├─╯
        a
        """,
    ),
    "a side line of a side line": (
        "d:a c:b e:b b:a a",
        """
        d
        │ c
        │ │ e
        │ ├─╯
        │ b
        ├─╯
        a
        """,
    ),
    "two lines that were joined": (
        "d:b,c c:a b:a a",
        """
        d
        ├─╮
        │ c
        b │
        ├─╯
        a
        """,
    ),
    "three lines that were joined": (
        "e:b,c,d d:a c:a b:a a",
        """
        e
        ├─┬─╮
        │ │ d
        │ c │
        │ ├─╯
        b │
        ├─╯
        a
        """,
    ),
    "a line that joins one to its left": (
        "e:a d:b c:a,b b:a a",
        """
        e
        │ d
        │ │ c
        ├─┼─╯
        │ b
        ├─╯
        a
        """,
    ),
    "a column is taken again": (
        "a b:c c d",
        """
        a
        b
        c
        d
        """,
    ),
    "a node without parents beside another": (
        "c:a b a",
        """
        c
        │ b
        a
        """,
    ),
}


def parse(graph: str) -> list[GraphNode]:
    """`c:a,b` is a node c with the parents a and b."""
    parts = [node.partition(":") for node in graph.split()]
    return [GraphNode(key, tuple(filter(None, to.split(","))), key) for key, _, to in parts]


def draw(nodes: list[GraphNode]) -> str:
    return "\n".join(
        f"{line.left}{line.sign}{line.right}" for lines in draw_graph(nodes) for line in lines
    )


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_graph_is_drawn_as_by_hand(name: str) -> None:
    """Whoever has read one of git or of jj can read it."""
    graph, drawing = DRAWINGS[name]

    assert draw(parse(graph)) == dedent(drawing).strip()


def test_lines_of_text_stand_beside_their_node() -> None:
    """The edge to the parent goes on beside them."""
    nodes = [
        GraphNode("c", ("a",), "c", lines=2),
        GraphNode("b", ("a",), "b", lines=3),
        GraphNode("a", (), "a", lines=2),
    ]
    drawn = [
        f"{line.left}{line.sign}{line.right}" + (" …" if line.takes_text else "")
        for lines in draw_graph(nodes)
        for line in lines
    ]

    assert drawn == ["c …", "│ …", "│ b …", "│ │ …", "│ │ …", "├─╯", "a …", "  …"]


def test_a_drawing_in_ascii_has_the_same_shape() -> None:
    """Not every terminal has the signs for boxes."""
    drawn = use_ascii("├─┬─╮\n├─┼─╯\n│ ● ◌ ◆ … \xd7\n╰─╯")

    assert drawn == "+-+-.\n+-+-'\n| * ? + ~ x\n`-'"
