"""What git hides or brings is told once and undone by one `undo`, whichever process sees it.

Each command of the user's is a process of its own, and so is each session of an agent.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from command_line import Run
from doors import agent, call
from git_world import A, B, C, D, GitWorld, in_git, make_world, parted
from real_git import commit_all, git

from memory_mcp import branches, code
from memory_mcp.build import open_workspace
from memory_mcp.code.follow import GitMoved
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import MovePreview
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.workspace import Workspace
from memory_mcp.memories import add
from memory_mcp.storage.files.git import LocalGit

pytestmark = [pytest.mark.files, pytest.mark.usefixtures("patient_git")]

HIDDEN = (
    "Git is on main now: 1 memory of other commits not recalled here. "
    "`memory-mcp undo` keeps them here all the same."
)
FOLLOWED = "Git is on"
PLAN = "The plan."


class Typing:
    """A user who types commands in a project that follows git, or marks."""

    def __init__(self, run: Run, project: Path, mode: str = "follow") -> None:
        self.project = project
        self._run = run
        make_world(project, ignored=True)
        self.type("git", mode)

    def type(self, *arguments: str) -> tuple[str, str]:
        """What the command answered, and what was told beside that."""
        status, out, beside = self._run(*arguments)
        assert status == 0, out + beside
        return out, beside

    def git(self, *arguments: str) -> None:
        git(self.project, *arguments)

    def write(self, text: str) -> None:
        """Add a memory and commit the work."""
        self.type("add", text)
        (self.project / f"{len(text)}.py").write_text(text, "utf-8")
        commit_all(self.project, text)

    def part(self) -> None:
        """A written and committed on main, then B on feature; HEAD is on feature."""
        self.write(A)
        self.git("switch", "-q", "-c", "feature")
        self.write(B)

    def recalled(self) -> set[str]:
        found = self.type("search", "")[0]
        return {text for text in (A, B, C, D) if text in found}

    def told(self) -> int:
        """How often the next answer tells what git did."""
        return self.type("search", "")[1].count(FOLLOWED)


@pytest.fixture
def user(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.delenv("MEMORY_GIT", raising=False)
    return Typing(run, project)


def test_a_checkout_between_two_commands_is_told_once_and_undone_once(user: Typing) -> None:
    """Nobody saw it happen; still it is the last thing that changed what is recalled."""
    user.part()
    user.git("switch", "-q", "main")
    out, beside = user.type("search", "")
    assert B not in out
    assert beside.count(HIDDEN) == 1
    assert user.told() == 0
    assert "1 memory kept here all the same" in user.type("undo")[0]
    assert user.recalled() == {A, B}
    assert user.told() == 0, "the receipt has told it"
    assert "1 memory marked or hidden again" in user.type("undo")[0]
    assert user.recalled() == {A}


def test_a_checkout_just_before_undo_is_what_it_takes_back(user: Typing) -> None:
    """No answer came between."""
    user.part()
    user.git("switch", "-q", "main")
    assert "1 memory kept here all the same" in user.type("undo")[0]
    assert user.recalled() == {A, B}


def test_what_comes_back_is_told_and_leaves_the_move_before_to_undo(user: Typing) -> None:
    """A checkout that only shows more hid nothing."""
    user.part()
    user.git("switch", "-q", "main")
    assert user.told() == 1
    user.git("switch", "-q", "feature")
    assert "Git is on feature now: 1 memory of it recalled again." in user.type("search", "")[1]
    assert user.told() == 0
    assert "The mode is mark again" in user.type("undo", "--older")[0]


def test_a_backtrack_before_the_checkout_stays(user: Typing) -> None:
    """What was rejected is not recalled again because git moved since."""
    user.type("add", A)
    user.type("checkpoint", "--phase", "1", PLAN)
    user.type("add", C)
    user.type("backtrack", "1", "--mode", "continue")
    user.git("switch", "-q", "-c", "feature")
    user.write(B)
    user.git("switch", "-q", "main")
    assert user.recalled() == {A}
    user.type("undo")
    assert user.recalled() == {A, B}
    user.type("undo")
    assert user.recalled() == {A}


def test_the_choice_of_a_mode_is_told_by_itself(user: Typing) -> None:
    """Git moved while nothing followed it: that it hides is the choice's doing."""
    user.type("git", "mark")
    user.part()
    user.git("switch", "-q", "main")
    assert FOLLOWED not in user.type("git", "follow")[1]
    assert user.told() == 0
    assert user.recalled() == {A}
    assert "The mode is mark again: 1 memory" in user.type("undo")[0]
    assert user.recalled() == {A, B}


@pytest.mark.parametrize("mode", ["mark", "follow"])
@pytest.mark.parametrize("way", ["bring", "squash"])
def test_the_receipt_counts_what_undo_hides_and_brings(user: Typing, mode: str, way: str) -> None:
    """It is all that the user learns of it: git did nothing meanwhile, so no note says so."""
    user.type("git", mode)
    user.part()
    user.git("switch", "-q", "main")
    if way == "bring":
        user.type("git", "bring", "feature")
    else:
        user.git("merge", "-q", "--squash", "feature")
        user.git("commit", "-q", "-m", "squashed")
        assert user.recalled() == {A, B}
    for count in ("1 memory marked or hidden again", "1 memory recalled here again") * 2:
        out, beside = user.type("undo")
        assert count in out
        assert FOLLOWED not in beside
        assert user.told() == 0


@pytest.mark.anyio
async def test_a_new_session_tells_a_checkout_before_it(settings: Settings, project: Path) -> None:
    """And the one after that does not."""
    async with parted(settings, project):
        pass
    git(project, "switch", "-q", "main")
    for told in ([HIDDEN], []):
        async with agent(in_git(settings, "follow"), "auto") as client:
            w = GitWorld(client, project)
            assert await w.recalled() == {A}
            assert w.told == told


@pytest.mark.anyio
async def test_each_running_session_is_told(settings: Settings, project: Path) -> None:
    """What another session was told, the agent has not heard; it stays one event."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        async with agent(in_git(settings, "follow"), "auto") as client:
            assert await GitWorld(client, project).recalled() == {A}
        assert await w.recalled() == {A}
        assert w.told == [HIDDEN]
        assert await undo(settings, project) == "1 memory kept here all the same."
        assert await w.recalled() == {A, B}
        assert w.told == [HIDDEN], "git did not move"


@asynccontextmanager
async def two_trees(
    settings: Settings, project: Path, side: Path
) -> AsyncGenerator[tuple[GitWorld, GitWorld]]:
    """Sessions in two work trees of one repository, on main and on side."""
    make_world(project, ignored=True)
    git(project, "worktree", "add", "-q", "-b", "side", str(side))
    async with (
        agent(in_git(settings, "follow"), "auto") as client,
        agent(in_git(settings, "follow", side), "auto") as beside,
    ):
        yield GitWorld(client, project), GitWorld(beside, side)


@pytest.mark.anyio
@pytest.mark.parametrize("moves", [False, True])
async def test_what_another_work_tree_wrote_is_not_blamed_on_git(
    settings: Settings, project: Path, tmp_path: Path, *, moves: bool
) -> None:
    """It was never recalled here, so nothing took it away: `undo` takes back what was done here."""
    async with two_trees(settings, project, tmp_path / "side") as (w, other):
        await w.write(A)
        await call(w.client, "checkpoint", phase=1, summary=PLAN)
        await w.write(C)
        await call(w.client, "backtrack", to="1", mode="continue")
        w.commit("a")
        assert await w.recalled() == {A, PLAN}
        await other.write(B)
        if moves:
            w.commit("more")
        assert await w.recalled() == {A, PLAN}
        assert w.told == []
        assert await undo(settings, project) == "backtrack"


@pytest.mark.anyio
@pytest.mark.parametrize("looks", ["before it has a segment", "meanwhile"])
async def test_a_look_while_another_work_tree_writes_does_not_blame_git(
    settings: Settings, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    """Of what is written, nothing says yet that it is another branch's: it was not here before."""
    async with two_trees(settings, project, tmp_path / "side") as (w, other):
        await w.write(A)
        w.commit("a")
        assert await w.recalled() == {A}
        loop, begun = asyncio.get_running_loop(), list[str]()
        load, find = add.load_head_to_write, LocalGit.list_tracked_elsewhere

        async def look_first(workspace: Workspace) -> Head:
            begun.append("side")
            os.utime(project / ".git" / "HEAD")
            await w.recalled()
            return await load(workspace)

        def write_meanwhile(history: LocalGit) -> Mapping[str, str]:
            if not begun and history.name == str(project / ".git"):
                begun.append("main")
                asyncio.run_coroutine_threadsafe(other.write(B), loop).result()
            return find(history)

        with monkeypatch.context() as patch:
            if looks == "meanwhile":
                patch.setattr(LocalGit, "list_tracked_elsewhere", write_meanwhile)
                os.utime(project / ".git" / "HEAD")
                await w.recalled()
            else:
                patch.setattr(add, "load_head_to_write", look_first)
                await other.write(B)
        assert begun
        w.commit("more")
        assert await w.recalled() == {A}
        assert w.told == []


@pytest.mark.anyio
async def test_a_checkout_in_another_work_tree_is_undone_there(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Each work tree has its own last event."""
    side = tmp_path / "side"
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        git(project, "worktree", "add", "-q", str(side), "feature")
        async with agent(in_git(settings, "follow", side), "auto") as beside:
            other = GitWorld(beside, side)
            await other.write(D)
            other.commit("d")
            assert await other.recalled() == {A, B, D}
            other.git("switch", "-q", "-c", "third", "main")
            assert await other.recalled() == {A}
            assert len(other.told) == 1
        assert await undo(settings, project) == "1 memory kept here all the same."
        assert await w.recalled() == {A, B}


async def undo(settings: Settings, folder: Path) -> str:
    """What `undo` says that it did with git, typed there; else what it would do."""
    async with open_workspace(in_git(settings, "follow", folder)) as built:
        moved = await code.undo_git(built.workspace)
        if isinstance(moved, GitMoved):
            return moved.message.partition(". ")[0] + "."
        preview = await branches.preview_undo(built.workspace)
        assert isinstance(preview, MovePreview)
        return preview.takes_back.split()[1]
