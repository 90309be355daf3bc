"""What a reader asks for: from where (`View`), which ones (`Filters`), and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.record import Kind, Record

__all__ = ["Candidate", "Filters", "Hit", "LexicalQuery", "Match", "View"]


@dataclass(frozen=True)
class View:
    """From where a question is asked: the segments on the chain, and the moment."""

    chain: frozenset[SegmentId]
    now: datetime


@dataclass(frozen=True)
class Filters:
    """Which records are wanted, applied before anything is ranked. Absent means any.

    `tags` must all be there; `kinds`, `segments` and `branches` are alternatives.
    """

    category: str = ""
    tags: tuple[str, ...] = ()
    kinds: frozenset[Kind] = frozenset()
    phase: int | None = None
    segments: frozenset[SegmentId] | None = None
    branch: BranchName | None = None
    durable: bool | None = None


@dataclass(frozen=True)
class LexicalQuery:
    """The words of a query, without the ones that say nothing, at most QUERY_TERMS_MAX."""

    terms: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A visible record that matched, before ranking.

    `relevance` is the index's own figure (BM25, higher is better), comparable only within one
    answer; `matched` are the positions of the query's terms that occur in the record.
    """

    id: RecordId
    relevance: float
    matched: frozenset[int]
    importance: int
    pinned: bool
    created_at: str


@dataclass(frozen=True)
class Match:
    """An index's answer: candidates, and how much each term of the query weighs (idf, > 0)."""

    candidates: tuple[Candidate, ...]
    weights: Mapping[int, float]


@dataclass(frozen=True)
class Hit:
    """A memory found, with its score in 0-1.

    `place` says where on the timeline it was written, if another machine wrote it and this is the
    first that was heard of it here.
    """

    record: Record
    score: float
    place: str = ""
