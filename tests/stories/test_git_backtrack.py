"""A backtrack where git is followed: what git keeps away from here is neither hidden nor erased."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from doors import agent, call, files_with, seal, trust
from git_world import A, B, C, D, GitWorld, in_git, make_world
from real_git import git

from memory_mcp import branches
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.domain.outcomes import MovePreview
from memory_mcp.engine.git_look import Observation, observe

pytestmark = [pytest.mark.anyio, pytest.mark.files, pytest.mark.usefixtures("patient_git")]

SEALED = "Storage chosen"

Choice = Literal["continue", "forget"]

kept = pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "committed"])
choices = pytest.mark.parametrize("choice", ["continue", "forget"])


def observe_slowly(*arguments: Any) -> Observation:
    """Git as it is on a busy machine."""
    time.sleep(1)
    return observe(*arguments)


async def facts(w: GitWorld) -> set[str]:
    """What is recalled, without the checkpoint."""
    return await w.recalled() - {SEALED}


@asynccontextmanager
async def on_main(
    settings: Settings,
    project: Path,
    *,
    ignored: bool,
    mode: GitMode = "follow",
    since: str = "",
    commits: bool = True,
) -> AsyncGenerator[GitWorld]:
    """A and a checkpoint on main, with what it said `since`; B on feature; HEAD is on main."""
    make_world(project, ignored=ignored)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        await seal(client, SEALED, phase=1)
        if since:
            await w.write(since)
        w.commit("a")
        await w.search()
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        if commits:
            w.commit("b")
        await w.search()
        w.git("switch", "-q", "main")
        yield w


def list_left(done: dict[str, Any]) -> tuple[int, list[str]]:
    """How many memories a backtrack hid or erased, and which."""
    titles = (*done.get("titles", ()), *done.get("erasedTitles", ()))
    return done["hidden"] + done.get("erased", 0), [*titles]


@kept
@choices
async def test_a_backtrack_on_main_leaves_what_feature_taught(
    settings: Settings, project: Path, choice: Choice, *, ignored: bool
) -> None:
    """It is not recalled here, so it is neither counted nor left; on feature it is there."""
    async with on_main(settings, project, ignored=ignored) as w:
        assert await facts(w) == {A}
        async with open_workspace(in_git(settings, "follow")) as built:
            preview = await branches.preview_backtrack(built.workspace, "1")
        assert isinstance(preview, MovePreview)
        assert (preview.hides, preview.erases) == (0, 0)
        done = await call(w.client, "backtrack", to="1", mode=choice)

        assert done["hidden"] == 0
        assert done.get("erased", 0) == 0
        assert await facts(w) == {A}
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B}


@kept
@choices
async def test_what_feature_built_on_what_main_left_is_still_there(
    settings: Settings, project: Path, choice: Choice, *, ignored: bool
) -> None:
    """The memory that both branches of git had is left on both; what feature adds is not."""
    async with on_main(settings, project, ignored=ignored, since=C) as w:
        assert await facts(w) == {A, C}
        done = await call(w.client, "backtrack", to="1", mode=choice)

        assert list_left(done) == (1, [C])
        assert done.get("erased", 0) == (choice == "forget")
        assert await facts(w) == {A}
        assert (files_with(project, C) == []) == (choice == "forget")
        w.commit("after")
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B}
        await w.write(D)
        w.commit("d")
        assert await facts(w) == {A, B, D}
        w.git("switch", "-q", "main")
        assert await facts(w) == {A}
        if choice == "continue":
            await call(w.client, "backtrack", to=done["line"], mode="continue")
            assert await facts(w) == {A, C}
            w.git("switch", "-q", "feature")
            assert await facts(w) == {A, B, C, D}


@kept
@choices
async def test_what_feature_has_not_committed_yet_is_still_there(
    settings: Settings, project: Path, choice: Choice, *, ignored: bool
) -> None:
    """Its work goes on where it was, and main begins anew."""
    async with on_main(settings, project, ignored=ignored, since=C, commits=False) as w:
        assert await facts(w) == {A, C}
        await call(w.client, "backtrack", to="1", mode=choice)
        assert await facts(w) == {A}
        await w.write(D)
        assert await facts(w) == {A, D}
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B}


@kept
async def test_a_line_that_feature_left_can_still_be_restored(
    settings: Settings, project: Path, *, ignored: bool
) -> None:
    """It grew from what main erases, and lies where git keeps it."""
    async with on_main(settings, project, ignored=ignored, since=C) as w:
        await w.search()
        w.git("switch", "-q", "feature")
        await w.write(D)
        await seal(w.client, SEALED, phase=2)
        await w.write("Vouchers expire at noon.")
        w.commit("d")
        await w.search()
        line = (await call(w.client, "backtrack", to="2", mode="continue"))["line"]
        w.commit("left")
        assert await facts(w) == {A, B, C, D}
        w.git("switch", "-q", "main")
        assert list_left(await call(w.client, "backtrack", to="1", mode="forget")) == (1, [C])
        w.commit("after")
        w.git("switch", "-q", "feature")
        assert await facts(w) >= {A, B, D}
        await call(w.client, "backtrack", to=line, mode="continue")
        assert await facts(w) >= {A, B, D, "Vouchers expire at noon."}


@kept
async def test_a_restore_on_main_leaves_what_feature_taught_since(
    settings: Settings, project: Path, *, ignored: bool
) -> None:
    """The way back is a move, too. The line brings back what was left, and takes nothing."""
    async with on_main(settings, project, ignored=ignored, since=C) as w:
        line = (await call(w.client, "backtrack", to="1", mode="continue"))["line"]
        w.commit("after")
        w.git("switch", "-q", "feature")
        await w.write(D)
        w.commit("d")
        assert await facts(w) == {A, B, D}
        w.git("switch", "-q", "main")
        assert await facts(w) == {A}
        done = await call(w.client, "backtrack", to=line, mode="continue")

        assert (done["hidden"], done["again"]) == (0, 1)
        assert await facts(w) == {A, C}
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B, C, D}


@kept
async def test_a_later_restore_brings_back_no_earlier_plan(
    settings: Settings, project: Path, *, ignored: bool
) -> None:
    """What feature built on it stays on the line, but what main left stays left."""
    async with on_main(settings, project, ignored=ignored, since=C) as w:
        await call(w.client, "backtrack", to="1", mode="continue")
        w.commit("after")
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B}
        await w.write(D)
        line = (await call(w.client, "backtrack", to="start", mode="continue"))["line"]
        assert await facts(w) == set()
        await call(w.client, "backtrack", to=line, mode="continue")
        assert await facts(w) == {A, B, D}


async def test_a_clone_of_feature_recalls_what_is_recalled_there(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Its records say what the backtrack on main left, and what that kept."""
    async with on_main(settings, project, ignored=False, since=C) as w:
        await call(w.client, "backtrack", to="1", mode="continue")
        w.commit("after")
        w.git("switch", "-q", "feature")
        await w.write(D)
        w.commit("d")
        assert await facts(w) == {A, B, D}
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--branch", "feature", str(project), str(clone))
    trust(clone)
    async with agent(in_git(settings, "follow", clone), "auto") as client:
        assert await facts(GitWorld(client, clone)) == {A, B, D}


@choices
async def test_a_backtrack_leaves_what_git_took_away_in_mark_too(
    settings: Settings, project: Path, choice: Choice
) -> None:
    """Git has taken the files of the records: they are not recalled here, in either mode."""
    async with on_main(settings, project, ignored=False, mode="mark", since=C) as w:
        assert await facts(w) == {A, C}
        done = await call(w.client, "backtrack", to="1", mode=choice)
        assert list_left(done) == (1, [C])
        w.commit("after")
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B}


@choices
async def test_a_backtrack_waits_until_git_has_said_what_is_here(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch, choice: Choice
) -> None:
    """A search answers with what was known; what is left must not be guessed."""
    async with on_main(settings, project, ignored=True, since=C) as w:
        monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 0.0)
        monkeypatch.setattr("memory_mcp.engine.git.observe", observe_slowly)
        done = await call(w.client, "backtrack", to="1", mode=choice)
        assert list_left(done) == (1, [C])
        monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 60.0)
        assert await facts(w) == {A}
        w.git("switch", "-q", "feature")
        assert await facts(w) == {A, B}


async def test_a_fork_of_main_does_not_recall_what_main_left(
    settings: Settings, project: Path
) -> None:
    """It stands on what feature built upon that, as main does. There all of git is recalled."""
    async with on_main(settings, project, ignored=True, since=C) as w:
        await call(w.client, "backtrack", to="1", mode="continue")
        async with open_workspace(in_git(settings, "follow")) as built:
            await branches.fork_branch(built.workspace, "side", "")
    async with agent(replace(in_git(settings, "follow"), branch="side"), "auto") as client:
        assert await facts(GitWorld(client, project)) == {A, B}
