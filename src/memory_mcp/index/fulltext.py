"""Which FTS5 queries find the best records for some terms without scoring every match.

Scoring is what a search costs, and most matches hold nothing but a common word. So a term finds
records on its own only while it is rare; commoner ones find them in company, and on their own only
if nothing better is left. Every term counts for every record that was found.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

__all__ = ["any_of", "searches", "trigrams"]


def any_of(terms: Sequence[str]) -> str:
    """An FTS5 query that holds nothing but words."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def trigrams(term: str) -> list[str]:
    """Every three characters of a term that follow one another; none of a shorter one."""
    return sorted({term[i : i + 3] for i in range(len(term) - 2)})


def searches(counts: Mapping[str, int], matches_max: int) -> list[str]:
    """FTS5 queries that share no match and together find every record with a term; best first.

    `counts` says in how many records each term occurs. The first query has at most `matches_max`
    matches, unless even the two rarest terms are commoner than that together.
    """
    rising = sorted((n, term) for term, n in counts.items() if n)
    running = accumulate(count for count, _ in rising)
    alone = [
        term for (_, term), matches in zip(rising, running, strict=True) if matches <= matches_max
    ]
    common = [term for _, term in rising[len(alone) :]]
    if not common:
        return [any_of(alone)] if alone else []
    if not alone and len(common) == 1:
        return [any_of(common)]
    first = any_of(alone) or f"{any_of(common[:1])} AND ({any_of(common[1:])})"
    # the second half of the first query demands nothing: it lets the common terms count
    return [f"({first}) AND ({any_of([*alone, *common])})", f"({any_of(common)}) NOT ({first})"]
