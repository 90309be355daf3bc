"""Rendered files that end: by a date on a page, on another branch, or where one cannot be read."""

from datetime import timedelta
from pathlib import Path

import pytest
from command_line import Run, as_json
from doors import machine_dir
from fakes import forked, switched
from project_story import page, told

from memory_mcp import bootstrap, memories, rendered


@pytest.mark.anyio
async def test_what_expires_anywhere_on_a_page_ends_the_rendering(tmp_path: Path) -> None:
    """MEMORY.md shows more than the bootstrap has room to look at."""
    async with told(tmp_path) as story:
        ends = story.clock.now() + timedelta(hours=1)
        await story.say("The sale ends soon.", importance=1, expires_at=ends)
        for number in range(25):
            await story.say(f"Rule {number} of the shop: see shelf {number * 7}.")
        await bootstrap.render_views(story.workspace)
        assert "The sale ends soon." in page(tmp_path / "project")
        found = rendered.read(str(machine_dir(tmp_path / "project")), "main")
        story.clock.advance(timedelta(hours=1))
        await bootstrap.render_if_behind(story.workspace)

    assert found is not None
    assert "The sale" not in found["text"]
    assert found["until"] == ends.timestamp()
    assert "The sale ends soon." not in page(tmp_path / "project")


@pytest.mark.anyio
async def test_the_bootstraps_of_other_branches_keep_up(tmp_path: Path) -> None:
    """A session on one of them opens with what is rendered, whoever wrote last."""
    async with told(tmp_path) as story:
        await story.say("Orders rest in PostgreSQL.")
        story.workspace = await forked(story.workspace, "try/redis", "")
        await story.say("Carts rest in Redis.")
        await bootstrap.render_views(story.workspace)
        story.workspace = await switched(story.workspace, "main")
        gone = await story.say("Be brief.", reach="user", kind="preference")
        await bootstrap.render_views(story.workspace)
        machine = str(machine_dir(tmp_path / "project"))
        there = rendered.read(machine, "try/redis")
        assert there is not None
        assert rendered.still_holds(there)
        assert "Be brief." in there["text"]
        await memories.forget_memory(story.workspace, gone, "", erase=True)
        later = rendered.read(machine, "try/redis")

    assert later is not None
    assert "Be brief." not in later["text"]
    assert "Carts rest in Redis." in later["text"]


def test_the_doctor_names_a_file_that_cannot_be_read(run: Run, project: Path) -> None:
    """Whoever wonders why a view is old hears it, and of the other files as well."""
    memory_id = as_json(run, "add", "The door code is 4711.")["memoryId"]
    path = project / ".claude" / "memory" / "MEMORY.md"
    context = project / ".claude" / "session-context.md"
    old = context.read_bytes()
    path.unlink()
    path.mkdir()
    run("forget", memory_id)
    assert "4711" not in context.read_text("utf-8")
    context.write_bytes(old)
    status, said, _ = run("doctor")

    assert status == 1
    assert str(path) in said
    assert "session-context.md shows 1 record(s) that do not hold" in said
