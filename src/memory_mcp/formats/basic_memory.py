"""basic-memory: Markdown notes with front matter, observations and relations.

An observation is a point with a category in brackets, or with a #tag; a relation is a point with a
word (several in quotes) and one [[note]]. Whatever else a note says is taken by its sections.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from posixpath import basename, splitext
from typing import Final

from memory_mcp.domain.record import Kind
from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.formats.claude_md import find_notes
from memory_mcp.formats.markdown import BARE, MarkdownBlock, parse_blocks, parse_front_matter
from memory_mcp.formats.values import Collector, as_texts, note_lost_fields, text_of, time_of

_CATEGORY: Final = re.compile(r"\[(?P<category>[^\[\]()]+)\]\s+(?P<text>.+)", re.DOTALL)
_CLOCK: Final = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+[\d:.,]+)?")
_TAG: Final = re.compile(r"(?<!\S)#([^\s#,;.)]+)")
_TAGS_LAST: Final = re.compile(r"(?:\s+#[^\s#]+)+$")
_RELATION: Final = re.compile(
    r"(?P<quote>[\"']?)(?P<verb>[^\"'\[\]]+?)(?P=quote)\s*\[\[(?P<target>[^\[\]]+)\]\]"
    r"\s*(?P<context>\([^()]*\))?\s*"
)
_TASK: Final = re.compile(r"\[.\]\s")
_KINDS: Final[tuple[Kind, ...]] = (
    "fact", "preference", "convention", "pattern", "decision", "lesson", "event",
)  # fmt: skip
_STAMPS: Final = ("created", "created_at", "date", "modified")
_TAKEN: Final = {"title", "permalink", "type", "tags", *_STAMPS}


@dataclass(frozen=True)
class _Note:
    """What all memories of a note have in common."""

    name: str
    title: str
    nature: str
    tags: tuple[str, ...]
    document: SourceFile


def matches(material: Material) -> bool:
    """Whether a note has the front matter of one, or an observation or relation in it."""
    return any(_is_note(note.text) for note in find_notes(material))


def _is_note(text: str) -> bool:
    fields, body = parse_front_matter(text)
    if "permalink" in fields:
        return True
    pieces = [block.text for block in parse_blocks(body) if block.form == "item"]
    return bool(fields) and any(_observed(text) or _RELATION.fullmatch(text) for text in pieces)


def read(material: Material) -> Parsed:
    """Every observation, relation and section of every note."""
    items = Collector(material)
    lost: set[str] = set()
    for document in material.documents:
        lost |= parse_front_matter(document.text)[0].keys() - _TAKEN
        for found in _of(document):
            items.add(found)
    return Parsed(
        "basic-memory", tuple(items.memories), tuple(items.left_out), note_lost_fields(lost)
    )


def _of(document: SourceFile) -> Iterator[ForeignMemory | LeftOut]:
    fields, body = parse_front_matter(document.text)
    title = text_of(fields.get("title")) or splitext(basename(document.name))[0]
    note = _Note(
        name=text_of(fields.get("permalink")) or title,
        title=title,
        nature=text_of(fields.get("type")) or "note",
        tags=tuple(as_texts(fields.get("tags"))),
        document=document,
    )
    at = next((at for name in _STAMPS if (at := time_of(fields.get(name)))), None)
    said = list(_memories(note, list(parse_blocks(body))))
    for found in said:
        if isinstance(found, LeftOut):
            yield found
        else:
            yield replace(found, at=at, around=document.modified)
    if not said:
        yield LeftOut(document.name, "is a note without a text")


def _memories(note: _Note, pieces: list[MarkdownBlock]) -> Iterator[ForeignMemory | LeftOut]:
    prose: dict[tuple[str, ...], list[str]] = {}
    for block in pieces:
        where = f"{note.document.name}, line {block.line}: {block.text[:60]}"
        is_item = block.form == "item"
        if block.form == "heading":
            yield LeftOut(where, BARE)
        elif is_item and (relation := _RELATION.fullmatch(block.text)) and _is_verb(relation):
            yield _relation(note, relation, where)
        elif is_item and _observed(block.text):
            yield _observation(note, block.text, where)
        else:
            mark = "- " if is_item else ""
            prose.setdefault(block.path, []).append(mark + block.text)
    for path, texts in prose.items():
        heads = [name for name in path if name != note.title]
        text = ("\n" if all(t.startswith("- ") for t in texts) else "\n\n").join(texts)
        yield ForeignMemory(
            identity=f"section\n{note.name}\n{text}",
            item=f"{note.document.name}: {' > '.join(heads) or note.title}",
            content=text,
            title=" \u203a ".join([note.title, *heads]),
            category=note.nature,
            tags=note.tags,
        )


def _observation(note: _Note, said: str, where: str) -> ForeignMemory:
    found = _CATEGORY.fullmatch(said)
    category = found["category"].strip() if found else ""
    text = found["text"].strip() if found else said
    kinds: dict[str, Kind] = {kind: kind for kind in _KINDS}
    tags = (*(match.group(1) for match in _TAG.finditer(text)), *note.tags)
    return ForeignMemory(
        identity=f"observation\n{note.name}\n{category}\n{text}",
        item=where,
        content=_TAGS_LAST.sub("", text) or text,
        kind=kinds.get(category.casefold(), "fact"),
        title=note.title,
        category=category,
        tags=tuple(dict.fromkeys(tags)),
    )


def _relation(note: _Note, found: re.Match[str], where: str) -> ForeignMemory:
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


def _is_verb(found: re.Match[str]) -> bool:
    """A word, or several in quotes: others are a sentence that names a note."""
    return bool(found["quote"]) or not re.search(r"\s", found["verb"].strip())


def _observed(text: str) -> bool:
    if _TASK.match(text):
        return False
    found = _CATEGORY.fullmatch(text)
    if found is None:
        return _TAG.search(text) is not None
    return _CLOCK.fullmatch(found["category"].strip()) is None
