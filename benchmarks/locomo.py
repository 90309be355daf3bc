"""LoCoMo: is the evidence of a question among the first results?

Maharana et al., ACL 2024 (CC BY-NC 4.0). Upstream scores retrieval by the share of a question's
evidence among the first k, and answers by F1; only the first is measured here, on the questions of
categories 1 to 4 (the fifth asks what was never said). A unit is a turn, or an observation, which
counts if any turn it was taken from is evidence.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from public_runs import Bench, Rows
from recall import measure_recall
from recall_metrics import DEFINITIONS
from recall_sets import Variant, load
from report import Table

__all__ = ["ABOUT", "measure"]

ABOUT: Final[Rows] = (
    ("set", "LoCoMo (Maharana et al., ACL 2024; snap-research/locomo; CC BY-NC 4.0)"),
    ("rule", "recall of the evidence, categories 1 to 4; the F1 of answers needs a language model"),
    *DEFINITIONS,
)


def measure(path: Path, bench: Bench) -> Iterable[Table]:
    """Turns, then observations."""
    variants: tuple[Variant, ...] = ("turns", "facts")
    for variant in variants:
        conversations = load(path, variant)[: bench.limit]
        folder = bench.folder / variant
        yield from measure_recall(
            variant, conversations, folder, modes=bench.modes, lender=bench.model_home
        )
