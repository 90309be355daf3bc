"""Claude Code's auto memory: a folder of notes that it writes by itself.

Each note with front matter is one memory. MEMORY.md lists them; its other text is read as a
CLAUDE.md is.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any, Final

from memory_mcp.domain.record import Kind
from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.formats.claude_md import find_notes, read_pieces
from memory_mcp.formats.markdown import parse_front_matter
from memory_mcp.formats.values import ParsedItem, as_fields, as_text, as_time, collect
from memory_mcp.patterns import compile_later

_INDEX: Final = "MEMORY.md"
_LINK: Final = compile_later(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_KNOWN: Final = {"name", "description", "metadata", "type", "created"}
_KNOWN_METADATA: Final = {"type", "created"}
_KINDS: Final[dict[str, Kind]] = {
    "user": "preference",
    "feedback": "convention",
    "project": "fact",
    "reference": "fact",
}
"""Claude Code's types of notes: about the user, how to work, what goes on, where to look."""


def matches(material: SourceMaterial) -> bool:
    """Whether a folder has the index, or a note the `metadata`, that Claude Code writes."""
    names = {basename(document.name) for document in material.documents}
    if material.folder and _INDEX in names:
        return True
    return any("metadata" in parse_front_matter(note.text)[0] for note in find_notes(material))


def read(material: SourceMaterial) -> ParsedSource:
    """Every note of the folder, and what its index says by itself."""
    lost: set[str] = set()
    return collect("claude-code", material, _read_all(material, lost), lost)


def _read_all(material: SourceMaterial, lost: set[str]) -> Iterator[ParsedItem]:
    names = {document.name for document in material.documents}
    for document in material.documents:
        fields, body = parse_front_matter(document.text)
        metadata = as_fields(fields.get("metadata"))
        lost.update(fields.keys() - _KNOWN)
        lost.update({f"metadata.{name}" for name in metadata.keys() - _KNOWN_METADATA})
        if fields:
            yield _read_note(document, fields, body)
        else:
            yield from _read_plain(document, body, names)


def _read_note(document: SourceFile, fields: dict[str, Any], body: str) -> ParsedItem:
    metadata = as_fields(fields.get("metadata"))
    category = (as_text(metadata.get("type")) or as_text(fields.get("type"))).casefold()
    name = as_text(fields.get("name")) or splitext(basename(document.name))[0]
    summary, text = as_text(fields.get("description")), body.strip()
    if not (summary or text):
        return LeftOutItem(document.name, "is a note without a text")
    content = text if summary in text else "\n\n".join(part for part in (summary, text) if part)
    return ForeignMemory(
        identity=f"note\n{name}\n{content}",
        item=document.name,
        content=content,
        kind=_KINDS.get(category, "fact"),
        title=_make_title(name),
        category=category,
        at=as_time(metadata.get("created")) or as_time(fields.get("created")),
        guessed_at=document.modified,
        reach="user" if category == "user" else "project",
    )


def _read_plain(document: SourceFile, body: str, names: set[str]) -> Iterator[ParsedItem]:
    """The pieces of a file without front matter; a line that only leads to a note is none."""
    is_index = basename(document.name) == _INDEX
    title = "" if is_index else _make_title(splitext(basename(document.name))[0])
    for found in read_pieces(document, body, title):
        if isinstance(found, LeftOutItem):
            yield found
            continue
        link = _LINK.search(found.content) if is_index else None
        if link and normpath(join(dirname(document.name), link.group(1))) in names:
            yield LeftOutItem(found.item, f"leads to {link.group(1)}, which comes itself")
        else:
            yield replace(found, kind="preference" if found.kind == "preference" else "fact")


def _make_title(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip() or name
