"""What closes a phase and what a session hands on, as words and fields."""

from collections.abc import Iterator
from typing import Any, assert_never

from memory_mcp.domain.closeout import Closeout
from memory_mcp.domain.consolidation import Consolidated, Consolidation
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.phases import PhaseMoved, Phases
from memory_mcp.domain.record import Record, iso

Fields = dict[str, Any]


def closeout_text(closeout: Closeout) -> str:
    """What would be written with a checkpoint, for the one who approves it."""
    return "\n".join(_closeout_lines(closeout))


def _closeout_lines(closeout: Closeout) -> Iterator[str]:
    decided = [
        f"{each.text.rstrip().removesuffix('.')} \u2014 {each.rationale}"
        if each.rationale
        else each.text
        for each in closeout.decisions
    ]
    for heading, texts in (
        ("Decided:", decided),
        ("Open issues:", closeout.issues),
        ("Artifacts:", closeout.artifacts),
        ("Agents:", closeout.agents),
    ):
        if texts:
            yield heading
            yield from (f"- {text}" for text in texts)


def consolidation_fields(outcome: Consolidated | Skipped) -> Fields:
    """The receipt of a consolidation, or the latest one if that was all that was wanted."""
    match outcome:
        case Consolidated(nothing=True, session=session, notes=notes):
            return {
                "success": False,
                "outcome": "nothing",
                "session": session,
                "message": " ".join(notes),
            }
        case Consolidated(asked=True, latest=latest, session=session):
            whose = f"Session {session!r}" if session else "No session"
            none = f"{whose} handed {'nothing' if session else 'anything'} on yet."
            said = "This was handed on last." if latest else none
            return {
                "success": True,
                "outcome": "latest",
                "latest": _latest(latest) if latest else None,
                "message": said,
            }
        case Consolidated(session, written, notes, latest, due):
            said = ["Consolidated." if written else "All of it is known already: nothing changed."]
            if due:
                said.append(f"The next one is due after {due} more turns.")
            return {
                "success": True,
                "outcome": "stored" if written else "known",
                "session": session,
                "written": {_part(record): record.id for record in written},
                "replaced": [id_ for record in written for id_ in record.supersedes],
                "latestId": latest.summary.id if latest and latest.summary else None,
                "message": " ".join((*said, *notes)),
            }
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def phase_fields(outcome: PhaseMoved | Skipped) -> Fields:
    """What became of a move to another phase."""
    match outcome:
        case PhaseMoved(number, record, notes):
            said = f"The project is in phase {number} now." if record else "It is there already."
            return {
                "success": True,
                "phase": number,
                "memoryId": record.id if record else None,
                "message": " ".join((said, *notes)),
            }
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def phases_text(known: Phases) -> str:
    """The phase now, and how the project got there."""
    if known.now.number is None and not known.steps:
        return "No phase was begun yet: memory-mcp phase 1."
    by = {"setting": "as MEMORY_PHASE says", "transition": "worked on", "checkpoint": "sealed"}
    now = f"Phase {known.now.number} ({by.get(known.now.by, '')})."
    steps = [
        f"- {step.at:%Y-%m-%d %H:%M} "
        + (f"phase {step.number} sealed by {step.sealed}" if step.sealed else f"to {step.number}")
        for step in known.steps
    ]
    return "\n".join((now, *steps))


def _part(record: Record) -> str:
    return record.key.rpartition(":")[2] or "history"


def _latest(latest: Consolidation) -> Fields:
    parts = {"memoryUpdate": latest.summary, "insights": latest.insights}
    known = {name: record for name, record in parts.items() if record is not None}
    return {
        "session": latest.session,
        "final": latest.final,
        "at": iso(max(record.created_at for record in known.values())),
        **{name: record.content for name, record in known.items()},
        "memoryIds": [record.id for record in known.values()],
    }
