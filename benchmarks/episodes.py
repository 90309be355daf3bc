"""What a search makes of talk: episodes beside decisions, questions without an answer, long notes.

    python benchmarks/episodes.py [--model-home DIR] [--data FILE] [--all]

Each case of `data/open/episodes.json` gets stores of its own: its other memories, the episode that
a session captures of its exchange, and the decision that followed from it. Asked are the case's
question and the words in which the exchange began. An exchange without an answer is the case's own,
or the question alone. A question that another program stored as an episode is no answer: without
one in the store nothing may score a half. The long memory holds what all cases decided and their
other memories; for each question the passage that is shown has to be the one that answers it.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from house import QuickDisk, lend_model, settings_in
from report import Table, machine, show

from memory_mcp import maintenance, memories, sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import EmbedderName
from memory_mcp.domain.outcomes import EpisodeSaved, MemoryAdded, SearchResults
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.domain.search import Filters, Hit
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.head import load_head, make_writing
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search.search import search_memories
from memory_mcp.text.episodes import NewEpisode, SessionMoment, build_episode

_DATA: Final = Path(__file__).with_name("data") / "open" / "episodes.json"
_MODES: Final[dict[str, EmbedderName]] = {"words": "none", "model": "minilm"}
_LIKELY: Final = 0.5
_LIMIT: Final = 10

_Case = dict[str, Any]


def main() -> None:
    """Measure by words and, where there is a model, by meaning too."""
    parser = argparse.ArgumentParser(description="Measure what a search makes of talk.")
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    parser.add_argument("--data", type=Path, default=_DATA)
    parser.add_argument("--all", action="store_true", help="print every list of hits")
    args = parser.parse_args()
    cases: list[_Case] = json.loads(args.data.read_text("utf-8"))
    talk = Table(
        "Talk in a search",
        ("mode", "questions", "decision first", "before its talk", "talk found alone",
         "question alone: likely", "best score", "stored without answer"),
        "talk found alone: the episode is first where no decision was stored; likely: a half or "
        "more for a question that nothing answers",
    )  # fmt: skip
    long = Table("A long memory", ("mode", "questions", "chars", "shown", "with the answer"))
    with tempfile.TemporaryDirectory() as name:
        show(machine(Path(name)))
        for mode in ("words", "model") if args.model_home else ("words",):
            house = _House(Path(name) / mode, _MODES[mode], args.model_home, tells=args.all)
            talk.add(mode, *asyncio.run(house.measure_talk(cases)))
            long.add(mode, *asyncio.run(house.measure_long(cases)))
    show(talk)
    show(long)


class _House:
    """Where stores are made: one folder for each, all with one embedder."""

    def __init__(
        self, folder: Path, embedder: EmbedderName, model_home: Path | None, *, tells: bool
    ) -> None:
        self.folder = folder
        self.embedder: EmbedderName = embedder
        self.model_home = model_home
        self.tells = tells
        self._stores = 0

    @asynccontextmanager
    async def open(self, facts: Sequence[str]) -> AsyncGenerator[Workspace]:
        """A store that knows these facts."""
        self._stores += 1
        folder = self.folder / str(self._stores)
        if self.model_home and self.embedder != "none":
            lend_model(folder, self.model_home)
        settings = settings_in(folder, self.embedder)
        async with open_workspace(settings, disk=QuickDisk()) as built:
            for fact in facts:
                await _add(built.workspace, fact)
            yield built.workspace

    async def ask(self, workspace: Workspace, question: str) -> Sequence[Hit]:
        """What is found, everything encoded first."""
        if workspace.project.meaning:
            await maintenance.encode_all(workspace)
        found = await search_memories(workspace, question, Filters(), _LIMIT)
        hits = found.hits if isinstance(found, SearchResults) else ()
        if self.tells:
            lines = (f"  {hit.score:.2f} {hit.record.kind}: {hit.record.content!r}" for hit in hits)
            print(question, *lines, sep="\n")
        return hits

    async def measure_talk(self, cases: Sequence[_Case]) -> tuple[int | str, ...]:
        """The figures of all cases."""
        asked = first = before = alone = likely = stored = 0
        best = 0.0
        for case in cases:
            questions = {case["question"], case["exchange"][0]["content"]}
            async with self.open(case["others"]) as workspace:
                episode = await _capture(workspace, case["exchange"])
                for question in questions:
                    hits = await self.ask(workspace, question)
                    alone += bool(hits and episode and hits[0].record.id == episode.id)
                decision = await _add(workspace, case["decision"], "decision")
                for question in questions:
                    found = [hit.record.id for hit in await self.ask(workspace, question)]
                    asked += 1
                    first += found[:1] == [decision.id]
                    before += _goes_before(found, decision, episode)
            async with self.open(case["others"]) as workspace:
                silent = await _capture(workspace, case.get("unanswered_exchange", []))
                stored += silent is not None
                stored += await _capture(workspace, case["exchange"][:1]) is not None
            async with self.open(case["others"]) as workspace:
                only = await _store_question(workspace, case["exchange"][0]["content"])
                for question in questions:
                    hits = await self.ask(workspace, question)
                    score = max((h.score or 0.0 for h in hits if h.record.id == only.id), default=0)
                    likely += score >= _LIKELY
                    best = max(best, score)
        return asked, first, before, alone, likely, f"{best:.2f}", stored

    async def measure_long(self, cases: Sequence[_Case]) -> tuple[int, ...]:
        """One memory of all that was decided, as long as a memory may be."""
        paragraphs = [" ".join([case["decision"], *case["others"]]) for case in cases]
        text = "\n\n".join(paragraphs)
        right = chars = 0
        async with self.open(()) as workspace:
            note = await _add(workspace, text)
            for case in cases:
                hits = await self.ask(workspace, case["question"])
                passage = next((h.passage for h in hits if h.record.id == note.id), None)
                shown = passage.text if passage else text
                chars += len(shown)
                right += passage is not None and case["decision"] in shown
        return len(cases), len(text), chars // len(cases), right


def _goes_before(found: Sequence[str], decision: Record, talk: Record | None) -> bool:
    if decision.id not in found:
        return False
    return talk is None or talk.id not in found or found.index(decision.id) < found.index(talk.id)


async def _add(workspace: Workspace, text: str, kind: Kind = "fact") -> Record:
    match await memories.add_memory(workspace, Draft(text, kind=kind)):
        case MemoryAdded(record):
            return record
        case other:
            raise AssertionError(other)


async def _capture(workspace: Workspace, exchange: Sequence[dict[str, str]]) -> Record | None:
    """The episode of a session that ends here, if there is one."""
    turns = [Turn(each["role"], each["content"]) for each in exchange]  # pyright: ignore[reportArgumentType]
    match await sessions.capture_episode(workspace, turns, None, final=True):
        case EpisodeSaved(record):
            return record
        case _:
            return None


async def _store_question(workspace: Workspace, question: str) -> Record:
    """An episode that holds a question and nothing else, as other programs write them."""
    timeline = (await load_head(workspace)).timeline
    now = workspace.clock.now()
    writing = make_writing(workspace, timeline, now)
    plan = NewEpisode("Talk", f"- user: {question}")
    record = build_episode(plan, SessionMoment(1, now), writing, None)
    await workspace.project.keep(record)
    return record


if __name__ == "__main__":
    main()
