"""The figures of the ranking.

Mixture, level and found of SEMANTIC, and level and found of LEXICAL, are what `benchmarks/fit.py`
gives; it prints what it ran on. The mixture of LEXICAL and both floors (of those that the fit
prints, low ones) are chosen by the trials in `benchmarks/TRIALS.md`.
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
    level=Judgement(bias=-1.92, coverage=-2.86, company=4.47, known=1.5, meaning=0.0, pooled=0.0),
    behind=6.44,
    complete=-1.92,
    brief=8.06,
    found=Judgement(bias=-3.12, coverage=1.79, company=6.56, known=2.89, meaning=0.0, pooled=0.0),
    floor=-2.24,
)  # fmt: skip

SEMANTIC: Final = Model(
    Mixture(
        window=0.1, exact=0.5, company=0.5, meaning_window=0.4, pooled=0.2,
        names=0.1, asks=-0.05,
    ),
    level=Judgement(
        bias=-3.29, coverage=-1.64, company=2.03, known=0.34, meaning=5.36, pooled=-0.62
    ),
    behind=11.86,
    complete=-1.56,
    brief=5.55,
    found=Judgement(bias=-6.71, coverage=1.01, company=1.47, known=1.89, meaning=5.14, pooled=8.01),
    floor=-1.6,
)  # fmt: skip
