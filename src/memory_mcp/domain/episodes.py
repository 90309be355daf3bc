"""What a session says turn by turn, and how often that becomes an episode of its own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = ["Pace", "Turn"]


@dataclass(frozen=True)
class Turn:
    """One message of a session, and when it was said, if that is known."""

    role: Literal["user", "assistant"]
    content: str
    at: datetime | None = None


@dataclass(frozen=True)
class Pace:
    """Of the last `window` turns an episode is made, at most `per_day` in a session and day.

    Between two of them lie at least `cooldown_turns` turns and `cooldown_minutes` minutes. What is
    no more than `merge_hours` after the last one and less than `novelty_min` new (0-1) is merged
    into it.
    """

    window: int = 12
    cooldown_turns: int = 6
    cooldown_minutes: int = 10
    per_day: int = 24
    merge_hours: float = 6.0
    novelty_min: float = 0.35
