"""What is done to every text of a caller before anything of it is written or sent."""

from dataclasses import replace
from typing import Final, assert_never

from memory_mcp.domain.deduplication import Secrets
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import normalised
from memory_mcp.domain.outcomes import Redaction
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.fence import OPEN
from memory_mcp.text.recalled import drop_headings, find_recalled_ids, separate_recalled
from memory_mcp.text.secrets import Redacted, redact

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


def cleaned(workspace: Workspace, draft: Draft) -> tuple[Draft, tuple[Redaction, ...]]:
    """The draft as it may be stored, and what was taken out of it.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse; it names the field.
    """
    found: list[Redaction] = []

    def plain(field: str, text: str) -> str:
        said = clean(text, workspace.policy.secrets, field)
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


def cleaned_text(workspace: Workspace, text: str) -> tuple[str, tuple[str, ...]]:
    """A single text as it may be stored, and a sentence about what was taken out of it, if any.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse.
    """
    said = clean(text, workspace.policy.secrets)
    if not said.redactions:
        return said.text, ()
    return said.text, (f"Taken out before anything was written: {_listed(said.redactions)}.",)


async def kept_text(workspace: Workspace, field: str, text: str) -> tuple[str, tuple[str, ...]]:
    """What of a text may be stored, stripped, and sentences about what was left out of it.

    Nothing is left of what was only a secret, or only came out of our own recall.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse; it names the field.
    """
    said = clean(text, workspace.policy.secrets, field)
    notes: tuple[str, ...] = ()
    if said.redactions:
        where = f"Taken out of {field} before anything was written"
        notes = (f"{where}: {_listed(said.redactions)}.",)
    if Redacted(said.text).nothing_left:
        return "", (*notes, f"What was left of {field} says nothing and is not kept.")
    own = (await own_words(workspace, said.text)).strip()
    if own != said.text.strip():
        notes += (f"What memory itself had recalled was left out of {field}.",)
    return own, notes


async def own_words(workspace: Workspace, content: str) -> str:
    """The text without what came out of our own recall: stored again, it would feed on itself.

    It is known by our fence, or by the id of a memory that there is.
    """
    if OPEN in content:
        return separate_recalled(content).own.strip()
    for memory_id in find_recalled_ids(content):
        for pool in workspace.pools:
            if await pool.records.get(RecordId(memory_id)):
                return drop_headings(separate_recalled(content).own).strip()
    return content


def _listed(found: tuple[Redaction, ...]) -> str:
    named = [f"{redaction.rule} at {redaction.at}" for redaction in found[:_NAMED_MAX]]
    more = len(found) - len(named)
    return ", ".join([*named, f"{more} more"] if more else named)
