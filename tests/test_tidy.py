"""The code itself is tested: small workspace stay small."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
LINES_PER_FUNCTION_MAX = 70
VAGUE = re.compile(r"^class \w*(Manager|Service|Helper|Utils?)\b", re.MULTILINE)


@cache
def tree_of(path: Path) -> ast.Module:
    """What a module says."""
    return ast.parse(path.read_text("utf-8"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a module with its length in lines."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_fit_the_mind() -> None:
    """A function is read on one screen."""
    long = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in MODULES
        for name, lines in functions(path)
        if lines > LINES_PER_FUNCTION_MAX
    ]

    assert long == []


def test_no_class_has_a_vague_name() -> None:
    """A class is called after what it owns."""
    vague = [
        str(path.relative_to(ROOT)) for path in MODULES if VAGUE.search(path.read_text("utf-8"))
    ]

    assert vague == []


def test_the_package_states_what_it_is() -> None:
    """Every module says what it is for."""
    bare = [str(path.relative_to(ROOT)) for path in MODULES if not ast.get_docstring(tree_of(path))]

    assert bare == []
