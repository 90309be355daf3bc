"""Where git is found from: a folder within a work tree, and a repository that lies elsewhere."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from command_line import Run
from doors import agent, call, machine_dir, records
from git_world import IGNORED, A, B, C, GitWorld, in_git, make_world
from real_git import commit_all, git

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.config.places import find_project_folders
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.hooks.place import find_place
from memory_mcp.locations import find_git_dir

pytestmark = [pytest.mark.anyio, pytest.mark.files, pytest.mark.usefixtures("patient_git")]

MODES = pytest.mark.parametrize("mode", ["mark", "follow"])
IGNORES = pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "committed"])


def make_package(folder: Path, name: str = "a") -> Path:
    """A package of a repository of many, committed."""
    package = folder / "pkg" / name
    package.mkdir(parents=True)
    (package / "code.py").write_text("def rotate():\n    return 1\n", "utf-8")
    commit_all(folder, f"package {name}")
    return package


@asynccontextmanager
async def working(
    settings: Settings, folder: Path, mode: GitMode = "follow"
) -> AsyncGenerator[GitWorld]:
    async with agent(in_git(settings, mode, folder), "auto") as client:
        yield GitWorld(client, folder)


def list_files(folder: Path) -> set[str]:
    """The folders below this one in which records of memories lie."""
    return {path.parents[1].relative_to(folder).as_posix()
            for path in folder.rglob(".claude/memory/*/*.json")}  # fmt: skip


@MODES
@IGNORES
async def test_a_package_of_a_repository_follows_git_as_its_root_does(
    settings: Settings, project: Path, mode: GitMode, *, ignored: bool
) -> None:
    """A branch, a merge and a reset of the whole repository count for the folder in it."""
    package = make_package(make_world(project, ignored=ignored))
    async with working(settings, package, mode) as w:
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        assert await w.standing() == {A: "", B: ""}
        w.git("switch", "-q", "main")
        marked = {B: "written on feature, not merged here"} if ignored and mode == "mark" else {}
        assert await w.standing() == {A: "", **marked}
        w.git("merge", "-q", "feature")
        assert await w.standing() == {A: "", B: ""}
        w.git("reset", "-q", "--hard", "HEAD~1")
        assert await w.recalled() == ({A, B} if ignored and mode == "mark" else {A})
    assert list_files(project) == {"pkg/a/.claude/memory"}


def test_the_command_says_where_git_is_for_a_package(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where Claude Code was started in it."""
    package = make_package(make_world(project, ignored=True))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(package))
    status, said, _ = run("git")
    assert status == 0
    assert "Git is on main" in said


@IGNORES
async def test_a_package_in_a_linked_work_tree_has_the_memory_of_the_main_one(
    settings: Settings, project: Path, tmp_path: Path, *, ignored: bool
) -> None:
    """The same folder of each work tree is one memory, also where the main one lacks it."""
    make_world(project, ignored=ignored)
    git(project, "switch", "-q", "-c", "packages")
    make_package(project)
    git(project, "switch", "-q", "main")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"), "packages")
    there = tmp_path / "tree" / "pkg" / "a"
    async with working(settings, there) as w:
        await w.write(A)
        w.commit("a")
        assert await w.recalled() == {A}
    place = find_place({**os.environ, "CLAUDE_PROJECT_DIR": str(there)}, {})
    found = find_project_folders(in_git(settings, "mark", there))
    assert (place.state, place.machine) == (str(found.state_dir), str(found.machine_dir))
    assert found.machine_dir == machine_dir(project / "pkg" / "a")

    git(project, "merge", "-q", "packages")
    async with working(settings, project / "pkg" / "a") as here:
        assert await here.recalled() == {A}
    home = project if ignored else tmp_path / "tree"
    assert "pkg/a/.claude/memory" in list_files(home)


async def test_records_of_another_package_are_not_those_of_this_one(
    settings: Settings, project: Path
) -> None:
    """One package commits its records, the other ignores them: neither counts the other's."""
    make_world(project, ignored=False)
    one, other = make_package(project), make_package(project, "b")
    (other / ".gitignore").write_text(".claude/\n", "utf-8")
    commit_all(project, "ignore")
    async with working(settings, one) as w, working(settings, other) as v:
        await w.write(A)
        w.commit("a")
        await v.recalled()
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        w.git("switch", "-q", "main")
        assert await v.recalled() == set()
        assert v.told == []
        assert await w.recalled() == {A}
        assert any("took the files of 1 memory away" in note for note in w.told)
        async with open_workspace(in_git(settings, "follow", one)) as built:
            report = await code.report_git(built.workspace)
        assert isinstance(report, code.GitReport)
        (group,) = report.groups
        w.git(*group.command.split()[1:])  # typed in the package
        assert await w.recalled() == {A, B}
        w.git("reset", "-q", "--hard")
        await v.write(C)
        v.commit("c")
        v.git("switch", "-q", "feature")
        assert await v.recalled() == set()


async def test_what_a_package_cites_is_followed_within_it(
    settings: Settings, project: Path
) -> None:
    """Places are named from the package, as its memory's folder is."""
    package = make_package(make_world(project, ignored=True))
    async with working(settings, package) as w:
        await w.write(A, cites=["code.py#rotate"])
        w.commit("a")
        w.git("mv", "code.py", "keys.py")
        w.commit("moved")
        (found,) = (await call(w.client, "search_memories", query=""))["results"]
        assert found["cites"] == ["code.py#rotate holds (now keys.py#rotate)"]


@MODES
async def test_a_repository_that_lies_elsewhere_is_followed(
    settings: Settings, project: Path, tmp_path: Path, mode: GitMode
) -> None:
    """`git init --separate-git-dir` leaves a file that leads to it, and names no way back."""
    git(project, "init", "-q", "--separate-git-dir", str(tmp_path / "store"))
    (project / ".gitignore").write_text(IGNORED, "utf-8")
    commit_all(project, "begin")
    async with working(settings, project, mode) as w:
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        w.git("switch", "-q", "main")
        marked = {B: "written on feature, not merged here"} if mode == "mark" else {}
        assert await w.standing() == {A: "", **marked}


def test_no_other_project_s_repository_is_taken_for_one_that_lies_elsewhere(
    project: Path, tmp_path: Path
) -> None:
    """A file that comes with an archive may lead anywhere."""
    other = make_world(tmp_path / "other", ignored=True)
    git(tmp_path, "init", "-q", "--bare", "bare")
    project.mkdir(exist_ok=True)
    for named in (other / ".git", tmp_path / "bare"):
        (project / ".git").write_text(f"gitdir: {named}\n", "utf-8")
        assert find_git_dir(str(project)) == ""


async def test_a_hook_of_another_repository_does_not_mislead(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """Git names the repository whose hook runs; the project is in another one."""
    make_world(project, ignored=True)
    other = make_world(tmp_path / "other", ignored=True)
    async with working(settings, project) as w:
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        await w.recalled()
        w.git("switch", "-q", "main")
    out = tmp_path / "out"
    hook = other / ".git" / "hooks" / "post-commit"
    hook.write_text(
        f"#!/bin/sh\nMEMORY_GIT=follow {sys.executable} -m memory_mcp --project {project} search "
        f"'' > {out} 2>&1\n",
        "utf-8",
    )
    hook.chmod(0o755)
    (other / "more.py").write_text("more\n", "utf-8")
    commit_all(other, "more")
    said = out.read_text("utf-8")
    assert A in said
    assert B not in said
    assert len([record for record in records(project) if record["kind"] == "fact"]) == 2
