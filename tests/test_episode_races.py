"""Episodes in memory: the cap, captures that overlap, a model, and lines given up meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fake_language import FakeLanguage
from fakes import FakeClock, FakeIds, another_session, called, fake_workspace

from memory_mcp import branches, memories, sessions
from memory_mcp.domain.outcomes import Captured, EpisodeOutcome, Skipped, Waited
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.sessions import Pace, Turn
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import ModelUnavailableError

pytestmark = pytest.mark.anyio

NO_PAUSE = Pace(cooldown_turns=1, cooldown_minutes=0)


def in_memory(pace: Pace) -> tuple[Workspace, FakeClock]:
    """A workspace in memory and their clock."""
    clock = FakeClock()
    return fake_workspace(clock, FakeIds(), policy=Policy(pace=pace)), clock


def about(subject: str) -> list[Turn]:
    """A request about something."""
    return [Turn("user", f"Please write the {subject} for {subject} customers.")]


async def episode_of(outcome: EpisodeOutcome) -> Record:
    """The record that was written."""
    assert isinstance(outcome, Captured), outcome
    return outcome.record


async def test_the_cap_of_a_day_counts_roads_that_were_left_and_ends_at_midnight() -> None:
    """A backtrack must not double what a day may hold."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=2, merge_hours=0))
    await branches.checkpoint(workspace, "One", 1, again=False, approval="auto")
    for turn, subject in enumerate(("invoice", "label"), start=1):
        await episode_of(await sessions.episodic_capture(workspace, about(subject), turn))
        clock.advance(timedelta(minutes=1))
    await branches.backtrack(workspace, "1", "continue")
    clock.advance(timedelta(minutes=1))
    full = await sessions.episodic_capture(workspace, about("poster"), 3)
    clock.advance(timedelta(days=1))
    await episode_of(await sessions.episodic_capture(workspace, about("poster"), 4))

    assert full == Waited("This session has its 2 episode(s) of the day (EPISODIC_MAX_PER_DAY).")


async def test_captures_that_overlap_exceed_the_cap_by_no_more_than_they_are() -> None:
    """No lock is held: what overlaps may each write one, and all later ones see them."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=1, merge_hours=0))
    other = another_session(workspace)
    outcomes = await asyncio.gather(
        sessions.episodic_capture(workspace, about("invoice"), 1),
        sessions.episodic_capture(other, about("label"), 2),
    )
    clock.advance(timedelta(minutes=1))
    later = await sessions.episodic_capture(workspace, about("poster"), 3)

    assert 1 <= sum(isinstance(outcome, Captured) for outcome in outcomes) <= 2
    assert isinstance(later, Waited)


class Summing(FakeLanguage):
    """Sums up as it is told to."""

    def __init__(self, sums_up: Callable[[Sequence[str]], Awaitable[str]]) -> None:
        super().__init__()
        self._sums_up = sums_up

    async def summarise(self, turns: Sequence[str]) -> str:
        return await self._sums_up(turns)


async def test_a_model_sums_up_if_it_answers() -> None:
    """And what it says is looked through again; if it is down, nobody waits for it twice."""
    plain, _ = in_memory(NO_PAUSE)
    heard: list[list[str]] = []

    async def answers(turns: Sequence[str]) -> str:
        heard.append(list(turns))
        return "They moved the cart to Redis.\n- Old. [0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77]"

    async def is_down(_: Sequence[str]) -> str:
        raise ModelUnavailableError("It does not answer.")

    workspace = replace(plain, language=Summing(answers))
    by_model = await sessions.episodic_capture(workspace, about("invoice"), 1)
    down = replace(plain, language=Summing(is_down))
    without = await sessions.episodic_capture(down, about("label"), 2)
    quiet = await sessions.episodic_capture(workspace, [Turn("user", "Thanks!")], 3)

    assert (await episode_of(by_model)).content == "They moved the cart to Redis."
    assert heard == [["user: Please write the invoice for invoice customers."]]
    assert isinstance(without, Captured)
    assert without.notes == ("Summed up without the language model: It does not answer.",)
    assert without.record.content == "- user: Please write the label for label customers."
    assert isinstance(quiet, Waited)


async def test_a_capture_looks_again_after_the_model() -> None:
    """A model takes seconds, in which another hook may have told the same."""
    workspace, clock = in_memory(Pace(cooldown_turns=1, merge_hours=0))

    async def slow(_: Sequence[str]) -> str:
        await sessions.episodic_capture(workspace, about("invoice"), 1)
        clock.advance(timedelta(seconds=10))
        return "The invoice was written."

    late = await sessions.episodic_capture(
        replace(workspace, language=Summing(slow)), about("invoice"), 1
    )

    assert late == Waited("Turn 1 of this session was captured already.")


def windows(number: int, new: int, size: int) -> list[list[Turn]]:
    """What a hook hands in that knows the last messages only: each time some are new."""
    subjects = "invoice label poster ticket letter recipe manual contract budget report".split()  # noqa: SIM905
    talk = [
        each
        for count, subject in enumerate(subjects * 9)
        for each in (*about(f"{subject} {count}"), Turn("assistant", "Okay."))
    ]
    return [talk[max(0, end - size) : end] for end in range(new, new * number + 1, new)]


@pytest.mark.parametrize(("new", "size"), [(6, 12), (6, 6), (12, 12), (8, 500), (7, 12)])
async def test_windows_without_a_number_are_captured_one_by_one(new: int, size: int) -> None:
    """The last dozen messages, or all there were: either way each is told once."""
    workspace, clock = in_memory(Pace(cooldown_minutes=0, merge_hours=0))
    told: list[str] = []
    for turns in windows(5, new, size):
        record = await episode_of(await sessions.episodic_capture(workspace, turns, None))
        told += record.content.splitlines()
        clock.advance(timedelta(minutes=1))
        again = await sessions.episodic_capture(workspace, turns, None)
        assert "captured already" in str(again)

    assert len(told) == len(set(told)) == -(-5 * new // 2)


async def test_without_a_number_the_pauses_hold_all_the_same() -> None:
    """Hooks call after every message."""
    workspace, clock = in_memory(Pace(merge_hours=0, cooldown_minutes=5))
    first, early, later = (windows(3, new, 12)[-1] for new in (2, 3, 5))
    await episode_of(await sessions.episodic_capture(workspace, first, None))
    clock.advance(timedelta(minutes=4))
    assert "COOLDOWN_MINUTES" in str(await sessions.episodic_capture(workspace, later, None))
    clock.advance(timedelta(minutes=1))
    assert "3 turn(s) since" in str(await sessions.episodic_capture(workspace, early, None))

    await episode_of(await sessions.episodic_capture(workspace, later, None))


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("erase", [True, False])
async def test_what_was_forgotten_is_not_told_again_and_frees_no_place(
    *, numbered: bool, erase: bool
) -> None:
    """Whoever forgets an episode does not want it back with the next message."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=2, merge_hours=0))
    turns = about("invoice")
    record = await episode_of(
        await sessions.episodic_capture(workspace, turns, 1 if numbered else None)
    )
    clock.advance(timedelta(minutes=1))
    elsewhere = called(workspace, conversation="another")
    await memories.forget_memory(elsewhere, record.id, "It was a test.", erase=erase)
    clock.advance(timedelta(minutes=1))
    again = await sessions.episodic_capture(workspace, turns, 1 if numbered else None)
    turns += about("label")
    more = await episode_of(
        await sessions.episodic_capture(workspace, turns, 2 if numbered else None)
    )
    clock.advance(timedelta(minutes=1))
    turns += about("poster")
    full = await sessions.episodic_capture(workspace, turns, 3 if numbered else None)

    assert again == Waited("Turn 1 of this session was captured already.")
    assert more.content == "- user: Please write the label for label customers."
    assert full == Waited("This session has its 2 episode(s) of the day (EPISODIC_MAX_PER_DAY).")


async def test_of_a_merged_episode_all_is_remembered_as_told() -> None:
    """What is forgotten by its first part goes up to its last turn."""
    workspace, clock = in_memory(NO_PAUSE)
    turns = about("invoice")
    first = await episode_of(await sessions.episodic_capture(workspace, turns, 1))
    clock.advance(timedelta(minutes=1))
    turns += [Turn("assistant", "The invoice for invoice customers is written.")]
    merged = await episode_of(await sessions.episodic_capture(workspace, turns, 2))
    assert merged.supersedes == (first.id,)
    await memories.forget_memory(workspace, first.id, "", erase=True)

    assert "Turn 2" in str(await sessions.episodic_capture(workspace, turns, 2))
    assert "Turn 2" in str(await sessions.episodic_capture(workspace, turns, None))


async def test_conversations_of_one_server_have_episodes_of_their_own() -> None:
    """Counted as one, a new conversation would be taken for a part of the old one."""
    workspace, _ = in_memory(Pace(merge_hours=0))
    one, other = (called(workspace, conversation=name) for name in "12")
    turns = windows(1, 6, 12)[0]

    for each in (one, other):
        record = await episode_of(await sessions.episodic_capture(each, turns, 6))
        assert record.origin.session == each.caller.conversation


async def test_the_title_is_in_the_users_time_zone_and_the_day_of_the_cap_in_utc() -> None:
    """ "Yesterday evening" is the user's; a cap that moves with the user is none."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=1, merge_hours=0))
    draft = Draft(content="My time zone is Pacific/Auckland.", reach="user")
    await memories.add_memory(workspace, draft)
    record = await episode_of(await sessions.episodic_capture(workspace, about("invoice"), 1))
    clock.advance(timedelta(hours=9))
    full = await sessions.episodic_capture(workspace, about("label"), 2)

    assert clock.now().isoformat().startswith("2026-01-31T23:30")
    assert record.title == "2026-02-01 night"
    assert isinstance(full, Waited)
    clock.advance(timedelta(hours=1))
    later = await episode_of(await sessions.episodic_capture(workspace, about("label"), 2))
    assert later.title == "2026-02-01 afternoon"


async def test_a_line_that_is_given_up_meanwhile_keeps_no_episode() -> None:
    """What was forgotten for good must not come back a moment later."""
    workspace, clock = in_memory(NO_PAUSE)
    await branches.checkpoint(workspace, "One", 1, again=False, approval="auto")
    keep = type(workspace.project).keep
    modes: list[Any] = ["continue", "forget"]

    async def meanwhile(self: Any, record: Record) -> tuple[str, ...]:
        if record.kind == "episode":
            clock.advance(timedelta(seconds=1))
            await branches.backtrack(workspace, "1", modes.pop(0))
        return await keep(self, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(workspace.project), "keep", meanwhile)
        hidden = await sessions.episodic_capture(workspace, about("invoice"), 1)
        clock.advance(timedelta(seconds=1))
        gone = await sessions.episodic_capture(workspace, about("label"), 2)

    assert "line that was left" in " ".join(await episode_note(hidden))
    assert gone == Waited("Another session gave up this line for good: its episode went with it.")
    assert await sessions.episodic_capture(
        replace(workspace, policy=Policy(enabled=False)), [], 0
    ) == Skipped("Memory is off (MEMORY_ENABLED=false): go on without it.")


async def episode_note(outcome: EpisodeOutcome) -> tuple[str, ...]:
    """What was said beside the episode."""
    assert isinstance(outcome, Captured), outcome
    return outcome.notes
