"""The figures of the ranking. Fitted by `benchmarks/fit.py`, which prints what it ran on."""

from dataclasses import dataclass
from typing import Final

__all__ = ["LEXICAL", "SEMANTIC", "Calibration", "Mixture", "Model"]


@dataclass(frozen=True)
class Mixture:
    """What each piece of evidence counts for the order; all evidence is in 0-1."""

    words: float = 0.0
    window: float = 0.0
    meaning: float = 0.0
    meaning_window: float = 0.0
    pooled: float = 0.0
    names: float = 0.0
    asks: float = 0.0


@dataclass(frozen=True)
class Calibration:
    """From what speaks for one candidate, and for the best of all, to the logit of relevance."""

    bias: float
    strength: float
    gap: float
    """How far behind the strongest a candidate is."""
    coverage: float
    """The most of the question's words that a candidate has."""


@dataclass(frozen=True)
class Model:
    """How one kind of search is ranked: by words alone, or by meaning too."""

    mixture: Mixture
    calibration: Calibration
    floor: float
    """Below this logit of the best, nothing was found."""


LEXICAL: Final = Model(
    Mixture(window=1.0, names=0.1, asks=-0.05),
    Calibration(bias=-4.0, strength=6.0, gap=-8.0, coverage=2.0),
    floor=-4.0,
)

SEMANTIC: Final = Model(
    Mixture(window=0.4, meaning_window=0.8, pooled=0.3, names=0.05, asks=-0.05),
    Calibration(bias=-5.0, strength=6.0, gap=-8.0, coverage=2.0),
    floor=-4.0,
)
