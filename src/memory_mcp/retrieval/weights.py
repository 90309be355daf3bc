"""The figures of the ranking. Fitted by `benchmarks/fit.py`, which prints what it ran on."""

from dataclasses import dataclass
from typing import Final

__all__ = ["LEXICAL", "SEMANTIC", "Calibration", "Mixture"]


@dataclass(frozen=True)
class Mixture:
    """What each piece of evidence counts for the order.

    Words, window, meaning and pooled are first stretched over the list (its best is 1, its worst
    0); names, days and being a question count as they are.
    """

    words: float
    window: float
    meaning: float
    meaning_window: float
    pooled: float
    names: float
    dates: float
    asks: float


@dataclass(frozen=True)
class Calibration:
    """From order and evidence to the logit of being relevant."""

    bias: float
    strength: float
    coverage: float
    meaning: float


@dataclass(frozen=True)
class Model:
    """How one kind of search is ranked: by words alone, or by meaning too."""

    mixture: Mixture
    calibration: Calibration


LEXICAL: Final = Model(
    Mixture(
        words=0.3, window=0.7, meaning=0.0, meaning_window=0.0, pooled=0.0,
        names=0.05, dates=0.0, asks=-0.05,
    ),
    Calibration(bias=-6.0, strength=4.0, coverage=4.0, meaning=0.0),
)  # fmt: skip

SEMANTIC: Final = Model(
    Mixture(
        words=0.0, window=0.4, meaning=0.0, meaning_window=0.4, pooled=0.2,
        names=0.05, dates=0.0, asks=-0.05,
    ),
    Calibration(bias=-9.0, strength=4.0, coverage=2.0, meaning=6.0),
)  # fmt: skip
