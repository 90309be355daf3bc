"""Reads the messages of a Claude Code transcript, without tools and notes of the program.

A transcript is JSON lines, each an entry that names the one before it. What was left by going back
is still in the file; only the entries that lead to the last one count. Lines that are no entries,
and entries of unknown kinds, are skipped.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from memory_mcp.domain.sessions import Turn
from memory_mcp.patterns import compile_later

_Entry = Mapping[str, Any]

_NOTE: Final = compile_later(
    r"<(system-reminder|command-name|command-message|command-args|command-contents|"
    r"local-command-stdout|local-command-stderr|local-command-caveat|bash-input|bash-stdout|"
    r"bash-stderr|user-memory-input|task-notification)>.*?</\1>",
    re.DOTALL,
)
"""Notes that the program writes into a message of the user."""

_INTERRUPTED: Final = "[Request interrupted"


def read_turns(data: bytes) -> list[Turn]:
    """The turns that lead to the last entry, oldest first."""
    turns = (_read_turn(entry) for entry in _follow_to_last(list(_read_entries(data))))
    return [turn for turn in turns if turn]


def _read_entries(data: bytes) -> Iterator[_Entry]:
    for line in data.splitlines():
        try:
            found: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            entry = cast("_Entry", found)
            if not entry.get("isSidechain"):
                yield entry


def _follow_to_last(entries: Sequence[_Entry]) -> Sequence[_Entry]:
    """The entries from the first known one to the last; all of them if none has an id."""
    known = {entry["uuid"]: entry for entry in entries if isinstance(entry.get("uuid"), str)}
    if not known:
        return entries
    at: Any = next(reversed(known))
    path: list[_Entry] = []
    while isinstance(at, str) and at in known:
        entry = known.pop(at)  # a ring has an end too
        path.append(entry)
        at = entry.get("parentUuid") or entry.get("logicalParentUuid")
    return path[::-1]


def _read_turn(entry: _Entry) -> Turn | None:
    role = entry.get("type")
    message = entry.get("message")
    generated = (
        entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isApiErrorMessage")
    )
    if role not in ("user", "assistant") or not isinstance(message, dict) or generated:
        return None
    text = "\n\n".join(_read_texts(cast("_Entry", message).get("content")))
    text = _NOTE.sub("", text).strip()
    if not text or text.startswith(_INTERRUPTED):
        return None
    return Turn("user" if role == "user" else "assistant", text, _read_time(entry.get("timestamp")))


def _read_texts(content: object) -> Iterator[str]:
    """The texts of a message, which is a text or a list of blocks of several types."""
    if isinstance(content, str):
        yield content
    if isinstance(content, list):
        for block in cast("list[Any]", content):
            if isinstance(block, dict):
                fields = cast("_Entry", block)
                text = fields.get("text")
                if fields.get("type") == "text" and isinstance(text, str):
                    yield text


def _read_time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
