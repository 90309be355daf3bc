"""What git proves to be a squash or a copy of other commits, and what it does not."""

from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, GitWorld, in_git, make_world

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
