"""mem0: a list of memories, alone or as `results` or `memories` of an answer; and its graph."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.formats import claude_mem
from memory_mcp.formats.values import (
    Collector,
    Fields,
    as_items,
    as_texts,
    fields_of,
    is_markdown,
    json_of,
    note_lost_fields,
    parse_json,
    text_of,
    time_of,
)

_LISTS: Final = ("results", "memories")
_TEXTS: Final = ("memory", "text", "data")
_TAKEN: Final = {
    "id", "memory", "text", "data", "created_at", "updated_at", "hash", "categories",
    "expiration_date", "metadata", "score",
}  # fmt: skip
"""What is carried over, or only says how it was found."""


def matches(material: Material) -> bool:
    """Whether the value holds memories of the form that mem0 gives."""
    document = material.documents[0]
    if material.folder or is_markdown(document.name) or claude_mem.matches(material):
        return False
    value = json_of(document.text, '"memory"', '"data"')
    items = [fields for item in _items(value)[:20] if (fields := fields_of(item)) is not None]
    return any(
        isinstance(fields.get("memory"), str)
        or ("id" in fields and isinstance(fields.get("data"), str))
        for fields in items
    )


def read(material: Material) -> Parsed:
    """Every memory, and every relation of the graph."""
    seen: set[str] = set()
    named: dict[str, ForeignMemory] = {}
    items = Collector(material)
    lost: set[str] = set()
    for document in material.documents:
        value = parse_json(document.text, document.name)
        for found in chain(_memories(value, document, lost), _relations(value, document)):
            if isinstance(found, LeftOut):
                items.add(found)
            elif found.identity in seen:
                items.add(LeftOut(found.item, "stands there twice"))
            elif named.setdefault(name := _named(found), found) is not found and name:
                items.add(
                    LeftOut(found.item, "has the id of another memory in it, which says otherwise")
                )
            else:
                seen.add(found.identity)
                items.add(found)
    return Parsed("mem0", tuple(items.memories), tuple(items.left_out), note_lost_fields(lost))


def _items(value: object) -> list[Any]:
    fields = fields_of(value)
    if fields is None:
        return list(as_items(value))
    return [item for name in _LISTS for item in as_items(fields.get(name))]


def _memories(
    value: object, document: SourceFile, lost: set[str]
) -> Iterator[ForeignMemory | LeftOut]:
    for number, item in enumerate(_items(value), 1):
        fields = fields_of(item)
        where = f"memory {number}"
        text = next((t for name in _TEXTS if (t := text_of((fields or {}).get(name)))), "")
        if fields is None or not text:
            yield LeftOut(where, "has no text in `memory`")
            continue
        about = fields_of(fields.get("metadata")) or {}
        lost |= {name for name, said in fields.items() if name not in _TAKEN and said}
        lost |= {f"metadata.{name}" for name in about.keys() - {"category", "tags"}}
        yield _memory(fields, about, text, f"{where}: {text[:60]}", document)


def _memory(
    fields: Fields, about: Mapping[str, Any], text: str, where: str, document: SourceFile
) -> ForeignMemory:
    categories = as_texts(fields.get("categories"))
    category = text_of(about.get("category")) or next(iter(categories), "")
    tags = [*as_texts(about.get("tags")), *(name for name in categories if name != category)]
    name = text_of(fields.get("id"))
    return ForeignMemory(
        identity=f"memory\n{name}\n{text}",
        item=where,
        content=text,
        category=category,
        tags=tuple(tags),
        at=time_of(fields.get("created_at")) or time_of(fields.get("updated_at")),
        around=document.modified,
        expires_at=time_of(fields.get("expiration_date")),
    )


def _relations(value: object, document: SourceFile) -> Iterator[ForeignMemory | LeftOut]:
    fields = fields_of(value) or {}
    for number, item in enumerate(as_items(fields.get("relations")), 1):
        said = fields_of(item) or {}
        subject, verb = text_of(said.get("source")), text_of(said.get("relationship"))
        target = text_of(said.get("target")) or text_of(said.get("destination"))
        where = f"relation {number}"
        if not (subject and verb and target):
            yield LeftOut(where, "lacks one of source, relationship and target")
            continue
        words = f"{subject} {verb.replace('_', ' ')} {target}"  # names stay as they are written
        yield ForeignMemory(
            identity=f"relation\n{subject}\n{verb}\n{target}",
            item=f"{where}: {words}",
            content=f"{words}.",
            category="relation",
            around=document.modified,
        )


def _named(memory: ForeignMemory) -> str:
    """The id that mem0 gave a memory, if it gave one."""
    kind, name, *_ = memory.identity.split("\n", 2)
    return name if kind == "memory" else ""
