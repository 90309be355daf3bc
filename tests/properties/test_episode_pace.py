"""Any sequence of captures keeps to the cap and the pauses."""

from datetime import timedelta

from depth import depth
from fakes import SCOPE, FakeClock, FakeIds
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp.domain.ids import MAIN, ROOT
from memory_mcp.domain.record import Origin, Record, RecordContext
from memory_mcp.domain.sessions import EpisodeSettings
from memory_mcp.text.episodes import (
    EpisodeHistory,
    NoEpisode,
    SessionMoment,
    build_episode,
    plan_episode,
    read_turn_number,
)

steps = st.tuples(
    st.integers(0, 12), st.integers(0, 400), st.floats(0, 1), st.booleans(), st.booleans()
)


@given(
    st.lists(steps, max_size=40),
    st.integers(0, 8), st.integers(0, 60), st.integers(0, 4), st.integers(0, 12),
)  # fmt: skip
@settings(max_examples=depth(33, 200))
def test_cap_and_pauses_hold_for_any_sequence(
    story: list[tuple[int, int, float, bool, bool]], turns: int, minutes: int, cap: int, hours: int
) -> None:
    """Whatever hooks do, a session never fills the store: also across backtracks."""
    pace = EpisodeSettings(
        cooldown_turns=turns, cooldown_minutes=minutes, per_day=cap, merge_hours=hours
    )
    clock, ids = FakeClock(), FakeIds()
    kept: list[Record] = []
    turn = 0
    for more, wait, new, final, left in story:
        turn += more
        clock.advance(timedelta(minutes=wait))
        now = clock.now()
        gone = {id_ for record in kept for id_ in record.supersedes}
        standing = [record for record in kept if record.id not in gone]
        newest = next(reversed(standing), None)
        past = EpisodeHistory(newest, standing, None if left else newest)
        moment = SessionMoment(turn, now, final)
        plan = plan_episode(f"- user: Turn {turn} told.", new, past, moment, pace)
        if isinstance(plan, NoEpisode):
            continue
        if newest is not None and not final:
            assert now - newest.created_at >= timedelta(minutes=minutes)
            assert turn - read_turn_number(newest) >= turns
        place = RecordContext(ids.new(now), now, ROOT, MAIN, SCOPE, Origin(session="s"))
        kept.append(build_episode(plan, moment, place, None))
    begun = [record.created_at.date() for record in kept if not record.supersedes]
    assert all(begun.count(day) <= cap for day in begun)
