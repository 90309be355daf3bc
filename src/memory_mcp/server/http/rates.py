"""How often somebody may call: a bucket for each, which fills again with time."""

from typing import Final

_KNOWN_MAX: Final = 10_000
"""Of more callers, the one that was silent for longest begins anew."""


class Rates:
    """A bucket for each name. It holds `burst` calls and is filled with `per_minute`."""

    def __init__(self, per_minute: float, burst: float) -> None:
        self._per_second = per_minute / 60
        self._burst = burst
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str, now: float) -> float:
        """Take one call out of the bucket; seconds to wait if there is none, else 0."""
        level, at = self._levels.pop(name, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._per_second)
        allowed = level >= 1
        self._levels[name] = level - allowed, now
        if len(self._levels) > _KNOWN_MAX:
            del self._levels[next(iter(self._levels))]
        return 0 if allowed else (1 - level) / self._per_second
