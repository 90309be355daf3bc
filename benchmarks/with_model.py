"""What recall by meaning costs: searching, adding while others encode, memory and room on disk.

The model must be there (`memory-mcp models add minilm`). Projects are filled with the vectors of a
few thousand texts, given to their memories in turn: encoding 100,000 texts would take ten minutes,
and how long a search takes does not depend on whose vectors they are.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from corpus import Corpus
from footprint import resident_mb
from house import filled, lend_model, settings_in
from report import Table, p50, p95
from searching import FILTERS, QUESTIONS, WARM_UP, ask
from wire import SERVER, Wire, started

from memory_mcp import maintenance
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.search import Filters, PassageVectors
from memory_mcp.engine.workspace import MemoryBank, SemanticIndex
from memory_mcp.search import search_memories

__all__ = ["measure_meaning"]

_ENCODED: Final = 2_000
"""Texts whose vectors are given to all memories in turn."""
_BATCH: Final = 500
_ADDS: Final = 200
_NONE, _MODEL = "none", "minilm"


async def measure_meaning(folder: Path, sizes: list[int], model_home: Path) -> list[Table]:
    """All tables, in the order in which they are told of in the README."""
    search = Table(
        f"Search by meaning, {QUESTIONS} questions (ms)",
        ("memories", "asked", "first", "p50", "p95", "max"),
        note="first: with loading the model and the signs of all vectors",
    )
    room = Table("Room on disk with vectors", ("memories", "index per memory (bytes)"))
    for size in sizes:
        own = folder / str(size)
        async with _encoded(own, size, model_home) as built:
            for name, filters in FILTERS.items():
                _, taken, _ = await ask(built, filters)
                first = await _first(own) if filters == Filters() else "-"
                search.add(size, name, first, p50(taken), p95(taken), max(taken))
        taken = _over_mcp(own)
        search.add(size, "by MCP", "-", p50(taken), p95(taken), max(taken))
        room.add(size, (built.places.machine_dir / "index.sqlite3").stat().st_size // size)
    return [search, room, _adds(folder / "adds", model_home), _memory(folder, sizes, model_home)]


@asynccontextmanager
async def _encoded(folder: Path, size: int, model_home: Path) -> AsyncGenerator[BuiltWorkspace]:
    """A filled project, every memory of which has vectors."""
    async with filled(folder, size):
        pass
    lend_model(folder, model_home)
    async with open_workspace(settings_in(folder, embedder=_MODEL)) as built:
        if await maintenance.count_unencoded(built.workspace):
            passages = await _passages(built)
            for bank in built.workspace.banks:
                await _give(bank, passages)
        yield built


async def _passages(built: BuiltWorkspace) -> list[PassageVectors]:
    corpus = Corpus(seed=7)
    texts = [corpus.draft().content for _ in range(_ENCODED)]
    return await _meaning(built.workspace.project).embedder.passages(texts)


async def _give(bank: MemoryBank, passages: Sequence[PassageVectors]) -> None:
    meaning = _meaning(bank)
    identity = meaning.embedder.identity
    ids = sorted(await bank.index.ids())
    now = datetime.now(UTC)
    await meaning.vectors.claim(identity, 0, now, now)  # from now on the embedder is known
    vectors = cycle(passages)
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        await meaning.vectors.keep(
            identity, dict(zip(batch, islice(vectors, _BATCH), strict=False))
        )


def _meaning(bank: MemoryBank) -> SemanticIndex:
    if bank.meaning is None:
        raise AssertionError("no model")
    return bank.meaning


async def _first(folder: Path) -> float:
    async with open_workspace(settings_in(folder, embedder=_MODEL)) as built:
        begin = time.perf_counter()
        await search_memories(built.workspace, "the first question", Filters(), 5)
        return (time.perf_counter() - begin) * 1e3


def _over_mcp(folder: Path) -> list[float]:
    corpus = Corpus(seed=99)
    taken: list[float] = []
    with started(SERVER, folder, MEMORY_EMBEDDER=_MODEL) as wire:
        _open(wire)
        for _ in range(QUESTIONS + WARM_UP):
            text = corpus.question().text
            begin = time.perf_counter()
            said = wire.call("search_memories", query=text)
            taken.append((time.perf_counter() - begin) * 1e3)
            if said["structuredContent"]["mode"] != "semantic":
                raise AssertionError(said)
    return taken[WARM_UP:]


def _adds(folder: Path, model_home: Path) -> Table:
    """Two servers in turn, one of which encodes what it is given meanwhile."""
    table = Table(
        f"Adding by MCP without pause, {_ADDS} each, in turn (ms)",
        ("server", "p50", "p95", "ratio of p50"),
    )
    corpus = Corpus(seed=8)
    taken: dict[str, list[float]] = {_NONE: [], _MODEL: []}
    with ExitStack() as stack:
        wires: dict[str, Wire] = {}
        for name in taken:
            lend_model(folder / name, model_home)
            server = started(SERVER, folder / name, MEMORY_EMBEDDER=name)
            wires[name] = stack.enter_context(server)
            _open(wires[name])
            wires[name].call("search_memories", query="load what there is to load")
        for _ in range(_ADDS):
            draft = corpus.draft()
            for name, wire in wires.items():
                begin = time.perf_counter()
                wire.call("add_memory", content=draft.content)
                taken[name].append((time.perf_counter() - begin) * 1e3)
    for name, times in taken.items():
        table.add(f"embedder {name}", p50(times), p95(times), p50(times) / p50(taken[_NONE]))
    return table


def _memory(folder: Path, sizes: list[int], model_home: Path) -> Table:
    """What the encoder takes, beside the same server without it."""
    size = min(sizes, key=lambda size: abs(size - 10_000))
    table = Table(
        f"Memory in use at {size:,} memories (MB resident)",
        ("embedder", "idle", "after 100 searches", "and after 200 adds, encoded"),
    )
    for name in (_NONE, _MODEL):
        lend_model(folder / str(size), model_home)
        corpus = Corpus(seed=99)
        with started(SERVER, folder / str(size), MEMORY_EMBEDDER=name) as wire:
            _open(wire)
            figures = [resident_mb(wire)]
            for _ in range(100):
                wire.call("search_memories", query=corpus.question().text)
            figures.append(resident_mb(wire))
            for _ in range(_ADDS):
                wire.call("add_memory", content=corpus.draft().content)
            while "not encoded" in str(wire.call("search_memories", query="data")):
                time.sleep(0.2)
            table.add(name, *figures, resident_mb(wire))
    return table


def _open(wire: Wire) -> None:
    wire.hello()
    wire.ready()
    wire.ask("tools/list", {})
