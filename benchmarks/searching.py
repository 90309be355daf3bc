"""Searching a project with a deep timeline: as a use case, with filters, and through MCP."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from corpus import Corpus, Question
from house import CHAIN, filled
from report import Table, p50, p95
from wire import SERVER, started

from memory_mcp import branches, search, sessions
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.limits import CONTEXT_TOKENS_DEFAULT, RESULTS_DEFAULT
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace

__all__ = ["FILTERS", "QUESTIONS", "WARM_UP", "ask", "measure_reading", "measure_searches"]

QUESTIONS: Final = 200
WARM_UP: Final = 20
FILTERS: Final = {
    "no filter": Filters(),
    "category": Filters(category="database"),
    "tag": Filters(tags=("token",)),
    "kind": Filters(kinds=frozenset({"decision"})),
}
_TASK: Final = "rotate the login token of a session"
_READS: Final[dict[str, Callable[[Workspace], Awaitable[object]]]] = {
    "memory_head": branches.report_head,
    "memory_context": lambda workspace: sessions.memory_context(
        workspace, "", CONTEXT_TOKENS_DEFAULT
    ),
    "memory_context, task": lambda workspace: sessions.memory_context(
        workspace, _TASK, CONTEXT_TOKENS_DEFAULT
    ),
}


async def measure_searches(folder: Path, sizes: list[int]) -> Table:
    """Every sort of question at every size, asked of the real workspace."""
    table = Table(
        f"Lexical search, {QUESTIONS} questions, {CHAIN} segments on the chain, "
        "10 % abandoned, 5 % superseded (ms)",
        ("memories", "asked", "p50", "p95", "max"),
    )
    for size in sizes:
        async with filled(folder / str(size), size) as built:
            for name, filters in FILTERS.items():
                questions, taken = await ask(built, filters)
                table.add(size, name, p50(taken), p95(taken), max(taken))
                if name != "no filter":
                    continue
                for sort in ("mixed", "sentence", "common"):
                    pairs = zip(questions, taken, strict=True)
                    some = [took for question, took in pairs if question.sort == sort]
                    table.add(size, f"· {sort} only", p50(some), p95(some), max(some))
        taken = _over_mcp(folder / str(size))
        table.add(size, "by MCP", p50(taken), p95(taken), max(taken))
    return table


async def measure_reading(folder: Path, sizes: list[int]) -> Table:
    """The other reads of a session."""
    table = Table("Context and head, 20 times each (ms)", ("memories", "asked", "p50", "p95"))
    for size in sizes:
        async with filled(folder / str(size), size) as built:
            for name, read in _READS.items():
                taken = [await _timed(lambda read=read: read(built.workspace)) for _ in range(22)][
                    2:
                ]
                table.add(size, name, p50(taken), p95(taken))
    return table


async def ask(built: BuiltWorkspace, filters: Filters) -> tuple[list[Question], list[float]]:
    """The questions that were asked, and how long each took (ms)."""
    corpus = Corpus(seed=99)
    asked = [corpus.question() for _ in range(QUESTIONS + WARM_UP)]
    taken = [
        await _timed(
            lambda text=question.text: search.search_memories(
                built.workspace, text, filters, RESULTS_DEFAULT
            )
        )
        for question in asked
    ]
    return asked[WARM_UP:], taken[WARM_UP:]


async def _timed(read: Callable[[], Awaitable[object]]) -> float:
    begin = time.perf_counter()
    await read()
    return (time.perf_counter() - begin) * 1e3


def _over_mcp(folder: Path) -> list[float]:
    corpus = Corpus(seed=99)
    taken: list[float] = []
    with started(SERVER, folder) as wire:
        wire.hello()
        wire.ready()
        for _ in range(QUESTIONS + WARM_UP):
            text = corpus.question().text
            begin = time.perf_counter()
            wire.call("search_memories", query=text)
            taken.append((time.perf_counter() - begin) * 1e3)
    return taken[WARM_UP:]
