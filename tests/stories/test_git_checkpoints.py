"""Checkpoints stand where the branch of git does on which they were made, as memories do."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from doors import agent, call, read, seal, text_of
from git_world import GitWorld, in_git, make_world, parted

from memory_mcp import branches
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.domain.outcomes import HeadReport, TimelineLog

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

MADE_ON_FEATURE = "made on feature, not merged here"


async def _find_last(w: GitWorld) -> tuple[str, str]:
    """What `memory_head` and the context call the last checkpoint."""
    head = await read(w.client, "memory_head")
    last = re.search(r"Last checkpoint: (.*)\.\n", head)
    opened = re.search(r"^Head: branch main, (.*)\.$", await w.context(), re.MULTILINE)
    assert last
    assert opened
    return last[1], opened[1].removeprefix("last checkpoint ")


async def _report(settings: Settings, mode: GitMode) -> tuple[int | None, dict[str, str]]:
    """The phase, and the checkpoints with why they may not hold, as a program reads them."""
    async with open_workspace(in_git(settings, mode)) as built:
        report = await branches.report_head(built.workspace)
    assert isinstance(report, HeadReport)
    return report.phase, {each.checkpoint.id: each.ground for each in report.checkpoints}


async def _draw_log(settings: Settings, checkpoint: str) -> str:
    """What the log says of that checkpoint."""
    async with open_workspace(in_git(settings, "mark")) as built:
        log = await branches.read_log(built.workspace, 0)
        assert isinstance(log, TimelineLog)
        return next((said for id_, said in log.ground.items() if id_ == checkpoint), "")


@pytest.fixture(name="settings")
def approving(settings: Settings) -> Settings:
    """Checkpoints are sealed without a question."""
    return replace(settings, approval="auto")


@pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "committed"])
async def test_a_checkpoint_of_another_branch_is_neither_the_last_here_nor_its_phase(
    settings: Settings, project: Path, *, ignored: bool
) -> None:
    """It was made of work that is not merged here. Once that is merged, it counts."""
    make_world(project, ignored=ignored)
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write("Orders live in PostgreSQL.")
        first = await seal(client, "Storage chosen", 1)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write("Sessions are kept in Redis.")
        second = await seal(client, "Sessions chosen", 2)
        w.commit("b")
        assert await _find_last(w) == (second, second)

        w.git("switch", "-q", "main")
        assert await _find_last(w) == (first, first)
        assert await _report(settings, "follow") == (1, {first: ""})
        again = await call(client, "checkpoint", summary="Sessions in files", phase=2)
        assert again["success"], "no checkpoint that counts here has sealed phase 2"
        assert (await _report(settings, "follow"))[0] == 2
        w.commit("files")

        w.git("merge", "-q", "-m", "merge", "feature")
        _, merged = await _report(settings, "follow")
        assert [*merged] == [first, second, again["checkpointId"]]


async def test_a_checkpoint_of_another_branch_can_be_named_to_go_back_to(
    settings: Settings, project: Path
) -> None:
    """It is no more lost than what a backtrack left: who knows its name can see what it sealed."""
    async with parted(settings, project) as w:
        second = await seal(w.client, "Sessions chosen", 2)
        w.commit("sealed")
        w.git("switch", "-q", "main")
        assert await _find_last(w) == ("none yet", "no checkpoint yet")

        preview = await call(w.client, "backtrack", to=second)
        assert "error" not in preview
        shown = text_of(await w.client.call_tool("memory_head", {}))
        assert second not in shown


async def test_in_mark_a_checkpoint_says_where_it_was_made_and_stands_behind(
    settings: Settings, project: Path
) -> None:
    """Nothing is hidden in `mark`, and nothing that is elsewhere passes for what is here."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, "mark"), "auto") as client:
        w = GitWorld(client, project)
        await w.write("Orders live in PostgreSQL.")
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write("Sessions are kept in Redis.")
        second = await seal(client, "Sessions chosen", 2)
        w.commit("b")
        w.git("switch", "-q", "main")
        marked = f"{second} ({MADE_ON_FEATURE})"
        assert await _find_last(w) == (marked, marked)
        assert await _report(settings, "mark") == (None, {second: MADE_ON_FEATURE})

        first = await seal(client, "Storage chosen", 1)
        assert await _find_last(w) == (first, first)
        phase, grounds = await _report(settings, "mark")
        assert (phase, grounds) == (1, {second: MADE_ON_FEATURE, first: ""})
        assert [*grounds] == [second, first], "the one that stands here is the last, though older"
        assert await _draw_log(settings, second) == MADE_ON_FEATURE

        w.commit("c")
        w.git("merge", "-q", "-m", "merge", "feature")
        assert (await _report(settings, "mark"))[1] == {second: "", first: ""}
        assert await _draw_log(settings, second) == ""


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_a_checkpoint_that_waits_on_another_branch_does_not_wait_here(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """The opening asks for a word on what was worked on here."""
    async with parted(replace(settings, approval="ask"), project, mode) as w:
        waiting = await call(w.client, "checkpoint", summary="Sessions chosen", phase=2)
        assert "pending" in (await _find_last(w))[1]
        w.commit("sealed")
        w.git("switch", "-q", "main")
        assert "pending" not in (await _find_last(w))[1]
        shown = f"- {waiting['checkpointId']} ({MADE_ON_FEATURE}): Sessions chosen"
        assert (shown in await read(w.client, "memory_head")) is (mode == "mark")
