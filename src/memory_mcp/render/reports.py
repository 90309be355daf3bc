"""Render the head, a memory, a checkpoint, the profile and the history as text to read.

The head is prose for `memory_head` and the command line. It shows no summary of a checkpoint that a
backtrack left: that was learnt on the abandoned line. It shows its name, which restores it.
Everything else is recalled text, and stands within the fence that says so.
"""

from collections.abc import Iterator
from typing import Final

from memory_mcp.domain.cloud import Tally
from memory_mcp.domain.limits import HISTORY_PAGE_CHARS_MAX, IMPORTANCE_USUAL
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.outcomes import (
    CheckpointState,
    Happened,
    HeadReport,
    LineState,
    Skipped,
    WholeCheckpoint,
)
from memory_mcp.domain.profile import Profile
from memory_mcp.domain.record import Record, iso
from memory_mcp.fence import disarmed
from memory_mcp.render.block import Block, one_line, render_context
from memory_mcp.render.pages import paragraphs_by_day
from memory_mcp.render.profile import profile_line
from memory_mcp.render.receipts import list_titles, pluralise

_SUMMARY_CHARS_MAX: Final = 200


Readable = Block | HeadReport | Profile | Happened | Record | WholeCheckpoint | Skipped


def outcome_text(outcome: Readable) -> str:
    """The outcome of a use case that only reads, as text."""
    match outcome:
        case Block(text=text) | Skipped(text):
            return text
        case HeadReport():
            return head_text(outcome)
        case Profile():
            return profile_text(outcome)
        case Happened():
            return history_text(outcome)
        case Record():
            return memory_text(outcome)
        case WholeCheckpoint():
            return checkpoint_text(outcome)


def head_text(report: HeadReport) -> str:
    """The report, a few lines long, the most important first.

    Names and summaries are data: none of them begins a line, or closes a fence around all this.
    """
    return disarmed("\n".join(" ".join(line.split()) for line in _head_lines(report)))


def _head_lines(report: HeadReport) -> Iterator[str]:
    newest = report.checkpoints[-1].checkpoint.id if report.checkpoints else "none yet"
    said = "phase {} is sealed" if report.phase_sealed else "working on phase {}"
    phase = "" if report.phase is None else f", {said.format(report.phase)}"
    yield f"Project {report.project}, branch {report.branch}{phase}. Last checkpoint: {newest}."
    beside = f"{pluralise(report.durable)} outside of it (durable)"
    yield f"{pluralise(report.memories)} on this line, {beside}."
    for warning in report.warnings:
        yield f"WARNING: {warning}"
    if report.mirrored:
        yield _sync_line(report.mirrored)
    if len(report.branches) > 1:
        yield f"Branches: {', '.join(report.branches)}."
    if report.checkpoints:
        yield "Checkpoints (newest first):"
        yield from (_checkpoint_line(state) for state in reversed(report.checkpoints))
    if report.earlier_checkpoints:
        yield f"- and {report.earlier_checkpoints} earlier ones"
    if report.pending:
        yield "Pending approval (ask the user, then checkpoint(pending=…, decision=…)):"
        yield from (f"- {c.id}: {_shorten(c.summary)}" for c in report.pending)
    if report.invalidated:
        names = ", ".join(c.id for c in report.invalidated)
        yield f"Invalidated by a backtrack: {names}. backtrack(to=…) with such a name restores it."
    if report.lines:
        yield "Left lines that can be restored with backtrack(to=…):"
        yield from (_left_line(state) for state in report.lines)


def _sync_line(tally: Tally) -> str:
    state = f"sync pending ({tally.pending})" if tally.pending else "nothing is pending"
    dead = f", {tally.dead} refused (memory-mcp sync --status)" if tally.dead else ""
    why = f" {tally.standing.reason}" if tally.standing.reason else ""
    return f"Supermemory: {state}{dead}.{why}"


def _checkpoint_line(state: CheckpointState) -> str:
    known = state.checkpoint
    phase = "" if known.phase is None else f", phase {known.phase}"
    hides = f"a backtrack to it would hide {pluralise(state.would_hide)}"
    return f"- {known.id} (valid{phase}): {_shorten(known.summary)} [{hides}]"


def _left_line(state: LineState) -> str:
    hides = f", hides {pluralise(state.hides)}" if state.hides else ""
    return f"- {state.line.id}: {pluralise(state.memories)}{hides}"


def _shorten(text: str) -> str:
    """What a memory says stays on its own line, and short: the rest is one search away."""
    return cut(" ".join(text.split()), _SUMMARY_CHARS_MAX)


_CLOSED_CHARS_MAX: Final = 400
"""Of each record of a checkpoint: the whole is one read away, by its id."""


def memory_text(record: Record) -> str:
    """The memory: what is known about it, then its text as it was written."""
    return _fence("\n".join([*_memory_lines(record), "", record.content]))


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
        lines += ["", f"A backtrack to it would hide {pluralise(preview.hides)}."]
        lines += list_titles(preview.titles, preview.hides)
    for heading, kind in (("Decisions", "decision"), ("Closeout", "closeout")):
        found = [record for record in whole.closed if record.kind == kind]
        if found:
            lines += ["", f"## {heading}", *(f"- {_shorten_closed(r)} [{r.id}]" for r in found)]
    return _fence("\n".join(lines))


def profile_text(profile: Profile) -> str:
    """Who the user is, field by field, with the memory that each rests on."""
    if not profile.entries:
        return (
            "Nothing is known of the user yet. What they say of themselves is kept by "
            "add_memory(kind='preference' or 'fact', scope='user')."
        )
    facts = [f"- {entry.fact.line} [{entry.memory_id}]" for entry in profile.entries]
    return _fence("\n".join([profile_line(profile), "", *facts]))


def history_text(told: Happened) -> str:
    """What happened, newest first, under its days, as far as there is room for it."""
    if not told.records:
        return "Nothing has happened here yet that was told, sealed or captured."
    lines = ["# History, newest first"]
    room = HISTORY_PAGE_CHARS_MAX
    before = told.records[0].created_at
    for paragraph, record in paragraphs_by_day(told.records):
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
    return _fence("\n\n".join(lines))


def _memory_lines(record: Record) -> Iterator[str]:
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


def _shorten_closed(record: Record) -> str:
    text = one_line(record)
    if len(text) <= _CLOSED_CHARS_MAX:
        return text
    return f"{text[:_CLOSED_CHARS_MAX].rstrip()}… (whole: memory://memory/{record.id})"


def _fence(text: str) -> str:
    return render_context([text], (), 0).text
