"""Adds up learnt figures: how much each feature of a thing speaks for a yes.

The figures lie as JSON under the `data/` of the package that uses them; `tools/` learns them of
labelled cases. That of "" holds always.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

__all__ = ["Features", "load_figures", "weigh"]

Features = Mapping[str, float]


def weigh(features: Features, weights: Mapping[str, float]) -> float:
    """The logit of what has these features."""
    return weights.get("", 0.0) + sum(
        weights[name] * value for name, value in features.items() if name in weights
    )


@cache
def load_figures(package: str, name: str) -> Any:
    """The figures of that name, parsed."""
    import json  # noqa: PLC0415  # a server's start reads no table
    from pkgutil import get_data  # noqa: PLC0415

    return json.loads(get_data(package, f"data/{name}.json") or b"")
