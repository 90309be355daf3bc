"""Values of a search: views, filters, candidates, scores, and the vectors of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Final, NamedTuple

from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.profile import PROFILE_CATEGORY
from memory_mcp.domain.record import Kind, Layer, Reach, Record
from memory_mcp.frozen import frozen


@frozen
class View:
    """From where a reader looks: the segments on the chain, and the time.

    `away` are those of the chain that do not stand here: what is written there replaces and hides
    nothing of the rest.
    """

    chain: frozenset[SegmentId]
    now: datetime
    away: frozenset[SegmentId] = frozenset()


@frozen
class Filters:
    """Which records are wanted, applied before anything is ranked. Absent means any.

    - `tags` must all be there; `kinds` and `segments` are alternatives; of `away` none is.
    - `key` is a whole key, or the beginning of one followed by `*`.
    - `since` (inclusive) and `until` (exclusive) bound when the record was written.
    - `session` is where it was written; the empty name is that of all who name none.
    - `reach` chooses the bank.
    - `layer` is one of a node's layers; any memory is in one.
    - `citing`: only what cites code.
    - `history`: also what was replaced, hidden or has expired on the chain, and the tombstones.
    - `statement` is the digest of what it states (`Record.statement`), tombstones of rejected
      statements included; `statements` are alternatives.

    Facts of the profile repeat what memories say, so they are left out unless their category, a key
    or a statement is asked for.
    """

    category: str = ""
    key: str = ""
    tags: tuple[str, ...] = ()
    kinds: frozenset[Kind] = frozenset()
    phase: int | None = None
    segments: frozenset[SegmentId] | None = None
    away: frozenset[SegmentId] = frozenset()
    branch: BranchName | None = None
    durable: bool | None = None
    reach: Reach | None = None
    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    statement: str = ""
    statements: frozenset[str] = frozenset()
    layer: Layer | None = None
    citing: bool = False
    history: bool = False

    @property
    def by_kind_alone(self) -> bool:
        """Whether nothing is asked for but kinds, and whether they are durable."""
        rest = replace(self, kinds=frozenset(), durable=None, reach=None)
        return rest == Filters()

    @property
    def by_statement(self) -> bool:
        """Whether records are asked for by statement: then tombstones count, too."""
        return bool(self.statement or self.statements)

    @property
    def includes_profile(self) -> bool:
        """Whether facts of the profile are wanted, too."""
        return self.by_statement or bool(self.key) or self.category.casefold() == PROFILE_CATEGORY


@frozen
class IdSummary:
    """The xor of the marks of all ids (`ids.mark_id`), and the newest id before some bound."""

    newest: str
    marks: int


@frozen
class Wanted:
    """The newest records that pass the filters; with `best`, the pinned and important first."""

    filters: Filters
    limit: int
    best: bool = False


class Stated(NamedTuple):
    """The visible records that state one thing, and the xor of the marks of all that do.

    The `mark` changes with each of them, on whatever line it stands.
    """

    statement: str
    ids: list[RecordId]
    mark: int


@frozen
class SelectionOptions:
    """How hits are selected: none below `min_score`; `diverse` drops near twins of better ones.

    `outstanding`: of what is near in meaning only what is nearer than most, or likely meant.
    """

    min_score: float = 0.0
    diverse: bool = False
    outstanding: bool = False


class Passage(NamedTuple):
    """A part of a memory's text, from character `start` up to `end`."""

    text: str
    start: int
    end: int


@frozen
class Hit:
    """A memory found, with its score (0-1), and what the score is made of (`parts`).

    Where no words were asked for there is none: the newest are as likely meant as any.
    `agreement` is what put it in its order (`RankedCandidate`).
    `place` says where on the timeline it was written, if another machine wrote it and it is not
    stored here yet. `outdated_by` is the visible memory that brings it up to date; `disputed_with`
    are those that contradict it, where nothing says who is right. `by_question`: it is outdated as
    an answer to this question, and may hold otherwise. `passage` is the part of a long
    memory that matched, `same_words` are the words of the question that it holds. `by` is the
    member who wrote it, if that is not the user. `standing` says in a word why it may not hold for
    the code as it is here, `cites` what became of what it cites.
    """

    record: Record
    score: float | None = None
    place: str = ""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    agreement: float | None = None
    outdated_by: RecordId | None = None
    by_question: bool = False
    disputed_with: tuple[RecordId, ...] = ()
    passage: Passage | None = None
    same_words: tuple[str, ...] = ()
    by: str = ""
    standing: str = ""
    cites: tuple[str, ...] = ()

    @property
    def excerpt(self) -> Record:
        """The record, of a long one the passage alone: for where each memory has a line."""
        if self.passage is None:
            return self.record
        return self.record.model_copy(update={"content": self.passage.text})


class SearchFields(NamedTuple):
    """The searchable terms of a record, separated by spaces, as `ranking.analysis` makes them.

    `body` is title and text, `names` the speakers, `dates` the days named or meant ("last week"),
    `extra` tags, category and the parts of identifiers. `day` (ISO, or empty) is the day that the
    text says it is of. `meaning` is what the body means by the table of related words, packed by
    `words.table`, `outline` what it states, packed by `text.truths`: made once when a record is
    indexed, instead of at every search.
    """

    body: str
    names: str = ""
    dates: str = ""
    extra: str = ""
    day: str = ""
    meaning: bytes = b""
    outline: bytes = b""


class Candidate(NamedTuple):
    """A visible record that may answer the question, before ranking."""

    id: RecordId
    fields: SearchFields
    importance: int
    pinned: bool
    created_at: str


class Neighbour(NamedTuple):
    """A visible record written `steps` after (negative: before) the candidate `of` its session.

    It is a candidate itself if it passes the filters of the search (`wanted`).
    """

    of: RecordId
    steps: int
    id: RecordId
    fields: SearchFields
    importance: int = 3
    pinned: bool = False
    created_at: str = ""
    wanted: bool = True


@frozen
class CorpusStatistics:
    """How many records the index holds, and in how many of them each term occurs."""

    records: int
    counts: Mapping[str, int]


@frozen
class SemanticScores:
    """How near records are to a question in meaning. Records without vectors are in no mapping.

    `pooled` is the cosine of question and record. `best` holds, for each token of the question, the
    best cosine with a token of the record; empty if the embedder gives no tokens. `spans` are the
    characters of the question that each token covers.
    """

    pooled: Mapping[RecordId, float]
    best: Mapping[RecordId, Sequence[float]]
    spans: Sequence[tuple[int, int]] = ()


PARTS: Final = (
    "words", "tokens", "whole", "names", "asks", "asked", "label", "phase", "decided", "run",
    "level", "importance", "recency", "pinned", "scale",
)  # fmt: skip
"""What a logit is the sum of. `level` is negative: what it takes to be as likely as not. `scale` is
what it takes from there to the score, which compares queries with each other."""


@frozen
class RankedCandidate:
    """A candidate with its score (0-1), and the pieces of its logit, in the order of `PARTS`.

    `agreement` (0-1) is what puts candidates in order: it compares those of one query. The score
    means the same for a word and for a long question. `met` is how well it meets each part of the
    query, as a share of the whole.
    """

    id: RecordId
    score: float
    pieces: Sequence[float] = ()
    agreement: float = 0.0
    met: Sequence[float] = ()

    @property
    def parts(self) -> dict[str, float]:
        """What the score is made of (for `why`)."""
        named = zip(PARTS, self.pieces, strict=False)
        return {name: rounded for name, piece in named if (rounded := round(piece, 4))}


@frozen
class RerankWeights:
    """The weights of ranking, in units of a logit (MEMORY_RERANK_WEIGHTS).

    By default importance, recency and pins only break near ties.
    """

    similarity: float = 1.0
    importance: float = 0.05
    recency: float = 0.05
    pinned: float = 0.1


@frozen
class Chunk:
    """The vectors of one stretch of a memory, as the index stores them.

    `pooled` is the normalised vector of the stretch in int8 (times 127), a byte per dimension.
    `tokens` holds a bit per dimension of each token (1: positive after the mean token is
    subtracted), packed big-endian, token after token; empty if the embedder gives none.
    """

    pooled: bytes
    tokens: bytes = b""


PassageVectors = tuple[Chunk, ...]
"""The chunks of one memory, in order; never empty."""


@frozen
class QueryVectors:
    """The vectors of a question: float32, little-endian, normalised.

    `tokens` follow one another; `spans` are the characters (start, end) of the question that each
    covers. Both are empty if the embedder gives none.
    """

    pooled: bytes
    tokens: bytes = b""
    spans: tuple[tuple[int, int], ...] = ()


@frozen
class StoredVectors:
    """The chunks of the encoded records, and how many rows were damaged."""

    passages: Mapping[RecordId, PassageVectors]
    damaged: int = 0
