"""One order out of several: reciprocal rank fusion.

Scores of different searches cannot be compared, ranks can: an id earns 1 / (60 + rank) from each
list that it is in (Cormack, Clarke and Büttcher, SIGIR 2009; 60 is their figure).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from memory_mcp.domain.ids import RecordId

__all__ = ["fuse"]

_RANK_OFFSET: Final = 60


def fuse(*lists: Sequence[RecordId]) -> list[RecordId]:
    """Every id once, best first; of equals the one of the earlier list."""
    earned: dict[RecordId, Fraction] = {}  # rounded sums of equals would not be equal
    for ids in lists:
        for rank, record_id in enumerate(dict.fromkeys(ids), start=1):
            earned[record_id] = earned.get(record_id, 0) + Fraction(1, _RANK_OFFSET + rank)
    return sorted(earned, key=lambda record_id: -earned[record_id])
