"""A nudge: a sentence that a program leaves for the user, brought up once when a session begins.

It is no memory: nothing recalls it, and it is gone once it was shown.
"""

import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NewType

from memory_mcp.checker import ValidationError
from memory_mcp.domain.checked import FrozenModel, check_with, constrain, write_with
from memory_mcp.domain.ids import derive_id, is_record_id
from memory_mcp.domain.limits import (
    NUDGE_BY_CHARS_MAX,
    NUDGE_CHARS_MAX,
    NUDGE_PRIORITY_DEFAULT,
    NUDGE_PRIORITY_MAX,
    NUDGE_PRIORITY_MIN,
)
from memory_mcp.domain.record import format_time, truncate_to_milliseconds
from memory_mcp.frozen import frozen

NudgeId = NewType("NudgeId", str)
"""A UUIDv7 in its canonical text form."""

_KEYS_NAMED: Final = ("text", "priority", "expires_at (or expires)", "by", "user", "id")
_KEYS: Final = frozenset(
    ("text", "priority", "expires_at", "expires", "by", "user", "id", "created_at")
)
_UNKNOWN_NAMED_MAX: Final = 5
_EMPTY: Final = (("text", "string_too_short"), ("text", "missing"))


def _require_uuid7(id_: str) -> NudgeId:
    if not is_record_id(id_):
        raise ValueError("is no UUIDv7")
    return NudgeId(id_)


def _to_utc(at: datetime) -> datetime:
    """Programs often leave the zone out; then it is UTC."""
    return truncate_to_milliseconds(at if at.tzinfo else at.replace(tzinfo=UTC))


_Time = Annotated[datetime, check_with(_to_utc), write_with(format_time)]


class Nudge(FrozenModel):
    """What to bring up, how much it matters (10: most) and until when.

    `by` names its author: a client, or the file it came in.
    """

    id: Annotated[NudgeId, check_with(_require_uuid7)]
    text: Annotated[str, constrain(strip_whitespace=True, min_length=1, max_length=NUDGE_CHARS_MAX)]
    priority: Annotated[int, constrain(ge=NUDGE_PRIORITY_MIN, le=NUDGE_PRIORITY_MAX)] = (
        NUDGE_PRIORITY_DEFAULT
    )
    expires_at: _Time | None = None
    created_at: _Time
    user: str
    by: Annotated[str, constrain(max_length=NUDGE_BY_CHARS_MAX)] = ""

    def holds(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or self.expires_at > now

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """Sort key: what matters most first, then what waits longest."""
        return -self.priority, self.created_at, self.id


@frozen
class NudgeReceipt:
    """A nudge is stored; `notes` are for its author."""

    nudge: Nudge
    notes: tuple[str, ...] = ()


@frozen
class WaitingNudges:
    """The waiting nudges, best first.

    `unread` names what lies beside them and is no nudge, with the reason; `strange` the fields of
    some of them that no nudge has.
    """

    nudges: tuple[Nudge, ...] = ()
    unread: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()


@frozen
class NudgeRemoval:
    """How many nudges were removed, and how many things that are no nudges remain."""

    removed: int
    left: int = 0


@frozen
class SessionNudge:
    """The nudge that a session brings up, if there is one; `note` says why none could be read."""

    text: str = ""
    note: str = ""
    expires_at: datetime | None = None

    def text_at(self, now: datetime) -> str:
        """The text, unless it has expired by then."""
        return self.text if self.expires_at is None or self.expires_at > now else ""


class NudgeHandover:
    """An agreement between a queue that takes a nudge and the session that waits for it.

    Either the queue begins to remove the nudge, and the session waits until it can show it; or the
    session left before, and the queue removes nothing. So no nudge is removed unseen.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._removing = False
        self._left = False

    def removes(self) -> bool:
        """Begin to remove, unless the session has left; whether the queue may."""
        with self._lock:
            self._removing = not self._left
            return self._removing

    def leaves(self) -> bool:
        """Stop waiting, unless the queue is removing; whether the session may."""
        with self._lock:
            self._left = not self._removing
            return self._left

    @property
    def left(self) -> bool:
        """Whether the session waits no more."""
        return self._left


def rank_nudges(nudges: Iterable[Nudge], now: datetime) -> tuple[Nudge, ...]:
    """The nudges that have not expired, best first."""
    return tuple(sorted((n for n in nudges if n.holds(now)), key=lambda nudge: nudge.rank))


def derive_nudge_id(at: datetime, name: str) -> NudgeId:
    """The id of a nudge that came without one, the same every time."""
    return NudgeId(derive_id(at, name))


def parse_nudge(fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> Nudge:
    """The nudge in these fields; `defaults` stand for those that are absent or null.

    Raises:
        ValueError: it is none; `explain_invalid_nudge` says why.
    """
    present = {name: value for name, value in fields.items() if value is not None}
    if "expires" in present:  # the command's word
        present.setdefault("expires_at", present.pop("expires"))
    return Nudge.model_validate({**defaults, **present})


def describe_unknown_keys(fields: Mapping[str, Any]) -> str:
    """Which of these fields no nudge has, as the rest of a sentence; '' if there is none."""
    unknown = [str(name) for name in fields if name not in _KEYS]
    if not unknown:
        return ""
    named = ", ".join(unknown[:_UNKNOWN_NAMED_MAX])
    return f"says {named}, which nobody reads; a nudge has {', '.join(_KEYS_NAMED)}"


def explain_invalid_nudge(error: Exception) -> str:
    """Why something is no nudge, in a few words."""
    if not isinstance(error, ValidationError):
        return "it is no JSON object in UTF-8"
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    if (name, first["type"]) in _EMPTY:
        return "it is empty"
    return f"{name}: {first['msg']}" if name else first["msg"]
