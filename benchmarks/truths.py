"""How newer values are treated: when they are written, and when they are searched for.

    python benchmarks/truths.py [--model-home DIR] [--facts FILE] [--pairs] [--held-out]
    python benchmarks/truths.py --sizes 2,170,1000,5000 [--sets open/fresh12-] [--pairs]

Written: each pair of `data/open/truths.json` in a store of its own, the second after the first. A
newer value may be replaced, reported as contradicting, reported as similar, or stored in silence.
One that says all of the older one word for word, and more, takes its place as well; nothing is lost
by that, so it is counted apart (repeated).
Told: the first statements of all its pairs in one store with the statements of one project, and
only then the second ones; a newer value is told where its receipt replaces or names the older one.
What receipts name of independent notes (`data/agent.json`, of which a hundred are there) is what
that costs.
Sizes: what a receipt would say of the second statement of each pair of all hands, in stores of so
many statements; nothing is stored by that. Beside the first statements of one hand and its project
stand what all wrote for other sets, and made text. A rule decides what is replaced, outdated or
disputed; what is named as similar is left to whoever reads it.
Searched: the stores of `data/open/truth_stores.json` and, by half, of `truth_stores_more.json` (the
half that nothing was tuned on with `--held-out` only), and FactConsolidation (MemoryAgentBench, Hu
et al. 2025; single hop, the newest statement is right), whose file `--facts` names. The baseline is
the same list of hits without marks: what ranking alone puts first. `--pairs` names what went wrong.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, count, cycle, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from corpus import Corpus
from house import QuickDisk, lend_model, settings_in
from report import Table, machine, show

from memory_mcp import maintenance, memories
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import EmbedderName
from memory_mcp.deduplication import decide_duplicate, find_exact_matches
from memory_mcp.domain.deduplication import Insert, Merge
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import AlreadyKnown, MemoryAdded, SearchResults
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_head, make_view, make_writing
from memory_mcp.engine.workspace import Workspace
from memory_mcp.search.local import find_local
from memory_mcp.search.search import search_memories
from memory_mcp.text.drafts import build_record

_DATA: Final = Path(__file__).with_name("data")
_TOP: Final = 5
_THERE: Final = 100
"""Notes that are there before the receipts of the others are looked at."""
_SEED: Final = 14
_OTHER_PROJECT: Final = "open/statements_biolab"
_FACT: Final = re.compile(r"^\d+\. (.*)$", re.MULTILINE)


def main() -> None:
    """Measure by words and, where there is a model, by meaning too."""
    parser = argparse.ArgumentParser(description="Measure how newer values are treated.")
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    parser.add_argument("--facts", type=Path, metavar="FILE", help="FactConsolidation")
    parser.add_argument("--pairs", action="store_true", help="name what went wrong")
    parser.add_argument(
        "--sets", default="open/", metavar="PREFIX", help="of the files in data: open/fresh-"
    )
    parser.add_argument(
        "--sizes", type=_read_sizes, metavar="N,N", help="only what a receipt says by size of store"
    )
    parser.add_argument("--held-out", action="store_true", help="ask the held-out half, too")
    args = parser.parse_args()
    pairs = [*_DATA.glob(f"{args.sets}{'*' if args.sizes else ''}truths.json")]
    stores = _list_stores(args.sets, held_out=args.held_out)
    if not (pairs or (stores and not args.sizes)):
        known = ", ".join(_list_sets(args.sets))
        parser.error(f"no set begins with {args.sets!r}; there are {known}")
    facts = args.facts.read_text("utf-8") if args.facts else ""
    modes: list[tuple[str, EmbedderName]] = [("words", "none")]
    if args.model_home:
        modes.append(("model", "minilm"))
    written = Table(
        "Written, the second after the first",
        (
            "mode", "pairs", "all", "replaced", "repeated", "known", "contradicts", "similar",
            "silent",
        ),
        "of near misses none may be replaced, and few contradict",
    )  # fmt: skip
    told = Table(
        "Told, in a store of many",
        ("mode", "set", "there", "added", "told", "receipts that name", "lines of each receipt"),
        "told: the older statement is replaced or named; of notes nothing need be named",
    )
    searched = Table(
        f"Searched: the first {_TOP}",
        (
            "mode", "set", "questions", "newest first", "by ranking alone", "outdated first",
            "unmarked", "marked",
        ),
        "unmarked: an outdated one without a mark; marked: one that holds, or is of something else",
    )  # fmt: skip
    sized = Table(
        "Receipts, by the size of the store",
        (
            "mode", "size", "set", "added", "replaced", "contradicts", "similar", "silent",
            "others contradict", "receipts that name", "lines of each receipt",
        ),
        "what becomes of the older one; others contradict: another one is called so, or replaced",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        show(machine(Path(name)))
        for mode, embedder in modes:
            house = _House(
                Path(name) / mode, embedder, args.model_home, args.sets, pairs=args.pairs
            )
            if args.sizes:
                asyncio.run(house.measure_sizes(mode, sized, args.sizes))
                continue
            if pairs:
                asyncio.run(house.measure_writing(mode, written))
                asyncio.run(house.measure_telling(mode, told))
            asyncio.run(house.measure_searching(mode, searched, stores, facts))
    for table in (sized,) if args.sizes else (written, told, searched):
        show(table)


def _list_stores(prefix: str, *, held_out: bool) -> list[tuple[str, str, str]]:
    """The dated stores that are asked: how they are called, their file, and which half of it."""
    stores = [("stores", "truth_stores", ""), ("stores, dev", "truth_stores_more", "dev")]
    stores += [("stores, test", "truth_stores_more", "test")] if held_out else []
    return [each for each in stores if (_DATA / f"{prefix}{each[1]}.json").exists()]


def _list_sets(prefix: str) -> list[str]:
    """The prefixes of the sets that are there in the folder of this one."""
    folder = prefix.partition("/")[0]
    paths = [*_DATA.glob(f"{folder}/*truths.json"), *_DATA.glob(f"{folder}/*truth_stores*.json")]
    return sorted({f"{p.parent.name}/{re.split('truth', p.name)[0]}" for p in paths})


def _read_sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


class _House:
    """Where stores are made: one folder for each, all with one embedder."""

    def __init__(
        self,
        folder: Path,
        embedder: EmbedderName,
        model_home: Path | None,
        sets: str,
        *,
        pairs: bool,
    ) -> None:
        self.folder = folder
        self.sets = sets
        self.embedder: EmbedderName = embedder
        self.model_home = model_home
        self.pairs = pairs
        self._stores = 0

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Workspace]:
        """An empty store."""
        self._stores += 1
        folder = self.folder / str(self._stores)
        if self.model_home and self.embedder != "none":
            lend_model(folder, self.model_home)
        settings = settings_in(folder, self.embedder)
        async with open_workspace(settings, disk=QuickDisk()) as built:
            yield built.workspace

    async def measure_writing(self, mode: str, table: Table) -> None:
        """What becomes of each pair."""
        for name, pairs in _load_pairs(self.sets).items():
            counts: Counter[str] = Counter()
            for first, second in pairs:
                async with self.open() as workspace:
                    fate = await _write_both(workspace, first, second)
                counts[fate] += 1
                if self.pairs and fate != ("silent" if name == "near_misses" else "contradicts"):
                    print(f"{mode}, {name}, {fate}: {first} | {second}")
            fates = ("replaced", "repeated", "known", "contradicts", "similar", "silent")
            table.add(mode, name, len(pairs), *(counts[fate] for fate in fates))

    async def measure_telling(self, mode: str, table: Table) -> None:
        """What the receipts of all second statements name, and those of independent notes."""
        sets = _load_pairs(self.sets)
        beside = _load_statements(self.sets)
        there = [first for pairs in sets.values() for first, _ in pairs] + beside
        notes = _load_contents("agent")
        async with self.open() as workspace:
            texts = list(dict.fromkeys(there))
            ids = dict(zip(texts, await fill_store(workspace, texts), strict=True))
            for name, pairs in sets.items():
                added = [(second, ids[first]) for first, second in pairs]
                fates = [await _tell(workspace, text, old) for text, old in added]
                if self.pairs and name == "newer":
                    silent = [p for p, fate in zip(pairs, fates, strict=True) if not fate.told]
                    print(*(f"{mode}, not told: {old} | {new}" for old, new in silent), sep="\n")
                table.add(mode, name, len(texts), *_count_told(fates))
        async with self.open() as workspace:
            await fill_store(workspace, notes[:_THERE])
            fates = [await _tell(workspace, text) for text in notes[_THERE:]]
            table.add(mode, "notes", _THERE, *_count_told(fates))

    async def measure_sizes(self, mode: str, table: Table, sizes: Sequence[int]) -> None:
        """What receipts say in stores of each of these sizes."""
        for size in sizes:
            await self.measure_size(mode, table, size)

    async def measure_size(self, mode: str, table: Table, size: int) -> None:
        """What receipts say of each pair of all hands, and of notes, in stores of that size."""
        fates: dict[str, list[_Fate]] = {}
        hands = list(_list_hands(self.sets, size))
        beside = islice(_list_beside(hands), size - max(len(hand.there) for hand in hands))
        async with self.open() as workspace:
            await fill_store(workspace, list(beside))
            bank = workspace.project
            for hand in hands:
                ids = await fill_store(workspace, hand.there)
                known = dict(zip(hand.there, ids, strict=True))
                for name, first, second in hand.coming:
                    fate = await _foretell(workspace, second, known.get(first))
                    fates.setdefault(name, []).append(fate)
                    if self.pairs:
                        print(f"{mode}, {size}, {name}, {fate.name}: {first} | {second}")
                await bank.take_back(set(ids))
        for name, found in fates.items():
            counts = Counter(fate.name for fate in found)
            lines = [fate.lines for fate in found]
            table.add(
                mode, size, name, len(found),
                *(counts[each] for each in ("replaced", "contradicts", "similar", "silent")),
                sum(fate.wrong for fate in found), sum(each > 0 for each in lines),
                sum(lines) / len(found),
            )  # fmt: skip

    async def measure_searching(
        self, mode: str, table: Table, stores: Sequence[tuple[str, str, str]], facts: str
    ) -> None:
        """What the dated stores answer, and FactConsolidation."""
        for named in stores:
            await self.measure_stores(mode, table, *named)
        if facts:
            await self.measure_facts(mode, table, facts)

    async def measure_stores(
        self, mode: str, table: Table, name: str, file: str, half: str
    ) -> None:
        """The dated stores of a file, or of one half of it."""
        stores = json.loads((_DATA / f"{self.sets}{file}.json").read_text("utf-8"))["stores"]
        score = _Score()
        for store in stores:
            if half and store["half"] != half:
                continue
            async with self.open() as workspace:
                ids = await fill_store(workspace, [each["content"] for each in store["memories"]])
                known = dict(zip((each["id"] for each in store["memories"]), ids, strict=True))
                for question in store["questions"]:
                    old = {known[each] for each in question["outdated"]}
                    new = known[question["current"]]
                    near = {known[each] for each in question["near"]}
                    await score.ask(workspace, question["question"], {new}, old, near)
        table.add(mode, name, *score.row())
        if self.pairs:
            print(*score.wrong, sep="\n")

    async def measure_facts(self, mode: str, table: Table, text: str) -> None:
        """FactConsolidation: an answer's rivals share all but the last words with it."""
        sets: list[dict[str, Any]] = json.loads(text)
        for each in sets:
            if "_sh_" not in each["metadata"]["source"]:
                continue
            facts = _FACT.findall(each["context"])
            score = _Score()
            async with self.open() as workspace:
                ids = await fill_store(workspace, facts)
                for question, answers in zip(each["questions"], each["answers"], strict=True):
                    new, old = _find_gold(facts, question, answers)
                    current, outdated = {ids[n] for n in new}, {ids[n] for n in old}
                    await score.ask(workspace, question, current, outdated)
            table.add(mode, each["metadata"]["source"], *score.row())
            if self.pairs:
                print(*score.wrong, sep="\n")


async def _write_both(workspace: Workspace, first: str, second: str) -> str:
    await memories.add_memory(workspace, Draft(first))
    if workspace.project.meaning:
        await maintenance.encode_all(workspace)
    match await memories.add_memory(workspace, Draft(second)):
        case MemoryAdded(replaced=ids, contradictions=contradictions) if ids:
            return "replaced" if contradictions else "repeated"
        case MemoryAdded(similar=similar) if any(s.relation != "similar" for s in similar):
            return "contradicts"
        case MemoryAdded(similar=similar) if similar:
            return "similar"
        case AlreadyKnown():
            return "known"
        case _:
            return "silent"


class _Told(NamedTuple):
    """Whether the receipt of a memory speaks of the older one, and how many it names."""

    told: bool
    lines: int


async def _tell(workspace: Workspace, text: str, old: RecordId | None = None) -> _Told:
    added = await memories.add_memory(workspace, Draft(text))
    if workspace.project.meaning:
        await maintenance.encode_all(workspace)
    match added:
        case MemoryAdded(replaced=replaced, similar=similar):
            return _Told(old in {*replaced, *(each.record.id for each in similar)}, len(similar))
        case AlreadyKnown(record):
            return _Told(record.id == old, 0)
        case _:
            return _Told(told=False, lines=0)


def _count_told(fates: Sequence[_Told]) -> tuple[int, int, int, float]:
    """How many were added, told, with a receipt that names something; lines of a receipt."""
    lines = [fate.lines for fate in fates]
    naming = sum(each > 0 for each in lines)
    return len(fates), sum(f.told for f in fates), naming, sum(lines) / (len(lines) or 1)


class _Fate(NamedTuple):
    """What would become of the older statement, and how many the receipt would name.

    `wrong`: it replaces or contradicts another one.
    """

    name: str
    lines: int = 0
    wrong: bool = False


async def _foretell(workspace: Workspace, text: str, old: RecordId | None) -> _Fate:
    """What the receipt of a memory would say; it is not stored."""
    timeline = (await load_head(workspace)).timeline
    view, bank = make_view(workspace, timeline), workspace.project
    new = build_record(Draft(text), make_writing(workspace, timeline, datetime.now(UTC)))
    same = (await find_exact_matches(workspace, bank, new, view)).records
    until = asyncio.get_running_loop().time() + 1
    decision = await decide_duplicate(workspace, bank, new, same, view=view, until=until)
    if not isinstance(decision, Insert | Merge):
        return _Fate("known")
    fates = {each.record.id: each.relation for each in decision.similar}
    lines = len(fates)
    if isinstance(decision, Merge):
        fates |= dict.fromkeys((each.id for each in decision.olds), "replaced")
    fate = fates.pop(old, "silent") if old else "silent"
    wrong = any(each not in ("similar", "elsewhere") for each in fates.values())
    return _Fate("contradicts" if fate in ("outdated", "disputed") else fate, lines, wrong)


class _Hand(NamedTuple):
    """What somebody wrote: what stands there, and what comes.

    Of each that comes the name of its set, the statement it is paired with, and its text.
    """

    there: Sequence[str]
    coming: Sequence[tuple[str, str, str]]


def _list_hands(prefix: str, size: int) -> Iterator[_Hand]:
    """What the files of this prefix hold; in a store with no room for a hand each pair is alone.

    Independent notes are a hand, too: each is paired with one that it has nothing to do with.
    """
    folder = prefix.partition("/")[0]
    hands: list[_Hand] = []
    for path in sorted(_DATA.glob(f"{prefix}*truths.json")):
        name = f"{folder}/{path.name.removesuffix('truths.json')}"
        coming = [(sort, *pair) for sort, pairs in _load_pairs(name).items() for pair in pairs]
        there = dict.fromkeys((*(first for _, first, _ in coming), *_load_statements(name)))
        hands.append(_Hand(list(there), coming))
    notes = _load_contents("agent")
    pairs = zip(cycle(notes[:_THERE]), notes[_THERE:], strict=False)
    hands.append(_Hand(notes[:_THERE], [("notes", *pair) for pair in pairs]))
    for hand in hands:
        if len({first for _, first, _ in hand.coming}) < size:
            yield _Hand(hand.there[:size], hand.coming)
        else:
            yield from (_Hand([first], [(sort, first, new)]) for sort, first, new in hand.coming)


def _list_beside(hands: Sequence[_Hand]) -> Iterator[str]:
    """What all wrote for the open sets but the pairs (projects, dated stores), then made text."""
    folder = _DATA / "open"
    found = [_load_contents(f"open/{p.stem}") for p in sorted(folder.glob("*statements_*.json"))]
    for path in sorted(folder.glob("*truth_stores.json")):
        stores = json.loads(path.read_text("utf-8"))["stores"]
        found += [[each["content"] for each in store["memories"]] for store in stores]
    made = Corpus(_SEED)
    texts = chain(chain.from_iterable(found), (made.draft().content for _ in count()))
    own = {text for hand in hands for text in (*hand.there, *(new for *_, new in hand.coming))}
    return (text for text in texts if text not in own)


def _load_pairs(prefix: str) -> dict[str, list[tuple[str, str]]]:
    """The first and the second statement of each pair, by what they are to each other."""
    sets = json.loads((_DATA / f"{prefix}truths.json").read_text("utf-8"))
    return {
        name: [(p.get("older") or p["first"], p.get("newer") or p["second"]) for p in pairs]
        for name, pairs in sets.items()
        if pairs
    }


def _load_statements(prefix: str) -> list[str]:
    """The statements of one project by the same hand; of another one if it wrote none."""
    folder, _, hand = prefix.partition("/")
    found = sorted((_DATA / folder).glob(f"{hand}statements_*.json"))
    return _load_contents(f"{folder}/{found[0].stem}" if found else _OTHER_PROJECT)


def _load_contents(name: str) -> list[str]:
    stored = json.loads((_DATA / f"{name}.json").read_text("utf-8"))["memories"]
    return [each["content"] for each in stored]


async def open_stores(
    folder: Path, stores: Sequence[dict[str, Any]]
) -> AsyncGenerator[tuple[Workspace, dict[str, Any]]]:
    """Each store with an empty workspace for it, by words alone."""
    house = _House(folder, "none", None, "", pairs=False)
    for store in stores:
        async with house.open() as workspace:
            yield workspace, store


async def fill_store(workspace: Workspace, texts: Sequence[str]) -> list[RecordId]:
    """Store all of them, none in the place of another, and encode them."""
    timeline = (await load_head(workspace)).timeline
    now = datetime.now(UTC)
    records = [
        build_record(Draft(text), make_writing(workspace, timeline, now + timedelta(seconds=n)))
        for n, text in enumerate(texts)
    ]
    await workspace.project.keep_all(records)
    if workspace.project.meaning:
        await maintenance.encode_all(workspace)
    return [record.id for record in records]


@dataclass
class _Score:
    """What questions found whose answers have older rivals, and questions without any."""

    asked: int = 0
    newest: int = 0
    ranked: int = 0
    outdated_first: int = 0
    unmarked: int = 0
    wrong_marks: int = 0
    wrong: list[str] = field(default_factory=list[str])

    async def ask(
        self,
        workspace: Workspace,
        question: str,
        new: set[RecordId],
        old: set[RecordId],
        near: Collection[RecordId] = (),
    ) -> None:
        """Ask, and count what is among the first."""
        found = await search_memories(workspace, question, Filters(), _TOP)
        hits = found.hits if isinstance(found, SearchResults) else ()
        marked = {hit.record.id for hit in hits if hit.outdated_by or hit.disputed_with}
        self.wrong_marks += len(marked & {*new, *near})
        if not old:
            return
        view = make_view(workspace, (await load_head(workspace)).timeline)
        by_rank = (await find_local(workspace, question, view, Filters())).ranked
        self.asked += 1
        self.ranked += _goes_first([place.id for place in by_rank[:_TOP]], new, old)
        goes_first = _goes_first([hit.record.id for hit in hits], new, old)
        self.newest += goes_first
        self.outdated_first += bool(hits and hits[0].record.id in old)
        unmarked = [hit for hit in hits if hit.record.id in old - marked]
        self.unmarked += bool(unmarked)
        if unmarked or not goes_first:
            texts = "".join(f"\n    {hit.record.content}" for hit in hits)
            self.wrong.append(f"{question} {'(unmarked)' if unmarked else ''}{texts}")

    def row(self) -> tuple[int, ...]:
        """The figures, as the table has them."""
        return (
            self.asked, self.newest, self.ranked, self.outdated_first, self.unmarked,
            self.wrong_marks,
        )  # fmt: skip


def _goes_first(found: Sequence[RecordId], new: set[RecordId], old: set[RecordId]) -> bool:
    """Whether the newest statement is there, before every older one."""
    first = next((id_ for id_ in found if id_ in new | old), None)
    return first in new


def _find_gold(
    facts: Sequence[str], question: str, answers: Sequence[str]
) -> tuple[set[int], set[int]]:
    """The newest statement that holds the answer and most words of the question; its rivals."""
    words = set(re.findall(r"\w+", question.casefold()))
    holding = [
        n for n, fact in enumerate(facts)
        if any(_ends_with(fact, answer) for answer in answers)
    ]  # fmt: skip
    if not holding:
        return set(), set()

    def share(n: int) -> tuple[int, int]:
        return len(words & set(re.findall(r"\w+", facts[n].casefold()))), n

    best = max(holding, key=share)
    text = facts[best].rstrip(".")
    answer = max((a.rstrip(".") for a in answers if _ends_with(text, a)), key=len)
    stem = text[: -len(answer)]
    rivals = {n for n, fact in enumerate(facts) if fact.startswith(stem) and n < best}
    return {best}, rivals


def _ends_with(fact: str, answer: str) -> bool:
    return fact.rstrip(".").casefold().endswith(answer.rstrip(".").casefold())


if __name__ == "__main__":
    main()
