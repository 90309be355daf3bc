"""The reference memory server: a graph as JSON lines, entities with observations, and relations.

Each observation is a memory, which names its entity: that is what a query asks for ("where does
Ada work?"), and what can be corrected alone. A relation becomes a sentence. The server itself drops
lines that it cannot read; here each is reported. Its tool `read_graph` answers with the same graph
as one object, which is read too.
"""

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.formats.values import (
    Fields,
    ParsedItem,
    as_fields,
    as_items,
    as_text,
    collect,
    find_text,
    try_json,
)
from memory_mcp.patterns import compile_later

_GAPS: Final = compile_later(r"[\s_-]+")
_WITHIN: Final = r"[\w-]"
"""Beside such a character a name is a part of another one: `shop` in `shop-api`."""


def matches(material: SourceMaterial) -> bool:
    """Whether the first line that is not blank is an entity or a relation; or it is a graph."""
    text = find_text(material)
    if _find_graph(text):
        return True
    first = next((line for line in text.split("\n") if line.strip()), "")
    fields = as_fields(try_json(first, ""))
    return fields.get("type") in ("entity", "relation") and "content" not in fields


def read(material: SourceMaterial) -> ParsedSource:
    """Every observation and every relation, with the lines that hold neither."""
    found = (each for document in material.documents for each in _read_document(document))
    return collect("memory-server", material, found)


def _read_document(document: SourceFile) -> Iterator[ParsedItem]:
    if graph := _find_graph(document.text):
        for number, item in enumerate(as_items(graph.get("entities")), 1):
            yield from _read_entity(as_fields(item), f"entity {number}", document)
        for number, item in enumerate(as_items(graph.get("relations")), 1):
            yield _read_relation(as_fields(item), f"relation {number}", document)
        return
    for number, line in enumerate(document.text.split("\n"), 1):
        if line.strip():
            yield from _read_line(line, f"line {number}", document)


def _find_graph(text: str) -> Fields:
    """The whole text as one object with lists of both; nothing if it is none."""
    fields = as_fields(try_json(text, '"entities"'))
    is_graph = {"entities", "relations"} <= fields.keys() and "type" not in fields
    return fields if is_graph else {}


def _read_line(line: str, item: str, document: SourceFile) -> Iterator[ParsedItem]:
    value = try_json(line, "")
    fields = as_fields(value)
    if not isinstance(value, dict):
        yield LeftOutItem(item, "is no JSON object: a line that was cut short, or not its own")
    elif fields.get("type") == "entity":
        yield from _read_entity(fields, item, document)
    elif fields.get("type") == "relation":
        yield _read_relation(fields, item, document)
    else:
        yield LeftOutItem(
            item, f"is neither an entity nor a relation, but {fields.get('type')!r:.80}"
        )


def _read_entity(fields: Fields, item: str, document: SourceFile) -> Iterator[ParsedItem]:
    name = as_text(fields.get("name"))
    observations = as_items(fields.get("observations"))
    if not name:
        yield LeftOutItem(item, "is an entity without a name")
    elif not observations:
        yield LeftOutItem(f"{item}: {name}", "is an entity of which nothing was observed")
    else:
        for number, observation in enumerate(observations, 1):
            where = f"{item}: {name}, observation {number}"
            text = as_text(observation)
            if not text:
                yield LeftOutItem(where, "is an observation without a text")
                continue
            yield ForeignMemory(
                identity=f"observation\n{name}\n{text}",
                item=where,
                content=text if _names(text, name) else f"{name}: {text}",
                title=name,
                category=as_text(fields.get("entityType")),
                guessed_at=document.modified,
            )


def _read_relation(fields: Fields, item: str, document: SourceFile) -> ParsedItem:
    subject, verb, target = (as_text(fields.get(n)) for n in ("from", "relationType", "to"))
    if not (subject and verb and target):
        return LeftOutItem(item, "is a relation that lacks one of from, relationType and to")
    return ForeignMemory(
        identity=f"relation\n{subject}\n{verb}\n{target}",
        item=f"{item}: {subject} {verb} {target}",
        content=f"{subject} {verb.replace('_', ' ')} {target}.",  # names stay as they are written
        title=subject,
        category="relation",
        guessed_at=document.modified,
    )


def _names(text: str, name: str) -> bool:
    """Whether a text holds the name, however the gaps in it are written."""
    words = r"[\s_-]+".join(re.escape(part) for part in _GAPS.split(name) if part)
    found = re.search(rf"(?<!{_WITHIN}){words}(?!{_WITHIN})", text, re.IGNORECASE)
    return bool(words) and found is not None
