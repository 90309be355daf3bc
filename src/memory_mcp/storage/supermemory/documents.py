"""A record as a document of the cloud, and back; the namespace it is kept in. Pure.

The text is the document's content, so that the cloud can search it. Everything else is in the
metadata twice: flat fields that filters can ask for (each of them always there, because whether a
filter matches a missing key is not documented), and the whole record but its text as JSON, so that
it comes back exactly as it was. A digest of both tells whether the cloud kept them as they were.

There is one namespace per user and project; what a user keeps for every project is in the one named
`none`. Isolation by namespace is strict, where a filter has failed silently before, and a project
is purged by removing its namespace.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from memory_mcp.domain.cloud import RemoteDocument, Stored
from memory_mcp.domain.json_input import load_json
from memory_mcp.domain.record import SCHEMA_VERSION, Record, format_time

NOTHING: Final = "none"
"""Stands for no category and no segment in the flat fields."""

_LINK: Final = "Link: "
"""Goes before a text that is nothing but a URL, which the service would fetch and not store."""

_URL: Final = re.compile(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:\S+\s*")


def document_of(record: Record, *, extract: bool) -> RemoteDocument:
    """The document of a record. Only memories have facts worth extracting."""
    fields = record.as_json()
    content: str = fields.pop("content")
    del fields["container_tags"]  # they follow from the rest
    rest = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return RemoteDocument(
        id=record.id,
        content=f"{_LINK}{content}" if _URL.fullmatch(content) else content,
        metadata={
            "memory_id": record.id,
            "kind": record.kind,
            "recalled": record.recalled,
            "category": record.category.casefold() or NOTHING,
            "tags": [tag.casefold() for tag in record.tags],
            "phase": -1 if record.phase is None else record.phase,
            "segment": record.segment or NOTHING,
            "digest": _digest(content, rest),
            "record": rest,
        },
        date=format_time(record.created_at),
        extract=extract and record.recalled,
    )


def record_of(stored: Stored) -> Record | None:
    """The record of a document; None if it is not one of ours, was changed, or is newer than we."""
    rest = stored.metadata.get("record")
    if stored.content is None or not isinstance(rest, str):
        return None
    content = _as_written(stored.content, rest, stored.metadata)
    if content is None:
        return None
    try:
        fields = {**load_json(rest.encode()), "content": content}
        record = Record.model_validate(fields)
    except (TypeError, ValueError, RecursionError):
        return None
    if record.id != stored.id or record.schema_version > SCHEMA_VERSION:
        return None
    return record


def _as_written(content: str, rest: str, metadata: Mapping[str, Any]) -> str | None:
    """The text as it was before it was sent, if it is that."""
    for text in (content, content.removeprefix(_LINK)):
        if _digest(text, rest) == metadata.get("digest"):
            return text
    return None


def _digest(content: str, rest: str) -> str:
    whole = f"{len(content)}:{content}{rest}"
    return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()


_PART_CHARS_MAX: Final = 44
"""Two of them with their prefixes stay below the service's 100 characters."""

_NO_PROJECT: Final = "none"

_MADE: Final = re.compile(rf"|{_NO_PROJECT}|.*-[0-9a-f]{{10}}")
"""What stands for no project, for a name without letters, or for one that was hashed."""


def namespace_of(user: str, project: str | None) -> str:
    """Where the records of a user and project (None: the user's own) are kept."""
    return f"cc_u-{_part(user)}_p-{_NO_PROJECT if project is None else _part(project)}"


def _part(name: str) -> str:
    """The name if it can stand as it is; else a readable rest and a hash, so names stay apart.

    A name that looks like what is made of others is hashed too.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) <= _PART_CHARS_MAX and not _MADE.fullmatch(plain):
        return plain
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{plain[: _PART_CHARS_MAX - 11].strip('-') or 'x'}-{digest}"
