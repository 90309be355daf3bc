"""Takes secrets and recalled text out of what a caller sends, before it is written or sent on.

A redaction raises `InvalidRequestError` for a secret when MEMORY_SECRETS is refuse.
"""

from dataclasses import replace
from typing import Final, assert_never

from memory_mcp.domain import limits
from memory_mcp.domain.deduplication import SecretPolicy
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.outcomes import MemoryDeclined, Redaction
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.fence import OPEN
from memory_mcp.text.drafts import check_text
from memory_mcp.text.recalled import drop_headings, find_recalled_ids, separate_recalled
from memory_mcp.text.secrets import RedactedText, redact

_NAMED_MAX: Final = 12
"""Redactions that a sentence lists; it counts the others."""


def redact_text(text: str, secrets: SecretPolicy, field: str = "") -> RedactedText:
    """The text, normalised and without its secrets.

    A marker may be longer than the secret, and the text may become empty: whoever stores it checks
    its length afterwards.

    Raises:
        InvalidRequestError: it holds a secret and `secrets` is "refuse"; names the `field`.
    """
    text = normalise(text)
    match secrets:
        case "allow":
            return RedactedText(text)
        case "redact":
            return redact(text)
        case "refuse":
            if found := redact(text).redactions:
                holder = f"The field {field!r}" if field else "The text"
                raise InvalidRequestError(
                    f"{holder} holds what looks like a secret: {_list_redactions(found)}. "
                    "Nothing was stored. Send it again without the value, and say where the value "
                    "is kept instead."
                )
            return RedactedText(text)
        case _:
            assert_never(secrets)


def redact_draft(workspace: Workspace, draft: Draft) -> tuple[Draft, tuple[Redaction, ...]]:
    """The draft without its secrets, and what was taken out of which field."""
    _refuse_document("content", draft.content, limits.CONTENT_CHARS_MAX)
    _refuse_document("title", draft.title, limits.TITLE_CHARS_MAX)
    found: list[Redaction] = []

    def redact_field(field: str, text: str) -> str:
        redacted = redact_text(text, workspace.policy.secrets, field)
        found.extend(replace(each, field=field) for each in redacted.redactions)
        return redacted.text

    draft = replace(
        draft,
        content=redact_field("content", draft.content),
        title=redact_field("title", draft.title),
        category=redact_field("category", draft.category),
        tags=tuple(redact_field("tags", tag) for tag in draft.tags),
    )
    return draft, tuple(found)


async def prepare_draft(
    workspace: Workspace, draft: Draft
) -> tuple[Draft, tuple[Redaction, ...]] | MemoryDeclined:
    """The draft without secrets and recalled text; declined if nothing else is in it."""
    draft, redactions = redact_draft(workspace, draft)
    if RedactedText(draft.content).holds_only_markers:
        return MemoryDeclined("is nothing but a secret, which is not kept.")
    own = await drop_recalled_text(workspace, draft.content)
    if not own and draft.content.strip():
        return MemoryDeclined("came out of this memory's own recall.")
    return replace(draft, content=own), redactions


def redact_with_note(workspace: Workspace, text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its secrets, and a note that lists what was taken out."""
    _refuse_document("the text", text)
    redacted = redact_text(text, workspace.policy.secrets)
    if not redacted.redactions:
        return redacted.text, ()
    listed = _list_redactions(redacted.redactions)
    return redacted.text, (f"Taken out before anything was written: {listed}.",)


async def prepare_field(workspace: Workspace, field: str, text: str) -> tuple[str, tuple[str, ...]]:
    """The text without secrets and recalled text, stripped, and notes about what was taken out."""
    _refuse_document(field, text)
    redacted = redact_text(text, workspace.policy.secrets, field)
    notes: tuple[str, ...] = ()
    if redacted.redactions:
        listed = _list_redactions(redacted.redactions)
        notes = (f"Taken out of {field} before anything was written: {listed}.",)
    if RedactedText(redacted.text).holds_only_markers:
        return "", (*notes, f"What was left of {field} says nothing and is not kept.")
    own = (await drop_recalled_text(workspace, redacted.text)).strip()
    if own != redacted.text.strip():
        notes += (f"What memory itself had recalled was left out of {field}.",)
    return own, notes


async def drop_recalled_text(workspace: Workspace, content: str) -> str:
    """The text without what this memory recalled: it must not be stored a second time.

    Recalled text is known by its fence, or by the id of an existing memory.
    """
    if OPEN in content:
        return separate_recalled(content).own.strip()
    for memory_id in find_recalled_ids(content):
        for bank in workspace.banks:
            if await bank.records.get(RecordId(memory_id)):
                return drop_headings(separate_recalled(content).own).strip()
    return content


def _refuse_document(field: str, text: str, chars_max: int = limits.ITEM_CHARS_MAX) -> None:
    """Refuse at once what stays too long whatever is taken out: cleaning takes 4 s a megabyte."""
    if len(text) > limits.ITEM_CHARS_MAX:
        check_text(field, text, chars_max)


def _list_redactions(found: tuple[Redaction, ...]) -> str:
    named = [f"{redaction.rule} at {redaction.at}" for redaction in found[:_NAMED_MAX]]
    more = len(found) - len(named)
    return ", ".join([*named, f"{more} more"] if more else named)
