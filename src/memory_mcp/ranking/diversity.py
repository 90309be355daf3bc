"""Choose results without near duplicates: maximal marginal relevance.

(Carbonell and Goldstein, SIGIR 1998.) Of two memories that say the same in other words, the second
gives its place to one that says something else.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Fields, Ranked

_LIKENESS_SHARE: Final = 0.3
"""How much being like what was chosen already counts against a score."""
_TWINS: Final = 0.9
"""From this likeness on, two memories say the same: the weaker is dropped."""


def choose_diverse(
    ranked: Sequence[Ranked],
    fields: Mapping[RecordId, Fields],
    limit: int,
    wholes: Mapping[RecordId, bytes],
) -> list[Ranked]:
    """At most `limit` of the ranked, each unlike those before it, still in the order of scores.

    `wholes` are their pooled vectors (int8), if they have any: likeness is that of words, or of
    meaning where that is more.
    """
    words = {each.id: frozenset(fields[each.id].body.split()) for each in ranked}
    vectors = {each.id: array("b", wholes[each.id]) for each in ranked if each.id in wholes}

    def likeness(one: RecordId, other: RecordId) -> float:
        both, either = words[one] & words[other], words[one] | words[other]
        overlap = len(both) / len(either) if either else 1.0
        if one in vectors and other in vectors:
            return max(overlap, _cosine(vectors[one], vectors[other]))
        return overlap

    left: list[Ranked] = list(ranked)
    nearest = dict.fromkeys(words, 0.0)
    chosen: list[Ranked] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda each: each.score - _LIKENESS_SHARE * nearest[each.id])
        chosen.append(best)
        rest: list[Ranked] = [each for each in left if each.id != best.id]
        for each in rest:
            nearest[each.id] = max(nearest[each.id], likeness(each.id, best.id))
        left = [each for each in rest if nearest[each.id] < _TWINS]
    return sorted(chosen, key=lambda each: -each.score)


def _cosine(one: Sequence[int], other: Sequence[int]) -> float:
    if len(one) != len(other):
        return 0.0
    lengths = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / lengths if lengths else 0.0
