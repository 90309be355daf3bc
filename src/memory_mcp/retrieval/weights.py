"""The figures of the ranking. Fitted by `benchmarks/fit.py`, which prints what it ran on."""

from dataclasses import dataclass
from typing import Final

__all__ = ["LEXICAL", "SEMANTIC", "Calibration", "Mixture", "Model"]


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
class Calibration:
    """From place and evidence to the logit of being relevant."""

    bias: float
    strength: float
    coverage: float
    company: float
    meaning: float


@dataclass(frozen=True)
class Model:
    """How one kind of search is ranked: by words alone, or by meaning too."""

    mixture: Mixture
    calibration: Calibration
    floor: float
    """Below this logit of the best, nothing was found."""


LEXICAL: Final = Model(
    Mixture(
        window=1.0, exact=0.0, company=0.0, meaning_window=0.0, pooled=0.0,
        names=0.2, asks=-0.1,
    ),
    Calibration(bias=-8.0, strength=6.0, coverage=2.0, company=2.0, meaning=0.0),
    floor=-20.0,
)  # fmt: skip

SEMANTIC: Final = Model(
    Mixture(
        window=0.1, exact=0.3, company=0.5, meaning_window=0.4, pooled=0.2,
        names=0.1, asks=-0.05,
    ),
    Calibration(bias=-12.0, strength=6.0, coverage=1.0, company=1.0, meaning=8.0),
    floor=-20.0,
)  # fmt: skip
