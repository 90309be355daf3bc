"""Git is not there, or was left in the middle of something: it is told, with what ends it."""

import json
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Run
from doors import Json, agent
from git_world import A, B, GitWorld, in_git, make_world
from real_git import commit_all, git

from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.files, pytest.mark.usefixtures("patient_git")]

NO_GIT = "there is no git on this machine"
SLOW = "Git moved and has not answered yet"


@pytest.fixture
def followed(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A on main, B on feature, both of which change one file; HEAD is on main."""
    monkeypatch.setenv("MEMORY_GIT", "follow")
    make_world(project, ignored=True)
    (project / "said.txt").write_text("one\n", "utf-8")
    run("add", A)
    commit_all(project, "a")
    git(project, "switch", "-q", "-c", "feature")
    run("add", B)
    (project / "said.txt").write_text("two\n", "utf-8")
    commit_all(project, "b")
    git(project, "switch", "-q", "main")
    (project / "said.txt").write_text("three\n", "utf-8")
    commit_all(project, "c")
    run("search", "")
    return project


def examine(run: Run) -> dict[str, Json]:
    """What the doctor finds, by its code."""
    return {each["code"]: each for each in json.loads(run("doctor", "--json")[1])["findings"]}


def test_without_git_it_is_said_once_what_is_amiss(
    followed: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not just moved: nobody waits for an answer that cannot come."""
    git(followed, "switch", "-q", "feature")
    with monkeypatch.context() as away:
        away.setenv("PATH", str(tmp_path))
        told = run("search", "")[2]
        assert NO_GIT in told
        assert SLOW not in told
        status = run("git")[1]
        assert "Git is on feature at " in status
        assert f"Not followed at the moment: {NO_GIT}." in status
        found = examine(run)
        assert NO_GIT in found["git-silent"]["what"]
        monkeypatch.setenv("MEMORY_GIT", "off")
        assert examine(run) == {}
    monkeypatch.setenv("MEMORY_GIT", "follow")
    assert examine(run) == {}


@pytest.mark.anyio
async def test_a_session_without_git_is_told_so_once(
    settings: Settings, followed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays so with every call."""
    monkeypatch.delenv("MEMORY_GIT")
    git(followed, "switch", "-q", "feature")
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, followed)
        path = os.environ["PATH"]
        monkeypatch.setenv("PATH", str(tmp_path))
        w.git("switch", "-q", "main")
        w.git("switch", "-q", "feature")
        for _ in range(3):
            await w.search()
        assert sum(NO_GIT in note for note in w.told) == 1
        monkeypatch.setenv("PATH", path)
        assert await w.recalled() == {A, B}


def _clash(folder: Path, *arguments: str) -> None:
    with pytest.raises(AssertionError):
        git(folder, *arguments)


def _leave_merge(folder: Path) -> str:
    _clash(folder, "merge", "feature")
    return "MERGE_HEAD"


def _leave_rebase(folder: Path) -> str:
    _clash(folder, "rebase", "feature")
    return "rebase-merge"


def _leave_pick(folder: Path) -> str:
    _clash(folder, "cherry-pick", "feature")
    return "CHERRY_PICK_HEAD"


def _leave_revert(folder: Path) -> str:
    (folder / "said.txt").write_text("four\n", "utf-8")
    commit_all(folder, "d")
    _clash(folder, "revert", "HEAD~1")
    return "REVERT_HEAD"


def _leave_bisect(folder: Path) -> str:
    git(folder, "bisect", "start", "HEAD", "HEAD~2")
    return "BISECT_LOG"


def _leave_sequencer(folder: Path) -> str:
    (folder / ".git" / "sequencer").mkdir()
    return "sequencer"


def _leave_lock(folder: Path) -> str:
    (folder / ".git" / "index.lock").touch()
    return "index.lock"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "leave",
    [_leave_merge, _leave_rebase, _leave_pick, _leave_revert, _leave_bisect, _leave_sequencer,
     _leave_lock],
)  # fmt: skip
def test_what_git_was_left_in_is_told_with_its_age_and_with_what_ends_it(
    followed: Path, run: Run, leave: Callable[[Path], str]
) -> None:
    """Git is not followed for as long, so memories stay hidden without a word."""
    left = followed / ".git" / leave(followed)
    assert "git-unfinished" not in examine(run), "somebody may be at work"
    ago = time.time() - 3 * 86_400 - 60
    os.utime(left, (ago, ago))
    found = examine(run)["git-unfinished"]
    assert "untouched for 3 days" in found["what"]
    assert f"{found['remedy']}\n" in run("git")[1]
    assert left.exists(), "that is for the user"
    said = (followed / "said.txt").read_bytes()
    command = shlex.split(found["remedy"].split("`")[1])
    if command[0] == "git":
        git(followed, *command[1:])
    else:
        assert command == ["rm", str(left)]
        left.unlink()
    assert "git-unfinished" not in examine(run)
    assert (followed / "said.txt").read_bytes() == said


def test_an_index_that_is_locked_for_an_hour_is_told(followed: Path, run: Run) -> None:
    """Git holds it for seconds."""
    lock = followed / ".git" / _leave_lock(followed)
    for seconds, age in ((900, "15 minutes"), (3700, "1 hour"), (90_000, "25 hours")):
        ago = time.time() - seconds - 5
        os.utime(lock, (ago, ago))
        assert f"untouched for {age}." in examine(run)["git-unfinished"]["what"]
