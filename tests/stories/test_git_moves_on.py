"""Memory goes along with git, in the cases that the table of docs/git.md does not tell."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Run, as_json
from doors import Json, agent, call, history, read, records, seal, trust
from git_world import A, B, C, D, GitWorld, in_git, make_world, parted
from hooked import context_of, hook
from patient import examine
from real_git import commit_all, git

from memory_mcp import bootstrap, branches, code
from memory_mcp.build import open_workspace
from memory_mcp.cli.main import main
from memory_mcp.code.follow import GitMoved
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.domain.outcomes import TimelineLog
from memory_mcp.errors import InvalidRequestError
from memory_mcp.hooks.opening import ASK_FIRST
from memory_mcp.render.log import render_log, render_log_fields
from memory_mcp.storage.files.git_index import read_index
from memory_mcp.storage.files.work_trees import WorkTrees

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]


def test_a_command_tells_what_only_the_user_can_decide(project: Path, run: Run) -> None:
    """It may be the first to look, and nobody is offered anything twice."""
    make_world(project, ignored=True)
    assert run("add", A)[0] == 0
    commit_all(project, "a")
    git(project, "switch", "-q", "-c", "feature")
    assert run("add", B)[0] == 0
    (project / "b.py").write_text("b = 1\n", "utf-8")
    commit_all(project, "b")
    assert run("search", "sessions")[0] == 0
    git(project, "switch", "-q", "main")
    (project / "b.py").write_text("b = 1\nc = 2\n", "utf-8")
    commit_all(project, "squashed, and more")
    git(project, "branch", "-q", "-D", "feature")

    assert "feature is gone. If its 1 memory should hold here" in run("add", C)[2]
    assert "feature is gone" not in run("add", D)[2]


async def test_memories_of_an_operation_are_placed_when_it_ends(
    settings: Settings, project: Path
) -> None:
    """A rebase that stops at a conflict: HEAD is detached meanwhile."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        w.commit("other", in_file="b")
        w.git("switch", "-q", "feature")
        with pytest.raises(AssertionError):
            w.git("rebase", "main")
        assert await w.recalled() == {A, B}
        await w.write(D)
        (project / "b.py").write_text("both\n", "utf-8")
        w.git("add", "b.py")
        w.git("-c", "core.editor=true", "rebase", "--continue")
        assert await w.recalled() == {A, B, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}


@asynccontextmanager
async def two_work_trees(
    settings: Settings, project: Path, tree: Path
) -> AsyncGenerator[tuple[GitWorld, GitWorld]]:
    """An agent in the main work tree, and one in a linked one on the branch `feature`."""
    make_world(project, ignored=True)
    git(project, "worktree", "add", "-q", "-b", "feature", str(tree))
    async with (
        agent(in_git(settings, "follow"), "auto") as first,
        agent(in_git(settings, "follow", tree), "auto") as second,
    ):
        yield GitWorld(first, project), GitWorld(second, tree)


async def test_each_work_tree_is_on_its_own_line(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """They share one memory, and work at the same time."""
    async with two_work_trees(settings, project, tmp_path / "tree") as (here, linked):
        await here.write(A)
        await linked.write(B)
        await here.write(C)
        assert (await here.recalled(), await linked.recalled()) == ({A, C}, {B})
        linked.commit("b")
        here.commit("c")
        await linked.write(D)
        assert (await here.recalled(), await linked.recalled()) == ({A, C}, {B, D})
        linked.commit("d")
        assert await linked.recalled() == {B, D}
        here.git("merge", "-q", "--no-edit", "feature")
        assert await here.recalled() == {A, B, C, D}
        assert await linked.recalled() == {B, D}


async def test_a_write_waits_for_another_session_that_looks(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Else it would land in the segment of another branch."""
    async with (
        two_work_trees(settings, project, tmp_path / "tree") as (here, linked),
        open_workspace(in_git(settings, "follow", tmp_path / "tree")) as third,
    ):
        await here.write(A)
        assert await linked.recalled() == set()
        assert third.workspace.git
        with third.workspace.git.history.alone() as alone:
            assert alone
            writing = asyncio.create_task(linked.write(B))
            await asyncio.sleep(0.3)
            assert not writing.done()
        await writing
        assert (await here.recalled(), await linked.recalled()) == ({A}, {B})


@pytest.mark.files
async def test_a_linked_work_tree_tells_the_story_of_its_own_branch(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Records are committed with the code: what each tree recalls is what a clone would."""
    make_world(project, ignored=False)
    tree = tmp_path / "tree"
    async with agent(in_git(settings, "follow"), "auto") as first:
        here = GitWorld(first, project)
        await here.write(A)
        here.commit("a")
        here.git("worktree", "add", "-q", "-b", "feature", str(tree))
        await here.write(C)
        here.commit("c")
        async with agent(in_git(settings, "follow", tree), "auto") as second:
            linked = GitWorld(second, tree)
            assert await linked.recalled() == {A}, "C was committed on main, not merged"
            await linked.write(B)
            linked.commit("b")
            assert (await here.recalled(), await linked.recalled()) == ({A, C}, {A, B})
            here.git("switch", "-q", "-c", "third", "HEAD~2")
            assert (await here.recalled(), await linked.recalled()) == (set(), {A, B})
            here.git("switch", "-q", "main")
            linked.git("merge", "-q", "--no-edit", "main")
            assert (await here.recalled(), await linked.recalled()) == ({A, C}, {A, B, C})
        assert here.git("status", "--porcelain", "--", ".claude") == ""
        assert git(tree, "status", "--porcelain") == ""
    for branch, known in (("main", {A, C}), ("feature", {A, B, C})):
        clone = tmp_path / branch
        git(tmp_path, "clone", "-q", "--branch", branch, str(project), str(clone))
        trust(clone)
        async with agent(in_git(settings, "follow", clone), "auto") as client:
            assert await GitWorld(client, clone).recalled() == known


@pytest.mark.files
@pytest.mark.parametrize(
    ("begun", "ignored", "kept"),
    [(False, False, True), (False, True, False), (True, False, False)],
    ids=["first", "ignored", "begun in the main one"],
)
async def test_a_linked_work_tree_keeps_the_first_records_if_git_does_not_ignore_them(
    settings: Settings, project: Path, tmp_path: Path, *, begun: bool, ignored: bool, kept: bool
) -> None:
    """Whoever works only there commits them; what nobody commits outlives that work tree."""
    make_world(project, ignored=ignored)
    tree = tmp_path / "tree"
    git(project, "worktree", "add", "-q", "-b", "feature", str(tree))
    if begun:
        async with agent(in_git(settings, "follow"), "auto") as first:
            await GitWorld(first, project).write(C)
    async with agent(in_git(settings, "follow", tree), "auto") as second:
        linked = GitWorld(second, tree)
        ids = {await linked.write(A), await linked.write(B)}
        assert ids.isdisjoint({each["id"] for each in records(tree)}) is not kept
        assert ids.isdisjoint({each["id"] for each in records(project)}) is kept
        linked.commit("work")
        assert await linked.recalled() == {A, B}
        assert (git(tree, "ls-files", ".claude") != "") is kept


@pytest.mark.files
async def test_what_other_work_trees_have_is_marked_and_erased_everywhere(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """One memory, in as many folders as there are work trees."""
    make_world(project, ignored=False)
    tree = tmp_path / "tree"
    async with agent(in_git(settings, "mark"), "auto") as first:
        here = GitWorld(first, project)
        id_ = await here.write(A)
        here.commit("a")
        here.git("worktree", "add", "-q", "-b", "feature", str(tree))
        async with agent(in_git(settings, "mark", tree), "auto") as second:
            linked = GitWorld(second, tree)
            await linked.write(B)
            linked.commit("b")
            assert await linked.standing() == {A: "", B: ""}
            assert await here.standing() == {A: "", B: "written on feature, not merged here"}
            await call(second, "forget_memory", memory_id=id_, mode="erase")
            assert await here.standing() == {B: "written on feature, not merged here"}
    assert id_ not in {record["id"] for folder in (project, tree) for record in records(folder)}


@pytest.mark.files
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX, and names of files")
@pytest.mark.parametrize("ignored", [True, False])
async def test_a_command_works_as_printed_from_any_folder_whatever_a_branch_is_called(
    settings: Settings, project: Path, *, ignored: bool
) -> None:
    """A name may hold what a shell would run, and a command is pasted, by agents too."""
    branch = "x;touch${IFS}ran;it's"
    below = project / "src" / "deep"
    async with parted(settings, project, ignored=ignored) as w:
        w.git("switch", "-q", "main")
        w.git("switch", "-q", "-c", branch)
        await w.write(C)
        w.commit("c")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        async with open_workspace(in_git(settings, "follow")) as built:
            report = await code.report_git(built.workspace)
        assert isinstance(report, code.GitReport)
        (command,) = (group.command for group in report.groups if group.name == branch)
        if ignored:
            assert shlex.split(command) == ["memory-mcp", "git", "bring", branch]
            return
        below.mkdir(parents=True)
        paste(command, below)
        assert await w.recalled() == {A, C}
        assert w.git("ls-files", "--others", "*ran") == ""


@pytest.mark.files
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_what_git_takes_and_brings_with_its_files_is_told_once_and_in_the_head(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """A short list is not taken for all there is; and git says how to get the rest."""
    bring = "git checkout {} -- :/.claude/memory"
    async with parted(settings, project, mode, ignored=False) as w:
        await w.write(C)
        tip = w.commit("c")
        assert await told(w) == []
        w.git("switch", "-q", "main")
        assert await told(w) == ["Git is on main now: it took the files of 2 memories away."]
        waiting = "2 memories: written on feature, not merged here"
        assert f"{waiting} (not recalled here; `{bring.format('feature')}`)" in await head_of(w)
        w.git("switch", "-q", "feature")
        assert await told(w) == ["Git is on feature now: it brought the files of 2 memories."]
        assert "not recalled here" not in await head_of(w)
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await told(w) == ["Git is on feature now: it took the files of 1 memory away."]
        reset = "1 memory: its commit was reset away"
        assert f"{reset} (not recalled here; `{bring.format(tip[:8])}`)" in await head_of(w)
        with pytest.raises(InvalidRequestError, match=r"git checkout .* brings them"):
            await bring_here(settings, mode, tip[:8])
        w.git(*bring.format(tip[:8]).split()[1:])
        assert await w.recalled() == {A, B, C}


@pytest.mark.files
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_a_session_that_begins_after_git_moved_is_told_what_it_took_and_brought(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Whichever session looked last, it was told of what was before; what is committed is none."""
    there = in_git(settings, mode)

    async def begin() -> list[str]:
        async with agent(there, "auto") as client:
            return await told(GitWorld(client, project))

    make_world(project, ignored=False)
    async with agent(there, "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
    w.commit("a")
    assert await begin() == [], "it lay here"
    w.git("switch", "-q", "-c", "feature")
    async with agent(there, "auto") as client:
        await GitWorld(client, project).write(B)
    w.commit("b")
    w.git("switch", "-q", "main")
    assert await begin() == ["Git is on main now: it took the files of 1 memory away."]
    assert await begin() == []
    w.git("switch", "-q", "feature")
    assert await begin() == ["Git is on feature now: it brought the files of 1 memory."]
    w.git("switch", "-q", "main")
    assert await begin() == ["Git is on main now: it took the files of 1 memory away."]
    w.git("merge", "-q", "--squash", "feature")
    w.git("commit", "-q", "-m", "squashed")
    assert await begin() == ["Git is on main now: it brought the files of 1 memory."]
    w.git("reset", "-q", "--hard", "HEAD~1")
    assert await begin() == ["Git is on main now: it took the files of 1 memory away."]
    async with agent(there, "auto") as client:
        id_ = await GitWorld(client, project).write(C)
        await call(client, "forget_memory", memory_id=id_, mode="erase")
    w.commit("c")
    assert await begin() == [], "nobody but the user took that"


async def told(w: GitWorld) -> list[str]:
    """What two looks tell."""
    w.told.clear()
    for _ in range(2):
        await w.search()
    return w.told


@pytest.mark.files
@pytest.mark.parametrize("mode", ["mark", "follow"])
@pytest.mark.parametrize(("written", "said"), [((B,), "1 memory"), ((B, C), "2 memories")])
async def test_what_was_committed_and_left_at_once_is_told_once(
    settings: Settings, project: Path, mode: GitMode, written: tuple[str, ...], said: str
) -> None:
    """Nobody looked between the commit and the checkout; a squash brings all of it."""
    make_world(project, ignored=False)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        assert await told(w) == []
        w.git("switch", "-q", "-c", "feature")
        for content in written:
            await w.write(content)
            w.commit(content)
        w.git("switch", "-q", "main")
        assert await told(w) == [f"Git is on main now: it took the files of {said} away."]
        w.git("switch", "-q", "feature")
        assert await told(w) == [f"Git is on feature now: it brought the files of {said}."]
        w.git("switch", "-q", "main")
        assert await told(w) == [f"Git is on main now: it took the files of {said} away."]
        w.git("merge", "-q", "--squash", "feature")
        w.git("commit", "-q", "-m", "squashed")
        assert await told(w) == [f"Git is on main now: it brought the files of {said}."]
        assert await w.recalled() == {A, *written}


@pytest.mark.files
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_what_a_deleted_branch_had_alone_is_named_by_its_commit(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """No branch reaches it any more, and git still has it; once it is back, nothing is said."""
    async with parted(settings, project, mode, ignored=False) as w:
        await w.write(C)
        tip = w.commit("c")
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-D", "feature")
        command = f"git checkout {tip[:8]} -- :/.claude/memory"
        waiting = "2 memories: written on feature, not merged here"
        assert f"{waiting} (not recalled here; `{command}`)" in await head_of(w)
        w.git(*command.split()[1:])
        w.commit("kept")
        assert await w.recalled() == {A, B, C}
        assert "not recalled here" not in await head_of(w)


@pytest.mark.files
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_the_doctor_finds_no_fault_with_what_another_branch_has(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """Moves and checkpoints that git took with a checkout are not lost."""
    async with parted(settings, project, mode, ignored=False) as w:
        await seal(w.client, "Sessions chosen", phase=1)
        await w.write(C)
        w.commit("c")
        await w.recalled()
        for branch in ("main", "feature"):
            w.git("switch", "-q", branch)
            await w.recalled()
            assert await examine(in_git(settings, mode)) == {}


@pytest.mark.files
@pytest.mark.usefixtures("lone_doctor")
@pytest.mark.parametrize("ignored", [True, False])
async def test_pages_from_before_a_reset_are_stale_and_no_damage(
    settings: Settings, project: Path, *, ignored: bool
) -> None:
    """The next session renders them anew; what git took is neither abandoned nor lost."""
    async with parted(settings, project, ignored=ignored):
        pass
    async with open_workspace(in_git(settings, "follow")) as built:
        assert await bootstrap.render_views(built.workspace) == ()
    git(project, "reset", "-q", "--hard", "HEAD~1")
    async with open_workspace(in_git(settings, "follow")) as built:
        await branches.report_head(built.workspace)
    found = await examine(in_git(settings, "follow"))
    assert {code: finding.severity for code, finding in found.items()} == {"view-stale": "should"}


@pytest.mark.files
async def test_the_doctor_waits_for_the_session_that_renders(
    settings: Settings, project: Path
) -> None:
    """It follows git in a call, and renders a moment after that: nothing is left stale."""
    async with parted(settings, project) as w:
        async with open_workspace(in_git(settings, "follow")) as built:
            await branches.report_head(built.workspace)
            assert await bootstrap.render_views(built.workspace) == ()
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        assert await examine(in_git(settings, "follow")) == {}


def paste(command: str, folder: Path) -> None:
    """Run a command as it was printed."""
    subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True)


async def head_of(w: GitWorld) -> str:
    return await read(w.client, "memory_head")


async def bring_here(settings: Settings, mode: GitMode, name: str) -> object:
    """Type `git bring`."""
    async with open_workspace(in_git(settings, mode)) as built:
        return await code.bring_here(built.workspace, name)


@pytest.mark.files
async def test_what_is_written_here_is_not_told_when_git_brings_more(
    settings: Settings, project: Path
) -> None:
    """Of a commit and a merge between two looks, only the merge has brought something."""
    async with parted(settings, project, ignored=False) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.told.clear()
        w.commit("c")
        w.git("merge", "-q", "--no-edit", "feature")
        assert await w.recalled() == {A, B, C}
        assert w.told == ["Git is on main now: it brought the files of 1 memory."]


@pytest.mark.files
@pytest.mark.parametrize(("branch", "known"), [("main", {A}), ("feature", {A, B})])
async def test_a_fresh_clone_recalls_what_was_recalled_there(
    settings: Settings, project: Path, tmp_path: Path, branch: str, known: set[str]
) -> None:
    """The records came with the branch; nobody there has ever seen a reflog."""
    async with parted(settings, project, ignored=False) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--branch", branch, str(project), str(clone))
    trust(clone)
    async with agent(in_git(settings, "follow", clone), "auto") as client:
        w = GitWorld(client, clone)
        assert await w.recalled() == known
        git(clone, "switch", "-q", "feature" if branch == "main" else "main")
        assert await w.recalled() == {A, B} - (known - {A})


@pytest.mark.files
async def test_a_pull_brings_what_another_clone_wrote(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Records are committed: git itself joins what the two have written."""
    hub, one, two = (tmp_path / name for name in ("hub.git", "one", "two"))
    make_world(project, ignored=False)
    git(tmp_path, "clone", "-q", "--bare", str(project), str(hub))
    for clone in (one, two):
        git(tmp_path, "clone", "-q", str(hub), str(clone))
        trust(clone)
    async with agent(in_git(settings, "follow", one), "auto") as client:
        w = GitWorld(client, one)
        await w.write(A)
        w.commit("a")
        w.git("push", "-q", "origin", "main")
    async with agent(in_git(settings, "follow", two), "auto") as client:
        w = GitWorld(client, two)
        await w.write(B)
        w.commit("b")
        assert await w.recalled() == {B}
        w.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
        assert await w.recalled() == {A, B}


@pytest.mark.files
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
async def test_records_in_a_compressed_index_are_tracked(
    settings: Settings, project: Path, tmp_path: Path, hashes: str
) -> None:
    """`feature.manyFiles` has git leave out of a name what it shares with the one before."""
    git(tmp_path, "init", "-q", "--object-format", hashes, str(project))
    async with parted(settings, project, ignored=False) as w:
        await w.write(C)
        w.commit("c")
    clone, tree = tmp_path / "clone", tmp_path / "tree"
    git(tmp_path, "-c", "feature.manyFiles=true", "clone", "-q", str(project), str(clone))
    git(clone, "config", "feature.manyFiles", "true")
    (clone / "later.py").write_text("later\n", "utf-8")
    git(clone, "add", "--intent-to-add", "later.py")
    git(clone, "worktree", "add", "-q", str(tree), "main")
    indexes = [clone / ".git" / "index", clone / ".git" / "worktrees" / "tree" / "index"]
    assert [path.read_bytes()[7] for path in indexes] == [4, 4]
    trees = WorkTrees(clone, clone)
    assert trees.list_tracked(trees.own) == {record["id"] for record in records(clone)}
    trust(clone)
    for folder, known in ((clone, {A, B, C}), (tree, {A})):
        async with agent(in_git(settings, "follow", folder), "auto") as client:
            assert await GitWorld(client, folder).recalled() == known


@pytest.mark.files
@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_a_split_index_is_read_as_git_reads_it(tmp_path: Path, version: str, hashes: str) -> None:
    """Most entries lie in another file; of these some are gone, and some are replaced."""
    folder = tmp_path / "shop"
    git(tmp_path, "init", "-q", "--object-format", hashes, str(folder))
    git(folder, "config", "core.untrackedCache", "true")
    paths = [folder / f"{'long' * (n % 9)}TREE{n % 7}" / f"link{n}.py" for n in range(200)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{path}\n", "utf-8")
    commit_all(folder, "all")
    git(folder, "config", "splitIndex.maxPercentChange", "100")
    git(folder, "update-index", "--index-version", version)
    git(folder, "update-index", "--split-index")
    for path in paths[::3]:
        path.unlink()
    for path in paths[1::3]:
        path.write_text("changed\n", "utf-8")
    (folder / "added.py").write_text("added\n", "utf-8")
    git(folder, "add", "--all")
    (folder / "untracked.py").write_text("untracked\n", "utf-8")
    git(folder, "status", "--untracked-files=all")
    assert list((folder / ".git").glob("sharedindex.*"))

    listed = git(folder, "ls-files", "--stage", "-z").split("\0")[:-1]
    index = read_index(str(folder / ".git" / "index"), str(folder / ".git"))
    known = {line.partition("\t")[2]: line.split()[1] for line in listed}
    assert index.count(b".py\0") == len(known) == 134
    for name, blob in known.items():
        end = index.index(b"\0", index.index(name.encode() + b"\0"))
        begin = end - len(name) - 2 - len(blob) // 2
        assert index[begin : begin + len(blob) // 2].hex() == blob


@pytest.mark.files
@pytest.mark.parametrize("form", ["core.splitIndex", "core.untrackedCache"])
async def test_no_form_of_the_index_hides_or_invents_tracked_records(
    settings: Settings, project: Path, form: str
) -> None:
    """Names of files that are not tracked, or not any more, stand in these, too."""
    make_world(project, ignored=False)
    git(project, "config", form, "true")
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        trees = WorkTrees(project, project)
        for text in (B, C):
            await w.write(text)
            w.git("status", "--untracked-files=all")
            names = {Path(name).stem for name in w.git("ls-files", ".claude").split()}
            assert trees.list_tracked(trees.own) == names
            w.commit("more")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B, C}


async def test_packed_refs_and_a_gc_change_nothing(settings: Settings, project: Path) -> None:
    """Git stores names and commits in other files then."""
    async with parted(settings, project) as w:
        w.git("pack-refs", "--all")
        w.git("gc", "-q")
        assert await w.recalled() == {A, B}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("pack-refs", "--all")
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B}
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.recalled() == {A}


@pytest.mark.parametrize("mode", ["mark", "follow"])
@pytest.mark.parametrize("here", [True, False], ids=["checked out", "elsewhere"])
async def test_a_renamed_branch_has_one_name_and_is_not_gone(
    settings: Settings, project: Path, mode: GitMode, *, here: bool
) -> None:
    """Its reflog goes on under the new name. Another branch may have the old one later."""
    async with parted(settings, project, mode) as w:
        if not here:
            w.git("switch", "-q", "main")
            await w.search()
        w.git("branch", "-m", "feature", "topics/other")
        w.git("switch", "-q", "main")
        w.commit("later")
        w.git("merge", "-q", "--no-ff", "--no-edit", "main~1")
        assert await w.recalled() == ({A} if mode == "follow" else {A, B})
        assert not any("is gone" in note for note in w.told)
        assert "1 memory: written on topics/other, not merged here" in await head_of(w)
        w.git("switch", "-q", "-c", "feature")
        await w.write(C)
        w.commit("c")
        await w.search()
        w.git("switch", "-q", "main")
        await w.search()
        head = await head_of(w)
        for name in ("topics/other", "feature"):
            assert f"1 memory: written on {name}, not merged here" in head
        w.git("branch", "-q", "-D", "topics/other")
        w.commit("even later")
        await w.search()
        assert "topics/other is gone" in w.told[-1]


async def test_a_session_sees_that_another_branch_was_renamed(
    settings: Settings, project: Path
) -> None:
    """HEAD did not move, and neither did anything else that is on this branch."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "main")
        assert (await w.standing())[B] == "written on feature, not merged here"
        for old, new in (("feature", "topic/a"), ("topic/a", "topic/b")):
            w.git("branch", "-m", old, new)
            assert (await w.standing())[B] == f"written on {new}, not merged here"
            assert f"1 memory: written on {new}, not merged here" in await head_of(w)


async def test_a_renamed_branch_keeps_what_is_not_committed(
    settings: Settings, project: Path
) -> None:
    """The name alone changed."""
    async with parted(settings, project) as w:
        await w.write(D)
        w.git("branch", "-m", "feature", "other")
        assert await w.recalled() == {A, B, D}
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "other")
        assert await w.recalled() == {A, B, D}


@pytest.fixture
def run(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> Run:
    """The command, typed in the repository, by the same user, who chose to follow."""
    del settings
    monkeypatch.setenv("MEMORY_USER", "ada")
    monkeypatch.setenv("MEMORY_GIT", "follow")

    def typed(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
        del stdin
        monkeypatch.chdir(project)
        status = main(list(arguments))
        out, error = capsys.readouterr()
        return status, out, error

    return typed


async def undo(settings: Settings, mode: GitMode = "follow") -> bool:
    """Type `undo`; whether it took back something of git's."""
    async with open_workspace(in_git(settings, mode)) as built:
        return isinstance(await code.undo_git(built.workspace), GitMoved)


async def test_without_a_reflog_nothing_moves(settings: Settings, project: Path) -> None:
    """What became of HEAD cannot be told."""
    make_world(project, ignored=True)
    git(project, "config", "core.logAllRefUpdates", "false")
    (project / ".git" / "logs" / "HEAD").unlink()
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.recalled() == {A}


async def test_a_locked_index_is_waited_for(settings: Settings, project: Path) -> None:
    """Git is in the middle of something."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        lock = project / ".git" / "index.lock"
        lock.touch()
        assert await w.recalled() == {A, B}
        lock.unlink()
        assert await w.recalled() == {A}


async def test_a_branch_of_the_timeline_that_was_chosen_stays(
    settings: Settings, project: Path
) -> None:
    """Who names a branch of memory means that one, wherever git is."""
    async with parted(settings, project) as w:
        assert await w.recalled() == {A, B}
    async with open_workspace(in_git(settings, "off")) as built:
        await branches.fork_branch(built.workspace, "side", "")
    chosen = replace(in_git(settings, "follow"), branch="side")
    async with agent(chosen, "auto") as client:
        w = GitWorld(client, project)
        assert await w.recalled() == {A, B}
        git(project, "reset", "-q", "--hard", "HEAD~1")
        assert await w.recalled() == {A, B}


async def test_hundreds_of_commits_without_memories_leave_no_trace(
    settings: Settings, project: Path
) -> None:
    """An anchor is made where memories were written, and nowhere else."""
    async with parted(settings, project) as w:
        moves = len(history(project))
        for _ in range(20):
            w.git("commit", "-q", "--allow-empty", "-m", "more")
        assert await w.recalled() == {A, B}
        for _ in range(5):
            w.git("commit", "-q", "--allow-empty", "-m", "more")
            assert await w.recalled() == {A, B}
        assert len(history(project)) == moves


async def test_a_branch_that_was_deleted_takes_its_memories_out_of_sight(
    settings: Settings, project: Path
) -> None:
    """They are offered once, and stay restorable."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        w.git("branch", "-q", "-D", "feature")
        w.commit("later")
        assert await w.recalled() == {A}
        assert "feature is gone" in w.told[-1]


async def test_a_merge_through_another_branch_counts(settings: Settings, project: Path) -> None:
    """Only ancestry matters, not the way it came."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "-c", "dev", "main")
        w.git("merge", "-q", "--no-ff", "--no-edit", "feature")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("merge", "-q", "--no-ff", "--no-edit", "dev")
        assert await w.recalled() == {A, B}


@pytest.mark.nightly
async def test_a_long_history_is_followed(settings: Settings, project: Path) -> None:
    """Git walks through ten thousand commits; we read none of them."""
    make_world(project, ignored=True)
    base = git(project, "rev-parse", "HEAD").strip()
    lines = [f"from {base}"]
    for n in range(10_000):
        author = f"committer A <a@example.org> {1_700_000_000 + n} +0000"
        head = ["commit refs/heads/long", f"mark :{n + 1}", author, "data 1", "x"]
        lines += [*head, *([f"from {base}"] if n == 0 else [])]
    (project / ".git" / "long").write_text("\n".join([*lines[1:], "done", ""]), "utf-8")
    git(project, "-c", f"alias.take=!git fast-import --quiet --done <'{project}/.git/long'", "take")
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "long")
        assert await w.recalled() == set()
        await w.write(B)
        w.commit("b")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("merge", "-q", "--no-edit", "long")
        assert await w.recalled() == {A, B}


async def test_a_submodule_is_a_repository_of_its_own(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Its HEAD lies in the repository around it, and its memory follows that one alone."""
    make_world(tmp_path / "library", ignored=True)
    make_world(project, ignored=True)
    git(project, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    commit_all(project, "lib")
    async with agent(in_git(settings, "follow", project / "lib"), "auto") as client:
        w = GitWorld(client, project / "lib")
        w.git("switch", "-q", "-c", "feature")
        await w.write(A)
        w.commit("a")
        git(project, "switch", "-q", "-c", "elsewhere")
        assert await w.recalled() == {A}
        w.git("switch", "-q", "main")
        assert await w.recalled() == set()
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A}


async def test_moves_are_told_once_and_undone_once(settings: Settings, project: Path) -> None:
    """In the next answer, in the head, and by one `undo`; a second one redoes it."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        (told,) = w.told
        assert "Git is on main now: 1 memory" in told
        w.told.clear()
        assert await w.recalled() == {A}
        assert w.told == []
        head = await read(w.client, "memory_head")
        assert "1 memory: written on feature, not merged here" in head
        assert await undo(settings)
        assert await w.recalled() == {A, B}
        assert await undo(settings)
        assert await w.recalled() == {A}


async def test_a_squash_is_undone_by_one_undo(settings: Settings, project: Path) -> None:
    """Proved or not, the user has the last word."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        w.git("merge", "-q", "--squash", "feature")
        w.git("commit", "-q", "-m", "squashed")
        assert await w.recalled() == {A, B}
        assert await undo(settings)
        assert await w.recalled() == {A}


async def test_what_was_brought_is_taken_back_and_brought_again_by_each_undo(
    settings: Settings, project: Path
) -> None:
    """As with every other move: one `undo` takes it back, a second one redoes it."""
    async with parted(settings, project, mode="mark") as w:
        w.git("switch", "-q", "main")
        assert isinstance(await bring_here(settings, "mark", "feature"), GitMoved)
        word = "written on feature, not merged here"
        for standing in ("", word, "", word, ""):
            assert await w.standing() == {A: "", B: standing}
            assert await undo(settings, "mark")
        contents = [r["content"] for r in records(project) if r["kind"] == "move"]
        assert max(map(len, contents)) < 90, "each undo names the move, not the undo before it"


async def test_the_log_draws_what_git_moved(settings: Settings, project: Path) -> None:
    """Who it was, and which commit of which branch. What was taken back is drawn no more."""
    async with parted(settings, project) as w:
        tips = {name: w.git("rev-parse", name)[:8] for name in ("main", "feature")}
        w.git("switch", "-q", "main")
        await bring_here(settings, "follow", "feature")
        closed = [f"what was written before commit {tip}, on {name}" for name, tip in tips.items()]
        brought = f"what was written on feature, brought to {tips['main']}, on main"
        lines, nodes = await drawn(settings)
        shown = [line.partition("  ")[2].split("  ") for line in lines]
        moves = {each[-1]: (each[0], each[2]) for each in shown if len(each) == 4}
        one = "1 memory"
        assert moves == {closed[0]: ("git", one), closed[1]: ("git", one),
                         brought: ("cli", one)}  # fmt: skip
        assert {node["summary"]: node["gitBranch"] for node in nodes} == {
            closed[0]: "main", closed[1]: "feature", brought: "main"
        }  # fmt: skip
        assert "branch main" in lines[0]
        assert lines[0].endswith("2 memories since"), "since the start, whatever git has done"
        assert await undo(settings)
        assert {node["summary"] for node in (await drawn(settings))[1]} == {*closed}


async def drawn(settings: Settings) -> tuple[list[str], list[Json]]:
    """The lines of `log`, and its nodes that git made."""
    async with open_workspace(in_git(settings, "follow")) as built:
        log = await branches.read_log(built.workspace, 0, of_git=True)
    assert isinstance(log, TimelineLog)
    lines = ["".join(text for text, _ in line)
             for line in render_log(log, ascii_only=False, narrow=False)]  # fmt: skip
    nodes = [node for node in render_log_fields(log)["nodes"] if node["kind"] == "git"]
    return lines, nodes


async def test_of_what_a_checkout_hid_undo_brings_the_rest(
    settings: Settings, project: Path
) -> None:
    """A merge has brought a part of it since."""
    async with parted(settings, project) as w:
        w.git("switch", "-q", "-c", "third")
        await w.write(C)
        w.commit("c")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("merge", "-q", "feature")
        assert await w.recalled() == {A, B}
        assert await undo(settings)
        assert await w.recalled() == {A, B, C}


async def test_the_choice_of_a_mode_is_told_once_and_undone(
    settings: Settings, project: Path
) -> None:
    """It hides memories as a checkout does; another session is told, and none is anchored."""
    async with parted(settings, project, mode=None) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A, B}
        moves = len(history(project))
        async with open_workspace(in_git(settings, None)) as built:
            ws = built.workspace
            await code.choose_mode(ws, "follow")
            hidden = "The mode of git is follow now: 1 memory of other commits not recalled here."
            assert await told(w) == [f"{hidden} `memory-mcp undo` chooses mark again."]
            assert await w.recalled() == {A}
            undone = await code.undo_git(ws)
            assert isinstance(undone, GitMoved)
            again = "The mode is mark again: 1 memory of other commits recalled again."
            assert undone.message.startswith(again)
            back = "The mode of git is mark now: 1 memory recalled again."
            assert await told(w) == [f"{back} `memory-mcp undo` chooses follow again."]
            assert await w.recalled() == {A, B}
            assert isinstance(await code.undo_git(ws), GitMoved)
            assert await w.recalled() == {A}
        assert len(history(project)) == moves


def test_the_command_says_where_memories_stand_and_chooses(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The choice is kept for the project; the setting counts before it."""
    monkeypatch.delenv("MEMORY_GIT")
    make_world(project, ignored=True)
    assert run("add", A)[0] == 0
    commit_all(project, "a")
    git(project, "switch", "-q", "-c", "feature")
    assert run("add", B)[0] == 0
    (project / "b.py").write_text("b", "utf-8")
    commit_all(project, "b")
    git(project, "switch", "-q", "main")
    status, out, _ = run("git", "status")
    assert status == 0
    assert out.startswith("mark: ")
    assert "Git is on main at " in out
    assert "1 memory: written on feature, not merged here (marked; " in out
    assert B in run("search", "sessions")[1]
    assert run("git", "follow")[1].startswith("follow: ")
    assert B not in run("search", "sessions")[1]
    assert B not in run("context")[1]
    assert run("git", "off")[1].startswith("off: ")
    assert B in run("search", "sessions")[1]
    monkeypatch.setenv("MEMORY_GIT", "mark")
    assert "MEMORY_GIT is 'mark'" in "".join(run("git", "follow")[1:])
    monkeypatch.delenv("MEMORY_GIT")
    assert run("git", "follow")[0] == 0
    assert "1 memory of feature now counts on main, too." in run("git", "bring", "feature")[1]
    assert B in run("search", "sessions")[1]
    assert run("git", "bring", "nowhere")[0] != 0
    assert run("undo")[0] == 0
    assert B not in run("search", "sessions")[1]


def test_undo_passes_over_no_memory_to_a_mode_of_git(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wants a memory back, or gone, must not have the choice of a mode undone by the way."""
    monkeypatch.delenv("MEMORY_GIT")
    make_world(project, ignored=True)
    run("git", "off")
    run("add", A)
    status, _, said = run("undo")
    assert (status, "was added; no undo takes that back" in said) == (1, True), said
    hidden = as_json(run, "add", B)["memoryId"]
    run("forget", hidden, "--hide")
    shown = json.loads(run("undo", "--json")[1])
    assert shown["takesBack"] == "the choice of git's mode (off instead of mark)"
    assert f"Memory {hidden[-8:]} " in shown["message"]
    assert run("git", "status")[1].startswith("off: ")

    assert run("undo", "--older")[1].startswith("The mode is mark again.")
    assert run("undo")[1].startswith("The mode is off again."), "nothing was written since"
    run("add", C)
    assert run("undo", "--yes")[0] == 1


def test_undo_of_what_was_brought_passes_over_no_hide(project: Path, run: Run) -> None:
    """A bring is a move of git's, and as old as any other."""
    make_world(project, ignored=True)
    run("add", A)
    commit_all(project, "a")
    git(project, "switch", "-q", "-c", "feature")
    hidden = as_json(run, "add", B)["memoryId"]
    (project / "b.py").write_text("b", "utf-8")
    commit_all(project, "b")
    git(project, "switch", "-q", "main")
    run("git", "bring", "feature")
    run("forget", hidden, "--hide")

    assert "what is older: what git moved (" in run("undo")[2]
    assert "Taken back: " in run("undo", "--older")[1]


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
