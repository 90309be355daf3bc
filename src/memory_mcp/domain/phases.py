"""In which phase a project is, and how it got there."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memory_mcp.domain.ids import CheckpointId
from memory_mcp.domain.record import Record

__all__ = ["Phase", "PhaseMoved", "PhaseStep", "Phases"]


@dataclass(frozen=True)
class Phase:
    """The phase and who says so: the session's setting, a transition, or the last checkpoint."""

    number: int | None = None
    by: Literal["setting", "transition", "checkpoint", ""] = ""

    @property
    def worked_on(self) -> int | None:
        """The phase that is under way; one that a checkpoint has sealed is not."""
        return None if self.by == "checkpoint" else self.number


@dataclass(frozen=True)
class PhaseStep:
    """The project moved to a phase, or a checkpoint sealed it."""

    at: datetime
    number: int
    sealed: CheckpointId | None = None


@dataclass(frozen=True)
class Phases:
    """The phase now, and how the project got there, oldest first."""

    now: Phase
    steps: tuple[PhaseStep, ...]


@dataclass(frozen=True)
class PhaseMoved:
    """The project is in that phase; without a record it was there already."""

    number: int
    record: Record | None
    notes: tuple[str, ...] = ()
