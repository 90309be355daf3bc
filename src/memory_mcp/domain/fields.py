"""Field types of records, moves and heads, with the constraints that files are checked by.

A file may come from a clone, from a teammate's older program, or from a failing disk. What no tool
of ours would have written makes no `Record`, `Move` or `Timeline`. Nothing here knows the time now.
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Final

from memory_mcp.checker import ValidationError
from memory_mcp.domain import limits
from memory_mcp.domain.checked import Change, check_with, constrain
from memory_mcp.domain.ids import (
    ROOT,
    BranchName,
    CheckpointId,
    LineId,
    RecordId,
    SegmentId,
)
from memory_mcp.domain.json_input import JsonValue
from memory_mcp.domain.normalise import find_hidden_character, is_blank, normalise

_MESSAGE_CHARS_MAX: Final = 240
_VALUE_ERROR: Final = "Value error, "
_MESSAGES: Final = {
    "string_pattern_mismatch": "has a form that no name or id of its kind has",
    "string_unicode": "holds half a surrogate pair",
}
"""In place of pydantic's own words, which would show a pattern."""


def normalise_name(name: str) -> str:
    """The name of a client, a session or a git branch on one line, cut to its limit."""
    return " ".join(normalise(name).split())[: limits.NAME_CHARS_MAX].strip()


def escape_unprintable(text: str, chars_max: int = _MESSAGE_CHARS_MAX) -> str:
    """Any text on one line for a message: cut, and with unprintable characters spelt out."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in text[:chars_max]
    )
    return shown if len(text) <= chars_max else f"{shown}\u2026"


def explain_validation_error(error: ValidationError) -> str:
    """What is wrong, as `field: reason`, without the value itself."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"])) or "record"
    says = _MESSAGES.get(first["type"]) or first["msg"].removeprefix(_VALUE_ERROR)
    return f"{escape_unprintable(where, 80)}: {escape_unprintable(says)}"


def find_cycle(parents: Mapping[str, Iterable[str]]) -> str:
    """A name on a cycle or behind one; '' if there is none."""
    waiting = {name: set(before) & parents.keys() for name, before in parents.items()}
    after: dict[str, list[str]] = {}
    for name, before in waiting.items():
        for one in before:
            after.setdefault(one, []).append(name)
    ready = [name for name, before in waiting.items() if not before]
    while ready:
        done = ready.pop()
        del waiting[done]
        for name in after.get(done, ()):
            waiting[name].discard(done)
            if not waiting[name]:
                ready.append(name)
    return next(iter(waiting), "")


def require_visible_characters(texts: Mapping[str, str]) -> None:
    """Refuse characters that a model reads and no person sees, in any of these fields.

    Raises:
        ValueError: with the field, the character and its offset.
    """
    for name, text in texts.items():
        if (hidden := find_hidden_character(text)) is not None:
            at, char = hidden
            raise ValueError(f"{name} holds U+{ord(char):04X} at {at}, which nobody can see")


def find_branch_fault(name: str) -> str:
    """Why no branch can have this name; '' if one can.

    An agent gives the nodes of its tree the ids that it has for them, so any text is a name that a
    person can tell from another: no control characters, and one spelling of an accent (NFC).
    """
    if name.isascii() and name.isprintable() and name.strip():
        return "" if len(name) <= limits.BRANCH_CHARS_MAX else _describe_length(name)
    if is_blank(name):
        return "shows nothing that can be seen" if name.strip() else "is empty"
    if len(name) > limits.BRANCH_CHARS_MAX:
        return _describe_length(name)
    hidden = find_hidden_character(name)
    hidden = hidden or next(((at, c) for at, c in enumerate(name) if c in "\n\t"), None)
    if hidden is not None:
        at, char = hidden
        called = unicodedata.name(char, "a control character")
        return f"holds U+{ord(char):04X} ({called}) at {at}"
    return "" if unicodedata.is_normalized("NFC", name) else "is not in the form NFC"


def _describe_length(name: str) -> str:
    return f"has {len(name)} characters"


def _require_branch(name: str) -> str:
    if fault := find_branch_fault(name):
        raise ValueError(f"the name of a branch {fault}")
    return name


def dump_meta(meta: Mapping[str, JsonValue]) -> str:
    """The labels of a record as compact JSON, as they count against their limit."""
    return json.dumps(meta, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def find_meta_fault(meta: Mapping[str, JsonValue]) -> str:
    """Why a record cannot have these labels; '' if it can."""
    if _measure_depth(meta) > limits.META_DEPTH_MAX:
        return f"is nested more than {limits.META_DEPTH_MAX} deep"
    if wrong := [name for name, value in meta.items() if not _is_json(value)]:
        return f"holds what is no JSON, in {wrong[0]!r}"
    size = len(dump_meta(meta).encode())
    if size > limits.META_BYTES_MAX:
        return f"has {size:,} bytes as JSON; the limit is {limits.META_BYTES_MAX:,}"
    return ""


def _is_json(value: JsonValue) -> bool:
    try:
        dump_meta({"": value}).encode()
    except (TypeError, ValueError):
        return False
    return True


def _measure_depth(value: JsonValue | Mapping[str, JsonValue], most: int = 64) -> int:
    inner = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping | list) or most == 0:
        return 0
    return 1 + max((_measure_depth(each, most - 1) for each in inner), default=0)  # type: ignore[union-attr]


def _require_meta(meta: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if meta and (fault := find_meta_fault(meta)):
        raise ValueError(fault)
    return meta


def _chars(chars_max: int) -> Change:
    return constrain(max_length=chars_max)


# Lengths and patterns are checked by pydantic's core: a function of Python for each field would
# make reading ten thousand records slower by two fifths.
_ID_PATTERN: Final = r"0[0-3][0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
"""A UUIDv7 in its canonical form, of a time before the year 2110."""
_STAMP: Final = r"-[0-9]{8}-[0-9]{6}(?:-[0-9a-f]{1,12}){0,3}"
"""The second of a checkpoint or a line, and a suffix if there are several in it."""

AwareTime = Annotated[datetime, constrain(tz_constraint="aware")]
"""A time with a zone."""

Text = Annotated[str, _chars(limits.CONTENT_CHARS_MAX)]
Summary = Annotated[str, _chars(limits.SUMMARY_CHARS_MAX)]
Title = Annotated[str, _chars(limits.TITLE_CHARS_MAX)]
Label = Annotated[str, _chars(limits.CATEGORY_CHARS_MAX)]
Tags = Annotated[
    tuple[Annotated[str, _chars(limits.TAG_CHARS_MAX)], ...], constrain(max_length=limits.TAGS_MAX)
]
Name = Annotated[str, _chars(limits.NAME_CHARS_MAX)]
"""What a client, a session, a user or a project is called."""
Key = Annotated[str, _chars(limits.KEY_CHARS_MAX)]
Commit = Annotated[str, constrain(pattern=r"^[0-9a-f]{0,64}$")]

RecordIdField = Annotated[RecordId, constrain(pattern=f"^{_ID_PATTERN}$")]
SegmentField = Annotated[SegmentId, constrain(pattern=f"^(?:{ROOT}|{_ID_PATTERN})$")]
BranchField = Annotated[BranchName, check_with(_require_branch)]
CheckpointField = Annotated[
    CheckpointId, constrain(pattern=f"^(?:phase[0-9]{{1,4}}|checkpoint){_STAMP}$")
]
LineField = Annotated[LineId, constrain(pattern=f"^line{_STAMP}$")]

SourceIds = Annotated[tuple[RecordIdField, ...], constrain(max_length=limits.SOURCES_MAX)]
RecordIds = Annotated[tuple[RecordIdField, ...], constrain(max_length=limits.REFERENCES_MAX)]
SegmentIds = Annotated[tuple[SegmentField, ...], constrain(max_length=limits.REFERENCES_MAX)]

MetaField = Annotated[dict[str, JsonValue], check_with(_require_meta)]

StrictInt = Annotated[int, constrain(strict=True)]
Phase = Annotated[int, constrain(strict=True, ge=0, le=limits.PHASE_MAX)]
