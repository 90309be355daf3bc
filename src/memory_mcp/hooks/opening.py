"""The text that opens a session: the rendered bootstrap if still valid, and the present time."""

import os
from datetime import UTC, datetime
from typing import Final

from memory_mcp import rendered
from memory_mcp.fence import CLOSE, OPEN, holds_fence
from memory_mcp.hooks.place import Place
from memory_mcp.locations import find_git_dir_around, resolve_path
from memory_mcp.patterns import compile_later
from memory_mcp.zones import render_now_line

CONTEXT_UNITS_MAX: Final = 9_600
"""Claude Code shows a text of at most 10,000 units of UTF-16; a sentence may follow this one."""

ASK_FIRST: Final = (
    "This project has a memory (memory-mcp). Nothing that certainly still holds lies ready for "
    "this moment: call memory_context before anything else."
)
COMPACTED: Final = (
    "The conversation was compacted. Its summary is being kept in memory as this session's running "
    "summary; where you know better what is true now, call consolidate."
)

_HEAD_FILE: Final = "memory-head.json"
_ID: Final = compile_later(r"\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]")


def render_opening(place: Place) -> str:
    """The rendered bootstrap with the present time, or `ASK_FIRST` if it may no longer hold."""
    if not place.machine:
        return ASK_FIRST
    found = rendered.load_bootstrap(place.machine, place.branch)
    if found is None or not _is_made_here(found, place) or not rendered.is_current(found):
        return ASK_FIRST
    text = found["text"].strip()
    if not _is_fenced(text):  # only data is printed
        return ASK_FIRST
    return _close_fence(
        text.removesuffix(CLOSE).rstrip(), render_now_line(datetime.now(UTC), found["zone"])
    )


def find_shown_ids(text: str) -> list[str]:
    """The ids of the memories that the text shows."""
    return _ID.findall(text)


def _is_made_here(found: rendered.Rendered, place: Place) -> bool:
    """Whether it was made from this head, which exists, and for this user and team.

    A copied project holds the text of its original, and a repository may bring any text; but
    neither can foresee path, time and inode of a file here.
    """
    watched = found["watched"]
    if not os.path.isabs(watched["head_file"]) or watched["head"] is None:
        return False
    own = (
        os.path.join(place.state, _HEAD_FILE),
        os.path.join(place.machine, rendered.DATABASE_STATE_FILE),
    )
    if _normalise(watched["head_file"], place.project) not in (
        _normalise(each, place.project) for each in own
    ):
        return False
    head = next(iter(watched["git"]), "")
    if head and os.path.dirname(head) != find_git_dir_around(place.work_tree):
        return False  # another work tree stands on another commit
    made_for = (watched["user"], watched["team"], _home(watched["home"]))
    return made_for == (place.user, place.team, _home(place.home))


def _normalise(path: str, project: str = "") -> str:
    return os.path.normcase(resolve_path(path, project))


def _home(path: str) -> str:
    return path and _normalise(path)


def _is_fenced(text: str) -> bool:
    """Whether the first and the last line are a fence, and nothing between them is one."""
    first, _, rest = text.partition("\n")
    within = rest.removesuffix(CLOSE)
    return first == OPEN and within != rest and not holds_fence(within)


def _close_fence(text: str, now: str) -> str:
    """The text with the time as the last line within the fence, cut to the limit."""
    room = CONTEXT_UNITS_MAX - _utf16_units(now) - len(CLOSE) - 2
    lines: list[str] = []
    for line in text.split("\n"):
        room -= _utf16_units(line) + 1
        if room < 0 and lines:
            break
        lines.append(line)
    return "\n".join((*lines, now, CLOSE))


def _utf16_units(text: str) -> int:
    """The length as JavaScript counts: a character beyond 16 bits counts twice."""
    return len(text) + sum(char > "\uffff" for char in text)
