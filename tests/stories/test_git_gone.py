"""A branch is merged and deleted before memory looks: HEAD's reflog still names its commits."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, C, GitWorld, in_git, make_world
from real_git import git

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [
    pytest.mark.anyio, pytest.mark.usefixtures("patient_git"),
    pytest.mark.parametrize("mode", ["mark", "follow"]),
]  # fmt: skip

NOT_MERGED = "written on feature, not merged here"


@asynccontextmanager
async def on_feature(settings: Settings, project: Path, mode: GitMode) -> AsyncGenerator[GitWorld]:
    """A committed on main and seen; HEAD is on the new branch feature."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        assert await w.recalled() == {A}
        w.git("tag", "base")
        w.git("switch", "-q", "-c", "feature")
        yield w


async def expect(w: GitWorld, mode: GitMode, here: set[str], away: set[str]) -> list[str]:
    """What stands here and what on feature alone; what is told of it."""
    w.told.clear()
    found = await w.standing()
    marked = dict.fromkeys(away, NOT_MERGED) if mode == "mark" else {}
    assert found == {**dict.fromkeys(here, ""), **marked}
    return [note for note in w.told if "is gone" in note]


def squash(w: GitWorld, branch: str) -> None:
    w.git("merge", "-q", "--squash", branch)
    w.git("commit", "-q", "-m", "squashed")


@pytest.mark.parametrize("how", ["--ff-only", "--no-ff", "--squash"])
@pytest.mark.parametrize("written", [(B,), (B, C)], ids=["one", "two"])
async def test_what_a_merge_brought_holds_though_its_branch_is_gone(
    settings: Settings, project: Path, mode: GitMode, how: str, written: tuple[str, ...]
) -> None:
    """On main, and not on what was before; nothing is offered that holds."""
    async with on_feature(settings, project, mode) as w:
        for number, content in enumerate(written):
            await w.write(content)
            w.commit(f"work{number}")
        w.git("switch", "-q", "main")
        if how == "--squash":
            squash(w, "feature")
        else:
            w.git("merge", "-q", how, "--no-edit", "feature")
        w.git("branch", "-q", "-D", "feature")
        assert await expect(w, mode, {A, *written}, set()) == []
        w.git("switch", "-q", "-c", "older", "base")
        await expect(w, mode, {A}, set(written))


async def test_each_memory_stands_on_the_commit_that_closed_it(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """HEAD went to and fro between branches that are gone; what came later is not merged."""
    async with on_feature(settings, project, mode) as w:
        await w.write(B)
        first = w.commit("b")
        w.commit("more")
        w.git("switch", "-q", "-c", "other", "main")
        w.commit("other")
        w.git("switch", "-q", "feature")
        w.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--no-edit", first)
        w.git("branch", "-q", "-D", "feature", "other")
        await expect(w, mode, {A, B}, set())


@pytest.mark.parametrize("merged", [True, False], ids=["more than squashed", "not merged"])
async def test_what_is_not_proved_to_have_come_is_offered_once(
    settings: Settings, project: Path, mode: GitMode, *, merged: bool
) -> None:
    """Of both commits, though memory has seen neither of them where it was made."""
    async with on_feature(settings, project, mode) as w:
        for number, content in enumerate((B, C)):
            await w.write(content)
            w.commit(f"work{number}")
        w.git("switch", "-q", "main")
        if merged:
            w.git("merge", "-q", "--squash", "feature")
            w.commit("squashed, and more", in_file="work0")
        w.git("branch", "-q", "-D", "feature")
        (offer,) = await expect(w, mode, {A}, {B, C})
        assert "feature is gone. If its 2 memories should hold here" in offer
        w.commit("later")
        assert await expect(w, mode, {A}, {B, C}) == []


async def test_a_rebased_branch_that_is_gone_brings_its_memories(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    async with on_feature(settings, project, mode) as w:
        await w.write(B)
        w.commit("b")
        w.git("switch", "-q", "main")
        w.commit("other")
        w.git("switch", "-q", "feature")
        w.git("rebase", "-q", "main")
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--ff-only", "feature")
        w.git("branch", "-q", "-d", "feature")
        assert await expect(w, mode, {A, B}, set()) == []


async def test_commits_of_another_branch_close_nothing_of_one_that_is_gone(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """`git rebase main feature` begins on main; a detached HEAD may be called feature, too."""
    async with on_feature(settings, project, mode) as w:
        await w.write(B)
        w.git("switch", "-q", "main")
        w.commit("other")
        w.git("rebase", "-q", "main", "feature")
        w.git("switch", "-q", "--detach", "feature")
        w.commit("loose")
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-D", "feature")
        (offer,) = await expect(w, mode, {A}, {B})
        assert "feature is gone. If its 1 memory should hold here" in offer


async def test_what_no_commit_closed_is_offered_once_and_brought(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Git names no commit for it; only the user can know."""
    async with on_feature(settings, project, mode) as w:
        await w.write(B)
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-d", "feature")
        (offer,) = await expect(w, mode, {A}, {B})
        assert "feature is gone. If its 1 memory should hold here" in offer
        w.commit("later")
        assert await expect(w, mode, {A}, {B}) == []
        async with open_workspace(in_git(settings, mode)) as built:
            await code.bring_here(built.workspace, "feature")
        assert await expect(w, mode, {A, B}, set()) == []
        w.commit("and later")
        assert await expect(w, mode, {A, B}, set()) == []


@pytest.mark.parametrize("removed", [True, False], ids=["removed", "kept"])
async def test_a_branch_of_another_work_tree(
    settings: Settings, project: Path, tmp_path: Path, mode: GitMode, *, removed: bool
) -> None:
    """Its own reflog of HEAD tells, once somebody looks there; until then they are offered."""
    tree = tmp_path / "tree"
    make_world(project, ignored=True)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        git(project, "worktree", "add", "-q", "-b", "feature", str(tree))
        async with agent(in_git(settings, mode, tree), "auto") as second:
            linked = GitWorld(second, tree)
            await linked.write(B)
        linked.commit("b")
        if not removed:
            linked.git("switch", "-q", "-c", "next")
        w.git("merge", "-q", "--no-ff", "--no-edit", "feature")
        if removed:
            w.git("worktree", "remove", "--force", str(tree))
        w.git("branch", "-q", "-d", "feature")
        (offer,) = await expect(w, mode, {A}, {B})
        assert "feature is gone. If its 1 memory should hold here" in offer
        if not removed:
            async with agent(in_git(settings, mode, tree), "auto") as second:
                await GitWorld(second, tree).search()
            assert await expect(w, mode, {A, B}, set()) == []
