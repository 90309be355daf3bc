"""What is written while HEAD is detached stands there: the branch that is begun there has it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import agent, read
from git_world import A, B, C, D, GitWorld, in_git, make_world
from real_git import git

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.code.follow import GitMoved
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

DETACHED = "written on a detached HEAD, not merged here"


@asynccontextmanager
async def detached(
    settings: Settings, project: Path, mode: GitMode = "follow", *, ignored: bool = True
) -> AsyncGenerator[GitWorld]:
    """A and B written and committed on main; HEAD is at the commit of A, where D was written."""
    make_world(project, ignored=ignored)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        await w.write(B)
        w.commit("b")
        assert await w.recalled() == {A, B}
        w.git("checkout", "-q", "HEAD~1")
        await w.write(D)
        yield w


async def test_a_branch_that_is_begun_there_takes_it_up(settings: Settings, project: Path) -> None:
    """As it takes the files that are not committed; main never had either."""
    async with detached(settings, project) as w:
        assert await w.recalled() == {A, B, D}, "to look around in old commits hides nothing"
        w.git("switch", "-q", "-c", "new")
        assert await w.recalled() == {A, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "new")
        w.commit("d")
        assert await w.recalled() == {A, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        w.git("merge", "-q", "--no-edit", "new")
        assert await w.recalled() == {A, B, D}


@pytest.mark.files
@pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "committed"])
@pytest.mark.parametrize("looks", [True, False], ids=["seen", "unseen"])
async def test_commits_of_a_detached_head_close_what_was_written(
    settings: Settings, project: Path, *, ignored: bool, looks: bool
) -> None:
    """Whether anybody looks before a branch takes them up, or not."""
    async with detached(settings, project, ignored=ignored) as w:
        w.commit("d")
        if looks:
            assert D in await w.recalled()
        await w.write(C)
        w.git("switch", "-q", "-c", "new")
        if looks:
            assert await w.recalled() == {A, C, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "-c", "third", "new")
        assert await w.recalled() == {A, D}, "what is not committed stays with its branch"
        w.git("switch", "-q", "new")
        w.commit("c")
        assert await w.recalled() == {A, C, D}


@pytest.mark.parametrize("committed", [False, True], ids=["open", "committed"])
async def test_without_a_branch_it_is_not_recalled_elsewhere_and_can_be_brought(
    settings: Settings, project: Path, *, committed: bool
) -> None:
    """Git warns of such commits, and lets them go; their memories are kept by name."""
    async with detached(settings, project) as w:
        at = w.commit("d") if committed else w.git("rev-parse", "HEAD")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        head = await read(w.client, "memory_head")
        assert f"1 memory: {DETACHED} (not recalled here; `memory-mcp git bring {at[:8]}`)" in head
        w.git("checkout", "-q", at)
        assert await w.recalled() == {A, B, D}, "there again"
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        async with open_workspace(in_git(settings, "follow")) as built:
            brought = await code.bring_here(built.workspace, at[:8])
        assert isinstance(brought, GitMoved)
        assert await w.recalled() == {A, B, D}


async def test_it_is_marked_in_mark(settings: Settings, project: Path) -> None:
    """Nothing is hidden there."""
    async with detached(settings, project, "mark") as w:
        assert await w.standing() == {A: "", B: "", D: ""}
        w.git("switch", "-q", "main")
        assert await w.standing() == {A: "", B: "", D: DETACHED}


async def test_detached_commits_hold_where_they_are_merged(
    settings: Settings, project: Path
) -> None:
    """By their hash, as no branch has a name for them."""
    async with detached(settings, project) as w:
        at = w.commit("d")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        w.git("merge", "-q", "--no-edit", at)
        assert await w.recalled() == {A, B, D}


@pytest.mark.parametrize("looks", [True, False], ids=["seen", "unseen"])
async def test_commits_of_a_detached_head_are_rewritten(
    settings: Settings, project: Path, *, looks: bool
) -> None:
    """Amended, taken back softly and committed anew, and rebased: the memory goes along."""
    async with detached(settings, project) as w:
        w.commit("d")
        for step in (
            ("commit", "-q", "--amend", "-m", "better"),
            ("reset", "-q", "--soft", "HEAD~1"),
            ("commit", "-q", "-m", "anew"),
            ("rebase", "-q", "main"),
        ):
            if looks:
                assert await w.recalled() == {A, B, D}
            w.git(*step)
        w.git("switch", "-q", "-c", "new")
        assert await w.recalled() == {A, B, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}


async def test_a_squash_of_the_branch_that_took_it_up_is_followed(
    settings: Settings, project: Path
) -> None:
    """What was committed before the branch had a name belongs to it."""
    async with detached(settings, project) as w:
        w.commit("d")
        assert D in await w.recalled()
        w.git("switch", "-q", "-c", "new")
        w.commit("later")
        w.git("switch", "-q", "main")
        assert await w.standing() == {A: "", B: ""}
        assert "written on new, not merged here" in await read(w.client, "memory_head")
        w.git("merge", "-q", "--squash", "new")
        w.git("commit", "-q", "-m", "squashed")
        assert await w.recalled() == {A, B, D}


async def test_a_hard_reset_of_a_detached_head_leaves_it_behind(
    settings: Settings, project: Path
) -> None:
    """As on a branch, and forward again it is there."""
    async with detached(settings, project) as w:
        at = w.commit("d")
        await w.write(C)
        w.git("reset", "-q", "--hard", "HEAD~1")
        w.git("switch", "-q", "-c", "new")
        assert await w.recalled() == {A}
        w.git("reset", "-q", "--hard", at)
        assert D in await w.recalled()


async def test_two_detached_work_trees_at_one_commit_do_not_mix(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Agents are often given such work trees; each commits and hands over what it wrote itself."""
    make_world(project, ignored=True)
    trees = [tmp_path / "one", tmp_path / "two"]
    for tree in trees:
        git(project, "worktree", "add", "-q", "--detach", str(tree))
    async with (
        agent(in_git(settings, "follow"), "auto") as first,
        agent(in_git(settings, "follow", trees[0]), "auto") as second,
        agent(in_git(settings, "follow", trees[1]), "auto") as third,
    ):
        here = GitWorld(first, project)
        one, two = GitWorld(second, trees[0]), GitWorld(third, trees[1])
        await here.write(A)
        await one.write(B)
        await two.write(C)
        at = one.commit("b")
        await one.write(D)
        two.commit("c")
        two.git("switch", "-q", "-c", "feature")
        assert await here.recalled() == {A}
        assert await two.recalled() == {C}
        assert {B, D} <= await one.recalled()
        git(project, "worktree", "remove", "--force", str(trees[0]))
        here.git("merge", "-q", "--no-edit", at)
        assert await here.recalled() == {A, B}
