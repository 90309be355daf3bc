"""What git proves to be a squash or a copy of other commits, and what it does not."""

from pathlib import Path

import pytest
from doors import agent, history
from git_world import A, B, C, D, GitWorld, in_git, make_world, parted
from real_git import commit_all, git

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

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


@pytest.mark.parametrize("kind", ["--soft", "--mixed"])
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_what_was_taken_back_and_committed_at_once_has_the_new_commit(
    settings: Settings, project: Path, mode: GitMode, kind: str
) -> None:
    """A squash by hand: nobody looked between the reset and the commit."""
    async with parted(settings, project, mode) as w:
        await w.write(C)
        w.commit("c")
        assert {B, C} <= await w.recalled()
        w.git("reset", "-q", kind, "HEAD~2")
        w.git("add", "-A")
        w.git("commit", "-q", "-m", "both")
        assert await w.standing() == dict.fromkeys((A, B, C), "")
        w.git("switch", "-q", "main")
        await w.search()
        w.git("merge", "-q", "--ff-only", "feature")
        assert await w.standing() == dict.fromkeys((A, B, C), "")


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_a_reset_to_what_another_made_of_the_branch_keeps_its_memories(
    settings: Settings, project: Path, tmp_path: Path, mode: GitMode
) -> None:
    """A colleague reworded and pushed it by force: each commit has its copy there."""
    async with parted(settings, project, mode) as w:
        git(project, "clone", "-q", str(project), str(tmp_path / "other"))
        git(tmp_path / "other", "switch", "-q", "feature")
        git(tmp_path / "other", "commit", "-q", "--amend", "-m", "b, in better words")
        w.git("fetch", "-q", str(tmp_path / "other"), "feature")
        w.told.clear()
        w.git("reset", "-q", "--hard", "FETCH_HEAD")
        assert await w.standing() == dict.fromkeys((A, B), "")
        assert [note for note in w.told if "went back" in note] == []
        w.git("switch", "-q", "main")
        await w.search()
        w.git("merge", "-q", "--no-ff", "--no-edit", "feature")
        assert await w.standing() == dict.fromkeys((A, B), "")


async def test_a_call_that_reads_writes_no_more_anchors_than_it_has_time_for(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebase copies many commits with memories: the calls after it write the rest."""
    async with parted(settings, project) as w:
        for content in (C, D):
            await w.write(content)
            w.commit(content[:3])
        w.git("switch", "-q", "main")
        w.commit("more")
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B, C, D}
        w.git("rebase", "-q", "main")
        monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 0.0)
        written: list[int] = []
        for _ in range(200):
            before = len(history(project))
            w.told.clear()
            await w.search()
            written.append(len(history(project)) - before)
            if not w.told:
                break
        assert max(written) == 1
        assert sum(written) == 3
        monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 60.0)
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.recalled() == {A, B, C}
