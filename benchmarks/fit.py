r"""Fits the figures in `memory_mcp/ranking/order.py`, and says how far to trust them.

    python benchmarks/fit.py --model <folder of the encoder> --kept vectors.pickle \
        --locomo locomo.json --sets benchmarks/data [--order]

For each kind of search, by words and by meaning too: the figures of the scores as `weights.py` has
them (`fit_scores.py`), what floors would lose, then what the ranking as shipped makes of the same
questions: recall by family, and a calibration curve. The same data give the same figures.

The order (`--order`): a grid around the anchor (a fixed sum: .4 words, .4 meaning, .2 pooled, all
with their neighbours) is judged by its mean over families, less what its worst family loses
against the anchor (in any of R@5, R@10 and the reciprocal rank). Each family is then left out
once: what the others choose is judged on it. What it chooses is put into `weights.py` before the
scores are fitted.
"""

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from families import Array, Store, Vectors
from fit_cases import Case, gather, strength
from fit_scores import fit_scores, show_figures, show_floors, show_scores, written
from recall_sets import load

from memory_mcp.ranking.order import LEXICAL, SEMANTIC, RankingModel

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
WORDS: Final = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
WORST_SHARE: Final = 0.5
"""How much the loss of the worst family counts beside the mean of all."""


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
        if one.golds and not one.small:
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


def fit_order(cases: Sequence[Case]) -> None:
    """The mixture, with what leaving each family out would have chosen."""
    mixtures = [ANCHOR, WORDS, *itertools.product(*GRID.values())]
    tables = {mixture: by_family(cases, mixture) for mixture in mixtures}
    for family in tables[ANCHOR]:
        other = chosen(tables, family)
        print(f"without {family:12} {other} gives it {tables[other][family].round(1)}")
    best = chosen(tables, "")
    for name, mixture in (("words", WORDS), ("anchor", ANCHOR), ("chosen", best)):
        print(name, {family: each.round(1).tolist() for family, each in tables[mixture].items()})
    print(dict(zip(GRID, best, strict=True)))


def fit(name: str, shipped: RankingModel, cases: Sequence[Case]) -> None:
    """What the scores would be, and what those that are shipped do."""
    answered = sum(one.golds > 0 for one in cases)
    print(f"\n{name}: {answered} answered of {len(cases)} questions")
    fitted = fit_scores(cases, shipped)
    print(written(name, fitted))
    show_floors(cases, fitted)
    print("as shipped:")
    show_floors(cases, shipped)
    show_figures(cases)
    show_scores(cases)


def main() -> None:
    """Read, fit, print."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--model", type=Path, help="without it, the ranking by words is fitted")
    reader.add_argument("--kept", type=Path, default=Path("vectors.pickle"))
    reader.add_argument("--locomo", type=Path, required=True)
    reader.add_argument("--sets", type=Path, required=True)
    reader.add_argument("--order", action="store_true", help="choose the mixture too (minutes)")
    given = reader.parse_args()
    sources = {
        "turns": load(given.locomo, "turns"),
        "facts": load(given.locomo, "facts"),
        **{path.stem: load(path) for path in sorted(given.sets.glob("*.json"))},
    }
    vectors = Vectors(given.model, given.kept) if given.model else None
    by_words = {f: [Store(each, None) for each in every] for f, every in sources.items()}
    fit("LEXICAL", LEXICAL, gather(by_words))
    if vectors:
        stores = {f: [Store(each, vectors) for each in every] for f, every in sources.items()}
        cases = gather(stores)
        vectors.keep()
        if given.order:
            fit_order(cases)
        fit("SEMANTIC", SEMANTIC, cases)


if __name__ == "__main__":
    main()
