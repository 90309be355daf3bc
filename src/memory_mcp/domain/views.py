"""What a reader asks for: from where (`View`), which ones (`Filters`), and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.ids import BranchName, SegmentId
from memory_mcp.domain.profile import PROFILE_CATEGORY
from memory_mcp.domain.record import Kind, Record

__all__ = ["Filters", "Hit", "View", "Wish"]


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
