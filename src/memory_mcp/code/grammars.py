"""What a file of TypeScript, JavaScript, Go, Rust or Java declares, by its tree-sitter grammar.

The grammars come with the optional extra `code`. A name is what somebody who reads the file would
write: `Dog.bark` for `Dog.prototype.bark = …`, `exports.run` for what a module of CommonJS exports,
`default` for a default export, `S.Run` for a method of Go with its receiver's type.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from memory_mcp.patterns import compile_later

_GRAMMARS: Final[Mapping[str, tuple[str, str]]] = {
    ".js": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".cjs": ("tree_sitter_javascript", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".mts": ("tree_sitter_typescript", "language_typescript"),
    ".cts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
}
"""The module of each grammar, and the function in it."""

_ENDINGS: Final = ("_declaration", "_definition", "_item", "_declarator", "_spec", "_signature")
"""Each grammar names what declares something alike; these do, too, or do not."""
_DECLARES: Final = frozenset({
    "internal_module", "module", "enum_assignment", "enum_variant", "enum_constant", "method_elem",
    "type_alias", "class", "function_expression", "generator_function", "impl_item", "pair",
    "export_statement", "assignment_expression", "required_parameter", "formal_parameter",
    "enum_body",
})  # fmt: skip
_NO_NAMES: Final = frozenset({
    "parameter_declaration", "type_parameter_declaration", "variadic_parameter_declaration",
    "index_signature",
})  # fmt: skip
_FUNCTIONS: Final = frozenset(
    {"function_expression", "arrow_function", "generator_function", "class", "function"}
)
_WRAPPERS: Final = frozenset(
    {"object", "pair", "as_expression", "satisfies_expression", "parenthesized_expression"}
)
_HOLDERS: Final = frozenset({
    "variable_declarator", "assignment_expression", "export_statement", "field_definition",
    "public_field_definition",
})  # fmt: skip
"""What gives an object a name, so that its keys can be named, too."""
_WORD: Final = compile_later(r"[\w$]+")
_MEMBER: Final = compile_later(r"[\w$]+(?:\.#?[\w$]+)*")
_CONSTRUCTOR: Final = "constructor."

Lines = tuple[int, int]


def list_declarations(ending: str, source: str) -> Iterator[tuple[str, Lines]]:
    """Each declaration by its full name, with its first and last line."""
    parser = load_parser(ending)
    if parser is None:
        return
    waiting: list[tuple[str, Any]] = [("", parser.parse(source.encode(errors="replace")).root_node)]
    while waiting:
        prefix, node = waiting.pop()
        inner = prefix
        if _may_declare(node.type):
            lines = node.start_point[0] + 1, node.end_point[0] + 1
            names = [name for name in _name_node(node, prefix) if name]
            # an `impl` of Rust declares what is in it, not its type
            for name in names if node.type != "impl_item" else ():
                yield name, lines
            if node.type == "enum_body":  # of TypeScript, where a member may be but a name
                for each in node.children_by_field_name("name"):
                    line = each.start_point[0] + 1
                    yield prefix + _read_name(each), (line, line)
            inner = f"{names[0]}." if names and not _goes_on(node) else prefix
        waiting += [(inner, child) for child in reversed(node.named_children)]


@cache
def _may_declare(kind: str) -> bool:
    """Whether a node of that kind may declare something: most do not."""
    return kind in _DECLARES or (kind.endswith(_ENDINGS) and kind not in _NO_NAMES)


def _goes_on(node: Any) -> bool:
    """Whether what is within has names of its own: `export default class A`, `a.b = a.c = …`."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("right").type == "assignment_expression"
    return node.type == "export_statement" and bool(node.child_by_field_name("declaration"))


def _name_node(node: Any, prefix: str) -> list[str]:
    """The full names that a node of the syntax declares; none for most."""
    names: list[str] = []
    match node.type:
        case "impl_item":
            names = [_read_type(node.child_by_field_name("type"))]
        case "export_statement":
            names = ["default"] if any(c.type == "default" for c in node.children) else []
        case "assignment_expression":
            return [_name_assigned(node, prefix)]
        case "pair":
            key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            if key and value and (value.type in _FUNCTIONS or _is_named(node)):
                names = [_read_name(key)]
        case "required_parameter" | "formal_parameter":
            return [_name_field(node, prefix)]
        case "enum_body":
            pass
        case _:
            named = node.children_by_field_name("name") or node.children_by_field_name("property")
            prefix += _read_receiver(node)
            names = [name for each in named for name in _read_names(each)]
    return [prefix + name for name in names if name]


def _name_field(parameter: Any, prefix: str) -> str:
    """What a parameter declares: a field, in a constructor of TypeScript and a record of Java."""
    kinds = {child.type for child in parameter.children}
    if not kinds.isdisjoint(("accessibility_modifier", "readonly")):
        name = _read_name(parameter.child_by_field_name("pattern"))
        return prefix.removesuffix(_CONSTRUCTOR) + name if name else ""
    holder = parameter.parent.parent
    if holder is None or holder.type != "record_declaration":
        return ""
    return prefix + _read_name(parameter.child_by_field_name("name"))


def _name_assigned(node: Any, prefix: str) -> str:
    """What an assignment declares: a function or class, what a module exports, or a member.

    A member is one by any value where the file itself assigns it, not one of its functions.
    """
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None:
        return ""
    text: str = left.text.decode(errors="replace")
    exported = text == "exports" or text.startswith(("exports.", "module.exports"))
    if _MEMBER.fullmatch(text) is None or ("." not in text and not exported):
        return ""
    if not (exported or right.type in _FUNCTIONS or _is_at_top(node)):
        return ""
    if text.startswith("this."):
        return prefix.removesuffix(_CONSTRUCTOR) + text[5:].replace("#", "")
    return prefix + text.removeprefix("module.").replace(".prototype", "").replace("#", "")


def _is_at_top(node: Any) -> bool:
    at = node.parent
    while at is not None and at.type == "assignment_expression":
        at = at.parent
    return bool(at and at.type == "expression_statement" and at.parent.type == "program")


def _is_named(pair: Any) -> bool:
    """Whether the object that has the key is itself the value of a name."""
    at = pair.parent
    while at is not None and at.type in _WRAPPERS:
        at = at.parent
    return at is not None and at.type in _HOLDERS


def _read_names(named: Any) -> list[str]:
    """The name, or those that a pattern takes apart (`const { a, b: c } = …`)."""
    if not named.type.endswith("_pattern") or named.type == "shorthand_property_identifier_pattern":
        return [_read_name(named)]
    found: list[str] = []
    waiting = [named]
    while waiting:
        node = waiting.pop()
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            found.append(_read_name(node))
        value = node.child_by_field_name("value") if node.type == "pair_pattern" else None
        waiting += [value] if value else reversed(node.named_children)
    return found


def _read_name(named: Any) -> str:
    """The name without quotes and parameters of its type (`S<T>`); '' if it cannot be cited."""
    text: str = named.text.decode(errors="replace") if named else ""
    text = text.partition("<")[0].strip().strip("\"'").removeprefix("#")
    return text if _MEMBER.fullmatch(text) else ""


def _read_type(named: Any) -> str:
    """The last name of a type (`&'a fmt::Formatter<T>`)."""
    text: str = named.text.decode(errors="replace") if named else ""
    words = _WORD.findall(text.partition("<")[0])
    return words[-1] if words else ""


def _read_receiver(node: Any) -> str:
    """The type to which a method of Go belongs (`func (s *S[T]) Run()`), with its dot."""
    receiver: Any = node.child_by_field_name("receiver")
    if receiver is None:
        return ""
    words = _WORD.findall(receiver.text.decode(errors="replace").partition("[")[0])
    return f"{words[-1]}." if words else ""


@cache
def load_parser(ending: str) -> Any:
    """The parser of files with that ending; None if it is not installed, or there is none."""
    if ending not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[ending]
    try:
        sitter: Any = import_module("tree_sitter")
        grammar: Any = getattr(import_module(module), function)
    except ImportError:
        return None
    return sitter.Parser(sitter.Language(grammar()))
