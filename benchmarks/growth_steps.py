"""The use cases of one filled project, run one by one as the lines of standard input name them.

    python benchmarks/growth_steps.py FOLDER MEMORIES SEGMENTS BRANCHES

It says `[]` when the project is there, and answers each name with the ms that the step took, of the
processor (all threads) and on the clock. The step `LOST` closes the project and is the last one.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from corpus import Corpus
from durable_add import write_bare
from house import filled, settings_in

from memory_mcp import branches, maintenance, memories, search, sessions
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.limits import CONTEXT_TOKENS_DEFAULT, RESULTS_DEFAULT
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, MemoryAdded, MovePreview
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace

__all__ = ["LOST", "ONCE", "STEPS"]

LOST: Final = "lost index: first search"
_RECORD_BYTES: Final = 1_000


class _Project:
    """What the steps leave each other: they run in the order of `STEPS`."""

    def __init__(self, own: Path, workspace: Workspace, corpus: Corpus) -> None:
        self.own, self.workspace, self.corpus = own, workspace, corpus
        self.added: list[str] = []
        self.sealed: list[str] = []
        self.forks: list[str] = []

    async def write_bare(self) -> None:
        """What the disk alone takes for a record."""
        write_bare(self.own / "bare", b"x" * _RECORD_BYTES)

    async def add(self) -> None:
        outcome = await memories.add_memory(self.workspace, self.corpus.draft())
        if isinstance(outcome, MemoryAdded):
            self.added.append(outcome.record.id)

    async def forget(self) -> None:
        await memories.forget_memory(self.workspace, self.added.pop(), "", erase=True)

    async def search(self) -> None:
        await _search(self.workspace, self.corpus.question().text)

    async def load_context(self) -> None:
        await sessions.memory_context(self.workspace, "", CONTEXT_TOKENS_DEFAULT)

    async def report_head(self) -> None:
        await branches.report_head(self.workspace)

    async def checkpoint(self) -> None:
        saved = await branches.checkpoint(
            self.workspace, "One more step.", None, again=False, approval="auto"
        )
        assert isinstance(saved, CheckpointSaved)  # noqa: S101  # nothing here skips writes
        self.sealed.append(saved.checkpoint.id)

    async def backtrack(self) -> None:
        done = await branches.backtrack(self.workspace, self.sealed[-1], "continue")
        assert isinstance(done, Backtracked)  # noqa: S101

    async def fork(self) -> None:
        self.forks.append(f"fork-{time.monotonic_ns()}")
        await branches.fork_branch(self.workspace, self.forks[-1], "")

    async def add_there(self) -> None:
        there = self.workspace.at(BranchName(self.forks[0]))
        await memories.add_memory(there, self.corpus.draft())

    async def leave(self) -> None:
        """The way back to the start, which hides everything."""
        done = await branches.backtrack(self.workspace, "start", "continue")
        assert isinstance(done, Backtracked)  # noqa: S101

    async def undo(self) -> None:
        preview = await branches.preview_undo(self.workspace)
        assert isinstance(preview, MovePreview)  # noqa: S101
        done = await branches.backtrack(self.workspace, preview.to, "continue", token=preview.token)
        assert isinstance(done, Backtracked)  # noqa: S101

    async def examine(self) -> None:
        await maintenance.run_doctor(self.workspace)


STEPS: Final[dict[str, Callable[[_Project], Awaitable[object]]]] = {
    "bare write": _Project.write_bare,
    "add_memory": _Project.add,
    "forget_memory": _Project.forget,
    "search_memories": _Project.search,
    "memory_context": _Project.load_context,
    "memory_head": _Project.report_head,
    "checkpoint": _Project.checkpoint,
    "backtrack": _Project.backtrack,
    "fork": _Project.fork,
    "add_memory on a new branch": _Project.add_there,
    "backtrack to the start": _Project.leave,
    "its undo": _Project.undo,
    "doctor": _Project.examine,
}
ONCE: Final = ("backtrack to the start", "its undo", "doctor")


async def _answer(own: Path, size: int, chain: int, forks: int) -> None:
    async with filled(own, size, chain=chain, forks=forks) as built:
        project = _Project(own, built.workspace, Corpus(seed=await _count(built)))
        _say([])
        while (name := (await asyncio.to_thread(sys.stdin.readline)).strip()) in STEPS:
            _say(await _time(STEPS[name](project)))
    if name == LOST:
        _say(await _time_without_index(own))


async def _count(built: BuiltWorkspace) -> int:
    """What an earlier run left in a kept project would be known already."""
    return len(await built.workspace.project.records.ids())


async def _time_without_index(own: Path) -> tuple[float, float]:
    """From opening a project whose index is gone to the first answer."""
    for index in own.rglob("index.sqlite3*"):  # noqa: ASYNC240  # nothing else runs
        index.unlink()
    begin = _read_clocks()
    async with open_workspace(settings_in(own)) as built:
        await _search(built.workspace, "rotate the login token")
        return _measure_since(begin)


async def _search(workspace: Workspace, text: str) -> object:
    return await search.search_memories(workspace, text, Filters(), RESULTS_DEFAULT)


async def _time(step: Awaitable[object]) -> tuple[float, float]:
    begin = _read_clocks()
    await step
    return _measure_since(begin)


def _read_clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _measure_since(begin: tuple[float, float]) -> tuple[float, float]:
    own, clock = _read_clocks()
    return (own - begin[0]) * 1e3, (clock - begin[1]) * 1e3


def _say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    folder, *shape = sys.argv[1:]
    size, chain, forks = map(int, shape)
    asyncio.run(_answer(Path(folder), size, chain, forks))
