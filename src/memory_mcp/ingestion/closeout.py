"""The records of a closeout: one for the whole, one for each decision and each open issue.

Each is a memory of its own, so that it can be corrected, superseded or forgotten alone; none of
them repeats the words of another, nor those of the checkpoint: the one for the whole only counts.
What was made and who took part are one memory each.
"""

from collections.abc import Callable, Iterator, Sequence

from memory_mcp.domain import limits
from memory_mcp.domain.closeout import Closeout
from memory_mcp.domain.drafts import Draft, Writing
from memory_mcp.domain.record import Record
from memory_mcp.errors import InvalidRequestError
from memory_mcp.ingestion.drafts import accept, check_text

__all__ = ["check_closeout", "closeout_records", "counted_parts"]


def check_closeout(closeout: Closeout) -> None:
    """Refuse what cannot be stored, before anybody is asked about it.

    Raises:
        InvalidRequestError: with what it is, its figure and the limit.
    """
    for name, given, number, chars in (
        ("decisions", [each.text for each in closeout.decisions],
         limits.DECISIONS_MAX, limits.DECISION_CHARS_MAX),
        ("artifacts", closeout.artifacts, limits.ARTIFACTS_MAX, limits.ARTIFACT_CHARS_MAX),
        ("issues", closeout.issues, limits.ISSUES_MAX, limits.ISSUE_CHARS_MAX),
        ("agents", closeout.agents, limits.AGENTS_MAX, limits.AGENT_CHARS_MAX),
    ):  # fmt: skip
        if len(given) > number:
            raise InvalidRequestError(
                f"{len(given)} {name}; the limit is {number}. Give those that matter later, or "
                "seal a checkpoint for a part of the work."
            )
        for text in given:
            check_text(f"one of {name}", text, chars)
    for each in closeout.decisions:
        check_text("a rationale", each.rationale, limits.RATIONALE_CHARS_MAX, required=False)


def closeout_records(
    closeout: Closeout, phase: int | None, writing: Callable[[], Writing]
) -> Iterator[Record]:
    """Every record of it, each written in circumstances of its own; what is said twice is one."""
    of = "" if phase is None else f" of phase {phase}"
    for each in dict.fromkeys(closeout.decisions):
        draft = Draft(each.content, kind="decision", category="decision", phase=phase)
        yield accept(draft, writing())
    for part, title, texts in (
        ("issues", f"Open issue{of}", list(dict.fromkeys(closeout.issues))),
        ("artifacts", f"Artifacts{of}", _listed(closeout.artifacts)),
        ("agents", f"Agents{of}", _listed(closeout.agents)),
        ("closeout", f"Closeout{of}", [f"Closed with {counted_parts(closeout)}."]),
    ):
        for text in texts:
            yield _closed(part, title, text, phase, writing())


def counted_parts(closeout: Closeout) -> str:
    """`2 decisions, 1 open issue`: what there is of each."""
    parts = (
        (len(closeout.decisions), "decision", "decisions"),
        (len(closeout.issues), "open issue", "open issues"),
        (len(closeout.artifacts), "artifact", "artifacts"),
        (len(closeout.agents), "agent", "agents"),
    )
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in parts if n)


def _listed(texts: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {text}" for text in dict.fromkeys(texts))] if texts else []


def _closed(part: str, title: str, content: str, phase: int | None, writing: Writing) -> Record:
    number = "none" if phase is None else phase
    return Record(
        id=writing.id,
        kind="closeout",
        key=f"phase:{writing.scope.project or 'none'}:{number}:{part}",
        content=content,
        title=title,
        category="closeout",
        phase=phase,
        segment=writing.segment,
        branch=writing.branch,
        lineage=writing.lineage,
        scope=writing.scope,
        origin=writing.origin,
        created_at=writing.at,
    )
