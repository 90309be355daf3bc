"""Claude Code's auto memory: a folder of notes that it writes by itself.

Each note with front matter is one memory. MEMORY.md lists them; its other text is read as a
CLAUDE.md is.
"""

import re
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any, Final

from memory_mcp.domain.record import Kind, Reach
from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.formats.claude_md import find_notes, find_pieces
from memory_mcp.formats.markdown import parse_front_matter
from memory_mcp.formats.values import Collector, fields_of, note_lost_fields, text_of, time_of

_INDEX: Final = "MEMORY.md"
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_TAKEN: Final = {"name", "description", "metadata", "type", "created"}
_ABOUT: Final = {"type", "created"}
_TYPES: Final[dict[str, Kind]] = {
    "user": "preference",
    "feedback": "convention",
    "project": "fact",
    "reference": "fact",
}
"""What Claude Code calls its notes: about the user, how to work, what goes on, where to look."""


def matches(material: Material) -> bool:
    """Whether a folder has the index, or a note the `metadata`, that Claude Code writes."""
    names = {basename(document.name) for document in material.documents}
    if material.folder and _INDEX in names:
        return True
    return any("metadata" in parse_front_matter(note.text)[0] for note in find_notes(material))


def read(material: Material) -> Parsed:
    """Every note of the folder, and what its index says by itself."""
    items = Collector(material)
    names = {document.name for document in material.documents}
    lost: set[str] = set()
    for document in material.documents:
        fields, body = parse_front_matter(document.text)
        lost |= fields.keys() - _TAKEN
        lost |= {f"metadata.{n}" for n in (fields_of(fields.get("metadata")) or {}).keys() - _ABOUT}
        if fields:
            founds: Iterator[ForeignMemory | LeftOut] = iter((_note(document, fields, body),))
        else:
            founds = _read_loose(document, body, names)
        for found in founds:
            items.add(found)
    return Parsed(
        "claude-code", tuple(items.memories), tuple(items.left_out), note_lost_fields(lost)
    )


def _note(document: SourceFile, fields: dict[str, Any], body: str) -> ForeignMemory | LeftOut:
    about = fields_of(fields.get("metadata")) or {}
    nature = (text_of(about.get("type")) or text_of(fields.get("type"))).casefold()
    name = text_of(fields.get("name")) or splitext(basename(document.name))[0]
    summary, text = text_of(fields.get("description")), body.strip()
    if not (summary or text):
        return LeftOut(document.name, "is a note without a text")
    whole = text if summary in text else "\n\n".join(part for part in (summary, text) if part)
    reach: Reach = "user" if nature == "user" else "project"
    return ForeignMemory(
        identity=f"note\n{name}\n{whole}",
        item=document.name,
        content=whole,
        kind=_TYPES.get(nature, "fact"),
        title=_words(name),
        category=nature,
        at=time_of(about.get("created")) or time_of(fields.get("created")),
        around=document.modified,
        reach=reach,
    )


def _read_loose(
    document: SourceFile, body: str, names: set[str]
) -> Iterator[ForeignMemory | LeftOut]:
    """The pieces of a file without front matter; a line that only leads to a note is none."""
    index = basename(document.name) == _INDEX
    title = "" if index else _words(splitext(basename(document.name))[0])
    for found in find_pieces(document, body, title):
        link = _LINK.search(found.content) if isinstance(found, ForeignMemory) and index else None
        if link and _resolve(document.name, link.group(1)) in names:
            yield LeftOut(found.item, f"leads to {link.group(1)}, which comes itself")
        elif isinstance(found, ForeignMemory):
            kind: Kind = "preference" if found.kind == "preference" else "fact"
            yield ForeignMemory(
                identity=found.identity,
                item=found.item,
                content=found.content,
                kind=kind,
                title=found.title,
                around=found.around,
            )
        else:
            yield found


def _resolve(name: str, link: str) -> str:
    return normpath(join(dirname(name), link))


def _words(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip() or name
