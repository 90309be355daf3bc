"""A rebase that changes commits: each memory goes to the copy of its own commit."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, C, GitWorld, in_git, make_world

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

RESET = "its commit was reset away"


@asynccontextmanager
async def three(
    settings: Settings, project: Path, mode: GitMode
) -> AsyncGenerator[tuple[GitWorld, str]]:
    """A, B and C with a commit each, on one another; the commit before them."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        base = w.commit("base")
        for text, name in ((A, "a"), (B, "b"), (C, "c")):
            await w.write(text)
            w.commit(name)
        assert await w.recalled() == {A, B, C}
        yield w, base


async def _check_each(w: GitWorld, mode: GitMode) -> None:
    """Back by one commit, and by another, each time without the memory of that commit."""
    assert await w.standing() == {A: "", B: "", C: ""}
    w.git("reset", "-q", "--hard", "HEAD~1")
    assert await w.standing() == {A: "", B: ""} | ({C: RESET} if mode == "mark" else {})
    w.git("reset", "-q", "--hard", "HEAD~1")
    assert await w.standing() == {A: ""} | ({B: RESET, C: RESET} if mode == "mark" else {})


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_a_commit_that_took_a_fixup_keeps_its_memories(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Its changes are others now; its author, time and subject are the same."""
    async with three(settings, project, mode) as (w, base):
        (project / "a.py").write_text("a = 'mended'\n", "utf-8")
        w.git("commit", "-q", "-a", "--fixup", "HEAD~2")
        w.git("-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", base)
        await _check_each(w, mode)


def _rebase_over_a_conflict(w: GitWorld, base: str, *upstream: str) -> None:
    """Onto a branch that has a commit of `a.py` made so, and another."""
    w.git("switch", "-q", "-c", "other", base)
    (w.folder / "a.py").write_text("a = 'theirs'\n", "utf-8")
    w.git("add", "a.py")
    w.git("commit", "-q", *upstream)
    w.commit("more")
    w.git("switch", "-q", "main")
    with pytest.raises(AssertionError):
        w.git("rebase", "-q", "other")
    (w.folder / "a.py").write_text("a = 'both'\n", "utf-8")
    w.git("add", "a.py")
    w.git("-c", "core.editor=true", "rebase", "--continue")


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_a_commit_that_was_picked_over_a_conflict_keeps_its_memories(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """It was settled by hand; what came before it on the other branch is none of its copies."""
    async with three(settings, project, mode) as (w, base):
        _rebase_over_a_conflict(w, base, "-m", "theirs")
        await _check_each(w, mode)


async def test_of_two_commits_that_may_be_the_copy_none_is_guessed(
    settings: Settings, project: Path
) -> None:
    """The other branch has one of the same author, time and subject: the tip holds the memory."""
    async with three(settings, project, "mark") as (w, base):
        at = w.git("log", "-1", "--format=%ad", "--date=raw", "HEAD~2")
        _rebase_over_a_conflict(w, base, "-m", "a", "--date", at)
        assert await w.standing() == {A: "", B: "", C: ""}
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.standing() == {A: RESET, B: "", C: RESET}
