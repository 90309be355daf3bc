"""claude-mem: an export of observations and summaries; the prompts and sessions of these stay out.

The ids in it count the rows of one machine's database. So an observation is identified as
claude-mem itself does: by its session, its title and its moment.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
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
    as_texts,
    as_time,
    collect,
    find_text,
    parse_json,
    try_json,
)

_HEADINGS: Final = {
    "request": "Request",
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
"""The parts of a summary."""


def matches(material: SourceMaterial) -> bool:
    """Whether it is the object that the export writes."""
    names = as_fields(try_json(find_text(material), '"observations"')).keys()
    return "observations" in names and not names.isdisjoint(("sessions", "summaries", "prompts"))


def read(material: SourceMaterial) -> ParsedSource:
    """Every observation and summary; prompts and sessions are reported."""
    found = (each for document in material.documents for each in _read_document(document))
    parsed = collect("claude-mem", material, found)
    note = "Files that were only read, token counts and the like were not carried over."
    return replace(parsed, notes=(note,)) if parsed.memories else parsed


def _read_document(document: SourceFile) -> Iterator[ParsedItem]:
    export = as_fields(parse_json(document.text, document.name))
    for number, item in enumerate(as_items(export.get("observations")), 1):
        yield _read_observation(as_fields(item), f"observation {number}", document)
    for number, item in enumerate(as_items(export.get("summaries")), 1):
        yield _read_summary(as_fields(item), f"summary {number}", document)
    for number, item in enumerate(as_items(export.get("sessions")), 1):
        fields = as_fields(item)
        if any(as_text(fields.get(name)) for name in ("learned", "completed")):
            yield _read_summary(fields, f"session {number}", document)
        else:
            yield LeftOutItem(f"session {number}", "says when a session was, and nothing else")
    for number, _ in enumerate(as_items(export.get("prompts")), 1):
        yield LeftOutItem(f"prompt {number}", "is what was typed, and no memory of it")


def _read_observation(fields: Fields, where: str, document: SourceFile) -> ParsedItem:
    title = as_text(fields.get("title"))
    parts = [
        as_text(fields.get("subtitle")),
        as_text(fields.get("narrative")) or as_text(fields.get("text")),
        "\n".join(f"- {fact}" for fact in as_texts(fields.get("facts"))),
    ]
    texts = [part for part in parts if part]
    if not (texts or title):
        return LeftOutItem(where, "is an observation without a text")
    if changed := as_texts(fields.get("files_modified")):
        texts.append(f"Files: {', '.join(changed)}")
    category = as_text(fields.get("type"))
    return ForeignMemory(
        identity=_make_identity("observation", fields, title or texts[0]),
        item=f"{where}: {title}",
        content="\n\n".join([title, *texts] if title else texts),
        kind="decision" if category == "decision" else "fact",
        title=title,
        category=category,
        tags=tuple(as_texts(fields.get("concepts"))),
        at=_find_time(fields),
        guessed_at=document.modified,
    )


def _read_summary(fields: Fields, where: str, document: SourceFile) -> ParsedItem:
    parts = {head: text for name, head in _HEADINGS.items() if (text := as_text(fields.get(name)))}
    if not parts:
        return LeftOutItem(where, "is a summary without a text")
    content = "\n".join(f"{head}: {text}" for head, text in parts.items())
    return ForeignMemory(
        identity=_make_identity("summary", fields, content),
        item=f"{where}: {content[:60]}",
        content=content,
        kind="event",
        title=parts.get("Request", "")[:100],
        category="session-summary",
        at=_find_time(fields),
        guessed_at=document.modified,
    )


def _make_identity(kind: str, fields: Fields, name: str) -> str:
    session = as_text(fields.get("memory_session_id")) or as_text(fields.get("sdk_session_id"))
    return "\n".join([kind, session, name, as_text(fields.get("created_at_epoch"))])


def _find_time(fields: Fields) -> datetime | None:
    return as_time(fields.get("created_at_epoch")) or as_time(fields.get("created_at"))
