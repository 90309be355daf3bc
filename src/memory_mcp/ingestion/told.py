"""What a session's episodes remember of having told, in their keys and those of their tombstones.

A key says the session and the number of the last turn that was told, and ends in a mark of the last
two turns, by which they are known again when nobody gives a number.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain.episodes import Turn
from memory_mcp.domain.ids import time_of
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.record import Origin, Record, Scope

__all__ = ["last_of", "mark_of", "number_of", "series", "told_at", "turn_of"]

_TURN: Final = re.compile(r":(\d{1,9})(?:~([0-9a-f]{8})([0-9a-f]{8}))?$")
_MARK_DIGITS: Final = 8
_NO_TURN: Final = "0" * _MARK_DIGITS


def series(scope: Scope, origin: Origin) -> str:
    """What the keys of a session's episodes begin with."""
    return f"project:{scope.project or 'none'}:episode:{origin.session or 'none'}"


def mark_of(turns: Sequence[Turn]) -> str:
    """By what the last two of these turns are known again; '' if there are none."""
    if not turns:
        return ""
    seen = [_digest(turn) for turn in turns[-2:]]
    return _before(seen, len(seen) - 1) + seen[-1]


def number_of(turns: Sequence[Turn], last: Record | None) -> int:
    """The number of the last of these turns, when nobody gave it: what was told, and what is new.

    All after the last turn that was told is new. If that is not among them, all of them are.
    """
    if last is None:
        return len(turns)
    found = _TURN.search(last.key)
    seen = [_digest(turn) for turn in turns]
    ends = [place for place, each in enumerate(seen) if found and each == found[3]]
    sure = [place for place in ends if found and found[2] in (_NO_TURN, _before(seen, place))]
    # of the first one nobody knows what was before it; a short answer comes again and again
    place = min(sure or [place for place in ends if place == 0], default=-1)
    return turn_of(last) + len(turns) - place - 1


def last_of(records: Iterable[Record]) -> Record | None:
    """The one that was told last."""
    return max(records, key=told_at, default=None)


def told_at(record: Record) -> datetime:
    """When an episode was written; of one that was forgotten its tombstone knows."""
    if record.kind != "tombstone":
        return record.created_at
    return time_of(max(record.supersedes))


def turn_of(record: Record) -> int:
    """After how many turns of its session an episode was written."""
    found = _TURN.search(record.key)
    return int(found[1]) if found else 0


def _before(seen: Sequence[str], place: int) -> str:
    return seen[place - 1] if place else _NO_TURN


def _digest(turn: Turn) -> str:
    return digest(f"{turn.role}: {turn.content}")[:_MARK_DIGITS]
