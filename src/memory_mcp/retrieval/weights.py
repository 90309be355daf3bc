"""The figures of the ranking.

Level, behind, brief and found are what `benchmarks/fit.py` gives for these mixtures; it prints what
it ran on, and what floors lose. The mixtures and the floors (of those that it prints, low ones) are
chosen by the trials in `benchmarks/TRIALS.md`.
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
    """From evidence to a logit: what the best of the list has of each counts.

    The best of a thousand is near to any question, the best of three is not: `few` is by how much
    less evidence is enough in a small store.
    """

    bias: float
    coverage: float
    company: float
    known: float
    few: float
    meaning: float
    pooled: float


@dataclass(frozen=True)
class Model:
    """How one kind of search is ranked: by words alone, or by meaning too.

    `level` is the logit that the first hit is relevant; with each step behind it in strength the
    logit sinks by `behind`. A hit that has (nearly) all that the question asks for gains `brief`
    over the root of the number of words asked for: of two words both are meant, of twelve hardly
    all. `found` is the logit that anything was found at all: below `floor` the answer is empty.
    """

    mixture: Mixture
    level: Judgement
    behind: float
    brief: float
    found: Judgement
    floor: float


LEXICAL: Final = Model(
    Mixture(
        window=1.0, exact=0.0, company=0.0, meaning_window=0.0, pooled=0.0,
        names=0.15, asks=-0.1,
    ),
    level=Judgement(
        bias=-4.41, coverage=0.0, company=3.92, known=2.15, few=0.43, meaning=0.0, pooled=0.0
    ),
    behind=8.70,
    brief=4.54,
    found=Judgement(
        bias=-5.09, coverage=3.11, company=5.41, known=3.7, few=0.83, meaning=0.0, pooled=0.0
    ),
    floor=-2.34,
)  # fmt: skip

SEMANTIC: Final = Model(
    Mixture(
        window=0.1, exact=0.5, company=0.5, meaning_window=0.4, pooled=0.2,
        names=0.1, asks=-0.05,
    ),
    level=Judgement(
        bias=-5.81, coverage=0.0, company=0.73, known=0.21, few=0.36, meaning=6.19, pooled=1.51
    ),
    behind=12.30,
    brief=3.70,
    found=Judgement(
        bias=-8.42, coverage=1.96, company=0.9, known=1.33, few=0.51, meaning=7.24, pooled=9.57
    ),
    floor=-2.1,
)  # fmt: skip
