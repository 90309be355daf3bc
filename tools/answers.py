"""Learns when a later memory answers a question anew, from the stores of dated notes.

    python tools/answers.py            # writes src/memory_mcp/text/data/answers.json
    python tools/answers.py --judge    # says how well each hand is judged by the others

Logistic regression by AdaGrad, features in units of their spread, in a fixed order. A pair of the
first candidates of a question is right if the earlier one is outdated and the later one is what
brings it up to date; only one that says, or hints, that something changed can be. Each hand is
judged by what the others taught, through the ranking's own list: in how many questions the newest
comes first, and how many marks are wrong (what holds, or is of something else), with every logit of
`CURVE`.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from truths import fill_store, open_stores  # noqa: E402  # the path is set above

from memory_mcp.domain.ids import RecordId  # noqa: E402
from memory_mcp.domain.search import Filters, Hit  # noqa: E402
from memory_mcp.engine.head import load_head, make_view  # noqa: E402
from memory_mcp.engine.records import load_hits  # noqa: E402
from memory_mcp.engine.workspace import Workspace  # noqa: E402
from memory_mcp.learnt import Features  # noqa: E402
from memory_mcp.search import truths  # noqa: E402
from memory_mcp.search.local import Matches, find_local  # noqa: E402
from memory_mcp.search.truths import describe_nearness, order_by_truth  # noqa: E402
from memory_mcp.text.truths import asked, describe_answers, tells_change  # noqa: E402
from memory_mcp.words.terms import extract_terms  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
HANDS: Final = {
    "strangers": ("open/truth_stores", "closed/truth_stores"),
    "our own": ("open/truth_stores_more",),
    "fresh": ("open/fresh-truth_stores",),
    **{
        f"fresh{number}": tuple(f"{half}/fresh{number}-truth_stores" for half in ("open", "closed"))
        for number in (2, 3, 4, 5, 7)
    },
    "beside": ("open/beside-truth_stores",),
    **{
        path.stem: (f"train/{path.stem}",)
        for path in sorted((DATA / "train").glob("*-truth_stores.json"))
    },
}
PLAIN: Final = ("agent", "lifelog")
"""Sets in which nothing is outdated: every pair of candidates of their questions is wrong."""
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "text" / "data" / "answers.json"
CURVE: Final = (0.0, 0.4, 0.7, 1.0)
SHOWN: Final = 5
ROUNDS: Final = 60
STEP: Final = 0.1
SHRINK: Final = 3.0
"""How much each weight is drawn to 0."""


class Asked(NamedTuple):
    """A question with what was found, what is right of it, and its pairs of candidates."""

    text: str
    matches: Matches
    hits: Sequence[Hit]
    current: RecordId
    outdated: frozenset[RecordId]
    near: frozenset[RecordId]
    pairs: Sequence[tuple[Features, bool]]


async def read_hand(files: Sequence[str], folder: Path) -> list[Asked]:
    """The questions of these files."""
    stores = [
        store
        for file in files
        for store in json.loads((DATA / f"{file}.json").read_text("utf-8"))["stores"]
    ]
    return await read_stores(stores, folder)


async def read_plain(folder: Path) -> list[Asked]:
    """The questions of the sets in which nothing is outdated."""
    stores: list[dict[str, Any]] = []
    for name in PLAIN:
        content = json.loads((DATA / f"{name}.json").read_text("utf-8"))
        answered = [each for each in content["questions"] if each["relevant"]]
        questions: list[dict[str, Any]] = [
            {
                "question": each["question"],
                "current": each["relevant"][0],
                "outdated": [],
                "near": [],
            }
            for each in answered
        ]
        stores.append({"memories": content["memories"], "questions": questions})
    return await read_stores(stores, folder)


async def read_stores(stores: Sequence[dict[str, Any]], folder: Path) -> list[Asked]:
    """The questions of these stores, each in a workspace of its own."""
    found: list[Asked] = []
    async for workspace, store in open_stores(folder, stores):
        ids = await fill_store(workspace, [each["content"] for each in store["memories"]])
        known = dict(zip((each["id"] for each in store["memories"]), ids, strict=True))
        found += [await read_question(workspace, each, known) for each in store["questions"]]
    return found


async def read_question(
    workspace: Workspace, question: Mapping[str, Any], known: Mapping[str, RecordId]
) -> Asked:
    """One question as a search sees it."""
    text: str = question["question"]
    view = make_view(workspace, (await load_head(workspace)).timeline)
    matches = await find_local(workspace, text, view, Filters())
    hits, _ = await load_hits(matches.every[:8], matches.home, view, 8)
    current = known[question["current"]]
    outdated = frozenset(known[each] for each in question["outdated"])
    best = max((hit.agreement or 0.0 for hit in hits), default=0.0)
    pairs = [
        (told, old.record.id in outdated and new.record.id in {current, *outdated})
        for old in hits
        for new in hits
        if old.record.id < new.record.id
        and tells_change(told := describe_pair(text, old, new, matches, best))
    ]
    near = frozenset(known[each] for each in question["near"])
    return Asked(text, matches, hits, current, outdated, near, pairs)


def describe_pair(text: str, old: Hit, new: Hit, matches: Matches, best: float) -> Features:
    """An earlier and a later candidate, as a search compares them."""
    fields = matches.fields[old.record.id], matches.fields[new.record.id]
    scores = old.agreement or 0.0, new.agreement or 0.0, best
    told = describe_answers(text, old.record.content, new.record.content)
    return told | describe_nearness(frozenset(extract_terms(text)), *fields, scores)


def learn(pairs: Sequence[tuple[Features, bool]]) -> dict[str, float]:
    """Weights by which a pair's logit says how likely it is right."""
    names = sorted(pairs[0][0])
    middle = {name: fmean(each[name] for each, _ in pairs) for name in names}
    spread = {name: pstdev(each[name] for each, _ in pairs) or 1.0 for name in names}
    told = [
        ([(each[name] - middle[name]) / spread[name] for name in names], right)
        for each, right in pairs
    ]
    weights, squares = [0.0] * len(names), [0.01] * len(names)
    level, level_square = 0.0, 0.01
    order = random.Random(1)
    for _ in range(ROUNDS):
        order.shuffle(told)
        for values, right in told:
            logit = level + sum(w * v for w, v in zip(weights, values, strict=True))
            miss = 1 / (1 + math.exp(-max(-60.0, min(60.0, logit)))) - right
            level_square += miss * miss
            level -= STEP * miss / math.sqrt(level_square)
            for place, value in enumerate(values):
                slope = miss * value + SHRINK * weights[place] / len(told)
                squares[place] += slope * slope
                weights[place] -= STEP * slope / math.sqrt(squares[place])
    plain = {name: w / spread[name] for name, w in zip(names, weights, strict=True)}
    plain[""] = level - sum(plain[name] * middle[name] for name in names)
    return {name: round(weight, 3) for name, weight in plain.items()}


def judge(
    every: Sequence[Asked], weights: Mapping[str, float], least: float
) -> tuple[int, int, int, int]:
    """Questions with an older rival: all, those with the newest first; unmarked; wrong marks."""
    asked.load_answers = lambda: {**weights, "": weights[""] - least}
    setattr(truths, "_ANSWERS_FROM", 0.0)  # noqa: B010  # the curve moves the level instead
    rivalled = newest = unmarked = wrong = 0
    for each in every:
        shown = {place.id for place in each.matches.ranked[:SHOWN]}
        own = [hit for hit in each.hits if hit.record.id in shown]
        others = [hit for hit in each.hits if hit.record.id not in shown]
        taking = {hit.record.id for hit in others}
        found = order_by_truth(
            each.text, own, others, SHOWN, taking=taking, fields=each.matches.fields
        )
        marked = {hit.record.id for hit in found if hit.outdated_by or hit.disputed_with}
        wrong += len(marked & {each.current, *each.near})
        if each.outdated:
            meant = {each.current, *each.outdated}
            first = next((h.record.id for h in found if h.record.id in meant), None)
            rivalled, newest = rivalled + 1, newest + (first == each.current)
            unmarked += any(h.record.id in each.outdated - marked for h in found)
    return rivalled, newest, unmarked, wrong


def judge_hands(hands: Mapping[str, Sequence[Asked]]) -> None:
    """Say how well each hand is judged by the others."""
    print("questions/newest first/one unmarked/wrong marks, from the logit", *CURVE)
    rows: list[list[tuple[int, int, int, int]]] = []
    for name, every in hands.items():
        others = [
            pair for hand in hands if hand != name for each in hands[hand] for pair in each.pairs
        ]
        weights = learn(others)
        rows.append([judge(every, weights, least) for least in CURVE])
        print(f"{name:16}", *map(_join, rows[-1]), flush=True)
    total = [tuple(map(sum, zip(*column, strict=True))) for column in zip(*rows, strict=True)]
    print(f"{'all':16}", *map(_join, total))


def _join(figures: Sequence[int]) -> str:
    return "/".join(map(str, figures))


async def read_hands() -> dict[str, list[Asked]]:
    """All hands."""
    with tempfile.TemporaryDirectory() as name:
        hands = {hand: await read_hand(files, Path(name) / hand) for hand, files in HANDS.items()}
        return hands | {"nothing outdated": await read_plain(Path(name) / "plain")}


def main() -> None:
    """Judge each hand by the others, or learn of all and write."""
    parser = argparse.ArgumentParser(description="Learn when a memory answers anew.")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    hands = asyncio.run(read_hands())
    if given.judge:
        judge_hands(hands)
        return
    weights = learn([pair for every in hands.values() for each in every for pair in each.pairs])
    WEIGHTS.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
