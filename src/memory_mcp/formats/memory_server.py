"""The reference memory server: a graph as JSON lines, entities with observations, and relations.

One memory per observation, which names its entity: that is what a question asks for ("where does
Ada work?"), and what can be corrected alone. A relation becomes the sentence that it is. The
server itself drops lines that it cannot read without a word; here each is named. What its tool
`read_graph` answers is the same graph as one object.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.formats.values import Collector, Fields, as_items, fields_of, is_markdown, text_of

_TYPES: Final = ("entity", "relation")
_GAPS: Final = re.compile(r"[\s_-]+")
_WITHIN: Final = r"[\w-]"
"""Beside such a character a name is a part of another one: `shop` in `shop-api`."""


def matches(material: Material) -> bool:
    """Whether the first line that says anything is an entity or a relation; or it is a graph."""
    document = material.documents[0]
    if material.folder or is_markdown(document.name):
        return False
    text = document.text
    if _graph(text) is not None:
        return True
    first = next((line for line in text.split("\n") if line.strip()), "")
    fields = _fields(first)
    return fields is not None and fields.get("type") in _TYPES and "content" not in fields


def read(material: Material) -> Parsed:
    """Every observation and every relation, with the lines that hold neither."""
    items = Collector(material)
    for document in material.documents:
        for found in _of(document):
            items.add(found)
    return Parsed("memory-server", tuple(items.memories), tuple(items.left_out))


def _of(document: SourceFile) -> Iterator[ForeignMemory | LeftOut]:
    graph = _graph(document.text)
    if graph is not None:
        for number, item in enumerate(as_items(graph.get("entities")), 1):
            yield from _entity(fields_of(item) or {}, f"entity {number}", document)
        for number, item in enumerate(as_items(graph.get("relations")), 1):
            yield _relation(fields_of(item) or {}, f"relation {number}", document)
        return
    for number, line in enumerate(document.text.split("\n"), 1):
        if line.strip():
            yield from _of_line(line, f"line {number}", document)


def _graph(text: str) -> Fields | None:
    """The whole of it as one object with lists of both."""
    if '"entities"' not in text:
        return None
    fields = _fields(text)
    both = fields is not None and {"entities", "relations"} <= fields.keys()
    return fields if both and fields is not None and "type" not in fields else None


def _of_line(line: str, item: str, document: SourceFile) -> Iterator[ForeignMemory | LeftOut]:
    fields = _fields(line)
    if fields is None:
        yield LeftOut(item, "is no JSON object: a line that was cut short, or not its own")
    elif fields.get("type") == "entity":
        yield from _entity(fields, item, document)
    elif fields.get("type") == "relation":
        yield _relation(fields, item, document)
    else:
        yield LeftOut(item, f"is neither an entity nor a relation, but {fields.get('type')!r:.80}")


def _entity(fields: Fields, item: str, document: SourceFile) -> Iterator[ForeignMemory | LeftOut]:
    name = text_of(fields.get("name"))
    observations = as_items(fields.get("observations"))
    if not name:
        yield LeftOut(item, "is an entity without a name")
    elif not observations:
        yield LeftOut(f"{item}: {name}", "is an entity of which nothing was observed")
    else:
        for number, said in enumerate(observations, 1):
            where = f"{item}: {name}, observation {number}"
            text = text_of(said)
            if not text:
                yield LeftOut(where, "is an observation without a text")
                continue
            yield ForeignMemory(
                identity=f"observation\n{name}\n{text}",
                item=where,
                content=text if _names(text, name) else f"{name}: {text}",
                title=name,
                category=text_of(fields.get("entityType")),
                around=document.modified,
            )


def _relation(fields: Fields, item: str, document: SourceFile) -> ForeignMemory | LeftOut:
    subject, verb, target = (text_of(fields.get(n)) for n in ("from", "relationType", "to"))
    if not (subject and verb and target):
        return LeftOut(item, "is a relation that lacks one of from, relationType and to")
    return ForeignMemory(
        identity=f"relation\n{subject}\n{verb}\n{target}",
        item=f"{item}: {subject} {verb} {target}",
        content=f"{subject} {verb.replace('_', ' ')} {target}.",  # names stay as they are written
        title=subject,
        category="relation",
        around=document.modified,
    )


def _names(text: str, name: str) -> bool:
    """Whether a text says of whom it speaks, however the gaps in the name are written."""
    words = r"[\s_-]+".join(re.escape(part) for part in _GAPS.split(name) if part)
    found = re.search(rf"(?<!{_WITHIN}){words}(?!{_WITHIN})", text, re.IGNORECASE)
    return bool(words) and found is not None


def _fields(line: str) -> Fields | None:
    try:
        return fields_of(json.loads(line))
    except (ValueError, RecursionError):
        return None
