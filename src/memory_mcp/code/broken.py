"""What a Python file declares that does not parse as a whole, because somebody is working on it.

Everything that parses is read as Python reads it. Of the statement in which the error stands, a
declaration is known by its first line and its indentation, and what is within it is looked at in
the same way. A name that is met within a text or brackets that were never closed may be none.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from memory_mcp.patterns import compile_later

_ERRORS_MAX: Final = 20
"""Broken statements of one block; after so many the rest of it is not read."""
_HEAD: Final = compile_later(
    r"\s*(?:(?:async\s+)?(?P<kind>def|class)\s+(?P<name>\w+)"
    r"|(?:async\s+)?(?:if|try|with|for|while|match|case)\b)"
)
_GOES_ON: Final = compile_later(r"\s*(?:[)\]}]|(?:else|elif|except|finally)\b)")

Part = tuple[str, int, ast.Module]
"""A part that parses: the prefix of its names, and how many lines are before it."""
Declared = tuple[str, tuple[int, int]]


def read_parts(
    lines: Sequence[str], before: int = 0, prefix: str = ""
) -> Iterator[Part | Declared]:
    """The parts of a block of lines that parse, and what is declared by those that do not."""
    for _ in range(_ERRORS_MAX):
        tree, error = _parse(lines)
        if tree:
            yield prefix, before, tree
            return
        starts = _find_starts(lines)
        ahead = [at for at in starts if at < error] or [0]
        start = next((at for at in reversed(ahead) if _parse(lines[:at])[0]), 0)
        if start and (tree := _parse(lines[:start])[0]):
            yield prefix, before, tree
        end = next((at for at in starts if at > start), len(lines))
        yield from _read_broken(lines[start:end], before + start, prefix)
        lines, before = lines[end:], before + end


def _parse(lines: Sequence[str]) -> tuple[ast.Module | None, int]:
    """The tree of the lines, which may be indented, or how many lines the error is after."""
    first = next((line for line in lines if line.strip()), "")
    indented = bool(_indent(first))  # an indented block has to stand in something
    text = "\n".join(["if 1:" if indented else "", *lines])
    try:
        return ast.parse(text), 0
    except SyntaxError as error:
        return None, max(1, (error.lineno or 1) - 1)


def _find_starts(lines: Sequence[str]) -> list[int]:
    """Where statements begin that are as little indented as the first one is."""
    starts: list[int] = []
    depth, decorates = -1, False
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        depth = _indent(line) if depth < 0 else depth
        if _indent(line) > depth or _GOES_ON.match(line):
            continue
        if not decorates:
            starts.append(at)
        decorates = bare.startswith("@") or (decorates and _HEAD.match(line) is None)
    return starts


def _read_broken(lines: Sequence[str], before: int, prefix: str) -> Iterator[Part | Declared]:
    """What a statement declares that does not parse, and what is within it."""
    depth = _indent(next((line for line in lines if line.strip()), ""))
    heads = ((at, _HEAD.match(line)) for at, line in enumerate(lines) if _indent(line) == depth)
    at, head = next(((at, found) for at, found in heads if found), (0, None))
    if head is None:
        return
    ends = [n for n, line in enumerate(lines, 1) if _indent(line) > depth and line.strip()]
    if head["name"]:
        first = next(n for n, line in enumerate(lines, 1) if line.strip())
        yield prefix + head["name"], (before + first, before + max([at + 1, *ends]))
        prefix = f"{prefix}{head['name']}."
    closed = (n for n, line in enumerate(lines, 1) if line[: depth + 1].strip() == ")")
    begins = next(closed, at + 1)  # behind parameters on lines of their own
    inner = range(begins, max([begins, *ends]))
    cuts = [n for n in inner if lines[n].strip() and _indent(lines[n]) <= depth]  # `except`, `else`
    for first, last in pairwise([begins - 1, *cuts, inner.stop]):
        if any(line.strip() for line in lines[first + 1 : last]):
            yield from read_parts(lines[first + 1 : last], before + first + 1, prefix)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
