"""When git is not followed: memories stay as they stood, and what is written is placed later."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import agent, call, history
from git_world import A, B, D, GitWorld, in_git, parted
from real_git import git

from memory_mcp import code
from memory_mcp.build import open_workspace
from memory_mcp.code.follow import GitReport
from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]


async def read_pause(settings: Settings) -> str:
    """What `memory-mcp git` says."""
    async with open_workspace(in_git(settings, "follow")) as built:
        report = await code.report_git(built.workspace)
    assert isinstance(report, GitReport)
    return report.pause


async def test_a_bisect_moves_nothing(settings: Settings, project: Path) -> None:
    """HEAD goes through old commits; what is found out meanwhile belongs to the branch."""
    async with parted(settings, project) as w:
        for n in range(3):
            w.commit(f"more{n}")
        w.git("bisect", "start", "HEAD", "HEAD~4")
        assert await w.recalled() == {A, B}
        assert "bisect is in progress" in await read_pause(settings)
        await w.write(D)
        w.git("bisect", "good")
        assert await w.recalled() == {A, B, D}
        w.git("bisect", "reset")
        assert await w.recalled() == {A, B, D}
        assert await read_pause(settings) == ""
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}


async def test_refs_that_cannot_be_read_move_nothing(settings: Settings, project: Path) -> None:
    """A repository whose refs are moved into a reftable; `HEAD` is a stand-in from then on.

    So git documents that layout, which the git of this machine may not know.
    """
    async with parted(settings, project) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        git(project, "config", "core.repositoryFormatVersion", "1")
        git(project, "config", "extensions.refStorage", "reftable")
        (project / ".git" / "reftable").mkdir()
        (project / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n", "utf-8")
        assert await w.recalled() == {A}
        await w.write(D)
        assert await w.recalled() == {A, D}
    assert "its refs are stored as reftable" in await read_pause(settings)
    async with agent(in_git(settings, "follow"), "auto") as client:
        assert await GitWorld(client, project).recalled() == {A, D}


async def test_a_meta_session_moves_nothing(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """It looks around and leaves no trace, so the next session finds all as it was."""
    async with parted(settings, project):
        pass
    git(project, "switch", "-q", "main")

    def read_traces() -> object:
        return [path.read_bytes() for path in tmp_path.rglob("git.json")], history(project)

    before = read_traces()
    async with agent(replace(in_git(settings, "follow"), meta=True), "auto") as client:
        assert await GitWorld(client, project).recalled() == {A, B}
        assert "meta session" in (await call(client, "add_memory", content=D))["message"]
    assert read_traces() == before
    async with agent(in_git(settings, "follow"), "auto") as client:
        assert await GitWorld(client, project).recalled() == {A}
