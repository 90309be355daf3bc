"""Short questions to a store of short statements: is the list empty, and what does a score say?

    python benchmarks/short.py [--data FILE] [--model-home DIR] [--all]

The memories of a case (`data/open/short.json`) stand in a store with those of two other fields, so
that not every one can be compared. *Empty*: questions of a word or five for which nothing is
found; *first*, *among five*: their answer. *Spread*: the highest score of an answer in five
phrasings less its lowest. *Likely*: what nothing answers and scores a half or more.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from house import QuickDisk, lend_model, settings_in
from report import Table, machine, show

from memory_mcp import maintenance, memories
from memory_mcp.build import open_workspace
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters, Hit
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search.search import search_memories

_DATA: Final = Path(__file__).with_name("data") / "open"
_BESIDE: Final = ("statements_fintech", "statements_biolab")
_LIKELY: Final = 0.5
_LIMIT: Final = 10
_AMONG: Final = 5
_EMPTY: Final = -2


def main() -> None:
    """Measure by words and, where there is a model, by meaning too."""
    parser = argparse.ArgumentParser(description="Ask short questions.")
    parser.add_argument("--data", type=Path, default=_DATA / "short.json")
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    parser.add_argument("--all", action="store_true", help="print what goes wrong")
    args = parser.parse_args()
    table = Table(
        "Short questions",
        ("mode", "memories", "questions", "empty", "first", f"among {_AMONG}", "spread", "widest",
         "unanswered", "likely", "highest"),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        show(machine(Path(name)))
        for mode in ("words", "model") if args.model_home else ("words",):
            home = args.model_home if mode == "model" else None
            case = json.loads(args.data.read_text("utf-8"))
            table.add(mode, *asyncio.run(_measure(Path(name) / mode, case, home, tells=args.all)))
    show(table)


async def _measure(
    folder: Path, case: Any, model_home: Path | None, *, tells: bool
) -> tuple[float | int, ...]:
    if model_home:
        lend_model(folder, model_home)
    settings = settings_in(folder, "minilm" if model_home else "none")
    own: list[str] = [*case["memories"]]
    texts: list[str] = [*own, *(text for other in _BESIDE for text in _load_statements(other))]
    async with open_workspace(settings, disk=QuickDisk()) as built:
        for text in texts:
            await memories.add_memory(built.workspace, Draft(text))
        if built.workspace.project.meaning:
            await maintenance.encode_all(built.workspace)
        places: list[int] = []
        for asked in case["questions"]:
            hits = await _ask(built.workspace, asked["question"])
            places.append(_find_place(hits, own[int(asked["answer"])]))
            if tells and places[-1]:
                _tell(asked["question"], hits)
        spreads = [
            await _measure_spread(
                built.workspace, asked["phrasings"], own[int(asked["answer"])], tells=tells
            )
            for asked in case["phrasings"]
        ]
        best: list[float] = []
        for asked in case["unanswered"]:
            hits = await _ask(built.workspace, asked)
            best.append(max((hit.score or 0.0 for hit in hits), default=0.0))
            if tells and best[-1] >= _LIKELY:
                _tell(asked, hits)
    return (
        len(texts), len(places), places.count(_EMPTY), places.count(0),
        sum(0 <= place < _AMONG for place in places), fmean(spreads), max(spreads),
        len(best), sum(score >= _LIKELY for score in best), max(best),
    )  # fmt: skip


def _load_statements(name: str) -> list[str]:
    content: Any = json.loads((_DATA / f"{name}.json").read_text("utf-8"))
    return [each["content"] for each in content["memories"]]


async def _measure_spread(
    workspace: Workspace, phrasings: Sequence[str], answer: str, *, tells: bool
) -> float:
    scores: list[float] = []
    for phrasing in phrasings:
        hits = await _ask(workspace, phrasing)
        place = _find_place(hits, answer)
        scores.append(hits[place].score or 0.0 if place >= 0 else 0.0)
    if tells:
        print(phrasings[0], scores)
    return max(scores) - min(scores)


async def _ask(workspace: Workspace, question: str) -> Sequence[Hit]:
    found = await search_memories(workspace, question, Filters(), _LIMIT)
    return found.hits if isinstance(found, SearchResults) else ()


def _find_place(hits: Sequence[Hit], answer: str) -> int:
    """Where the answer stands; -1 if it is not found, -2 if nothing is."""
    found = (place for place, hit in enumerate(hits) if hit.record.content == answer)
    return next(found, -1 if hits else _EMPTY)


def _tell(question: str, hits: Sequence[Hit]) -> None:
    shown = (f"  {hit.score:.2f} {hit.record.content[:90]!r}" for hit in hits[:3])
    print(question, *shown, sep="\n")


if __name__ == "__main__":
    main()
