"""Whether a new memory is the same fact as a known one, and what a language model may say of it."""

from dataclasses import dataclass
from typing import Final, Literal

from memory_mcp.domain.limits import IMPORTANCE_MIN
from memory_mcp.domain.record import Kind

MergeMode = Literal["recreate", "update"]
"""`recreate`: one memory is composed of both; `update`: the new text takes the old one's place."""

Secrets = Literal["redact", "refuse", "allow"]
"""What becomes of a secret in a text that is to be stored."""


@dataclass(frozen=True)
class Restated:
    """The new statement says nothing that the old one does not say."""

    reason: str


@dataclass(frozen=True)
class Updated:
    """The new statement contradicts the old one about the same thing, and is newer."""

    reason: str


@dataclass(frozen=True)
class Extended:
    """The new statement says all that the old one says, and more."""

    reason: str


@dataclass(frozen=True)
class Different:
    """The statements are about two things: both hold."""

    reason: str


@dataclass(frozen=True)
class Unsure:
    """Nothing here can tell: whoever understands both should judge."""

    reason: str


Verdict = Restated | Updated | Extended | Different | Unsure


@dataclass(frozen=True)
class Merging:
    """The bands of likeness (0-1) and who decides in them.

    From `auto_update` up it is the same fact. From `check_low` up, and from `fallback_low` up for
    memories that are recent, of one of the categories, and share words or numbers, the judge
    decides; below, they are two.

    `topk` and `fallback_topk` are how many of the most alike are looked at. Less important than
    `min_importance` nothing new is stored, but what is known is still brought up to date.
    """

    topk: int = 5
    auto_update: float = 0.85
    check_low: float = 0.60
    fallback_enabled: bool = True
    fallback_low: float = 0.30
    fallback_topk: int = 3
    fallback_recency_days: int = 90
    fallback_categories: tuple[str, ...] = ("Personal", "Goals")
    mode: MergeMode = "recreate"
    min_importance: int = IMPORTANCE_MIN


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
