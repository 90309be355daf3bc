"""Learns by what a sentence of the user's is worth keeping, from the labelled talk.

    python tools/keeping.py            # writes src/memory_mcp/text/data/keeping.json
    python tools/keeping.py --judge    # says how well each hand is judged by the others; minutes

Two logistic regressions by AdaGrad, in a fixed order: what each sentence has (`keep`), and what its
whole message has (`message`); the logit of a sentence is the mean of both. A sentence is worth
keeping if it holds the fact that a colleague would note of its message, or most of it. `HANDS` are
the people who wrote the sets; each hand is judged by what the others taught, through
`find_captures`, with every threshold of `CURVE`.
"""

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from capture import measure_covered  # noqa: E402  # the path is set above

from memory_mcp.domain.captures import CaptureCategory  # noqa: E402
from memory_mcp.domain.sessions import Turn  # noqa: E402
from memory_mcp.learnt import Features  # noqa: E402
from memory_mcp.text import keeping  # noqa: E402
from memory_mcp.text.capture import find_captures, read_message  # noqa: E402
from memory_mcp.text.keeping import join_features  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
TRAIN: Final = DATA / "train"
HANDS: Final = {
    "strangers": (DATA / "open" / "talk.json", DATA / "closed" / "talk.json"),
    "fresh": (DATA / "open" / "fresh-talk.json",),
    "fresh2": (DATA / "open" / "fresh2-talk.json", DATA / "closed" / "fresh2-talk.json"),
    "fresh3": (DATA / "open" / "fresh3-talk.json", DATA / "closed" / "fresh3-talk.json"),
    "our own": (ROOT / "tests" / "data" / "talk_of_our_own.json",),
    **{path.stem: (path,) for path in sorted(TRAIN.glob("*-talk.json"))},
}
MORE: Final = DATA / "open" / "talk_more.json"
"""Messages of our own whose kept sentence stands in brackets: they teach, and are never judged."""
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "text" / "data" / "keeping.json"

FROM: Final = 0.25
"""The logit from which on a sentence is kept."""
NAMED_FROM: Final = -5.0
"""The same where a pattern names its category and none speaks against it."""
SURE_FROM: Final = 2.0
"""The logit from which on it is kept without a question to the user."""
SURE_NAMED_FROM: Final = 1.0
FROMS: Final = ("from", "named_from", "sure_from", "sure_named_from")
CURVE: Final = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
COVERED_MIN: Final = 0.33
MOST_MIN: Final = 0.15
"""So much of the fact must be in the sentence that holds most of it."""
SHRINK: Final = 3.0
"""How much each weight is drawn to 0; that of a message, which are fewer, three times as much."""
ROUNDS: Final = 30
STEP: Final = 0.3
SEEN_MIN: Final = 4
"""A feature of fewer sentences tells nothing."""
LEAST: Final = 0.08
"""A smaller weight is left out."""


class Sentence(NamedTuple):
    """A sentence that may be kept."""

    features: Features
    kept: bool


class Message(NamedTuple):
    """A message, and whether something of it is worth keeping."""

    worth: bool
    category: str
    sentences: Sequence[Sentence]


Case = Mapping[str, Any]


def read_cases(paths: Iterable[Path]) -> list[tuple[bool, Case]]:
    """The messages of these files, and whether they are worth keeping."""
    return [
        (side == "keep", case)
        for path in paths
        for side, cases in json.loads(path.read_text("utf-8")).items()
        for case in cases
    ]


def read_case(worth: bool, case: Case) -> Message:  # noqa: FBT001  # as the cases come
    """A message as its sentences."""
    *before, last = case["turns"]
    asked = bool(before) and before[-1]["role"] == "assistant"
    asked = asked and before[-1]["content"].rstrip().endswith("?")
    expected = case["expect"] if worth else ""

    def cover(text: str) -> float:
        return measure_covered(expected, text) if expected else 0.0

    return read(last["content"], cover, case.get("category", ""), asked=asked)


def read_more() -> list[Message]:
    """The messages whose kept sentence stands in brackets."""
    found: list[Message] = []
    for messages in json.loads(MORE.read_text("utf-8")).values():
        for text in messages:
            kept = text.partition("[[")[2].partition("]]")[0]
            plain = text.replace("[[", "").replace("]]", "")

            def cover(said: str, kept: str = kept) -> float:
                return float(said.strip(" .") in kept)

            found.append(read(plain, cover, "", asked=False))
    return found


def read(text: str, cover: Callable[[str], float], category: str, *, asked: bool) -> Message:
    """The sentences of a message that may be kept."""
    every, _ = read_message(text, asked=asked)
    covered = [cover(each.text) for each in every]
    most = max([*covered, MOST_MIN])
    sentences = [
        Sentence(each.features, share >= min(most, COVERED_MIN))
        for each, share in zip(every, covered, strict=True)
        if not each.never
    ]
    return Message(any(each.kept for each in sentences), category, sentences)


def learn(pairs: Sequence[tuple[Features, bool]], shrink: float = SHRINK) -> dict[str, float]:
    """Weights by which a logit says how likely a yes is."""
    seen = Counter(name for features, _ in pairs for name, value in features.items() if value)
    told = [
        ([(name, v) for name, v in features.items() if v and seen[name] >= SEEN_MIN], kept)
        for features, kept in pairs
    ]
    weights = {"": 0.0} | {name: 0.0 for name, count in seen.items() if count >= SEEN_MIN}
    squares = dict.fromkeys(weights, 0.1)
    draw = {name: shrink / seen[name] for name in weights if name}
    order = random.Random(1)
    for _ in range(ROUNDS):
        order.shuffle(told)
        for features, kept in told:
            logit = weights[""] + sum([weights[name] * value for name, value in features])
            miss = 1 / (1 + math.exp(-max(-60.0, min(60.0, logit)))) - kept
            weights[""] -= 0.02 * miss
            for name, value in features:
                slope = miss * value + draw[name] * weights[name]
                squares[name] += slope * slope
                weights[name] -= STEP * slope / math.sqrt(squares[name])
    return {name: round(w, 2) for name, w in weights.items() if abs(w) >= LEAST or not name}


def learn_keeping(messages: Sequence[Message]) -> dict[str, Any]:
    """What speaks for a sentence to be kept: half by itself, half by its message."""
    keep = learn([(s.features, s.kept) for each in messages for s in each.sentences])
    wholes = [
        (join_features([s.features for s in each.sentences]), each.worth)
        for each in messages
        if each.sentences
    ]
    return {
        "from": FROM,
        "named_from": NAMED_FROM,
        "sure_from": SURE_FROM,
        "sure_named_from": SURE_NAMED_FROM,
        "keep": keep,
        "message": learn(wholes, 3 * SHRINK),
    }


def learn_categories(messages: Iterable[Message]) -> dict[str, dict[str, float]]:
    """What speaks for each category of what is kept."""
    kept = [
        (s.features, each.category)
        for each in messages
        for s in each.sentences
        if s.kept and each.category
    ]
    return {
        name: learn([(features, category == name) for features, category in kept])
        for name in get_args(CaptureCategory)
    }


class Judged(NamedTuple):
    """The figures of a hand: `nothing` is what was kept of what is worth nothing."""

    worth: int
    right: int
    other: int
    nothing: int

    def __str__(self) -> str:
        precision = self.right / max(1, self.right + self.other + self.nothing)
        return f"{self.right / max(1, self.worth):.2f}/{precision:.2f}"


def judge(
    cases: Sequence[tuple[bool, Case]], weights: Mapping[str, Any], *, sure: bool = False
) -> Judged:
    """What is captured of these messages by these weights, or what of it is sure."""
    keeping.load_learnt = lambda: weights
    right = other = nothing = 0
    for worth, case in cases:
        turns = [Turn(turn["role"], turn["content"]) for turn in case["turns"]]
        every = find_captures(turns, 1)
        found = [each.statement for each in every if each.sure or not sure]
        if worth:
            held = any(measure_covered(case["expect"], said) >= COVERED_MIN for said in found)
            right, other = right + held, other + (bool(found) and not held)
        else:
            nothing += bool(found)
    return Judged(sum(worth for worth, _ in cases), right, other, nothing)


def judge_hands(messages: Mapping[str, Sequence[Message]], more: Sequence[Message]) -> None:
    """Say how well each hand is judged by the others."""
    figures: list[list[Judged]] = []
    print("recall/precision: suggested, kept at once; whichever is above the logit", *CURVE)
    for name, paths in HANDS.items():
        others = [m for hand, found in messages.items() if hand != name for m in found]
        teaching = others if name == "our own" else [*more, *others]
        weights = {**learn_keeping(teaching), "categories": learn_categories(others)}
        cases = read_cases(paths)
        found = [judge(cases, weights), judge(cases, weights, sure=True)]
        found += [judge(cases, {**weights, **dict.fromkeys(FROMS, least)}) for least in CURVE]
        figures.append(found)
        print(f"{name:10} {found[0].worth:4}", *found, flush=True)
    total = [Judged(*map(sum, zip(*column, strict=True))) for column in zip(*figures, strict=True)]
    print(f"{'all':10} {total[0].worth:4}", *total)
    print("another sentence of what is worth keeping", *(each.other for each in total))
    print("of what is worth nothing", *(each.nothing for each in total))


def main() -> None:
    """Judge each hand by the others, or learn of all and write."""
    parser = argparse.ArgumentParser(description="Learn what is worth keeping.")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    messages = {
        name: [read_case(*each) for each in read_cases(paths)] for name, paths in HANDS.items()
    }
    more = read_more()
    if given.judge:
        judge_hands(messages, more)
        return
    every = [*more, *(m for found in messages.values() for m in found)]
    weights = {**learn_keeping(every), "categories": learn_categories(every)}
    text = json.dumps(weights, ensure_ascii=False, sort_keys=True, indent=0)
    print(f"{len(weights['keep'])} + {len(weights['message'])} weights, {len(text)} characters")
    WEIGHTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
