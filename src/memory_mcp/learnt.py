"""Adds up learnt figures: how much each feature of a thing speaks for a yes.

The figures lie as JSON under the `data/` of the package that uses them, as its tables do; `tools/`
learns them of labelled cases. That of "" holds always.
"""

import math
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

__all__ = ["Features", "load_figures", "measure_likelihoods", "read_data", "weigh"]

Features = Mapping[str, float]
_Key = TypeVar("_Key")


def weigh(features: Features, weights: Mapping[str, float]) -> float:
    """The logit of what has these features."""
    return weights.get("", 0.0) + sum(
        weights[name] * value for name, value in features.items() if name in weights
    )


def measure_likelihoods(logits: Mapping[_Key, float], none: float) -> dict[_Key, float]:
    """How likely each of these is the one, if it may be none of them, which has the last logit."""
    highest = max((none, *logits.values()))
    odds = {key: math.exp(logit - highest) for key, logit in logits.items()}
    total = sum(odds.values()) + math.exp(none - highest)
    return {key: each / total for key, each in odds.items()}


@cache
def load_figures(package: str, name: str) -> Any:
    """The figures of that name, parsed."""
    import json  # noqa: PLC0415  # a server's start reads no table

    return json.loads(read_data(package, f"{name}.json"))


def read_data(package: str, name: str) -> bytes:
    """A file of a package's `data/`, read as `pkgutil` would, whose import takes longer."""
    module: Any = sys.modules[package]
    return module.__loader__.get_data(f"{module.__path__[0]}/data/{name}")
