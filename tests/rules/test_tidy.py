"""The code itself is tested: functions fit a screen, and one name stands for one thing."""

import ast
import re
from collections.abc import Iterator

from paths import ROOT

MODULES = sorted(
    path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
LINES_PER_FUNCTION_MAX = 70
CLASS = re.compile(r"^ *class (\w+)", re.MULTILINE)
DOCSTRING = re.compile(r'(#.*\n)*r?"""')
VAGUE = re.compile(r"^class \w*(Manager|Service|Helper|Utils?)\b", re.MULTILINE)


def functions(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Every function of a module with its length in lines; expressions hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child.name, (child.end_lineno or child.lineno) - child.lineno + 1
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from functions(child)


def test_functions_fit_the_mind() -> None:
    """A function is read on one screen."""
    long = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in MODULES
        for name, lines in functions(ast.parse(path.read_text("utf-8")))
        if lines > LINES_PER_FUNCTION_MAX
    ]

    assert long == []


def test_no_class_has_a_vague_name() -> None:
    """A class is called after what it owns."""
    vague = [
        str(path.relative_to(ROOT)) for path in MODULES if VAGUE.search(path.read_text("utf-8"))
    ]

    assert vague == []


def test_no_class_name_occurs_twice() -> None:
    """One word for one thing: a reader who searches for a name finds what it stands for."""
    where: dict[str, list[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for name in CLASS.findall(path.read_text("utf-8")):
            where.setdefault(name, []).append(str(path.relative_to(ROOT)))

    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_the_glossary_is_short() -> None:
    """Nobody learns a hundred words before the first change."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    words = page.split("## Words")[1].split("##")[0].count("\n| ") - 2  # the head and the ruler

    assert 20 < words <= 40


def test_the_package_states_what_it_is() -> None:
    """Every module says what it is for."""
    bare = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if not DOCSTRING.match(path.read_text("utf-8"))
    ]

    assert bare == []
