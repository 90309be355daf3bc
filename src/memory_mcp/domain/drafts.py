"""What a caller hands in, before anything was checked."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.record import Kind, Lineage, Origin, Scope

__all__ = ["Draft", "Reach", "Writing"]

Reach = Literal["project", "user"]
"""Whose memory it is to be: this project's, or the user's in every project."""


@dataclass(frozen=True)
class Draft:
    """A memory as proposed."""

    content: str
    kind: Kind = "fact"
    title: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    importance: int = 3
    pinned: bool = False
    expires_at: datetime | None = None
    phase: int | None = None
    supersedes: tuple[str, ...] = ()
    reach: Reach = "project"


@dataclass(frozen=True)
class Writing:
    """The circumstances of one record: its id, when and where on the timeline, by and for whom."""

    id: RecordId
    at: datetime
    segment: SegmentId
    branch: BranchName
    scope: Scope
    origin: Origin
    lineage: Lineage = field(default_factory=Lineage)
