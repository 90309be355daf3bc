"""An outbox as it is promised, in plain Python: slow, in memory, and without a lock."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from memory_mcp.domain.cloud import (
    Accepted,
    Confirmed,
    DeadLetter,
    DeadLettered,
    DeliveryOutcome,
    DeliveryStage,
    Dropped,
    NewEntry,
    OutboxCounts,
    OutboxEntry,
    OutboxOperation,
    RetryLater,
    Vanished,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_ADDS_MAX, BATCH_IDS_MAX


@dataclass(eq=False)
class Entry:
    """A parcel, and what is promised of it."""

    seq: int
    record: RecordId
    op: OutboxOperation
    quiet: bool
    noted_at: float
    due: float
    stage: DeliveryStage = "new"
    before: DeliveryStage = "new"
    alone: bool = False
    attempts: int = 0
    lost: int = 0
    holder: int | None = None
    leased_until: float = 0
    dead: bool = False
    error: str = ""

    def parcel(self) -> OutboxEntry:
        """As it is handed out."""
        return OutboxEntry(
            self.seq, self.record, self.op, self.before, self.attempts, self.lost, self.alone,
            self.noted_at,
        )  # fmt: skip


@dataclass
class PlainOutbox:
    """Every rule is one `if`. A claim is known by its number."""

    entries: list[Entry] = field(default_factory=list[Entry])
    there: set[RecordId] = field(default_factory=set[RecordId])
    not_there: set[RecordId] = field(default_factory=set[RecordId])
    noted: int = 0
    claims: int = 0

    def of(self, record: RecordId, op: OutboxOperation) -> Entry | None:
        return next((e for e in self.entries if (e.record, e.op) == (record, op)), None)

    def note(self, letters: Iterable[NewEntry], now: float) -> None:
        for letter in letters:
            if letter.op == "delete":
                self._take_back(letter.record)
            old = self.of(letter.record, letter.op)
            if old is not None and old.dead:
                old.dead, old.alone, old.attempts, old.lost, old.due = False, False, 0, 0, now
            elif old is None and self._wanted(letter):
                self.noted += 1
                self.entries.append(
                    Entry(self.noted, letter.record, letter.op, letter.quiet, now, now)
                )

    def _take_back(self, record: RecordId) -> None:
        added = self.of(record, "add")
        if added is None:
            return
        never_sent = added.stage == "new" and not added.lost and not added.dead
        if never_sent and record not in self.there:
            self.not_there.add(record)
        if never_sent or added.dead:
            self.entries.remove(added)

    def _wanted(self, letter: NewEntry) -> bool:
        if letter.op == "delete":
            return letter.record not in self.not_there
        settled = self.there | self.not_there
        return letter.record not in settled and self.of(letter.record, "delete") is None

    def first(self, entry: Entry) -> bool:
        """Whether nothing older of its record is under way."""
        older = (e for e in self.entries if e.record == entry.record and e.seq < entry.seq)
        return all(e.dead for e in older)

    def claim(self, now: float, until: float) -> tuple[int, list[OutboxEntry]]:
        """The number of the claim, and what it is about."""
        self.claims += 1
        due = [
            e for e in self.entries
            if not e.dead and e.due <= now and e.leased_until <= now and self.first(e)
        ]  # fmt: skip
        loud = next((e for e in due if not e.quiet), None)
        if loud is None:
            return self.claims, []
        kind = (loud.op, loud.stage, loud.alone)
        adding = loud.op == "add" and loud.stage != "accepted"
        limit = 1 if loud.alone else BATCH_ADDS_MAX if adding else BATCH_IDS_MAX
        chosen = [e for e in due if (e.op, e.stage, e.alone) == kind][:limit]
        for entry in chosen:
            entry.before = entry.stage
            entry.quiet = False
            entry.attempts += 1
            entry.holder, entry.leased_until = self.claims, until
            if entry.op == "add" and entry.stage == "new":
                entry.stage = "sent"
        return self.claims, [entry.parcel() for entry in chosen]

    def record_outcomes(self, claim: int, fates: dict[int, DeliveryOutcome]) -> None:
        for seq, fate in fates.items():
            entry = next((e for e in self.entries if e.seq == seq), None)
            if entry is not None and entry.holder == claim:
                entry.holder, entry.leased_until, entry.due, entry.error = None, 0, 0, ""
                self._settle(entry, fate)

    def _settle(self, entry: Entry, fate: DeliveryOutcome) -> None:
        match fate:
            case Confirmed():
                self.entries.remove(entry)
                arrived, left = (self.there, self.not_there)[:: 1 if entry.op == "add" else -1]
                arrived.add(entry.record)
                left.discard(entry.record)
            case Dropped():
                self.entries.remove(entry)
            case DeadLettered(error):
                entry.dead, entry.error = True, error
                if entry.op == "add" and self.of(entry.record, "delete"):
                    self.entries.remove(entry)
            case Accepted(due):
                entry.stage, entry.due, entry.attempts = "accepted", due, 0
            case Vanished(due, error):
                entry.stage, entry.due, entry.error, entry.lost = "new", due, error, entry.lost + 1
            case RetryLater(due, error, unsent, alone):
                entry.due, entry.error, entry.alone = due, error, entry.alone or alone
                if entry.stage == "accepted" and error:
                    entry.attempts -= 1
                if unsent:
                    entry.stage = entry.before

    def make_all_due(self, now: float) -> None:
        for entry in self.entries:
            if not entry.dead:
                entry.quiet, entry.due = False, min(entry.due, now)

    def mark(self, records: Iterable[RecordId]) -> None:
        self.there.update(set(records) - self.not_there)

    def known(self) -> set[RecordId]:
        return self.there | {e.record for e in self.entries if e.op == "add" and not e.dead}

    def gone(self) -> set[RecordId]:
        return self.not_there | {e.record for e in self.entries if e.op == "delete" and not e.dead}

    def counts(self) -> OutboxCounts:
        alive = [e for e in self.entries if not e.dead]
        loud = [e for e in alive if not e.quiet]
        dead = sorted((e for e in self.entries if e.dead), key=lambda e: -e.seq)
        told = OutboxCounts(
            pending=sum(e.stage != "accepted" for e in loud),
            quiet=len(alive) - len(loud),
            checking=sum(e.stage == "accepted" for e in alive),
            delivered=len(self.there),
            dead=len(dead),
            dead_letters=tuple(DeadLetter(e.record, e.op, e.error) for e in dead[:10]),
        )
        dues = [max(e.due, e.leased_until) for e in loud if self.first(e)]
        return replace(told, next_due=min(dues, default=None))
