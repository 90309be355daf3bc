"""How a session is set up: pipeline, meta, off, and settings that mean nothing."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doors import Era, add, agent, call, names_in, read, recalled, records, refused, seal

from memory_mcp.config.settings import Settings, read_settings

pytestmark = pytest.mark.anyio

READS: Mapping[str, dict[str, Any]] = {
    "search_memories": {"query": "coffee"},
    "memory_context": {"task": "coffee"},
    "memory_head": {},
}
WRITES: Mapping[str, dict[str, Any]] = {
    "add_memory": {"content": "x"},
    "checkpoint": {"summary": "x"},
    "backtrack": {"to": 1, "mode": "continue"},
    "update_memory": {"memory_id": "x", "content": "x"},
    "forget_memory": {"memory_id": "x"},
    "switch_branch": {"name": "x", "create": True},
}


@pytest.mark.parametrize("name", ["MEMORY_PHASE", "ATOMIC_PHASE"])
async def test_the_phase_of_the_pipeline_marks_what_is_written(
    settings: Settings, era: Era, project: Path, name: str
) -> None:
    """In pipeline mode nobody has to name the phase on every call."""
    phase = read_settings({name: "3"}).phase
    async with agent(replace(settings, phase=phase), era) as client:
        await add(client, "The shop sells coffee.")
        await add(client, "Told for another phase.", phase=4)
        sealed = await seal(client, "Phase done")
        assert await recalled(client, "", phase=4) == ["Told for another phase."]

    assert sealed.startswith("phase3-")
    assert [record["phase"] for record in records(project)] == [3, 4, 3]


async def test_without_a_phase_a_checkpoint_is_just_one(settings: Settings, era: Era) -> None:
    """Outside a pipeline there are no numbers, and none is invented."""
    async with agent(settings, era) as client:
        assert (await seal(client, "Done")).startswith("checkpoint-")


async def test_a_meta_session_reads_and_does_not_write(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """An agent that looks at other agents' work must not mix its own notes into it."""
    meta = replace(settings, meta=True, toolsets=("branches",))
    async with agent(settings, era) as client:
        await add(client, "The shop sells coffee.")
        await seal(client, "One", phase=1)
    before = records(tmp_path)
    async with agent(meta, era) as client:
        for tool, arguments in WRITES.items():
            said = await call(client, tool, **arguments)
            assert said["success"] is False, tool
            assert "meta session (MEMORY_MODE=meta, or" in said["message"]
            assert said["message"].endswith("this is no error.") or "Go on" in said["message"]
        pending = await call(client, "checkpoint", pending="x", decision="save")
        assert "meta session" in pending["message"]
        assert await recalled(client, "coffee") == ["The shop sells coffee."]
        assert "phase1-" in await read(client, "memory_head")
        assert "coffee" in await read(client, "memory_context")

    assert records(tmp_path) == before


@pytest.mark.protocol
async def test_memory_that_is_off_answers_and_touches_nothing(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """Off means off: a session goes on without it, and not a file appears."""
    off = replace(settings, enabled=False, toolsets=("branches",))
    async with agent(off, era) as client:
        for tool, arguments in {**READS, **WRITES}.items():
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, tool
            said = result.content[0].model_dump()["text"]
            assert "Memory is off (MEMORY_ENABLED=false)" in said, tool

    assert names_in(tmp_path) == ["shop"]


async def test_branches_keep_what_is_told_apart(settings: Settings, era: Era) -> None:
    """Two attempts side by side, each recalling its own."""
    both = replace(settings, toolsets=("branches",))
    async with agent(both, era) as client, agent(both, era) as other:
        await add(client, "Shared before.")
        await seal(client, "Base", phase=1)
        await add(client, "Only on main.")
        said = await call(client, "switch_branch", name="try/redis", create=True, at="phase 1")
        await add(client, "Only on the branch.")
        assert set(await recalled(client)) == {"Shared before.", "Base", "Only on the branch."}
        assert set(await recalled(other)) == {"Shared before.", "Base", "Only on main."}
        assert "Branches: main, try/redis." in await read(other, "memory_head")
        here = await call(client, "switch_branch", name="here", create=True)
        await call(client, "switch_branch", name="main")
        assert "Only on main." in await recalled(client)
        taken = await refused(client, "switch_branch", name="here", create=True)
        unknown = await refused(client, "switch_branch", name="nowhere")
        illegal = await refused(client, "switch_branch", name="x\ty", create=True)
        nowhere = await refused(client, "switch_branch", name="y", create=True, at="phase 9")
        odd = await refused(client, "switch_branch", name="y", create=True, at="nope")
        point = await call(client, "checkpoint", summary="On main")
        at = await call(
            client, "switch_branch", name="z", create=True, at=point["checkpointId"]
        )  # fmt: skip

    assert said["at"].startswith("phase1-")
    assert said["message"] == "This session is on branch try/redis now."
    assert "at" not in here
    assert at["at"] == point["checkpointId"]
    assert "branch 'here' exists already" in taken
    assert "No branch 'nowhere'. Known: main, here, try/redis." in unknown
    assert "branch 'x\\ty' cannot be a name" in illegal
    assert "No checkpoint of phase '9'." in nowhere
    assert "No checkpoint, phase or line 'nope'." in odd


async def test_forgetting_on_one_branch_takes_nothing_from_another(
    settings: Settings, era: Era
) -> None:
    """What another branch still stands on is not erased."""
    async with agent(replace(settings, toolsets=("branches",)), era) as client:
        await seal(client, "Base", phase=1)
        await add(client, "Shared by both.")
        await call(client, "switch_branch", name="other", create=True)
        await call(client, "switch_branch", name="main")
        await add(client, "Only on main.")
        said = await call(client, "backtrack", to=1, mode="forget")
        assert await recalled(client) == ["Base"]
        await call(client, "switch_branch", name="other")
        assert set(await recalled(client)) == {"Shared by both.", "Base"}

    assert said["erased"] == 1


async def test_a_session_on_a_branch_that_does_not_exist_says_which_do(
    settings: Settings, era: Era
) -> None:
    """A misspelt MEMORY_BRANCH must not begin a memory of its own."""
    async with agent(replace(settings, branch="mian"), era) as client:
        said = await refused(client, "search_memories", query="x")
        added = await refused(client, "add_memory", content="x")

    assert said == added
    assert said.startswith("No branch 'mian'. Did you mean 'main'? Known: main")
    assert "child_node_id='mian'" in said, "how to begin it, if that is what was meant"
    assert "memory-mcp --branch" not in said, "a model has no shell here"
