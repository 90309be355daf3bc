"""What a reader asks for, what is searched and found, and the vectors of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.profile import PROFILE_CATEGORY
from memory_mcp.domain.record import Kind, Reach, Record


@dataclass(frozen=True)
class View:
    """From where a question is asked: the segments on the chain, and the moment."""

    chain: frozenset[SegmentId]
    now: datetime


@dataclass(frozen=True)
class Filters:
    """Which records are wanted, applied before anything is ranked. Absent means any.

    `statement` asks for those that state exactly this (`Record.statement`), and for tombstones of
    what was rejected; `statements` for those of any of several. `tags` must all be there; `kinds`
    and `segments` are alternatives. `reach` says of which pool. `since` and `until` bound when it
    was written: from the one, and before the other; `session` says in which session, where the
    empty name is that of all who name none. `key` is a whole key, or its beginning with a `*` after
    it. Facts of the profile repeat what memories say, so they are left out unless their category,
    a key or a statement is asked for.
    """

    category: str = ""
    key: str = ""
    tags: tuple[str, ...] = ()
    kinds: frozenset[Kind] = frozenset()
    phase: int | None = None
    segments: frozenset[SegmentId] | None = None
    branch: BranchName | None = None
    durable: bool | None = None
    reach: Reach | None = None
    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    statement: str = ""
    statements: frozenset[str] = frozenset()

    @property
    def stating(self) -> bool:
        """Whether it is asked what is stated: tombstones count there, which no search finds."""
        return bool(self.statement or self.statements)

    @property
    def with_profile(self) -> bool:
        """Whether facts of the profile are wanted too."""
        return self.stating or bool(self.key) or self.category.casefold() == PROFILE_CATEGORY


@dataclass(frozen=True)
class Wish:
    """How the answer is to be chosen from what was found.

    `min_score` leaves out what is less likely relevant. `diverse` drops near twins of better hits.
    """

    min_score: float = 0.0
    diverse: bool = False


@dataclass(frozen=True)
class Hit:
    """A memory found, with its score in 0-1.

    `place` says where on the timeline it was written, if another machine wrote it and this is the
    first that was heard of it here. `parts` says what the score is made of.
    """

    record: Record
    score: float
    place: str = ""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])


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


@dataclass(frozen=True)
class Chunk:
    """The vectors of one stretch of a memory, as they rest in the index.

    `pooled` is the normalised vector of the whole stretch in int8 (times 127), one byte for each
    dimension. `tokens` holds one bit for each dimension of each token (1: positive after the mean
    token was taken off), packed big-endian, token after token; empty if the embedder gives none.
    """

    pooled: bytes
    tokens: bytes = b""


Passage = tuple[Chunk, ...]
"""The chunks of one memory, in order; never empty."""


@dataclass(frozen=True)
class QueryVectors:
    """The vectors of a question: float32, little-endian, normalised.

    `tokens` follow one another; `spans` says for each from which characters of the question it
    comes (start, end). Both are empty if the embedder gives none.
    """

    pooled: bytes
    tokens: bytes = b""
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ReadVectors:
    """The chunks of those records that are encoded, and how many rows were damaged."""

    passages: Mapping[RecordId, Passage]
    damaged: int = 0
