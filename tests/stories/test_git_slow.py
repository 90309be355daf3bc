"""Git that does not answer in time: HEAD's file alone says which branch this is."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, C, D, GitWorld, in_git, parted

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.files,
    pytest.mark.skipif(os.name == "nt", reason="a script of the shell stands in for git"),
]

SLOW = "Git moved and has not answered yet"


class HeldGit:
    """A git that answers nothing while it is held, as on a busy machine or network drive."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._gate, self._patch = folder / "held", patch
        program = folder / "git"
        program.write_text(
            f'#!/bin/sh\nwhile [ -e "{self._gate}" ]; do sleep 0.02; done\n'
            f'exec "{shutil.which("git")}" "$@"\n',
            "utf-8",
        )
        program.chmod(0o755)
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None]:
        """Nobody waits for it as long as they would."""
        self._gate.touch()
        with self._patch.context() as once:
            once.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 0.0)
            once.setattr("memory_mcp.engine.git._WRITE_SECONDS_MAX", 0.5)
            yield
        self._gate.unlink()


@pytest.fixture
def held_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient_git: None) -> HeldGit:
    """Git is waited for where it is not held."""
    del patient_git
    folder = tmp_path / "programs"
    folder.mkdir()
    return HeldGit(folder, monkeypatch)


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_what_is_written_while_git_is_silent_is_of_the_branch_that_head_is_on(
    settings: Settings, project: Path, held_git: HeldGit, mode: GitMode
) -> None:
    """It must never be that of the branch which was left."""
    async with parted(settings, project, mode) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.git("switch", "-q", "feature")
        async with held_git.hold():
            await w.write(D)
            assert D in await w.recalled()
            assert SLOW in w.told[-1]
        away = {C: "written on main, not merged here"} if mode == "mark" else {}
        assert await w.standing() == {A: "", B: "", D: ""} | away
        w.commit("d")
        w.git("switch", "-q", "main")
        on_feature = dict.fromkeys((B, D), "written on feature, not merged here")
        assert await w.standing() == {A: "", C: ""} | (on_feature if mode == "mark" else {})
        w.git("merge", "-q", "feature")
        assert await w.recalled() == {A, B, C, D}


async def test_what_is_written_on_a_new_branch_while_git_is_silent_is_closed_by_its_commit(
    settings: Settings, project: Path, held_git: HeldGit
) -> None:
    """Nothing had seen that branch; what is not committed on the other one goes along."""
    async with parted(settings, project) as w:
        await w.write(C)
        w.git("switch", "-q", "-c", "third")
        async with held_git.hold():
            await w.write(D)
        w.commit("third")
        assert await w.recalled() == {A, B, C, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}


async def test_what_is_written_at_a_detached_head_while_git_is_silent_is_not_of_the_branch(
    settings: Settings, project: Path, held_git: HeldGit
) -> None:
    """A branch that is begun there takes it along."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "--detach", "main")
        async with held_git.hold():
            await w.write(D)
        assert (await w.standing())[D] == ""
        w.git("switch", "-q", "main")
        assert (await w.standing())[D] == "written on a detached HEAD, not merged here"


async def test_a_session_that_begins_while_git_is_silent_writes_on_the_branch_of_its_head(
    settings: Settings, project: Path, held_git: HeldGit
) -> None:
    """In a work tree that nobody has looked at, too."""
    async with parted(settings, project) as w:
        tree = project.with_name("tree")
        w.git("worktree", "add", "-q", "-b", "side", str(tree), "main")
        async with held_git.hold(), agent(in_git(settings, "follow", tree), "auto") as client:
            await GitWorld(client, tree).write(D)
        async with agent(in_git(settings, "follow", tree), "auto") as client:
            assert await GitWorld(client, tree).recalled() == {A, D}
        assert await w.recalled() == {A, B}


async def test_an_answer_that_comes_after_head_moved_on_is_not_told_of_where_head_is(
    settings: Settings, project: Path, held_git: HeldGit
) -> None:
    """Git was asked of main, and has answered when HEAD is on feature again."""
    async with parted(settings, project) as w:
        async with held_git.hold():
            w.git("switch", "-q", "main")
            await w.search()
            w.git("switch", "-q", "feature")
        (asked,) = (
            t for t in asyncio.all_tasks() if getattr(t.get_coro(), "__name__", "") == "to_thread"
        )
        await asyncio.wait([asked])
        w.told.clear()
        async with held_git.hold():
            await w.search()
        await w.search()
        assert not [note for note in w.told if "Git is on" in note]
