"""What the public benchmarks share: a fresh store on the real server, hits, and files of items.

A `Store` is a project and a home of its own, served by one process and asked over MCP. Nothing here
knows which benchmark runs.
"""

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from recall_metrics import K
from recall_runs import EMBEDDERS, lend_models, wait_until_encoded
from wire import SERVER, Wire, started

__all__ = ["DISPUTED", "OUTDATED", "Bench", "Hit", "Rows", "Store", "open_store", "read_items"]

OUTDATED: Final = "outdated_by"
DISPUTED: Final = "disputed_with"
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    OUTDATED: ("outdated_by", "outdatedBy"),
    DISPUTED: ("disputed_with", "disputedWith"),
}

Rows = tuple[tuple[str, str], ...]
"""What a benchmark is, as lines of a table."""


@dataclass(frozen=True)
class Bench:
    """What a run was asked for: how the server is started, and where the model lies."""

    folder: Path
    modes: tuple[str, ...]
    model_home: Path | None = None
    limit: int | None = None

    @property
    def model(self) -> Path | None:
        """The folder of the model that the baselines use."""
        return self.model_home / "models" / "minilm" if self.model_home else None


@dataclass(frozen=True)
class Hit:
    """One result, with the marks by which the server says that another contradicts it."""

    id: str
    text: str
    score: float = 1.0
    marks: frozenset[str] = frozenset()


class Store:
    """One server over memories of its own; every call must succeed."""

    def __init__(self, wire: Wire, mode: str) -> None:
        self._wire = wire
        self._mode = mode
        self.modes: set[str] = set()
        """What the server said it ran."""

    def add(self, text: str, *, tags: Iterable[str] = ()) -> str:
        """Add one memory; the id of the memory that holds the text now."""
        metadata = {"tags": list(tags)} if tags else {}
        return self._call("add_memory", content=text, metadata=metadata)["memoryId"]

    def replace(self, memory_id: str, text: str) -> str:
        """Correct a memory; the id of the one that replaced it."""
        return self._call("update_memory", memory_id=memory_id, content=text)["memoryId"]

    def search(self, query: str, *, tags: Iterable[str] = (), limit: int = K) -> list[Hit]:
        """The results, best first; the server answers with ten at most."""
        filters = {"tags": list(tags)} if tags else {}
        answer = self._call("search_memories", query=query, limit=min(limit, K), **filters)
        self.modes.add(answer["mode"])
        return [
            Hit(hit["memoryId"], hit["content"], hit["score"], _marks(hit))
            for hit in answer["results"]
        ]

    def context(self, task: str) -> str:
        """The text of `memory_context` for a task."""
        return self._wire.call("memory_context", task=task)["content"][0]["text"]

    def wait_until_ready(self) -> None:
        """Return when every memory can be found in the way of this mode."""
        if self._mode == "semantic":
            wait_until_encoded(self._wire)

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self._wire.call(tool, **arguments)["structuredContent"]
        if not answer["success"]:
            raise AssertionError(answer)
        return answer


@contextmanager
def open_store(bench: Bench, name: str, mode: str) -> Generator[Store]:
    """A fresh store under the folder of the run, until the block ends."""
    folder = bench.folder / mode / name
    lend_models(bench.model_home, folder / "home")
    with started(SERVER, folder, MEMORY_EMBEDDER=EMBEDDERS[mode]) as wire:
        wire.hello()
        wire.ready()
        yield Store(wire, mode)


def read_items(path: Path) -> list[Any]:
    """The items of a file: a JSON list, one JSON object, or an object on each line."""
    text = path.read_text("utf-8")
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return content if isinstance(content, list) else [content]  # pyright: ignore[reportUnknownVariableType]  # JSON


def _marks(hit: Mapping[str, Any]) -> frozenset[str]:
    fields = {**hit.get("metadata", {}), **hit}
    return frozenset(
        mark for mark, names in _SPELLINGS.items() if any(fields.get(name) for name in names)
    )
