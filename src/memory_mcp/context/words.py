"""Outcomes as words and fields: the same for a model, a person and a program."""

from collections.abc import Sequence
from typing import Any, Final, assert_never

from memory_mcp.domain.limits import IMPORTANCE_USUAL
from memory_mcp.domain.outcomes import (
    Backtracked,
    BacktrackOutcome,
    CheckpointOutcome,
    Decided,
    Found,
    HeadReport,
    NotMoved,
    PhaseSealed,
    Preview,
    Saved,
    Skipped,
    TrustReport,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Checkpoint
from memory_mcp.domain.views import Hit

Fields = dict[str, Any]

_TITLE_CHARS: Final = 100
_TITLES_MAX: Final = 20
_PENDING: Final = (
    "Pending: ask the user [save] / [edit] / [skip], then call "
    "checkpoint(pending={!r}, decision=…)."
)


def counted(number: int, one: str = "memory", many: str = "memories") -> str:
    """`1 memory`, `2 memories`."""
    return f"{number} {one if number == 1 else many}"


def unread(number: int) -> str:
    """What is said instead of keeping silent about memories that cannot be shown."""
    return f"{number} matching record(s) cannot be read: run `memory-mcp doctor`."


def trust_text(report: TrustReport) -> str:
    """What the user has to know before trusting what came with a repository, or from a cloud."""
    name = f"By its git remote this project is {report.remote}. " if report.remote else ""
    if report.before is not None:
        before = f"it was {report.before}" if report.before else "it had no remote"
        name = f"{name}When you trusted what lies here, {before}. "
    waiting = f"{report.waiting} record(s) came with it that this machine did not write"
    erases = f"They ERASE {len(report.erases)} of your own memories, files and all"
    said = [f"{name}{_named(waiting, report.titles, report.waiting)}"]
    if report.erases:
        said.append(_named(erases, report.erases[:_TITLES_MAX], len(report.erases)))
    if report.cloud:
        said.append(f"What other machines left in the cloud at {report.cloud} will come in.")
    return "\n".join([*said, "Trust this project?"])


def _named(what: str, titles: Sequence[str], number: int) -> str:
    """A sentence, and the first of what it speaks of."""
    lines = [f"\n- {' '.join(title.split())[:_TITLE_CHARS]}" for title in titles]
    if titles and number > len(titles):
        lines.append(f"\n- and {number - len(titles)} more")
    return f"{what}{':' if titles else '.'}{''.join(lines)}"


def found_fields(outcome: Found | Skipped, *, why: bool = False, keys: bool = False) -> Fields:
    """The results, best first, and the mode that ran; with what scores are made of, and keys."""
    match outcome:
        case Found(hits, mode, notes, unreadable, degraded):
            said = list(notes)
            if unreadable:
                said.insert(0, unread(len(unreadable)))
            elif not hits:
                limited = ", as far as could be looked for" if degraded else ""
                said.insert(0, f"No visible memory matches{limited}.")
            return {
                "success": True,
                "results": [_hit_fields(hit, why=why, key=keys) for hit in hits],
                "mode": mode,
                "degraded": degraded or None,
                "message": " ".join(said),
            }
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def checkpoint_fields(outcome: CheckpointOutcome) -> Fields:
    """What became of the checkpoint."""
    match outcome:
        case Saved(checkpoint, notes, written, known):
            pending = checkpoint.approval == "pending"
            said = _PENDING.format(checkpoint.id) if pending else "Checkpoint saved."
            return {
                "success": True,
                "checkpointId": checkpoint.id,
                "status": checkpoint.approval,
                "written": [record.id for record in written],
                "known": [record.id for record in known],
                "message": " ".join((said, *_with_it(written, known), *notes)),
            }
        case Decided(checkpoint, notes):
            skipped = checkpoint.approval == "skipped"
            said = "Skipped: no checkpoint was made." if skipped else "Checkpoint saved."
            return {
                "success": not skipped,
                "checkpointId": checkpoint.id,
                "status": checkpoint.approval,
                "message": " ".join((said, *notes)),
            }
        case PhaseSealed(phase, sealed):
            return {
                "success": False,
                "status": "refused",
                "message": (
                    f"{_sealed_by(phase, sealed)} Either backtrack(to=…) to before it and do the "
                    "phase anew, or give the next phase's number, or repeat with again=true to "
                    "seal it a second time."
                ),
            }
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def _sealed_by(phase: int, sealed: Checkpoint) -> str:
    if phase == sealed.phase:
        return f"Phase {phase} is sealed already by {sealed.id}."
    return f"Phase {phase} comes before phase {sealed.phase}, which {sealed.id} has sealed already."


def _with_it(written: Sequence[Record], known: Sequence[Record]) -> list[str]:
    said: list[str] = []
    if written:
        said.append(f"With it: {counted(len(written))}.")
    if known:
        said.append(f"{counted(len(known))} said the same already (known).")
    return said


def backtrack_fields(outcome: BacktrackOutcome) -> Fields:
    """What moved, or what would."""
    match outcome:
        case Backtracked(preview, line, erased, lesson, notes):
            back = (
                f" To return to what was left, backtrack to {line!r}."
                if line and preview.leaves
                else ""
            )
            return {
                "success": True,
                "restored" if preview.restores else "backtrackedTo": preview.restores
                or preview.target
                or "start",
                "hidden": preview.hides,
                "titles": list(preview.titles),
                "again": preview.brings,
                "line": line if preview.leaves else None,
                "erased": erased,
                "lessonId": lesson,
                "message": " ".join((f"{_moved(preview, erased)}{back}", *notes)),
            }
        case Preview() as preview:
            return {
                "success": False,
                "status": "changed" if preview.changed else "undecided",
                "hidden": preview.hides,
                "confirm": preview.token,
                "message": (
                    f"{preview_text(preview)}\nNothing was done yet. Ask the user [continue] / "
                    f"[forget] / [abort], then call backtrack(to={preview.to!r}, mode=…, "
                    f"confirm={preview.token!r})."
                ),
            }
        case NotMoved():
            return {"success": False, "status": "aborted", "message": "Aborted: nothing changed."}
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def head_fields(report: HeadReport) -> Fields:
    """Where the project stands, for a program."""
    return {
        "project": report.project,
        "branch": report.branch,
        "branches": list(report.branches),
        "phase": report.phase,
        "memories": report.memories,
        "durable": report.durable,
        "checkpoints": [
            {
                "id": state.checkpoint.id,
                "phase": state.checkpoint.phase,
                "status": "valid",
                "summary": state.checkpoint.summary,
                "wouldHide": state.would_hide,
            }
            for state in report.checkpoints
        ],
        "earlierCheckpoints": report.earlier_checkpoints,
        "invalidated": [{"id": c.id, "phase": c.phase} for c in report.invalidated],
        "pending": [{"id": c.id, "phase": c.phase, "summary": c.summary} for c in report.pending],
        "lines": [
            {"id": s.line.id, "memories": s.memories, **({"hides": s.hides} if s.hides else {})}
            for s in report.lines
        ],
        "warnings": list(report.warnings),
        "syncPending": report.mirrored.pending if report.mirrored else None,
    }


def preview_text(preview: Preview) -> str:
    """What a move would do, for the one who decides."""
    changed = "The memory changed since you were asked. " if preview.changed else ""
    if preview.restores:
        goal = f"Restore {preview.restores} ({counted(preview.brings)} will hold again)"
    else:
        goal = f"Go back to {preview.target or 'the start'}"
    named = "".join(f"\n- {title}" for title in preview.titles)
    more = preview.hides - len(preview.titles)
    rest = f"\n- and {more} more" if more > 0 else ""
    hides = (
        f"This hides {counted(preview.hides)} that came after:"
        if preview.hides
        else "This hides no memory."
    )
    return (
        f"{changed}{goal}? {hides}{named}{rest}\n"
        f"[continue] hides them (restorable), [forget] erases "
        f"{counted(preview.erases, 'record', 'records')} for good, [abort] does nothing."
    )


def _moved(preview: Preview, erased: int) -> str:
    goal = (
        f"Restored {preview.restores}"
        if preview.restores
        else f"Back at {preview.target or 'the start'}"
    )
    fate = (
        f"{counted(erased, 'record', 'records')} erased"
        if erased
        else f"{counted(preview.hides)} hidden"
    )
    again = f", {counted(preview.brings)} back in force" if preview.brings else ""
    return f"{goal}: {fate}{again}."


def _hit_fields(hit: Hit, *, why: bool, key: bool) -> Fields:
    fields = hit.record.as_json()
    if hit.record.importance == IMPORTANCE_USUAL:  # what is usual need not be said in each result
        del fields["importance"]
    shown = ("title", "category", "tags", "kind", "phase", "importance", "pinned", "expires_at")
    about = {name: fields[name] for name in (*shown, *(["key"] * key)) if name in fields}
    return {
        "content": hit.record.content,
        "score": hit.score,
        "metadata": {**about, "place": hit.place} if hit.place else about,
        "memoryId": hit.record.id,
        "createdAt": fields["created_at"],
        **({"why": dict(hit.parts)} if why and hit.parts else {}),
    }
