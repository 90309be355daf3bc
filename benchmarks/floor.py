"""An addition through MCP, beside the least that any server with a durable store would take.

The floor is a call of a tool that does nothing, over the same pipes and the same SDK, together with
one bare durable write: what nobody can save who speaks this protocol and loses nothing.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

from corpus import Corpus
from report import Table, p50
from wire import NOTHING, SERVER, Wire, started

__all__ = ["measure_floor", "read_processor"]

_CALLS: Final = 200
_WARM_UP: Final = 20


class _Part:
    """What of the whole is measured by itself: ms on the clock, and of the processor."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock: list[float] = []
        self.processor: list[float] = []


async def measure_floor(
    folder: Path,
    title: str,
    write: tuple[str, Callable[[], Awaitable[object]]],
    list_backends: Callable[[], Awaitable[Sequence[int]]] | None = None,
    **settings: str,
) -> Table:
    """A call that does nothing, a bare write of that name, and an addition, in turn.

    `list_backends` gives the processes of a database, whose time counts as well.
    """
    bare, put = write
    parts = [_Part("a call that does nothing"), _Part(bare), _Part("`add_memory`")]
    corpus = Corpus(seed=time.time_ns())
    idle_folder = folder.with_name(f"{folder.name}-nothing")
    with started(NOTHING, idle_folder) as nothing, started(SERVER, folder, **settings) as server:
        for each in (nothing, server):
            each.hello()
            each.ready()
        for number in range(_CALLS + _WARM_UP):
            pids = [nothing.process.pid, server.process.pid]
            pids += await list_backends() if list_backends else []
            draft = corpus.draft()
            said = {"content": draft.content, "kind": draft.kind}
            calls = (
                partial(_call, nothing, "nothing", text=draft.content),
                put,
                partial(_call, server, "add_memory", **said),
            )
            for part, call in zip(parts, calls, strict=True):
                async with _measured(part, pids, counts=number >= _WARM_UP, own=call is put):
                    await call()
    table = Table(
        f"{title}: an addition over stdio beside the floor, {_CALLS} of each in turn (ms)",
        ("part", "p50", "processor p50", "mean", "times the floor"),
        note="processor: of the server's process and the database's, during the call; the mean "
        "holds what runs beside it, too, such as rendering; the floor: the first two together, "
        "and `times` by the processor's p50",
    )
    rows = [(p50(each.clock), p50(each.processor), fmean(each.processor)) for each in parts]
    floor = tuple(map(sum, zip(*rows[:2], strict=True)))
    names = [parts[0].name, parts[1].name, "the floor", parts[2].name]
    for name, row in zip(names, (*rows[:2], floor, rows[2]), strict=True):
        table.add(name, *row, row[1] / floor[1])
    return table


async def _call(wire: Wire, tool: str, **arguments: str) -> None:
    wire.call(tool, **arguments)


@asynccontextmanager
async def _measured(
    part: _Part, pids: Sequence[int], *, counts: bool, own: bool
) -> AsyncGenerator[None]:
    """Note what the block takes; `own`: of this process, too, which does the bare writes."""
    spent, begin = read_processor(pids) + own * time.process_time() * 1e3, time.perf_counter()
    yield
    clock = (time.perf_counter() - begin) * 1e3
    if counts:
        part.clock.append(clock)
        part.processor.append(read_processor(pids) + own * time.process_time() * 1e3 - spent)


def read_processor(pids: Sequence[int]) -> float:
    """What these processes have used of the processor (ms), all their threads, on Linux."""
    spent = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):  # a thread that has ended
                spent += int(task.read_text("ascii").split()[0])
    return spent / 1e6
