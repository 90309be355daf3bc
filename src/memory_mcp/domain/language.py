"""What a language model may answer: closed sets, so that no word of its own reaches a caller."""

from dataclasses import dataclass
from typing import Final, Literal

from memory_mcp.domain.record import Kind

__all__ = ["Classification", "Judgement", "Sort"]

Judgement = Literal["same", "contradicts", "different"]
"""Of an older and a newer statement: one fact twice; one fact that changed; two facts."""

Sort = Literal[
    "fact", "preference", "goal", "decision", "lesson", "passing", "action", "question", "chatter"
]

_KINDS: Final[dict[Sort, Kind]] = {
    "fact": "fact",
    "preference": "preference",
    "goal": "fact",
    "decision": "decision",
    "lesson": "lesson",
}
_REASONS: Final[dict[Sort, str]] = {
    "fact": "a stable fact",
    "preference": "a lasting preference",
    "goal": "a goal",
    "decision": "a decision",
    "lesson": "a lesson learnt",
    "passing": "true only for now",
    "action": "a single action that leaves nothing to know",
    "question": "a question, which states nothing",
    "chatter": "small talk",
}


@dataclass(frozen=True)
class Classification:
    """What sort of statement it is, and what follows from that."""

    sort: Sort

    @property
    def keep(self) -> bool:
        """Whether it is worth a memory."""
        return self.sort in _KINDS

    @property
    def reason(self) -> str:
        """Why, in our words."""
        return _REASONS[self.sort]

    @property
    def kind(self) -> Kind | None:
        """The kind of memory it would be, if it is worth one."""
        return _KINDS.get(self.sort)
