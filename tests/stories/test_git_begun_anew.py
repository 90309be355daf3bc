"""Branches that begin where nothing is: orphans, and those that take a removed one's name."""

from pathlib import Path

import pytest
from doors import agent
from git_world import IGNORED, A, B, C, D, GitWorld, in_git, make_world, parted

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.code.follow import GitMoved
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.errors import InvalidRequestError

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]


def _commit_first(w: GitWorld) -> None:
    """The first commit of an orphan branch, from which git took the list of what it ignores."""
    (w.folder / ".gitignore").write_text(IGNORED, "utf-8")
    w.commit("fresh")


ORPHANS = [("switch", "-q", "--orphan", "fresh"), ("checkout", "-q", "--orphan", "fresh")]


@pytest.mark.parametrize("begins", ORPHANS, ids=lambda each: each[0])
async def test_what_is_written_on_an_orphan_branch_stands_there_alone(
    settings: Settings, project: Path, begins: tuple[str, ...]
) -> None:
    """No commit of it reaches what was known before, and no other branch reaches it."""
    async with parted(settings, project) as w:
        w.git(*begins)
        assert await w.recalled() == set()
        await w.write(C)
        assert await w.recalled() == {C}
        _commit_first(w)
        assert await w.recalled() == {C}
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "fresh")
        assert await w.recalled() == {C}
        assert [note for note in w.told if "gone" in note] == []


async def test_in_mark_all_else_is_marked_on_an_orphan_branch(
    settings: Settings, project: Path
) -> None:
    """And what is written there before its first commit is marked elsewhere."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "--orphan", "fresh")
        await w.write(C)
        on = "written on {}, not merged here"
        assert await w.standing() == {A: on.format("main"), B: on.format("feature"), C: ""}
        w.git("switch", "-q", "main")
        assert await w.standing() == {A: "", B: on.format("feature"), C: on.format("fresh")}


async def test_another_work_tree_does_not_call_an_orphan_branch_gone(
    settings: Settings, project: Path
) -> None:
    """Git has no name for it yet; somebody works there."""
    async with parted(settings, project) as w:
        tree = project.with_name("tree")
        w.git("worktree", "add", "-q", str(tree), "main")
        async with agent(in_git(settings, "follow", tree), "auto") as client:
            beside = GitWorld(client, tree)
            assert await beside.recalled() == {A}
            w.git("switch", "-q", "--orphan", "fresh")
            await w.write(C)
            beside.commit("d")
            assert await beside.recalled() == {A}
            assert [note for note in beside.told if "gone" in note] == []


async def test_nothing_is_brought_to_a_branch_without_a_commit(
    settings: Settings, project: Path
) -> None:
    """There is nothing that could be anchored to; whoever asks is told, and what to do."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "--orphan", "fresh")
        assert await w.recalled() == set()
        assert not any("undo" in note for note in w.told)
        async with open_workspace(in_git(settings, "follow")) as built:
            with pytest.raises(InvalidRequestError, match="Commit something first"):
                await code.bring_here(built.workspace, "feature")
        _commit_first(w)
        async with open_workspace(in_git(settings, "follow")) as built:
            assert isinstance(await code.bring_here(built.workspace, "feature"), GitMoved)
        assert await w.recalled() == {B}


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_memories_of_a_removed_branch_are_not_those_of_one_that_has_its_name(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """They are named after its last commit, and offered, as those of any branch that is gone."""
    async with parted(settings, project, mode) as w:
        tip = w.git("rev-parse", "--short=8", "HEAD")
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-D", "feature")
        w.git("switch", "-q", "-c", "feature")
        if mode == "mark":
            said = f"written on feature@{tip}, not merged here"
            assert await w.standing() == {A: "", B: said}
        else:
            assert await w.recalled() == {A}
        assert any(f"feature@{tip} is gone" in note for note in w.told)
        await w.write(C)
        w.commit("c")
        assert await w.recalled() >= {A, C}
        w.git("switch", "-q", "main")
        if mode == "mark":
            assert (await w.standing())[C] == "written on feature, not merged here"
        async with open_workspace(in_git(settings, mode)) as built:
            brought = await code.bring_here(built.workspace, f"feature@{tip}")
        assert isinstance(brought, GitMoved)
        assert brought.memories == 1
        here = {A: "", B: ""}
        there = {} if mode == "follow" else {C: "written on feature, not merged here"}
        assert await w.standing() == {**here, **there}


async def test_what_was_not_committed_on_a_removed_branch_is_not_that_of_its_namesake(
    settings: Settings, project: Path
) -> None:
    """Both were begun at the same commit, and their reflogs are equally long."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-D", "feature")
        w.git("switch", "-q", "-c", "feature")
        assert await w.recalled() == {A}
        w.commit("b")
        assert await w.recalled() == {A}


async def test_what_was_committed_before_a_branch_was_removed_unseen_is_the_former_ones(
    settings: Settings, project: Path
) -> None:
    """The reflog of HEAD tells which commit closed it."""
    async with parted(settings, project, "mark") as w:
        await w.write(C)
        w.commit("c")
        tip = w.git("rev-parse", "--short=8", "HEAD")
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-D", "feature")
        w.git("switch", "-q", "-c", "feature")
        said = f"written on feature@{tip}, not merged here"
        assert await w.standing() == {A: "", B: said, C: said}
        await w.write(D)
        w.commit("d")
        w.git("merge", "-q", "-m", "merged", tip)
        assert await w.standing() == {A: "", B: "", C: "", D: ""}


async def test_a_branch_that_was_renamed_before_another_took_its_name_is_found(
    settings: Settings, project: Path
) -> None:
    """Its memories have its new name."""
    async with parted(settings, project, "mark") as w:
        w.git("branch", "-m", "older")
        w.git("switch", "-q", "main")
        w.git("switch", "-q", "-c", "feature")
        assert await w.standing() == {A: "", B: "written on older, not merged here"}
