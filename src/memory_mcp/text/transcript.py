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

_Entry = Mapping[str, Any]

_NOTE: Final = re.compile(
    r"<(system-reminder|command-name|command-message|command-args|command-contents|"
    r"local-command-stdout|local-command-stderr|local-command-caveat|bash-input|bash-stdout|"
    r"bash-stderr|user-memory-input|task-notification)>.*?</\1>",
    re.DOTALL,
)
"""What the program writes into a message of the user."""

_INTERRUPTED: Final = "[Request interrupted"


def read_turns(data: bytes) -> list[Turn]:
    """What was said on the way to the last entry, oldest first."""
    told = (_read_turn(entry) for entry in _follow_to_last(list(_read_entries(data))))
    return [turn for turn in told if turn]


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
    """From the first that is known to the last one; all of them, where none has a name."""
    known = {entry["uuid"]: entry for entry in entries if isinstance(entry.get("uuid"), str)}
    if not known:
        return entries
    at: Any = next(reversed(known))
    way: list[_Entry] = []
    while isinstance(at, str) and at in known:
        entry = known.pop(at)  # a ring has an end too
        way.append(entry)
        at = entry.get("parentUuid") or entry.get("logicalParentUuid")
    return way[::-1]


def _read_turn(entry: _Entry) -> Turn | None:
    role = entry.get("type")
    message = entry.get("message")
    told = entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isApiErrorMessage")
    if role not in ("user", "assistant") or not isinstance(message, dict) or told:
        return None
    said = "\n\n".join(_read_texts(cast("_Entry", message).get("content")))
    said = _NOTE.sub("", said).strip()
    if not said or said.startswith(_INTERRUPTED):
        return None
    return Turn("user" if role == "user" else "assistant", said, _read_time(entry.get("timestamp")))


def _read_texts(content: object) -> Iterator[str]:
    """A message is a text, or a list of blocks; only those of text were said by anybody."""
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
