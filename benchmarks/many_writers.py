"""Several servers on one project, all writing at once: what was acknowledged must be there."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from corpus import Corpus
from house import settings_in
from report import Table, p50, p95
from wire import SERVER, Wire, started

from memory_mcp import sessions
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.ids import RecordId

__all__ = ["measure_writers"]

_PROCESSES: Final = 4
_ADDS: Final = 100


async def measure_writers(folder: Path) -> Table:
    """4 processes, 100 adds each, at the same time; then a look with other eyes."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(_PROCESSES) as bank:
        runs = list(bank.map(partial(_write, folder), range(_PROCESSES)))
    whole = time.perf_counter() - begin
    acknowledged = [RecordId(id_) for ids, _ in runs for id_ in ids]
    taken = [took for _, times in runs for took in times]
    async with open_workspace(settings_in(folder)) as built:
        await sessions.catch_up(built.workspace)
        lost_files, lost_index = await _missing(built, acknowledged)
    table = Table(
        f"{_PROCESSES} processes, {_ADDS} adds each, at the same time",
        ("acknowledged", "no file", "not found", "adds a second", "add p50 (ms)", "p95 (ms)"),
        note="a second of the whole, the start of the servers included",
    )
    table.add(len(acknowledged), lost_files, lost_index, len(taken) / whole, p50(taken), p95(taken))
    return table


def _write(folder: Path, seed: int) -> tuple[list[str], list[float]]:
    corpus = Corpus(seed)
    ids: list[str] = []
    taken: list[float] = []
    with started(SERVER, folder) as wire:
        wire.hello()
        wire.ready()
        for _ in range(_ADDS):
            begin = time.perf_counter()
            ids.append(_added(wire, corpus.draft().content))
            taken.append((time.perf_counter() - begin) * 1e3)
    return ids, taken


def _added(wire: Wire, content: str) -> str:
    answer = wire.call("add_memory", content=content)
    return json.loads(answer["content"][0]["text"])["memoryId"]


async def _missing(built: BuiltWorkspace, acknowledged: list[RecordId]) -> tuple[int, int]:
    stored = await built.workspace.project.records.ids()
    indexed = await built.workspace.project.index.wrapped.ids()
    wanted = set(acknowledged)
    if len(wanted) != len(acknowledged):
        raise AssertionError("two memories were given the same id")
    return len(wanted - stored), len(wanted - indexed)
