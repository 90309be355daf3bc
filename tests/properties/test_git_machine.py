"""Any order of git operations: what is recalled is what ancestors of HEAD have taught.

The model knows nothing of anchors, claims or reflogs. It keeps for each memory the commits that it
came with, finds the copies of a commit by their subject, and asks git what HEAD reaches. Where
records are committed with the code, a memory is also where git tracks its file, and nowhere without
that. What a revert or a cherry-pick does to memories is nothing: the one marks, the other offers.

Offers are compared as well: each is told once, at the first look from where its memories are not
recalled, for a branch that is gone and for a commit that was picked.
"""

import asyncio
import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from depth import depth, retell
from hypothesis import given, settings
from hypothesis import strategies as st
from real_git import commit_all, git, make_repository, read_branch

from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.engine import git as engine_git
from memory_mcp.engine.head import load_view
from memory_mcp.engine.workspace import Workspace
from memory_mcp.memories import add_memory

Step = tuple[str, int]

ACTS = ["write", "write", "commit", "commit", "switch", "switch", "new", "merge", "squash",
        "hard", "soft", "forward", "amend", "rebase", "revert", "pick", "tree", "pack", "drop",
        "look"]  # fmt: skip
STEPS = st.tuples(st.sampled_from(ACTS), st.integers(0, 5))

COMMITTED = ["write", "write", "commit", "commit", "switch", "switch", "new", "merge", "hard",
             "forward", "tree", "look"]  # fmt: skip
WITH_CODE = st.tuples(st.sampled_from(COMMITTED), st.integers(0, 5))

PARTED: list[Step] = [
    ("write", 0), ("commit", 0), ("new", 0), ("write", 0), ("commit", 0), ("write", 1),
    ("commit", 0), ("switch", 1), ("write", 0), ("commit", 0), ("look", 0),
]  # fmt: skip
"""Two branches that have parted, each with memories: what rebase, merge and the others need."""
STORIES = st.tuples(st.sampled_from([[], PARTED]), st.lists(STEPS, max_size=depth(8, 16)))
WITH_CODE_STORIES = st.tuples(
    st.sampled_from([[], PARTED]), st.lists(WITH_CODE, max_size=depth(8, 16))
)


@dataclass
class Memory:
    """What the model knows of a memory: where it is not committed yet, and the commits it has.

    `lines` are the branches on which it was committed.
    """

    id: str
    text: str
    open_on: set[str]
    homes: set[str] = field(default_factory=set[str])
    lines: set[str] = field(default_factory=set[str])


@dataclass
class World:
    """A repository, the memory in it, and the model of both.

    `beside` is the other work tree, and the memory as it is opened there. `worked` are the work
    trees in which commits were made on each branch, `made` the commits that were made for each,
    `picked` the changes that were picked to each.
    """

    folder: Path
    workspace: Workspace
    beside: tuple[Path, Workspace]
    with_code: bool = False
    memories: list[Memory] = field(default_factory=list[Memory])
    seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    dropped: set[str] = field(default_factory=set[str])
    worked: dict[str, set[Path]] = field(default_factory=dict[str, set[Path]])
    made: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    picked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    offered: list[str] = field(default_factory=list[str])
    looked: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    count: int = 0

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments).strip()

    @property
    def branch(self) -> str:
        return read_branch(self.folder)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def ancestors(self, of: str = "HEAD") -> set[str]:
        return set(self.git("rev-list", of).split())

    def attempt(self, operation: str, *arguments: str) -> bool:
        """Whether git could do it; what it cannot, it takes back."""
        before = self.head
        try:
            self.git(operation, *arguments)
        except AssertionError:
            self.git(operation, "--abort")
        return self.head != before

    def other(self, n: int, *, free: bool = False) -> str | None:
        """Another branch; a free one is in no other work tree."""
        taken = read_branch(self.beside[0]) if free else ""
        names = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        rest = [name for name in names if name not in (self.branch, taken)]
        return rest[n % len(rest)] if rest else None

    def close(self, commit: str) -> None:
        """What git tracks, also for another branch, is where its file is, and at home nowhere."""
        self.worked.setdefault(self.branch, set()).add(self.folder)
        self.made.add((self.branch, self.head))
        self.close_on(self.branch, [m for m in self.memories if self.branch in m.open_on], commit)

    def close_on(self, branch: str, memories: list[Memory], commit: str) -> None:
        trees = (self.folder, self.beside[0]) if self.with_code else ()
        tracked = " ".join(git(tree, "ls-files", "--", "*.json") for tree in trees)
        for memory in memories:
            memory.open_on.discard(branch)
            memory.lines.add(branch)
            if memory.id not in tracked:
                memory.homes.add(commit)

    def visible(self) -> set[str]:
        here, known = self.branch, self.ancestors()
        if not self.with_code:
            return {m.text for m in self.memories if here in m.open_on or m.homes & known}
        tracked = self.git("ls-files", "--", "*.json")
        files = {
            path.stem
            for folder in (self.folder, self.beside[0])
            for path in (folder / ".claude").rglob("*.json")
        }
        return {
            m.text
            for m in self.memories
            if m.id in files and (m.id in tracked or here in m.open_on or m.homes & known)
        }

    def hear(self) -> None:
        """Compare what was offered since the last look with what a user should be offered now."""
        assert self.workspace.git is not None
        moves = self.git("rev-parse", "--git-path", "logs/HEAD")
        here = str(self.folder), self.branch, (self.folder / moves).stat().st_size
        moved, self.looked = here not in self.looked, {*self.looked, here}
        notes = " ".join(self.workspace.git.take_notes())
        fresh = re.findall(r"Git: (\w+ is gone|\w+ copies \w+ of \w+)\.", notes)
        again = [offer for offer in fresh if offer in self.offered]
        assert again == [], "each is told once"
        shown = self.visible()
        hidden = [m for m in self.memories if m.text not in shown]
        gone = {f"{name} is gone" for name in self.dropped}
        due = {f"{name} is gone" for m in hidden for name in m.lines & self.dropped}
        told = {offer for offer in fresh if offer.endswith("gone")}
        if not self.with_code:  # else git has the files of these memories, and no line of ours
            assert told <= gone
            assert not moved or due <= {*self.offered, *told}, "once HEAD has moved"
        self.offered += fresh

    async def recalled(self) -> set[str]:
        view = await load_view(self.workspace)
        self.hear()
        bank = self.workspace.project
        found = await bank.index.find(view, Filters(kinds=frozenset({"fact"})), 100)
        return {record.content async for record in bank.records.scan(found)}

    async def take(self, step: Step) -> None:  # noqa: C901, PLR0912  # a case for each operation
        act, n = step
        self.count += 1
        self.seen.append((self.branch, self.head))
        other = self.other(n)
        match act:
            case "write":
                text = f"Fact number {self.count} is about subject {chr(97 + n) * 5}{self.count}."
                added = await add_memory(self.workspace, Draft(content=text))
                assert isinstance(added, MemoryAdded)
                self.hear()
                self.memories.append(Memory(added.record.id, text, {self.branch}))
            case "commit":
                self.commit()
                self.close(self.head)
            case "switch" if free := self.other(n, free=True):
                self.git("switch", "-q", free)
            case "tree":
                here = self.folder, self.workspace
                (self.folder, self.workspace), self.beside = self.beside, here
            case "revert":
                self.revert()
            case "pick" if other:
                await self.pick(other)
            case "drop" if free := self.other(n, free=True):
                if n % 2 or self.worked.get(free, {self.folder}) != {self.folder}:
                    assert await self.recalled() == self.visible()
                self.git("branch", "-q", "-D", free)
                self.dropped.add(free)
            case "new" if other is None or n < 2:
                before = self.branch
                self.git("switch", "-q", "-c", f"b{self.count}")
                for memory in self.memories:
                    if before in memory.open_on:
                        memory.open_on.add(self.branch)
            case "merge" if other:
                await self.merge(other)
            case "squash" if other:
                self.squash(other)
                assert await self.recalled() == self.visible()
            case "hard" | "soft" | "forward":
                await self.reset(act, n)
            case "amend":
                self.amend()
            case "rebase" if other:
                self.rebase(other)
            case "pack":
                self.git("pack-refs", "--all")
            case _:
                assert await self.recalled() == self.visible()

    def commit(self) -> None:
        (self.folder / f"f{self.count}.py").write_text(f"{self.count}\n", "utf-8")
        commit_all(self.folder, f"subject {self.count}")

    async def merge(self, other: str) -> None:
        """One look after it: a later commit on the other branch closes what a merge would."""
        before, known = self.head, self.ancestors()
        self.attempt("merge", "-q", "--no-edit", other)
        if self.head == before:
            return
        parents = self.git("rev-list", "--parents", "-n", "1", "HEAD").split()[1:]
        if len(parents) > 1 and parents[0] == before:
            self.close(self.head)
        for branch, tip in self.list_ends():
            if tip in self.ancestors() - known:
                self.close_merged(branch, tip)
        assert await self.recalled() == self.visible()

    def list_ends(self) -> list[tuple[str, str]]:
        """The other branches that end with a commit that was made for them."""
        listed = self.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        ends = [(name, tip) for name, tip in (line.split() for line in listed.splitlines())]
        return [end for end in ends if end[0] != self.branch and end in self.made]

    def close_merged(self, branch: str, tip: str) -> None:
        """What is open on a branch has its last commit, once that was merged."""
        here = self.branch
        open_there = [m for m in self.memories if branch in m.open_on and here not in m.open_on]
        self.close_on(branch, open_there, tip)

    def close_alike(self) -> None:
        """A commit with all changes of another branch is its squash, but not of what was picked."""
        made = self.git("diff", "HEAD~1", "HEAD")
        for branch, tip in self.list_ends() if (self.branch, made) not in self.picked else ():
            if made == self.git("diff", f"HEAD...{tip}"):
                hidden = {m.text for m in self.memories} - self.visible()
                self.close_merged(branch, tip)
                brings = self.ancestors(tip)
                for memory in self.memories:
                    if memory.text in hidden and memory.homes & brings:
                        memory.homes.add(self.head)

    def squash(self, other: str) -> None:
        if self.git("diff", "--stat", f"HEAD...{other}") == "":
            return
        brings = self.ancestors(other)
        hidden = {m.text for m in self.memories} - self.visible()
        self.git("merge", "-q", "--squash", other)
        if self.git("diff", "--cached", "--stat") == "":
            return
        proved = self.git("diff", "--cached") == self.git("diff", f"HEAD...{other}")
        tip = self.git("rev-parse", other)
        self.git("commit", "-q", "-m", f"subject {self.count}")
        if proved and (other, tip) in self.list_ends():
            self.close_merged(other, tip)
        for memory in self.memories:
            if proved and memory.text in hidden and memory.homes & brings:
                memory.homes.add(self.head)
        self.close(self.head)

    def revert(self) -> None:
        """Only of what is no merge and no revert: by its patch that would be the first commit."""
        parents = self.git("rev-list", "--parents", "-n", "1", "HEAD").split()[1:]
        subject = self.git("log", "-1", "--format=%s")
        plain = len(parents) == 1 and subject.startswith("subject")
        if plain and self.attempt("revert", "--no-edit", "HEAD"):
            self.close(self.head)

    async def pick(self, other: str) -> None:
        """Only beside other work: of the pick alone, all would have come with the picked commit."""
        commits = self.git("rev-list", "--no-merges", other, "^HEAD").split()
        own = self.git("rev-list", "HEAD", f"^{other}")
        assert await self.recalled() == self.visible()
        if commits and own and self.attempt("cherry-pick", commits[0]):
            self.picked.add((self.branch, self.git("diff", "HEAD~1", "HEAD")))
            self.close(self.head)
            shown = self.visible()
            due = any(commits[0] in m.homes and m.text not in shown for m in self.memories)
            assert await self.recalled() == shown
            copied = f"{self.head[:8]} copies {commits[0][:8]} of "
            assert due == any(offer.startswith(copied) for offer in self.offered)

    async def reset(self, act: str, n: int) -> None:
        """One look before and after: of several resets in a row only the end can be seen."""
        assert await self.recalled() == self.visible()
        old = self.head
        if act == "forward":
            own = [c for branch, c in dict.fromkeys(self.seen) if branch == self.branch]
            ahead = [c for c in own if old in self.ancestors(c) and c != old]
            if ahead:
                self.leave(ahead[n % len(ahead)])
        elif len(self.git("rev-list", "--first-parent", "HEAD").split()) > 2:
            if act == "hard":
                self.leave("HEAD~1")
            else:
                self.git("reset", "-q", "--soft", "HEAD~1")
                lost = {old, *self.git("rev-list", old, "^HEAD").split()}
                for memory in self.memories:
                    if memory.homes & lost:
                        memory.open_on.add(self.branch)
                assert await self.recalled() == self.visible()
                commit_all(self.folder, f"subject {self.count}")
                self.close(self.head)
                self.close_alike()
        assert await self.recalled() == self.visible()

    def leave(self, target: str) -> None:
        self.close(self.head)
        self.git("reset", "-q", "--hard", target)

    def amend(self) -> None:
        old = self.head
        if len(self.git("rev-list", "HEAD").split()) < 3:
            return
        self.git("commit", "-q", "--amend", "-m", f"subject {self.count}")
        for memory in self.memories:
            if old in memory.homes:
                memory.homes.add(self.head)
        self.close(self.head)
        self.close_alike()

    def rebase(self, other: str) -> None:
        lost = self.git("rev-list", "HEAD", f"^{other}").split()
        subjects = {commit: self.git("log", "-1", "--format=%s", commit) for commit in lost}
        if not self.attempt("rebase", "-q", other):
            return
        kept = self.ancestors()
        new = self.git("log", "--format=%H %s", "HEAD").splitlines()
        by_subject = {line.partition(" ")[2]: line.partition(" ")[0] for line in reversed(new)}
        for memory in self.memories:
            for commit in memory.homes & set(lost) - kept:
                memory.homes.add(by_subject.get(subjects[commit], self.head))


async def play(steps: list[Step], folder: Path, *, with_code: bool = False) -> None:
    project = make_repository(folder / "shop")
    (project / ".gitignore").write_text(
        ".state/\n" if with_code else ".claude/\n.state/\n", "utf-8"
    )
    commit_all(project, "ignore")
    git(project, "worktree", "add", "-q", "-b", "beside", str(folder / "tree"))
    settings = Settings(project_dir=project, home=folder / "home", user="ada", git="follow")
    other = replace(settings, project_dir=folder / "tree")
    async with open_workspace(settings) as built, open_workspace(other) as second:
        beside = folder / "tree", second.workspace
        world = World(project, built.workspace, beside, with_code)
        assert await world.recalled() == set()
        for step in steps:
            await world.take(step)
        assert await world.recalled() == world.visible()


AWAY: list[Step] = [
    ("write", 0), ("new", 0), ("commit", 0), ("switch", 0), ("write", 0), ("switch", 0),
    ("look", 0),
]  # fmt: skip
"""A branch is begun, gets a commit and is left, and nothing looks before the next write."""
AHEAD: list[Step] = [
    ("new", 0), ("switch", 1), ("commit", 0), ("hard", 0), ("forward", 0), ("write", 3),
    ("switch", 0), ("merge", 3),
]  # fmt: skip
"""A branch is reset and goes forward to its own commit again before another one merges it."""
NESTED: list[Step] = [
    ("write", 0), ("new", 0), ("new", 1), ("switch", 1), ("commit", 0), ("switch", 2),
    ("write", 0), ("switch", 0), ("look", 0), ("switch", 1), ("look", 0), ("switch", 1),
    ("look", 0),
]  # fmt: skip
"""The same of a branch from which another was begun before that commit."""
OLDER: list[Step] = [("new", 0), ("switch", 0), ("write", 0), ("switch", 0), ("look", 0)]
"""A branch that was begun before something was written, and seen only afterwards."""
ANEW: list[Step] = [
    ("new", 0), ("commit", 0), ("switch", 0), ("write", 0), ("rebase", 0), ("soft", 0), ("tree", 0),
    ("rebase", 0),
]  # fmt: skip
"""A commit is taken back and made anew, and the other work tree has the older one of the two."""
UNSEEN: list[Step] = [
    ("new", 0), ("switch", 3), ("write", 4), ("commit", 5), ("switch", 0), ("squash", 3),
]  # fmt: skip
"""Nothing looks between the first commit of a memory and its squash on a branch begun before."""
ELSEWHERE: list[Step] = [
    ("new", 0), ("write", 0), ("commit", 0), ("switch", 1), ("commit", 0), ("look", 0),
    ("squash", 0), ("tree", 0), ("squash", 1),
]  # fmt: skip
"""A branch is squashed in one work tree, and that again in the other; only there anything looks."""
BEGUN_ON_IT: list[Step] = [*ELSEWHERE[:-2], ("new", 0)]
"""A branch is begun on a squash that nothing looked at."""
COME_BACK: list[Step] = [
    ("write", 0), ("new", 0), ("tree", 0), ("switch", 0), ("switch", 0), ("look", 0),
]  # fmt: skip
"""The other work tree goes to where something was written and back, before anything looks there."""
TAKEN: list[Step] = [
    ("write", 0), ("tree", 0), ("new", 0), ("tree", 0), ("switch", 0), ("look", 0),
]  # fmt: skip
"""This work tree goes to a branch that the other one was begun on and has left."""
THROUGH: list[Step] = [
    ("write", 0), ("commit", 0), ("new", 0), ("write", 0), ("commit", 0), ("write", 1),
    ("commit", 0), ("switch", 1), ("write", 0), ("commit", 0), ("look", 0), ("tree", 0),
    ("commit", 0), ("rebase", 1), ("switch", 0), ("squash", 0),
]  # fmt: skip
"""A branch is squashed on which nothing was written or looked at, but which had another rebased."""

PICKED: list[Step] = [
    ("look", 0), ("switch", 0), ("write", 5), ("pick", 1), ("look", 0), ("soft", 0), ("look", 0),
]  # fmt: skip
"""What was picked is committed anew, and has all changes of the branch that it is from."""

DROPPED: list[Step] = [
    ("write", 0), ("commit", 0), ("new", 0), ("write", 0), ("commit", 0), ("write", 1),
    ("commit", 0), ("switch", 1),
]  # fmt: skip
"""A branch is left after its last commit, and nothing looks before it is merged and gone."""


@settings(max_examples=depth(2, 300))
@given(STORIES)
@retell(
    3,
    (PARTED, [("tree", 0), ("squash", 0), ("look", 0)]),
    (PARTED, [("hard", 0), ("hard", 0), ("squash", 0)]),
    (PARTED, [("new", 0), ("soft", 0), ("write", 0), ("switch", 1), ("soft", 0)]),
    ([], AWAY),
    ([], AHEAD),
    ([], NESTED),
    ([], OLDER),
    ([], ANEW),
    ([], UNSEEN),
    ([], ELSEWHERE),
    ([], BEGUN_ON_IT),
    ([], COME_BACK),
    ([], TAKEN),
    ([], THROUGH),
    (PARTED, PICKED),
    (DROPPED, [("merge", 0), ("drop", 2), ("look", 0)]),
    (DROPPED, [("squash", 0), ("drop", 2), ("look", 0)]),
    (DROPPED, [("drop", 2), ("commit", 0), ("look", 0)]),
    (PARTED, [("pick", 0), ("pick", 0), ("switch", 1), ("drop", 1), ("look", 0), ("look", 0)]),
    ([("commit", 0), ("write", 0), ("amend", 0)], [("tree", 0), ("merge", 0), ("amend", 0)]),
    (PARTED, [("rebase", 0), ("look", 0), ("switch", 1), ("look", 0), ("pick", 1), ("look", 0)]),
    (
        [],
        [
            ("write", 0),
            ("commit", 0),
            ("new", 0),
            ("write", 1),
            ("commit", 0),
            ("switch", 0),
            ("write", 2),
            ("commit", 0),
            ("look", 0),
            ("merge", 0),
            ("hard", 0),
            ("look", 0),
        ],
    ),
    (
        [],
        [
            ("new", 0),
            ("write", 0),
            ("commit", 0),
            ("write", 0),
            ("commit", 0),
            ("switch", 0),
            ("commit", 0),
            ("squash", 0),
            ("look", 0),
            ("soft", 0),
            ("amend", 0),
            ("rebase", 0),
        ],
    ),
    (
        [],
        [
            ("new", 0),
            ("write", 0),
            ("commit", 0),
            ("switch", 0),
            ("write", 0),
            ("pick", 0),
            ("look", 0),
            ("revert", 0),
            ("look", 0),
            ("tree", 0),
            ("write", 0),
            ("commit", 0),
            ("tree", 0),
            ("look", 0),
            ("merge", 1),
            ("look", 0),
        ],
    ),
)
def test_what_is_recalled_is_what_the_ancestors_taught(
    story: tuple[list[Step], list[Step]],
) -> None:
    """At every look, however much happened since the last one."""
    engine_git.WAIT_SECONDS_MAX = 60.0
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play([*story[0], *story[1]], Path(folder)))


@pytest.mark.nightly
@settings(max_examples=depth(1, 200))
@given(WITH_CODE_STORIES)
@retell(
    3,
    (
        PARTED,
        [
            ("write", 0),
            ("switch", 0),
            ("commit", 0),
            ("tree", 0),
            ("switch", 0),
            ("switch", 0),
            ("merge", 5),
        ],
    ),
    ([("commit", 0)], AWAY),
    ([], NESTED),
    ([], OLDER),
    ([], COME_BACK),
    ([], [("new", 0), ("look", 0), *OLDER[1:3], ("switch", 0), ("commit", 0), *OLDER[1:]]),
    (PARTED, [("hard", 0), ("write", 0), ("forward", 0), ("hard", 0), ("hard", 0)]),
    (
        PARTED,
        [
            ("write", 0),
            ("switch", 0),
            ("commit", 0),
            ("tree", 0),
            ("write", 0),
            ("switch", 0),
            ("commit", 0),
            ("look", 0),
        ],
    ),
    (
        [],
        [
            ("commit", 0),
            ("new", 0),
            ("write", 0),
            ("commit", 0),
            ("switch", 1),
            ("look", 0),
            ("write", 0),
            ("switch", 1),
            ("look", 0),
        ],
    ),
)
def test_the_same_where_records_are_committed_with_the_code(
    story: tuple[list[Step], list[Step]],
) -> None:
    """Git brings their files and takes them, so a memory is nowhere without its file."""
    engine_git.WAIT_SECONDS_MAX = 60.0
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play([*story[0], *story[1]], Path(folder), with_code=True))
