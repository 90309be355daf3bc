"""The records of a consolidation: an entry of the history, what is true now, and what was learnt.

What is true now and what was learnt have a key that names the session, and the newest of a session
takes the place of the one before. What happened stays as it is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Final, Literal

from memory_mcp.domain import limits
from memory_mcp.domain.consolidation import ToConsolidate
from memory_mcp.domain.drafts import Writing
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.record import Record
from memory_mcp.errors import InvalidRequestError
from memory_mcp.ingestion.drafts import check_text

__all__ = [
    "HISTORY",
    "Role",
    "check_consolidation",
    "consolidation_records",
    "ending",
    "insights_text",
    "paragraph",
    "role_of",
]

HISTORY: Final = "history"
"""The category of what happened."""

Role = Literal["checkpoint", "insights", "final"]

_SESSION: Final = re.compile(r"\S(?:[^\S\r\n]?\S)*")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d: ")


def check_consolidation(given: ToConsolidate) -> None:
    """Refuse what cannot be stored.

    Raises:
        InvalidRequestError: with the field, its figure and the limit.
    """
    for name, text, chars in (
        ("history_entry", given.history_entry, limits.HISTORY_CHARS_MAX),
        ("memory_update", given.memory_update, limits.CONTENT_CHARS_MAX),
    ):
        check_text(name, text, chars, required=False)
    if len(given.insights) > limits.INSIGHTS_MAX:
        raise InvalidRequestError(
            f"{len(given.insights)} insights; the limit is {limits.INSIGHTS_MAX}. Keep what a "
            "later session needs; what holds for good is a lesson (add_memory)."
        )
    for text in given.insights:
        check_text("one of insights", text, limits.INSIGHT_CHARS_MAX)
    if given.session and not (
        len(given.session) <= limits.SESSION_CHARS_MAX and _SESSION.fullmatch(given.session)
    ):
        raise InvalidRequestError(
            f"session_id {given.session[: limits.SESSION_CHARS_MAX]!r} cannot be a name: use one "
            f"line of 1 to {limits.SESSION_CHARS_MAX} characters, or leave it out."
        )


def paragraph(text: str) -> str:
    """One paragraph, whatever lines it came in."""
    return " ".join(text.split())


def insights_text(insights: Sequence[str]) -> str:
    """The insights as one text, each on a line."""
    return "\n".join(f"- {paragraph(text)}" for text in dict.fromkeys(insights))


def role_of(record: Record) -> Role | None:
    """What of a consolidation a record is; None if it is none."""
    if record.kind != "summary" or not record.key.startswith("gardener:"):
        return None
    match record.key.rpartition(":")[2]:
        case "checkpoint" | "insights" | "final" as role:
            return role
        case _:
            return None


def ending(given: ToConsolidate, known: Sequence[Record]) -> ToConsolidate:
    """What ends a session without saying what is true now: what it said last is final."""
    if not given.final or given.memory_update:
        return given
    said = [record for record in known if role_of(record) in ("checkpoint", "final")]
    last = max(said, key=lambda record: record.id, default=None)
    return replace(given, memory_update=last.content) if last else given


def consolidation_records(
    given: ToConsolidate,
    known: Sequence[Record],
    *,
    day: date,
    dated: Callable[[str], bool],
    writing: Callable[[], Writing],
) -> list[Record]:
    """What is new of it, beside what is `known` of the same session and visible.

    An entry of the history gets the `day` if it has none of its own, as `dated` tells.
    """
    records: list[Record] = []
    if given.history_entry and not _told(given.history_entry, known):
        entry = given.history_entry
        entry = entry if dated(entry) else f"{day.isoformat()}: {entry}"
        records.append(_record("", entry, (), writing()))
    role: Role = "final" if given.final else "checkpoint"
    for part, roles, text in (
        (role, ("checkpoint", "final"), given.memory_update),
        ("insights", ("insights",), insights_text(given.insights)),
    ):
        before = [record for record in known if role_of(record) in roles]
        if not text or any(_same(r, text, part) for r in before):
            continue
        old = tuple(record.id for record in before)
        records.append(_record(f"{given.session or 'none'}:{part}", text, old, writing()))
    return records


def _told(entry: str, known: Sequence[Record]) -> bool:
    """Whether the history has this entry; the date that it was given does not matter."""
    wanted = digest(entry)
    entries = (record for record in known if record.category == HISTORY)
    return any(
        wanted in (record.statement, digest(_DATE.sub("", record.content, count=1)))
        for record in entries
    )


def _same(known: Record, text: str, part: str) -> bool:
    return known.content == text and role_of(known) == part


def _record(
    series: str, content: str, supersedes: tuple[RecordId, ...], writing: Writing
) -> Record:
    """An entry of the history; with a `series` (session and role), what it says now."""
    return Record(
        id=writing.id,
        kind="summary" if series else "event",
        layer="archival" if series else "recall",
        key=f"gardener:{writing.scope.project or 'none'}:{series}" if series else "",
        content=content,
        category="consolidation" if series else HISTORY,
        segment=writing.segment,
        branch=writing.branch,
        lineage=writing.lineage,
        supersedes=supersedes,
        scope=writing.scope,
        origin=writing.origin,
        created_at=writing.at,
    )
