"""The table of docs/git.md: what each event of git does to memories, in whichever way one works.

In `follow`, with records that git ignores, what does not stand on this commit is not recalled; in
`mark` it is marked and stands behind the rest. Where records are committed with the code, git takes
their files and brings them, in both modes. All of it holds in a linked work tree as in the main
one. The default run takes two of the eight ways for each event, the nightly one the others.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import pytest
from doors import agent, read, trust
from git_world import A, B, C, D, GitWorld, in_git, make_world
from mcp import Client
from real_git import commit_all, git

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.code.follow import GitMoved
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [
    pytest.mark.anyio, pytest.mark.files, pytest.mark.sampled(8),
    pytest.mark.usefixtures("patient_git"),
]  # fmt: skip

NOT_MERGED = "written on feature, not merged here"
RESET = "its commit was reset away"
REVERTED = "its commit was reverted"

Kept = Literal["ignored", "committed"]
"""Whether git ignores the records, or they are committed with the code."""
Place = Literal["main", "linked"]
"""The work tree in which one works; the main one is on another branch then."""


@dataclass(frozen=True)
class Way:
    """One of the eight ways to work."""

    mode: GitMode
    kept: Kept
    place: Place

    @property
    def hides(self) -> bool:
        """Whether what stands elsewhere is not recalled: we hide it, or git has its file."""
        return self.mode == "follow" or self.kept == "committed"


MODES: tuple[GitMode, ...] = ("mark", "follow")
WAYS = [Way(*each) for each in product(MODES, get_args(Kept), get_args(Place))]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way.mode}-{way.kept}-{way.place}")
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


class TableWorld(GitWorld):
    """A work tree in which one works in one of the eight ways."""

    def __init__(self, client: Client, folder: Path, way: Way, settings: Settings) -> None:
        super().__init__(client, folder)
        self.way = way
        self.settings = settings

    async def expect(self, here: set[str], elsewhere: Mapping[str, str] | None = None) -> None:
        """What stands here, and with which word the rest is marked, in searches and contexts."""
        away = elsewhere or {}
        context = await self.context()
        if self.way.hides:
            assert await self.recalled() == here
            assert [text for text in away if text in context] == []
            return
        assert await self.standing() == {**dict.fromkeys(here, ""), **away}
        order = [each["content"] for each in await self.search(" ".join([*away, *here]))]
        assert set(order[len(here) :]) == set(away), "they rank below what stands here"
        assert [text for text, word in away.items() if f"{text} ({word})" not in context] == []

    async def heard(self) -> list[str]:
        """What the next answer tells of git, and no other after it."""
        self.told.clear()
        await self.search()
        told = list(self.told)
        self.told.clear()
        await self.search()
        assert self.told == [], "each is told once"
        return told


@asynccontextmanager
async def working_in(folder: Path, settings: Settings, way: Way) -> AsyncGenerator[TableWorld]:
    """A session in that work tree."""
    there = in_git(settings, way.mode, folder)
    async with agent(there, "auto") as client:
        yield TableWorld(client, folder, way, there)


@asynccontextmanager
async def world(settings: Settings, project: Path, way: Way) -> AsyncGenerator[TableWorld]:
    """A session on main, which has nothing but its first commits."""
    make_world(project, ignored=way.kept == "ignored")
    folder = project
    if way.place == "linked":
        folder = project.with_name("tree")
        git(project, "switch", "-q", "-c", "parked")
        git(project, "worktree", "add", "-q", str(folder), "main")
    async with working_in(folder, settings, way) as w:
        yield w


@asynccontextmanager
async def parted(settings: Settings, project: Path, way: Way) -> AsyncGenerator[TableWorld]:
    """A written and committed on main, then B on feature; HEAD is on feature."""
    async with world(settings, project, way) as w:
        await w.write(A)
        w.commit("a")
        await w.expect({A})
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        await w.expect({A, B})
        yield w


async def test_checkout(settings: Settings, project: Path, way: Way) -> None:
    """There and back; what was known where the branches part is known on both."""
    async with parted(settings, project, way) as w:
        w.git("switch", "-q", "main")
        told = await w.heard()
        assert len(told) == way.hides
        assert all(note.startswith("Git is on main now: ") and "1 memory" in note for note in told)
        await w.expect({A}, {B: NOT_MERGED})
        await w.write(C)
        w.commit("c")
        await w.expect({A, C}, {B: NOT_MERGED})
        w.git("checkout", "-q", "feature")
        await w.expect({A, B}, {C: "written on main, not merged here"})
        w.git("checkout", "-q", "main")
        await w.expect({A, C}, {B: NOT_MERGED})


async def test_what_is_not_committed_stays_with_its_branch(
    settings: Settings, project: Path, way: Way
) -> None:
    """Git carries such files to any branch; memories stay where they belong."""
    async with parted(settings, project, way) as w:
        await w.write(D)
        w.git("switch", "-q", "main")
        assert D not in await w.recalled() or w.way.mode == "mark"
        standing = await w.standing()
        assert standing.get(D, NOT_MERGED) == NOT_MERGED
        w.git("switch", "-q", "feature")
        await w.expect({A, B, D})


BEGUN = {
    "by its name": [("switch", "-q", "-c", "next", "main")],
    "from the remote": [("checkout", "-q", "--no-track", "-b", "next", "origin/main")],
    "in two commands": [("branch", "next"), ("switch", "-q", "next")],
}


@pytest.mark.parametrize("how", BEGUN)
async def test_what_is_not_committed_goes_along_to_a_branch_that_is_begun(
    settings: Settings, project: Path, way: Way, how: str
) -> None:
    """However it is begun; a commit there closes it. Not to a copy of a remote's branch."""
    async with world(settings, project, way) as w:
        w.git("update-ref", "refs/remotes/origin/main", "HEAD")
        w.git("update-ref", "refs/remotes/origin/theirs", "HEAD")
        w.git("config", "remote.origin.url", str(project))
        w.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
        await w.write(A)
        for command in BEGUN[how]:
            w.git(*command)
        await w.expect({A})
        w.commit("a")
        await w.expect({A})
        w.git("switch", "-q", "main")
        await w.write(B)
        w.git("switch", "-q", "theirs")
        assert (await w.standing()).get(B, "written on main, not merged here") != ""


async def test_true_merge(settings: Settings, project: Path, way: Way) -> None:
    """The branch's memories hold on the target; those of the target not on the branch."""
    async with parted(settings, project, way) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.commit("c")
        w.git("merge", "-q", "--no-edit", "feature")
        await w.expect({A, B, C})
        w.git("switch", "-q", "feature")
        await w.expect({A, B}, {C: "written on main, not merged here"})


async def test_fast_forward(settings: Settings, project: Path, way: Way) -> None:
    """The same, whether somebody looked in between or not."""
    async with parted(settings, project, way) as w:
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--ff-only", "feature")
        await w.expect({A, B})


@pytest.mark.parametrize("how", ["--no-ff", "--ff-only", "--squash"])
async def test_what_is_written_after_the_last_commit_comes_with_its_branch(
    settings: Settings, project: Path, way: Way, how: str
) -> None:
    """As the end of a session is; what is written there after the merge stays there."""
    async with parted(settings, project, way) as w:
        await w.write(D)
        w.git("switch", "-q", "main")
        assert (await w.standing()).get(D, NOT_MERGED) == NOT_MERGED
        w.git("merge", "-q", *(["--no-edit"] if how == "--no-ff" else []), how, "feature")
        if how == "--squash":
            w.git("commit", "-q", "-m", "squashed")
        w.git("switch", "-q", "feature")
        await w.write(C)
        w.git("switch", "-q", "main")
        assert {text: word for text, word in (await w.standing()).items() if text != C} == {
            A: "", B: "", D: "",
        }  # fmt: skip
        assert (await w.standing()).get(C, NOT_MERGED) == NOT_MERGED
        w.git("branch", "-q", "-D", "feature")
        w.commit("later")
        assert {A, B, D} <= await w.recalled()


async def test_what_is_open_on_a_branch_that_caught_up_is_not_merged(
    settings: Settings, project: Path, way: Way
) -> None:
    """Its last commit is that of main then, but it did not come from there."""
    async with world(settings, project, way) as w:
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write(D)
        w.git("switch", "-q", "main")
        assert (await w.standing()).get(D, NOT_MERGED) == NOT_MERGED
        w.git("commit", "-q", "--allow-empty", "-m", "more")
        w.git("switch", "-q", "feature")
        w.git("merge", "-q", "--ff-only", "main")
        assert (await w.standing())[D] == ""
        w.git("switch", "-q", "main")
        assert (await w.standing()).get(D, NOT_MERGED) == NOT_MERGED


async def test_squash_that_is_proved(settings: Settings, project: Path, way: Way) -> None:
    """Its patch is that of the whole branch, which is deleted."""
    async with parted(settings, project, way) as w:
        w.commit("more", in_file="b")
        w.git("switch", "-q", "main")
        await w.expect({A}, {B: NOT_MERGED})
        w.git("merge", "-q", "--squash", "feature")
        w.git("commit", "-q", "-m", "squashed")
        w.git("branch", "-q", "-D", "feature")
        told = await w.heard()
        assert [note for note in told if "bring " in note] == []
        await w.expect({A, B})


async def test_squash_that_is_not_proved(settings: Settings, project: Path, way: Way) -> None:
    """It is never guessed: one offer, and the line stays restorable."""
    async with parted(settings, project, way) as w:
        tip = w.git("rev-parse", "HEAD")
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--squash", "feature")
        w.commit("and_more")
        w.git("branch", "-q", "-D", "feature")
        offers = [note for note in await w.heard() if "bring " in note]
        if way.kept == "committed":  # the squash has brought its file
            assert offers == []
            await w.expect({A, B})
            return
        (offer,) = offers
        assert "feature is gone" in offer
        assert "1 memory" in offer
        await w.expect({A}, {B: NOT_MERGED})
        await bring(w, tip[:8])
        await w.expect({A, B})


async def test_rebase(settings: Settings, project: Path, way: Way) -> None:
    """Memories stay, each on the copy of its commit."""
    async with parted(settings, project, way) as w:
        await w.write(D)
        w.commit("d")
        w.git("switch", "-q", "main")
        await w.write(C)
        w.commit("c")
        w.git("switch", "-q", "feature")
        w.git("rebase", "-q", "main")
        await w.expect({A, B, C, D})
        w.git("reset", "-q", "--hard", "HEAD~1")
        await w.expect({A, B, C}, {D: RESET})
        w.git("switch", "-q", "main")
        await w.expect({A, C}, {B: NOT_MERGED, D: NOT_MERGED})


async def test_amend(settings: Settings, project: Path, way: Way) -> None:
    """Its old commit is in no history any more."""
    async with parted(settings, project, way) as w:
        w.git("commit", "-q", "--amend", "-m", "better")
        await w.expect({A, B})
        w.git("switch", "-q", "main")
        await w.expect({A}, {B: NOT_MERGED})
        w.git("merge", "-q", "--no-edit", "feature")
        await w.expect({A, B})


async def test_hard_reset(settings: Settings, project: Path, way: Way) -> None:
    """Backwards hides what was written after that commit, forward brings it back."""
    async with parted(settings, project, way) as w:
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert len(await w.heard()) == way.hides
        await w.expect({A}, {B: RESET})
        assert f"1 memory: {RESET}" in await read(w.client, "memory_head")
        w.git("reset", "-q", "--hard", "ORIG_HEAD")
        assert len(await w.heard()) == way.hides
        await w.expect({A, B})


async def test_what_a_reset_left_is_restorable_by_name(
    settings: Settings, project: Path, way: Way
) -> None:
    """Work went on from the older commit; where git took the file, git brings it."""
    async with parted(settings, project, way) as w:
        left = w.git("rev-parse", "HEAD")
        w.git("reset", "-q", "--hard", "HEAD~1")
        await w.write(D)
        w.commit("d")
        await w.expect({A, D}, {B: RESET})
        if way.kept == "committed":
            w.git("cherry-pick", left)
        else:
            await bring(w, left[:8])
        await w.expect({A, B, D})


@pytest.mark.parametrize("how", ["--soft", "--mixed"])
async def test_reset_that_keeps_the_work(
    settings: Settings, project: Path, way: Way, how: str
) -> None:
    """Nothing moves, and one note says so; the next commit closes it anew."""
    async with parted(settings, project, way) as w:
        (w.folder / "main.py").write_text("dirty\n", "utf-8")
        w.git("reset", "-q", how, "HEAD~1")
        (note,) = await w.heard()
        assert "the work stayed: so did its memories" in note
        await w.expect({A, B})
        commit_all(w.folder, "again")
        assert await w.heard() == []
        await w.expect({A, B})
        w.git("switch", "-q", "main")
        await w.expect({A}, {B: NOT_MERGED})


async def test_revert(settings: Settings, project: Path, way: Way) -> None:
    """What we keep is marked and still found; a file in that commit is taken with it."""
    async with parted(settings, project, way) as w:
        for _ in range(2):
            w.git("revert", "--no-edit", "HEAD")
            if way.kept == "committed":
                await w.expect({A}, {B: REVERTED})
            else:
                assert await w.standing() == {A: "", B: REVERTED}
                found = await w.search(f"{B} {A}")
                assert [each["content"] for each in found] == [A, B]
                assert f"{B} ({REVERTED})" in await w.context()
            w.git("revert", "--no-edit", "HEAD")
            await w.expect({A, B})


async def test_cherry_pick(settings: Settings, project: Path, way: Way) -> None:
    """An offer to bring that commit's memories along; a file in that commit has come with it."""
    async with parted(settings, project, way) as w:
        picked = w.git("rev-parse", "HEAD")
        await w.write(D)
        w.commit("d")
        w.git("switch", "-q", "main")
        w.commit("other")
        await w.expect({A}, {B: NOT_MERGED, D: NOT_MERGED})
        w.git("cherry-pick", picked)
        offers = [note for note in await w.heard() if "bring " in note]
        if way.kept == "committed":
            assert offers == []
        else:
            (offer,) = offers
            assert f"memory-mcp git bring {picked[:8]}" in offer
            await w.expect({A}, {B: NOT_MERGED, D: NOT_MERGED})
            await bring(w, picked[:8])
        await w.expect({A, B}, {D: NOT_MERGED})


async def test_work_trees(settings: Settings, project: Path, way: Way) -> None:
    """One memory; each work tree is on its own line by its branch."""
    async with parted(settings, project, way) as w:
        w.git("switch", "-q", "main")
        beside = project.with_name("beside")
        git(project, "worktree", "add", "-q", str(beside), "feature")
        async with working_in(beside, settings, way) as other:
            await other.expect({A, B})
            await other.write(D)
            other.commit("d")
            await other.expect({A, B, D})
            away = {B: NOT_MERGED, D: NOT_MERGED}
            if way.mode == "mark":  # their files lie in the other work tree
                assert await w.standing() == {A: "", **away}
            else:
                await w.expect({A}, away)
            w.git("merge", "-q", "--no-edit", "feature")
            await w.expect({A, B, D})
            await w.write(C)
            w.commit("c")
            await w.expect({A, B, C, D})
            assert {text for text, word in (await other.standing()).items() if not word} == {
                A, B, D,
            }  # fmt: skip


async def test_two_repositories_and_two_clones(
    settings: Settings, project: Path, tmp_path: Path, way: Way
) -> None:
    """Their branches have the same names; they are joined only by what git itself brings."""
    async with parted(settings, project, way):
        pass
    other, clone = tmp_path / "other", tmp_path / "clone"
    make_world(other, ignored=way.kept == "ignored")
    git(other, "switch", "-q", "-c", "feature")
    git(tmp_path, "clone", "-q", "--branch", "feature", str(project), str(clone))
    brought = {A, B} if way.kept == "committed" else set[str]()
    for folder, known in ((other, set[str]()), (clone, brought)):
        trust(folder)
        async with working_in(folder, settings, way) as there:
            await there.expect(known)
            await there.write(D)
            there.commit("d")
            await there.expect({*known, D})
    here = project if way.place == "main" else project.with_name("tree")
    trust(project)
    async with working_in(here, settings, way) as w:
        await w.expect({A, B})
        w.git("pull", "-q", "--no-rebase", "--no-edit", str(clone), "feature")
        await w.expect({A, B, D} if way.kept == "committed" else {A, B})


async def bring(w: TableWorld, name: str) -> None:
    """Type `git bring`, as offers say."""
    async with open_workspace(w.settings) as built:
        assert isinstance(await code.bring_here(built.workspace, name), GitMoved)
