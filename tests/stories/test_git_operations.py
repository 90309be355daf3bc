"""What is written while git is in the middle of something is none of the commits before that."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, C, D, GitWorld, in_git, make_world
from real_git import commit_all

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

RESET = "its commit was reset away"
REVERTED = "its commit was reverted"


@asynccontextmanager
async def contested(
    settings: Settings, project: Path, mode: GitMode = "mark", *, ignored: bool = True
) -> AsyncGenerator[GitWorld]:
    """Main and other say different things in one file; HEAD is on main, where A is committed."""
    make_world(project, ignored=ignored)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "-c", "other")
        _say(w, "other")
        w.git("switch", "-q", "main")
        _say(w, "main")
        yield w


def _say(w: GitWorld, what: str) -> None:
    (w.folder / "said.txt").write_text(f"{what}\n", "utf-8")
    commit_all(w.folder, what)


def _settle(w: GitWorld) -> None:
    (w.folder / "said.txt").write_text("both\n", "utf-8")
    w.git("add", "said.txt")


@pytest.mark.files
@pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "committed"])
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_what_a_merge_taught_goes_with_the_merge(
    settings: Settings, project: Path, mode: GitMode, *, ignored: bool
) -> None:
    """Nothing had looked at git since the commit before it."""
    async with contested(settings, project, mode, ignored=ignored) as w:
        await w.write(B)
        before = w.commit("b")
        with pytest.raises(AssertionError):
            w.git("merge", "other")
        await w.write(C)
        assert await w.recalled() == {A, B, C}
        _settle(w)
        w.git("add", "-A")
        w.git("commit", "-q", "--no-edit")
        assert await w.recalled() == {A, B, C}
        w.git("reset", "-q", "--hard", before)
        marked = {C: RESET} if mode == "mark" and ignored else {}
        assert await w.standing() == {A: "", B: ""} | marked
        w.git("reset", "-q", "--hard", "HEAD@{1}")
        assert await w.standing() == {A: "", B: "", C: ""}


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_why_a_commit_is_reverted_is_not_reverted_with_it(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """It is written before the revert is committed."""
    async with contested(settings, project, mode) as w:
        await w.write(B)
        w.commit("b")
        w.git("revert", "--no-commit", "HEAD")
        await w.write(C)
        w.git("commit", "-q", "--no-edit")
        assert await w.standing() == {A: "", B: REVERTED, C: ""}


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_what_a_rebase_taught_is_of_the_branch_that_is_rebased(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Nothing had seen that branch begin; while it is rebased, HEAD is on none."""
    async with contested(settings, project, mode) as w:
        w.git("switch", "-q", "-c", "topic", "HEAD~1")
        await w.write(B)
        _say(w, "topic")
        with pytest.raises(AssertionError):
            w.git("rebase", "main")
        await w.write(C)
        assert await w.recalled() == {A, B, C}
        _settle(w)
        w.git("-c", "core.editor=true", "rebase", "--continue")
        await w.write(D)
        w.commit("d")
        assert await w.standing() == {A: "", B: "", C: "", D: ""}
        w.git("reset", "-q", "--hard", "HEAD~2")
        away = {B: RESET, C: RESET, D: RESET} if mode == "mark" else {}
        assert await w.standing() == {A: ""} | away
        w.git("reset", "-q", "--hard", "HEAD@{1}")
        w.git("switch", "-q", "main")
        on_topic = dict.fromkeys((B, C, D), "written on topic, not merged here")
        assert await w.standing() == {A: ""} | (on_topic if mode == "mark" else {})


async def test_what_a_bisect_taught_is_not_of_the_commits_before_it(
    settings: Settings, project: Path
) -> None:
    """HEAD goes through old commits, and the branch has one that nothing had looked at."""
    async with contested(settings, project) as w:
        await w.write(B)
        before = w.commit("b")
        w.git("bisect", "start", "HEAD", "HEAD~2")
        await w.write(C)
        w.git("bisect", "reset")
        w.commit("c")
        assert await w.standing() == {A: "", B: "", C: ""}
        w.git("reset", "-q", "--hard", before)
        assert await w.standing() == {A: "", B: "", C: RESET}


async def test_what_is_written_while_the_index_is_locked_is_of_the_branch_that_head_is_on(
    settings: Settings, project: Path
) -> None:
    """Git is about to commit, or was cut off: HEAD stands where it stands."""
    async with contested(settings, project) as w:
        w.git("switch", "-q", "-c", "topic")
        lock = w.folder / ".git" / "index.lock"
        lock.touch()
        await w.write(B)
        lock.unlink()
        w.git("switch", "-q", "main")
        assert await w.standing() == {A: "", B: "written on topic, not merged here"}
