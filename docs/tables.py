"""Fills the tables of the documentation from the code that they describe.

    python docs/tables.py                    rewrite the tables in docs/*.md
    python docs/tables.py --check            exit with 1, and a diff, if a page is not up to date
    python docs/tables.py --check FOLDER     the same for the pages of another folder

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. What is between the two is
replaced; everything else on a page is written by hand. The names are those of `TABLES`.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from memory_mcp.cli.catalog import GROUPS, LISTED
from memory_mcp.cli.main import make_parser
from memory_mcp.config import settings
from memory_mcp.config.descriptions import load_descriptions
from memory_mcp.server.calls import MemoryTool
from memory_mcp.server.prompts import PROMPTS
from memory_mcp.server.resources import RESOURCES, TEMPLATES
from memory_mcp.server.tools import load_default_tools, load_toolset

FOLDER: Final = Path(__file__).parent
_TABLE: Final = re.compile(
    r"(?P<begin><!-- table: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)
_COMMON: Final = frozenset({"help", "json", "project", "branch", "version"})
"""Options that every command takes; the page says so once."""


def make_settings_table() -> Iterator[str]:
    """A table of the settings for each group, under the group's heading."""
    rows: dict[str, list[tuple[str, str, str]]] = {}
    for each in load_descriptions().values():
        rows.setdefault(each.group, []).append((f"`{each.name}`", each.what, each.default))
    for group, lines in rows.items():
        yield f"### {group}\n"
        yield from _make_table(("variable", "what it sets", "default"), lines)
        yield ""


def make_commands_table() -> Iterator[str]:
    """Every command that is listed, by what one wants, with its summary."""
    rows = [
        ("" if number else group, f"[`{each.name}`](options.md#{each.name})",
         _make_sentence(each.summary))
        for group, entries in GROUPS.items()
        for number, each in enumerate(entries)
    ]  # fmt: skip
    yield from _make_table(("about", "command", "what it does"), rows)


def make_options_table() -> Iterator[str]:
    """The arguments and options of every command and of its actions, command by command."""
    for entry in LISTED:
        name = entry.name
        (commands,) = _find_choices(make_parser([name]))
        yield f"## {name}\n"
        yield f"`{_make_usage(commands[name])}`: {entry.summary}.\n"
        rows = list(_list_options(commands[name]))
        for actions in _find_choices(commands[name]):
            for action, parser in actions.items():
                rows.append((f"**`{action}`**", _make_sentence(parser.description or "")))
                rows += _list_options(parser)
        if rows:
            yield from _make_table(("argument", "what it says"), rows)
            yield ""


def make_tools_table() -> Iterator[str]:
    """Every tool with the first sentence that a model reads of it, and its toolset."""
    rows = [
        (f"`{tool.name}`", _first_sentence(tool), toolset, _effect(tool))
        for toolset, tool in list_tools()
    ]
    yield from _make_table(("tool", "what it does", "toolset", "effect"), rows)


def make_arguments_table() -> Iterator[str]:
    """Every argument of every tool, with what a model reads of it."""
    rows: list[tuple[str, str, str, str]] = []
    for _, tool in list_tools():
        required: Sequence[str] = tool.parameters.get("required", ())
        arguments: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
        for name, schema in arguments.items():
            must = ", required" if name in required else ""
            rows.append(
                (f"`{tool.name}`", f"`{name}`{must}", _name_type(schema), _describe(schema))
            )
    yield from _make_table(("tool", "argument", "type", "what it says"), rows)


def make_resources_table() -> Iterator[str]:
    """Every resource and prompt, with the description that clients show."""
    rows = [(f"`{each.uri}`", "resource", each.description) for each in (*RESOURCES, *TEMPLATES)]
    rows += [(f"`{each.name}`", "prompt", each.description) for each in PROMPTS]
    yield from _make_table(("name", "what it is", "what it shows or does"), rows)


TABLES: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "settings": make_settings_table,
    "commands": make_commands_table,
    "options": make_options_table,
    "tools": make_tools_table,
    "arguments": make_arguments_table,
    "resources": make_resources_table,
}


def list_tools() -> Iterator[tuple[str, MemoryTool]]:
    """Every tool with the toolset that brings it."""
    yield from (("default", tool) for tool in load_default_tools())
    for name in settings.TOOLSETS:
        yield from ((f"`{name}`", tool) for tool in load_toolset(name))


def fill_page(text: str) -> str:
    """The page with its tables made anew."""

    def make(found: re.Match[str]) -> str:
        lines = "\n".join(TABLES[found["name"]]()).rstrip("\n")
        return f"{found['begin']}\n{lines}\n\n{found['end']}"

    return _TABLE.sub(make, text)


def _make_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _make_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _first_sentence(tool: MemoryTool) -> str:
    return (tool.description or "").partition(". ")[0].rstrip(".") + "."


def _effect(tool: MemoryTool) -> str:
    hints = tool.annotations
    if hints is not None and hints.read_only_hint:
        return "reads"
    return "may hide or erase" if hints is not None and hints.destructive_hint else "adds"


def _name_type(schema: Mapping[str, Any]) -> str:
    """The type of an argument, as JSON names it."""
    several: Sequence[Mapping[str, Any]] = schema.get("anyOf", ())
    return " or ".join(map(_name_type, several)) or str(
        schema.get("format", schema.get("type", ""))
    )


def _describe(schema: Mapping[str, Any]) -> str:
    """What a model reads of an argument: the description, the choices and the default."""
    parts = [str(schema["description"])] if "description" in schema else []
    choices: Sequence[str] = schema.get("enum", ())
    if choices:
        parts.append(", ".join(f"`{each}`" for each in choices if each))
    if fields := schema.get("properties"):
        parts.append("an object with " + ", ".join(f"`{each}`" for each in fields))
    if schema.get("default") not in (None, "", [], False):
        parts.append(f"default `{schema['default']}`")
    return "; ".join(parts)


def _list_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The actions of a parser, in the order of its help."""
    actions: list[argparse.Action] = []

    class Collector(argparse.HelpFormatter):
        def add_argument(self, action: argparse.Action) -> None:
            actions.append(action)
            super().add_argument(action)

    usual = parser.formatter_class
    parser.formatter_class = Collector
    argparse.ArgumentParser.format_help(parser)  # the page of all commands is our own
    parser.formatter_class = usual
    return actions


def _find_choices(
    parser: argparse.ArgumentParser,
) -> Iterator[Mapping[str, argparse.ArgumentParser]]:
    """The parsers that a parser chooses among, if it does."""
    for action in _list_actions(parser):
        if _chooses_parser(action):
            yield cast("Mapping[str, argparse.ArgumentParser]", action.choices)


def _chooses_parser(action: argparse.Action) -> bool:
    return isinstance(action.choices, Mapping)


def _list_options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The arguments of one parser, without those that every command takes."""
    for action in _list_actions(parser):
        if action.dest not in _COMMON and not _chooses_parser(action):
            yield f"`{_name_argument(action)}`", action.help or ""


def _name_argument(action: argparse.Action) -> str:
    """An argument as it is typed: `--limit LIMIT`, `content`."""
    value = action.metavar or (
        f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
    )
    if not action.option_strings:
        return str(action.metavar or action.dest)
    return (
        action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {value}"
    )


def _make_usage(parser: argparse.ArgumentParser) -> str:
    """The line that is typed, without its options."""
    words = [parser.prog]
    for action in _list_actions(parser):
        if not action.option_strings:
            name = str(action.metavar or action.dest)
            name += " …" if action.nargs in ("*", "+") else ""
            optional = action.nargs in ("?", "*") or _chooses_parser(action)
            words.append(f"[{name}]" if optional else name)
    return " ".join(words)


def main(words: Sequence[str] | None = None) -> int:
    """Rewrite the pages, or say which of them are not up to date."""
    parser = argparse.ArgumentParser(description="Fill the tables of the documentation.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="of the pages")
    asked = parser.parse_args(words)
    stale = False
    for page in sorted(asked.folder.glob("*.md")):
        old = page.read_text("utf-8")
        new = fill_page(old)
        if asked.check:
            named = (f"{page.name} as it is", f"{page.name} as the code has it")
            changed = difflib.unified_diff(
                old.splitlines(keepends=True), new.splitlines(keepends=True), *named
            )
            sys.stdout.writelines(changed)
        elif new != old:
            page.write_text(new, "utf-8", newline="\n")
        stale = stale or new != old
    if stale and asked.check:
        sys.stdout.write("Run `python docs/tables.py`, and commit what it changes.\n")
    return int(stale and asked.check)


if __name__ == "__main__":
    sys.exit(main())
