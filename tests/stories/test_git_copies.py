"""What git proves to be a squash or a copy of other commits, and what it does not."""

from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, GitWorld, in_git, make_world, parted
from real_git import commit_all, git

from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]


@pytest.mark.parametrize(
    "again", [("reset", "-q", "--soft", "HEAD~1"), ()], ids=["taken back softly", "amended"]
)
async def test_a_commit_is_no_squash_of_what_was_made_of_it(
    settings: Settings, project: Path, again: tuple[str, ...]
) -> None:
    """Another branch has the older of the two; what was learnt between them is not known there."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        w.commit("b")
        assert await w.recalled() == {A}
        w.git("branch", "older")
        await w.write(B)
        if again:
            w.git(*again)
            w.git("commit", "-q", "-m", "anew")
        else:
            w.git("commit", "-q", "--amend", "-m", "anew")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "main")
        w.told.clear()
        assert await w.recalled() == {A}
        w.git("merge", "-q", "--ff-only", "older")
        assert await w.recalled() == {A}
        assert [note for note in w.told if "copies" in note] == [], "nor a copy, which is offered"


async def test_a_squash_of_what_nobody_saw_committed_is_followed(
    settings: Settings, project: Path
) -> None:
    """The branch that takes it was begun before, and is read before the one that has the commit."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        assert await w.recalled() == set()
        w.git("switch", "-q", "-c", "topic")
        w.git("switch", "-q", "main")
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "topic")
        w.git("merge", "-q", "--squash", "main")
        w.git("commit", "-q", "-m", "squashed")
        assert await w.recalled() == {A}


@pytest.mark.parametrize("left", ["there", "gone", "of a remote"])
async def test_a_squash_of_a_branch_that_holds_anothers_memories_is_followed(
    settings: Settings, project: Path, tmp_path: Path, left: str
) -> None:
    """Nothing was written on it, nothing looked while HEAD was there, and it has more than they."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        if left == "of a remote":
            git(tmp_path, "clone", "-q", "--branch", "feature", str(project), "other")
            (tmp_path / "other" / "c.py").write_text("c = 1\n", "utf-8")
            commit_all(tmp_path / "other", "c")
            w.git("fetch", "-q", str(tmp_path / "other"), "feature:refs/remotes/origin/feature")
        else:
            w.git("switch", "-q", "-c", "together")
            w.commit("c")
            w.git("rebase", "-q", "feature")
            w.git("switch", "-q", "main")
        w.git("merge", "-q", "--squash", "origin/feature" if left == "of a remote" else "together")
        w.git("commit", "-q", "-m", "squashed")
        if left == "gone":
            w.git("branch", "-q", "-D", "together")
        assert await w.recalled() == {A, B}
