"""What it costs to open a session: in tokens, to render the files, and beside an add."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from corpus import Corpus
from house import filled
from report import Table, p50, p95

from memory_mcp import bootstrap, memories, sessions
from memory_mcp.bootstrap.opening import build_bootstrap
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.record import Kind, Record
from memory_mcp.engine.head import load_head, make_writing
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.block import Block, count_tokens
from memory_mcp.text.drafts import build_record

__all__ = ["measure_opening"]

_STANDING_TOKENS: Final = 3_500
"""What a grown CLAUDE.md of standing instructions costs every session."""

_KINDS: Final[tuple[Kind, ...]] = (
    "identity", "decision", "preference", "convention", "lesson", "closeout", "summary", "fact",
)  # fmt: skip
_KEYS: Final = {"closeout": "phase:bench:1:issues", "summary": "gardener:bench:one:checkpoint"}
_TIMES: Final = 20
_ADDS: Final = 150


async def measure_opening(folder: Path, sizes: list[int]) -> tuple[Table, Table, Table]:
    """The tokens of an opening, the time of rendering, and adds with and without it beside them."""
    cost = Table(
        f"Opening a session, beside {_STANDING_TOKENS:,} tokens of standing instructions",
        ("memories", "tokens", "less", "memories shown", "sections", "delta of 3", "ms p50"),
        note="a fifth of the memories has a section of its own, evenly; tokens are characters / 4",
    )
    time_ = Table(
        f"Rendering all files, {_TIMES} times (ms)",
        ("memories", "p50", "p95", "unchanged p50", "MEMORY.md bytes", "lines"),
    )
    beside = Table(
        f"Durable add while files are rendered beside it, {_ADDS} each, in turn (ms)",
        ("memories", "without p50", "p95", "with p50", "p95", "ratio p50", "rendered"),
        note="in one process, to two projects of that size; with: the background task is alive",
    )
    for size in sizes:
        async with filled(folder / str(size), size) as built:
            await _with_sections(built, size // 5)
            await _cost(cost, built.workspace, size)
            await _rendering(time_, built, size)
        async with (
            filled(folder / f"{size}-beside", size) as other,
            filled(folder / str(size), size) as built,
        ):
            await _adding(beside, other.workspace, built.workspace, size)
    return cost, time_, beside


async def _with_sections(built: BuiltWorkspace, number: int) -> None:
    """Records of every kind that has a section, as sessions would have left them."""
    workspace, corpus = built.workspace, Corpus(seed=7)
    timeline = (await load_head(workspace)).timeline
    made: list[Record] = []
    for place in range(number):
        kind = _KINDS[place % len(_KINDS)]
        draft = replace(corpus.draft(), kind=kind, reach="project")
        record = build_record(draft, make_writing(workspace, timeline, workspace.clock.now()))
        record = record.model_copy(update={"key": _KEYS.get(kind, "")})
        await workspace.project.records.put(record)
        made.append(record)
    await workspace.project.index.add(made)


async def _cost(table: Table, workspace: Workspace, size: int) -> None:
    block = await build_bootstrap(workspace)
    taken = [await _timed(build_bootstrap(workspace)) for _ in range(_TIMES)]
    corpus = Corpus(seed=11)
    for _ in range(3):
        await memories.add_memory(workspace, corpus.draft())
    delta = await sessions.memory_context(workspace, since=block.since)
    assert isinstance(delta, Block)  # noqa: S101  # nothing here is set to skip reads
    table.add(
        size,
        block.tokens,
        f"{100 * (1 - block.tokens / _STANDING_TOKENS):.0f} %",
        block.shown,
        block.text.count("\n## "),
        count_tokens(delta.text),
        p50(taken),
    )


async def _rendering(table: Table, built: BuiltWorkspace, size: int) -> None:
    changed: list[float] = []
    same: list[float] = []
    corpus = Corpus(seed=13)
    for _ in range(_TIMES):
        await memories.add_memory(built.workspace, corpus.draft())
        changed.append(await _timed(bootstrap.render_views(built.workspace)))
        same.append(await _timed(bootstrap.render_views(built.workspace)))
    page = (built.places.memory_dir / "MEMORY.md").read_bytes()
    lines = page.count(b"\n")
    table.add(size, p50(changed), p95(changed), p50(same), len(page), lines)


async def _adding(table: Table, plain: Workspace, rendering: Workspace, size: int) -> None:
    corpora = Corpus(seed=17), Corpus(seed=19)
    taken: tuple[list[float], list[float]] = ([], [])
    rendered = 0
    shown = rendering.project.changes.shown
    async with _beside(rendering):
        for number in range(_ADDS + 10):
            for workspace, corpus, each in zip((plain, rendering), corpora, taken, strict=True):
                each.append(await _timed(memories.add_memory(workspace, corpus.draft())))
            if rendering.project.changes.shown != shown:
                shown, rendered = rendering.project.changes.shown, rendered + 1
            if number % 10 == 9:
                await asyncio.sleep(0.35)  # whoever adds pauses now and then
    without, with_it = (each[10:] for each in taken)
    table.add(
        size,
        *(p50(without), p95(without), p50(with_it), p95(with_it)),
        *(p50(with_it) / p50(without), rendered),
    )


@asynccontextmanager
async def _beside(workspace: Workspace) -> AsyncGenerator[None]:
    leaving = asyncio.Event()
    task = asyncio.create_task(bootstrap.keep_rendered(workspace, leaving))
    yield
    leaving.set()
    await task


async def _timed(call: Awaitable[object]) -> float:
    begin = time.perf_counter()
    await call
    return (time.perf_counter() - begin) * 1e3
