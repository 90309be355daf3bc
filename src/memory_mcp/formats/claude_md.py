"""CLAUDE.md, which people write: every point and paragraph is a memory, titled by its headings.

The files that it imports are named in a note and not followed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from posixpath import basename
from typing import Final

from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.formats.markdown import BARE, MarkdownBlock, parse_blocks, parse_front_matter
from memory_mcp.formats.values import ParsedItem, collect, is_markdown
from memory_mcp.patterns import compile_later

CLAUDE_FILES: Final = frozenset({"claude.md", "claude.local.md", "agents.md"})
"""The names of files of instructions, in small letters."""

_NOTES_MAX: Final = 50
"""How many notes of a folder are read to identify their program."""
_IMPORT: Final = compile_later(r"(?<![\w`@/])@((?:~?[\w.-]*/)*[\w.-]*\w[\w.-]*)")
_IMPORTS_ALONE: Final = compile_later(r"(?:see\s+|read\s+)?@\S+[.,]?", re.IGNORECASE)
_CODE: Final = compile_later(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_PREFERENCE: Final = compile_later(r"\b(?:prefer\w*|style|tone)\b", re.IGNORECASE)


def matches(material: SourceMaterial) -> bool:
    """Whether it is one file that has such a name."""
    return not material.folder and _is_claude_file(material.documents[0])


def find_notes(material: SourceMaterial) -> list[SourceFile]:
    """The first Markdown files that may be notes of some program: a CLAUDE.md is none."""
    if material.folder:
        notes = [d for d in material.documents if d.name.casefold().endswith(".md")]
        return notes[:_NOTES_MAX]
    document = material.documents[0]
    return [document] if is_markdown(document.name) and not _is_claude_file(document) else []


def _is_claude_file(document: SourceFile) -> bool:
    return basename(document.name).casefold() in CLAUDE_FILES


def read(material: SourceMaterial) -> ParsedSource:
    """Every point and paragraph of the files, with the names of what they import."""
    imports: dict[str, None] = {}
    lost: set[str] = set()
    parsed = collect("claude-md", material, _read_all(material, imports, lost), lost)
    if not imports:
        return parsed
    names = ", ".join(f"@{name}" for name in imports)
    note = f"Imported by it, and not followed: {names}. Import each by itself."
    return replace(parsed, notes=(note, *parsed.notes))


def _read_all(
    material: SourceMaterial, imports: dict[str, None], lost: set[str]
) -> Iterator[ParsedItem]:
    for document in material.documents:
        fields, body = parse_front_matter(document.text)
        lost.update(fields)
        imports.update(dict.fromkeys(_find_imports(body)))
        yield from read_pieces(document, body, "")


def _find_imports(body: str) -> Iterable[str]:
    """The files that are imported; in code an @ is something else."""
    names = (match.group(1) for match in _IMPORT.finditer(_CODE.sub("", body)))
    return (name for name in names if "." in name or "/" in name)


def read_pieces(document: SourceFile, body: str, title: str) -> Iterator[ParsedItem]:
    """A memory of each block of a text; `title` is for those without a heading."""
    blocks = list(parse_blocks(body))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        where = f"{document.name}, line {block.line}: {block.text[:60]}"
        if block.form == "heading":
            yield LeftOutItem(where, BARE)
        elif _IMPORTS_ALONE.fullmatch(block.text):
            yield LeftOutItem(where, "imports another file, which is not followed")
        elif after is not None and _announces(block, after):
            yield LeftOutItem(where, "only announces the list below it")
        else:
            path = " \u203a ".join(block.path) or title
            yield ForeignMemory(
                identity=f"piece\n{path}\n{block.text}",
                item=where,
                content=block.text,
                kind="preference" if _PREFERENCE.search(path) else "convention",
                title=path,
                guessed_at=document.modified,
            )


def _announces(block: MarkdownBlock, after: MarkdownBlock) -> bool:
    """Whether a block is only the line above a list, such as "Commands:"."""
    is_list = after.form == "item" and after.path == block.path
    is_line = "\n" not in block.text and block.form == "paragraph"
    return is_list and is_line and block.text.endswith(":")
