"""Builds records from drafts: checks limits, then sets durability, layer and key.

The text is stored as it came. Everything refused here is refused before a byte is written.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.fields import escape_unprintable, find_branch_fault
from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.json_input import JsonValue
from memory_mcp.domain.record import (
    DURABLE_KINDS,
    EPISODE_PREFIX,
    REASON_PREFIX,
    REJECTED_PREFIX,
    Draft,
    Kind,
    Layer,
    Lineage,
    Record,
    RecordContext,
)
from memory_mcp.errors import InvalidRequestError
from memory_mcp.hints import name_field
from memory_mcp.patterns import compile_later

WRITABLE_KINDS: Final[tuple[Kind, ...]] = (
    "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event",
)  # fmt: skip
"""The kinds that a caller may choose; use cases write the others."""

_STATE: Final = "Give one self-contained statement."
_EMPTY: Final = {
    "a tag": "Give it a word, or leave it out.",
    "one of decisions": "Say what was decided, or leave it out.",
    "summary": "Say what was reached and decided.",
}
"""What to do about an empty text that is no statement."""

_SPLIT: Final = "Split it into several memories, each true on its own, or store a summary."

_ERASED: Final = "Erased on request."
_HIDDEN: Final = "No longer holds."
NO_REASONS: Final = frozenset({_ERASED, _HIDDEN})
"""What a tombstone says where no reason was given."""

_SLUG: Final = compile_later(r"[^a-z0-9]+")


def check_text(name: str, text: str, chars_max: int, *, required: bool = True) -> str:
    """The text, if it can be stored as it is.

    Raises:
        InvalidRequestError: empty, too long (with both figures), or not valid Unicode.
    """
    field, name = name, name_field(name)
    if required and not text.strip():
        raise InvalidRequestError(f"{name} is empty. {_EMPTY.get(field, _STATE)}")
    if len(text) > chars_max:
        raise InvalidRequestError(
            f"{name} has {len(text):,} characters; the limit is {chars_max:,}. "
            f"{_SPLIT if chars_max == limits.CONTENT_CHARS_MAX else 'Shorten it.'}"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{name} holds half a surrogate pair at position {error.start}; "
            "send valid Unicode text."
        ) from error
    return text


def check_draft(draft: Draft, now: datetime) -> None:
    """Refuse what cannot be stored.

    Raises:
        InvalidRequestError: with the field, its value and the limit.
    """
    check_text("content", draft.content, limits.CONTENT_CHARS_MAX)
    check_text("title", draft.title, limits.TITLE_CHARS_MAX, required=False)
    check_text("category", draft.category, limits.CATEGORY_CHARS_MAX, required=False)
    check_tags(draft.tags)
    if draft.kind not in WRITABLE_KINDS:
        choices = ", ".join(WRITABLE_KINDS)
        raise InvalidRequestError(f"kind is {draft.kind!r}; choose one of: {choices}.")
    if not limits.IMPORTANCE_MIN <= draft.importance <= limits.IMPORTANCE_MAX:
        raise InvalidRequestError(
            f"importance is {draft.importance}; choose {limits.IMPORTANCE_MIN} (trivial) "
            f"to {limits.IMPORTANCE_MAX} (vital)."
        )
    check_phase(draft.phase)
    if draft.expires_at is not None:
        _check_expiry(draft.expires_at, now)
    if len(draft.supersedes) > limits.LINKS_MAX:
        raise InvalidRequestError(
            f"supersedes names {len(draft.supersedes)} memories; the limit is {limits.LINKS_MAX}."
        )


def check_tags(tags: Sequence[str], most: int = limits.TAGS_MAX) -> tuple[str, ...]:
    """The tags, each once.

    Raises:
        InvalidRequestError: there are too many, or one is too long.
    """
    each_once = tuple(dict.fromkeys(tags))
    if len(each_once) > most:
        raise InvalidRequestError(
            f"{len(each_once)} tags; the limit is {most}. Keep the telling ones."
        )
    for tag in each_once:
        check_text("a tag", tag, limits.TAG_CHARS_MAX)
    return each_once


def _check_expiry(at: datetime, now: datetime) -> None:
    try:
        later = at.astimezone(UTC) > now
    except OverflowError as error:
        raise InvalidRequestError(
            f"{name_field('expires_at')} is {at.isoformat()}, which no calendar knows in UTC. "
            "Leave it out."
        ) from error
    if not later:
        raise InvalidRequestError(
            f"{name_field('expires_at')} is {at.isoformat()}, which is past. Give a later time, or "
            "leave it out."
        )


def check_phase(phase: int | None) -> None:
    """Refuse a phase that is no phase.

    Raises:
        InvalidRequestError: with the range.
    """
    if phase is not None and not 0 <= phase <= limits.PHASE_MAX:
        raise InvalidRequestError(f"phase is {phase}; it must be 0 to {limits.PHASE_MAX}.")


def check_branch(name: str) -> BranchName:
    """The name of a branch in Unicode's form NFC, if it can be one. Case counts.

    Raises:
        InvalidRequestError: with what is wrong with it.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # of a program
        raise InvalidRequestError(f"branch {name!r:.80} cannot be a name. Give a text.")
    normal = unicodedata.normalize("NFC", name)
    if fault := find_branch_fault(normal):
        raise InvalidRequestError(
            f"branch '{escape_unprintable(name, limits.BRANCH_CHARS_MAX)}' cannot be a name: it "
            f"{fault}. Any text of 1 to {limits.BRANCH_CHARS_MAX} visible characters can."
        )
    return BranchName(normal)


def is_durable(draft: Draft) -> bool:
    """Whether the memory lives outside the timeline, where no backtrack hides it."""
    return draft.reach != "project" or draft.kind in DURABLE_KINDS


def build_record(draft: Draft, writing: RecordContext) -> Record:
    """The record of a draft that was checked."""
    durable = is_durable(draft)
    origin = writing.origin
    if draft.reach == "team":  # not every member may see the project in which it was written
        origin = origin.model_copy(update={"commit": "", "git_branch": ""})
    return Record(
        id=writing.id,
        kind=draft.kind,
        layer=_choose_layer(draft.kind),
        key=_make_key(draft, writing),
        content=draft.content,
        title=draft.title,
        category=draft.category,
        tags=tuple(dict.fromkeys(draft.tags)),
        importance=draft.importance,
        pinned=draft.pinned,
        expires_at=draft.expires_at,
        phase=draft.phase,
        segment=None if durable else writing.segment,
        branch=None if durable else writing.branch,
        lineage=Lineage() if durable else writing.lineage,
        supersedes=tuple(RecordId(s.strip()) for s in dict.fromkeys(draft.supersedes)),
        scope=writing.scope_of(draft.reach),
        origin=origin,
        created_at=writing.at,
    )


def build_on_timeline(
    writing: RecordContext,
    kind: Kind,
    content: str,
    *,
    layer: Layer = "archival",
    key: str = "",
    title: str = "",
    category: str = "",
    tags: tuple[str, ...] = (),
    importance: int = limits.IMPORTANCE_DEFAULT,
    expires_at: datetime | None = None,
    phase: int | None = None,
    supersedes: tuple[RecordId, ...] = (),
    derived_from: tuple[RecordId, ...] = (),
    meta: Mapping[str, JsonValue] = MappingProxyType({}),
) -> Record:
    """A record on the line where it is written."""
    return Record(
        id=writing.id,
        kind=kind,
        layer=layer,
        key=key,
        content=content,
        title=title,
        category=category,
        tags=tags,
        importance=importance,
        expires_at=expires_at,
        phase=phase,
        segment=writing.segment,
        branch=writing.branch,
        lineage=writing.lineage,
        supersedes=supersedes,
        derived_from=derived_from,
        meta=dict(meta),
        scope=writing.scope,
        origin=writing.origin,
        created_at=writing.at,
    )


def build_exclusion(
    targets: Sequence[RecordId], place: RecordContext, why: str, because: Sequence[RecordId] = ()
) -> Record:
    """The record that takes others out of sight on this line, for as long as `because` is there."""
    return build_on_timeline(
        place, "exclusion", why, supersedes=tuple(targets), derived_from=tuple(because)
    )


def correct_record(old: Record, content: str, title: str, writing: RecordContext) -> Record:
    """The record that supersedes another one with a corrected text, said now."""
    return old.model_copy(
        update={
            "id": writing.id,
            "content": content,
            "title": title,
            "segment": None if old.durable else writing.segment,
            "branch": None if old.durable else writing.branch,
            "lineage": Lineage() if old.durable else writing.lineage,
            "supersedes": (old.id,),
            "derived_from": (),
            "stated_at": None,
            "scope": old.scope.written_by(writing.scope.user),
            "origin": writing.origin,
            "created_at": writing.at,
        }
    )


def join_records(
    new: Record, olds: Sequence[Record], *, text: str = "", writing: RecordContext | None = None
) -> Record:
    """The record that replaces old ones which state the same fact as a new one.

    It keeps the labels of all, the new one's first, but a title only of the same writer: it is
    words. With a composed `text` it is a record of its own, derived from all; without, it is the
    new one.
    """
    every = (new, *olds)
    own = (one for one in every if one.scope.user == new.scope.user)
    replaced = tuple(dict.fromkeys((*(old.id for old in olds), *new.supersedes)))
    kept = new.model_copy(
        update={
            "kind": "decision" if any(one.kind == "decision" for one in every) else new.kind,
            "key": next((one.key for one in every if one.key), ""),
            "title": next((one.title for one in own if one.title), ""),
            "tags": tuple(dict.fromkeys(t for one in every for t in one.tags))[: limits.TAGS_MAX],
            "importance": max(one.importance for one in every),
            "pinned": any(one.pinned for one in every),
            "phase": next((one.phase for one in every if one.phase is not None), None),
            "cites": tuple(dict.fromkeys(c for one in every for c in one.cites))[
                : limits.CITES_MAX
            ],
            "supersedes": replaced,
            "holds_beside": tuple(dict.fromkeys(id_ for one in olds for id_ in one.holds_beside)),
        }
    )
    if not text or writing is None:
        return kept
    both = (*(old.id for old in olds), new.id)
    update = {
        "id": writing.id,
        "content": text,
        "supersedes": (*replaced, new.id),
        "derived_from": both,
    }
    return kept.model_copy(update=update)


def build_tombstone(
    target: Record,
    reason: str,
    writing: RecordContext,
    *,
    erase: bool,
    along: Sequence[RecordId] = (),
    older: Sequence[RecordId] = (),
    told: str = "",
) -> Record:
    """The tombstone of a memory.

    A tombstone that hides stands on the writer's line, so that a backtrack undoes it; that of a
    durable memory stands outside the timeline. One that erases stands where the memory stood,
    covers what holds the same words (`along`), and keeps `older` versions hidden.

    With a reason the statement counts as rejected, and the tombstone keeps its digest. The text of
    the reason is kept here only if it was given where the tombstone stands, or if the memory is of
    no project (else see `build_rejection`). The tombstone of an episode keeps its key, or the
    key `told` of the last one that goes, so that its turns are not captured again.
    """
    rejected = f"{REJECTED_PREFIX}{target.statement}" if reason.strip() and target.statement else ""
    place = target if erase or target.durable else writing
    gone = (target.id, *along)
    return Record(
        id=writing.id,
        kind="tombstone",
        key=f"{EPISODE_PREFIX}{told or target.key}" if target.kind == "episode" else rejected,
        content=(reason if _may_hold_reason(target, place.segment, writing) else "")
        or (_ERASED if erase else _HIDDEN),
        segment=place.segment,
        branch=place.branch,
        lineage=place.lineage,
        supersedes=tuple(dict.fromkeys((*gone, *older))) if erase else gone[:1],
        erases=gone if erase else (),
        scope=target.scope.written_by(writing.scope.user),
        origin=writing.origin,
        created_at=writing.at,
    )


def build_rejection(
    target: Record, tombstone: Record, reason: str, writing: RecordContext
) -> Record | None:
    """The record of a reason that the tombstone may not hold; None if there is none.

    It stands where the reason was given, so that a backtrack beyond that hides it.
    """
    if not reason.strip() or not target.statement:
        return None
    if _may_hold_reason(target, tombstone.segment, writing):
        return None
    key = f"{REASON_PREFIX}{target.statement}"
    return build_on_timeline(writing, "tombstone", reason, key=key)


def _may_hold_reason(target: Record, segment: SegmentId | None, writing: RecordContext) -> bool:
    return segment == writing.segment or target.scope.reach != "project"


def _choose_layer(kind: Kind) -> Layer:
    match kind:
        case "identity" | "preference" | "convention":
            return "core"
        case "event" | "episode":
            return "recall"
        case _:
            return "archival"


def _make_key(draft: Draft, writing: RecordContext) -> str:
    """The key schema of the design; kinds without one have no key."""
    name = _SLUG.sub("-", draft.title.lower()).strip("-") or writing.id[-8:]
    place = f"project:{writing.scope.project or 'none'}"
    match draft.kind, draft.reach:
        case "preference" | "pattern" | "convention", "user" | "team":
            return f"{draft.reach}:{draft.kind}s:{name}"
        case _, "team":  # it names no project, which not every member may see
            return ""
        case "preference", "project":
            return f"{place}:preferences"
        case "identity", _:
            return f"{place}:identity"
        case "decision", _:
            return f"{place}:decision:{writing.at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        case _:
            return ""


def check_nudge(text: str, priority: int, expires_at: datetime | None, now: datetime) -> None:
    """Refuse a nudge that cannot be stored.

    Raises:
        InvalidRequestError: with the value, the choices and what would do.
    """
    if not text.strip():
        raise InvalidRequestError("The nudge is empty. Say what is to be brought up.")
    if len(text) > limits.NUDGE_CHARS_MAX:
        raise InvalidRequestError(
            f"The nudge has {len(text):,} characters; the limit is {limits.NUDGE_CHARS_MAX}. Say "
            "it in one or two sentences, and add the rest as a memory."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"The nudge holds half a surrogate pair at position {error.start}; send valid Unicode "
            "text."
        ) from error
    least, most = limits.NUDGE_PRIORITY_MIN, limits.NUDGE_PRIORITY_MAX
    if not least <= priority <= most:
        raise InvalidRequestError(
            f"priority is {priority}; choose {least} to {most} ({most} comes first)."
        )
    if expires_at is not None and not _is_later(expires_at, now):
        raise InvalidRequestError(
            f"{name_field('expires_at')} is {expires_at.isoformat()}, which is past (or beyond the "
            "calendar). Give a later time, or leave it out."
        )


def _is_later(at: datetime, now: datetime) -> bool:
    try:
        return at.astimezone(UTC) > now
    except OverflowError:
        return False
