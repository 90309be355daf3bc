"""Render outcomes as fields and sentences: the same for a model, a person and a program.

A `*_fields` function takes the outcome of one use case and gives the fields of the answer; a
`*_text` function gives prose.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, assert_never

from memory_mcp.domain.limits import IMPORTANCE_USUAL
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.outcomes import (
    Added,
    AddOutcome,
    AlreadyKnown,
    Backtracked,
    BacktrackOutcome,
    Captured,
    CheckpointOutcome,
    Closeout,
    Consolidated,
    Consolidation,
    Contradiction,
    Decided,
    Declined,
    EpisodeOutcome,
    Forgotten,
    Found,
    HeadReport,
    NotMoved,
    PhaseSealed,
    Preview,
    Redaction,
    Rejected,
    Saved,
    Similar,
    Skipped,
    TrustReport,
    Waited,
)
from memory_mcp.domain.record import Record, iso
from memory_mcp.domain.search import Hit
from memory_mcp.domain.timeline import Checkpoint, PhaseMoved, Phases
from memory_mcp.domain.transfer import Imported, LeftOut, Touch

Fields = dict[str, Any]

_TITLE_CHARS: Final = 100
_TITLES_MAX: Final = 20
_PENDING: Final = (
    "Pending: ask the user [save] / [edit] / [skip], then call "
    "checkpoint(pending={!r}, decision=…)."
)


def pluralise(number: int, one: str = "memory", many: str = "memories") -> str:
    """`1 memory`, `2 memories`."""
    return f"{number} {one if number == 1 else many}"


def unreadable_note(number: int) -> str:
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
    said = [f"{name}{_with_titles(waiting, report.titles, report.waiting)}"]
    if report.erases:
        said.append(_with_titles(erases, report.erases[:_TITLES_MAX], len(report.erases)))
    if report.cloud:
        said.append(f"What other machines left in the cloud at {report.cloud} will come in.")
    return "\n".join([*said, "Trust this project?"])


def _with_titles(what: str, titles: Sequence[str], number: int) -> str:
    """A sentence, and the first of what it speaks of."""
    if not titles:
        return f"{what}."
    short = [" ".join(title.split())[:_TITLE_CHARS] for title in titles]
    return "\n".join([f"{what}:", *list_titles(short, number)])


def list_titles(titles: Sequence[str], total: int) -> list[str]:
    """A line for each title, and one for how many more there are."""
    more = [f"- and {total - len(titles)} more"] if total > len(titles) else []
    return [*(f"- {title}" for title in titles), *more]


def found_fields(outcome: Found | Skipped, *, why: bool = False, keys: bool = False) -> Fields:
    """The results, best first, and the mode that ran; with what scores are made of, and keys."""
    match outcome:
        case Found(hits, mode, notes, unreadable, degraded):
            said = list(notes)
            if unreadable:
                said.insert(0, unreadable_note(len(unreadable)))
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
                "message": " ".join((said, *_closeout_messages(written, known), *notes)),
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
                    f"{_sealed_message(phase, sealed)} Either backtrack(to=…) to before it and do "
                    "the phase anew, or give the next phase's number, or repeat with again=true to "
                    "seal it a second time."
                ),
            }
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def _sealed_message(phase: int, sealed: Checkpoint) -> str:
    if phase == sealed.phase:
        return f"Phase {phase} is sealed already by {sealed.id}."
    return f"Phase {phase} comes before phase {sealed.phase}, which {sealed.id} has sealed already."


def _closeout_messages(written: Sequence[Record], known: Sequence[Record]) -> list[str]:
    said: list[str] = []
    if written:
        said.append(f"With it: {pluralise(len(written))}.")
    if known:
        said.append(f"{pluralise(len(known))} said the same already (known).")
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
                "message": " ".join((f"{_moved_message(preview, erased)}{back}", *notes)),
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
        goal = f"Restore {preview.restores} ({pluralise(preview.brings)} will hold again)"
    else:
        goal = f"Go back to {preview.target or 'the start'}"
    named = "".join(f"\n{line}" for line in list_titles(preview.titles, preview.hides))
    hides = (
        f"This hides {pluralise(preview.hides)} that came after:"
        if preview.hides
        else "This hides no memory."
    )
    return (
        f"{changed}{goal}? {hides}{named}\n"
        f"[continue] hides them (restorable), [forget] erases "
        f"{pluralise(preview.erases, 'record', 'records')} for good, [abort] does nothing."
    )


def _moved_message(preview: Preview, erased: int) -> str:
    goal = (
        f"Restored {preview.restores}"
        if preview.restores
        else f"Back at {preview.target or 'the start'}"
    )
    fate = (
        f"{pluralise(erased, 'record', 'records')} erased"
        if erased
        else f"{pluralise(preview.hides)} hidden"
    )
    again = f", {pluralise(preview.brings)} back in force" if preview.brings else ""
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


_SHOWN_CHARS_MAX: Final = 400
"""How much of another memory a receipt repeats: enough to tell what it says."""

_JUDGE: Final = (
    "It resembles what is listed under similar, and nothing here could tell whether it is the same "
    "fact. If it is one of them, call update_memory with that memoryId and exactly this text: it "
    "then takes the place of both. If not, do nothing."
)
_KNOWN: Final = (
    "Known already, so no memory was written. If it is not what content says, repeat with other "
    "words, or with supersedes to replace that one."
)


def added_fields(outcome: AddOutcome) -> Fields:
    """The receipt of a write."""
    match outcome:
        case Added():
            return {
                "success": True,
                "memoryId": outcome.record.id,
                "outcome": _outcome(outcome),
                "replaced": list(outcome.replaced),
                "durable": outcome.record.durable,
                "redactions": _redactions(outcome.redactions),
                "contradictions": [_contradiction(each) for each in outcome.contradictions],
                "similar": [_similar(each) for each in outcome.similar],
                "message": " ".join((*_added_messages(outcome), *outcome.notes)),
            }
        case AlreadyKnown(record, redactions, notes):
            return {
                "success": True,
                "memoryId": record.id,
                "outcome": "known",
                "content": _shorten(record.content),
                "durable": record.durable,
                "redactions": _redactions(redactions),
                "message": " ".join((_KNOWN, *notes)),
            }
        case Rejected(tombstone):
            return {
                "success": False,
                "outcome": "rejected",
                "message": (
                    f"Nothing was stored: this was rejected on {tombstone.created_at:%Y-%m-%d} "
                    f"({_shorten(tombstone.content)}). If the user has changed their mind, repeat "
                    f"with supersedes=[{tombstone.id!r}]."
                ),
            }
        case Declined(reason):
            return {
                "success": False,
                "outcome": "declined",
                "message": f"Nothing was stored: it {reason}",
            }
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def forgotten_fields(outcome: Forgotten | Skipped) -> Fields:
    """What became of the memory."""
    match outcome:
        case Forgotten(memory_id, erased, notes):
            said = (
                "Erased for good."
                if erased
                else "Hidden from here on. A backtrack to before this brings it back, unless it is "
                "durable."
            )
            return {"success": True, "memoryId": memory_id, "message": " ".join((said, *notes))}
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


def _outcome(added: Added) -> str:
    if added.merged:
        return "merged"
    return "replaced" if added.replaced else "inserted"


def _added_messages(added: Added) -> list[str]:
    said = ["Merged with what was known about it." if added.merged else "Stored."]
    if added.redactions:
        rules = ", ".join(f"{r.rule} at {r.at} of {r.field}" for r in added.redactions)
        said.append(f"Taken out before anything was written: {rules}.")
    if added.contradictions:
        said.append(
            "It contradicts what held until now, which was replaced: tell the user if that may "
            "surprise them. If the old text is right, call update_memory with it."
        )
    if added.similar:
        said.append(_JUDGE)
    return said


def _redactions(redactions: tuple[Redaction, ...]) -> list[Fields]:
    return [{"rule": each.rule, "field": each.field, "at": each.at} for each in redactions]


def _contradiction(found: Contradiction) -> Fields:
    return {"memoryId": found.memory_id, "old": _shorten(found.old), "new": _shorten(found.new)}


def _similar(found: Similar) -> Fields:
    return {
        "memoryId": found.record.id,
        "content": _shorten(found.record.content),
        "score": round(found.score, 2),
    }


def _shorten(text: str) -> str:
    return cut(text, _SHOWN_CHARS_MAX)


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
                "latest": _latest_fields(latest) if latest else None,
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
                "written": {_part_name(record): record.id for record in written},
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


def _part_name(record: Record) -> str:
    return record.key.rpartition(":")[2] or "history"


def _latest_fields(latest: Consolidation) -> Fields:
    parts = {"memoryUpdate": latest.summary, "insights": latest.insights}
    known = {name: record for name, record in parts.items() if record is not None}
    return {
        "session": latest.session,
        "final": latest.final,
        "at": iso(max(record.created_at for record in known.values())),
        **{name: record.content for name, record in known.items()},
        "memoryIds": [record.id for record in known.values()],
    }


def episode_fields(outcome: EpisodeOutcome) -> dict[str, Any]:
    """The receipt of a capture. To wait is no failure."""
    match outcome:
        case Captured(record, merged, notes):
            said = "Merged into the last episode." if merged else "Captured."
            return {
                "success": True,
                "memoryId": record.id,
                "outcome": "merged" if merged else "inserted",
                "title": record.title,
                "replaced": list(merged[:1]),
                "message": " ".join((said, *notes)),
            }
        case Waited(reason):
            return {"success": True, "outcome": "waited", "message": reason}
        case Skipped(reason):
            return {"success": False, "message": reason}
        case _:
            assert_never(outcome)


_TOUCHED: Final[dict[Touch, str]] = {
    "erases": "Memories here that were forgotten there, and go for good",
    "hides": "Memories here that it hides",
    "replaces": "Memories here that it replaces",
}
_EXAMPLES_MAX: Final = 3
"""Items named for each reason: enough to know which they are."""


def imported_fields(done: Imported) -> dict[str, Any]:
    """The outcome for a program; what was left out is counted by its reason."""
    return {
        "success": True,
        "dryRun": done.dry,
        "source": done.source,
        "read": done.read,
        "stored": done.stored,
        "known": done.known,
        "leftOut": len(done.left_out),
        "records": done.records,
        "kinds": dict(sorted(done.kinds.items())),
        "redactions": dict(sorted(done.redactions.items())),
        "erases": done.erases,
        "hides": done.hides,
        "replaces": done.replaces,
        "touched": {name: list(said) for name, said in done.touched.items()},
        "reasons": [
            {"reason": reason, "items": len(items), "examples": items[:_EXAMPLES_MAX]}
            for reason, items in _group_by_reason(done.left_out).items()
        ],
        "first": list(done.first),
        "notes": list(done.notes),
        "message": _import_message(done),
    }


def imported_text(fields: Mapping[str, Any]) -> str:
    """The outcome for a person."""
    lines = [str(fields["message"])]
    if fields["kinds"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in fields["kinds"].items())
        lines.append(f"Records: {kinds}.")
    lines += [f"  {said}" for said in fields["first"]]
    if fields["redactions"]:
        rules = ", ".join(f"{count} {rule}" for rule, count in fields["redactions"].items())
        lines.append(f"Secrets taken out: {rules}.")
    for name, words in _TOUCHED.items():
        if fields[name]:
            lines.append(f"{words}: {fields[name]}.")
            lines += [f"  {said}" for said in fields["touched"].get(name, ())]
    for reason in fields["reasons"]:
        lines.append(f"Left out, {reason['items']}: {reason['reason']}")
        lines += [f"  {item}" for item in reason["examples"]]
    return "\n".join([*lines, *fields["notes"]])


def _import_message(done: Imported) -> str:
    verb = "would be stored" if done.dry else "stored"
    counts = f"{done.stored} {verb}, {done.known} known already, {len(done.left_out)} left out"
    said = f"{done.source}: of {done.read} items {counts}."
    return f"{said} Nothing was written." if done.dry else said


def _group_by_reason(left_out: tuple[LeftOut, ...]) -> dict[str, list[str]]:
    """The items by their reasons, the most frequent first."""
    found: dict[str, list[str]] = {}
    for each in left_out:
        found.setdefault(each.reason, []).append(each.item)
    return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))
