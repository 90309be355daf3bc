"""One memory in PostgreSQL, beside the same memories in files, and with many at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from corpus import Corpus
from house import filled, settings_in
from report import Table, p50, p95

from memory_mcp import branches, memories, search, sessions
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.limits import RESULTS_DEFAULT
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.storage.postgres import Postgres
from memory_mcp.storage.postgres.database import connect

__all__ = ["SERVER_VARIABLE", "measure_postgres"]

SERVER_VARIABLE: Final = "MEMORY_TEST_POSTGRES"
_CALLS: Final = 100
_WARM_UP: Final = 10
_CLIENTS: Final = (1, 8, 64)
_CALLS_OF_MANY: Final = 640
_BARE: Final = "INSERT INTO bare (text) VALUES (:text)"


async def measure_postgres(folder: Path, sizes: list[int], server: str) -> list[Table]:
    """Each call with files and with a database, in turn; then adds and searches of many clients."""
    calls = Table(
        f"PostgreSQL beside files, {_CALLS} calls of each in turn (ms)",
        ("memories", "call", "files p50", "p95", "database p50", "p95"),
        note="one insert: a row of 1 kB, committed, without anything around it",
    )
    many = Table(
        f"Many clients of one database, {_CALLS_OF_MANY} calls in all",
        ("memories", "clients", "adds a second", "p95 (ms)", "searches a second", "p95 (ms)"),
        note="all in one process, each client with connections of its own",
    )
    for size in sizes:
        url = await _make_database(server)
        there = folder / f"database-{size}"
        async with (
            filled(folder / f"files-{size}", size) as files,
            filled(there, size, database=url) as database,
        ):
            await _run(url, "VACUUM ANALYZE")  # as autovacuum does, where it is on
            for name, took in (await _compare(files, database, url)).items():
                cells = [figure(each) for each in took for figure in (p50, p95) if each]
                calls.add(size, name, *([""] * (4 - len(cells))), *cells)
        for clients in _CLIENTS:
            many.add(size, clients, *await _measure_many(there, url, clients))
        await _drop_database(server, url)
    return [calls, many]


async def _compare(
    files: BuiltWorkspace, database: BuiltWorkspace, url: str
) -> dict[str, tuple[list[float], list[float]]]:
    took: dict[str, tuple[list[float], list[float]]] = {}
    for name, call in _CALLS_OF_ONE.items():
        sides = [(built, Corpus(seed=7)) for built in (files, database)]
        figures = [list[float](), list[float]()]
        for _ in range(_CALLS + _WARM_UP):
            for (built, corpus), kept in zip(sides, figures, strict=True):
                kept.append(await _time(call(built.workspace, corpus)))
        took[name] = figures[0][_WARM_UP:], figures[1][_WARM_UP:]
    bare = Postgres(url)
    await bare.rows("CREATE TABLE bare (text text)")
    values = {"text": "x" * 1_000}
    inserts = [await _time(bare.rows(_BARE, values)) for _ in range(_CALLS + _WARM_UP)]
    await bare.aclose()
    took["one insert"] = [], inserts[_WARM_UP:]
    return took


async def _measure_many(folder: Path, url: str, clients: int) -> tuple[float, float, float, float]:
    async with AsyncExitStack() as stack:
        workspaces: list[Workspace] = []
        for _ in range(clients):
            opened = open_workspace(settings_in(folder, database=url))
            workspaces.append((await stack.enter_async_context(opened)).workspace)
            await sessions.catch_up(workspaces[-1])
        figures: list[float] = []
        for call in (_add, _search):
            taken: list[float] = []
            begin = time.perf_counter()
            await asyncio.gather(
                *(
                    _repeat(call, each, Corpus(seed=n), _CALLS_OF_MANY // clients, taken)
                    for n, each in enumerate(workspaces, start=uuid4().int % 10**6)
                )
            )
            figures += [len(taken) / (time.perf_counter() - begin), p95(taken)]
    return figures[0], figures[1], figures[2], figures[3]


_Call = Callable[[Workspace, Corpus], Awaitable[Any]]


async def _repeat(
    call: _Call, workspace: Workspace, corpus: Corpus, times: int, taken: list[float]
) -> None:
    taken.extend([await _time(call(workspace, corpus)) for _ in range(times)])


async def _time(call: Awaitable[Any]) -> float:
    begin = time.perf_counter()
    await call
    return (time.perf_counter() - begin) * 1e3


async def _add(workspace: Workspace, corpus: Corpus) -> None:
    await memories.add_memory(workspace, corpus.draft())


async def _search(workspace: Workspace, corpus: Corpus) -> None:
    text = corpus.question().text
    await search.search_memories(workspace, text, Filters(), RESULTS_DEFAULT)


async def _read_context(workspace: Workspace, corpus: Corpus) -> None:
    await sessions.memory_context(workspace, corpus.question().text, None)


async def _go_back(workspace: Workspace, corpus: Corpus) -> None:
    del corpus
    saved = await branches.checkpoint(workspace, "A step.", None, again=True, approval="auto")
    await branches.backtrack(workspace, getattr(saved, "checkpoint").id, "continue")  # noqa: B009


_CALLS_OF_ONE: Final[dict[str, _Call]] = {
    "search": _search,
    "context": _read_context,
    "add": _add,
    "checkpoint and back": _go_back,
}


async def _make_database(server: str) -> str:
    name = f"memory_bench_{uuid4().hex[:8]}"
    await _run(server, f"CREATE DATABASE {name}")
    return f"{server.rpartition('/')[0]}/{name}"


async def _drop_database(server: str, url: str) -> None:
    await _run(server, f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")


async def _run(server: str, statement: str) -> None:
    connection = await connect(server)
    await connection.execute(statement)
    await connection.close()
