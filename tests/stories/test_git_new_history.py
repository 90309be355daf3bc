"""A history that takes the place of another: of what the old one knew, nothing is proved."""

import shutil
from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, C, GitWorld, in_git, parted

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [
    pytest.mark.anyio, pytest.mark.files, pytest.mark.usefixtures("patient_git"),
    pytest.mark.parametrize("mode", ["mark", "follow"]),
]  # fmt: skip
IGNORES = pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "committed"])
NOT_MERGED = "written on feature, not merged here"


def begin_again(w: GitWorld) -> None:
    """Remove the history and make another one of what lies in the work tree."""
    shutil.rmtree(w.folder / ".git")
    w.git("init", "-q")
    w.git("add", "--all")
    w.git("commit", "-q", "-m", "init")


def rewrite(w: GitWorld) -> None:
    """Make every commit anew, as `git filter-repo` does, and remove what was."""
    w.git("filter-branch", "--force", "--msg-filter", "sed s/^/x/", "--", "--all")
    for ref in w.git("for-each-ref", "--format=%(refname)", "refs/original").split():
        w.git("update-ref", "-d", ref)
    w.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    w.git("gc", "-q", "--prune=now")


async def all_stand(w: GitWorld, settings: Settings, mode: GitMode, known: set[str]) -> None:
    """In this session, and in one that begins now."""
    assert await w.standing() == dict.fromkeys(known, "")
    async with agent(in_git(settings, mode), "auto") as client:
        assert await GitWorld(client, w.folder).standing() == dict.fromkeys(known, "")


@IGNORES
async def test_memories_stand_where_git_was_begun_again(
    settings: Settings, project: Path, mode: GitMode, *, ignored: bool
) -> None:
    """People do so to be rid of a history; what comes after is followed as ever."""
    async with parted(settings, project, mode, ignored=ignored) as w:
        begin_again(w)
        await all_stand(w, settings, mode, {A, B})
        assert not any("is gone" in note for note in w.told)
        w.git("switch", "-q", "-c", "next")
        await w.write(C)
        w.commit("c")
        await all_stand(w, settings, mode, {A, B, C})
        w.git("switch", "-q", "main")
        after = {A: "", B: "", C: "written on next, not merged here"}
        kept = ignored and mode == "mark"
        assert await w.standing() == (after if kept else {A: "", B: ""})


async def test_what_was_on_another_branch_is_not_known_to_be_elsewhere_any_more(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Not before the old history is back, which proves it again."""
    async with parted(settings, project, mode) as w:
        w.git("switch", "-q", "main")
        before = await w.standing()
        assert before == ({A: "", B: NOT_MERGED} if mode == "mark" else {A: ""})
        shutil.copytree(project / ".git", project.parent / "kept")
        begin_again(w)
        await all_stand(w, settings, mode, {A, B})
        shutil.rmtree(project / ".git")
        shutil.move(project.parent / "kept", project / ".git")
        assert await w.standing() == before


@IGNORES
async def test_memories_stand_where_every_commit_was_made_anew(
    settings: Settings, project: Path, mode: GitMode, *, ignored: bool
) -> None:
    """No reflog says which commit became which; on no branch is anything hidden for it."""
    async with parted(settings, project, mode, ignored=ignored) as w:
        rewrite(w)
        await all_stand(w, settings, mode, {A, B})
        w.git("switch", "-q", "main")
        await all_stand(w, settings, mode, {A, B} if ignored else {A})
        w.git("switch", "-q", "feature")
        await all_stand(w, settings, mode, {A, B})


async def test_a_branch_that_was_made_anew_while_another_is_checked_out(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """What is known of the others stays known."""
    async with parted(settings, project, mode) as w:
        w.git("switch", "-q", "-c", "other", "main")
        await w.write(C)
        w.commit("c")
        w.git("switch", "-q", "main")
        away = {B: NOT_MERGED, C: "written on other, not merged here"}
        assert await w.standing() == {A: "", **(away if mode == "mark" else {})}
        w.git("filter-branch", "--force", "--msg-filter", "sed s/^/x/", "main..feature")
        w.git("update-ref", "-d", "refs/original/refs/heads/feature")
        w.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        w.git("gc", "-q", "--prune=now")
        w.git("switch", "-q", "feature")
        marked = {C: "written on other, not merged here"} if mode == "mark" else {}
        assert await w.standing() == {A: "", B: "", **marked}


async def test_a_reset_to_a_commit_of_no_common_history_is_a_reset(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Git still has what it left, so that is proved to be elsewhere."""
    async with parted(settings, project, mode) as w:
        tree = w.git("rev-parse", "HEAD~2^{tree}")
        w.git("reset", "-q", "--hard", w.git("commit-tree", "-m", "apart", tree))
        away = {A: "written on main, not merged here", B: "its commit was reset away"}
        assert await w.standing() == (away if mode == "mark" else {})


async def test_what_was_reset_away_stays_so_when_git_has_removed_it(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """That was proved before, and the branch went on."""
    async with parted(settings, project, mode) as w:
        w.git("reset", "-q", "--hard", "HEAD~1")
        away = {B: "its commit was reset away"} if mode == "mark" else {}
        assert await w.standing() == {A: "", **away}
        w.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        w.git("gc", "-q", "--prune=now")
        w.commit("later")
        assert await w.standing() == {A: "", **away}
