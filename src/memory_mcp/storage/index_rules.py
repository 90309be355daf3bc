"""What the indexes in SQLite and in PostgreSQL do alike, besides SQL (`storage.visibility`)."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from math import log
from typing import Any, Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import QUERY_TERMS_MAX, SESSION_PAUSE_SECONDS_MAX
from memory_mcp.domain.search import Candidate, CorpusStatistics, Neighbour, SearchFields

MATCHES_MAX: Final = 1_000
"""Matches that one search scores, the newest first. This bounds what a search costs."""
NEAREST: Final = 4
"""Ids shown on each side of a mistyped one."""
STEPS: Final = 2
"""Neighbours on each side of a record."""
SPELLINGS_MAX: Final = 30

_RARITY_MIN: Final = 1e-6


def make_candidate(row: Sequence[Any]) -> Candidate:
    """The candidate in a row of an index."""
    id_, importance, pinned, created_at, day, body, names, dates, extra, meaning, outline = row
    fields = SearchFields(body, names, dates, extra, day, meaning, outline)
    return Candidate(RecordId(id_), fields, importance, bool(pinned), created_at)


def make_neighbours(
    rows: Iterable[Sequence[Any]], make: Callable[[Sequence[Any]], Candidate] = make_candidate
) -> list[Neighbour]:
    """The neighbours in rows of `around`, except those on the other side of a pause.

    A row says of which record it is one, how many steps away, when that was written, and whether it
    is wanted; the columns that `make` takes follow.
    """
    pause_max = timedelta(seconds=SESSION_PAUSE_SECONDS_MAX)
    return [
        Neighbour(of=RecordId(of), steps=steps, wanted=bool(wanted), **there._asdict())
        for of, steps, at, wanted, *rest in rows
        for there in [make(rest)]
        if abs(datetime.fromisoformat(at) - datetime.fromisoformat(there.created_at)) <= pause_max
    ]


def group_orders(rows: Iterable[Sequence[str]]) -> dict[RecordId, set[RecordId]]:
    """The records that order each erasure, in rows of both; '' is no record."""
    found: dict[RecordId, set[RecordId]] = {}
    for target, eraser in rows:
        found.setdefault(RecordId(target), set()).update([RecordId(eraser)] if eraser else ())
    return found


def split_trigrams(term: str) -> list[str]:
    """Every three consecutive characters of a term."""
    return sorted({term[i : i + 3] for i in range(len(term) - 2)})


def weigh_terms(
    terms: Collection[str], corpus: CorpusStatistics
) -> tuple[dict[str, int], dict[str, float]]:
    """Of the rarest known terms, in how many records each is, and how much it says.

    That is the inverse document frequency; what is in most records still counts a little.
    """
    known = sorted((n, term) for term in set(terms) if (n := corpus.counts.get(term, 0)))
    counts = {term: n for n, term in known[:QUERY_TERMS_MAX]}
    odds = {term: (corpus.records - n + 0.5) / (n + 0.5) for term, n in counts.items()}
    return counts, {term: max(log(max(each, 1)), _RARITY_MIN) for term, each in odds.items()}


def split_terms(counts: Mapping[str, int], matches_max: int) -> tuple[list[str], list[str]]:
    """The rare terms, which together have `matches_max` matches at most, and the common ones.

    `counts` says in how many records each term occurs. Both begin with the rarest.
    """
    rising = sorted((n, term) for term, n in counts.items() if n)
    running = accumulate(count for count, _ in rising)
    rare = sum(matches <= matches_max for matches in running)
    terms = [term for _, term in rising]
    return terms[:rare], terms[rare:]
