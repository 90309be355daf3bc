"""Learns which memory bears on a prompt, from the labelled prompts.

    python tools/bearing.py            # writes src/memory_mcp/ranking/data/bearing.json
    python tools/bearing.py --judge    # says how well each hand is judged by the others

A conditional logit: the candidates that `sessions.prompting` compares and "none of them" compete,
and a prompt's own is the one that a colleague would mention with it. The likelihood is climbed by
AdaGrad in a fixed order, features in units of their spread. Each hand is judged by what the others
taught, with every likelihood of `CURVE` from which on something is shown.
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

from prompt_recall import tell_project  # noqa: E402  # the path is set above

from memory_mcp.domain.search import Filters  # noqa: E402
from memory_mcp.engine.head import load_head, make_view  # noqa: E402
from memory_mcp.engine.workspace import Workspace  # noqa: E402
from memory_mcp.learnt import Features, weigh  # noqa: E402
from memory_mcp.search.local import find_local  # noqa: E402
from memory_mcp.sessions.prompting import describe_instruction  # noqa: E402
from memory_mcp.text.prompts import sort_prompt  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
HANDS: Final = {
    "strangers": (DATA / "open" / "prompts.json", DATA / "closed" / "prompts.json"),
    "our own": (DATA / "open" / "prompts_more.json",),
    "fresh": (DATA / "open" / "fresh-prompts.json",),
    "fresh2": (DATA / "open" / "fresh2-prompts.json", DATA / "closed" / "fresh2-prompts.json"),
    "fresh3": (DATA / "open" / "fresh3-prompts.json", DATA / "closed" / "fresh3-prompts.json"),
    **{path.stem: (path,) for path in sorted((DATA / "train").glob("*-prompts.json"))},
}
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "ranking" / "data" / "bearing.json"
CURVE: Final = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
ROUNDS: Final = 60
STEP: Final = 0.1
SHRINK: Final = 2.0
"""How much each weight is drawn to 0."""


class Case(NamedTuple):
    """A prompt with its candidates, of which those in `wanted` bear on it."""

    candidates: Sequence[tuple[bool, Features]]
    none: Features
    wanted: bool
    instructs: bool


class Learnt(NamedTuple):
    """The weights of what speaks for a candidate, and of what speaks for none."""

    memory: Mapping[str, float]
    none: Mapping[str, float]


async def read_hand(paths: Sequence[Path], folder: Path) -> list[Case]:
    """The prompts of these files, each project told to a workspace of its own."""
    found: list[Case] = []
    projects = [each for path in paths for each in json.loads(path.read_text("utf-8"))]
    for number, project in enumerate(projects):
        async with tell_project(project, folder / str(number), "none", None) as (workspace, known):
            found += [await read_prompt(workspace, asked, known) for asked in project["prompts"]]
    return found


async def read_prompt(
    workspace: Workspace, asked: Mapping[str, Any], known: Mapping[str, str]
) -> Case:
    """One prompt as the use case sees it."""
    view = make_view(workspace, (await load_head(workspace)).timeline)
    text: str = asked["prompt"].strip()
    matches = await find_local(workspace, text, view, Filters())
    described, none = await describe_instruction(matches, text, view)
    candidates = [(known[id_] in asked["wanted"], each) for id_, each in described.items()]
    instructs = sort_prompt(text) == "instruction"
    return Case(candidates, none, bool(asked["wanted"]), instructs)


def learn(cases: Sequence[Case]) -> Learnt:
    """The weights by which the wanted candidates are likeliest, or none where none is wanted."""
    every = [features for case in cases for _, features in case.candidates]
    names = sorted({name for features in every for name in features})
    middle = {name: fmean(each.get(name, 0.0) for each in every) for name in names}
    spread = {name: pstdev(each.get(name, 0.0) for each in every) or 1.0 for name in names}

    def scale(features: Features) -> dict[str, float]:
        return {name: (features.get(name, 0.0) - middle[name]) / spread[name] for name in names}

    told = [
        ([(w, scale(each)) for w, each in case.candidates], case.none)
        for case in cases
        if case.candidates
    ]
    memory, none = dict.fromkeys(names, 0.0), dict.fromkeys(["", *told[0][1]], 0.0)
    squares = dict.fromkeys((*names, *(("none", name) for name in none)), 0.01)
    order = random.Random(1)
    for _ in range(ROUNDS):
        order.shuffle(told)
        for candidates, plain in told:
            pulls, held = measure_pulls(candidates, plain, memory, none)
            for name in names:
                slope = sum(
                    pull * each[name] for pull, (_, each) in zip(pulls, candidates, strict=True)
                )
                slope += SHRINK * memory[name] / len(told)
                squares[name] += slope * slope
                memory[name] -= STEP * slope / math.sqrt(squares[name])
            for name, value in {"": 1.0, **plain}.items():
                slope = held * value + SHRINK * none[name] * bool(name) / len(told)
                squares["none", name] += slope * slope
                none[name] -= STEP * slope / math.sqrt(squares["none", name])
    shift = sum(memory[name] * middle[name] / spread[name] for name in names)
    none[""] += shift
    return Learnt(
        {name: round(memory[name] / spread[name], 3) for name in names},
        {name: round(weight, 3) for name, weight in none.items()},
    )


def measure_pulls(
    candidates: Sequence[tuple[bool, Mapping[str, float]]],
    plain: Features,
    memory: Mapping[str, float],
    none: Mapping[str, float],
) -> tuple[list[float], float]:
    """By how much each candidate, and none of them, is likelier than it should be."""
    logits = [weigh(each, memory) for _, each in candidates]
    nothing = weigh(plain, none)
    highest = max(*logits, nothing)
    odds = [math.exp(logit - highest) for logit in logits]
    beside = math.exp(nothing - highest)
    whole = sum(odds) + beside
    right = sum(o for o, (wanted, _) in zip(odds, candidates, strict=True) if wanted)
    pulls = [
        o / whole - (o / right if wanted else 0.0)
        for o, (wanted, _) in zip(odds, candidates, strict=True)
    ]
    return pulls, beside / whole - (0.0 if right else 1.0)


def judge(cases: Sequence[Case], learnt: Learnt, least: float) -> tuple[int, int, int]:
    """Prompts with the right memory, with a wrong one, and others that something is shown with."""
    right = wrong = others = 0
    for case in cases:
        if not (case.candidates and case.instructs):
            continue
        logits = [weigh(each, learnt.memory) for _, each in case.candidates]
        nothing = weigh(case.none, learnt.none)
        highest = max(*logits, nothing)
        whole = sum(math.exp(each - highest) for each in (*logits, nothing))
        best = max(range(len(logits)), key=logits.__getitem__)
        if math.exp(logits[best] - highest) / whole >= least:
            bears = case.candidates[best][0]
            right, wrong = right + bears, wrong + (case.wanted and not bears)
            others += not case.wanted
    return right, wrong, others


def judge_hands(hands: Mapping[str, Sequence[Case]]) -> None:
    """Say how well each hand is judged by the others."""
    print("right/wrong/shown with others, from the likelihood", *CURVE)
    rows: list[list[tuple[int, int, int]]] = []
    for name, cases in hands.items():
        learnt = learn([case for hand, found in hands.items() if hand != name for case in found])
        rows.append([judge(cases, learnt, least) for least in CURVE])
        wanted = sum(case.wanted for case in cases)
        print(f"{name:10} {wanted:4} {len(cases) - wanted:4}", *map(_join, rows[-1]), flush=True)
    total = [tuple(map(sum, zip(*column, strict=True))) for column in zip(*rows, strict=True)]
    print(f"{'all':20}", *map(_join, total))


def _join(figures: Sequence[int]) -> str:
    return "/".join(map(str, figures))


async def read_hands() -> dict[str, list[Case]]:
    """All hands."""
    with tempfile.TemporaryDirectory() as name:
        return {hand: await read_hand(paths, Path(name) / hand) for hand, paths in HANDS.items()}


def main() -> None:
    """Judge each hand by the others, or learn of all and write."""
    parser = argparse.ArgumentParser(description="Learn which memory bears on a prompt.")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    hands = asyncio.run(read_hands())
    if given.judge:
        judge_hands(hands)
        return
    learnt = learn([case for cases in hands.values() for case in cases])
    text = json.dumps(learnt._asdict(), indent=1, sort_keys=True)
    WEIGHTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
