"""One memory in PostgreSQL, beside the same memories in files, and with many at once."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
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
_CLIENTS: Final = (1, 8, 32)
_CALLS_OF_MANY: Final = 640
_BARE: Final = "INSERT INTO bare (text) VALUES (:text)"


async def measure_postgres(folder: Path, size: int, server: str) -> AsyncGenerator[Table]:
    """Each call with files and with a database, in turn; then adds and searches of many clients."""
    url, there = await _make_database(server), folder / "database"
    async with (
        filled(folder / "files", size) as files,
        filled(there, size, database=url) as database,
    ):
        await _run(url, "VACUUM ANALYZE")  # as autovacuum does, where it is on
        yield await _compare(files, database, size, url)
    many = Table(
        f"Many clients of one database of {size:,}, {_CALLS_OF_MANY} calls in all",
        ("clients", "adds a second", "p95 (ms)", "searches a second", "p95 (ms)"),
        note="all in one process, each client with connections of its own",
    )
    for clients in _CLIENTS:
        many.add(clients, *await _measure_many(there, url, clients))
    yield many
    await _drop_database(server, url)


async def _compare(files: BuiltWorkspace, database: BuiltWorkspace, size: int, url: str) -> Table:
    table = Table(
        f"PostgreSQL beside files, {size:,} memories, {_CALLS} calls of each in turn (ms)",
        ("call", "files p50", "p95", "database p50", "p95"),
        note="one insert: a row of 1 kB, committed, without anything around it",
    )
    for name, call in _CALLS_OF_ONE.items():
        sides = [(built.workspace, Corpus(seed=7), list[float]()) for built in (files, database)]
        for _ in range(_CALLS + _WARM_UP):
            for workspace, corpus, taken in sides:
                taken.append(await _time(call(workspace, corpus)))
        taken = [each[_WARM_UP:] for *_, each in sides]
        table.add(name, p50(taken[0]), p95(taken[0]), p50(taken[1]), p95(taken[1]))
    bare = Postgres(url)
    await bare.rows("CREATE TABLE bare (text text)")
    values = {"text": "x" * 1_000}
    inserts = [await _time(bare.rows(_BARE, values)) for _ in range(_CALLS + _WARM_UP)]
    await bare.aclose()
    table.add("one insert", "", "", p50(inserts[_WARM_UP:]), p95(inserts[_WARM_UP:]))
    return table


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
