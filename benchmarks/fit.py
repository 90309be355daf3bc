r"""Fits the figures in `memory_mcp/retrieval/weights.py`, and says how far to trust them.

    python benchmarks/fit.py --model <folder of the encoder> --kept vectors.pickle \
        --locomo locomo.json --sets benchmarks/data

The order: a grid around the anchor (a fixed sum: .4 words, .4 meaning, .2 pooled, all with their
neighbours) is judged by its mean over families, less what its worst family loses against the
anchor (in any of R@5, R@10 and the reciprocal rank). Each family is then left out once: what the
others choose is judged on it.
The scores: two small logistic regressions, on the first ten hits of questions that have an answer
and of questions that were put to the wrong store. Seeds are fixed; the same data give the same
figures. Only the dev split of our own sets is used.
"""

import argparse
import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from families import Array, Found, Store, Vectors
from numpy.typing import NDArray
from recall_sets import load

from memory_mcp.retrieval.evidence import Evidence

NDArrayBool = NDArray[np.bool_]

GRID: Final[Mapping[str, Sequence[float]]] = {
    "window": (0.1, 0.15, 0.2, 0.4),
    "exact": (0.0, 0.3, 0.4, 0.5),
    "company": (0.0, 0.3, 0.5),
    "meaning_window": (0.4,),
    "pooled": (0.15, 0.2, 0.25, 0.3),
    "names": (0.05, 0.1),
    "asks": (-0.05,),
}
ANCHOR: Final = (0.4, 0.0, 0.0, 0.4, 0.2, 0.0, 0.0)
WORST_SHARE: Final = 0.5
"""How much the loss of the worst family counts beside the mean of all."""
NEGATIVES_PER_PAIR: Final = 15
JUDGED: Final = ("coverage", "company", "known", "meaning_window", "pooled")


@dataclass(frozen=True)
class Case:
    """One question: what is known of its candidates, and which of them answer it."""

    family: str
    window: Array
    meaning: Array
    pooled: Array
    names: Array
    asks: Array
    exact: float
    company: float
    judged: Array
    gold: NDArrayBool
    golds: int


def case(family: str, found: Found, gold: frozenset[str]) -> Case | None:
    """The question as arrays; None if nothing was found to rank."""
    every = found.evidence()
    if not every:
        return None
    rows = list(every.values())
    best = Evidence(*map(max, zip(*rows, strict=True)))

    def column(name: str) -> Array:
        return np.array([getattr(each, name) for each in rows], float)

    return Case(
        family,
        stretched(column("window")), stretched(column("meaning_window")),
        stretched(column("pooled")), column("names"), column("asks"),
        best.exact, best.company,
        np.array([getattr(best, name) for name in JUDGED], float),
        np.array([record_id in gold for record_id in every]), len(gold),
    )  # fmt: skip


def stretched(values: Array) -> Array:
    """Each value's place between the lowest and the highest."""
    span = float(np.ptp(values))
    return (values - values.min()) / span if span else np.ones_like(values) * (values.max() > 0)


def strength(one: Case, mixture: Sequence[float]) -> Array:
    """What the order follows."""
    window, exact, company, meaning, pooled, names, asks = mixture
    share = window + exact * one.exact + company * one.company
    return (
        share * one.window + meaning * one.meaning + pooled * one.pooled
        + names * one.names + asks * one.asks
    )  # fmt: skip


def recall(one: Case, scores: Array) -> Array:
    """R@5, R@10 and the reciprocal rank, in hundredths."""
    hits = one.gold[np.argsort(-scores, kind="stable")[:10]]
    first = np.flatnonzero(hits)
    reciprocal = 1 / (first[0] + 1) if len(first) else 0.0
    return 100 * np.array([hits[:5].sum() / one.golds, hits.sum() / one.golds, reciprocal])


def by_family(cases: Sequence[Case], mixture: Sequence[float]) -> dict[str, Array]:
    """The mean figures of each family."""
    figures: dict[str, list[Array]] = {}
    for one in cases:
        if one.golds:
            figures.setdefault(one.family, []).append(recall(one, strength(one, mixture)))
    return {family: np.mean(each, axis=0) for family, each in figures.items()}


def chosen(
    tables: Mapping[tuple[float, ...], Mapping[str, Array]], without: str
) -> tuple[float, ...]:
    """The mixture with the best mean that costs the worst family least, one family left out."""

    def worth(mixture: tuple[float, ...]) -> float:
        table = {f: each for f, each in tables[mixture].items() if f != without}
        anchors = tables[ANCHOR]
        losses = [min(0.0, float((each - anchors[f]).min())) for f, each in table.items()]
        return float(np.mean([each.mean() for each in table.values()])) + WORST_SHARE * min(losses)

    return max(tables, key=worth)


def fit_order(cases: Sequence[Case]) -> tuple[float, ...]:
    """The mixture, with what leaving each family out would have chosen."""
    mixtures = [ANCHOR, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), *itertools.product(*GRID.values())]
    tables = {mixture: by_family(cases, mixture) for mixture in mixtures}
    for family in tables[ANCHOR]:
        other = chosen(tables, family)
        print(f"without {family:12} {other} gives it {tables[other][family].round(1)}")
    best = chosen(tables, "")
    for name, mixture in (("words", mixtures[1]), ("anchor", ANCHOR), ("chosen", best)):
        print(name, {family: each.round(1).tolist() for family, each in tables[mixture].items()})
    print(dict(zip(GRID, best, strict=True)))
    return best


def logistic(rows: Array, truth: Array, weights: Array) -> Array:
    """Ridge logistic regression by Newton's method; the first coefficient is the bias."""
    rows = np.column_stack([np.ones(len(rows)), rows])
    found = np.zeros(rows.shape[1])
    ridge = np.eye(len(found))
    ridge[0, 0] = 0.0
    for _ in range(60):
        guess = 1 / (1 + np.exp(-rows @ found))
        slope = weights * guess * (1 - guess) + 1e-9
        found += np.linalg.solve(
            (rows.T * slope) @ rows + ridge,
            rows.T @ (weights * (truth - guess)) - ridge @ found,
        )
    return found


def fit_scores(cases: Sequence[Case], mixture: Sequence[float]) -> None:
    """The logit of a hit, and the logit that anything was found; families weigh the same."""
    rows: list[Array] = []
    truth: list[bool] = []
    of: list[str] = []
    for one in cases:
        scores = strength(one, mixture)
        for place in np.argsort(-scores, kind="stable")[:10]:
            rows.append(np.array([scores[place] - scores.max(), *one.judged]))
            truth.append(bool(one.gold[place]))
            of.append(one.family if one.golds else "nothing")
    weights = balanced(of)
    print(
        "level",
        ["behind", *JUDGED],
        logistic(np.array(rows), np.array(truth, float), weights).round(2),
    )
    found = [one for one in cases if not one.golds or recall(one, strength(one, mixture))[1]]
    weights = balanced([one.family if one.golds else "nothing" for one in found])
    judged = np.array([one.judged for one in found])
    answered = np.array([float(one.golds > 0) for one in found])
    fitted = logistic(judged, answered, weights)
    logits = fitted[0] + judged @ fitted[1:]
    print("found", JUDGED, fitted.round(2))
    order = np.argsort(np.where(answered > 0, logits, np.inf))
    lost = np.cumsum(np.where(answered > 0, weights, 0.0)[order])
    for share in (0.001, 0.002, 0.005, 0.01, 0.02):
        floor = logits[order][np.searchsorted(lost, share * lost[-1])]
        empty = float(np.mean(logits[answered == 0] < floor))
        print(
            f"  floor {floor:.2f}: {share:.1%} of the answered lost, {empty:.0%} of the rest empty"
        )


def balanced(of: Sequence[str]) -> Array:
    """A weight for each row: every family the same, `nothing` half of them all."""
    names, counts = np.unique(np.array(of), return_counts=True)
    count = dict(zip(names.tolist(), counts.tolist(), strict=True))
    weights = np.array([(len(count) / 2 if f == "nothing" else 1.0) / count[f] for f in of])
    return weights * len(of) / weights.sum()


def gather(stores: Mapping[str, Sequence[Store]]) -> list[Case]:
    """Every question of the dev split, and as many again put to a store that cannot know."""
    chance = random.Random(3)
    asked = {
        family: [
            (store, each)
            for store in every
            for each in store.conversation.questions
            if each.split in ("", "dev")
        ]
        for family, every in stores.items()
    }
    cases = [
        found
        for family, pairs in asked.items()
        for store, each in pairs
        if (found := case(family, store.find(each.text), each.gold))
    ]
    for family, every in stores.items():
        for other, pairs in asked.items():
            for store, each in chance.sample(pairs, min(len(pairs), NEGATIVES_PER_PAIR)):
                wrong = chance.choice(every)
                if wrong is store or {family, other} == {"turns", "facts"}:
                    continue
                found = case(family, wrong.find(each.text), frozenset())
                cases += [found] if found else []
    return cases


def main() -> None:
    """Read, fit, print."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--model", type=Path, help="without it, the ranking by words is fitted")
    reader.add_argument("--kept", type=Path, default=Path("vectors.pickle"))
    reader.add_argument("--locomo", type=Path, required=True)
    reader.add_argument("--sets", type=Path, required=True)
    given = reader.parse_args()
    vectors = Vectors(given.model, given.kept) if given.model else None
    stores = {
        "turns": [Store(each, vectors) for each in load(given.locomo, "turns")],
        "facts": [Store(each, vectors) for each in load(given.locomo, "facts")],
    }
    for path in sorted(given.sets.glob("*.json")):
        stores[path.stem] = [Store(each, vectors) for each in load(path)]
    cases = gather(stores)
    if vectors:
        vectors.keep()
    answered = sum(one.golds > 0 for one in cases)
    print({f: len(s) for f, s in stores.items()}, f"{answered} answered of {len(cases)} questions")
    words_only = (1.0, 0.0, 0.0, 0.0, 0.0, 0.15, -0.1)
    fit_scores(cases, fit_order(cases) if vectors else words_only)


if __name__ == "__main__":
    main()
