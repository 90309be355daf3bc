"""Says in words what spoke for a result, and what is known of where a memory is from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.outcomes import MemoryProvenance, Suppression
from memory_mcp.domain.record import MEMORY_KINDS, Record, format_time
from memory_mcp.domain.search import Hit
from memory_mcp.hints import name_id

_TELLING: Final = 0.25
"""A part of the score that moves it less is not named."""
_WORDS_MAX: Final = 8
_SHOWN_CHARS_MAX: Final = 160
_IN_WORDS: Final[Mapping[str, str]] = {
    "whole": "near in meaning",
    "run": "your words in a row",
    "names": "of the speaker you name",
    "phase": "of the phase you name",
    "decided": "a decision, as you ask for",
    "importance": "important",
    "recency": "recent",
    "pinned": "pinned",
}
"""The parts of a score that speak for a result. Those for near ties are named whatever they add."""
_AGAINST: Final[Mapping[str, str]] = {
    "asks": "though it ends in a question",
    "label": "though it only names its subject",
    "importance": "though unimportant",
}
_TIES: Final = ("importance", "pinned")


def describe_reasons(hit: Hit, newer_than: Sequence[RecordId]) -> str:
    """What spoke for this result; `newer_than` are those that it brings up to date."""
    reasons = (*_list_parts(hit), *_list_others(hit, newer_than))
    return "; ".join(reasons) or "hardly anything: a weak likeness"


def _list_parts(hit: Hit) -> Iterator[str]:
    if hit.same_words:
        yield f"same words: {', '.join(hit.same_words[:_WORDS_MAX])}"
    elif hit.parts.get("tokens", 0.0) >= _TELLING > hit.parts.get("whole", 0.0):
        yield "related words"
    for name, words in _IN_WORDS.items():
        if hit.parts.get(name, 0.0) >= (0.01 if name in _TIES else _TELLING):
            yield words
    if hit.parts.get("asked"):
        yield "it asks the same"
    for name, words in _AGAINST.items():
        if hit.parts.get(name, 0.0) < 0:
            yield words


def _list_others(hit: Hit, newer_than: Sequence[RecordId]) -> Iterator[str]:
    if newer_than:
        yield f"newer than {', '.join(map(name_id, newer_than))}"
    if hit.outdated_by:
        asked = " as an answer to this question" if hit.by_question else ""
        yield f"though outdated{asked} by {name_id(hit.outdated_by)}"
    if hit.disputed_with:
        yield f"though disputed with {', '.join(map(name_id, hit.disputed_with))}"
    if hit.place:
        yield "found in the cloud"


def render_provenance(known: MemoryProvenance) -> dict[str, Any]:
    """Where a memory is from and what it stands against, for a program."""
    origin = known.record.origin
    fields: dict[str, Any] = {
        "by": origin.by,
        "user": known.record.scope.user,
        "team": known.record.scope.team,
        "client": origin.client,
        "session": origin.session,
        "commit": origin.commit,
        "gitBranch": origin.git_branch,
        "at": format_time(known.record.created_at),
    }
    lists = {
        name: [_describe(record, known.reasons.get(record.id, "")) for record in records]
        for name, records in _lists(known)
    }
    ended = {_name_end(known.ended): _describe_end(known.ended)} if known.ended else {}
    return {name: value for name, value in (fields | lists | ended).items() if value}


def render_provenance_text(known: MemoryProvenance) -> str:
    """The same for a person, a line for each."""
    origin = known.record.origin
    at = origin.commit[:12] or "none yet" * bool(origin.git_branch)
    branch = f" on {origin.git_branch}" if origin.git_branch else ""
    lines = [
        f"written by: {origin.by} of {known.record.scope.user}"
        + (f" for the team {team}" if (team := known.record.scope.team) else "")
        + (f" through {origin.client}" if origin.client else ""),
        f"session: {origin.session or 'none was named'}",
        f"commit: {at or 'none: not in a git work tree'}{branch}",
    ]
    if known.ended:
        lines += _tell_end(known.ended)
    for name, records in _lists(known):
        if records:
            texts = (_tell(each, known.reasons.get(each.id, "")) for each in records)
            lines += [f"{_LISTS[name]}:", *texts]
    if not (known.outdated_by or known.disputed_with or known.ended):
        alone = " by itself" if known.possible else ""
        lines.append(f"No memory that holds here contradicts it{alone}.")
    return "\n".join(lines)


_LISTS: Final[Mapping[str, str]] = {
    "madeFrom": "made from",
    "replaced": "replaced",
    "newerThan": "newer than",
    "outdatedBy": "outdated by",
    "disputedWith": "contradicted by",
    "possible": "outdated, for a question that both answer, by",
}


def _lists(known: MemoryProvenance) -> list[tuple[str, Sequence[Record]]]:
    values = (
        known.sources,
        known.replaced,
        known.newer_than,
        known.outdated_by,
        known.disputed_with,
        known.possible,
    )
    return list(zip(_LISTS, values, strict=True))


def _describe(record: Record, reason: str = "") -> dict[str, Any]:
    because = {"reason": reason} if reason else {}
    return {"memoryId": record.id, "content": _shorten(record), **because}


def _tell(record: Record, reason: str = "") -> str:
    because = f", because: {reason}" if reason else ""
    return f"- {_shorten(record)} [{name_id(record.id)}]{because}"


def _name_end(ended: Suppression) -> Literal["replacedBy", "hidden"]:
    return "replacedBy" if ended.by.kind in MEMORY_KINDS else "hidden"


def _describe_end(ended: Suppression) -> dict[str, Any]:
    by = ended.by
    fields: dict[str, Any] = {
        "at": format_time(by.created_at),
        "by": by.origin.by,
        "user": by.scope.user,
        "reason": ended.reason,
    }
    if by.kind in MEMORY_KINDS:
        now = _describe(ended.now) if ended.now and ended.now.id != by.id else None
        fields |= {**_describe(by), "now": now}
    return {name: value for name, value in fields.items() if value}


def _tell_end(ended: Suppression) -> Iterator[str]:
    by = ended.by
    what = "replaced" if by.kind in MEMORY_KINDS else "hidden"
    because = f", because: {ended.reason}" if ended.reason else ""
    at = f"{by.created_at:%Y-%m-%d %H:%M} UTC"
    yield f"holds no more: {what} {at} by {by.origin.by} of {by.scope.user}{because}"
    if by.kind in MEMORY_KINDS:
        yield from ("replaced by:", _tell(by))
        if ended.now and ended.now.id != by.id:
            yield from ("which holds now:", _tell(ended.now))


def _shorten(record: Record) -> str:
    return cut(" ".join(record.content.split()), _SHOWN_CHARS_MAX)
