"""What became of a write, as fields: the same for a model, a person and a program."""

from typing import Any, Final, assert_never

from memory_mcp.domain.cutting import cut
from memory_mcp.domain.outcomes import (
    Added,
    AddOutcome,
    AlreadyKnown,
    Contradiction,
    Declined,
    Forgotten,
    Redaction,
    Rejected,
    Similar,
    Skipped,
)

Fields = dict[str, Any]

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
                "message": " ".join((*_said(outcome), *outcome.notes)),
            }
        case AlreadyKnown(record, redactions, notes):
            return {
                "success": True,
                "memoryId": record.id,
                "outcome": "known",
                "content": _short(record.content),
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
                    f"({_short(tombstone.content)}). If the user has changed their mind, repeat "
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


def _said(added: Added) -> list[str]:
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
    return {"memoryId": found.memory_id, "old": _short(found.old), "new": _short(found.new)}


def _similar(found: Similar) -> Fields:
    return {
        "memoryId": found.record.id,
        "content": _short(found.record.content),
        "score": round(found.score, 2),
    }


def _short(text: str) -> str:
    return cut(text, _SHOWN_CHARS_MAX)
