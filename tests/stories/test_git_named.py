"""What the commands say of a memory that does not stand on this commit: list, show, update, forget,
import."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import Run
from doors import call
from git_world import A, B, C, GitWorld, make_world, parted
from real_git import commit_all, git, make_repository

from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.git import GitTip
from memory_mcp.storage.files.git import LocalGit
from memory_mcp.storage.files.work_trees import WorkTrees

pytestmark = [pytest.mark.files, pytest.mark.usefixtures("patient_git")]

ELSEWHERE = "written on feature, not merged here"


class Commands:
    """A user who types commands in a project with A on main and then B on feature."""

    def __init__(self, run: Run, project: Path, mode: str, *, ignored: bool = True) -> None:
        self.run = run
        make_world(project, ignored=ignored)
        self.say("git", mode)
        self.say("add", A)
        commit_all(project, "a")
        (project / "a.py").write_text("a", "utf-8")
        commit_all(project, "code")
        git(project, "switch", "-q", "-c", "feature")
        self.say("add", B)
        self.b = self.find(B)["memoryId"]
        (project / "b.py").write_text("b", "utf-8")
        commit_all(project, "b")

    def say(self, *arguments: str) -> str:
        status, out, beside = self.run(*arguments)
        assert status == 0, out + beside
        return out

    def fail(self, *arguments: str) -> str:
        status, out, beside = self.run(*arguments)
        assert status != 0, out
        return out + beside

    def listed(self) -> list[dict[str, Any]]:
        return json.loads(self.say("list", "--json"))["memories"]

    def find(self, text: str) -> dict[str, Any]:
        (found,) = [each for each in self.listed() if each["content"] == text]
        return found


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORY_GIT", raising=False)


def test_a_list_begins_with_what_stands_here_and_marks_the_rest(project: Path, run: Run) -> None:
    """The newest is of another branch; a program reads the same word."""
    user = Commands(run, project, "mark")
    assert [each["content"] for each in user.listed()] == [B, A]
    git(project, "switch", "-q", "main")

    lines = user.say("list").splitlines()
    assert A in lines[0]
    assert "(" not in lines[0]
    assert lines[1].endswith(f"{B} ({ELSEWHERE})")
    assert [(each["content"], each.get("standing")) for each in user.listed()] == [
        (A, None), (B, ELSEWHERE),
    ]  # fmt: skip
    assert json.loads(user.say("list", "--limit", "1", "--json"))["memories"][0]["content"] == A


def test_a_memory_is_shown_with_its_mark(project: Path, run: Run) -> None:
    """Else it reads as if it held here."""
    user = Commands(run, project, "mark")
    assert "not merged" not in user.say("show", user.b)
    git(project, "switch", "-q", "main")

    assert "Written on feature, not merged here." in user.say("show", user.b)
    assert json.loads(user.say("show", user.b, "--json"))["standing"] == ELSEWHERE


def test_a_branch_renamed_while_head_stays_has_its_new_name_in_all_that_is_told(
    project: Path, run: Run
) -> None:
    """Git knows no other: what is told must be what can be typed."""
    user = Commands(run, project, "mark")
    git(project, "switch", "-q", "main")
    assert "`memory-mcp git bring feature`" in user.say("git")
    git(project, "branch", "-m", "feature", "topics/other")

    assert "written on topics/other, not merged here" in user.say("list")
    assert "`memory-mcp git bring topics/other`" in user.say("git")
    log = user.say("log")
    assert "on topics/other" in log
    assert "feature" not in log
    assert "1 memory of topics/other now counts on main" in user.say("git", "bring", "topics/other")


def test_what_git_hides_is_said_to_stand_elsewhere(project: Path, run: Run) -> None:
    """It belongs to the same branch of memory's: git's is what differs."""
    user = Commands(run, project, "follow")
    git(project, "switch", "-q", "main")

    for command in (["show", user.b], ["update", user.b, C], ["forget", "--hide", user.b]):
        said = user.fail(*command)
        assert f"does not stand on this commit of git ({ELSEWHERE})" in said
        assert "`memory-mcp git bring feature`" in said
        assert "`git switch feature`" in said
        assert "belongs to branch" not in said

    said = user.say("forget", user.b)
    assert f"It did not stand on this commit of git ({ELSEWHERE}), and is gone there, too." in said
    git(project, "switch", "-q", "feature")
    assert [each["content"] for each in user.listed()] == [A]


def test_what_git_took_with_its_file_is_not_said_to_be_unknown(project: Path, run: Run) -> None:
    """Nor to be erased: its file comes back with the branch."""
    user = Commands(run, project, "mark", ignored=False)
    git(project, "switch", "-q", "main")
    assert [each["content"] for each in user.listed()] == [A]

    for command in (["show", user.b], ["update", user.b, C], ["forget", user.b]):
        said = user.fail(*command)
        assert "git, which has taken its file away" in said
        assert "`memory-mcp git`" in said
    git(project, "switch", "-q", "feature")
    assert {each["content"] for each in user.listed()} == {A, B}


def test_an_import_does_not_take_what_stands_elsewhere_for_known(
    project: Path, run: Run, tmp_path: Path
) -> None:
    """A statement that only another branch made is imported; what that one imported is named."""
    user = Commands(run, project, "mark")
    notes, there = tmp_path / "notes.json", tmp_path / "there.json"
    notes.write_text(json.dumps([{"id": "1", "memory": B}]), "utf-8")
    there.write_text(json.dumps([{"id": "2", "memory": C}]), "utf-8")
    user.say("import", "--from", "mem0", str(there))
    (project / "c.py").write_text("c", "utf-8")
    commit_all(project, "c")
    git(project, "switch", "-q", "main")

    said = json.loads(user.say("import", "--from", "mem0", str(notes), "--json"))
    assert (said["stored"], said["known"]) == (1, 0)
    assert [each.get("standing") for each in user.listed() if each["content"] == B] == [
        None, ELSEWHERE,
    ]  # fmt: skip
    again = user.say("import", "--from", "mem0", str(there))
    assert ELSEWHERE in again
    assert "`memory-mcp git bring feature`" in again


def test_on_a_branch_of_memory_that_was_chosen_nothing_is_said_to_be_hidden(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git is not followed there, and all of that branch is recalled: nothing is to be brought."""
    user = Commands(run, project, "follow")
    user.say("fork", "side")
    git(project, "switch", "-q", "main")
    assert "not recalled here" in user.say("git")

    said = user.say("--branch", "side", "git")
    assert "memory's branch 'side' was chosen, and all of that is recalled" in said
    assert "not recalled here" not in said
    monkeypatch.setenv("MEMORY_BRANCH", "side")
    assert json.loads(user.say("git", "--json"))["elsewhere"] == []


@pytest.mark.anyio
async def test_an_update_replaces_no_memory_that_stands_elsewhere(
    settings: Settings, project: Path
) -> None:
    """It says the same, and goes on saying it where it stands."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "main")
        (old,) = [each for each in await w.search() if each["content"] == A]
        said = await call(w.client, "update_memory", memory_id=old["memoryId"], content=B)
        assert said["replaced"] == [old["memoryId"]]
        assert await _standings(w, B) == ["", ELSEWHERE]


async def _standings(w: GitWorld, text: str) -> list[str]:
    return [each.get("standing", "") for each in await w.search() if each["content"] == text]


def test_a_branch_that_has_the_name_of_a_tag_is_not_gone(tmp_path: Path) -> None:
    """Git then calls it heads/release for short; nobody is told that release itself is gone."""
    folder = make_repository(tmp_path / "project")
    git(folder, "tag", "release")
    git(folder, "switch", "-q", "-c", "release")
    commit_all(folder, "left")
    git(folder, "switch", "-q", "main")
    git(folder, "branch", "-q", "--force", "release", "refs/heads/main")
    history = LocalGit(WorkTrees(folder, folder), folder / ".git", Disk(), os.environ)
    assert history.list_tips() == []


def test_a_branch_that_has_the_name_of_a_tag_is_one_tip_by_its_own_name(tmp_path: Path) -> None:
    """What was written on release is offered once, by a command that takes the branch's commit."""
    folder = make_repository(tmp_path / "project")
    git(folder, "tag", "release")
    git(folder, "switch", "-q", "-c", "release")
    commit_all(folder, "left")
    tip = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "switch", "-q", "main")
    history = LocalGit(WorkTrees(folder, folder), folder / ".git", Disk(), os.environ)
    assert history.find_tips([tip], history.look().commit) == {"release": tip}
    assert history.list_tips() == [GitTip("release", tip, "heads/release")]
