"""What waits in the inbox while something newer happens must not take its place."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from command_line import Run
from doors import machine_dir
from fakes import START, FakeClock, fake_workspace, forked, switched
from hooked import SESSION
from test_inbox import SAID, compacted, ended, inbox_of, kept

from memory_mcp import branches, maintenance, memories, sessions
from memory_mcp.branches.backtrack import Choice
from memory_mcp.domain.limits import EVENTS_AT_ONCE_MAX
from memory_mcp.domain.outcomes import ToConsolidate
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace
from memory_mcp.hooks import files

pytestmark = pytest.mark.anyio


async def phased(clock: FakeClock) -> Workspace:
    """A project with a phase to go back to, and something that came after it."""
    workspace = fake_workspace(clock)
    await branches.checkpoint(workspace, "Phase one stands.", 1, again=False, approval="approved")
    clock.advance(timedelta(minutes=1))
    await memories.add_memory(workspace, Draft(content="Sessions are kept in Redis."))
    clock.advance(timedelta(minutes=1))
    return workspace


@pytest.mark.parametrize("choice", ["continue", "forget"])
async def test_what_waits_goes_with_the_road_that_is_left(choice: Choice) -> None:
    """It was said there: on the new one it would bring back what was given up."""
    clock = FakeClock()
    workspace = await phased(clock)
    ended(workspace, *SAID, at=clock.now().isoformat())
    compacted(workspace, "Redis was chosen.", at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    await branches.backtrack(workspace, "phase 1", choice)
    await sessions.work_off(workspace)

    assert inbox_of(workspace).raw == {}
    assert await kept(workspace, "episode") == []
    assert await kept(workspace, "summary") == []


@pytest.mark.parametrize("choice", ["continue", "forget"])
async def test_what_could_not_be_worked_off_before_is_dropped_after(
    choice: Choice, caplog: pytest.LogCaptureFixture
) -> None:
    """Another process may have had the inbox, or the event was written a moment later."""
    clock = FakeClock()
    workspace = await phased(clock)
    said_at = clock.now().isoformat()
    clock.advance(timedelta(minutes=1))
    await branches.backtrack(workspace, "phase 1", choice)
    ended(workspace, *SAID, at=said_at)
    compacted(workspace, "Redis was chosen.", at=said_at)
    with caplog.at_level(logging.INFO, "memory_mcp.inbox"):
        done = await sessions.work_off(workspace)

    assert [note.partition(": ")[2] for note in done.notes] == [
        "it was said on a road that the branch has left since"
    ] * 2
    assert "WARNING" in {record.levelname for record in caplog.records}
    assert await kept(workspace, "episode") == []
    assert await kept(workspace, "summary") == []


async def test_what_is_said_after_a_backtrack_is_kept() -> None:
    """And so is what was said on another branch than the one that was moved."""
    clock = FakeClock()
    workspace = await phased(clock)
    workspace = await forked(workspace, "try", "")
    said_at = clock.now().isoformat()
    clock.advance(timedelta(minutes=1))
    workspace = await switched(workspace, "main")
    await branches.backtrack(workspace, "phase 1", "continue")
    clock.advance(timedelta(minutes=1))
    compacted(workspace, "PostgreSQL was chosen.", at=clock.now().isoformat())
    ended(workspace, *SAID, at=said_at, branch="try")
    assert (await sessions.work_off(workspace)).notes == ()

    assert len(await kept(workspace, "summary")) == 1
    workspace = await switched(workspace, "try")
    assert len(await kept(workspace, "episode")) == 1


async def test_a_move_that_was_quicker_than_the_episode_takes_it_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was looked before, and the branch was moved while a model summed up."""
    clock = FakeClock()
    workspace = await phased(clock)
    ended(workspace, *SAID, at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    capture = sessions.episodic_capture

    async def slow(*given: object, **more: object) -> object:
        with monkeypatch.context() as patched:
            patched.setattr("memory_mcp.branches.backtrack.work_off", branches.memory_head)
            await branches.backtrack(workspace, "phase 1", "forget")
        return await capture(*given, **more)  # pyright: ignore[reportArgumentType]  # passed on

    monkeypatch.setattr("memory_mcp.sessions.inbox.episodic_capture", slow)
    await sessions.work_off(workspace)

    assert await kept(workspace, "episode") == []


@pytest.mark.parametrize("final", [False, True])
async def test_a_summary_gives_way_to_what_the_agent_consolidated_since(*, final: bool) -> None:
    """The agent was told to do so where it knows better; a worker that was killed comes again."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    compacted(workspace, "Redis is used.", at=clock.now().isoformat())
    before = dict(inbox_of(workspace).raw)
    for again in (False, True):
        clock.advance(timedelta(minutes=1))
        given = ToConsolidate(memory_update="PostgreSQL is used.", session=SESSION, final=final)
        await sessions.consolidate(workspace, given)
        inbox_of(workspace).raw.update(before)
        assert (await sessions.work_off(workspace)).done == 1, again
        (summary,) = await kept(workspace, "summary")
        assert summary.content == "PostgreSQL is used."


async def test_a_summary_takes_the_place_of_what_was_consolidated_before_it() -> None:
    """And the agent is reminded no later for a summary that is not its own."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    given = ToConsolidate(memory_update="Redis is used.", session=SESSION)
    await sessions.consolidate(workspace, given)
    clock.advance(timedelta(minutes=1))
    compacted(workspace, "PostgreSQL is used.", at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    compacted(workspace, "PostgreSQL is used, with PgBouncer.", at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    assert (await sessions.work_off(workspace)).done == 2
    (summary,) = await kept(workspace, "summary")

    assert summary.content == "PostgreSQL is used, with PgBouncer."
    assert inbox_of(workspace).consolidated == [SESSION]


async def test_a_summary_does_not_lie_about_for_a_month() -> None:
    """It is not cleaned of secrets before it is worked off."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    compacted(workspace, "The key is here.")
    clock.advance(timedelta(days=8))

    assert (await sessions.work_off(workspace)).notes == ("00000.json: it is too old",)


def test_the_doctor_works_off_all_and_names_what_waits(run: Run, project: Path) -> None:
    """One go is a hundred."""
    machine = str(machine_dir(project))
    for number in range(EVENTS_AT_ONCE_MAX + 5):
        event = {"event": "session-end", "session": f"s{number}", "transcript_path": "/gone.jsonl"}
        files.leave_event(machine, event)
    _, out, _ = run("doctor")

    assert "wait in the inbox" not in out
    assert list((Path(machine) / "inbox").glob("*.json")) == []


async def test_what_waits_on_is_a_finding() -> None:
    """Else nobody would learn that the inbox fills."""
    workspace = fake_workspace()
    ended(workspace, *SAID)
    async with workspace.inbox.alone():  # somebody is at it, and does not come to an end
        (finding,) = [f for f in await maintenance.doctor(workspace) if f.code == "inbox-waiting"]

    assert finding.what.startswith(f"1 event(s) of hooks wait in the inbox, since {START:%Y-%m-%d}")
