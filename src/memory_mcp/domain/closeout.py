"""What closes a phase: what was decided and made in it, what is open, and who took part."""

from dataclasses import dataclass
from typing import Final

__all__ = ["REASON", "Closeout", "ClosingDecision"]

REASON: Final = "\nReason: "
"""What stands between a decision and its reason, where there are lines."""


@dataclass(frozen=True)
class ClosingDecision:
    """Something that was decided, and why."""

    text: str
    rationale: str = ""

    @property
    def content(self) -> str:
        """The two as one memory: whoever finds what was decided reads why."""
        return f"{self.text}{REASON}{self.rationale}" if self.rationale else self.text


@dataclass(frozen=True)
class Closeout:
    """What is written with a checkpoint, in one step with it. All of it may be absent."""

    decisions: tuple[ClosingDecision, ...] = ()
    artifacts: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.decisions, self.artifacts, self.issues, self.agents))
