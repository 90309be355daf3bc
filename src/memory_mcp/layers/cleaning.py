"""Takes secrets and recalled text out of what is written to layers, before a byte is stored."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from memory_mcp.domain.json_input import JsonValue
from memory_mcp.domain.layers import (
    ArchivalUpdate,
    ArchivalWrite,
    Consolidate,
    CoreDelete,
    CoreSet,
    Meta,
    RecallAppend,
    RecallEvict,
    Write,
)
from memory_mcp.engine.redaction import prepare_field, redact_text
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import mutable
from memory_mcp.text.layers import check_core_key, check_meta, merge_unknown


async def clean_writes(
    workspace: Workspace, writes: Sequence[Write]
) -> tuple[list[Write], tuple[str, ...]]:
    """The writes as they may be stored, and notes on what was taken out.

    Raises:
        InvalidRequestError: nothing of a text is left, a key cannot be one, or there is a secret
            and it is to be refused.
    """
    cleaner = _Cleaner(workspace)
    cleaned = [await _clean_write(cleaner, write) for write in writes]
    return cleaned, tuple(dict.fromkeys(cleaner.notes))


@mutable
class _Cleaner:
    """Cleans single values, and collects the notes on what was taken out."""

    workspace: Workspace
    notes: list[str] = field(default_factory=list[str])

    async def clean_text(self, name: str, text: str) -> str:
        kept, said = await prepare_field(self.workspace, name, text)
        self.notes.extend(said)
        if text.strip() and not kept:
            raise InvalidRequestError(f"Nothing of {name} is left to store. {' '.join(said)}")
        return kept

    def clean_label(self, text: str) -> str:
        redacted = redact_text(text, self.workspace.policy.secrets, "a label")
        if redacted.redactions:
            self.notes.append("Secrets were taken out of labels before anything was written.")
        return redacted.text

    def clean_labels(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.clean_label, texts))

    def clean_meta(self, meta: Meta) -> dict[str, JsonValue]:
        check_meta(meta)  # before it is walked through: it may be nested without end
        return self._clean_object(meta)

    def _clean_object(self, meta: Meta) -> dict[str, JsonValue]:
        return {self.clean_label(name): self._clean_json(value) for name, value in meta.items()}

    def _clean_json(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.clean_label(value)
            case list():
                return [self._clean_json(each) for each in value]
            case dict():
                return self._clean_object(value)
            case _:
                return value


async def _clean_write(cleaner: _Cleaner, write: Write) -> Write:
    changes: dict[str, object] = {}
    match write:
        case CoreSet(key=key, value=value):
            changes["key"] = _check_key(cleaner.workspace, key)
            changes["value"] = await cleaner.clean_text("value", value)
        case CoreDelete(key=key):
            changes["key"] = check_core_key(key)
        case RecallAppend():
            return await _clean_event(cleaner, write)
        case ArchivalWrite() | ArchivalUpdate():
            if write.text is not None:
                changes["text"] = await cleaner.clean_text("text", write.text)
            if write.tags is not None:
                changes["tags"] = cleaner.clean_labels(write.tags)
            if write.meta is not None:
                changes["meta"] = cleaner.clean_meta(write.meta)
        case Consolidate(summary=summary):
            changes["summary"] = await cleaner.clean_text("summary", summary)
        case RecallEvict():
            pass
    return write.model_copy(update=changes)


async def _clean_event(cleaner: _Cleaner, write: RecallAppend) -> RecallAppend:
    """The event with its unknown fields among its labels."""
    fields: dict[str, object] = {name: getattr(write, name) for name in RecallAppend.model_fields}
    labels = {n: cleaner.clean_label(str(fields[n])) for n in _EVENT_LABELS}
    texts = {n: await cleaner.clean_text(n, str(fields[n])) for n in ("summary", "text")}
    lists = {"refs": cleaner.clean_labels(write.refs), "tags": cleaner.clean_labels(write.tags)}
    meta = cleaner.clean_meta(merge_unknown(write.model_extra or {}, write.meta))
    return RecallAppend.model_validate({**fields, **labels, **texts, **lists, "meta": meta})


_EVENT_LABELS: Final = ("kind", "phase", "run_id", "task_hint")


def _check_key(workspace: Workspace, key: str) -> str:
    key = check_core_key(key)
    if workspace.policy.secrets != "allow" and redact_text(key, "redact").redactions:
        raise InvalidRequestError(
            "A key of the core holds what looks like a secret. Use a name for it instead."
        )
    return key
