"""Builds the records that end a piece of work: of a closeout, and of a consolidation.

A closeout is one record for each decision and each open issue, one for all artifacts, one for all
agents, and one that counts them. Each can be corrected, superseded or forgotten alone.

A consolidation is an entry of the history, what is true now, and what was learnt. The last two have
a key that names the session, and the newest of a session replaces the one before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.outcomes import (
    Closeout,
    ConsolidationDraft,
    ConsolidationRole,
    find_consolidation_role,
    find_latest_consolidation,
)
from memory_mcp.domain.record import (
    Draft,
    Record,
    RecordContext,
)
from memory_mcp.errors import InvalidRequestError
from memory_mcp.hints import name_step
from memory_mcp.patterns import compile_later
from memory_mcp.text.drafts import build_on_timeline, build_record, check_text


def check_closeout(closeout: Closeout) -> None:
    """Refuse what cannot be stored, before anybody is asked about it.

    Raises:
        InvalidRequestError: with what it is, its figure and the limit.
    """
    for name, texts, number, chars in (
        ("decisions", [each.text for each in closeout.decisions],
         limits.DECISIONS_MAX, limits.DECISION_CHARS_MAX),
        ("artifacts", closeout.artifacts, limits.ARTIFACTS_MAX, limits.ARTIFACT_CHARS_MAX),
        ("issues", closeout.issues, limits.ISSUES_MAX, limits.ISSUE_CHARS_MAX),
        ("agents", closeout.agents, limits.AGENTS_MAX, limits.AGENT_CHARS_MAX),
    ):  # fmt: skip
        if len(texts) > number:
            raise InvalidRequestError(
                f"{len(texts)} {name}; the limit is {number}. Give those that matter later, or "
                "seal a checkpoint for a part of the work."
            )
        for text in texts:
            check_text(f"one of {name}", text, chars)
    for each in closeout.decisions:
        check_text("a rationale", each.rationale, limits.RATIONALE_CHARS_MAX, required=False)


def build_closeout_records(
    closeout: Closeout, phase: int | None, writing: Callable[[], RecordContext]
) -> Iterator[Record]:
    """The records of a closeout, each with a `writing` of its own; duplicates become one."""
    of = "" if phase is None else f" of phase {phase}"
    for each in dict.fromkeys(closeout.decisions):
        draft = Draft(each.content, kind="decision", category="decision", phase=phase)
        yield build_record(draft, writing())
    for part, title, texts in (
        ("issues", f"Open issue{of}", list(dict.fromkeys(closeout.issues))),
        ("artifacts", f"Artifacts{of}", _list_texts(closeout.artifacts)),
        ("agents", f"Agents{of}", _list_texts(closeout.agents)),
        ("closeout", f"Closeout{of}", [f"Closed with {count_parts(closeout)}."]),
    ):
        for text in texts:
            yield _build_part(part, title, text, phase, writing())


def count_parts(closeout: Closeout) -> str:
    """The numbers of each part: `2 decisions, 1 open issue`."""
    parts = (
        (len(closeout.decisions), "decision", "decisions"),
        (len(closeout.issues), "open issue", "open issues"),
        (len(closeout.artifacts), "artifact", "artifacts"),
        (len(closeout.agents), "agent", "agents"),
    )
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in parts if n)


def _list_texts(texts: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {text}" for text in dict.fromkeys(texts))] if texts else []


def _build_part(
    part: str, title: str, content: str, phase: int | None, writing: RecordContext
) -> Record:
    number = "none" if phase is None else phase
    key = f"phase:{writing.scope.project or 'none'}:{number}:{part}"
    return build_on_timeline(
        writing, "closeout", content, key=key, title=title, category="closeout", phase=phase
    )


HISTORY_CATEGORY: Final = "history"
"""The category of history entries."""

_SESSION: Final = compile_later(r"\S(?:[^\S\r\n]?\S)*")
_DATE: Final = compile_later(r"\d{4}-\d\d-\d\d: ")


def make_consolidation(
    *,
    history_entry: str,
    memory_update: str,
    insights: str | Sequence[str],
    session_id: str,
    final: bool,
) -> ConsolidationDraft:
    """Make what is to be consolidated; blank insights are left out."""
    texts = [insights] if isinstance(insights, str) else insights
    return ConsolidationDraft(
        history_entry=history_entry,
        memory_update=memory_update,
        insights=tuple(text for text in texts if text.strip()),
        session=session_id.strip(),
        final=final,
    )


def check_consolidation(request: ConsolidationDraft) -> None:
    """Refuse what cannot be stored.

    Raises:
        InvalidRequestError: with the field, its figure and the limit.
    """
    for name, text, chars in (
        ("history_entry", request.history_entry, limits.HISTORY_CHARS_MAX),
        ("memory_update", request.memory_update, limits.CONTENT_CHARS_MAX),
    ):
        check_text(name, text, chars, required=False)
    if len(request.insights) > limits.INSIGHTS_MAX:
        raise InvalidRequestError(
            f"{len(request.insights)} insights; the limit is {limits.INSIGHTS_MAX}. Keep what a "
            "later session needs; what holds for good is a lesson: "
            f"{name_step('add_memory', content=..., kind='lesson')}."
        )
    for text in request.insights:
        check_text("one of insights", text, limits.INSIGHT_CHARS_MAX)
    if request.session and not (
        len(request.session) <= limits.SESSION_CHARS_MAX and _SESSION.fullmatch(request.session)
    ):
        raise InvalidRequestError(
            f"session_id {request.session[: limits.SESSION_CHARS_MAX]!r} cannot be a name: use one "
            f"line of 1 to {limits.SESSION_CHARS_MAX} characters, or leave it out."
        )


def join_lines(text: str) -> str:
    """The text as one line."""
    return " ".join(text.split())


def list_insights(insights: Sequence[str]) -> str:
    """The insights as one text, each on a line, without a mark: each list has one of its own."""
    lines = (join_lines(text).removeprefix("- ") for text in insights)
    return "\n".join(dict.fromkeys(lines))


def finish_consolidation(
    request: ConsolidationDraft, known: Sequence[Record]
) -> ConsolidationDraft:
    """The consolidation that ends a session; without an update, the last one becomes final."""
    if not request.final or request.memory_update:
        return request
    last = find_latest_consolidation(known)
    return (
        replace(request, memory_update=last.summary.content) if last and last.summary else request
    )


def build_consolidation_records(
    request: ConsolidationDraft,
    known: Sequence[Record],
    *,
    day: date,
    dated: Callable[[str], bool],
    writing: Callable[[], RecordContext],
) -> list[Record]:
    """The records that differ from the `known` ones of the same session.

    A history entry gets the `day` unless it has a date, as `dated` says.
    """
    records: list[Record] = []
    if request.history_entry and not _is_in_history(request.history_entry, known):
        entry = request.history_entry
        entry = entry if dated(entry) else f"{day.isoformat()}: {entry}"
        records.append(_build_record("", entry, (), writing()))
    role: ConsolidationRole = "final" if request.final else "checkpoint"
    for part, roles, text in (
        (role, ("checkpoint", "final"), request.memory_update),
        ("insights", ("insights",), list_insights(request.insights)),
    ):
        before = [record for record in known if find_consolidation_role(record) in roles]
        if not text or any(_is_unchanged(r, text, part) for r in before):
            continue
        old = tuple(record.id for record in before)
        records.append(_build_record(f"{request.session or 'none'}:{part}", text, old, writing()))
    return records


def _is_in_history(entry: str, known: Sequence[Record]) -> bool:
    """Whether the history has this entry, whatever its date."""
    wanted = digest(entry)
    entries = (record for record in known if record.category == HISTORY_CATEGORY)
    return any(
        wanted in (record.statement, digest(_DATE.sub("", record.content, count=1)))
        for record in entries
    )


def _is_unchanged(known: Record, text: str, part: str) -> bool:
    return known.content == text and find_consolidation_role(known) == part


def _build_record(
    series: str, content: str, supersedes: tuple[RecordId, ...], writing: RecordContext
) -> Record:
    """A history entry; with a `series` (session and role), the current text of that series."""
    if not series:
        return build_on_timeline(
            writing,
            "event",
            content,
            layer="recall",
            category=HISTORY_CATEGORY,
            supersedes=supersedes,
        )
    key = f"gardener:{writing.scope.project or 'none'}:{series}"
    return build_on_timeline(
        writing, "summary", content, key=key, category="consolidation", supersedes=supersedes
    )
