"""What is done to every text of a caller before anything of it is written or sent."""

from dataclasses import replace
from typing import Final, assert_never

from memory_mcp.app.rooms import Rooms
from memory_mcp.domain.drafts import Draft
from memory_mcp.domain.merging import Secrets
from memory_mcp.domain.normalise import normalised
from memory_mcp.domain.outcomes import Redaction
from memory_mcp.errors import InvalidRequestError
from memory_mcp.ingestion.redact import Redacted, redact

__all__ = ["clean", "cleaned", "cleaned_text"]

_NAMED_MAX: Final = 12
"""Removals listed in a sentence: it is to be read."""


def clean(text: str, secrets: Secrets, field: str = "") -> Redacted:
    """The text in one spelling, and without its secrets if that is wanted.

    A marker may be longer than what it stands for, and a text may hold nothing that can be seen:
    whoever stores the answer checks its length and that it is not empty, after this.

    Raises:
        InvalidRequestError: it holds a secret and that is to be refused; it is not repeated. The
            `field` is named, where there are several.
    """
    text = normalised(text)
    match secrets:
        case "allow":
            return Redacted(text)
        case "redact":
            return redact(text)
        case "refuse":
            if found := redact(text).redactions:
                holder = f"The field {field!r}" if field else "The text"
                raise InvalidRequestError(
                    f"{holder} holds what looks like a secret: {_listed(found)}. "
                    "Nothing was stored. Send it again without the value, and say where the value "
                    "is kept instead."
                )
            return Redacted(text)
        case _:
            assert_never(secrets)


def cleaned(rooms: Rooms, draft: Draft) -> tuple[Draft, tuple[Redaction, ...]]:
    """The draft as it may be stored, and what was taken out of it.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse; it names the field.
    """
    found: list[Redaction] = []

    def plain(field: str, text: str) -> str:
        said = clean(text, rooms.policy.secrets, field)
        found.extend(replace(each, field=field) for each in said.redactions)
        return said.text

    draft = replace(
        draft,
        content=plain("content", draft.content),
        title=plain("title", draft.title),
        category=plain("category", draft.category),
        tags=tuple(plain("tags", tag) for tag in draft.tags),
    )
    return draft, tuple(found)


def cleaned_text(rooms: Rooms, text: str) -> tuple[str, tuple[str, ...]]:
    """A single text as it may be stored, and a sentence about what was taken out of it, if any.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse.
    """
    said = clean(text, rooms.policy.secrets)
    if not said.redactions:
        return said.text, ()
    return said.text, (f"Taken out before anything was written: {_listed(said.redactions)}.",)


def _listed(found: tuple[Redaction, ...]) -> str:
    named = [f"{redaction.rule} at {redaction.at}" for redaction in found[:_NAMED_MAX]]
    more = len(found) - len(named)
    return ", ".join([*named, f"{more} more"] if more else named)
