"""Memory goes along with git: what a commit, a checkout, a reset and the others do to it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, get_args

import pytest
from doors import agent, history, records
from git_world import GitWorld, in_git, make_world
from hooked import context_of, hook
from real_git import commit_all, git

from memory_mcp import bootstrap
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.hooks.opening import ASK_FIRST

pytestmark = pytest.mark.anyio

A = "Orders live in PostgreSQL."
B = "Sessions are kept in Redis."
C = "Invoices are printed at night."
D = "The search page needs a captcha."


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine git may take longer than a call waits for it."""
    monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 60.0)


Kept = Literal["ignored", "committed"]
"""Whether git ignores the records, or they are committed with the code."""


@pytest.fixture(params=get_args(Kept))
def kept(request: pytest.FixtureRequest) -> Kept:
    return request.param


@asynccontextmanager
async def world(
    settings: Settings, project: Path, *, kept: Kept, mode: GitMode | None = "follow"
) -> AsyncGenerator[GitWorld]:
    make_world(project, ignored=kept == "ignored")
    async with agent(in_git(settings, mode), "auto") as client:
        yield GitWorld(client, project)


@asynccontextmanager
async def parted(
    settings: Settings, project: Path, *, kept: Kept = "ignored", mode: GitMode | None = "follow"
) -> AsyncGenerator[GitWorld]:
    """A written and committed on main, then B on feature; HEAD is on feature."""
    async with world(settings, project, kept=kept, mode=mode) as w:
        await w.write(A)
        w.commit("a")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        assert await w.recalled() == {A, B}
        yield w


async def test_a_checkout_leaves_what_was_written_elsewhere(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """There and back, as often as one likes: no move is made for it."""
    async with parted(settings, project, kept=kept) as w:
        moves = len(history(project))
        for _ in range(2):
            w.git("switch", "-q", "main")
            assert await w.recalled() == {A}
            assert B not in await w.context()
            w.git("switch", "-q", "feature")
            assert await w.recalled() == {A, B}
        assert len(history(project)) == moves


async def test_what_is_written_later_on_main_is_not_known_on_feature(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """What was known where the branches part is known on both."""
    async with parted(settings, project, kept=kept) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.commit("c")
        assert await w.recalled() == {A, C}
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B}


async def test_what_is_not_committed_stays_with_its_branch(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """Git carries files that are not committed to any branch; memories stay where they belong."""
    async with parted(settings, project, kept=kept) as w:
        await w.write(D)
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B, D}


async def test_a_merge_brings_the_memories_of_the_branch(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """A true merge: both sides hold."""
    async with parted(settings, project, kept=kept) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.commit("c")
        w.git("merge", "-q", "--no-edit", "feature")
        assert await w.recalled() == {A, B, C}


async def test_a_fast_forward_brings_the_memories_of_the_branch(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """Even if nobody looked in between."""
    async with parted(settings, project, kept=kept) as w:
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--ff-only", "feature")
        assert await w.recalled() == {A, B}


async def test_a_squash_that_has_all_of_a_branch_brings_its_memories(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """It is proved by the change itself; that the branch is deleted does not matter."""
    async with parted(settings, project, kept=kept) as w:
        w.commit("more", in_file="b")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("merge", "-q", "--squash", "feature")
        w.git("commit", "-q", "-m", "squashed")
        w.git("branch", "-q", "-D", "feature")
        assert await w.recalled() == {A, B}


async def test_what_came_while_nobody_looked_is_seen_on_return(
    settings: Settings, project: Path
) -> None:
    """A squash that was made and left again between two calls, and a revert."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--squash", "feature")
        w.git("commit", "-q", "-m", "squashed")
        w.git("revert", "--no-edit", "HEAD~1")
        w.git("switch", "-q", "-c", "third", "HEAD~2")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "main")
        assert await w.standing() == {B: "", A: "its commit was reverted"}


async def test_an_amended_commit_keeps_its_memories(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """Its old commit is in no history any more."""
    async with parted(settings, project, kept=kept) as w:
        w.git("commit", "-q", "--amend", "-m", "better")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B}


async def test_a_hard_reset_hides_what_came_after_and_forward_brings_it_back(
    settings: Settings, project: Path, kept: Kept
) -> None:
    """B was written before its commit, when HEAD was still at the commit before."""
    async with parted(settings, project, kept=kept) as w:
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.recalled() == {A}
        w.git("reset", "-q", "--hard", "ORIG_HEAD")
        assert await w.recalled() == {A, B}


@pytest.mark.parametrize("how", ["--soft", "--mixed"])
async def test_a_reset_that_keeps_the_work_keeps_its_memories(
    settings: Settings, project: Path, kept: Kept, how: str
) -> None:
    """The next commit closes them anew."""
    async with parted(settings, project, kept=kept) as w:
        w.git("reset", "-q", how, "HEAD~1")
        assert await w.recalled() == {A, B}
        commit_all(project, "again")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_memories_of_a_reverted_commit_are_marked(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """They are found in both modes: that the commit was wrong says something, too."""
    async with parted(settings, project, mode=mode) as w:
        w.git("revert", "--no-edit", "HEAD")
        assert await w.standing() == {A: "", B: "its commit was reverted"}
        w.git("revert", "--no-edit", "HEAD")
        assert await w.standing() == {A: "", B: ""}


async def test_nothing_moves_while_head_is_detached(settings: Settings, project: Path) -> None:
    """To look around in old commits hides nothing."""
    async with parted(settings, project) as w:
        w.git("checkout", "-q", "--detach", "HEAD~1")
        assert await w.recalled() == {A, B}
        await w.write(D)
        assert await w.recalled() == {A, B, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}


async def test_durable_memories_are_everywhere(settings: Settings, project: Path) -> None:
    """What the user prefers belongs to no commit."""
    async with parted(settings, project) as w:
        await w.write("The user prefers tabs.", kind="preference")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, "The user prefers tabs."}


async def test_by_default_memories_are_marked_and_rank_below(
    settings: Settings, project: Path
) -> None:
    """Nothing is hidden; context and search say where it stands."""
    async with parted(settings, project, mode=None) as w:
        w.git("switch", "-q", "main")
        word = "written on feature, not merged here"
        assert await w.standing() == {A: "", B: word}
        assert [each["content"] for each in await w.search("sessions kept orders")] == [A, B]
        assert f"{B} ({word})" in await w.context()
        w.git("switch", "-q", "feature")
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.standing() == {A: "", B: "its commit was reset away"}


async def test_off_says_and_hides_nothing(settings: Settings, project: Path) -> None:
    """As if there were no git."""
    async with parted(settings, project, mode="off") as w:
        w.git("switch", "-q", "main")
        assert await w.standing() == {A: "", B: ""}
        assert {record["kind"] for record in records(project)} == {"fact"}


async def test_a_hook_prints_no_opening_of_another_commit(
    settings: Settings, project: Path
) -> None:
    """It has no time to look at git: it sees that HEAD has moved, and says to ask first."""

    def opening() -> str:
        own = {"MEMORY_USER": "ada", "MEMORY_HOME": str(settings.home)}
        return context_of(hook("session-start", {}, project, **own), "SessionStart")

    async with parted(settings, project):
        pass
    async with open_workspace(in_git(settings, "follow")) as built:
        assert await bootstrap.render_views(built.workspace) == ()
    assert B in opening()
    git(project, "switch", "-q", "main")
    assert opening() == ASK_FIRST
    async with open_workspace(in_git(settings, "follow")) as built:
        assert await bootstrap.render_views(built.workspace) == ()
    assert A in opening()
    assert B not in opening()
