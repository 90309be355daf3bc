"""mem0: a list of memories, alone or as `results` or `memories` of an answer; and its graph."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.formats import claude_mem
from memory_mcp.formats.values import (
    Fields,
    ParsedItem,
    as_fields,
    as_items,
    as_text,
    as_texts,
    as_time,
    collect,
    find_text,
    parse_json,
    try_json,
)

_LISTS: Final = ("results", "memories")
_TEXTS: Final = ("memory", "text", "data")
_KNOWN: Final = {
    "id", "memory", "text", "data", "created_at", "updated_at", "hash", "categories",
    "expiration_date", "metadata", "score",
}  # fmt: skip
"""Fields that are carried over, or only say how the memory was found."""


def matches(material: SourceMaterial) -> bool:
    """Whether the value holds memories of the form that mem0 gives."""
    value = try_json(find_text(material), '"memory"', '"data"')
    items = map(as_fields, _list_items(value)[:20])
    return not claude_mem.matches(material) and any(
        isinstance(fields.get("memory"), str)
        or ("id" in fields and isinstance(fields.get("data"), str))
        for fields in items
    )


def read(material: SourceMaterial) -> ParsedSource:
    """Every memory, and every relation of the graph."""
    lost: set[str] = set()
    return collect("mem0", material, _read_all(material, lost), lost)


def _read_all(material: SourceMaterial, lost: set[str]) -> Iterator[ParsedItem]:
    seen: set[str] = set()
    by_id: dict[str, str] = {}
    for document in material.documents:
        value = parse_json(document.text, document.name)
        memories = _read_memories(value, document, lost)
        for mem0_id, found in chain(memories, _read_relations(value, document)):
            if isinstance(found, LeftOutItem):
                yield found
            elif found.identity in seen:
                yield LeftOutItem(found.item, "stands there twice")
            elif mem0_id and by_id.setdefault(mem0_id, found.identity) != found.identity:
                yield LeftOutItem(
                    found.item, "has the id of another memory in it, which says otherwise"
                )
            else:
                seen.add(found.identity)
                yield found


def _list_items(value: object) -> list[Any]:
    fields = as_fields(value)
    return [*as_items(value), *(item for name in _LISTS for item in as_items(fields.get(name)))]


def _read_memories(
    value: object, document: SourceFile, lost: set[str]
) -> Iterator[tuple[str, ParsedItem]]:
    """Each memory with the id that mem0 gave it, if it gave one."""
    for number, item in enumerate(_list_items(value), 1):
        fields = as_fields(item)
        where = f"memory {number}"
        text = next((text for name in _TEXTS if (text := as_text(fields.get(name)))), "")
        if not text:
            yield "", LeftOutItem(where, "has no text in `memory`")
            continue
        metadata = as_fields(fields.get("metadata"))
        lost.update({name for name, given in fields.items() if name not in _KNOWN and given})
        lost.update({f"metadata.{name}" for name in metadata.keys() - {"category", "tags"}})
        memory = _make_memory(fields, metadata, text, f"{where}: {text[:60]}", document)
        yield as_text(fields.get("id")), memory


def _make_memory(
    fields: Fields, metadata: Fields, text: str, where: str, document: SourceFile
) -> ForeignMemory:
    categories = as_texts(fields.get("categories"))
    category = as_text(metadata.get("category")) or next(iter(categories), "")
    tags = [*as_texts(metadata.get("tags")), *(name for name in categories if name != category)]
    return ForeignMemory(
        identity=f"memory\n{as_text(fields.get('id'))}\n{text}",
        item=where,
        content=text,
        category=category,
        tags=tuple(tags),
        at=as_time(fields.get("created_at")) or as_time(fields.get("updated_at")),
        guessed_at=document.modified,
        expires_at=as_time(fields.get("expiration_date")),
    )


def _read_relations(value: object, document: SourceFile) -> Iterator[tuple[str, ParsedItem]]:
    for number, item in enumerate(as_items(as_fields(value).get("relations")), 1):
        fields = as_fields(item)
        subject, verb = (
            as_text(fields.get("source")),
            as_text(fields.get("relationship")),
        )
        target = as_text(fields.get("target")) or as_text(fields.get("destination"))
        where = f"relation {number}"
        if not (subject and verb and target):
            yield "", LeftOutItem(where, "lacks one of source, relationship and target")
            continue
        words = f"{subject} {verb.replace('_', ' ')} {target}"  # names stay as they are written
        relation = ForeignMemory(
            identity=f"relation\n{subject}\n{verb}\n{target}",
            item=f"{where}: {words}",
            content=f"{words}.",
            category="relation",
            guessed_at=document.modified,
        )
        yield "", relation
