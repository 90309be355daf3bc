"""The figures of the ranking.

Level, behind, complete, brief and found are what `benchmarks/fit.py` gives for these mixtures; it
prints what it ran on, and what floors lose. The mixtures and the floors (of those that it prints,
low ones) are chosen by the trials in `benchmarks/TRIALS.md`.
"""

from dataclasses import dataclass
from typing import Final

__all__ = ["LEXICAL", "SEMANTIC", "Judgement", "Mixture", "Model"]


@dataclass(frozen=True)
class Mixture:
    """What each piece of evidence counts for the order.

    The words, and the meaning, count as they stand in the list: 1 for its best, 0 for its worst.
    How much words count follows the question: `window` always, `exact` times the share of names,
    numbers and days that some memory holds, `company` times that of words found together in one.
    """

    window: float
    exact: float
    company: float
    meaning_window: float
    pooled: float
    names: float
    asks: float


@dataclass(frozen=True)
class Judgement:
    """From evidence to a logit: what the best of the list has of each counts."""

    bias: float
    coverage: float
    company: float
    known: float
    meaning: float
    pooled: float


@dataclass(frozen=True)
class Model:
    """How one kind of search is ranked: by words alone, or by meaning too.

    `level` is the logit that the first hit is relevant; with each step behind it in strength the
    logit sinks by `behind`. A hit that has (nearly) all that the question asks for gains
    `complete`, and `brief` over the root of the number of words asked for: of two words both are
    meant, of twelve hardly all. `found` is the logit that anything was found at all: below `floor`
    the answer is empty.
    """

    mixture: Mixture
    level: Judgement
    behind: float
    complete: float
    brief: float
    found: Judgement
    floor: float


LEXICAL: Final = Model(
    Mixture(
        window=1.0, exact=0.0, company=0.0, meaning_window=0.0, pooled=0.0,
        names=0.15, asks=-0.1,
    ),
    level=Judgement(bias=-3.08, coverage=-3.23, company=5.09, known=2.49, meaning=0.0, pooled=0.0),
    behind=5.52,
    complete=-1.25,
    brief=7.59,
    found=Judgement(bias=-3.43, coverage=1.53, company=6.22, known=3.66, meaning=0.0, pooled=0.0),
    floor=-2.42,
)  # fmt: skip

SEMANTIC: Final = Model(
    Mixture(
        window=0.1, exact=0.5, company=0.5, meaning_window=0.4, pooled=0.2,
        names=0.1, asks=-0.05,
    ),
    level=Judgement(
        bias=-4.92, coverage=-2.04, company=2.19, known=1.13, meaning=5.62, pooled=0.87
    ),
    behind=10.72,
    complete=-1.7,
    brief=6.27,
    found=Judgement(bias=-6.95, coverage=1.38, company=1.38, known=1.72, meaning=5.57, pooled=8.28),
    floor=-1.6,
)  # fmt: skip
