"""basic-memory: Markdown notes with front matter, observations and relations.

An observation is a point with a category in brackets, or with a #tag. A relation is a point with a
word (several in quotes) and one [[note]]. The other text of a note is read by its sections.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import basename, splitext
from typing import Final

from memory_mcp.domain.record import Kind
from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.formats.claude_md import find_notes
from memory_mcp.formats.markdown import BARE, MarkdownBlock, parse_blocks, parse_front_matter
from memory_mcp.formats.values import ParsedItem, as_text, as_texts, as_time, collect
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

_CATEGORY: Final = compile_later(r"\[(?P<category>[^\[\]()]+)\]\s+(?P<text>.+)", re.DOTALL)
_CLOCK: Final = compile_later(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+[\d:.,]+)?")
_TAG: Final = compile_later(r"(?<!\S)#([^\s#,;.)]+)")
_TAGS_LAST: Final = compile_later(r"(?:\s+#[^\s#]+)+$")
_RELATION: Final = compile_later(
    r"(?P<quote>[\"']?)(?P<verb>[^\"'\[\]]+?)(?P=quote)\s*\[\[(?P<target>[^\[\]]+)\]\]"
    r"\s*(?P<context>\([^()]*\))?\s*"
)
_TASK: Final = compile_later(r"\[.\]\s")
_KINDS: Final[dict[str, Kind]] = {
    "fact": "fact", "preference": "preference", "convention": "convention", "pattern": "pattern",
    "decision": "decision", "lesson": "lesson", "event": "event",
}  # fmt: skip
_STAMPS: Final = ("created", "created_at", "date", "modified")
_KNOWN: Final = {"title", "permalink", "type", "tags", *_STAMPS}


@frozen
class _Note:
    """What all memories of a note have in common."""

    name: str
    title: str
    category: str
    tags: tuple[str, ...]


def matches(material: SourceMaterial) -> bool:
    """Whether a note has such front matter, or an observation or relation in it."""
    return any(_is_note(note.text) for note in find_notes(material))


def _is_note(text: str) -> bool:
    fields, body = parse_front_matter(text)
    if "permalink" in fields:
        return True
    points = [block.text for block in parse_blocks(body) if block.form == "item"]
    return bool(fields) and any(
        _is_observation(text) or _RELATION.fullmatch(text) for text in points
    )


def read(material: SourceMaterial) -> ParsedSource:
    """Every observation, relation and section of every note."""
    lost: set[str] = set()
    found = (each for document in material.documents for each in _read_document(document, lost))
    return collect("basic-memory", material, found, lost)


def _read_document(document: SourceFile, lost: set[str]) -> Iterator[ParsedItem]:
    fields, body = parse_front_matter(document.text)
    lost.update(fields.keys() - _KNOWN)
    title = as_text(fields.get("title")) or splitext(basename(document.name))[0]
    note = _Note(
        name=as_text(fields.get("permalink")) or title,
        title=title,
        category=as_text(fields.get("type")) or "note",
        tags=tuple(as_texts(fields.get("tags"))),
    )
    at = next((at for name in _STAMPS if (at := as_time(fields.get(name)))), None)
    blocks = list(parse_blocks(body))
    if not blocks:
        yield LeftOutItem(document.name, "is a note without a text")
    for found in _read_blocks(note, document.name, blocks):
        if isinstance(found, LeftOutItem):
            yield found
        else:
            yield replace(found, at=at, guessed_at=document.modified)


def _read_blocks(note: _Note, file: str, blocks: list[MarkdownBlock]) -> Iterator[ParsedItem]:
    sections: dict[tuple[str, ...], list[str]] = {}
    for block in blocks:
        where = f"{file}, line {block.line}: {block.text[:60]}"
        is_item = block.form == "item"
        if block.form == "heading":
            yield LeftOutItem(where, BARE)
        elif is_item and (relation := _RELATION.fullmatch(block.text)) and _has_verb(relation):
            yield _make_relation(note, relation, where)
        elif is_item and _is_observation(block.text):
            yield _make_observation(note, block.text, where)
        else:
            mark = "- " if is_item else ""
            sections.setdefault(block.path, []).append(mark + block.text)
    for path, texts in sections.items():
        headings = [name for name in path if name != note.title]
        text = ("\n" if all(t.startswith("- ") for t in texts) else "\n\n").join(texts)
        yield ForeignMemory(
            identity=f"section\n{note.name}\n{text}",
            item=f"{file}: {' > '.join(headings) or note.title}",
            content=text,
            title=" \u203a ".join([note.title, *headings]),
            category=note.category,
            tags=note.tags,
        )


def _make_observation(note: _Note, point: str, where: str) -> ForeignMemory:
    found = _CATEGORY.fullmatch(point)
    category = found["category"].strip() if found else ""
    text = found["text"].strip() if found else point
    tags = (*(match.group(1) for match in _TAG.finditer(text)), *note.tags)
    return ForeignMemory(
        identity=f"observation\n{note.name}\n{category}\n{text}",
        item=where,
        content=_TAGS_LAST.sub("", text) or text,
        kind=_KINDS.get(category.casefold(), "fact"),
        title=note.title,
        category=category,
        tags=tuple(dict.fromkeys(tags)),
    )


def _make_relation(note: _Note, found: re.Match[str], where: str) -> ForeignMemory:
    verb, target = found["verb"].strip(), found["target"].strip()
    words = f"{note.title} {verb.replace('_', ' ')} {target}"
    return ForeignMemory(
        identity=f"relation\n{note.name}\n{verb}\n{target}",
        item=where,
        content=f"{words} {found['context']}." if found["context"] else f"{words}.",
        title=note.title,
        category="relation",
        tags=note.tags,
    )


def _has_verb(found: re.Match[str]) -> bool:
    """Whether the words before the note are one, or several in quotes, and no sentence."""
    return bool(found["quote"]) or not re.search(r"\s", found["verb"].strip())


def _is_observation(text: str) -> bool:
    if _TASK.match(text):
        return False
    found = _CATEGORY.fullmatch(text)
    if found is None:
        return _TAG.search(text) is not None
    return _CLOCK.fullmatch(found["category"].strip()) is None
