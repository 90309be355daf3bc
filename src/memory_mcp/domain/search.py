"""What passes between the index and the ranking: what is searched, what was found, and how near."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memory_mcp.domain.ids import RecordId

__all__ = ["Candidate", "Corpus", "Fields", "Nearness", "Neighbour", "Ranked", "RerankWeights"]


class Fields(NamedTuple):
    """What of a record is searched: terms with spaces between them, as `ranking.analysis` has it.

    `body` is title and text, `names` who speaks, `dates` the days that are named or meant ("last
    week"), `extra` tags, category and the parts of identifiers. `day` is the day that the text
    itself says it is of (ISO), or empty.
    """

    body: str
    names: str = ""
    dates: str = ""
    extra: str = ""
    day: str = ""


class Candidate(NamedTuple):
    """A visible record that may be what is looked for, before ranking."""

    id: RecordId
    fields: Fields
    importance: int
    pinned: bool
    created_at: str


class Neighbour(NamedTuple):
    """A visible record written `steps` before (negative) or after a candidate `of` its session.

    It may be what is looked for itself, found by what stands beside it, unless it is not `wanted`:
    it does not pass the filters of the search.
    """

    of: RecordId
    steps: int
    id: RecordId
    fields: Fields
    importance: int = 3
    pinned: bool = False
    created_at: str = ""
    wanted: bool = True


@dataclass(frozen=True)
class Corpus:
    """The store as a whole: how many records it holds, and in how many each term occurs."""

    records: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Nearness:
    """How near records are in meaning.

    `pooled` is the cosine of question and record. `best` holds, for each token of the question,
    the best cosine with any token of the record; empty if the embedder gives no tokens. `spans`
    says which characters of the question each token is. Records that are not encoded (yet) are in
    neither mapping.
    """

    pooled: Mapping[RecordId, float]
    best: Mapping[RecordId, Sequence[float]]
    spans: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class Ranked:
    """A place in the answer: score in 0-1, and what it is made of (for `why`)."""

    id: RecordId
    score: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class RerankWeights:
    """What the user lets count for the order, in units of a logit (MEMORY_RERANK_WEIGHTS).

    With the usual figures importance, recency and pins break near ties and no more.
    """

    similarity: float = 1.0
    importance: float = 0.05
    recency: float = 0.05
    pinned: float = 0.1
