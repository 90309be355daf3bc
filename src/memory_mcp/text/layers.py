"""Records of a node's layers: built from what is written, and read back as values.

    core       a fact under `core:KEY`; a tombstone under the same key deletes it
    recall     an event; its summary is the first paragraph, its other fields are labels (`meta`)
    archival   a fact with tags and labels

What takes events out of sight is an exclusion. It lies on the node's own line, so the records of
its ancestors stay as they are, and every other node goes on to see them.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.fields import find_meta_fault
from memory_mcp.domain.ids import MAIN, RecordId
from memory_mcp.domain.json_input import JsonValue
from memory_mcp.domain.layers import (
    ArchivalRecord,
    ArchivalUpdate,
    ArchivalWrite,
    CoreChange,
    CoreEntry,
    CoreSet,
    Meta,
    RecallAppend,
    RecallEvent,
)
from memory_mcp.domain.normalise import find_hidden_character, is_blank
from memory_mcp.domain.record import (
    CORE_PREFIX,
    Kind,
    Record,
    RecordContext,
    assume_utc,
    format_time,
    truncate_to_milliseconds,
)
from memory_mcp.domain.spans import parse_span
from memory_mcp.errors import InvalidRequestError
from memory_mcp.text.drafts import build_on_timeline, check_tags, check_text, correct_record

EVENT_KINDS: Final[frozenset[Kind]] = frozenset({"event", "episode", "summary"})
"""Kinds of records that are events of a node; all are of the layer recall."""

_LABELS: Final = ("phase", "kind", "run_id", "node_id", "task_hint")
"""Fields of an event that are texts and stand in its labels."""

_OWN_LABELS: Final = frozenset({*_LABELS, "ts", "refs", "meta"})
"""Labels that the fields of an event itself take; those of a program of these names lie within
`meta`."""


def check_core_key(key: str) -> str:
    """The key of a core entry in Unicode's form NFC, if it can be one. Case counts.

    Raises:
        InvalidRequestError: with what is wrong with it.
    """
    key = unicodedata.normalize("NFC", key)
    check_text("a key of the core", key, limits.CORE_KEY_CHARS_MAX)
    hidden = find_hidden_character(key) or next(
        ((at, char) for at, char in enumerate(key) if char in "\n\t"), None
    )
    if hidden is not None:
        raise InvalidRequestError(
            f"key {key!r} holds U+{ord(hidden[1]):04X}, which nobody can see. Leave it out."
        )
    if is_blank(key):
        raise InvalidRequestError(f"key {key!r} shows nothing. Give it a character that is seen.")
    if key.endswith("*"):
        raise InvalidRequestError(f"key {key!r} ends in *, which stands for any ending elsewhere.")
    return key


def check_meta(meta: Meta) -> None:
    """Refuse labels that no record can have.

    Raises:
        InvalidRequestError: with the figure and the limit.
    """
    if fault := find_meta_fault(meta):
        raise InvalidRequestError(
            f"meta {fault}. Keep labels and references in it, and the text itself in the memory."
        )


def merge_unknown(fields: Meta, meta: Meta) -> Meta:
    """The labels of an event with its unknown fields, which are labels too.

    Raises:
        InvalidRequestError: a name has two values, of which one would be lost.
    """
    for name in fields.keys() & meta.keys():
        if fields[name] != meta[name]:
            raise InvalidRequestError(
                f"{name!r} is given twice: as a field it is {fields[name]!r:.80}, in meta "
                f"{meta[name]!r:.80}. Rename one. Nothing was written."
            )
    return {**fields, **meta}


def build_core(write: CoreSet, place: RecordContext, replaces: Sequence[RecordId]) -> Record:
    """The record that gives a key its value, in the place of what the node sees of that key."""
    expires = None
    if write.ttl is not None:
        expires = truncate_to_milliseconds(parse_span("ttl", write.ttl, place.at, 1))
        if expires <= place.at:
            raise InvalidRequestError(
                f"ttl is {str(write.ttl)!r}, which ends at once or is past. Give a duration "
                "(30m, 2d) or a later time."
            )
    check_text("value", write.value, limits.CONTENT_CHARS_MAX)
    return build_on_timeline(
        place,
        "fact",
        write.value,
        layer="core",
        key=f"{CORE_PREFIX}{write.key}",
        title=write.key,
        importance=write.importance,
        expires_at=expires,
        supersedes=tuple(replaces),
    )


def build_core_tombstone(key: str, place: RecordContext, deletes: Sequence[RecordId]) -> Record:
    """The record that takes a key out of the core of this node."""
    return build_on_timeline(
        place,
        "tombstone",
        "Deleted from the core.",
        layer="core",
        key=f"{CORE_PREFIX}{key}",
        supersedes=tuple(deletes),
    )


def build_event(write: RecallAppend, place: RecordContext) -> Record:
    """The record of an event."""
    summary = " ".join(write.summary.split())
    text = write.text.strip()
    if not summary:
        summary, _, text = text.partition("\n\n")
    check_text("summary", summary, limits.EVENT_SUMMARY_CHARS_MAX)
    content = f"{summary}\n\n{text}" if text else summary
    check_text("text with its summary", content, limits.CONTENT_CHARS_MAX)
    meta = make_event_meta(write)
    check_meta(meta)
    tags = check_tags(write.tags, limits.EVENT_TAGS_MAX)
    return build_on_timeline(
        place,
        "event",
        content,
        layer="recall",
        tags=check_tags((*tags, *make_label_tags(str(write.phase), write.kind))),
        phase=_parse_phase(write.phase),
        meta=meta,
    )


def make_event_meta(write: RecallAppend) -> dict[str, JsonValue]:
    """The labels of an event: its fields that a record has no place for, and unknown ones."""
    given = {name: str(getattr(write, name)) for name in _LABELS}
    every: dict[str, JsonValue] = {**(write.model_extra or {}), **write.meta}
    meta = {name: value for name, value in every.items() if name not in _OWN_LABELS}
    if len(meta) < len(every):  # names that the fields of the event itself have
        meta["meta"] = {name: value for name, value in every.items() if name in _OWN_LABELS}
    meta |= {name: text for name, text in given.items() if text}
    if write.refs:
        meta["refs"] = list(write.refs)
    if write.ts is not None:
        meta["ts"] = format_time(assume_utc(write.ts) or write.ts)
    return meta


def make_label_tags(phase: str, kind: str) -> tuple[str, ...]:
    """The tags by which events, and their doubles in the archive, are found."""
    tags = (f"phase:{phase}" if phase else "", f"kind:{kind}" if kind else "")
    return tuple(tag[: limits.TAG_CHARS_MAX] for tag in tags if tag)


def build_archival(write: ArchivalWrite, place: RecordContext) -> Record:
    """The record of a text of the archive."""
    check_meta(write.meta)
    check_text("text", write.text, limits.CONTENT_CHARS_MAX)
    return build_on_timeline(
        place, "fact", write.text, tags=check_tags(write.tags), meta=write.meta
    )


def update_archival(old: Record, write: ArchivalUpdate, place: RecordContext) -> Record:
    """The record that replaces one of the archive; what is left out stays as it was."""
    tags = old.tags if write.tags is None else check_tags(write.tags)
    meta = old.meta if write.meta is None else write.meta
    check_meta(meta)
    text = old.content if write.text is None else write.text
    check_text("text", text, limits.CONTENT_CHARS_MAX)
    return correct_record(old, text, old.title, place).model_copy(
        update={"tags": tags, "meta": dict(meta)}
    )


def build_summary(text: str, sources: Sequence[RecordId], place: RecordContext) -> Record:
    """The event that sums up others, and falls with them."""
    check_text("summary", text, limits.CONTENT_CHARS_MAX)
    return build_on_timeline(place, "summary", text, layer="recall", derived_from=tuple(sources))


def read_core(record: Record) -> CoreEntry:
    """The entry of a record of the core; that of a preference is durable."""
    return CoreEntry(
        key=record.key.removeprefix(CORE_PREFIX),
        value=record.content,
        id=record.id,
        node=record.branch or MAIN,
        at=record.created_at,
        importance=record.importance,
        expires_at=record.expires_at,
        durable=record.durable,
    )


def read_core_change(record: Record) -> CoreChange:
    """What a record did to a key of the core."""
    return CoreChange(
        key=record.key.removeprefix(CORE_PREFIX),
        value=None if record.kind == "tombstone" else record.content,
        id=record.id,
        node=record.branch or MAIN,
        at=record.created_at,
    )


def read_event(record: Record, *, evicted: bool = False) -> RecallEvent:
    """The event of a record."""
    meta = dict(record.meta)
    labels = {name: str(meta.pop(name, "")) for name in _LABELS}
    ts, refs, within = meta.pop("ts", None), meta.pop("refs", None), meta.pop("meta", None)
    node_id = labels.pop("node_id")
    if isinstance(within, dict):
        meta |= within
    if node_id and node_id != record.branch:
        meta["node_id"] = node_id
    summary, _, text = record.content.partition("\n\n")
    derived = make_label_tags(labels["phase"], labels["kind"])
    return RecallEvent(
        id=record.id,
        node=record.branch or MAIN,
        ts=_parse_time(ts) or record.created_at,
        summary=summary,
        text=text,
        refs=tuple(str(each) for each in refs) if isinstance(refs, list) else (),
        tags=tuple(tag for tag in record.tags if tag not in derived),
        meta=meta,
        sums_up=len(record.derived_from) if record.kind == "summary" else 0,
        evicted=evicted,
        **labels,
    )


def read_archival(record: Record, score: float | None = None) -> ArchivalRecord:
    """The text of the archive in a record."""
    return ArchivalRecord(
        id=record.id,
        node=record.branch or MAIN,
        at=record.created_at,
        text=record.content,
        tags=record.tags,
        meta=record.meta,
        score=score,
    )


def select_current(entries: Iterable[CoreEntry]) -> tuple[CoreEntry, ...]:
    """One entry for each key, the newest: two processes may have set the same key at once."""
    newest = {entry.key: entry for entry in sorted(entries, key=lambda entry: entry.id)}
    return tuple(newest[key] for key in sorted(newest))


def _parse_phase(phase: str | int) -> int | None:
    """The number of a phase, if it is one; the name of another stands in the labels alone."""
    text = str(phase).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else None  # noqa: PLR2004  # PHASE_MAX


def _parse_time(ts: JsonValue) -> datetime | None:
    try:
        return assume_utc(datetime.fromisoformat(ts)) if isinstance(ts, str) else None
    except ValueError:
        return None
