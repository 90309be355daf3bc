"""The figures of the scores, fitted: what makes a hit likely, and when nothing was found.

Two small logistic regressions. `level`, `behind` and `brief` are of the first ten hits,
in the order that they give themselves (so they are fitted a few times); `found` is of the best of
each list. Families weigh the same, questions without an answer a third of all.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Final

import numpy as np
from families import Array
from fit_cases import JUDGED, Case, strength

from memory_mcp.ranking.order import LogitWeights, RankingModel

__all__ = ["fit_scores", "show_figures", "show_floors", "show_scores", "written"]

_ROUNDS: Final = 4
_HITS: Final = 10
_MOST: Final = 0.6
"""As `ranking.py` has it."""
_OF_WORDS: Final = JUDGED.index("meaning_window")
_NOTHING: Final = "nothing"
_NOTHING_SHARE: Final = 1 / 3
_FLOORS_LOSE: Final = (0.001, 0.002, 0.005, 0.01, 0.02)


def fit_scores(cases: Sequence[Case], shipped: RankingModel) -> RankingModel:
    """The model with its order as it is, and its scores as these cases have them."""
    model = shipped
    for _ in range(_ROUNDS):
        model = _hits(cases, model)
    return replace(model, found=_found(cases, model))


def _hits(cases: Sequence[Case], model: RankingModel) -> RankingModel:
    """Level and what each hit adds to it, from the first hits of each list."""
    rows: list[list[float]] = []
    truth: list[float] = []
    of: list[str] = []
    for one in cases:
        strengths = strength(one, astuple(model.mixture))
        whole = np.maximum(0.0, (one.coverage - _MOST) / (1 - _MOST))
        whole /= math.sqrt(max(1, one.words))
        total = model.behind * strengths + model.brief * whole
        for place in np.argsort(-total, kind="stable")[:_HITS]:
            behind = float(strengths[place] - strengths.max())
            rows.append([*_seen(one, model), behind, float(whole[place])])
            truth.append(float(one.gold[place]))
            of.append(_family(one))
    fitted = _logistic(np.array(rows), np.array(truth), _balanced(of))
    *level, behind, brief = fitted
    return replace(model, level=_judgement(level), behind=behind, brief=brief)


def _found(cases: Sequence[Case], model: RankingModel) -> LogitWeights:
    """From the best of the list to the logit that anything was found at all."""
    told = [one for one in cases if (one.gold.any() if one.golds else len(one.gold))]
    rows = np.array([_seen(one, model) for one in told])
    truth = np.array([float(one.golds > 0) for one in told])
    return _judgement(_logistic(rows, truth, _balanced([_family(one) for one in told])))


def show_floors(cases: Sequence[Case], model: RankingModel) -> None:
    """What floors of `found` lose, and what they empty; its own floor last."""
    told = [one for one in cases if not one.golds or one.gold.any()]
    bias, *counts = astuple(model.found)
    logits = np.array(
        [math.inf if one.literal else bias + float(np.dot(counts, one.judged)) for one in told]
    )
    answered = np.array([one.golds > 0 for one in told])
    whole = np.array([not one.small for one in told])
    every = np.ones_like(whole)
    weights = np.where(answered, _balanced([_family(one) for one in told]), 0.0)
    order = np.argsort(np.where(answered, logits, np.inf), kind="stable")
    lost = np.cumsum(weights[order])
    floors = [float(logits[order][np.searchsorted(lost, s * lost[-1])]) for s in _FLOORS_LOSE]
    for floor in (*floors, model.floor):
        kept = float(weights[logits < floor].sum() / weights.sum())
        count, lost_whole = (int((answered & of & (logits < floor)).sum()) for of in (every, whole))
        empty, wholly = (float(np.mean(logits[~answered & of] < floor)) for of in (every, whole))
        print(
            f"  floor {floor:.2f}: loses {kept:.1%} ({count}; of whole stores {lost_whole}), "
            f"empties {empty:.0%} of the rest (of whole stores {wholly:.0%})"
        )


def show_scores(cases: Sequence[Case]) -> None:
    """How far the scores of the shipped ranking are to be trusted: ten bins of its first ten."""
    weights = _balanced([_family(one) for one in cases])
    shown = np.array(
        [
            (score, good, weight)
            for one, weight in zip(cases, weights, strict=True)
            for good, score in one.answer[:_HITS]
        ]
    )
    bins = np.minimum(9, np.floor(10 * shown[:, 0]))
    error = 0.0
    print("  score     count  mean  relevant")
    for each in range(10):
        score, good, weight = shown[bins == each].T
        if len(score):
            mean, share = np.average(score, weights=weight), np.average(good, weights=weight)
            error += weight.sum() * abs(mean - share) / shown[:, 2].sum()
            print(
                f"  {each / 10:.1f}-{(each + 1) / 10:.1f} {len(score):8} {mean:5.2f} {share:9.2f}"
            )
    print(f"  calibration error {error:.3f}")
    for family in dict.fromkeys(map(_family, cases)):
        of = [one.answer for one in cases if _family(one) == family]
        first = np.array([each[0] for each in of if each])
        if len(first):
            mean, share = first[:, 1].mean(), first[:, 0].mean()
            high = int((first[:, 1] > 0.5).sum())
            print(
                f"  {family:13} first hit: score {mean:.2f}, relevant {share:.2f}, "
                f"above a half {high} of {len(of)}, empty {len(of) - len(first)}"
            )


def show_figures(cases: Sequence[Case]) -> None:
    """R@5, R@10 and the reciprocal rank of the shipped ranking, by family, in hundredths."""
    for family in dict.fromkeys(one.family for one in cases):
        rows: list[tuple[float, float, float]] = []
        for one in cases:
            if one.family == family and one.golds and not one.small:
                hits = [good for good, _ in one.answer[:_HITS]]
                first = 1 / (hits.index(True) + 1) if any(hits) else 0.0
                rows.append((sum(hits[:5]) / one.golds, sum(hits) / one.golds, first))
        if rows:
            figures = " / ".join(f"{100 * each:.1f}" for each in np.mean(rows, axis=0))
            print(f"  {family:13} {figures}  ({len(rows)})")


def written(name: str, model: RankingModel) -> str:
    """As `weights.py` has it."""

    def judged(one: LogitWeights) -> str:
        return ", ".join(f"{field}={round(value, 2)}" for field, value in vars(one).items())

    return (
        f"{name}: level=Judgement({judged(model.level)}),\n"
        f"  behind={model.behind:.2f}, brief={model.brief:.2f},\n"
        f"  found=Judgement({judged(model.found)})"
    )


def _seen(one: Case, model: RankingModel) -> list[float]:
    """What of the best of the list is judged: without an embedder, its words only."""
    return one.judged.tolist() if model.mixture.meaning_window else one.judged[:_OF_WORDS].tolist()


def _judgement(fitted: Sequence[float]) -> LogitWeights:
    return LogitWeights(*fitted, *[0.0] * (len(JUDGED) + 1 - len(fitted)))


def _family(one: Case) -> str:
    return one.family if one.golds else _NOTHING


def _logistic(rows: Array, truth: Array, weights: Array) -> list[float]:
    """Ridge logistic regression; the first coefficient is the bias, the others are not negative.

    More evidence never makes a hit less likely: what would count against it counts nothing.
    """
    rows = np.column_stack([np.ones(len(rows)), rows])
    counts = np.ones(rows.shape[1], bool)
    while True:
        found = np.zeros(rows.shape[1])
        found[counts] = _newton(rows[:, counts], truth, weights)
        least = 1 + int(np.argmin(found[1:]))
        if found[least] >= 0:
            return found.tolist()
        counts[least] = False


def _newton(rows: Array, truth: Array, weights: Array) -> Array:
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


def _balanced(of: Sequence[str]) -> Array:
    """A weight for each: every family the same, `nothing` its share of them all."""
    count = {family: of.count(family) for family in dict.fromkeys(of)}
    families = len(count) - (_NOTHING in count)
    nothing = families * _NOTHING_SHARE / (1 - _NOTHING_SHARE)
    weights = np.array([(nothing if f == _NOTHING else 1.0) / count[f] for f in of])
    return weights * len(of) / weights.sum()
