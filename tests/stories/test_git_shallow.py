"""A shallow clone is followed as far as its history reaches, and what lies behind that stays."""

from pathlib import Path

import pytest
from doors import agent, trust
from git_world import A, B, GitWorld, in_git, make_world
from real_git import commit_all, git

from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

UNKNOWN = "0123456789" * 4


@pytest.fixture
def shallow(project: Path, tmp_path: Path) -> Path:
    """A clone with the last commit of each of the branches main and feature."""
    make_world(project, ignored=True)
    git(project, "switch", "-q", "-c", "feature")
    commit_all(project, "feature")
    git(project, "switch", "-q", "main")
    commit_all(project, "main")
    clone = tmp_path / "clone"
    depth = ("--depth=1", "--no-single-branch")
    git(tmp_path, "clone", "-q", *depth, f"file://{project}", str(clone))
    trust(clone)
    return clone


async def test_a_branch_that_is_begun_in_a_shallow_clone_is_followed(
    settings: Settings, shallow: Path
) -> None:
    """All that was committed since the clone was made lies in its history."""
    async with agent(in_git(settings, "follow", shallow), "auto") as client:
        w = GitWorld(client, shallow)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "topic")
        await w.write(B)
        w.commit("b")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("merge", "-q", "--ff-only", "topic")
        assert await w.recalled() == {A, B}


async def test_what_may_lie_behind_the_end_of_the_history_stays(
    settings: Settings, shallow: Path
) -> None:
    """Until the rest of it is fetched: then what was written before stands where it belongs."""
    async with agent(in_git(settings, "follow", shallow), "auto") as client:
        w = GitWorld(client, shallow)
        await w.write(A)
        w.git("switch", "-q", "feature")
        assert await w.recalled() == set(), "what is not committed is on main"
        await w.write(B)
        w.commit("b")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}, "main may have had that commit long ago"
        w.git("fetch", "-q", "--unshallow")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {B}


async def test_commits_that_a_shallow_fetch_cut_off_still_count(
    settings: Settings, project: Path, shallow: Path
) -> None:
    """As in a build that fetches no more than the newest commit each time."""
    async with agent(in_git(settings, "follow", shallow), "auto") as client:
        w = GitWorld(client, shallow)
        await w.write(A)
        w.commit("a")
        w.git("push", "-q", "origin", "main:taken")
        git(project, "merge", "-q", "taken")
        commit_all(project, "later")
        commit_all(project, "last")
        w.git("fetch", "-q", "--depth=1", "origin", "main")
        w.git("reset", "-q", "--hard", "FETCH_HEAD")
        assert await w.recalled() == {A}
    async with open_workspace(in_git(settings, "follow", shallow)) as built:
        assert built.workspace.git
        find_away = built.workspace.git.history.find_away
        assert find_away([UNKNOWN], ["HEAD"]) == set()
        git(shallow, "fetch", "-q", "--unshallow")
        assert find_away([UNKNOWN], ["HEAD"]) == {UNKNOWN}
