"""A memory, a checkpoint, the profile or the history, whole: for a model or a person to read.

All of it was recalled, so all of it stands within the fence that says so.
"""

from collections.abc import Iterator
from typing import Final

from memory_mcp.context.history import told_by_day
from memory_mcp.context.profile import profile_line
from memory_mcp.context.render import one_line, render_context
from memory_mcp.context.words import counted
from memory_mcp.domain.limits import HISTORY_PAGE_CHARS_MAX, IMPORTANCE_USUAL
from memory_mcp.domain.profile import Profile
from memory_mcp.domain.record import Record, iso
from memory_mcp.domain.whole import Happened, WholeCheckpoint

_CLOSED_CHARS_MAX: Final = 400
"""Of each record of a checkpoint: the whole is one read away, by its id."""


def memory_text(record: Record) -> str:
    """The memory: what is known about it, then its text as it was written."""
    return _fenced("\n".join([*_about(record), "", record.content]))


def checkpoint_text(whole: WholeCheckpoint) -> str:
    """The checkpoint: what it sealed, what going back to it would hide, what was closed with it."""
    known = whole.checkpoint
    phase = "" if known.phase is None else f", phase {known.phase}"
    status = "pending" if known.approval == "pending" else "valid"
    lines = [f"# Checkpoint {known.id}", f"{status}{phase}, sealed {iso(known.at)}"]
    lines += [f"branch {known.branch}", "", known.summary]
    if known.approval == "pending":
        lines += ["", f"Ask the user, then checkpoint(pending={known.id!r}, decision=…)."]
    if preview := whole.preview:
        lines += ["", f"A backtrack to it would hide {counted(preview.hides)}."]
        lines += [f"- {title}" for title in preview.titles]
        if preview.hides > len(preview.titles):
            lines.append(f"- and {preview.hides - len(preview.titles)} more")
    for heading, kind in (("Decisions", "decision"), ("Closeout", "closeout")):
        found = [record for record in whole.closed if record.kind == kind]
        if found:
            lines += ["", f"## {heading}", *(f"- {_short(r)} [{r.id}]" for r in found)]
    return _fenced("\n".join(lines))


def profile_text(profile: Profile) -> str:
    """Who the user is, field by field, with the memory that each rests on."""
    if not profile.entries:
        return (
            "Nothing is known of the user yet. What they say of themselves is kept by "
            "add_memory(kind='preference' or 'fact', scope='user')."
        )
    facts = [f"- {entry.fact.line} [{entry.memory_id}]" for entry in profile.entries]
    return _fenced("\n".join([profile_line(profile), "", *facts]))


def history_text(told: Happened) -> str:
    """What happened, newest first, under its days, as far as there is room for it."""
    if not told.records:
        return "Nothing has happened here yet that was told, sealed or captured."
    lines = ["# History, newest first"]
    room = HISTORY_PAGE_CHARS_MAX
    before = told.records[0].created_at
    for paragraph, record in told_by_day(told.records):
        room -= len(paragraph)
        if room < 0:
            break
        lines.append(paragraph)
        before = record.created_at
    if len(lines) - 1 < told.total:
        lines.append(
            f"(There is more before {before:%Y-%m-%d}: search_memories(until='{iso(before)}') "
            "with kind='checkpoint' or category='history'.)"
        )
    return _fenced("\n\n".join(lines))


def _about(record: Record) -> Iterator[str]:
    """A line for each thing that is known about a memory and is not usual."""
    if record.title:
        yield f"# {record.title}"
    yield f"id: {record.id}"
    yield f"kind: {record.kind}" + (" (durable: no backtrack hides it)" if record.durable else "")
    for name, value in (
        ("category", record.category),
        ("tags", ", ".join(record.tags)),
        ("key", record.key),
        ("phase", "" if record.phase is None else str(record.phase)),
        ("importance", "" if record.importance == IMPORTANCE_USUAL else str(record.importance)),
        ("pinned", "yes" if record.pinned else ""),
        ("expires", iso(record.expires_at) if record.expires_at else ""),
        ("replaces", ", ".join(record.supersedes)),
        ("made from", ", ".join(record.derived_from)),
    ):
        if value:
            yield f"{name}: {value}"
    yield f"written: {iso(record.created_at)}{_origin(record)}"


def _origin(record: Record) -> str:
    origin = record.origin
    parts = [
        f"on branch {record.branch}" if record.branch else "",
        f"by {origin.by}" + (f" through {origin.client}" if origin.client else ""),
        f"at commit {origin.commit[:12]}" if origin.commit else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _short(record: Record) -> str:
    text = one_line(record)
    if len(text) <= _CLOSED_CHARS_MAX:
        return text
    return f"{text[:_CLOSED_CHARS_MAX].rstrip()}… (whole: memory://memory/{record.id})"


def _fenced(text: str) -> str:
    return render_context([text], (), 0).text
