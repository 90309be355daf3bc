"""Where a symbol of a source file stands: Python by the standard library, others by `grammars`.

Where no grammar is installed, only lines can be cited. A symbol is asked for as people write it: in
full or by its end, with `::`, `()` or the word that declares it.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from memory_mcp.code.broken import read_parts
from memory_mcp.code.grammars import Lines, list_declarations, load_parser
from memory_mcp.domain.citations import split_lines
from memory_mcp.domain.code_files import Symbols
from memory_mcp.patterns import compile_later

_PYTHON: Final = (".py", ".pyi")
_BLANKS_MAX: Final = 200
"""What may stand between a name and its `=`."""
_NO_PARTS: Final = (".go", ".rs", ".java")
"""Where each declaration of a name is whole."""
_PART: Final = compile_later(r"\s*@|.*\b[gs]et\s")
"""The first line of a part: decorated (`@overload`, `@property`), or an accessor."""
_NEAR_MAX: Final = 3
_INIT: Final = "__init__."
_KEYWORDS: Final = frozenset({
    "abstract", "async", "class", "const", "declare", "def", "enum", "export", "fn", "func",
    "function", "impl", "interface", "let", "mod", "module", "namespace", "private", "protected",
    "pub", "public", "record", "static", "struct", "trait", "type", "union", "unsafe", "var",
})  # fmt: skip
_POINTER: Final = compile_later(r"\(\s*\*?\s*([\w$]+)\s*\)\s*\.")
"""The receiver of a method of Go: `(*Server).Run`."""
_RECEIVER: Final = compile_later(r"^func\s*\([^()]*\)")
_TYPES: Final = compile_later(r"<[^<>]*>|\[[^\[\]]*\]")
_JOINTS: Final = compile_later(r"(?:::|->|[#.])+")
_SEVERAL: Final = compile_later(r"\s{0,80}+\(?[\w\s,.*]{1,300}+\)?\s{0,9}=(?!=)")
"""The beginning of a statement that assigns to several names."""


def knows_symbols(path: str) -> bool:
    """Whether symbols of this file can be found here."""
    ending = _find_ending(path)
    return ending in _PYTHON or load_parser(ending) is not None


def list_symbols(path: str, source: str) -> Symbols:
    """The symbols that the file declares; of one that is being worked on, what can be read."""
    ending = _find_ending(path)
    try:
        found: dict[str, list[tuple[int, int]]] = {}
        for name, lines in (
            _list_python(source) if ending in _PYTHON else list_declarations(ending, source)
        ):
            found.setdefault(name, []).append(lines)
    except (ValueError, RecursionError):
        return {}
    several = any(len(places) > 1 for places in found.values())
    lines = split_lines(source) if several and ending not in _NO_PARTS else []
    return {name: _join_parts(places, lines, ending) for name, places in found.items()}


def _join_parts(places: Sequence[Lines], lines: Sequence[str], ending: str) -> list[Lines]:
    """The places, in order, of which those are one that belong together.

    What reads and what writes a property do, and the forms of a function, with nothing between.
    """
    joined: list[Lines] = []
    for first, last in sorted(set(places)):
        before = joined[-1] if joined else None
        if before and lines and not any(lines[before[1] : first - 1]):
            no_body = ending not in _PYTHON and not lines[before[1] - 1].endswith("}")
            if no_body or _PART.match(lines[before[0] - 1]):
                joined[-1] = before[0], max(before[1], last)
                continue
        joined.append((first, last))
    return joined


def may_declare(path: str, source: str, symbol: str) -> bool:
    """Whether any line may declare the symbol; what has none need not be parsed to know that."""
    name = symbol.rpartition(".")[2]
    if name not in source or _find_ending(path) not in _PYTHON:
        return name in source
    for found in re.finditer(rf"\b{re.escape(name)}\b", source):
        line = source.rfind("\n", 0, found.start()) + 1
        before = source[line : found.start()].rstrip()
        words = before.endswith(("def", "class", "type"))
        if words or source[max(0, line - 2) : line].startswith("\\"):
            return True
        after = source[found.end() : found.end() + _BLANKS_MAX].lstrip(" \t\f\r\n\\")
        assigns = after[:1] == ":" or (after[:1] == "=" and after[1:2] != "=")
        if assigns and (not before or before[-1] in ";:=" or before.endswith("self.")):
            return True
        if (after[:1] in (",", ")", "]", "=") or before[-1:] == ",") and _SEVERAL.match(
            source, line
        ):
            return True
    return False


def find_symbol(known: Symbols, symbol: str) -> Symbols:
    """The declarations of the symbol, named in full (`Class.method`) or by its end."""
    if symbol in known:
        return {symbol: known[symbol]}
    for name in dict.fromkeys((symbol, _simplify(symbol))):
        if name in known:
            return {name: known[name]}
        if found := {each: known[each] for each in known if name and each.endswith(f".{name}")}:
            return found
    return {}


def _simplify(symbol: str) -> str:
    """The symbol as names are kept, of one that was written as in the code or in its documents."""
    text = _TYPES.sub("", _RECEIVER.sub("", _POINTER.sub(r"\1.", symbol)))
    text, called, _ = text.partition("(")
    text = _JOINTS.sub(".", text).replace(".prototype.", ".").removeprefix("module.")
    words = [word for word in text.split() if word not in _KEYWORDS] or text.split()
    return words[-1 if called else 0].strip(".*&;,:!=") if words else ""


def find_near(known: Symbols, symbol: str) -> list[str]:
    """The declared names that are most like the symbol, by their last part."""
    from difflib import get_close_matches  # noqa: PLC0415  # only where a citation fails

    wanted = _simplify(symbol).rpartition(".")[2].lower()
    named: dict[str, list[str]] = {}
    for each in known:
        named.setdefault(each.rpartition(".")[2].lower(), []).append(each)
    near = get_close_matches(wanted, named, n=_NEAR_MAX)
    return [each for last in near for each in named[last]][:_NEAR_MAX]


def _find_ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].lower() if "." in name else ""


def _list_python(source: str) -> Iterator[tuple[str, Lines]]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for part in read_parts(lines):
            if len(part) == 2:  # noqa: PLR2004  # declared by a statement that does not parse
                yield part
                continue
            prefix, before, tree = part
            for name, (first, last) in _walk_python(tree, prefix):
                yield name, (first + before - 1, last + before - 1)  # behind a line of its own
        return
    yield from _walk_python(tree)


def _walk_python(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Lines]]:
    waiting: list[tuple[str, ast.AST]] = [(prefix, tree)]
    while waiting:
        prefix, parent = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                    yield prefix + node.name, (first, node.end_lineno or first)
                    waiting.append((f"{prefix}{node.name}.", node))
                case ast.stmt():
                    for name in _list_names(_list_targets(node), prefix):
                        yield name, (node.lineno, node.end_lineno or node.lineno)
                    waiting.append((prefix, node))
                case ast.ExceptHandler() | ast.match_case():
                    waiting.append((prefix, node))
                case _:
                    pass


def _list_targets(node: ast.stmt) -> Sequence[ast.AST]:
    """What a statement gives names to."""
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target):
            return [target]
        case _:  # `type` of Python 3.12
            return [getattr(node, "name", node)] if type(node).__name__ == "TypeAlias" else []


def _list_names(targets: Sequence[ast.AST], prefix: str) -> Iterator[str]:
    """The names that are assigned; what `__init__` sets on its object is its class's."""
    waiting = list(targets)
    while waiting:
        match waiting.pop():
            case ast.Name(id=name):
                yield prefix + name
            case ast.Tuple(elts=several) | ast.List(elts=several):
                waiting += several
            case ast.Starred(value=value):
                waiting.append(value)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if prefix.endswith(_INIT):
                yield prefix.removesuffix(_INIT) + name
            case _:
                pass
