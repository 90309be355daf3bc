"""When the cloud is asked again."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.domain.cloud import (
    CircuitState,
    allows_requests,
    backoff_seconds,
    confirmation_delay,
    record_failure,
)
from memory_mcp.domain.limits import (
    CONFIRM_SECONDS,
    KEY_PROBE_SECONDS,
    REMOTE_PAUSE_SECONDS_MAX,
    REMOTE_PAUSE_SECONDS_MIN,
    RETRY_AFTER_SECONDS_MAX,
)
from memory_mcp.errors import (
    RemoteBlockedError,
    RemoteRejectedError,
    RemoteUnavailableError,
)

CHANCES = st.floats(0, 1)
FAILURES = st.integers(0, 10**9)
NOW = 1_000.0


def test_a_pause_doubles_from_the_shortest_to_the_longest() -> None:
    """Quick to come back after a hiccup, and no burden on a service that is down."""
    pauses = [backoff_seconds(failures, chance=0.5) for failures in range(40)]

    assert pauses[0] == REMOTE_PAUSE_SECONDS_MIN
    assert pauses[-1] == REMOTE_PAUSE_SECONDS_MAX
    assert all(b == min(2 * a, REMOTE_PAUSE_SECONDS_MAX) for a, b in pairwise(pauses))


@given(failures=FAILURES, chance=CHANCES)
def test_a_pause_is_within_bounds_and_spread(failures: int, chance: float) -> None:
    """Sessions that failed together must not come back together."""
    meant = backoff_seconds(failures, chance=0.5)
    found = backoff_seconds(failures, chance=chance)

    assert REMOTE_PAUSE_SECONDS_MIN <= meant <= REMOTE_PAUSE_SECONDS_MAX
    assert 0.5 * meant <= found <= 1.5 * meant
    assert backoff_seconds(failures, chance=0) < backoff_seconds(failures, chance=1)


@given(failures=FAILURES, chance=CHANCES)
def test_an_outage_is_paused_for_longer_each_time(failures: int, chance: float) -> None:
    """And its reason is what people are told."""
    before = CircuitState(failures=failures, paused_until=3.0, reason="before")
    after = record_failure(before, RemoteUnavailableError("down"), now=NOW, chance=chance)

    assert after == CircuitState(
        failures + 1, NOW + backoff_seconds(failures, chance=chance), "", "down"
    )
    assert not allows_requests(after, NOW)
    assert allows_requests(after, after.paused_until)


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        (7.5, 7.5), (0.0, REMOTE_PAUSE_SECONDS_MIN),
        (-3.0, REMOTE_PAUSE_SECONDS_MIN), (600.0, 600.0),
        (RETRY_AFTER_SECONDS_MAX, RETRY_AFTER_SECONDS_MAX),
        (10.0**9, RETRY_AFTER_SECONDS_MAX),
    ],
)  # fmt: skip
def test_a_pause_that_was_asked_for_is_kept_within_reason(asked: float, waits: float) -> None:
    """A service may ask for longer than we would wait by ourselves; not for all of the year."""
    error = RemoteUnavailableError("429", retry_after=asked, refused=True)
    after = record_failure(CircuitState(), error, now=NOW, chance=0.9)

    assert after == CircuitState(1, NOW + waits, "", "429")


@given(chance=CHANCES)
def test_what_blocks_is_left_to_a_probe(chance: float) -> None:
    """Until a person acts, nothing but a probe now and then makes sense."""
    before = CircuitState(failures=4)
    after = record_failure(before, RemoteBlockedError("no credit"), now=NOW, chance=chance)

    assert after.blocked == after.reason == "no credit"
    assert after.failures == 5
    assert 0.5 * KEY_PROBE_SECONDS <= after.paused_until - NOW <= 1.5 * KEY_PROBE_SECONDS
    assert not allows_requests(after, NOW)
    assert not allows_requests(after, after.paused_until), "a probe comes first"


def test_an_outage_does_not_unblock() -> None:
    """A probe that gets no answer has not found out that the key is good."""
    blocked = CircuitState(failures=1, paused_until=NOW, blocked="bad key", reason="bad key")
    after = record_failure(blocked, RemoteUnavailableError("down"), now=NOW, chance=0.5)

    assert (after.blocked, after.reason) == ("bad key", "down")
    assert after.paused_until > NOW


@pytest.mark.parametrize(
    "before", [CircuitState(), CircuitState(failures=3, paused_until=9.0, blocked="x", reason="y")]
)
def test_a_request_that_is_wrong_in_itself_says_nothing_about_the_cloud(
    before: CircuitState,
) -> None:
    """One document that is not taken must not stop the others."""
    assert record_failure(before, RemoteRejectedError("400"), now=NOW, chance=0.5) == before


def test_the_cloud_may_be_asked_unless_it_is_paused_or_blocked() -> None:
    """The first request of all needs no permission."""
    assert allows_requests(CircuitState(), 0)
    assert allows_requests(CircuitState(failures=9, paused_until=5), 5)
    assert not allows_requests(CircuitState(paused_until=5), 4.9)
    assert not allows_requests(CircuitState(blocked="x"), 10**10)


def test_looks_get_rarer_and_stay_at_the_last_pace() -> None:
    """Most documents are done in seconds; some take minutes."""
    looks = [confirmation_delay(n) for n in range(6)]

    assert looks == [*CONFIRM_SECONDS, *[CONFIRM_SECONDS[-1]] * 3]
    assert looks == sorted(looks)
    assert confirmation_delay(10**9) == CONFIRM_SECONDS[-1]
