"""A record as a document of the cloud, and back; the namespace it is kept in. Pure.

The text is the document's content, so that the cloud can search it. Everything else is in the
metadata twice. Flat fields serve filters; each is always there, because the vendor does not say
whether a filter matches a missing key. The whole record but its text is there as JSON, so that it
comes back exactly. A digest of both tells whether the cloud changed anything.

There is one namespace per user and project; what a user keeps for every project is in the one named
`none`. Namespaces isolate strictly, where a filter has failed silently before, and a project is
purged by removing its namespace.
"""

import hashlib
import json
import re
from typing import Final

from memory_mcp.domain.cloud import RemoteDocument, StoredDocument
from memory_mcp.domain.json_input import load_json
from memory_mcp.domain.record import SCHEMA_VERSION, Record, format_time
from memory_mcp.patterns import compile_later

NOTHING: Final = "none"
"""Stands for no category and no segment in the flat fields."""

_LINK: Final = "Link: "
"""Put before a text that is only a URL, which the service would fetch instead of storing."""

_URL: Final = compile_later(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:\S+\s*")


def to_document(record: Record, *, extract: bool) -> RemoteDocument:
    """Make the document of a record. Only memories have facts worth extracting."""
    fields = record.as_json()
    content: str = fields.pop("content")
    del fields["container_tags"]  # they follow from the rest
    record_json = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
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
            "digest": _digest(content, record_json),
            "record": record_json,
        },
        date=format_time(record.created_at),
        extract=extract and record.recalled,
    )


def from_document(stored: StoredDocument) -> Record | None:
    """The record in a document; None if it is not ours, was changed, or has a newer schema."""
    record_json = stored.metadata.get("record")
    if stored.content is None or not isinstance(record_json, str):
        return None
    digest = stored.metadata.get("digest")
    contents = (stored.content, stored.content.removeprefix(_LINK))
    content = next((text for text in contents if _digest(text, record_json) == digest), None)
    if content is None:
        return None
    try:
        record = Record.model_validate({**load_json(record_json.encode()), "content": content})
    except (TypeError, ValueError, RecursionError):
        return None
    if record.id != stored.id or record.schema_version > SCHEMA_VERSION:
        return None
    return record


def _digest(content: str, record_json: str) -> str:
    whole = f"{len(content)}:{content}{record_json}"
    return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()


_PART_CHARS_MAX: Final = 44
"""Two of them with their prefixes stay below the service's 100 characters."""

_NO_PROJECT: Final = "none"

_MADE_UP: Final = compile_later(rf"|{_NO_PROJECT}|.*-[0-9a-f]{{10}}")
"""A name that looks like one that `_name_part` makes up: it is hashed too."""


def namespace_of(user: str, project: str | None) -> str:
    """Where the records of a user and project (None: the user's own) are kept."""
    return f"cc_u-{_name_part(user)}_p-{_NO_PROJECT if project is None else _name_part(project)}"


def _name_part(name: str) -> str:
    """The name if it fits as it is, else a readable rest and a hash that keeps names apart."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) <= _PART_CHARS_MAX and not _MADE_UP.fullmatch(plain):
        return plain
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{plain[: _PART_CHARS_MAX - 11].strip('-') or 'x'}-{digest}"
