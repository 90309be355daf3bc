"""A repository in which somebody works with git, and an agent whose memory follows."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doors import Json, add, agent, call, text_of
from mcp import Client
from real_git import commit_all, copy_repository, git, read_commit

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

__all__ = [
    "IGNORED",
    "A",
    "B",
    "C",
    "D",
    "GitWorld",
    "in_git",
    "make_world",
    "parted",
    "patient_git",
]

IGNORED = ".claude/\n.state/\n"
A = "Orders live in PostgreSQL."
B = "Sessions are kept in Redis."
C = "Invoices are printed at night."
D = "The search page needs a captcha."


@pytest.fixture
def patient_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine git may take longer than a call waits for it."""
    monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 60.0)


def in_git(settings: Settings, mode: GitMode | None, folder: Path | None = None) -> Settings:
    """A session there, in this mode."""
    return replace(settings, git=mode, project_dir=folder or settings.project_dir)


def make_world(folder: Path, *, ignored: bool) -> Path:
    """A repository with a commit; its records are ignored, or committed with the code."""
    return copy_repository(folder, IGNORED if ignored else ".state/\n")


class GitWorld:
    """A work tree and the client of a server that runs in it."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.told: list[str] = []
        self._commits = 0

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments).strip()

    def commit(self, name: str = "work", *, in_file: str = "") -> str:
        """Change a file and commit all there is; the commit."""
        self._commits += 1
        path = self.folder / f"{in_file or name}.py"
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(f"{before}{name} = {self._commits}\n", "utf-8")
        commit_all(self.folder, name)
        return read_commit(self.folder)

    async def write(self, text: str, **arguments: Any) -> str:
        return await add(self.client, text, **arguments)

    async def search(self, query: str = "") -> list[Json]:
        found = await call(self.client, "search_memories", query=query, limit=10)
        if "note" in found:
            self.told.append(found["note"])
        return found["results"]

    async def recalled(self) -> set[str]:
        return {each["content"] for each in await self.search()}

    async def standing(self) -> dict[str, str]:
        """The word with which each memory is found; '' with those that stand here."""
        return {each["content"]: each.get("standing", "") for each in await self.search()}

    async def context(self) -> str:
        return text_of(await self.client.call_tool("memory_context", {}))


@asynccontextmanager
async def parted(
    settings: Settings, project: Path, mode: GitMode | None = "follow", *, ignored: bool = True
) -> AsyncGenerator[GitWorld]:
    """A written and committed on main, then B on feature; HEAD is on feature."""
    make_world(project, ignored=ignored)
    async with agent(in_git(settings, mode), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        await w.write(B)
        w.commit("b")
        assert await w.recalled() == {A, B}
        yield w
