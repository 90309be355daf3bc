"""Learns which of the stored memories a new one brings up to date, from labelled statements.

    python tools/updates.py            # writes src/memory_mcp/text/data/updates.json
    python tools/updates.py --judge    # says how well each hand is judged by the others

By words, and with `--model-home` (a folder with `models/minilm`) by that model, too. Needs the
extra `[semantic]`, for numpy.

A conditional logit, learnt as `tools/bearing.py` does: the memories that `deduplication` compares
and "none of them" compete. The first statements of a hand's pairs and the statements of one project
are there when each second one comes. Beside them statements come that bring nothing up to date: the
notes of an agent, of which a hundred are there, and every second statement of each project, while
the others and two further projects are there. Near misses are only judged. Each hand is judged by
what the others taught, with every likelihood of `CURVE` from which on a memory is named: newer
values of which the older one is named, and how many are named of near misses and of others.
"""

import json
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from bearing import Case, Learnt, dump, lay_out, learn, measure_likelihoods, run

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from house import QuickDisk, lend_model, settings_in  # noqa: E402  # the path is set above
from truths import fill_store  # noqa: E402

from memory_mcp.build import open_workspace  # noqa: E402
from memory_mcp.config.settings import EmbedderName  # noqa: E402
from memory_mcp.deduplication import describe_nearby, look_up_nearby  # noqa: E402
from memory_mcp.domain.record import Draft  # noqa: E402
from memory_mcp.engine.head import load_head, make_view, make_writing  # noqa: E402
from memory_mcp.text.drafts import build_record  # noqa: E402
from memory_mcp.text.truths import says_change  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "text" / "data" / "updates.json"
PAIRS: Final = (
    *(f"{half}/{hand}" for hand in ("", "fresh-", *(f"fresh{n}-" for n in (2, 3, 4, 5, 7, 9)))
      for half in ("open", "closed")),
    *(f"train/t{n}-" for n in (1, 5, 9)),
)  # fmt: skip
LATEST: Final = ("fresh10-", "fresh11-", "fresh12-", "fresh13-")
"""The hands by which the whole is judged: nothing is learnt of what they wrote."""
OTHER_PROJECT: Final = "open/statements_biolab"
"""What is there beside the pairs of a hand that wrote no project."""
NOTES: Final = "agent"
NOTES_THERE: Final = 100
BESIDE: Final = (3, 7)
"""How many projects further, in the order of their names, those stand that are there, too."""
CURVE: Final = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)
NAMED_MAX: Final = 3
CHANGING: Final = ("newer", "dated")
OTHERS: Final = ("notes", "statements", "others")
"""Sorts of what brings something up to date, and of what brings nothing."""


class Store(NamedTuple):
    """What is there, and what comes: its sort, its text, and what it brings up to date.

    `grows`: what came is there when the next one comes.
    """

    hand: str
    there: Sequence[str]
    coming: Sequence[tuple[str, str, Collection[str]]]
    grows: bool = False


class Told(NamedTuple):
    """What comes, of which sort, as a case: what it brings up to date is wanted, if it is there."""

    sort: str
    case: Case


def list_stores() -> Iterator[Store]:
    """All stores; what a hand wrote in two halves is two of them."""
    for prefix in PAIRS:
        folder, _, hand = prefix.partition("/")
        sets = json.loads((DATA / f"{prefix}truths.json").read_text("utf-8"))
        coming = [
            (sort, pair.get("newer") or pair["second"], [pair.get("older") or pair["first"]])
            for sort, pairs in sets.items()
            for pair in pairs
        ]
        found = sorted((DATA / folder).glob(f"{hand}statements_*.json"))
        beside = load_contents(found[0] if found else DATA / f"{OTHER_PROJECT}.json")
        there = dict.fromkeys((*(old for _, _, (old,) in coming), *beside))
        yield Store(hand.rstrip("-") or "strangers", [*there], coming)
    notes = load_contents(DATA / f"{NOTES}.json")
    yield Store(NOTES, notes[:NOTES_THERE], [("notes", t, ()) for t in notes[NOTES_THERE:]])
    projects = [load_contents(path) for path in list_files("statements_*.json")]
    for place, texts in enumerate(projects):
        others = [projects[(place + step) % len(projects)] for step in BESIDE]
        there = dict.fromkeys((*texts[::2], *others[0], *others[1]))
        coming = [("statements", text, ()) for text in texts[1::2] if text not in there]
        yield Store("statements", [*there], coming)
    for path in list_files("truth_stores.json"):
        for dated in json.loads(path.read_text("utf-8"))["stores"]:
            hand = path.stem.removesuffix("truth_stores").rstrip("-") or "strangers"
            yield Store(hand, [], list_dated(dated), grows=True)


def list_files(ending: str) -> list[Path]:
    """The files of all hands that may be learnt of."""
    return [p for p in sorted(DATA.glob(f"*/*{ending}")) if not p.name.startswith(LATEST)]


def list_dated(store: Mapping[str, Any]) -> list[tuple[str, str, Collection[str]]]:
    """The notes of a small store in the order in which they were written.

    What is itself brought up to date later may bring something up to date that no question names:
    it is neither.
    """
    notes = sorted(store["memories"], key=lambda note: note.get("written", ""))
    texts = {note["id"]: note["content"] for note in notes}
    olds: dict[str, set[str]] = {}
    for each in store["questions"]:
        olds.setdefault(each["current"], set()).update(texts[id_] for id_ in each["outdated"])
    changed = {id_ for each in store["questions"] for id_ in each["outdated"]}
    found: list[tuple[str, str, Collection[str]]] = []
    for id_, text in texts.items():
        replaced = olds.get(id_, set[str]())
        found.append(
            ("dated" if replaced else "skipped" if id_ in changed else "others", text, replaced)
        )
    return found


def load_contents(path: Path) -> list[str]:
    """The texts of the memories of a file."""
    return [each["content"] for each in json.loads(path.read_text("utf-8"))["memories"]]


async def read_store(
    store: Store, folder: Path, embedder: EmbedderName, model_home: Path | None
) -> list[Told]:
    """What comes, as the use case sees it."""
    if model_home and embedder != "none":
        lend_model(folder, model_home)
    found: list[Told] = []
    async with open_workspace(settings_in(folder, embedder), disk=QuickDisk()) as built:
        workspace = built.workspace
        known = dict(zip(store.there, await fill_store(workspace, store.there), strict=True))
        timeline = (await load_head(workspace)).timeline
        for sort, text, olds in store.coming:
            view = make_view(workspace, timeline)
            new = build_record(Draft(text), make_writing(workspace, timeline, datetime.now(UTC)))
            nearby = await look_up_nearby(workspace.project, new, view, workspace.policy.merging)
            described = nearby and describe_nearby(nearby, changes=says_change(text))
            case = Case([], {}, wanted=False, instructs=True)
            if described and described[0]:
                wanted = {known[old] for old in olds if old in known}
                rows = [(id_ in wanted, each) for id_, each in described[0].items()]
                right = any(bears for bears, _ in rows)
                case = Case(rows, described[1], wanted=right, instructs=True)
            found.append(Told(sort, case))
            if store.grows:
                known |= dict(zip([text], await fill_store(workspace, [text]), strict=True))
    return found


def learn_of(told: Sequence[Told]) -> Learnt:
    """The figures of newer values, and of what brings nothing up to date."""
    return learn(
        [
            each.case
            for each in told
            if each.case.candidates
            and (each.case.wanted if each.sort in CHANGING else each.sort in OTHERS)
        ]
    )


def judge(told: Sequence[Told], learnt: Learnt) -> dict[str, list[tuple[int, int, int]]]:
    """Of each sort: how many came, the right one named, and how many named, along the curve."""
    there = [each for each in told if each.case.candidates]
    laid = lay_out([each.case for each in there], learnt.names, learnt.of_none)
    likely = measure_likelihoods(laid, learnt.weights)[:, :-1]
    order = np.argsort(-likely, axis=1)[:, :NAMED_MAX]
    best = np.take_along_axis(likely, order, axis=1)
    bears = np.take_along_axis(laid.bears, order, axis=1)
    sorts = np.array([each.sort for each in there])
    return {
        sort: [
            (
                sum(each.sort == sort for each in told),
                int((bears & (best >= least))[sorts == sort].any(axis=1).sum()),
                int((best >= least)[sorts == sort].sum()),
            )
            for least in CURVE
        ]
        for sort in dict.fromkeys(sorts.tolist())
    }


def judge_hands(hands: Mapping[str, Sequence[Told]]) -> None:
    """Say how well each hand is judged by the others."""
    print("right, named of each that comes; from the likelihood", *CURVE)
    total: dict[str, list[tuple[int, ...]]] = {}
    for name, told in hands.items():
        learnt = learn_of([each for hand, one in hands.items() if hand != name for each in one])
        for sort, row in judge(told, learnt).items():
            within = sum(each.case.wanted for each in told if each.sort == sort)
            print(f"{name:12} {sort:12} {within:4}", *map(_join, row))
            sums = total.get(sort, [(0, 0, 0)] * len(CURVE))
            total[sort] = [
                tuple(map(sum, zip(one, other, strict=True)))
                for one, other in zip(sums, row, strict=True)
            ]
        sys.stdout.flush()
    for sort, row in total.items():
        print(f"{'all':12} {sort:16}", row[0][0], *map(_join, row))


def _join(figures: Sequence[int]) -> str:
    came, right, named = figures
    return f"{right}/{named / came:.2f}"


async def read_hands(embedder: EmbedderName, model_home: Path | None) -> dict[str, list[Told]]:
    """All hands."""
    hands: dict[str, list[Told]] = {}
    with tempfile.TemporaryDirectory() as name:
        for number, store in enumerate(list_stores()):
            told = await read_store(store, Path(name) / str(number), embedder, model_home)
            hands.setdefault(store.hand, []).extend(told)
    return hands


def _describe(_reader: str, every: Sequence[Told]) -> dict[str, Any]:
    learnt = dump(learn_of(every))
    return {name: learnt[name] for name in ("memory", "none")}


if __name__ == "__main__":
    run("Learn what a new memory brings up to date.", WEIGHTS, read_hands, judge_hands, _describe)
