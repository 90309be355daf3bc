"""What hooks leave in the inbox, for whoever has the time to work it off."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from memory_mcp.domain import hook_limits, limits

__all__ = ["EVENT", "Compacted", "Ended", "Event", "InboxEvent", "WentBack", "WorkedOff"]


class _Happened(BaseModel):
    """What every event says: in which session, on which branch, and when."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    v: Literal[1] = 1
    session: str = Field(default="", max_length=hook_limits.EVENT_NAME_CHARS_MAX)
    branch: str = Field(default="main", max_length=limits.BRANCH_CHARS_MAX)
    at: AwareDatetime


class Ended(_Happened):
    """The session is over; its transcript is where the client keeps it."""

    event: Literal["session-end"]
    transcript_path: str = Field(max_length=hook_limits.EVENT_PATH_CHARS_MAX)
    reason: str = Field(default="", max_length=hook_limits.EVENT_NAME_CHARS_MAX)


class Compacted(_Happened):
    """The conversation was compacted; this is what stands for it now."""

    event: Literal["post-compact"]
    compact_summary: str


class WentBack(_Happened):
    """The user went back in the conversation; what came after `since` is left."""

    event: Literal["rewound"]
    since: datetime | Literal[""] = ""


Event = Ended | Compacted | WentBack

EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


@dataclass(frozen=True)
class InboxEvent:
    """An event as it lies in the inbox, under its name there."""

    name: str
    event: Event


@dataclass(frozen=True)
class WorkedOff:
    """How many events are done with, and what became of those that left nothing."""

    done: int = 0
    notes: tuple[str, ...] = ()
