"""When to try again: the circuit breaker of the cloud, and the retries of a single parcel. Pure.

`chance` is a random number in 0-1: sessions that failed together must not come back together.
"""

from typing import Final

from memory_mcp.domain.cloud import Standing
from memory_mcp.domain.limits import (
    CONFIRM_SECONDS,
    KEY_PROBE_SECONDS,
    REMOTE_PAUSE_SECONDS_MAX,
    REMOTE_PAUSE_SECONDS_MIN,
    RETRY_AFTER_SECONDS_MAX,
)
from memory_mcp.errors import RemoteBlockedError, RemoteError, RemoteUnavailableError

_DOUBLINGS_MAX: Final = 12


def after_failure(standing: Standing, error: RemoteError, *, now: float, chance: float) -> Standing:
    """How the cloud stands after it failed so.

    What blocks it is tried again by a probe, now and then; what passes, after a pause that doubles;
    a request that is wrong in itself says nothing about the cloud.
    """
    match error:
        case RemoteBlockedError():
            return Standing(
                failures=standing.failures + 1,
                paused_until=now + KEY_PROBE_SECONDS * _spread(chance),
                blocked=str(error),
                reason=str(error),
            )
        case RemoteUnavailableError(retry_after=asked):
            own = pause(standing.failures, chance=chance)
            waits = own if asked is None else max(asked, REMOTE_PAUSE_SECONDS_MIN)
            return Standing(
                failures=standing.failures + 1,
                paused_until=now + min(waits, RETRY_AFTER_SECONDS_MAX),
                blocked=standing.blocked,
                reason=str(error),
            )
        case _:
            return standing


def may_ask(standing: Standing, now: float) -> bool:
    """Whether a request makes sense now: not blocked, and no pause under way."""
    return not standing.blocked and standing.paused_until <= now


def pause(failures: int, *, chance: float) -> float:
    """Seconds to wait after so many failures before this one: doubling, bounded, spread."""
    doubled = REMOTE_PAUSE_SECONDS_MIN * 2.0 ** min(failures, _DOUBLINGS_MAX)
    return min(REMOTE_PAUSE_SECONDS_MAX, doubled) * _spread(chance)


def confirm_in(looks: int) -> float:
    """Seconds until the next look at a document that was taken, after so many looks."""
    return CONFIRM_SECONDS[min(looks, len(CONFIRM_SECONDS) - 1)]


def _spread(chance: float) -> float:
    """Between a half and one and a half of what was meant."""
    return 0.5 + chance
