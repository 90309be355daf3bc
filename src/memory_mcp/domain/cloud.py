"""What goes to the cloud and comes back from it, the outbox in between, and its circuit breaker.

Values and rules about them. `chance` is a random number in 0-1: sessions that failed together must
not come back together.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import (
    CONFIRM_SECONDS,
    KEY_PROBE_SECONDS,
    REMOTE_PAUSE_SECONDS_MAX,
    REMOTE_PAUSE_SECONDS_MIN,
    RETRY_AFTER_SECONDS_MAX,
)
from memory_mcp.errors import RemoteBlockedError, RemoteError, RemoteUnavailableError
from memory_mcp.frozen import frozen

MetadataValue = str | int | float | bool | list[str]

DocumentState = Literal["processing", "done", "failed"]
"""How far the cloud is with a document that it accepted. Only what is done can be found."""

OutboxOperation = Literal["add", "delete"]

DeliveryStage = Literal["new", "sent", "accepted"]
"""new: never sent. sent: it may or may not have arrived. accepted: not yet confirmed."""


@frozen
class RemoteDocument:
    """A record as it is sent to the cloud: text, flat metadata, and when it was written.

    With `extract` the cloud draws facts out of it, for the profile; else it keeps it verbatim.
    """

    id: RecordId
    content: str
    metadata: Mapping[str, MetadataValue]
    date: str
    extract: bool = False


@frozen
class StoredDocument:
    """A document as the cloud has it. `content` is None where the answer has none.

    `created_at` is when the cloud accepted it, by its own clock, as text that sorts by time.
    """

    id: RecordId
    content: str | None
    metadata: Mapping[str, Any]
    state: DocumentState
    created_at: str = ""


@frozen
class DocumentPage:
    """One page of documents, and how many there are on all pages."""

    documents: tuple[StoredDocument, ...]
    total: int
    more: bool


@frozen
class RemoteHit:
    """A passage that the cloud found, the record it is from, and its similarity in 0-1."""

    id: RecordId
    text: str
    similarity: float


@frozen
class MetadataCondition:
    """A metadata field equals one of `values`, or (`negated`) none of them.

    With `contains` the field is a list that holds each of the values.
    """

    field: str
    values: Sequence[str | int | bool]
    negated: bool = False
    contains: bool = False


@frozen
class RemoteProfile:
    """What the cloud made of the memories: lasting facts, and what is going on now."""

    static: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()


@frozen
class NewEntry:
    """An addition or deletion to put into the outbox. A quiet one is sent along with the next."""

    record: RecordId
    op: OutboxOperation
    quiet: bool = False


@frozen
class OutboxEntry:
    """An entry under a lease. `stage` is the one it had before it was leased now.

    `lost` counts how often the cloud accepted it and no longer had it. `alone`: it is sent singly,
    because the cloud refused the batch that it was in.
    """

    seq: int
    record: RecordId
    op: OutboxOperation
    stage: DeliveryStage
    attempts: int
    lost: int
    alone: bool
    noted_at: float


@frozen
class Lease:
    """Entries of one operation and stage, for whoever holds the token."""

    token: str
    op: OutboxOperation
    stage: DeliveryStage
    entries: tuple[OutboxEntry, ...]


@frozen
class Accepted:
    """The cloud accepted it. At `due`, look whether it is done."""

    due: float


@frozen
class Confirmed:
    """The cloud has it (add), or no longer has it (delete)."""


@frozen
class RetryLater:
    """Try again at `due`. `unsent`: the cloud did nothing this time, and the stage goes back.

    With an `error` a look at an accepted entry got no answer, and does not count as an attempt.
    """

    due: float
    error: str = ""
    unsent: bool = False
    alone: bool = False


@frozen
class Vanished:
    """The cloud had accepted it and does not have it. Send it again at `due`."""

    due: float
    error: str


@frozen
class DeadLettered:
    """The cloud will never accept it as it is. It stays in the outbox and is reported."""

    error: str


@frozen
class Dropped:
    """There is nothing to deliver: the record was forgotten, or never written."""


DeliveryOutcome = Accepted | Confirmed | RetryLater | Vanished | DeadLettered | Dropped


@frozen
class CircuitState:
    """The circuit breaker of the cloud, shared by all processes. Times are Unix seconds.

    After failures nobody asks the cloud until `paused_until`. `blocked` says why nothing will work
    until a person acts; a probe at or after `paused_until` finds out whether they did.
    """

    failures: int = 0
    paused_until: float = 0.0
    blocked: str = ""
    reason: str = ""


@frozen
class DeadLetter:
    """A dead-lettered entry, and what the cloud said."""

    record: RecordId
    op: OutboxOperation
    error: str


@frozen
class OutboxCounts:
    """How many entries of each sort an outbox holds.

    `pending` are to be sent, `quiet` go along with the next that is, `checking` are accepted and
    not confirmed. `delivered` counts the records that the cloud is known to hold. Before `next_due`
    there is nothing to claim.
    """

    pending: int = 0
    quiet: int = 0
    checking: int = 0
    delivered: int = 0
    dead: int = 0
    dead_letters: tuple[DeadLetter, ...] = ()
    next_due: float | None = None
    circuit: CircuitState = CircuitState()

    def __add__(self, other: "OutboxCounts") -> "OutboxCounts":
        """Count two outboxes as one, with the worse of their circuits."""
        dues = [due for due in (self.next_due, other.next_due) if due is not None]
        return OutboxCounts(
            pending=self.pending + other.pending,
            quiet=self.quiet + other.quiet,
            checking=self.checking + other.checking,
            delivered=self.delivered + other.delivered,
            dead=self.dead + other.dead,
            dead_letters=self.dead_letters + other.dead_letters,
            next_due=min(dues, default=None),
            circuit=max(
                self.circuit, other.circuit, key=lambda c: (bool(c.blocked), c.paused_until)
            ),
        )


_DOUBLINGS_MAX: Final = 12


def record_failure(
    circuit: CircuitState, error: RemoteError, *, now: float, chance: float
) -> CircuitState:
    """Open the circuit after a failure.

    A block is probed now and then. An outage is followed by a pause that doubles. A rejected
    request says nothing about the cloud.
    """
    match error:
        case RemoteBlockedError():
            return CircuitState(
                failures=circuit.failures + 1,
                paused_until=now + KEY_PROBE_SECONDS * (0.5 + chance),
                blocked=str(error),
                reason=str(error),
            )
        case RemoteUnavailableError(retry_after=retry_after):
            own = backoff_seconds(circuit.failures, chance=chance)
            wait = own if retry_after is None else max(retry_after, REMOTE_PAUSE_SECONDS_MIN)
            return CircuitState(
                failures=circuit.failures + 1,
                paused_until=now + min(wait, RETRY_AFTER_SECONDS_MAX),
                blocked=circuit.blocked,
                reason=str(error),
            )
        case _:
            return circuit


def allows_requests(circuit: CircuitState, now: float) -> bool:
    """Whether the circuit lets requests through: not blocked, and no pause under way."""
    return not circuit.blocked and circuit.paused_until <= now


def backoff_seconds(failures: int, *, chance: float) -> float:
    """How long to pause after that many earlier failures: doubling, bounded, spread by a half."""
    doubled = REMOTE_PAUSE_SECONDS_MIN * 2.0 ** min(failures, _DOUBLINGS_MAX)
    return min(REMOTE_PAUSE_SECONDS_MAX, doubled) * (0.5 + chance)


def confirmation_delay(looks: int) -> float:
    """Seconds until the next look at an accepted document, after that many looks."""
    return CONFIRM_SECONDS[min(looks, len(CONFIRM_SECONDS) - 1)]
