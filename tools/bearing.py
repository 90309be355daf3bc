"""Learns which memory bears on a prompt, from the labelled prompts.

    python tools/bearing.py            # writes src/memory_mcp/ranking/data/bearing.json
    python tools/bearing.py --judge    # says how well each hand is judged by the others

By words, and with `--model-home` (a folder with `models/minilm`) by that model, too. Needs the
extra `[semantic]`, for numpy.

A conditional logit: the candidates that `sessions.prompting` compares and "none of them" compete,
and a prompt's own is the one that a colleague would mention with it. The likelihood is climbed by
Adam over all prompts at once, features in units of their spread. Each hand is judged by what the
others taught, with every likelihood of `CURVE` from which on something is shown.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from prompt_recall import tell_project  # noqa: E402  # the path is set above

from memory_mcp.config.settings import EmbedderName  # noqa: E402
from memory_mcp.domain.search import Filters  # noqa: E402
from memory_mcp.engine.head import load_head, make_view  # noqa: E402
from memory_mcp.engine.workspace import Workspace  # noqa: E402
from memory_mcp.learnt import Features  # noqa: E402
from memory_mcp.ranking.bearing import WORDS  # noqa: E402
from memory_mcp.search.local import find_local  # noqa: E402
from memory_mcp.sessions.prompting import describe_instruction  # noqa: E402
from memory_mcp.text.prompts import sort_prompt  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
HANDS: Final = {
    "strangers": (DATA / "open" / "prompts.json", DATA / "closed" / "prompts.json"),
    "our own": (DATA / "open" / "prompts_more.json",),
    **{
        hand: tuple(DATA / half / f"{hand}-prompts.json" for half in ("open", "closed"))
        for hand in ("fresh", *(f"fresh{number}" for number in range(2, 8)))
    },
    **{path.stem: (path,) for path in sorted((DATA / "train").glob("*-prompts.json"))},
}
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "ranking" / "data" / "bearing.json"
MODEL: Final = "minilm-l6-v2"
"""What `minilm` is called in the identity of its vectors."""
OF_MODELS: Final = frozenset({"nearer", "nearest"})
"""What speaks for a memory only where a model has read it."""
CURVE: Final = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
STEPS: Final = 600
STEP: Final = 0.05
SHRINK: Final = 2.0
"""How much each weight is drawn to 0."""

Array = NDArray[np.float64]


class Case(NamedTuple):
    """A prompt with its candidates, of which those that are true bear on it."""

    candidates: Sequence[tuple[bool, Features]]
    none: Features
    wanted: bool
    instructs: bool


class Cases(NamedTuple):
    """Many prompts as arrays: features of candidates, which there are, which bear; of none."""

    features: Array
    there: NDArray[np.bool_]
    bears: NDArray[np.bool_]
    none: Array


class Learnt(NamedTuple):
    """The weights of what speaks for a candidate, and of what speaks for none."""

    memory: Mapping[str, float]
    none: Mapping[str, float]


async def read_hand(
    paths: Sequence[Path], folder: Path, embedder: EmbedderName, model_home: Path | None
) -> list[Case]:
    """The prompts of these files, each project told to a workspace of its own."""
    found: list[Case] = []
    projects = [each for path in paths for each in json.loads(path.read_text("utf-8"))]
    for number, project in enumerate(projects):
        told = tell_project(project, folder / str(number), embedder, model_home)
        async with told as (workspace, known):
            for asked in project["prompts"]:
                case = await read_prompt(workspace, asked, known)
                found += [case] if case else []
    return found


async def read_prompt(
    workspace: Workspace, asked: Mapping[str, Any], known: Mapping[str, str]
) -> Case | None:
    """One prompt as the use case sees it, if it has candidates."""
    view = make_view(workspace, (await load_head(workspace)).timeline)
    text: str = asked["prompt"].strip()
    matches = await find_local(workspace, text, view, Filters())
    described, none = await describe_instruction(matches, text, view)
    left_out = frozenset[str]() if matches.wholes else OF_MODELS
    candidates = [
        (known[id_] in asked["wanted"], {k: v for k, v in each.items() if k not in left_out})
        for id_, each in described.items()
    ]
    instructs = sort_prompt(text) == "instruction"
    return Case(candidates, none, bool(asked["wanted"]), instructs) if candidates else None


def list_names(features: Sequence[Features]) -> list[str]:
    """The names of these features."""
    return sorted({name for each in features for name in each})


def lay_out(cases: Sequence[Case], names: Sequence[str], of_none: Sequence[str]) -> Cases:
    """The prompts as arrays."""
    most = max(len(case.candidates) for case in cases)
    features = np.zeros((len(cases), most, len(names)))
    there, bears = (np.zeros((len(cases), most), bool) for _ in range(2))
    for row, case in enumerate(cases):
        for place, (right, each) in enumerate(case.candidates):
            features[row, place] = [each.get(name, 0.0) for name in names]
            there[row, place], bears[row, place] = True, right
    none = np.array([[1.0, *(case.none[name] for name in of_none)] for case in cases])
    return Cases(features, there, bears, none)


def measure_likelihoods(cases: Cases, memory: Array, none: Array) -> Array:
    """How likely each candidate is, and in the last column none of them."""
    logits = np.where(cases.there, cases.features @ memory, -np.inf)
    every = np.concatenate([logits, (cases.none @ none)[:, None]], axis=1)
    odds = np.exp(every - every.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def learn(every: Sequence[Case]) -> Learnt:
    """The weights by which the wanted candidates are likeliest, or none where none is wanted."""
    names = list_names([each for case in every for _, each in case.candidates])
    of_none = list_names([case.none for case in every])
    cases = lay_out(every, names, of_none)
    middle = cases.features[cases.there].mean(axis=0)
    spread = cases.features[cases.there].std(axis=0)
    spread[spread == 0] = 1.0
    scaled = cases._replace(features=(cases.features - middle) / spread)
    right = np.concatenate([cases.bears, ~cases.bears.any(axis=1, keepdims=True)], axis=1)
    weights = np.zeros(len(names) + len(of_none) + 1)
    drawn = np.ones(len(weights))
    drawn[len(names)] = 0.0  # what speaks for none whatever the prompt
    slopes, squares = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        memory, none = np.split(weights, [len(names)])
        likely = measure_likelihoods(scaled, memory, none)
        held = likely * right
        pulls = likely - held / held.sum(axis=1, keepdims=True)
        slope = np.concatenate(
            [np.einsum("nc,ncf->f", pulls[:, :-1], scaled.features), pulls[:, -1] @ scaled.none]
        )
        slope += SHRINK * drawn * weights
        slopes = 0.9 * slopes + 0.1 * slope
        squares = 0.99 * squares + 0.01 * slope**2
        size = STEP * (1 - step / (STEPS + 1)) / (np.sqrt(squares / (1 - 0.99**step)) + 1e-12)
        weights = weights - size * slopes / (1 - 0.9**step)
    memory, none = np.split(weights, [len(names)])
    none[0] += memory @ (middle / spread)
    return Learnt(
        {
            name: round(each, 3)
            for name, each in zip(names, (memory / spread).tolist(), strict=True)
        },
        {name: round(each, 3) for name, each in zip(["", *of_none], none.tolist(), strict=True)},
    )


def judge(cases: Sequence[Case], learnt: Learnt) -> list[tuple[int, int, int]]:
    """Prompts with the right memory, with a wrong one, and others that something is shown with."""
    names, of_none = list(learnt.memory), [name for name in learnt.none if name]
    laid = lay_out(cases, names, of_none)
    memory, none = (np.array(list(each.values())) for each in learnt)
    likely = measure_likelihoods(laid, memory, none)[:, :-1]
    best = likely.argmax(axis=1)
    row = np.arange(len(cases))
    wanted, instructs = (
        np.array(each) for each in zip(*((c.wanted, c.instructs) for c in cases), strict=True)
    )
    bears = laid.bears[row, best]
    found: list[tuple[int, int, int]] = []
    for least in CURVE:
        shown = instructs & (likely[row, best] >= least)
        found.append(
            (
                int((shown & bears).sum()),
                int((shown & wanted & ~bears).sum()),
                int((shown & ~wanted).sum()),
            )
        )
    return found


def judge_hands(hands: Mapping[str, Sequence[Case]]) -> None:
    """Say how well each hand is judged by the others."""
    print("right/wrong/shown with others, from the likelihood", *CURVE)
    rows: list[list[tuple[int, int, int]]] = []
    for name, cases in hands.items():
        learnt = learn([case for hand, found in hands.items() if hand != name for case in found])
        rows.append(judge(cases, learnt))
        wanted = sum(case.wanted for case in cases)
        print(f"{name:12} {wanted:4} {len(cases) - wanted:4}", *map(_join, rows[-1]), flush=True)
    total = [tuple(map(sum, zip(*column, strict=True))) for column in zip(*rows, strict=True)]
    print(f"{'all':22}", *map(_join, total))


def _join(figures: Sequence[int]) -> str:
    return "/".join(map(str, figures))


async def read_hands(embedder: EmbedderName, model_home: Path | None) -> dict[str, list[Case]]:
    """All hands."""
    with tempfile.TemporaryDirectory() as name:
        return {
            hand: await read_hand(paths, Path(name) / hand, embedder, model_home)
            for hand, paths in HANDS.items()
        }


def main() -> None:
    """Judge each hand by the others, or learn of all and write."""
    parser = argparse.ArgumentParser(description="Learn which memory bears on a prompt.")
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    readers: list[tuple[str, EmbedderName, Path | None]] = [(WORDS, "none", None)]
    if given.model_home:
        readers.append((MODEL, "minilm", given.model_home))
    figures: dict[str, Any] = json.loads(WEIGHTS.read_text("utf-8"))
    for reader, embedder, model_home in readers:
        hands = asyncio.run(read_hands(embedder, model_home))
        if given.judge:
            print(reader)
            judge_hands(hands)
        else:
            every = [case for cases in hands.values() for case in cases]
            figures[reader] = learn(every)._asdict()
    if not given.judge:
        WEIGHTS.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
