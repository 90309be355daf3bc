"""CLAUDE.md, which people write: every point and paragraph is a memory, titled by its headings.

What it imports is named in a note and not followed.
"""

import re
from collections.abc import Iterator
from posixpath import basename
from typing import Final

from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.formats.markdown import BARE, MarkdownBlock, parse_blocks, parse_front_matter
from memory_mcp.formats.values import Collector, is_markdown, note_lost_fields

CLAUDE_FILES: Final = frozenset({"claude.md", "claude.local.md", "agents.md"})
"""What the files of instructions are called, in small letters."""

_NOTES_MAX: Final = 50
"""Notes of a folder that are looked at to tell whose they are."""
_IMPORT: Final = re.compile(r"(?<![\w`@/])@((?:~?[\w.-]*/)*[\w.-]*\w[\w.-]*)")
_IMPORTS_ALONE: Final = re.compile(r"(?:see\s+|read\s+)?@\S+[.,]?", re.IGNORECASE)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_PREFERENCE: Final = re.compile(r"\b(?:prefer\w*|style|tone)\b", re.IGNORECASE)


def matches(material: Material) -> bool:
    """Whether it is one file that has such a name."""
    return not material.folder and _is_claude_file(material.documents[0])


def find_notes(material: Material) -> list[SourceFile]:
    """The first Markdown files that may be notes of some program: a CLAUDE.md is none."""
    if material.folder:
        notes = [d for d in material.documents if d.name.casefold().endswith(".md")]
        return notes[:_NOTES_MAX]
    document = material.documents[0]
    return [document] if is_markdown(document.name) and not _is_claude_file(document) else []


def _is_claude_file(document: SourceFile) -> bool:
    return basename(document.name).casefold() in CLAUDE_FILES


def read(material: Material) -> Parsed:
    """Every point and paragraph of the files, with what they import."""
    items = Collector(material)
    imports: dict[str, None] = {}
    lost: set[str] = set()
    for document in material.documents:
        fields, body = parse_front_matter(document.text)
        lost |= fields.keys()
        imports |= dict.fromkeys(_imports(body))
        for found in find_pieces(document, body, ""):
            items.add(found)
    notes = (*_not_followed(imports), *note_lost_fields(lost))
    return Parsed("claude-md", tuple(items.memories), tuple(items.left_out), notes)


def find_pieces(document: SourceFile, body: str, title: str) -> Iterator[ForeignMemory | LeftOut]:
    """A memory of each block of a text; `title` is for those without a heading."""
    pieces = list(parse_blocks(body))
    for place, block in enumerate(pieces):
        where = f"{document.name}, line {block.line}: {block.text[:60]}"
        after = pieces[place + 1] if place + 1 < len(pieces) else None
        if block.form == "heading":
            yield LeftOut(where, BARE)
        elif _IMPORTS_ALONE.fullmatch(block.text):
            yield LeftOut(where, "imports another file, which is not followed")
        elif _announces(block, after):
            yield LeftOut(where, "only announces the list below it")
        else:
            path = " \u203a ".join(block.path) or title
            yield ForeignMemory(
                identity=f"piece\n{path}\n{block.text}",
                item=where,
                content=block.text,
                kind="preference" if _PREFERENCE.search(path) else "convention",
                title=path,
                around=document.modified,
            )


def _announces(block: MarkdownBlock, after: MarkdownBlock | None) -> bool:
    listed = after is not None and after.form == "item" and after.path == block.path
    one_line = "\n" not in block.text and block.form == "paragraph"
    return listed and one_line and block.text.endswith(":")


def _imports(body: str) -> list[str]:
    """The files that are imported; in code an @ is something else."""
    found = (match.group(1) for match in _IMPORT.finditer(_CODE.sub("", body)))
    return [name for name in found if "." in name or "/" in name]


def _not_followed(imports: dict[str, None]) -> tuple[str, ...]:
    if not imports:
        return ()
    names = ", ".join(f"@{name}" for name in imports)
    return (f"Imported by it, and not followed: {names}. Import each by itself.",)
