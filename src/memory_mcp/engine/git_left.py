"""What git was left in the middle of for so long that somebody may have forgotten it.

As long as it lasts, git is not followed. It is told with its age, and never ended from here.
"""

from datetime import datetime, timedelta
from typing import Final

from memory_mcp.domain.normalise import pluralise
from memory_mcp.frozen import frozen
from memory_mcp.ports import GitHistory

_LOCK_MIN: Final = timedelta(minutes=10)
"""Git holds its index for seconds; a commit whose editor is open does for longer."""
_OPERATION_MIN: Final = timedelta(days=1)
"""A rebase with conflicts takes a day's work at most."""


@frozen
class LeftOver:
    """What was left, with its age, and what can be done."""

    what: str
    remedy: str


def find_left_over(history: GitHistory, now: datetime) -> LeftOver | None:
    """What git is in the middle of, if it has been for too long."""
    found = history.find_unfinished()
    if found is None:
        return None
    age = now - found.since
    locks = found.ends.startswith("rm ")
    if age < (_LOCK_MIN if locks else _OPERATION_MIN):
        return None
    asked = "If no git runs here any more" if locks else "If nobody works on it any more"
    return LeftOver(
        f"{found.what}, untouched for {_count(age)}.", f"{asked}, `{found.ends}` ends that."
    )


def _count(age: timedelta) -> str:
    hours = int(age.total_seconds()) // 3600
    if age.days > 1:
        return pluralise(age.days, "day", "days")
    if hours:
        return pluralise(hours, "hour", "hours")
    return pluralise(int(age.total_seconds()) // 60, "minute", "minutes")
