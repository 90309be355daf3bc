"""What goes to the cloud and comes back from it, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memory_mcp.domain.ids import RecordId

MetadataValue = str | int | float | bool | list[str]


@dataclass(frozen=True)
class RemoteDocument:
    """A record as it is handed to the cloud: text, flat metadata, and when it was written.

    `extract` lets the cloud draw facts out of it, for the profile; else it is kept verbatim.
    """

    id: RecordId
    content: str
    metadata: Mapping[str, MetadataValue]
    date: str
    extract: bool = False


State = Literal["processing", "done", "failed"]
"""How far the cloud is with a document that it took. Only what is done can be found."""


@dataclass(frozen=True)
class Stored:
    """A document as the cloud has it. `content` is None where it was not asked for, or not told.

    `created_at` is when the cloud took it, by its own clock, as text that sorts by time.
    """

    id: RecordId
    content: str | None
    metadata: Mapping[str, Any]
    state: State
    created_at: str = ""


@dataclass(frozen=True)
class Listing:
    """One page of documents, and how many there are on all pages."""

    documents: tuple[Stored, ...]
    total: int
    more: bool


@dataclass(frozen=True)
class RemoteHit:
    """A passage that the cloud found, the record it is from, and its similarity in 0-1."""

    id: RecordId
    text: str
    similarity: float


@dataclass(frozen=True)
class Test:
    """A condition on one metadata field: equal to one of `values`, or (`unlike`) to none of them.

    With `contains` the field is a list, and each of the values must be in it.
    """

    field: str
    values: Sequence[str | int | bool]
    unlike: bool = False
    contains: bool = False


@dataclass(frozen=True)
class RemoteProfile:
    """What the cloud made of the memories: standing facts, and what is going on."""

    static: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()


Op = Literal["add", "delete"]

Stage = Literal["new", "sent", "accepted"]
"""new: never sent. sent: it may or may not have arrived. accepted: taken, not yet confirmed."""


@dataclass(frozen=True)
class Letter:
    """Something for the outbox. A quiet one is not sent by itself: it goes with the next."""

    record: RecordId
    op: Op
    quiet: bool = False


@dataclass(frozen=True)
class Parcel:
    """A letter on its way. `stage` is how far it was before it was claimed now.

    `lost` counts how often the cloud took it and had it no longer; `alone` parcels travel singly,
    because the batch they were in was refused.
    """

    seq: int
    record: RecordId
    op: Op
    stage: Stage
    attempts: int
    lost: int
    alone: bool
    noted_at: float


@dataclass(frozen=True)
class Claim:
    """Parcels of one op and stage, leased to whoever holds the token."""

    token: str
    op: Op
    stage: Stage
    parcels: tuple[Parcel, ...]


@dataclass(frozen=True)
class Accepted:
    """The cloud took it; look at `due` whether it is done."""

    due: float


@dataclass(frozen=True)
class Done:
    """The cloud has it (add), or has it no longer (delete)."""


@dataclass(frozen=True)
class Later:
    """Try again at `due`. `unsent`: this time the cloud did nothing; the stage is what it was.

    With an `error` a look at what was taken got no answer, and is not counted.
    """

    due: float
    error: str = ""
    unsent: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Lost:
    """It was taken, and is not there: send it anew at `due`."""

    due: float
    error: str


@dataclass(frozen=True)
class Dead:
    """The cloud will never take it as it is. Kept, and shown."""

    error: str


@dataclass(frozen=True)
class Dropped:
    """There is nothing to deliver: the record was forgotten, or never written."""


Fate = Accepted | Done | Later | Lost | Dead | Dropped


@dataclass(frozen=True)
class Standing:
    """Whether the cloud may be asked, as all processes of a pool know it (times: Unix seconds).

    After failures it is left alone until `paused_until`; `blocked` says why nothing will work
    until a person acts, and a probe at or after `paused_until` finds out whether they did.
    """

    failures: int = 0
    paused_until: float = 0.0
    blocked: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Undelivered:
    """A parcel that is dead, and what the cloud said."""

    record: RecordId
    op: Op
    error: str


@dataclass(frozen=True)
class Tally:
    """What an outbox holds.

    `pending` is to be sent, `quiet` goes along with the next that is, `checking` was taken and is
    not confirmed yet; `delivered` counts the records that the cloud is known to hold. Before
    `next_due` there is nothing to claim.
    """

    pending: int = 0
    quiet: int = 0
    checking: int = 0
    delivered: int = 0
    dead: int = 0
    undelivered: tuple[Undelivered, ...] = ()
    next_due: float | None = None
    standing: Standing = Standing()

    def __add__(self, other: "Tally") -> "Tally":
        """Of two outboxes as one; of the standings the worse."""
        dues = [due for due in (self.next_due, other.next_due) if due is not None]
        return Tally(
            pending=self.pending + other.pending,
            quiet=self.quiet + other.quiet,
            checking=self.checking + other.checking,
            delivered=self.delivered + other.delivered,
            dead=self.dead + other.dead,
            undelivered=self.undelivered + other.undelivered,
            next_due=min(dues, default=None),
            standing=max(
                self.standing, other.standing, key=lambda s: (bool(s.blocked), s.paused_until)
            ),
        )
