"""Searching a project with a deep timeline: as a use case, with filters, and through MCP.

Beside it a loop over a plain FTS5 table of the same texts, which knows no timeline, no related
words and no truth.
"""

import re
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
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
        ("memories", "asked", "p50", "p95", "max", "processor p50", "ratio"),
        note="processor: of all threads; ratio: to that of plain FTS5, asked in turn",
    )
    for size in sizes:
        own = folder / str(size)
        async with filled(own, size) as built:
            plain, used = await _ask_plain(built, own / "plain.sqlite3")
            table.add(size, "plain FTS5", p50(plain), p95(plain), max(plain), p50(used), 1.0)
            for name, filters in FILTERS.items():
                questions, taken, ours = await ask(built, filters)
                row = (p50(taken), p95(taken), max(taken), p50(ours), p50(ours) / p50(used))
                table.add(size, name, *row)
                if name != "no filter":
                    continue
                for sort in ("mixed", "sentence", "common"):
                    pairs = zip(questions, taken, strict=True)
                    some = [took for question, took in pairs if question.sort == sort]
                    table.add(size, f"· {sort} only", p50(some), p95(some), max(some), "", "")
        taken = _over_mcp(own)
        table.add(size, "by MCP", p50(taken), p95(taken), max(taken), "", "")
    return table


async def _ask_plain(built: BuiltWorkspace, path: Path) -> tuple[list[float], list[float]]:
    """How long a plain table with the same texts takes for the same questions, and of processor."""
    with closing(sqlite3.connect(path)) as base:
        base.execute("DROP TABLE IF EXISTS memory")
        base.execute("CREATE VIRTUAL TABLE memory USING fts5 (text, tokenize = 'porter unicode61')")
        for records in (bank.records for bank in built.workspace.banks):
            texts = [(r.title + " " + r.content,) async for r in records.scan(await records.ids())]
            base.executemany("INSERT INTO memory VALUES (?)", texts)
        base.commit()

        async def search_plain(text: str) -> list[str]:
            wanted = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
            query = "SELECT text FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT ?"
            return [row[0] for row in base.execute(query, (wanted, RESULTS_DEFAULT))]

        return (await _ask_each(search_plain))[1:]


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


async def ask(
    built: BuiltWorkspace, filters: Filters
) -> tuple[list[Question], list[float], list[float]]:
    """The questions that were asked, how long each took, and of processor time (ms)."""
    return await _ask_each(
        lambda text: search.search_memories(built.workspace, text, filters, RESULTS_DEFAULT)
    )


async def _ask_each(
    read: Callable[[str], Awaitable[object]],
) -> tuple[list[Question], list[float], list[float]]:
    corpus = Corpus(seed=99)
    asked = [corpus.question() for _ in range(QUESTIONS + WARM_UP)]
    taken: list[float] = []
    used: list[float] = []
    for question in asked:
        begin = time.process_time()
        taken.append(await _timed(lambda text=question.text: read(text)))
        used.append((time.process_time() - begin) * 1e3)
    return asked[WARM_UP:], taken[WARM_UP:], used[WARM_UP:]


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
