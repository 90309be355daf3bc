"""The text that opens a session: the rendered bootstrap if still valid, and the present time."""

import os
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

from memory_mcp import rendered
from memory_mcp.fence import CLOSE, OPEN, holds_fence
from memory_mcp.hooks.place import Place
from memory_mcp.locations import plain_path

CONTEXT_UNITS_MAX: Final = 9_600
"""Claude Code shows at most 10,000 units of UTF-16, as JavaScript counts; of more, it shows the
name of a file. A sentence may follow."""

ASK_FIRST: Final = (
    "This project has a memory (memory-mcp). Nothing that certainly still holds lies ready for "
    "this moment: call memory_context before anything else."
)
COMPACTED: Final = (
    "The conversation was compacted. Its summary is being kept in memory as this session's running "
    "summary; where you know better what is true now, call consolidate."
)

_HEAD_FILE: Final = "memory-head.json"
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ID: Final = re.compile(r"\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]")
_AWAY: Final = re.compile(r"(?:UTC|GMT)\s?([+-])(\d{1,2})(?::(\d\d))?")


def opening_text(place: Place) -> str:
    """The bootstrap with the present time; what may show what no longer holds is not shown."""
    if not place.machine:
        return ASK_FIRST
    found = rendered.read(place.machine, place.branch)
    if found is None or not _made_here(found, place) or not rendered.still_holds(found):
        return ASK_FIRST
    text = found["text"].strip()
    if not _fenced(text):  # nothing but data is printed
        return ASK_FIRST
    return _end_fence(text.removesuffix(CLOSE).rstrip(), _now_line(found["zone"]))


def shown_ids(text: str) -> list[str]:
    """The memories that the agent has read in this text."""
    return _ID.findall(text)


def _made_here(found: rendered.Rendered, place: Place) -> bool:
    """Whether it was made from this head, which is there, and for this user.

    A copied project holds the text of the one it was copied from, which lives on elsewhere, and a
    repository may bring any text it likes; but not the place, time and number of a file to be.
    """
    watched = found["watched"]
    if not os.path.isabs(watched["head_file"]) or watched["head"] is None:
        return False
    own = os.path.join(place.state, _HEAD_FILE)
    if _one(watched["head_file"], place.project) != _one(own, place.project):
        return False
    return (watched["user"], _home(watched["home"])) == (place.user, _home(place.home))


def _one(path: str, project: str = "") -> str:
    return os.path.normcase(plain_path(path, project))


def _home(path: str) -> str:
    return path and _one(path)


def _fenced(text: str) -> bool:
    """Whether all of it is within one fence: its first line and its last one, and no other."""
    first, _, rest = text.partition("\n")
    within = rest.removesuffix(CLOSE)
    return first == OPEN and within != rest and not holds_fence(within)


def _end_fence(text: str, now: str) -> str:
    """The time as the last line within the fence; what is beyond the limit gives way to it."""
    room = CONTEXT_UNITS_MAX - _utf16_units(now) - len(CLOSE) - 2
    kept: list[str] = []
    for line in text.split("\n"):
        room -= _utf16_units(line) + 1
        if room < 0 and kept:
            break
        kept.append(line)
    return "\n".join((*kept, now, CLOSE))


def _utf16_units(text: str) -> int:
    """How long JavaScript says that it is: what lies beyond 16 bits counts twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def _now_line(zone: str) -> str:
    """The same as `render.profile.now_line`."""
    there = _zone(zone)
    now = datetime.now(there or UTC)
    return f"Now: {_DAYS[now.weekday()]} {now:%Y-%m-%d %H:%M} ({zone if there else 'UTC'})"


def _zone(name: str) -> tzinfo | None:
    if not name:
        return None
    if offset := _AWAY.fullmatch(name):
        sign, hours, minutes = offset.groups()
        away = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(away if sign == "+" else -away) if away < timedelta(days=1) else None
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # most users have told no time zone

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # none of that name, no name at all, or a folder
        return None
