"""One memory in PostgreSQL, beside the same memories in files, and with many at once."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from bulk import fill_in_bulk
from corpus import Corpus
from floor import measure_floor, read_processor
from house import filled, settings_in
from report import Table, p50, p95

from memory_mcp import branches, memories, search, sessions
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.limits import RESULTS_DEFAULT
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.storage.postgres import Postgres, Principal
from memory_mcp.storage.postgres.database import connect

__all__ = ["SERVER_VARIABLE", "measure_postgres"]

SERVER_VARIABLE: Final = "MEMORY_TEST_POSTGRES"
_CALLS: Final = 100
_WARM_UP: Final = 10
_CLIENTS: Final = ((1, 1), (8, 8), (64, 8))
"""So many at once, and so many servers with connections of their own that they call."""
_CALLS_OF_MANY: Final = 640
_BESIDE_FILES_MAX: Final = 10_000
"""Memories that are kept in files too; more are filled in bulk, into the database alone."""
_BARE: Final = "INSERT INTO bare (text) VALUES (:text)"


async def measure_postgres(folder: Path, size: int, server: str) -> AsyncGenerator[Table]:
    """Each call with files and with a database, in turn; then adds and searches of many clients."""
    url, there = await _make_database(server), folder / "database"
    if size > _BESIDE_FILES_MAX:
        await fill_in_bulk(there, size, url)
        (there / "filled").touch()
    async with AsyncExitStack() as stack:
        sides = [await stack.enter_async_context(filled(there, size, database=url))]
        if size <= _BESIDE_FILES_MAX:
            sides.append(await stack.enter_async_context(filled(folder / "files", size)))
        await _run(url, "VACUUM ANALYZE")  # as autovacuum does, where it is on
        yield await _compare(sides, size, url)
    yield await _measure_floor(there, size, url)
    many = Table(
        f"Many clients of one database of {size:,}, {_CALLS_OF_MANY} calls in all",
        ("clients", "servers", "adds a second", "p95 (ms)", "searches a second", "p95 (ms)"),
        note="all in one process, each server with connections of its own",
    )
    for clients, servers in _CLIENTS:
        many.add(clients, servers, *await _measure_many(there, url, clients, servers))
    yield many
    await _drop_database(server, url)


async def _compare(sides: Sequence[BuiltWorkspace], size: int, url: str) -> Table:
    """The database first, and files where there are any; with each add one bare insert."""
    table = Table(
        f"PostgreSQL, {size:,} memories, {_CALLS} calls of each in turn (ms)",
        ("call", "database p50", "p95", "processor", "files p50", "p95"),
        note="processor: mean of this process and the database's; one insert: a row of 1 kB, "
        "committed, without anything around it, in turn with the adds",
    )
    bare = Postgres(url, Principal("", "", ""))
    await bare.rows("CREATE TABLE bare (text text)")
    inserts: list[float] = []
    for name, call in _CALLS_OF_ONE.items():
        of_each = [(built.workspace, Corpus(seed=7), list[float]()) for built in sides]
        spent = 0.0
        for _ in range(_CALLS + _WARM_UP):
            for number, (workspace, corpus, taken) in enumerate(of_each):
                before = await _processor(bare)
                taken.append(await _time(call(workspace, corpus)))
                spent += 0 if number else await _processor(bare) - before
            if name == "add":
                inserts.append(await _time(bare.rows(_BARE, {"text": "x" * 1_000})))
        times = [(p50(each[_WARM_UP:]), p95(each[_WARM_UP:])) for *_, each in of_each]
        figures = [*times[0], spent / (_CALLS + _WARM_UP), *(times[1] if times[1:] else ("", ""))]
        table.add(name, *figures)
    await bare.aclose()
    table.add("one insert", p50(inserts[_WARM_UP:]), p95(inserts[_WARM_UP:]), "", "", "")
    return table


async def _processor(database: Postgres) -> float:
    """What this process and the database's have used of the processor (ms), on Linux."""
    rows = await database.rows(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid()"
    )
    return time.process_time() * 1e3 + read_processor([row[0] for row in rows])


async def _measure_floor(folder: Path, size: int, url: str) -> Table:
    bare = Postgres(url, Principal("", "", ""))

    async def insert() -> None:
        await bare.rows(_BARE, {"text": "x" * 1_000})

    async def list_backends() -> list[int]:
        asked = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        return [row[0] for row in await bare.rows(asked)]

    try:
        return await measure_floor(
            folder,
            f"PostgreSQL, {size:,} memories",
            ("one insert, committed", insert),
            list_backends,
            MEMORY_PROVIDER="postgres",
            MEMORY_POSTGRES_URL=url,
        )
    finally:
        await bare.aclose()


async def _measure_many(
    folder: Path, url: str, clients: int, servers: int
) -> tuple[float, float, float, float]:
    async with AsyncExitStack() as stack:
        workspaces: list[Workspace] = []
        for _ in range(servers):
            opened = open_workspace(settings_in(folder, database=url))
            workspaces.append((await stack.enter_async_context(opened)).workspace)
            await sessions.catch_up(workspaces[-1])
        figures: list[float] = []
        for call in (_add, _search):
            taken: list[float] = []
            seed = uuid4().int % 10**6
            begin = time.perf_counter()
            await asyncio.gather(
                *(
                    _repeat(call, each, Corpus(seed=n), _CALLS_OF_MANY // clients, taken)
                    for n, each in enumerate(islice(cycle(workspaces), clients), start=seed)
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
    """A database of a role of its own, which is held to row-level security as others' are."""
    name, parts = f"memory_bench_{uuid4().hex[:8]}", urlsplit(server)
    password, host = parts.password or name, parts.netloc.rpartition("@")[2]
    await _run(server, f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    await _run(server, f"CREATE DATABASE {name} OWNER {name}")
    return urlunsplit(parts._replace(netloc=f"{name}:{password}@{host}", path=name))


async def _drop_database(server: str, url: str) -> None:
    name = url.rpartition("/")[2]
    await _run(server, f"DROP DATABASE {name} WITH (FORCE)")
    await _run(server, f"DROP ROLE {name}")


async def _run(server: str, statement: str) -> None:
    connection = await connect(server)
    await connection.execute(statement)
    await connection.close()
