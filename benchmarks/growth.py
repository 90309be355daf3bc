"""What grows with memories, segments and branches: each use case in small and large projects."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from corpus import Corpus
from durable_add import write_bare
from house import filled, settings_in
from report import Table, p50

from memory_mcp import branches, maintenance, memories, search, sessions
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.limits import CONTEXT_TOKENS_DEFAULT, RESULTS_DEFAULT
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, MemoryAdded, MovePreview
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace

__all__ = ["SHAPES", "measure_growth"]

SHAPES: Final = ((100, 10, 0), (1_000, 10, 10), (10_000, 200, 100), (100_000, 2_000, 1_000))
"""Memories, segments on the main chain, and branches of a project."""
_USUAL: Final = 1_000
_TIMES: Final = 20
_WARM_UP: Final = 3
_RECORD_BYTES: Final = 1_000
_LOST: Final = "lost index: first search"


async def measure_growth(folder: Path, sizes: list[int]) -> Table:
    """Every use case that writes or opens, in projects that grow in all three directions at once.

    The last column is the largest beside the one with 1,000 memories and ten branches.
    """
    shapes = [shape for shape in SHAPES if shape[0] in sizes]
    found: dict[str, list[float]] = {}
    for size, chain, others in shapes:
        own = folder / f"{size}-{chain}-{others}"
        async with filled(own, size, chain=chain, forks=others) as built:
            for name, took in (await _measure(built, own)).items():
                found.setdefault(name, []).append(took)
        found.setdefault(_LOST, []).append(await _search_without_index(own))
    columns = [f"{size:,} / {chain:,} / {others:,}" for size, chain, others in shapes]
    table = Table(
        f"Growth, {_TIMES} of each (p50, ms of processor time; memories / segments / branches)",
        ("use case", *columns, "largest : 1,000"),
        note="processor time: of all threads; bare write: write, fsync, rename and fsync of the "
        "folder for the bytes of a record; doctor, the way back to the start: once; a lost index: "
        "once, and until the answer comes",
    )
    usual = next((place for place, shape in enumerate(shapes) if shape[0] == _USUAL), 0)
    for name, figures in found.items():
        table.add(name, *figures, figures[-1] / figures[usual])
    return table


async def _measure(built: BuiltWorkspace, own: Path) -> dict[str, float]:
    workspace = built.workspace
    corpus = Corpus(seed=len(await built.records[0].ids()))
    added: list[str] = []

    async def add() -> None:
        outcome = await memories.add_memory(workspace, corpus.draft())
        if isinstance(outcome, MemoryAdded):
            added.append(outcome.record.id)

    async def forget() -> None:
        await memories.forget_memory(workspace, added.pop(), "", erase=True)

    async def checkpoint() -> None:
        saved = await branches.checkpoint(
            workspace, "One more step.", None, again=False, approval="auto"
        )
        assert isinstance(saved, CheckpointSaved)  # noqa: S101  # nothing here skips writes
        sealed.append(saved.checkpoint.id)

    async def backtrack() -> None:
        done = await branches.backtrack(workspace, sealed[-1], "continue")
        assert isinstance(done, Backtracked)  # noqa: S101

    async def fork() -> None:
        forks.append(f"fork-{time.monotonic_ns()}")
        await branches.fork_branch(workspace, forks[-1], "")

    async def add_there() -> None:
        await memories.add_memory(workspace.at(BranchName(forks[0])), corpus.draft())

    sealed: list[str] = []
    forks: list[str] = []
    found = {"bare write": p50([_write_bare(own) for _ in range(_TIMES)])}
    steps: dict[str, Callable[[], Awaitable[object]]] = {
        "add_memory": add,
        "forget_memory": forget,
        "search_memories": lambda: _search(workspace, corpus.question().text),
        "memory_context": lambda: sessions.memory_context(workspace, "", CONTEXT_TOKENS_DEFAULT),
        "memory_head": lambda: branches.report_head(workspace),
        "checkpoint": checkpoint,
        "backtrack": backtrack,
        "fork": fork,
        "add_memory on a new branch": add_there,
    }
    for name, step in steps.items():
        found[name] = p50([await _time(step) for _ in range(_TIMES + _WARM_UP)][_WARM_UP:])
    found |= await _measure_start(workspace)
    found["doctor"] = await _time(lambda: maintenance.run_doctor(workspace))
    return found


def _write_bare(own: Path) -> float:
    """What the disk alone takes for a record."""
    begin = time.process_time()
    write_bare(own / "bare", b"x" * _RECORD_BYTES)
    took = (time.process_time() - begin) * 1e3
    (own / "bare").unlink()
    return took


async def _measure_start(workspace: Workspace) -> dict[str, float]:
    """The way back to the start, which hides everything, and the restore."""
    found: dict[str, float] = {}

    async def leave() -> None:
        done = await branches.backtrack(workspace, "start", "continue")
        assert isinstance(done, Backtracked)  # noqa: S101

    async def undo() -> None:
        preview = await branches.preview_undo(workspace)
        assert isinstance(preview, MovePreview)  # noqa: S101
        done = await branches.backtrack(workspace, preview.to, "continue", token=preview.token)
        assert isinstance(done, Backtracked)  # noqa: S101

    found["backtrack to the start"] = await _time(leave)
    found["its undo"] = await _time(undo)
    return found


async def _search_without_index(own: Path) -> float:
    """From opening a project whose index is gone to the first answer."""
    for index in own.rglob("index.sqlite3*"):  # noqa: ASYNC240  # nothing else runs
        index.unlink()
    begin = time.perf_counter()
    async with open_workspace(settings_in(own)) as built:
        await _search(built.workspace, "rotate the login token")
        return (time.perf_counter() - begin) * 1e3


async def _search(workspace: Workspace, text: str) -> object:
    return await search.search_memories(workspace, text, Filters(), RESULTS_DEFAULT)


async def _time(step: Callable[[], Awaitable[object]]) -> float:
    begin = time.process_time()
    await step()
    return (time.process_time() - begin) * 1e3
