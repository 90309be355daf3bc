"""A record as a document, and back.

The text is the document's content, so that the cloud can search it. Everything else is in the
metadata twice: flat fields that filters can ask for (each of them always there, because whether a
filter matches a missing key is not documented), and the whole record but its text as JSON, so that
it comes back exactly as it was. A digest of the text tells whether the cloud kept it as it was.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from memory_mcp.domain.cloud import Document, Stored
from memory_mcp.domain.record import SCHEMA_VERSION, Record, iso

__all__ = ["document_of", "record_of"]

NOTHING: Final = "none"
"""Stands for no category and no segment in the flat fields."""

_LINK: Final = "Link: "
"""Goes before a text that is nothing but a URL, which the service would fetch and not store."""

_URL: Final = re.compile(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:\S+\s*")


def document_of(record: Record, *, extract: bool) -> Document:
    """The document of a record. Only memories have facts worth extracting."""
    fields = record.as_json()
    content: str = fields.pop("content")
    del fields["container_tags"]  # they follow from the rest
    return Document(
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
            "digest": _digest(content),
            "record": json.dumps(fields, ensure_ascii=False, separators=(",", ":")),
        },
        date=iso(record.created_at),
        extract=extract and record.recalled,
    )


def record_of(stored: Stored) -> Record | None:
    """The record of a document; None if it is not one of ours, was changed, or is newer than we."""
    if stored.content is None:
        return None
    content = _as_written(stored.content, stored.metadata)
    try:
        fields = json.loads(stored.metadata["record"])
        record = Record.model_validate({**fields, "content": content})
    except (KeyError, TypeError, ValueError, ValidationError, RecursionError):
        return None
    if content is None or record.id != stored.id or record.schema_version > SCHEMA_VERSION:
        return None
    return record


def _as_written(content: str, metadata: Mapping[str, Any]) -> str | None:
    """The text as it was before it was sent, if it is that."""
    for text in (content, content.removeprefix(_LINK)):
        if _digest(text) == metadata.get("digest"):
            return text
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
