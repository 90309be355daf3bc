"""Learns which memory bears on a prompt, from the labelled prompts.

    python tools/bearing.py            # writes src/memory_mcp/ranking/data/bearing.json
    python tools/bearing.py --judge    # says how well each hand is judged by the others

By words, and with `--model-home` (a folder with `models/minilm`) by that model, too. Needs the
extra `[semantic]`, for numpy.

A conditional logit: the candidates that `sessions.prompting` compares and "none of them" compete,
and a prompt's own is the one that a colleague would mention with it. Beside the features, which are
in units of their spread, stands what the prompt means: a direction in which those lie that nothing
bears on. Where a model has read the memories, pairs of directions for prompts and memories are
learnt with it (`ranking.bearing_vectors`). The likelihood is climbed by Adam over all prompts at
once. Each hand is judged by what the others taught, with every likelihood of `CURVE` from which on
something is shown.
"""

import argparse
import asyncio
import json
import math
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from keeping import measure_meaning
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
from memory_mcp.words import table as words  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
HANDS: Final = {
    path.stem.removesuffix("-prompts"): path
    for path in sorted(
        (*(DATA / "open").glob("*prompts*.json"), *(DATA / "train").glob("*-prompts.json"))
    )
}
"""The file of each hand. What is kept for judging is never read here."""
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "ranking" / "data" / "bearing.json"
MODEL: Final = "minilm-l6-v2"
"""What `minilm` is called in the identity of its vectors."""
OF_MODELS: Final = frozenset({"nearer"})
"""What speaks for a memory only where a model has read it."""
FROM: Final = {WORDS: 0.6, MODEL: 0.7}
"""The likelihood from which on a memory is shown: at most one of 20 is wrong there."""
CURVE: Final = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
STEPS: Final = 300
STEP: Final = 0.1
PAIRS: Final = 16
"""Pairs of directions for prompts and memories."""
BEGUN: Final = 0.3
"""The spread of their random beginnings."""
SHRINK: Final = 2.0
"""How much each weight is drawn to 0."""
SHRINK_ASKED: Final = 1.0
"""The same for the direction of prompts that nothing bears on."""

Array = NDArray[np.float64]
Vectors = NDArray[np.float32]
_Told = TypeVar("_Told")


class Case(NamedTuple):
    """A prompt with its candidates, of which those that are true bear on it.

    `asked` is the vector of the prompt, and `told` are those of the candidates, if a model read
    them.
    """

    candidates: Sequence[tuple[bool, Features]]
    none: Features
    wanted: bool
    instructs: bool
    asked: Array = np.zeros(0)
    told: Sequence[Array] = ()


class Cases(NamedTuple):
    """Many prompts as arrays: features of candidates, which there are, which bear; of none.

    `asked` are the vectors of the prompts, and `told` those of the candidates.
    """

    features: Array
    there: NDArray[np.bool_]
    bears: NDArray[np.bool_]
    none: Array
    asked: Vectors
    told: Vectors


Weights = dict[str, Array]
"""`memory` and `none` weigh features. `asked` is the direction of prompts that nothing bears on;
`told` that of memories worth a word, and `prompts` and `memories` are the pairs of directions."""


class Learnt(NamedTuple):
    """What was learnt, and the names of the features that are weighed."""

    weights: Weights
    names: Sequence[str]
    of_none: Sequence[str]


async def read_hand(
    path: Path, folder: Path, embedder: EmbedderName, model_home: Path | None
) -> list[Case]:
    """The prompts of this file, each project told to a workspace of its own."""
    found: list[Case] = []
    for number, project in enumerate(_load_projects(path)):
        told = tell_project(project, folder / str(number), embedder, model_home)
        async with told as (workspace, known):
            for asked in project["prompts"]:
                case = await read_prompt(workspace, asked, known)
                found += [case] if case else []
    return found


def _load_projects(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))


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
    if not candidates:
        return None
    told = [
        np.frombuffer(matches.wholes[id_], np.int8) / 127 for id_ in described if matches.wholes
    ]
    meaning = (
        np.frombuffer(matches.asked, "<f4").astype(float)
        if told
        else measure_meaning(matches.question.row) / math.sqrt(words.BITS)  # its length is ~1
    )
    instructs = sort_prompt(text) == "instruction"
    return Case(candidates, none, bool(asked["wanted"]), instructs, meaning, told)


def list_names(features: Sequence[Features]) -> list[str]:
    """The names of these features."""
    return sorted({name for each in features for name in each})


def lay_out(cases: Sequence[Case], names: Sequence[str], of_none: Sequence[str]) -> Cases:
    """The prompts as arrays."""
    most = max(len(case.candidates) for case in cases)
    width = max((len(each) for case in cases for each in case.told), default=0)
    features = np.zeros((len(cases), most, len(names)))
    told = np.zeros((len(cases), most, width), np.float32)
    there, bears = (np.zeros((len(cases), most), bool) for _ in range(2))
    for row, case in enumerate(cases):
        for place, (right, each) in enumerate(case.candidates):
            features[row, place] = [each.get(name, 0.0) for name in names]
            there[row, place], bears[row, place] = True, right
        for place, vector in enumerate(case.told):
            told[row, place] = vector
    none = np.array([[1.0, *(case.none[name] for name in of_none)] for case in cases])
    asked = np.array([case.asked for case in cases], np.float32)
    return Cases(features, there, bears, none, asked, told)


def measure_likelihoods(cases: Cases, weights: Weights) -> Array:
    """How likely each candidate is, and in the last column none of them."""
    logits = cases.features @ weights["memory"]
    if cases.told.shape[2]:
        aims = weights["told"] + cases.asked @ weights["prompts"].T @ weights["memories"]
        logits += (cases.told @ aims.astype(np.float32)[:, :, None])[:, :, 0]
    none = cases.none @ weights["none"] + cases.asked @ weights["asked"]
    every = np.concatenate([np.where(cases.there, logits, -np.inf), none[:, None]], axis=1)
    odds = np.exp(every - every.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def measure_slopes(cases: Cases, weights: Weights) -> Weights:
    """How much less likely more of each weight makes what is right."""
    likely = measure_likelihoods(cases, weights)
    held = likely * np.concatenate([cases.bears, ~cases.bears.any(axis=1, keepdims=True)], axis=1)
    pulls = likely - held / held.sum(axis=1, keepdims=True)
    slopes = {
        "memory": np.einsum("nc,ncf->f", pulls[:, :-1], cases.features),
        "none": pulls[:, -1] @ cases.none,
        "asked": pulls[:, -1] @ cases.asked,
    }
    if cases.told.shape[2]:
        aims = (pulls[:, None, :-1].astype(np.float32) @ cases.told)[:, 0]
        slopes["told"] = aims.sum(axis=0)
        slopes["prompts"] = (aims @ weights["memories"].T).T @ cases.asked
        slopes["memories"] = (cases.asked @ weights["prompts"].T).T @ aims
    drawn = {name: SHRINK * each for name, each in weights.items()}
    drawn["asked"] = SHRINK_ASKED * weights["asked"]
    drawn["none"][0] = 0.0  # what speaks for none whatever the prompt
    return {name: slope + drawn[name] for name, slope in slopes.items()}


def begin(cases: Cases) -> Weights:
    """Weights that say nothing; pairs of directions begin somewhere, for none leads out of 0."""
    weights = {
        name: np.zeros(each.shape[-1])
        for name, each in (("memory", cases.features), ("none", cases.none), ("asked", cases.asked))
    }
    if width := cases.told.shape[2]:
        weights["told"] = np.zeros(width)
        chance = np.random.default_rng(0)
        for name in ("prompts", "memories"):
            weights[name] = BEGUN * chance.standard_normal((PAIRS, width))
    return weights


def learn(every: Sequence[Case]) -> Learnt:
    """The weights by which the wanted candidates are likeliest, or none where none is wanted."""
    names = list_names([each for case in every for _, each in case.candidates])
    of_none = list_names([case.none for case in every])
    cases = lay_out(every, names, of_none)
    middle = cases.features[cases.there].mean(axis=0)
    spread = cases.features[cases.there].std(axis=0)
    spread[spread == 0] = 1.0
    scaled = cases._replace(features=(cases.features - middle) / spread)
    weights = begin(scaled)
    slopes, squares = ({n: np.zeros_like(w) for n, w in weights.items()} for _ in range(2))
    for step in range(1, STEPS + 1):
        size = STEP * (1 - step / (STEPS + 1))
        for name, slope in measure_slopes(scaled, weights).items():
            slopes[name] = 0.9 * slopes[name] + 0.1 * slope
            squares[name] = 0.99 * squares[name] + 0.01 * slope**2
            steepness = np.sqrt(squares[name] / (1 - 0.99**step)) + 1e-12
            weights[name] = weights[name] - size * slopes[name] / (1 - 0.9**step) / steepness
    weights["memory"] /= spread
    weights["none"][0] += weights["memory"] @ middle
    return Learnt(weights, names, of_none)


def dump(learnt: Learnt) -> dict[str, Any]:
    """What was learnt as `ranking.bearing` reads it."""
    weights = learnt.weights
    figures: dict[str, Any] = {
        "memory": _name(learnt.names, weights["memory"]),
        "none": _name(["", *learnt.of_none], weights["none"]),
    }
    if "told" not in weights:
        each_sign = weights["asked"] / math.sqrt(words.BITS)
        return figures | {"meaning": [round(each, 4) for each in each_sign.tolist()]}
    return figures | {
        "directions": PAIRS + 1,
        "of prompts": _pack([*weights["prompts"], weights["asked"]]),
        "of memories": _pack([*weights["memories"], weights["told"]]),
    }


def _name(names: Sequence[str], weights: Array) -> dict[str, float]:
    return {name: round(each, 3) for name, each in zip(names, weights.tolist(), strict=True)}


def _pack(rows: Sequence[Array]) -> str:
    return b64encode(np.array(rows).astype("<f2").tobytes()).decode()


def judge(cases: Sequence[Case], learnt: Learnt) -> list[tuple[int, int, int]]:
    """Prompts with the right memory, with a wrong one, and others that something is shown with."""
    laid = lay_out(cases, learnt.names, learnt.of_none)
    likely = measure_likelihoods(laid, learnt.weights)[:, :-1]
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
            hand: await read_hand(path, Path(name) / hand, embedder, model_home)
            for hand, path in HANDS.items()
        }


def run(
    about: str,
    weights: Path,
    read: Callable[[EmbedderName, Path | None], Coroutine[Any, Any, Mapping[str, Sequence[_Told]]]],
    judge: Callable[[Mapping[str, Sequence[_Told]]], None],
    describe: Callable[[str, Sequence[_Told]], dict[str, Any]],
) -> None:
    """Judge each hand by the others, or learn of all and write: by words, and by the model.

    `describe` says what a reader learns of the cases of all hands, as it is written.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--model-home", type=Path, metavar="DIR", help="with models/minilm in it")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    readers: list[tuple[str, EmbedderName, Path | None]] = [(WORDS, "none", None)]
    if given.model_home:
        readers.append((MODEL, "minilm", given.model_home))
    figures: dict[str, Any] = json.loads(weights.read_text("utf-8")) if weights.exists() else {}
    for reader, embedder, model_home in readers:
        hands = asyncio.run(read(embedder, model_home))
        if given.judge:
            print(reader)
            judge(hands)
        else:
            figures[reader] = describe(reader, [each for told in hands.values() for each in told])
    if not given.judge:
        weights.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", "utf-8")


def _describe(reader: str, every: Sequence[Case]) -> dict[str, Any]:
    return {"from": FROM[reader], **dump(learn(every))}


if __name__ == "__main__":
    run("Learn which memory bears on a prompt.", WEIGHTS, read_hands, judge_hands, _describe)
