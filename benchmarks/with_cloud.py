"""What the cloud costs those who wait: nothing to speak of, healthy or not.

Every server is a process of its own and so is the cloud, a fake that answers at once; what a real
one takes is the network's and the vendor's affair. Shown is that no call waits for it, except a
search, which has a deadline.
"""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from corpus import Corpus
from fake_cloud import Fake, fake_cloud
from report import Table, p50, p95
from wire import SERVER, Wire, started

__all__ = ["measure_cloud"]

_ADDS: Final = 100
_WARM_UP: Final = 10
_SEARCHES: Final = 200
_STARTS: Final = 15
_DEADLINE_SECONDS: Final = 2
_DELIVERY_SECONDS_MAX: Final = 60

_NONE, _HEALTHY, _HANGING = "no cloud", "a healthy cloud", "a cloud that hangs"


def measure_cloud(folder: Path) -> tuple[Table, Table, Table]:
    """Adding, searching and starting, each with and without a cloud, in turn."""
    return _adds(folder / "adds"), _searches(folder / "searches"), _starts(folder / "starts")


def _adds(folder: Path) -> Table:
    taken: dict[str, list[float]] = {_NONE: [], _HEALTHY: [], _HANGING: []}
    corpus = Corpus(seed=5)
    with _three(folder) as (wires, fakes):
        fakes[_HANGING].hang()
        for number in range(_ADDS + _WARM_UP):
            draft = corpus.draft()
            for name, wire in wires.items():
                took = _timed(wire, "add_memory", content=draft.content, kind=draft.kind)
                if number >= _WARM_UP:
                    taken[name].append(took)
        hung = fakes[_HANGING].requests
        _until_delivered(fakes[_HEALTHY])
        healthy = fakes[_HEALTHY].requests
    table = Table(
        f"Adding by MCP, {_ADDS} each, in turn (ms)",
        ("server with", "p50", "p95", "ratio p50", "requests to the cloud"),
        note="requests: beside the calls; to the healthy cloud until all was delivered",
    )
    for (name, times), requests in zip(taken.items(), (0, healthy, hung), strict=True):
        table.add(name, p50(times), p95(times), p50(times) / p50(taken[_NONE]), requests)
    return table


def _searches(folder: Path) -> Table:
    corpus = Corpus(seed=6)
    taken: dict[str, list[float]] = {_NONE: [], _HEALTHY: [], _HANGING: []}
    with _three(folder) as (wires, fakes):
        for _ in range(_ADDS):
            draft = corpus.draft()
            for wire in wires.values():
                wire.call("add_memory", content=draft.content)
        for fake in fakes.values():
            _until_delivered(fake)
        for _ in range(_WARM_UP):
            text = corpus.question().text
            for wire in wires.values():
                wire.call("search_memories", query=text)
        fakes[_HANGING].hang()
        for _ in range(_SEARCHES):
            text = corpus.question().text
            for name, wire in wires.items():
                taken[name].append(_timed(wire, "search_memories", query=text))
    table = Table(
        f"Searching by MCP, {_SEARCHES} each, {_ADDS} memories, in turn (ms)",
        ("server with", "first", "p50", "p95", "max", "waited for the cloud"),
        note=f"the deadline is {_DEADLINE_SECONDS} s (SUPERMEMORY_TIMEOUT). After one that was "
        "missed, searches are local for a while, which doubles each time",
    )
    for name, times in taken.items():
        waited = sum(took > _DEADLINE_SECONDS * 1e3 / 2 for took in times)
        table.add(name, times[0], p50(times), p95(times), max(times), waited)
    return table


def _starts(folder: Path) -> Table:
    taken: dict[str, list[float]] = {"no key": [], "a key": []}
    with fake_cloud() as fake:
        settings: dict[str, dict[str, str]] = {"no key": {}, "a key": _settings(fake)}
        for number in range(_STARTS + 1):
            for name, given in settings.items():
                begin = time.perf_counter()
                with started(SERVER, folder / name, **given) as wire:
                    _open(wire)
                    if number:  # the first one fills the disk's cache
                        taken[name].append((time.perf_counter() - begin) * 1e3)
        requests = fake.requests
    table = Table(
        f"Start until the tools are listed, {_STARTS} each, in turn (ms)",
        ("server with", "median", "min", "ratio of medians", "requests to the cloud"),
    )
    for name, times in taken.items():
        ratio = p50(times) / p50(taken["no key"])
        table.add(name, p50(times), min(times), ratio, requests if name == "a key" else 0)
    return table


@contextmanager
def _three(folder: Path) -> Generator[tuple[dict[str, Wire], dict[str, Fake]]]:
    """Servers without a cloud, with one, and with one that can be told to hang."""
    with ExitStack() as stack:
        fakes = {name: stack.enter_context(fake_cloud()) for name in (_HEALTHY, _HANGING)}
        wires = {_NONE: stack.enter_context(started(SERVER, folder / _NONE))}
        for name, fake in fakes.items():
            wires[name] = stack.enter_context(started(SERVER, folder / name, **_settings(fake)))
        for wire in wires.values():
            _open(wire)
        yield wires, fakes


def _settings(fake: Fake) -> dict[str, str]:
    return {
        "SUPERMEMORY_API_KEY": "sm_test",
        "SUPERMEMORY_BASE_URL": fake.url,
        "SUPERMEMORY_TIMEOUT": str(_DEADLINE_SECONDS),
    }


def _open(wire: Wire) -> None:
    wire.hello()
    wire.ready()
    wire.ask("tools/list", {})


def _timed(wire: Wire, tool: str, **arguments: str) -> float:
    begin = time.perf_counter()
    wire.call(tool, **arguments)
    return (time.perf_counter() - begin) * 1e3


def _until_delivered(fake: Fake) -> None:
    end = time.monotonic() + _DELIVERY_SECONDS_MAX
    while fake.documents < _ADDS:
        if time.monotonic() > end:
            raise AssertionError(f"only {fake.documents} were delivered")
        time.sleep(0.05)
