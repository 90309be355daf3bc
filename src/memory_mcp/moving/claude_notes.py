"""Claude Code: CLAUDE.md, which people write, and the folder of notes that it writes by itself.

Of CLAUDE.md every point and paragraph is a memory, called by its headings; what it only imports is
named and not followed. Of the folder each note with front matter is one memory, as it was meant;
MEMORY.md is the list of these, and what it says beyond that is taken as CLAUDE.md is.
"""

import re
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath, splitext
from typing import Any, Final

from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.moving import Document, Foreign, LeftOut, Material, Parsed
from memory_mcp.domain.record import Kind
from memory_mcp.moving.blocks import BARE, Block, blocks
from memory_mcp.moving.front_matter import front_matter
from memory_mcp.moving.values import Collector, fields_of, not_carried, text_of, time_of

INDEX: Final = "MEMORY.md"
CLAUDE_FILES: Final = frozenset({"claude.md", "claude.local.md", "agents.md"})
"""What the files of instructions are called, in small letters."""

_IMPORT: Final = re.compile(r"(?<![\w`@/])@((?:~?[\w.-]*/)*[\w.-]*\w[\w.-]*)")
_IMPORTS_ALONE: Final = re.compile(r"(?:see\s+|read\s+)?@\S+[.,]?", re.IGNORECASE)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_PREFERENCE: Final = re.compile(r"\b(?:prefer\w*|style|tone)\b", re.IGNORECASE)
_TAKEN: Final = {"name", "description", "metadata", "type", "created"}
_ABOUT: Final = {"type", "created"}
_TYPES: Final[dict[str, Kind]] = {
    "user": "preference",
    "feedback": "convention",
    "project": "fact",
    "reference": "fact",
}
"""What Claude Code calls its notes: about the user, how to work, what goes on, where to look."""


def read_claude_md(material: Material) -> Parsed:
    """Every point and paragraph of the files, with what they import."""
    items = Collector(material)
    imports: dict[str, None] = {}
    lost: set[str] = set()
    for document in material.documents:
        fields, body = front_matter(document.text)
        lost |= fields.keys()
        imports |= dict.fromkeys(_imports(body))
        for found in _pieces(document, body, ""):
            items.add(found)
    notes = (*_not_followed(imports), *not_carried(lost))
    return Parsed("claude-md", tuple(items.memories), tuple(items.left_out), notes)


def read_auto_memory(material: Material) -> Parsed:
    """Every note of the folder, and what its index says by itself."""
    items = Collector(material)
    names = {document.name for document in material.documents}
    lost: set[str] = set()
    for document in material.documents:
        fields, body = front_matter(document.text)
        lost |= fields.keys() - _TAKEN
        lost |= {f"metadata.{n}" for n in (fields_of(fields.get("metadata")) or {}).keys() - _ABOUT}
        if fields:
            founds: Iterator[Foreign | LeftOut] = iter((_note(document, fields, body),))
        else:
            founds = _loose(document, body, names)
        for found in founds:
            items.add(found)
    return Parsed("claude-code", tuple(items.memories), tuple(items.left_out), not_carried(lost))


def _note(document: Document, fields: dict[str, Any], body: str) -> Foreign | LeftOut:
    about = fields_of(fields.get("metadata")) or {}
    nature = (text_of(about.get("type")) or text_of(fields.get("type"))).casefold()
    name = text_of(fields.get("name")) or splitext(basename(document.name))[0]
    summary, text = text_of(fields.get("description")), body.strip()
    if not (summary or text):
        return LeftOut(document.name, "is a note without a text")
    whole = text if summary in text else "\n\n".join(part for part in (summary, text) if part)
    reach: Reach = "user" if nature == "user" else "project"
    return Foreign(
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


def _loose(document: Document, body: str, names: set[str]) -> Iterator[Foreign | LeftOut]:
    """The pieces of a file without front matter; a line that only leads to a note is none."""
    index = basename(document.name) == INDEX
    title = "" if index else _words(splitext(basename(document.name))[0])
    for found in _pieces(document, body, title):
        link = _LINK.search(found.content) if isinstance(found, Foreign) and index else None
        if link and _beside(document.name, link.group(1)) in names:
            yield LeftOut(found.item, f"leads to {link.group(1)}, which comes itself")
        elif isinstance(found, Foreign):
            kind: Kind = "preference" if found.kind == "preference" else "fact"
            yield Foreign(
                identity=found.identity,
                item=found.item,
                content=found.content,
                kind=kind,
                title=found.title,
                around=found.around,
            )
        else:
            yield found


def _beside(name: str, link: str) -> str:
    return normpath(join(dirname(name), link))


def _pieces(document: Document, body: str, title: str) -> Iterator[Foreign | LeftOut]:
    pieces = list(blocks(body))
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
            yield Foreign(
                identity=f"piece\n{path}\n{block.text}",
                item=where,
                content=block.text,
                kind="preference" if _PREFERENCE.search(path) else "convention",
                title=path,
                around=document.modified,
            )


def _announces(block: Block, after: Block | None) -> bool:
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


def _words(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip() or name
