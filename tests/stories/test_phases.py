"""In which phase a project is, and what it is: said once, seen by every session."""

from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint
from doors import Era, agent, call, read, records, refused, seal

from memory_mcp import engine
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.timeline import PhaseChange

pytestmark = pytest.mark.anyio


def test_a_project_moves_from_phase_to_phase(run: Run, project: Path) -> None:
    """Each move is an event with the project's key; the head shows where that led."""
    assert run("phase")[1] == "No phase was begun yet: memory-mcp phase 1.\n"
    first = as_json(run, "phase", "1")
    again = as_json(run, "phase", "1")
    as_json(run, "phase", "2")

    assert first["message"] == "The project is in phase 1 now."
    assert again == {"success": True, "phase": 1, "message": "It is there already."}
    one, two = records(project)
    assert (one["kind"], one["phase"], one["key"]) == ("event", 1, two["key"])
    assert one["key"].endswith(":phase")
    assert two["content"] == "The project moved from phase 1 to phase 2."
    assert "branch main, working on phase 2." in run("status")[1]
    shown = as_json(run, "phase")
    assert (shown["phase"], shown["by"]) == (2, "transition")
    assert [step["phase"] for step in shown["history"]] == [1, 2]
    assert [step["at"] for step in shown["history"]] == [one["created_at"], two["created_at"]]
    assert run("phase")[1].startswith("Phase 2 (worked on).\n- ")
    opening = run("context")[1]
    assert "working on phase 2" in opening
    assert "The project moved" not in opening


def test_what_is_written_belongs_to_the_phase_that_is_worked_on(run: Run, project: Path) -> None:
    """Where a phase is given to a checkpoint, or was begun before, the transition follows."""
    as_json(run, "phase", "1")
    as_json(run, "add", "Orders live in PostgreSQL.")
    sealed = as_json(run, "checkpoint", "Planned")
    other = as_json(run, "checkpoint", "Stored", "--phase", "2")
    loose = as_json(run, "checkpoint", "Half way")

    assert sealed["checkpointId"].startswith("phase1-")
    assert other["checkpointId"].startswith("phase2-")
    assert loose["checkpointId"].startswith("checkpoint-"), "phase 2 is over, none was begun"
    assert [r.get("phase") for r in records(project)] == [1, 1, 1, 2, None]
    shown = as_json(run, "phase")
    assert (shown["phase"], shown["by"]) == (2, "checkpoint")
    assert "branch main, phase 2 is sealed." in run("status")[1]
    assert f"phase 2 sealed by {other['checkpointId']}" in run("phase")[1]


def test_a_sealed_phase_that_is_begun_again_gets_a_warning(run: Run) -> None:
    """Two attempts at one phase must not mix."""
    as_json(run, "checkpoint", "Planned", "--phase", "2")
    said = as_json(run, "phase", "1")

    assert "has sealed phase 2 already" in said["message"]
    assert "10000 is out of range" in complaint(run, "phase", "10000", expected=2)


async def moved(settings: Settings, number: int) -> None:
    """What the command does, where an event loop runs already."""
    async with open_workspace(settings) as built:
        assert isinstance(await engine.move_to_phase(built.workspace, number), PhaseChange)


async def test_a_backtrack_takes_a_transition_back(settings: Settings, era: Era) -> None:
    """The project is again where it was when the checkpoint was sealed."""
    async with agent(settings, era) as client:
        await seal(client, "Planned", 1)
    await moved(settings, 2)
    async with agent(settings, era) as client:
        assert "working on phase 2" in await read(client, "memory_head")
        await call(client, "backtrack", to=1, mode="continue")
        assert "phase 1 is sealed" in await read(client, "memory_head")


async def test_a_phase_that_is_redone_is_said_to_be_and_how(settings: Settings, era: Era) -> None:
    """At the beginning and with the first memory, in the same words as the head says it."""
    async with agent(settings, era) as client:
        one = await seal(client, "Planned", 1)
        await seal(client, "Built", 2)
    async with agent(replace(settings, phase=2), era) as client:
        opened = await read(client, "memory_context")
        first = await call(client, "add_memory", content="The orders move to Postgres.")
        second = await call(client, "add_memory", content="The mails go out by SES.")
        for said in (opened, str(first), await read(client, "memory_head")):
            assert "has sealed phase 2 already" in said
            for way in (f"backtrack(to='{one}')", "again=true"):
                assert way in said
        assert "has sealed phase" not in str(second)

        await call(client, "backtrack", to=one, mode="continue")
        assert "has sealed phase" not in await read(client, "memory_context")
        assert (await seal(client, "Built anew")).startswith("phase2-")


@pytest.mark.parametrize("mode", ["continue", "forget"])
async def test_a_phase_is_redone_from_before_its_checkpoint(
    settings: Settings, era: Era, mode: str
) -> None:
    """Whoever goes back to its checkpoint has it sealed behind them, and a later phase is open."""
    async with agent(settings, era) as client:
        one = await seal(client, "Planned", 1)
        await seal(client, "Built", 2)
        await call(client, "backtrack", to=1, mode=mode)
        assert "phase 1 is sealed" in await read(client, "memory_head")
        refused = await call(client, "checkpoint", summary="Planned anew", phase=1)
        assert f"Phase 1 is sealed already by {one}." in refused["message"]
        assert (await seal(client, "Built anew", 2)).startswith("phase2-")
        await call(client, "backtrack", to="start", mode=mode)
        assert (await seal(client, "Planned anew", 1)).startswith("phase1-")


async def test_the_setting_wins_for_its_session(settings: Settings, era: Era) -> None:
    """A pipeline that says MEMORY_PHASE knows best; the others keep what the records say."""
    await moved(settings, 2)
    async with agent(replace(settings, phase=5), era) as client:
        assert "working on phase 5" in await read(client, "memory_head")
        assert (await seal(client, "Done")).startswith("phase5-")
    async with agent(settings, era) as client:
        assert "phase 5 is sealed" in await read(client, "memory_head")


def test_a_session_with_a_setting_is_told_that_it_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command moves the project, not the session that typed it."""
    monkeypatch.setenv("MEMORY_PHASE", "3")
    said = as_json(run, "phase", "4")

    assert "This session goes on with phase 3 (MEMORY_PHASE)." in said["message"]
    assert run("phase")[1].startswith("Phase 3 (as MEMORY_PHASE says).")


def test_a_project_says_what_it_is(run: Run, project: Path) -> None:
    """Durable, and one at a time: the new text takes the old one's place."""
    assert "Nobody said yet what this project is" in run("identity")[1]
    first = as_json(run, "identity", "A web shop for refurbished bicycles.")
    same = as_json(run, "identity", "A web shop for refurbished bicycles.")
    new = as_json(run, "identity", "A web shop for bicycles and spare parts.")

    assert first["durable"] is True
    assert same["outcome"] == "known"
    assert new["replaced"] == [first["memoryId"]]
    assert run("identity")[1] == "A web shop for bicycles and spare parts.\n"
    stored = records(project)[-1]
    assert (stored["kind"], "segment" in stored) == ("identity", False)
    assert stored["key"].endswith(":identity")


def test_where_memory_is_off_nothing_is_said_or_shown(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off is off, for each of these commands."""
    monkeypatch.setenv("MEMORY_ENABLED", "false")
    for command in (["phase"], ["phase", "1"], ["identity"], ["identity", "A shop."]):
        status, _, error = run(*command)
        assert (status, "Memory is off" in error) == (1, True)
    assert not (project / ".state").exists()


async def test_a_phase_out_of_range_is_refused(settings: Settings, era: Era) -> None:
    """The same range as everywhere."""
    async with agent(settings, era) as client:
        said = await refused(client, "checkpoint", summary="x", phase=10_000)

    assert "it must be 0 to 9999" in said
