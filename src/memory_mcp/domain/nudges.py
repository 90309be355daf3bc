"""A nudge: a sentence that a program leaves for the user, brought up once when a session begins.

It is no memory: nothing recalls it, and it is gone once it was shown.
"""

import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NewType
from uuid import UUID

from pydantic import AfterValidator, Field, PlainSerializer, StringConstraints, ValidationError

from memory_mcp.domain.ids import is_record_id
from memory_mcp.domain.limits import (
    NUDGE_BY_CHARS_MAX,
    NUDGE_CHARS_MAX,
    NUDGE_PRIORITY_MAX,
    NUDGE_PRIORITY_MIN,
    NUDGE_PRIORITY_USUAL,
)
from memory_mcp.domain.record import Frozen, iso

NudgeId = NewType("NudgeId", str)
"""A UUIDv7 in its canonical text form."""

_VERSION: Final = 0x7 << 76 | 0b10 << 62
_FREE_BITS: Final = ((1 << 80) - 1) & ~(0xF << 76 | 0b11 << 62)
"""What a UUIDv7 leaves to whoever makes it, below the time."""

_KEYS_NAMED: Final = ("text", "priority", "expires_at (or expires)", "by", "user", "id")
_KEYS: Final = frozenset(
    ("text", "priority", "expires_at", "expires", "by", "user", "id", "created_at")
)
_STRANGE_NAMED_MAX: Final = 5
_EMPTY: Final = (("text", "string_too_short"), ("text", "missing"))


def _known(given: str) -> NudgeId:
    if not is_record_id(given):
        raise ValueError("is no UUIDv7")
    return NudgeId(given)


def _utc(at: datetime) -> datetime:
    """As it is stored: in milliseconds. Programs often leave the zone out; then it is UTC."""
    try:
        utc = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("is beyond the calendar in UTC") from error
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


_Time = Annotated[datetime, AfterValidator(_utc), PlainSerializer(iso, return_type=str)]


class Nudge(Frozen, defer_build=True):
    """What is to be brought up, how much it matters (10: most) and until when.

    `by` names who left it: a client, or the file it came in.
    """

    id: Annotated[NudgeId, AfterValidator(_known)]
    text: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=NUDGE_CHARS_MAX)
    ]
    priority: int = Field(
        default=NUDGE_PRIORITY_USUAL, ge=NUDGE_PRIORITY_MIN, le=NUDGE_PRIORITY_MAX
    )
    expires_at: _Time | None = None
    created_at: _Time
    user: str
    by: str = Field(default="", max_length=NUDGE_BY_CHARS_MAX)

    def holds(self, now: datetime) -> bool:
        """Whether it may still be brought up."""
        return self.expires_at is None or self.expires_at > now

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """The lower the better: what matters most, then what waits longest."""
        return -self.priority, self.created_at, self.id


@dataclass(frozen=True)
class Left:
    """A nudge that was left, and what its author should be told."""

    nudge: Nudge
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class WaitingNudges:
    """The nudges that wait, best first, and what lies beside them and is none, with the reason.

    `strange` names what some of them say and nobody understands.
    """

    nudges: tuple[Nudge, ...] = ()
    unread: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cleared:
    """How many were removed, and how many things that are no nudges lie there still."""

    removed: int
    left: int = 0


@dataclass(frozen=True)
class Icebreaker:
    """What this session brings up, if anything, and why it could not look for it, if it could not.

    What has expired meanwhile is brought up no more.
    """

    text: str = ""
    note: str = ""
    expires_at: datetime | None = None

    def text_at(self, now: datetime) -> str:
        """What is to be brought up then."""
        return self.text if self.expires_at is None or self.expires_at > now else ""


class Taking:
    """Agreed between a session that waits for a nudge and the queue that takes it for it.

    Either the queue begins to remove the nudge, and the session waits until it can show it; or the
    session has left before that, and the queue removes nothing. So none is removed unseen.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._removing = False
        self._left = False

    def removes(self) -> bool:
        """Whether the queue may remove it now: somebody still waits."""
        with self._lock:
            self._removing = not self._left
            return self._removing

    def leaves(self) -> bool:
        """Whether the session may stop waiting: nothing was removed, and nothing will be."""
        with self._lock:
            self._left = not self._removing
            return self._left

    @property
    def left(self) -> bool:
        """Whether nobody waits any more."""
        return self._left


def best_first(nudges: Iterable[Nudge], now: datetime) -> tuple[Nudge, ...]:
    """Those that have not expired; the first is the one to be taken."""
    return tuple(sorted((n for n in nudges if n.holds(now)), key=lambda nudge: nudge.rank))


def id_from(at: datetime, name: str) -> NudgeId:
    """The id of a nudge that came without one: the same at every look."""
    milliseconds = max(0, int(at.timestamp() * 1000)) & ((1 << 48) - 1)
    digest = int.from_bytes(hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:10])
    return NudgeId(str(UUID(int=milliseconds << 80 | digest & _FREE_BITS | _VERSION)))


def nudge_of(fields: Mapping[str, Any], usual: Mapping[str, Any]) -> Nudge:
    """The nudge that these fields say; `usual` stands for those that are absent or null.

    Raises:
        ValueError: they say none; `flaw` tells why.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if "expires" in given:  # as the command calls it
        given.setdefault("expires_at", given.pop("expires"))
    return Nudge.model_validate({**usual, **given})


def strange_keys(fields: Mapping[str, Any]) -> str:
    """Which of these fields no nudge has, as the rest of a sentence; '' if there is none."""
    strange = [str(name) for name in fields if name not in _KEYS]
    if not strange:
        return ""
    named = ", ".join(strange[:_STRANGE_NAMED_MAX])
    return f"says {named}, which nobody reads; a nudge has {', '.join(_KEYS_NAMED)}"


def flaw(error: Exception) -> str:
    """Why something is no nudge, in a few words."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        if (name, first["type"]) in _EMPTY:
            return "it is empty"
        return f"{name}: {first['msg']}" if name else first["msg"]
    return "it is no JSON object in UTF-8"
