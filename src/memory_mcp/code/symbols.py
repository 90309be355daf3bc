"""Where a symbol of a source file stands: Python by the standard library, others by tree-sitter.

The grammars come with the optional extra `code`. Without them only lines can be cited there.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from memory_mcp.code.broken import read_parts
from memory_mcp.domain.code_files import Symbols

_GRAMMARS: Final[Mapping[str, tuple[str, str]]] = {
    ".js": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
}
"""The module of each grammar, and the function in it."""

_PYTHON: Final = (".py", ".pyi")
_BLANKS_MAX: Final = 200
"""What may stand between a name and its `=`."""


def knows_symbols(path: str) -> bool:
    """Whether symbols of this file can be found here."""
    ending = _find_ending(path)
    return ending in _PYTHON or _load_parser(ending) is not None


def list_symbols(path: str, source: str) -> Symbols:
    """The symbols that the file declares; of one that is being worked on, what can be read."""
    ending = _find_ending(path)
    try:
        found: dict[str, list[tuple[int, int]]] = {}
        for name, lines in (
            _list_python(source) if ending in _PYTHON else _list_others(ending, source)
        ):
            found.setdefault(name, []).append(lines)
    except (ValueError, RecursionError):
        return {}
    return {name: sorted(places) for name, places in found.items()}


def may_declare(path: str, source: str, symbol: str) -> bool:
    """Whether any line may declare the symbol; what has none need not be parsed to know that."""
    name = symbol.rpartition(".")[2]
    if name not in source or _find_ending(path) not in _PYTHON:
        return name in source
    for found in re.finditer(rf"{re.escape(name)}\b", source):
        line = source.rfind("\n", 0, found.start()) + 1
        before = source[line : found.start()].rstrip()
        if before.endswith(("def", "class")) or source[max(0, line - 2) : line].startswith("\\"):
            return True
        after = source[found.end() : found.end() + _BLANKS_MAX].lstrip(" \t\f\r\n\\")
        assigns = after[:1] == ":" or (after[:1] == "=" and after[1:2] != "=")
        if assigns and (not before or before[-1] in ";:"):
            return True
    return False


def find_symbol(known: Symbols, symbol: str) -> Symbols:
    """The declarations of the symbol, named in full (`Class.method`) or by its end."""
    if symbol in known:
        return {symbol: known[symbol]}
    return {name: places for name, places in known.items() if name.endswith(f".{symbol}")}


def _find_ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].lower() if "." in name else ""


def _list_python(source: str) -> Iterator[tuple[str, tuple[int, int]]]:
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


def _walk_python(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    waiting: list[tuple[str, ast.AST]] = [(prefix, tree)]
    while waiting:
        prefix, parent = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                    yield prefix + node.name, (first, node.end_lineno or first)
                    waiting.append((f"{prefix}{node.name}.", node))
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(name)):
                    yield prefix + name, (node.lineno, node.end_lineno or node.lineno)
                case ast.If() | ast.Try() | ast.With():
                    waiting.append((prefix, node))
                case _:
                    pass


def _list_others(ending: str, source: str) -> Iterator[tuple[str, tuple[int, int]]]:
    parser = _load_parser(ending)
    if parser is None:
        return
    waiting: list[tuple[str, Any]] = [("", parser.parse(source.encode(errors="replace")).root_node)]
    while waiting:
        prefix, node = waiting.pop()
        # an `impl` of Rust has a type instead of a name; it declares what is in it, not that type
        is_impl = node.type == "impl_item"
        named: Any = node.child_by_field_name("type" if is_impl else "name")
        inner = prefix
        if named is not None and _declares(node.type):
            name = prefix + _name_receiver(node) + _read_name(named)
            if not is_impl:
                yield name, (node.start_point[0] + 1, node.end_point[0] + 1)
            inner = f"{name}."
        waiting += [(inner, child) for child in reversed(node.named_children)]


def _read_name(named: Any) -> str:
    """The name without parameters of its type (`S<T>`), as it can be cited."""
    text: str = named.text.decode(errors="replace")
    return text.partition("<")[0].strip()


def _name_receiver(node: Any) -> str:
    """The type to which a method of Go belongs (`func (s *S[T]) Run()`), with its dot."""
    receiver: Any = node.child_by_field_name("receiver")
    if receiver is None:
        return ""
    text: str = receiver.text.decode(errors="replace")
    words = text.partition("[")[0].strip("() ").replace("*", " ").split()
    return f"{words[-1]}." if words else ""


def _declares(kind: str) -> bool:
    """Whether a node of the syntax declares something: each grammar names these alike."""
    endings = ("_declaration", "_definition", "_item", "_declarator", "_spec")
    return kind.endswith(endings) or kind in ("method_definition", "pair")


@cache
def _load_parser(ending: str) -> Any:
    if ending not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[ending]
    try:
        sitter: Any = import_module("tree_sitter")
        grammar: Any = getattr(import_module(module), function)
    except ImportError:
        return None
    return sitter.Parser(sitter.Language(grammar()))
