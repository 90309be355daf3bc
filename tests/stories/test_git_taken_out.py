"""Commits that were taken out of a branch again: by a revert, a rebase or a reset, in any order."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from doors import agent
from git_world import A, B, C, GitWorld, in_git, make_world, parted

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

RESET = "its commit was reset away"
REVERTED = "its commit was reverted"
DROPPED = "its commit was dropped"
UNDONE = "its commit was reverted, and then reset away"


@asynccontextmanager
async def three_commits(
    settings: Settings, project: Path, mode: GitMode
) -> AsyncGenerator[GitWorld]:
    """A, B and C written and committed on main, one after the other."""
    make_world(project, ignored=True)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        for text, name in ((A, "a"), (B, "b"), (C, "c")):
            await w.write(text)
            w.commit(name)
        assert await w.recalled() == {A, B, C}
        yield w


def _rebase(w: GitWorld, monkeypatch: pytest.MonkeyPatch, changes: dict[str, str]) -> None:
    """Rebase the last two commits, with another word for those of these subjects."""
    script = "import sys; p = sys.argv[1]; t = open(p).read().splitlines(); "
    script += f"c = {changes!r}; "
    script += "w = lambda l: (c.get(l.split()[-1], 'pick') + l[4:]) if l[:4] == 'pick' else l; "
    script += "open(p, 'w').write(chr(10).join(map(w, t)) + chr(10))"
    editor = w.folder.parent / "edit.py"
    editor.write_text(script, "utf-8")
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", f"{sys.executable} {editor}".replace(os.sep, "/"))
    monkeypatch.setenv("GIT_EDITOR", "true")
    w.git("rebase", "-q", "-i", "HEAD~2")


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_the_revert_of_a_merge_marks_what_the_merge_brought(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """It names the merge alone; its memories were written on the commits that came with it."""
    async with parted(settings, project, mode) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.commit("c")
        w.git("merge", "-q", "--no-ff", "-m", "merged", "feature")
        assert await w.standing() == {A: "", B: "", C: ""}

        w.git("revert", "--no-edit", "-m", "1", "HEAD")
        assert await w.standing() == {A: "", B: REVERTED, C: ""}
        w.git("revert", "--no-edit", "HEAD")
        assert await w.standing() == {A: "", B: "", C: ""}
        w.git("revert", "--no-edit", "HEAD")
        assert await w.standing() == {A: "", B: REVERTED, C: ""}
        w.git("switch", "-q", "feature")
        assert (await w.standing())[B] == "", "there it was never reverted"


async def test_a_merge_and_its_revert_between_two_looks_are_seen_together(
    settings: Settings, project: Path
) -> None:
    """Whoever looks only afterwards is told the same."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        w.commit("c")
        w.git("merge", "-q", "--no-ff", "-m", "merged", "feature")
        w.git("revert", "--no-edit", "-m", "1", "HEAD")
        assert await w.standing() == {A: "", B: REVERTED}


async def test_the_revert_on_another_branch_takes_none_away_here(
    settings: Settings, project: Path
) -> None:
    """The same commit may be reverted on several branches; each has its own."""
    async with three_commits(settings, project, "follow") as w:
        w.git("switch", "-q", "-c", "feature")
        w.git("revert", "--no-edit", "HEAD~1")
        assert await w.standing() == {A: "", B: REVERTED, C: ""}
        w.git("switch", "-q", "main")
        assert await w.standing() == {A: "", B: "", C: ""}
        w.git("revert", "--no-edit", "HEAD~1")
        assert await w.standing() == {A: "", B: REVERTED, C: ""}
        w.git("switch", "-q", "feature")
        assert await w.standing() == {A: "", B: REVERTED, C: ""}


@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_a_commit_that_a_rebase_left_out_was_dropped(
    settings: Settings, project: Path, mode: GitMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No copy of it is anywhere: its change is not here, and so neither is its memory."""
    async with three_commits(settings, project, mode) as w:
        _rebase(w, monkeypatch, {"b": "drop"})
        if mode == "follow":
            assert await w.recalled() == {A, C}
            assert any("1 memory of other commits not recalled here" in note for note in w.told)
        else:
            assert await w.standing() == {A: "", B: DROPPED, C: ""}
        w.git("reset", "-q", "--hard", "ORIG_HEAD")
        assert await w.standing() == {A: "", B: "", C: ""}


async def test_the_last_commit_can_be_dropped_too(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the rebase makes no commit at all."""
    async with three_commits(settings, project, "mark") as w:
        _rebase(w, monkeypatch, {"c": "drop"})
        assert await w.standing() == {A: "", B: "", C: DROPPED}


@pytest.mark.parametrize("how", ["squash", "fixup"])
async def test_a_commit_that_a_rebase_joined_with_another_was_not_dropped(
    settings: Settings, project: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has its change."""
    async with three_commits(settings, project, "follow") as w:
        _rebase(w, monkeypatch, {"c": how})
        assert await w.standing() == {A: "", B: "", C: ""}


async def test_a_commit_that_another_one_holds_already_was_not_dropped(
    settings: Settings, project: Path
) -> None:
    """A rebase onto the squash of the branch leaves out what that has; its memories hold."""
    async with three_commits(settings, project, "follow") as w:
        w.git("switch", "-q", "-c", "other", "HEAD~2")
        w.git("merge", "-q", "--squash", "main")
        w.git("commit", "-q", "-m", "squashed")
        w.git("switch", "-q", "main")
        w.git("rebase", "-q", "other")
        assert await w.standing() == {A: "", B: "", C: ""}


@pytest.mark.parametrize("looks", [True, False], ids=["seen", "between two looks"])
@pytest.mark.parametrize("how", ["--hard", "--soft"])
async def test_a_commit_that_was_reset_away_with_its_revert_is_called_both(
    settings: Settings, project: Path, how: str, *, looks: bool
) -> None:
    """Nothing of it was there any more, so no reset keeps its memory as work not yet committed."""
    async with three_commits(settings, project, "mark") as w:
        w.git("revert", "--no-edit", "HEAD")
        if looks:
            assert await w.standing() == {A: "", B: "", C: REVERTED}
        w.git("reset", "-q", how, "HEAD~2")
        assert await w.standing() == {A: "", B: "", C: UNDONE}
        w.commit("d")
        assert await w.standing() == {A: "", B: "", C: UNDONE}
        w.git("reset", "-q", "--hard", "HEAD@{2}")
        assert await w.standing() == {A: "", B: "", C: REVERTED}
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.standing() == {A: "", B: "", C: ""}, "the revert alone was reset away"
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.standing() == {A: "", B: "", C: RESET}


async def test_a_revert_that_a_rebase_copied_counts_for_the_copy(
    settings: Settings, project: Path
) -> None:
    """It names the commit as it was before."""
    async with three_commits(settings, project, "follow") as w:
        w.git("switch", "-q", "-c", "feature")
        await w.write("The search page needs a captcha.")
        w.commit("d")
        w.git("revert", "--no-edit", "HEAD")
        w.git("switch", "-q", "main")
        w.commit("e")
        w.git("switch", "-q", "feature")
        w.git("rebase", "-q", "main")
        assert (await w.standing())["The search page needs a captcha."] == REVERTED
