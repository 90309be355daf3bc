"""What the figures of recall are. Pure: an order of ids and the ids that are right, a number out.

`R@k` means three things in this field. Here it is the mean fraction of the gold evidence among the
first k; whether any of it is there is `hit@k`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

__all__ = ["DEFINITIONS", "Figures", "K", "figures", "hit_at", "mean", "ndcg_at", "recall_at", "rr"]

K: Final = 10
"""As many as `search_memories` returns at most."""

DEFINITIONS: Final = (
    (
        "R@5, R@10",
        "fraction of a question's gold units among the first 5 or 10, mean over questions",
    ),
    ("hit@10", "share of questions with any gold unit among the first 10"),
    ("MRR", "1 / place of the first gold unit (0 beyond 10), mean"),
    ("nDCG@10", "gold units discounted by log2(place + 1), by what the best order would get, mean"),
)


@dataclass(frozen=True)
class Figures:
    """How good one order is for one question, or the mean over some."""

    r5: float
    r10: float
    hit: float
    rr: float
    ndcg: float


def recall_at(k: int, ranked: Sequence[str], gold: frozenset[str]) -> float:
    """The fraction of the gold units that is among the first k."""
    return len(gold.intersection(ranked[:k])) / len(gold)


def hit_at(k: int, ranked: Sequence[str], gold: frozenset[str]) -> float:
    """1 if any gold unit is among the first k."""
    return float(not gold.isdisjoint(ranked[:k]))


def rr(ranked: Sequence[str], gold: frozenset[str]) -> float:
    """The reciprocal of the place of the first gold unit; 0 if it is not among the first ten."""
    return next((1 / place for place, unit in enumerate(ranked[:K], 1) if unit in gold), 0.0)


def ndcg_at(k: int, ranked: Sequence[str], gold: frozenset[str]) -> float:
    """Discounted gain with gains of 0 and 1, as a share of the best that could be had."""
    gained = sum(1 / math.log2(place + 1) for place, u in enumerate(ranked[:k], 1) if u in gold)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(gold)) + 1))
    return gained / best


def figures(ranked: Sequence[str], gold: frozenset[str]) -> Figures:
    """All of them, for one question that has an answer."""
    return Figures(
        r5=recall_at(5, ranked, gold),
        r10=recall_at(K, ranked, gold),
        hit=hit_at(K, ranked, gold),
        rr=rr(ranked, gold),
        ndcg=ndcg_at(K, ranked, gold),
    )


def mean(each: Iterable[Figures]) -> Figures:
    """The mean over questions, each counting the same."""
    some = list(each)
    return Figures(
        r5=fmean(one.r5 for one in some),
        r10=fmean(one.r10 for one in some),
        hit=fmean(one.hit for one in some),
        rr=fmean(one.rr for one in some),
        ndcg=fmean(one.ndcg for one in some),
    )
