"""claude-mem: an export of observations and summaries; the prompts and sessions of these stay out.

The ids in it count the rows of one machine's database, so an observation is known by its session,
its title and its moment, as claude-mem itself knows it again.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from memory_mcp.domain.record import Kind
from memory_mcp.domain.transfer import ForeignMemory, LeftOut, Material, Parsed, SourceFile
from memory_mcp.formats.values import (
    Collector,
    Fields,
    as_texts,
    fields_of,
    is_markdown,
    json_of,
    parse_json,
    text_of,
    time_of,
)

_TOLD: Final = {
    "request": "Request",
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
"""The parts of a summary, as they are headed."""


def matches(material: Material) -> bool:
    """Whether it is the object that the export writes."""
    document = material.documents[0]
    if material.folder or is_markdown(document.name):
        return False
    fields = fields_of(json_of(document.text, '"observations"')) or {}
    return "observations" in fields and any(
        n in fields for n in ("sessions", "summaries", "prompts")
    )


def read(material: Material) -> Parsed:
    """Every observation and summary; prompts and sessions are named."""
    items = Collector(material)
    for document in material.documents:
        for found in _of(fields_of(parse_json(document.text, document.name)) or {}, document):
            items.add(found)
    note = "Files that were only read, token counts and the like were not carried over."
    return Parsed(
        "claude-mem",
        tuple(items.memories),
        tuple(items.left_out),
        (note,) if items.memories else (),
    )


def _of(export: Fields, document: SourceFile) -> Iterator[ForeignMemory | LeftOut]:
    for number, item in enumerate(_list(export, "observations"), 1):
        yield _observation(fields_of(item) or {}, f"observation {number}", document)
    for number, item in enumerate(_list(export, "summaries"), 1):
        yield _summary(fields_of(item) or {}, f"summary {number}", document)
    for number, item in enumerate(_list(export, "sessions"), 1):
        fields = fields_of(item) or {}
        if any(text_of(fields.get(name)) for name in ("learned", "completed")):
            yield _summary(fields, f"session {number}", document)
        else:
            yield LeftOut(f"session {number}", "says when a session was, and nothing else")
    for number, _ in enumerate(_list(export, "prompts"), 1):
        yield LeftOut(f"prompt {number}", "is what was typed, and no memory of it")


def _observation(fields: Fields, where: str, document: SourceFile) -> ForeignMemory | LeftOut:
    title = text_of(fields.get("title"))
    facts = as_texts(fields.get("facts"))
    changed = as_texts(fields.get("files_modified"))
    told = [
        text_of(fields.get("subtitle")),
        text_of(fields.get("narrative")) or text_of(fields.get("text")),
        "\n".join(f"- {fact}" for fact in facts),
    ]
    said = [part for part in told if part]
    if not (said or title):
        return LeftOut(where, "is an observation without a text")
    if changed:
        said.append(f"Files: {', '.join(changed)}")
    nature = text_of(fields.get("type"))
    kind: Kind = "decision" if nature == "decision" else "fact"
    return ForeignMemory(
        identity=_identity("observation", fields, title or said[0]),
        item=f"{where}: {title}",
        content="\n\n".join([title, *said] if title else said),
        kind=kind,
        title=title,
        category=nature,
        tags=tuple(as_texts(fields.get("concepts"))),
        at=_time(fields),
        around=document.modified,
    )


def _summary(fields: Fields, where: str, document: SourceFile) -> ForeignMemory | LeftOut:
    parts = {head: text for name, head in _TOLD.items() if (text := text_of(fields.get(name)))}
    if not parts:
        return LeftOut(where, "is a summary without a text")
    content = "\n".join(f"{head}: {text}" for head, text in parts.items())
    return ForeignMemory(
        identity=_identity("summary", fields, content),
        item=f"{where}: {content[:60]}",
        content=content,
        kind="event",
        title=parts.get("Request", "")[:100],
        category="session-summary",
        at=_time(fields),
        around=document.modified,
    )


def _identity(nature: str, fields: Fields, name: str) -> str:
    session = text_of(fields.get("memory_session_id")) or text_of(fields.get("sdk_session_id"))
    return "\n".join([nature, session, name, text_of(fields.get("created_at_epoch"))])


def _time(fields: Fields) -> Any:
    return time_of(fields.get("created_at_epoch")) or time_of(fields.get("created_at"))


def _list(export: Fields, name: str) -> Sequence[Any]:
    value = export.get(name)
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]  # JSON
