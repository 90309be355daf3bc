"""Render outcomes: as the fields of an answer, and as text to read.

Every answer begins with `success` and ends with `message`. Models, people and programs get the same
sentences. Text that was recalled stands within the fence that marks it as data.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from memory_mcp.domain.captures import CaptureReport, SuggestionsDecided
from memory_mcp.domain.citations import get_place
from memory_mcp.domain.cloud import OutboxCounts
from memory_mcp.domain.ids import MAIN, CheckpointId, RecordId
from memory_mcp.domain.limits import (
    HISTORY_PAGE_CHARS_MAX,
    IMPORTANCE_DEFAULT,
)
from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.outcomes import (
    AddOutcome,
    AlreadyKnown,
    Backtracked,
    BacktrackOutcome,
    CheckpointDecided,
    CheckpointDetails,
    CheckpointOutcome,
    CheckpointSaved,
    CheckpointState,
    Closeout,
    Consolidation,
    ConsolidationReceipt,
    DecisionPreview,
    EpisodeOutcome,
    EpisodePostponed,
    EpisodeSaved,
    HeadReport,
    LaterAct,
    LineHistory,
    MemoryAdded,
    MemoryDeclined,
    MemoryForgotten,
    MemoryList,
    MemoryRejected,
    MemoryReviewed,
    MemoryWaiting,
    MoveAborted,
    MovePreview,
    PhaseSealed,
    Redaction,
    SearchResults,
    SimilarMemory,
    Skipped,
    TrustReport,
)
from memory_mcp.domain.profile import Profile
from memory_mcp.domain.record import Record, drop_empty, format_time
from memory_mcp.domain.search import Hit, Passage
from memory_mcp.domain.timeline import PhaseChange, PhaseHistory
from memory_mcp.domain.transfer import ImportEffect, ImportReport
from memory_mcp.fence import disarm, enclose
from memory_mcp.hints import address, name_argument, name_decision, name_id, name_memory, name_step
from memory_mcp.render.block import Block, render_line
from memory_mcp.render.pages import render_paragraphs
from memory_mcp.render.profile import render_profile_line
from memory_mcp.render.reasons import describe_reasons

Fields = dict[str, Any]
Receipt = (
    AddOutcome
    | BacktrackOutcome
    | CaptureReport
    | CheckpointOutcome
    | ConsolidationReceipt
    | EpisodeOutcome
    | MemoryForgotten
    | PhaseChange
    | SuggestionsDecided
    | MemoryReviewed
)
Readable = Block | HeadReport | Profile | LineHistory | Record | CheckpointDetails | Skipped

_TITLE_CHARS_MAX: Final = 100
_TITLES_MAX: Final = 20
_BRANCHES_MAX: Final = 3
"""Branches named of those that hold on to what was hidden on another one."""
_SUMMARY_CHARS_MAX: Final = 200
_SHOWN_CHARS_MAX: Final = 400
"""How much of another memory is repeated: enough to tell what it says."""
_NAMED_CHARS_MAX: Final = 160
"""The same of one that is only near: a line, because most of them are about something else."""
_EXAMPLES_MAX: Final = 3
"""Items named for each reason to leave some out."""

_JUDGE: Final = (
    "Those listed as similar are only near it. If it brings one of them up to date, call {} with "
    "this and all else that one says; otherwise nothing is to do."
)
_RIVALS: Final = {
    "outdated": (
        "It contradicts {0} ({1}), which stays and is shown as outdated where both are found.",
        (
            "If both hold, or a part of {3} does, call {0} with what still holds of it; otherwise "
            "nothing is to do."
        ),
    ),
    "disputed": (
        "It contradicts {0} ({1}), and nothing says which of the two is right; both stay.",
        "{2} the wrong one: {3} with {0}, or this one with {1}.",
    ),
    "beside": (
        "{0} says otherwise ({1}), and both hold from now on.",
        "If one is wrong, correct {3} with {0}, or this one with {1}.",
    ),
    "scope of user": (
        (
            "It contradicts {0} ({1}), which the user keeps for every project: in this one the new "
            "one holds and that one is shown as outdated, in the others it stays."
        ),
        "Nothing is to do.",
    ),
    "scope of project": (
        (
            "It contradicts {0} ({1}), which holds in this project: here the new one is shown as "
            "outdated, in the others it holds."
        ),
        "If it is to hold here too, give the same text to {0}; otherwise nothing is to do.",
    ),
    "elsewhere": (
        "Beside it, {0} does not stand on this commit ({1}), and stays as it is.",
        "",
    ),
}
"""What is said of each rival, and what to call: once, however many there are."""
_KNOWN: Final = (
    "Known already, so no memory was written. If it is not what content says, repeat with other "
    "words, or with {} to replace that one."
)
_CONTRADICTS: Final = (
    "It contradicts what held until now, which was replaced{}. If the old text is right, call {}."
)
_STORED: Final = "Stored."
_WAITS: Final = (
    "The database is away. This waits safely on this machine and is stored when the database is "
    "back: do not repeat it. No search finds it until then."
)
_SEALED: Final = (
    "Either go back to before it ({}) and do the phase anew, or give the next phase's number, or "
    "repeat with {} to seal it a second time."
)
_TOUCHED: Final[dict[ImportEffect, str]] = {
    "erases": "Memories here that were forgotten there, and go for good",
    "hides": "Memories here that it hides",
    "replaces": "Memories here that it replaces",
}


def render_receipt(outcome: Receipt) -> Fields:
    """The receipt of a use case that writes."""
    match outcome:
        case Skipped(reason):
            fields = _answer(reason, success=False)
        case MemoryAdded() | AlreadyKnown() | MemoryRejected() | MemoryDeclined() | MemoryWaiting():
            fields = _render_added(outcome)
        case MemoryForgotten(memory_id, erased, notes):
            hidden = (
                "Hidden from here on. A backtrack to before this brings it back, unless it is "
                "durable."
            )
            message = "Erased for good." if erased else hidden
            fields = _answer(message, notes, memoryId=memory_id)
        case CheckpointSaved() | CheckpointDecided() | PhaseSealed():
            fields = _render_sealed(outcome)
        case Backtracked() | MovePreview() | MoveAborted():
            fields = _render_backtrack(outcome)
        case CaptureReport() | SuggestionsDecided() | MemoryReviewed():
            fields = _render_captured(outcome)
        case EpisodeSaved() | EpisodePostponed():
            fields = _render_episode(outcome)
        case ConsolidationReceipt():
            fields = _render_consolidated(outcome)
        case PhaseChange(number, record, notes):
            message = f"The project is in phase {number} now." if record else "It is there already."
            memory_id = record.id if record else None
            fields = _answer(message, notes, phase=number, memoryId=memory_id)
    return fields


def _answer(
    message: str, notes: Sequence[str] = (), /, *, success: bool = True, **fields: object
) -> Fields:
    return {"success": success, **fields, "message": " ".join((message, *notes))}


def _render_decided(kept: Sequence[AddOutcome], dropped: int) -> Fields:
    """What became of the suggestions, each as a receipt of its own."""
    if dropped:
        return _answer(f"{pluralise(dropped, 'suggestion', 'suggestions')} dropped for good.")
    receipts = [render_receipt(each) for each in kept]
    count = sum(each["success"] for each in receipts)
    notes = [each["message"] for each in receipts if each["message"] != _STORED]
    message = f"{pluralise(count, 'suggestion', 'suggestions')} kept."
    return _answer(message, notes, suggestions=receipts)


def _render_captured(report: CaptureReport | SuggestionsDecided | MemoryReviewed) -> Fields:
    """What was kept or suggested of what the user said, or what became of the suggestions."""
    if isinstance(report, MemoryReviewed):
        says = "stands in your contexts now" if report.kept else "stays out of your contexts"
        return _answer(f"What {report.by} wrote {says}.", memoryId=report.memory_id)
    if isinstance(report, SuggestionsDecided):
        return _render_decided(report.kept, report.dropped)
    kept = [{"memoryId": each.id, "content": each.content} for each in report.kept]
    asked = [{"content": each.statement, "category": each.category} for each in report.suggested]
    counts = {
        "{} taken back: the user did not mean it.": len(report.retracted),
        "{} kept.": len(kept),
        "{} suggested: named in the next context, kept if the user agrees.": len(asked),
    }
    told = [
        says.format(pluralise(many, "statement", "statements"))
        for says, many in counts.items()
        if many
    ]
    message = " ".join(told) or "The user said nothing new that is worth keeping."
    effects = [effect for each in report.added if (effect := describe_effect(each))]
    retracted = list(report.retracted)
    return _answer(message, effects, kept=kept, suggested=asked, retracted=retracted)


def _render_added(
    outcome: MemoryAdded | AlreadyKnown | MemoryRejected | MemoryDeclined | MemoryWaiting,
) -> Fields:
    match outcome:
        case MemoryAdded(record):
            inserted = "replaced" if outcome.replaced else "inserted"
            return _answer(
                " ".join(_describe_added(outcome)),
                outcome.notes,
                memoryId=record.id,
                outcome="merged" if outcome.merged else inserted,
                replaced=list(outcome.replaced),
                durable=record.durable,
                redactions=_render_redactions(outcome.redactions),
                contradictions=[
                    {"memoryId": each.memory_id, "old": _shorten(each.old),
                     "new": _shorten(each.new)}
                    for each in outcome.contradictions
                ],
                similar=[
                    {"memoryId": each.record.id, "content": _shorten_similar(each),
                     "score": round(each.score, 2), "relation": each.relation}
                    for each in outcome.similar
                ],
            )  # fmt: skip
        case AlreadyKnown(record, redactions, notes):
            return _answer(
                _KNOWN.format(name_argument("supersedes", [record.id])),
                notes,
                memoryId=record.id,
                outcome="known",
                content=_shorten(record.content),
                durable=record.durable,
                redactions=_render_redactions(redactions),
            )
        case MemoryWaiting(record, redactions):
            return _answer(
                _WAITS,
                memoryId=record.id,
                outcome="waiting",
                durable=record.durable,
                redactions=_render_redactions(redactions),
            )
        case MemoryRejected(tombstone, by):
            whose = f" by {by}" if by else ""
            changed = address("If the user has changed their mind", "If you changed your mind")
            message = (
                f"Nothing was stored: this was rejected on {tombstone.created_at:%Y-%m-%d}"
                f"{whose} ({_shorten(tombstone.content)}). "
                f"{changed}, repeat with {name_argument('supersedes', [tombstone.id])}."
            )
            return _answer(message, success=False, outcome="rejected")
        case MemoryDeclined(reason):
            message = f"Nothing was stored: it {reason}"
            return _answer(message, success=False, outcome="declined")


def _describe_added(added: MemoryAdded) -> Iterator[str]:
    yield "Merged with what was known about it." if added.merged else _STORED
    if added.redactions:
        rules = ", ".join(f"{r.rule} at {r.at} of {r.field}" for r in added.redactions)
        yield f"Taken out before anything was written: {rules}."
    if effect := describe_effect(added):
        yield effect
    if any(each.relation == "similar" for each in added.similar):
        yield _JUDGE.format(name_step("update_memory", memory_id=..., content=...))


def describe_effect(added: MemoryAdded) -> str:
    """What it replaced and contradicts, with what to call; empty if nothing."""
    return " ".join(_describe_effects(added))


def _describe_effects(added: MemoryAdded) -> Iterator[str]:
    if added.replaced:
        texts = " / ".join(_shorten(text).rstrip(".") for text in added.repeats)
        repeats = f" and says all of it: {texts}" if texts else ""
        yield f"It takes the place of {', '.join(map(name_id, added.replaced))}{repeats}."
    if added.contradictions:
        olds = {each.old for each in added.contradictions}
        old = olds.pop() if len(olds) == 1 else ""
        right = old if 0 < len(old) <= _SHOWN_CHARS_MAX else ...
        yield _CONTRADICTS.format(
            address(": tell the user if that may surprise them", ""),
            name_step("update_memory", memory_id=added.record.id, content=right),
        )
    rivals: dict[str, list[SimilarMemory]] = {}
    for each in added.similar:
        if each.relation != "similar":
            of = f" of {each.record.scope.reach}" if each.relation == "scope" else ""
            rivals.setdefault(f"{each.relation}{of}", []).append(each)
    for relation, each_of_them in rivals.items():
        yield from _describe_rivals(added.record, relation, each_of_them)


def _describe_rivals(
    record: Record, relation: str, rivals: Sequence[SimilarMemory]
) -> Iterator[str]:
    """What each contradicts, and then what to call if both hold."""
    claim, advice = _RIVALS[relation]
    for each in rivals:
        yield claim.format(name_id(each.record.id), each.reason)
    one = rivals[0].record.id if len(rivals) == 1 else ...
    that = name_step("update_memory", memory_id=one, content=...)
    this = name_step("update_memory", memory_id=record.id, content=...)
    correct = address("Ask the user, then correct", "Correct")
    if advice:
        which = "that one" if len(rivals) == 1 else "one of them"
        yield advice.format(that, this, correct, which)


def _render_redactions(redactions: Sequence[Redaction]) -> list[Fields]:
    return [{"rule": each.rule, "field": each.field, "at": each.at} for each in redactions]


def _shorten(text: str) -> str:
    return cut(text, _SHOWN_CHARS_MAX)


def _shorten_similar(each: SimilarMemory) -> str:
    text = each.record.content
    return _shorten(text) if each.relation != "similar" else cut(text, _NAMED_CHARS_MAX)


def _render_sealed(outcome: CheckpointSaved | CheckpointDecided | PhaseSealed) -> Fields:
    match outcome:
        case CheckpointSaved(checkpoint, notes, written, known):
            pending = checkpoint.approval == "pending"
            messages = [_describe_approval(checkpoint.id) if pending else "Checkpoint saved."]
            if written:
                messages.append(f"With it: {pluralise(len(written))}.")
            if known:
                messages.append(f"{pluralise(len(known))} said the same already (known).")
            return _answer(
                " ".join(messages),
                notes,
                checkpointId=checkpoint.id,
                status=checkpoint.approval,
                written=[record.id for record in written],
                known=[record.id for record in known],
            )
        case CheckpointDecided(checkpoint, _, notes):
            skipped = checkpoint.approval == "skipped"
            pending = f"Taken back. {_describe_approval(checkpoint.id)}"
            said = {"skipped": "Skipped: no checkpoint was made.", "pending": pending}
            return _answer(
                said.get(checkpoint.approval, "Checkpoint saved."),
                notes,
                success=not skipped,
                checkpointId=checkpoint.id,
                status=checkpoint.approval,
            )
        case PhaseSealed(phase, sealed):
            if phase == sealed.phase:
                message = f"Phase {phase} is sealed already by {sealed.id}."
            else:
                message = (
                    f"Phase {phase} comes before phase {sealed.phase}, which {sealed.id} has "
                    "sealed already."
                )
            ways = name_step("backtrack", to=...), name_argument("again", value=True)
            return _answer(f"{message} {_SEALED.format(*ways)}", success=False, status="refused")


def _describe_approval(checkpoint_id: str) -> str:
    ask = address(
        "Pending: ask the user [save] / [edit] / [skip], then",
        "Pending: save, edit or skip it with",
    )
    return f"{ask} {name_decision(checkpoint_id)}."


def _render_backtrack(outcome: Backtracked | MovePreview | MoveAborted) -> Fields:
    match outcome:
        case Backtracked(preview, line, erased, lesson):
            goal = "restored" if preview.restores else "backtrackedTo"
            reached: Fields = {goal: preview.restores or preview.target or preview.join or "start"}
            hidden, titles = preview.hides, preview.titles
            if outcome.forget:
                hidden = preview.hides_only
                titles = [title for title in titles if title not in preview.erases_titles]
            return _answer(
                _describe_move(outcome),
                outcome.notes,
                **reached,
                hidden=hidden,
                titles=list(titles),
                again=preview.brings,
                line=line if preview.leaves else None,
                erased=erased,
                erasedTitles=list(preview.erases_titles) if outcome.forget else [],
                lessonId=lesson,
            )
        case MovePreview(token=token):
            step = name_step("backtrack", to=outcome.to, mode=..., confirm=token)
            choose = address("Ask the user [continue] / [forget] / [abort], then", "Choose with")
            return _answer(
                f"{render_preview(outcome)}\nNothing was done yet. {choose} {step}.",
                success=False,
                status="changed" if outcome.changed else "undecided",
                hidden=outcome.hides,
                confirm=token,
            )
        case MoveAborted():
            return _answer("Aborted: nothing changed.", success=False, status="aborted")


def _describe_move(moved: Backtracked) -> str:
    preview, erased = moved.preview, moved.erased
    if preview.takes_back:
        goal = f"Took back {preview.takes_back}"
    elif preview.restores:
        goal = f"Restored {preview.restores}"
    else:
        goal = f"Back at {_name_goal(preview)}"
    back = ""
    if not moved.forget:
        fate = f"{pluralise(preview.hides)} hidden"
    else:
        fate = f"{pluralise(erased, 'record', 'records')} erased"
        if preview.hides_only:
            stay = ", ".join(preview.stays_on[:_BRANCHES_MAX]) or "another line"
            which = "it stays" if preview.hides_only == 1 else "they stay"
            fate += f", {pluralise(preview.hides_only)} hidden here ({which} on {stay})"
            step = address(name_step("backtrack", to=moved.move), "`memory-mcp undo`")
            back = f" To bring back what is only hidden: {step}."
    again = f", {pluralise(preview.brings)} back in force" if preview.brings else ""
    if moved.line and preview.leaves:
        back = f" To return to what was left, backtrack to {moved.line!r}."
    if preview.takes_back:
        back = " The next `memory-mcp undo` redoes it."
    return f"{goal}: {fate}{again}.{back}"


def _render_episode(outcome: EpisodeSaved | EpisodePostponed) -> Fields:
    match outcome:
        case EpisodeSaved(record, merged, notes):
            return _answer(
                "Merged into the last episode." if merged else "Captured.",
                notes,
                memoryId=record.id,
                outcome="merged" if merged else "inserted",
                title=record.title,
                replaced=list(merged[:1]),
            )
        case EpisodePostponed(reason):
            return _answer(reason, outcome="waited")


def _render_consolidated(outcome: ConsolidationReceipt) -> Fields:
    session, latest = outcome.session, outcome.latest
    if outcome.nothing:
        message = " ".join(outcome.notes)
        return _answer(message, success=False, outcome="nothing", session=session)
    if outcome.asked:
        whose = f"Session {session!r}" if session else "No session"
        none = f"{whose} handed {'nothing' if session else 'anything'} on yet."
        return _answer(
            "This was handed on last." if latest else none,
            outcome="latest",
            latest=_render_latest(latest) if latest else None,
        )
    written = outcome.written
    message = "Consolidated." if written else "All of it is known already: nothing changed."
    if outcome.due_turns:
        message += f" The next one is due after {outcome.due_turns} more turns."
    return _answer(
        message,
        outcome.notes,
        outcome="stored" if written else "known",
        session=session,
        written={record.key.rpartition(":")[2] or "history": record.id for record in written},
        replaced=[id_ for record in written for id_ in record.supersedes],
        latestId=latest.summary.id if latest and latest.summary else None,
    )


def _render_latest(latest: Consolidation) -> Fields:
    parts = {"memoryUpdate": latest.summary, "insights": latest.insights}
    known = {name: record for name, record in parts.items() if record is not None}
    return {
        "session": latest.session,
        "final": latest.final,
        "at": format_time(max(record.created_at for record in known.values())),
        **{name: record.content for name, record in known.items()},
        "memoryIds": [record.id for record in known.values()],
    }


def render_hits(
    outcome: SearchResults | Skipped, *, why: bool = False, keys: bool = False
) -> Fields:
    """The answer of a search. `why` adds what spoke for each result, `keys` the keys."""
    if isinstance(outcome, Skipped):
        return _answer(outcome.reason, success=False)
    messages = list(outcome.notes)
    newer_than: dict[RecordId, list[RecordId]] = {}
    for hit in outcome.hits:
        if hit.outdated_by:
            newer_than.setdefault(hit.outdated_by, []).append(hit.record.id)
    if outcome.unreadable:
        messages.insert(0, describe_unreadable(len(outcome.unreadable)))
    elif not outcome.hits:
        limited = ", as far as could be looked for" if outcome.degraded else ""
        messages.insert(0, f"No visible memory matches{limited}.")
    return _answer(
        " ".join(messages),
        results=[
            _render_hit(hit, key=keys)
            | (_render_why(hit, newer_than.get(hit.record.id, ())) if why else {})
            for hit in outcome.hits
        ],
        mode=outcome.mode,
        degraded=outcome.degraded or None,
    )


def _render_why(hit: Hit, newer_than: Sequence[RecordId]) -> Fields:
    """What spoke for a result, in words and as the parts of its score."""
    if hit.score is None:
        return {}
    return {"why": describe_reasons(hit, newer_than), "parts": dict(hit.parts) or None}


_THIS_QUESTION: Final = "this question; it may hold otherwise"


def _render_hit(hit: Hit, *, key: bool) -> Fields:
    record = hit.record
    metadata = {
        "title": record.title,
        "category": record.category,
        "tags": [*record.tags],
        "kind": record.kind,
        "phase": record.phase,
        "importance": None if record.importance == IMPORTANCE_DEFAULT else record.importance,
        "pinned": record.pinned,
        "expires_at": record.expires_at and format_time(record.expires_at),
        "key": record.key if key else "",
    }
    return {
        "content": hit.excerpt.content,
        **({"passage": _name_place(hit.record, hit.passage)} if hit.passage else {}),
        **({} if hit.score is None else {"score": hit.score}),
        "metadata": {
            **drop_empty(metadata),
            **({"place": hit.place} if hit.place else {}),
            **({"by": hit.by} if hit.by else {}),
        },
        "memoryId": record.id,
        "createdAt": format_time(record.created_at),
        **({"cites": list(hit.cites)} if hit.cites else {}),
        **({"standing": hit.standing} if hit.standing else {}),
        **({"outdated_by": hit.outdated_by} if hit.outdated_by else {}),
        **({"outdated_for": _THIS_QUESTION} if hit.by_question else {}),
        **({"disputed_with": list(hit.disputed_with)} if hit.disputed_with else {}),
    }


def _name_place(record: Record, passage: Passage) -> str:
    """Where the passage of a long memory stands, and where the whole is to be read."""
    place = f"characters {passage.start + 1:,} to {passage.end:,} of {len(record.content):,}"
    return f"{place}; whole: {name_memory(record.id)}"


def render_list(listed: MemoryList) -> Fields:
    """A list of memories, for a program; the message says how many more there are."""
    notes = [describe_unreadable(listed.unreadable)] if listed.unreadable else []
    notes += [listed.degraded] if listed.degraded else []
    if not listed.records:
        notes.append("No visible memory matches.")
    elif listed.total > len(listed.records):
        notes.append(f"{len(listed.records)} of {listed.total:,}, newest first.")
    return _answer(
        " ".join([*(notes or [f"{pluralise(listed.total)}."]), *listed.notes]),
        memories=[
            render_record(each, listed.standing.get(each.id, ""), listed.outdated.get(each.id, ""))
            for each in listed.records
        ],
        total=listed.total,
    )


def render_record(record: Record, standing: str = "", outdated_by: str = "") -> Fields:
    """A memory as it is stored, for a program, under the names that tools use."""
    marks = {"standing": standing, "outdated_by": outdated_by}
    fields = record.as_json() | {name: mark for name, mark in marks.items() if mark}
    return {"memoryId": fields.pop("id"), "createdAt": fields.pop("created_at"), **fields}


def describe_unreadable(number: int) -> str:
    """The note on memories that match and cannot be shown."""
    records = pluralise(number, "matching record", "matching records")
    return f"{records} cannot be read: run `memory-mcp doctor`."


def render_head_fields(report: HeadReport) -> Fields:
    """Where the project stands, for a program."""
    return {
        "project": report.project,
        "branch": report.branch,
        "branches": list(report.branches),
        **({"otherBranches": report.other_branches} if report.other_branches else {}),
        **({"parents": dict(report.parents)} if report.parents else {}),
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
                **({"ground": state.ground} if state.ground else {}),
            }
            for state in report.checkpoints
        ],
        "earlierCheckpoints": report.earlier_checkpoints,
        "invalidated": [{"id": c.id, "phase": c.phase} for c in report.invalidated],
        "pending": [
            {
                "id": c.id,
                "phase": c.phase,
                "summary": c.summary,
                **({"ground": report.standing[c.id]} if c.id in report.standing else {}),
            }
            for c in report.pending
        ],
        "lines": [
            {"id": s.line.id, "memories": s.memories, **({"hides": s.hides} if s.hides else {})}
            for s in report.lines
        ],
        "earlierLines": report.earlier_lines,
        **_render_others(report),
        "warnings": list(report.warnings),
        "syncPending": report.mirrored.pending if report.mirrored else None,
    }


def _render_others(report: HeadReport) -> Fields:
    """What other members did, if there are any."""
    fields: dict[str, Any] = {}
    if moved := report.moved:
        fields["moved"] = {"by": moved.by, "act": moved.act, "at": format_time(moved.at)}
    if report.reviews:
        fields["reviews"] = [
            {"id": each.id, "by": each.scope.user, "content": each.content}
            for each in report.reviews
        ]
    return fields


def _render_others_lines(report: HeadReport) -> Iterator[str]:
    """The same in words."""
    if moved := report.moved:
        yield f"{moved.by} moved this branch last: {moved.act}, {format_time(moved.at)}."
    if report.reviews:
        keep = address(
            'add_memory(content="ID", suggested="keep")', "memory-mcp suggestions keep ID"
        )
        yield f"Written by others, in no context until the user agrees ({keep}, or drop):"
    for each in report.reviews:
        yield f"- {each.id} {each.scope.user}: {_shorten_summary(each.content)}"


def render_import(done: ImportReport) -> Fields:
    """The outcome of an import; what was left out is counted by reason, the most frequent first."""
    reasons: dict[str, list[str]] = {}
    for each in done.left_out:
        reasons.setdefault(each.reason, []).append(each.item)
    verb = "would be stored" if done.dry else "stored"
    counts = f"{done.stored} {verb}, {done.known} known already, {len(done.left_out)} left out"
    nothing = ["Nothing was written."] if done.dry else []
    return _answer(
        f"Read as {done.source}, {pluralise(done.read, 'item', 'items')}: {counts}.",
        nothing,
        dryRun=done.dry,
        source=done.source,
        read=done.read,
        stored=done.stored,
        known=done.known,
        leftOut=len(done.left_out),
        records=done.records,
        kinds=dict(sorted(done.kinds.items())),
        redactions=dict(sorted(done.redactions.items())),
        erases=done.erases,
        hides=done.hides,
        replaces=done.replaces,
        touched={name: list(titles) for name, titles in done.affected.items()},
        reasons=[
            {"reason": reason, "items": len(items), "examples": items[:_EXAMPLES_MAX]}
            for reason, items in sorted(reasons.items(), key=lambda pair: -len(pair[1]))
        ],
        first=list(done.first),
        notes=list(done.notes),
    )


def render_import_text(fields: Mapping[str, Any]) -> str:
    """The fields of `render_import` for a person."""
    lines = [str(fields["message"])]
    if fields["kinds"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in fields["kinds"].items())
        lines.append(f"Records: {kinds}.")
    lines += [f"  {title}" for title in fields["first"]]
    if fields["redactions"]:
        rules = ", ".join(f"{count} {rule}" for rule, count in fields["redactions"].items())
        lines.append(f"Secrets taken out: {rules}.")
    for name, words in _TOUCHED.items():
        if fields[name]:
            lines.append(f"{words}: {fields[name]}.")
            lines += [f"  {title}" for title in fields["touched"].get(name, ())]
    for reason in fields["reasons"]:
        lines.append(f"Left out, {reason['items']}: {reason['reason']}")
        lines += [f"  {item}" for item in reason["examples"]]
    return "\n".join([*lines, *fields["notes"]])


def render_trust_report(report: TrustReport) -> str:
    """What the user has to know before trusting what came with a repository, or from a cloud."""
    name = f"By its git remote this project is {report.remote}. " if report.remote else ""
    if report.before is not None:
        before = f"it was {report.before}" if report.before else "it had no remote"
        name = f"{name}When you trusted what lies here, {before}. "
    records = pluralise(report.waiting, "record", "records") if report.waiting else "No record"
    waiting = f"{records} came with it that this machine did not write"
    lines = _render_titled(f"{name}{waiting}", report.titles, report.waiting)
    if report.erases:
        erases = f"They ERASE {len(report.erases)} of your own memories, files and all"
        lines += _render_titled(erases, report.erases[:_TITLES_MAX], len(report.erases))
    if report.settings:
        keys = ", ".join(report.settings)
        lines.append(f"Its .claude/memory.toml will set: {keys}. Look at it first.")
    if report.cloud:
        lines.append(f"What other machines left in the cloud at {report.cloud} will come in.")
    return "\n".join([*lines, "Trust this project?"])


def _render_titled(sentence: str, titles: Sequence[str], total: int) -> list[str]:
    if not titles:
        return [f"{sentence}."]
    short = [" ".join(title.split())[:_TITLE_CHARS_MAX] for title in titles]
    return [f"{sentence}:", *render_titles(short, total)]


def render_titles(titles: Sequence[str], total: int) -> list[str]:
    """A line for each title, and one for how many more there are."""
    more = [f"- and {total - len(titles)} more"] if total > len(titles) else []
    return [*(f"- {title}" for title in titles), *more]


def render_preview(preview: MovePreview) -> str:
    """What a move would do and the choices, for the one who decides."""
    keeps = "restores it" if preview.restores else "goes back"
    if preview.hides:
        keeps = "hides them (restorable)"
    erases = f"{_describe_erasure(preview)}, " if preview.erases else ""
    return f"{render_effect(preview)}\n[continue] {keeps}, {erases}[abort] does nothing."


def _describe_erasure(preview: MovePreview) -> str:
    """What [forget] does, and why that is not the number of memories that are hidden."""
    records = f"[forget] erases {pluralise(preview.erases, 'record', 'records')} for good"
    more = preview.erases + preview.shared > preview.hides
    besides = " (checkpoints and what no longer holds are records, too)" if more else ""
    stays = ""
    if preview.shared:
        counted = pluralise(preview.shared, "record", "records")
        stays = f" and only hides {counted} that stay on other branches"
    return f"{records}{stays}{besides}"


def _name_goal(preview: MovePreview) -> str:
    return "before the join" if preview.join else preview.target or "the start"


def render_decision(preview: DecisionPreview) -> str:
    """What a word on a checkpoint would make of it, as a question."""
    named = f"{preview.checkpoint.id}, \u201c{_shorten(preview.summary)}\u201d"
    match preview.decision:
        case "skip":
            return (
                f"Skip {named}? It is no restore point then, and what its closeout says is hidden."
            )
        case "reopen":
            answer = "skip" if preview.checkpoint.approval == "skipped" else "approval"
            return (
                f"Take back the {answer} of {named}? It waits for approval again, as it was, and "
                "is no restore point until then."
            )
        case "save" | "edit":
            return f"Save {named}? A backtrack can lead to it from then on."


def render_later(later: LaterAct, takes_back: str) -> str:
    """That an undo would take back something older than what was done last, as a sentence."""
    back = ""
    if later.act == "hidden":
        shown = f"`memory-mcp show {name_id(later.memory)} --why`"
        back = f" To have the memory back, add its text again: {shown} prints it."
    return (
        f"{later.words}; no undo takes that back.{back} "
        f"This would take back what is older: {takes_back}."
    )


def render_effect(preview: MovePreview) -> str:
    """What a move would hide and bring back, as a question."""
    changed = "The memory changed since you were asked. " if preview.changed else ""
    if preview.takes_back:
        goal = f"Undo {preview.takes_back}"
    elif preview.restores:
        goal = f"Restore {preview.restores}"
    else:
        goal = f"Go back to {_name_goal(preview)}"
    if preview.brings:
        goal += f" ({pluralise(preview.brings)} will hold again)"
    hides = "This hides no memory."
    if preview.hides:
        which = "recalled now" if preview.restores else "that came after"
        hides = f"This hides {pluralise(preview.hides)} {which}:"
    titles = "".join(f"\n{line}" for line in render_titles(preview.titles, preview.hides))
    whose = ", ".join(f"{count} by {author}" for author, count in preview.others.items())
    others = f"\nOthers wrote of these: {whose}." if whose else ""
    return f"{changed}{goal}? {hides}{titles}{others}"


def render_closeout(closeout: Closeout) -> str:
    """What would be written with a checkpoint, for the one who approves it."""
    decided = [
        f"{each.text.rstrip().removesuffix('.')} \u2014 {each.rationale}"
        if each.rationale
        else each.text
        for each in closeout.decisions
    ]
    lines: list[str] = []
    for heading, texts in (
        ("Decided:", decided),
        ("Open issues:", closeout.issues),
        ("Artifacts:", closeout.artifacts),
        ("Agents:", closeout.agents),
    ):
        lines += [heading, *(f"- {text}" for text in texts)] if texts else []
    return "\n".join(lines)


def render_phases(phases: PhaseHistory) -> str:
    """The phase now, and how the project got there."""
    if phases.now.number is None and not phases.steps:
        return "No phase was begun yet: memory-mcp phase 1."
    by = {"setting": "as MEMORY_PHASE says", "transition": "worked on", "checkpoint": "sealed"}
    lines = [f"Phase {phases.now.number} ({by.get(phases.now.by, '')})."]
    for step in phases.steps:
        what = (
            f"phase {step.number} sealed by {step.sealed}" if step.sealed else f"to {step.number}"
        )
        lines.append(f"- {step.at:%Y-%m-%d %H:%M} {what}")
    return "\n".join(lines)


def render_text(outcome: Readable) -> str:
    """The outcome of a use case that only reads, as text."""
    match outcome:
        case Block(text=text) | Skipped(text):
            return text
        case HeadReport():
            return render_head(outcome)
        case Profile():
            return render_profile(outcome)
        case LineHistory():
            return render_history(outcome)
        case Record():
            return render_memory(outcome)
        case CheckpointDetails():
            return render_checkpoint(outcome)


def render_head(report: HeadReport) -> str:
    """The report, a few lines long, the most important first.

    Names and summaries are data: none of them begins a line, or closes a fence around all this. Of
    a checkpoint that a backtrack left only the name is shown, which restores it.
    """
    return disarm("\n".join(" ".join(line.splitlines()) for line in _render_head_lines(report)))


def _render_head_lines(report: HeadReport) -> Iterator[str]:
    last = report.checkpoints[-1].checkpoint.id if report.checkpoints else None
    newest = _render_name(report, last) if last else "none yet"
    words = "phase {} is sealed" if report.phase_sealed else "working on phase {}"
    phase = "" if report.phase is None else f", {words.format(report.phase)}"
    yield f"Project {report.project}, branch {report.branch}{phase}. Last checkpoint: {newest}."
    durable = f"{pluralise(report.durable)} beside it, which no backtrack hides"
    yield f"{pluralise(report.memories)} on this line, {durable}."
    yield from _render_others_lines(report)
    for warning in report.warnings:
        yield f"WARNING: {warning}"
    if report.mirrored:
        yield _render_sync(report.mirrored)
    yield from _render_branches(report)
    if report.checkpoints:
        yield "Checkpoints (newest first):"
        yield from map(_render_checkpoint_line, reversed(report.checkpoints))
    if report.earlier_checkpoints:
        yield f"- and {report.earlier_checkpoints} earlier ones"
    if report.pending:
        decide = name_step("checkpoint", pending=..., decision=...)
        ask = address("ask the user, then ", "decide with ")
        yield f"Pending approval ({ask}{decide}):"
        yield from (
            f"- {_render_name(report, c.id)}: {_shorten_summary(c.summary)}" for c in report.pending
        )
    restore = name_step("backtrack", to=...)
    if report.invalidated:
        names = ", ".join(c.id for c in report.invalidated)
        yield f"Invalidated by a backtrack: {names}. With such a name {restore} restores it."
    if report.lines:
        yield f"Left lines that can be restored with {restore}:"
    for left in report.lines:
        hides = f", hides {pluralise(left.hides)}" if left.hides else ""
        yield f"- {left.line.id}: {pluralise(left.memories)}{hides}"
    if report.earlier_lines:
        yield f"- and {report.earlier_lines:,} earlier ones; {_name_log()}"


def _render_name(report: HeadReport, id_: CheckpointId) -> str:
    """The checkpoint, and where it stands, if not here."""
    return f"{id_} ({report.standing[id_]})" if id_ in report.standing else id_


def _render_branches(report: HeadReport) -> Iterator[str]:
    """The branches in one line, or as a tree if some were forked from others than the root."""
    others = f" and {report.other_branches:,} more; {_name_log()}" if report.other_branches else ""
    if len(report.branches) > 1 and not {*report.parents.values()} - {MAIN}:
        yield f"Branches: {', '.join(report.branches)}{others}."
    elif report.parents:
        from memory_mcp.render.graph import render_tree  # noqa: PLC0415  # few have nodes

        yield "Nodes, each below the one that it was forked from:"
        yield from render_tree(report.parents, report.branch)
        if others:
            yield others.strip()


def _name_log() -> str:
    return address("the user sees them with `memory-mcp log`", "`memory-mcp log` shows them")


def _render_checkpoint_line(state: CheckpointState) -> str:
    sealed = state.checkpoint
    status = f"valid{_render_phase(sealed.phase)}"
    hides = f"a backtrack to it would hide {pluralise(state.would_hide)}"
    hides += f"; {state.ground}" if state.ground else ""
    return f"- {sealed.id} ({status}): {_shorten_summary(sealed.summary)} [{hides}]"


def _render_sync(tally: OutboxCounts) -> str:
    state = f"sync pending ({tally.pending})" if tally.pending else "nothing is pending"
    dead = f", {tally.dead} refused (memory-mcp cloud sync --status)" if tally.dead else ""
    why = f" {tally.circuit.reason}" if tally.circuit.reason else ""
    return f"Supermemory: {state}{dead}.{why}"


def _render_phase(phase: int | None) -> str:
    return "" if phase is None else f", phase {phase}"


def _shorten_summary(text: str) -> str:
    return cut(" ".join(text.split()), _SUMMARY_CHARS_MAX)


def render_memory(record: Record) -> str:
    """The memory: what is known about it, then its text as it was written."""
    return enclose("\n".join([*_render_metadata(record), "", record.content]))


def _render_metadata(record: Record) -> Iterator[str]:
    if record.title:
        yield f"# {record.title}"
    yield f"id: {record.id}"
    yield f"kind: {record.kind}" + (" (durable: no backtrack hides it)" if record.durable else "")
    for name, value in (
        ("team", record.scope.team or ""),
        ("category", record.category),
        ("tags", ", ".join(record.tags)),
        ("key", record.key),
        ("phase", "" if record.phase is None else str(record.phase)),
        ("importance", "" if record.importance == IMPORTANCE_DEFAULT else str(record.importance)),
        ("pinned", "yes" if record.pinned else ""),
        ("expires", format_time(record.expires_at) if record.expires_at else ""),
        ("replaces", ", ".join(record.supersedes)),
        ("made from", ", ".join(record.derived_from)),
        ("cites", ", ".join(str(get_place(cited)) for cited in record.cites)),
    ):
        if value:
            yield f"{name}: {value}"
    origin = record.origin
    parts = [
        f"on branch {record.branch}" if record.branch else "",
        f"by {origin.by} of {record.scope.user}"
        + (f" through {origin.client}" if origin.client else ""),
        f"at commit {origin.commit[:12]}" if origin.commit else "",
    ]
    yield ", ".join([f"written: {format_time(record.created_at)}", *filter(None, parts)])


def render_checkpoint(whole: CheckpointDetails) -> str:
    """The checkpoint: what it sealed, what going back to it would hide, what was closed with it."""
    sealed = whole.checkpoint
    pending = sealed.approval == "pending"
    status = f"{'pending' if pending else 'valid'}{_render_phase(sealed.phase)}"
    lines = [f"# Checkpoint {sealed.id}", f"{status}, sealed {format_time(sealed.at)}"]
    lines += [*([whole.ground] if whole.ground else ()), f"branch {sealed.branch}"]
    lines += ["", sealed.summary]
    if pending:
        lines += [
            "",
            f"{address('Ask the user, then', 'Decide it with')} {name_decision(sealed.id)}.",
        ]
    if preview := whole.preview:
        lines += ["", f"A backtrack to it would hide {pluralise(preview.hides)}."]
        lines += render_titles(preview.titles, preview.hides)
    for heading, kind in (("Decisions", "decision"), ("Closeout", "closeout")):
        closed = [record for record in whole.closed if record.kind == kind]
        if closed:
            lines += [
                "",
                f"## {heading}",
                *(f"- {_shorten_closed(r)} [{name_id(r.id)}]" for r in closed),
            ]
    return enclose("\n".join(lines))


def _shorten_closed(record: Record) -> str:
    text = render_line(record)
    if len(text) <= _SHOWN_CHARS_MAX:
        return text
    return f"{text[:_SHOWN_CHARS_MAX].rstrip()}… (whole: {name_memory(record.id)})"


def render_profile(profile: Profile) -> str:
    """Who the user is, field by field, with the memory that each field rests on."""
    if not profile.entries:
        keep = name_step("add_memory", content=..., kind="preference", scope="user")
        return f"Nothing is known of the user yet. What they say of themselves is kept by {keep}."
    facts = [f"- {entry.fact.line} [{name_id(entry.memory_id)}]" for entry in profile.entries]
    return enclose("\n".join([render_profile_line(profile), "", *facts]))


def render_history(happened: LineHistory) -> str:
    """What happened, newest first, under its days, as far as there is room for it."""
    if not happened.records:
        return "Nothing has happened here yet that was told, sealed or captured."
    lines = ["# History, newest first"]
    room = HISTORY_PAGE_CHARS_MAX
    before = happened.records[0].created_at
    for paragraph, record in render_paragraphs(happened.records):
        room -= len(paragraph)
        if room < 0:
            break
        lines.append(paragraph)
        before = record.created_at
    if len(lines) - 1 < happened.total:
        until = format_time(before)
        lines.append(
            f"(There is more before {before:%Y-%m-%d}: search_memories(until='{until}') "
            "with kind='checkpoint' or category='history'.)"
        )
    return enclose("\n\n".join(lines))
