"""What is shown whole: one checkpoint with what belongs to it, and what happened, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_mcp.domain.outcomes import Preview
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Checkpoint

__all__ = ["Happened", "WholeCheckpoint"]


@dataclass(frozen=True)
class WholeCheckpoint:
    """A checkpoint, what a backtrack to it would hide, and the newest of what was closed with it.

    Without a `preview` nobody goes back to it: it is pending, or the session only reads.
    """

    checkpoint: Checkpoint
    preview: Preview | None
    closed: Sequence[Record]


@dataclass(frozen=True)
class Happened:
    """What happened on a line, newest first, and how much there is of it in all."""

    records: Sequence[Record]
    total: int
