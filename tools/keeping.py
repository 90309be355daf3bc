"""Learns by what a sentence of the user's is worth keeping, from the labelled talk.

    python tools/keeping.py            # writes src/memory_mcp/text/data/keeping.json
    python tools/keeping.py --judge    # says how well each hand is judged by the others; minutes

Two logistic regressions: what each sentence has (`keep`), and what its whole message has
(`message`); the logit of a sentence is made of both. A sentence is worth
keeping if it holds the fact that a colleague would note of its message, or most of it. `HANDS` are
the people who wrote the sets; each hand is judged by what the others taught, through
`find_captures`, with every threshold of `CURVE`.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from capture import measure_covered  # noqa: E402  # the path is set above

from memory_mcp.domain.captures import CaptureCategory  # noqa: E402
from memory_mcp.domain.sessions import Turn  # noqa: E402
from memory_mcp.learnt import Features  # noqa: E402
from memory_mcp.text import keeping  # noqa: E402
from memory_mcp.text.capture import find_captures, read_message  # noqa: E402
from memory_mcp.text.keeping import join_features  # noqa: E402
from memory_mcp.words import table as words  # noqa: E402

DATA: Final = ROOT / "benchmarks" / "data"
TRAIN: Final = DATA / "train"
SIXTH: Final = (14, 15, 16)
"""The sets that the sixth hand wrote to be learnt from."""
HANDS: Final = {
    "strangers": (DATA / "open" / "talk.json", DATA / "closed" / "talk.json"),
    "fresh": (DATA / "open" / "fresh-talk.json",),
    "fresh2": (DATA / "open" / "fresh2-talk.json", DATA / "closed" / "fresh2-talk.json"),
    "fresh3": (DATA / "open" / "fresh3-talk.json", DATA / "closed" / "fresh3-talk.json"),
    "fresh4": (DATA / "open" / "fresh4-talk.json", DATA / "closed" / "fresh4-talk.json"),
    "sixth": (
        *(TRAIN / f"t{number}-talk.json" for number in SIXTH),
        *(DATA / half / "fresh5-talk.json" for half in ("open", "closed")),
    ),
    "fresh6": (DATA / "open" / "fresh6-talk.json", DATA / "closed" / "fresh6-talk.json"),
    "fresh7": (DATA / "open" / "fresh7-talk.json",),
    "fresh10": (DATA / "open" / "fresh10-talk.json",),
    "our own": (ROOT / "tests" / "data" / "talk_of_our_own.json",),
    **{
        path.stem: (path,)
        for path in sorted(TRAIN.glob("*-talk.json"))
        if path.stem not in {f"t{number}-talk" for number in SIXTH}
    },
}
MORE: Final = DATA / "open" / "talk_more.json"
"""Messages of our own whose kept sentence stands in brackets: they teach, and are never judged."""
WEIGHTS: Final = ROOT / "src" / "memory_mcp" / "text" / "data" / "keeping.json"

FROM: Final = 0.25
"""The logit from which on a sentence is kept."""
NAMED_FROM: Final = -5.0
"""The same where a pattern names its category and none speaks against it."""
SURE_FROM: Final = 0.6
"""The logit from which on it is kept without a question to the user."""
SURE_NAMED_FROM: Final = 0.2
FROMS: Final = ("from", "named_from", "sure_from", "sure_named_from")
CURVE: Final = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
COVERED_MIN: Final = 0.33
MOST_MIN: Final = 0.15
"""So much of the fact must be in the sentence that holds most of it."""
DRAW: Final = 2.0
MESSAGE_DRAW: Final = 7.0
CATEGORY_DRAW: Final = 3.0
"""How much each weight is drawn to 0."""
MEANING_WEIGHT: Final = 3 / 16
"""How long a meaning is beside features of 1: 3, its 256 signs being 1 or -1."""
STEPS: Final = 12
SOLVED: Final = 0.01
"""How much of a slope is left where a step is taken."""
SEEN_MIN: Final = 4
"""A feature of fewer sentences tells nothing."""
LEAST: Final = 0.15
"""A smaller weight is left out."""


class Sentence(NamedTuple):
    """A sentence that may be kept."""

    features: Features
    terms: Sequence[str]
    kept: bool


class Message(NamedTuple):
    """A message, and whether something of it is worth keeping."""

    worth: bool
    category: str
    sentences: Sequence[Sentence]


Case = Mapping[str, Any]
Floats = NDArray[np.float64]
SIGNS: Final = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1
"""The eight signs of each byte."""


def read_cases(paths: Iterable[Path]) -> list[tuple[bool, Case]]:
    """The messages of these files, and whether they are worth keeping."""
    return [
        (side == "keep", case)
        for path in paths
        for side, cases in json.loads(path.read_text("utf-8")).items()
        for case in cases
    ]


def read_messages(paths: Iterable[Path]) -> list[Message]:
    """The messages that teach something.

    Of one whose fact was noted in words that none of its sentences holds, in another language say,
    nobody can tell which sentence is worth keeping.
    """
    every = [(worth, read_case(worth, case)) for worth, case in read_cases(paths)]
    return [message for worth, message in every if message.worth == worth]


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
        Sentence(each.features, each.terms, share >= min(most, COVERED_MIN))
        for each, share in zip(every, covered, strict=True)
        if not each.never
    ]
    return Message(any(each.kept for each in sentences), category, sentences)


def learn(pairs: Sequence[tuple[Sentence, bool]], draw: float) -> dict[str, Any]:
    """Weights by which a logit says how likely a yes is, and those of the signs of its meaning.

    The likeliest, each drawn to 0: Newton's steps, each found by conjugate gradients.
    """
    seen = Counter(name for told, _ in pairs for name, value in told.features.items() if value)
    names = sorted(name for name, count in seen.items() if count >= SEEN_MIN)
    table = make_rows([told for told, _ in pairs], names)
    yes = np.array([kept for _, kept in pairs], float)
    drawn = np.full(table.width, draw)
    drawn[0] = 1e-3  # the level is drawn to nothing
    weights = np.zeros(table.width)
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-table.weigh(weights)))
        slope = table.gather(likely - yes) + drawn * weights
        bend = likely * (1 - likely)

        def curve(step: Floats, bend: Floats = bend) -> Floats:
            return table.gather(bend * table.weigh(step)) + drawn * step

        weights -= solve(curve, slope)
    kept = dict(zip(["", *names], weights[: -words.BITS].tolist(), strict=True))
    return {
        "weights": {n: round(w, 2) for n, w in kept.items() if abs(w) >= LEAST or not n},
        "meaning": [round(w * MEANING_WEIGHT, 4) for w in weights[-words.BITS :].tolist()],
    }


class Rows(NamedTuple):
    """Texts as rows of a matrix: level and features, of which most are 0, then the meaning."""

    height: int
    width: int
    places: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats
    meanings: Floats

    def weigh(self, weights: Floats) -> Floats:
        """The sum of each row by these weights."""
        plain = np.bincount(self.places, self.values * weights[self.columns], self.height)
        return plain.astype(float) + self.meanings @ weights[-words.BITS :]

    def gather(self, pulls: Floats) -> Floats:
        """The sum of each column by these pulls of the rows."""
        many = self.width - words.BITS
        plain = np.bincount(self.columns, self.values * pulls[self.places], many)
        return np.concatenate([plain.astype(float), pulls @ self.meanings])


def make_rows(every: Sequence[Sentence], names: Sequence[str]) -> Rows:
    """These texts with the features that have names."""
    place = {name: number for number, name in enumerate(names, 1)}
    cells = [
        (row, column, value)
        for row, told in enumerate(every)
        for column, value in [
            (0, 1.0),
            *((place[name], value) for name, value in told.features.items() if name in place),
        ]
    ]
    places, columns, values = (np.array(each) for each in zip(*cells, strict=True))
    meanings = np.array([measure_meaning(told.terms) for told in every])
    width = 1 + len(names) + words.BITS
    return Rows(len(every), width, places, columns, values, MEANING_WEIGHT * meanings)


def measure_meaning(terms: Sequence[str]) -> Floats:
    """The signs of these terms added up, as `measure_along` does."""
    table = words.load_word_table()
    found, square = np.zeros(words.BITS), 0.0
    for term in terms:
        signs = table.find_signs(term)
        if signs is not None:
            rarity = table.get_rarity(term)
            square += rarity * rarity
            found += (
                rarity * SIGNS[np.frombuffer(signs.to_bytes(words.BITS // 8), np.uint8)].ravel()
            )
    return found / math.sqrt(square) if square else found


def solve(curve: Callable[[Floats], Floats], slope: Floats) -> Floats:
    """The step whose curve is the slope, by conjugate gradients."""
    step, left = np.zeros_like(slope), slope.copy()
    way, square = left.copy(), float(left @ left)
    enough = square * SOLVED**2
    while square > enough:
        curved = curve(way)
        far = square / float(way @ curved)
        step += far * way
        left -= far * curved
        before, square = square, float(left @ left)
        way = left + square / before * way
    return step


def learn_keeping(messages: Sequence[Message]) -> dict[str, Any]:
    """What speaks for a sentence to be kept: by itself, and by its message."""
    keep = learn([(s, s.kept) for each in messages for s in each.sentences], DRAW)
    wholes = [
        (
            Sentence(
                join_features([s.features for s in each.sentences]),
                [term for s in each.sentences for term in s.terms],
                each.worth,
            ),
            each.worth,
        )
        for each in messages
        if each.sentences
    ]
    message = learn(wholes, MESSAGE_DRAW)
    return {
        "from": FROM,
        "named_from": NAMED_FROM,
        "sure_from": SURE_FROM,
        "sure_named_from": SURE_NAMED_FROM,
        "keep": keep["weights"],
        "keep meaning": keep["meaning"],
        "message": message["weights"],
        "message meaning": message["meaning"],
    }


def learn_categories(messages: Iterable[Message]) -> dict[str, dict[str, float]]:
    """What speaks for each category of what is kept."""
    kept = [
        (s, each.category) for each in messages for s in each.sentences if s.kept and each.category
    ]
    return {
        name: learn([(s, category == name) for s, category in kept], CATEGORY_DRAW)["weights"]
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
    learnt = keeping.read_learnt(weights)
    keeping.load_learnt = lambda: learnt
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
    messages = {name: read_messages(paths) for name, paths in HANDS.items()}
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
