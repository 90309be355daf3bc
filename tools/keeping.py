"""Learns by what a sentence of the user's is worth keeping, from the labelled talk.

    python tools/keeping.py            # writes src/memory_mcp/text/data/keeping.json
    python tools/keeping.py --dry-run  # only says how well each set is judged by the other sets

Logistic regression by AdaGrad over the features of `memory_mcp.text.keeping`, in a fixed order.
`SETS` are all the sets that were looked at; a sentence is worth keeping if it holds the fact that a
colleague would note of its message. Each set is judged by what the other sets taught.
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

from capture import covers  # noqa: E402  # the path is set above

from memory_mcp.domain.captures import CaptureCategory  # noqa: E402
from memory_mcp.text.capture import describe_plain, read_message  # noqa: E402
from memory_mcp.text.keeping import Features, weigh  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
SETS: Final = {
    "open": DATA / "open" / "talk.json",
    "closed": DATA / "closed" / "talk.json",
    "fresh open": DATA / "open" / "fresh-talk.json",
    "fresh2 open": DATA / "open" / "fresh2-talk.json",
    "our own": ROOT / "tests" / "data" / "talk_of_our_own.json",
}
MORE: Final = DATA / "open" / "talk_more.json"
"""Messages whose kept sentence stands in brackets: they teach, and are never judged."""
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "text" / "data" / "keeping.json"

FROM: Final = 2.0
"""The logit from which on a sentence is kept."""
NAMED_FROM: Final = -3.2
"""The same where a pattern names its category."""
SURE_FROM: Final = 3.0
"""The logit from which on it is kept without a question to the user."""
SURE_NAMED_FROM: Final = 0.0
SHRINK: Final = 10.0
ROUNDS: Final = 40
STEP: Final = 0.3
SEEN_MIN: Final = 3
"""A feature of fewer sentences tells nothing."""
LEAST: Final = 0.05
"""A smaller weight is left out."""


class Sentence(NamedTuple):
    """A sentence that nothing speaks against."""

    features: Features
    kept: bool
    category: str
    named: bool


class Message(NamedTuple):
    """A message, and whether something of it is worth keeping."""

    id: str
    worth: bool
    sentences: Sequence[Sentence]


def read_set(path: Path) -> list[Message]:
    """The messages of a set."""
    sides: dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8"))
    found: list[Message] = []
    for side, cases in sides.items():
        for case in cases:
            *before, last = case["turns"]
            asked = bool(before) and before[-1]["role"] == "assistant"
            asked = asked and before[-1]["content"].rstrip().endswith("?")
            expected = case["expect"] if side == "keep" else ""

            def holds(text: str, expected: str = expected) -> bool:
                return bool(expected) and covers(expected, text)

            sentences = read(last["content"], holds, case.get("category", ""), asked=asked)
            found.append(Message(case["id"], side == "keep", sentences))
    return found


def read_more() -> list[Message]:
    """The messages whose kept sentence stands in brackets."""
    sides: dict[str, list[str]] = json.loads(MORE.read_text("utf-8"))
    found: list[Message] = []
    for side, messages in sides.items():
        for text in messages:
            kept = text.partition("[[")[2].partition("]]")[0]
            plain = text.replace("[[", "").replace("]]", "")

            def holds(said: str, kept: str = kept) -> bool:
                return said.strip(" .") in kept

            found.append(Message(text, side == "keep", read(plain, holds, "", asked=False)))
    return found


def read(text: str, holds: Callable[[str], bool], category: str, *, asked: bool) -> list[Sentence]:
    """The sentences of a message that nothing speaks against."""
    read, _ = read_message(text, asked=asked)
    return [
        Sentence(
            describe_plain(read, n, asked=asked),
            holds(each.text),
            category,
            each.named,
        )
        for n, each in enumerate(read)
        if each.reading in ("plain", "stated")
    ]


def learn(sentences: Sequence[tuple[Features, bool]]) -> dict[str, float]:
    """Weights by which a sentence's logit says how likely it is."""
    seen = Counter(name for features, _ in sentences for name in features)
    pairs = [
        ({name: v for name, v in features.items() if v and seen[name] >= SEEN_MIN}, kept)
        for features, kept in sentences
    ]
    weights: dict[str, float] = {"": 0.0}
    squares: dict[str, float] = {}
    order = random.Random(1)
    for _ in range(ROUNDS):
        order.shuffle(pairs)
        for features, kept in pairs:
            chance = 1 / (1 + math.exp(-weigh(features, weights)))
            weights[""] -= 0.05 * (chance - kept)
            for name, value in features.items():
                slope = (chance - kept) * value + SHRINK * weights.get(name, 0.0) / len(pairs)
                squares[name] = squares.get(name, 0.1) + slope * slope
                weights[name] = weights.get(name, 0.0) - STEP * slope / math.sqrt(squares[name])
    return {name: round(w, 2) for name, w in weights.items() if abs(w) >= LEAST or not name}


def learn_keeping(messages: Iterable[Message]) -> dict[str, float]:
    """What speaks for a sentence to be kept."""
    return learn([(s.features, s.kept) for each in messages for s in each.sentences])


def learn_categories(messages: Iterable[Message]) -> dict[str, dict[str, float]]:
    """What speaks for each category of what is kept."""
    kept = [s for each in messages for s in each.sentences if s.kept and s.category]
    return {
        name: learn([(s.features, s.category == name) for s in kept])
        for name in get_args(CaptureCategory)
    }


def judge(messages: Sequence[Message], weights: Mapping[str, float]) -> str:
    """How many messages are kept, and rightly so: a sentence of each holds the fact."""
    right = wrong = 0
    for each in messages:
        kept = [
            s.kept
            for s in each.sentences
            if weigh(s.features, weights) >= (NAMED_FROM if s.named else FROM)
        ]
        right += any(kept)
        wrong += bool(kept) and not any(kept)
    return f"{right} of {sum(each.worth for each in messages)} right, {wrong} wrong"


def main() -> None:
    """Judge each set by the others, learn of all, write."""
    parser = argparse.ArgumentParser(description="Learn what is worth keeping.")
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()
    sets = {name: read_set(path) for name, path in SETS.items()}
    more = read_more()
    for name, messages in sets.items():
        learnt = learn_keeping([*more, *(m for n in sets if n != name for m in sets[n])])
        print(f"{name}: {judge(messages, learnt)}")
    every = [*more, *(m for found in sets.values() for m in found)]
    weights: dict[str, Any] = {
        "from": FROM,
        "named_from": NAMED_FROM,
        "sure_from": SURE_FROM,
        "sure_named_from": SURE_NAMED_FROM,
        "keep": learn_keeping(every),
        "categories": learn_categories(every),
    }
    text = json.dumps(weights, ensure_ascii=False, sort_keys=True, indent=0)
    print(f"{len(weights['keep'])} weights, {len(text)} characters")
    if not given.dry_run:
        WEIGHTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
