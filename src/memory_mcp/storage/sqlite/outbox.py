"""The outbox in SQLite: what the cloud has not confirmed yet, and what it is known to hold.

The tables keep their first names, because the files of earlier versions have them:

    parcel      an outbox entry: a record to add or to delete over there
    ledger      records that the cloud is known to hold, or to hold no longer
    standing    the circuit breaker
    seen_until  the pull cursor
    pulled      records that came in from a cloud, whichever it was

Write order, and why: an entry is noted before its record is written, so that no acknowledged record
is ever missing here. A cut in between leaves an entry without a record, which the delivery drops.
No text is kept here: what is forgotten need not be looked for in this file.

New entries and outcomes go in through the views `letter` and `fate`, one row each. So a set of them
is one transaction, and triggers keep the rules whichever process writes.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Final, assert_never

from memory_mcp.domain.cloud import (
    Accepted,
    CircuitState,
    Confirmed,
    DeadLetter,
    DeadLettered,
    DeliveryOutcome,
    Dropped,
    Lease,
    NewEntry,
    OutboxCounts,
    OutboxEntry,
    RetryLater,
    Vanished,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_ADDS_MAX, BATCH_IDS_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.errors import StoreDamagedError, StoreError, StoreUnavailableError
from memory_mcp.storage.sqlite.database import Database, DatabaseSpec

_VERSION: Final = 2
"""Kept in PRAGMA user_version."""

_SCHEMA: Final = """
CREATE TABLE parcel (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    record TEXT NOT NULL,
    op TEXT NOT NULL,                        -- add, delete
    stage TEXT NOT NULL DEFAULT 'new',       -- new, sent, accepted
    was TEXT NOT NULL DEFAULT 'new',         -- the stage before it was claimed
    quiet INTEGER NOT NULL,                  -- 1: not sent by itself
    alone INTEGER NOT NULL DEFAULT 0,        -- 1: its batch was refused
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,         -- how often it was taken and then not there
    noted_at REAL NOT NULL,
    due REAL NOT NULL,
    lease TEXT,
    lease_until REAL NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    UNIQUE (record, op)
);

CREATE TABLE ledger (record TEXT PRIMARY KEY, there INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE standing (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    failures INTEGER NOT NULL, paused_until REAL NOT NULL, blocked TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE TABLE seen_until (one INTEGER PRIMARY KEY CHECK (one = 1), at TEXT NOT NULL);

-- records that were taken in from a cloud, whichever it was: never emptied
CREATE TABLE pulled (record TEXT PRIMARY KEY) WITHOUT ROWID;

-- of which cloud and namespace all this speaks
CREATE TABLE address (one INTEGER PRIMARY KEY CHECK (one = 1), at TEXT NOT NULL);

CREATE VIEW letter AS SELECT record, op, quiet, noted_at FROM parcel;

CREATE TRIGGER letter_noted INSTEAD OF INSERT ON letter
BEGIN
    -- what was never sent, and is not there all the same, need not be deleted over there
    INSERT OR IGNORE INTO ledger SELECT NEW.record, 0 WHERE NEW.op = 'delete' AND EXISTS (
        SELECT 1 FROM parcel
        WHERE record = NEW.record AND op = 'add' AND stage = 'new' AND NOT lost);
    DELETE FROM parcel WHERE NEW.op = 'delete' AND record = NEW.record AND op = 'add'
        AND (dead OR (stage = 'new' AND NOT lost));
    UPDATE parcel SET dead = 0, alone = 0, attempts = 0, lost = 0, due = NEW.noted_at
        WHERE record = NEW.record AND op = NEW.op AND dead;  -- none beside a delete: see below
    -- neither what is there already, nor what is gone or going
    INSERT OR IGNORE INTO parcel (record, op, quiet, noted_at, due)
        SELECT NEW.record, NEW.op, NEW.quiet, NEW.noted_at, NEW.noted_at
        WHERE NOT EXISTS (SELECT 1 FROM ledger
            WHERE record = NEW.record AND (NEW.op = 'add' OR NOT there))
        AND NOT (NEW.op = 'add' AND EXISTS (SELECT 1 FROM parcel
            WHERE record = NEW.record AND op = 'delete'));
END;

CREATE VIEW fate AS
    SELECT seq, lease AS token, '' AS what, due, error, 0 AS unsent, alone FROM parcel;

CREATE TRIGGER fate_settled INSTEAD OF INSERT ON fate
WHEN EXISTS (SELECT 1 FROM parcel WHERE seq = NEW.seq AND lease = NEW.token)
BEGIN
    INSERT OR REPLACE INTO ledger
        SELECT record, op = 'add' FROM parcel WHERE seq = NEW.seq AND NEW.what = 'done';
    DELETE FROM parcel WHERE seq = NEW.seq AND NEW.what IN ('done', 'dropped');
    UPDATE parcel SET
        lease = NULL, lease_until = 0, due = NEW.due, error = NEW.error,
        dead = NEW.what = 'dead',
        alone = max(alone, NEW.alone),
        lost = lost + (NEW.what = 'lost'),
        -- a look that was not answered is none
        attempts = iif(NEW.what = 'accepted', 0,
            attempts - (NEW.what = 'later' AND stage = 'accepted' AND NEW.error != '')),
        stage = CASE
            WHEN NEW.what = 'accepted' THEN 'accepted'
            WHEN NEW.what = 'lost' THEN 'new'
            WHEN NEW.unsent THEN was             -- an earlier try may have arrived
            ELSE stage END
    WHERE seq = NEW.seq;
    -- a delete that was noted meanwhile takes the dead back too
    DELETE FROM parcel WHERE seq = NEW.seq AND dead AND op = 'add' AND EXISTS (
        SELECT 1 FROM parcel going WHERE going.record = parcel.record AND going.op = 'delete');
END;
"""

_ELSEWHERE: Final = "WHERE NOT EXISTS (SELECT 1 FROM address WHERE at = :at)"

RESET_FOR_NEW_ADDRESS: Final = (
    f"""UPDATE parcel SET stage = 'new', was = 'new', alone = 0, attempts = 0, lost = 0, dead = 0,
        lease = NULL, lease_until = 0 {_ELSEWHERE}""",
    f"DELETE FROM ledger {_ELSEWHERE}",
    f"DELETE FROM seen_until {_ELSEWHERE}",
    f"DELETE FROM standing {_ELSEWHERE}",
    f"INSERT OR REPLACE INTO address SELECT 1, :at {_ELSEWHERE}",
)
"""Run when the file is opened: what is known of one cloud says nothing of another one."""

OUTBOX_DATABASE: Final = DatabaseSpec(
    schema=_SCHEMA,
    version=_VERSION,
    full_sync=True,
    busy=StoreUnavailableError,
    damaged=StoreDamagedError,
    advice="Another session is delivering; try again.",
)

OUTBOX_FILE: Final = "outbox.sqlite3"
_SETTING: Final = "MEMORY_HOME"

_NAMED_MAX: Final = 10
"""Dead letters that are named one by one; the others are counted."""

_FIRST: Final = """NOT EXISTS (SELECT 1 FROM parcel older
    WHERE older.record = parcel.record AND older.seq < parcel.seq AND NOT older.dead)"""
"""An entry waits for the older entries of its record."""

_CLAIM: Final = f"""
WITH due AS MATERIALIZED (
    SELECT * FROM parcel WHERE NOT dead AND due <= :now AND lease_until <= :now AND {_FIRST}
), first AS (
    SELECT op, stage, alone FROM due WHERE NOT quiet ORDER BY seq LIMIT 1
)
UPDATE parcel SET lease = :token, lease_until = :until, attempts = attempts + 1, quiet = 0,
    was = stage, stage = iif(op = 'add' AND stage = 'new', 'sent', stage)
WHERE seq IN (
    SELECT due.seq FROM due JOIN first USING (op, stage, alone) ORDER BY due.seq
    LIMIT coalesce((SELECT iif(alone, 1, iif(op = 'add' AND stage != 'accepted',
        {BATCH_ADDS_MAX}, {BATCH_IDS_MAX})) FROM first), 0)
)
RETURNING seq, record, op, was, attempts, lost, alone, noted_at
"""


class SqliteOutbox:
    """Implements `ports.Outbox`. `prepare` makes the folder before the file is created.

    `address` names the cloud and the namespace. If it differs from the one in the file, nothing is
    known of what is there, and every entry begins again.
    """

    def __init__(self, path: Path, prepare: Callable[[], None], address: str = "") -> None:
        self.path = path
        spec = replace(OUTBOX_DATABASE, opening=RESET_FOR_NEW_ADDRESS)
        self._file = Database(path, spec, prepare, {"at": address}, setting=_SETTING)

    async def note(self, entries: Sequence[NewEntry], now: float) -> None:
        if entries:
            rows = [(entry.record, entry.op, int(entry.quiet), now) for entry in entries]
            await self._file.write("INSERT INTO letter VALUES (?, ?, ?, ?)", rows)

    async def claim(self, now: float, until: float) -> Lease | None:
        token = os.urandom(16).hex()
        rows = await self._file.rows(_CLAIM, {"now": now, "until": until, "token": token})
        if not rows:
            return None
        entries = tuple(
            OutboxEntry(
                seq=seq,
                record=RecordId(record),
                op=op,
                stage=was,
                attempts=attempts,
                lost=lost,
                alone=bool(alone),
                noted_at=noted_at,
            )
            for seq, record, op, was, attempts, lost, alone, noted_at in sorted(
                rows, key=itemgetter(0)
            )
        )
        return Lease(token, entries[0].op, entries[0].stage, entries)

    async def record_outcomes(self, lease: Lease, outcomes: Mapping[int, DeliveryOutcome]) -> None:
        rows = [(seq, lease.token, *_outcome_row(outcome)) for seq, outcome in outcomes.items()]
        if rows:
            await self._file.write("INSERT INTO fate VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    async def make_all_due(self, now: float) -> None:
        await self._file.rows(
            "UPDATE parcel SET quiet = 0, due = min(due, :now) WHERE NOT dead", {"now": now}
        )

    async def known(self) -> set[RecordId]:
        return await _read_ids(
            self._file,
            "SELECT record FROM ledger WHERE there "
            "UNION SELECT record FROM parcel WHERE op = 'add' AND NOT dead",
        )

    async def gone(self) -> set[RecordId]:
        return await _read_ids(
            self._file,
            "SELECT record FROM ledger WHERE NOT there "
            "UNION SELECT record FROM parcel WHERE op = 'delete' AND NOT dead",
        )

    async def mark(self, record_ids: Collection[RecordId]) -> None:
        await _write_ids(self._file, "INSERT OR IGNORE INTO ledger VALUES (?, 1)", record_ids)

    async def unmark(self, record_ids: Collection[RecordId]) -> None:
        await _write_ids(self._file, "DELETE FROM ledger WHERE record = ? AND there", record_ids)

    async def load_pull_cursor(self) -> str:
        rows = await self._file.rows("SELECT at FROM seen_until")
        return rows[0][0] if rows else ""

    async def save_pull_cursor(self, at: str) -> None:
        await self._file.rows("INSERT OR REPLACE INTO seen_until VALUES (1, ?)", (at,))

    async def counts(self) -> OutboxCounts:
        ((pending, quiet, checking, dead, next_due, delivered),) = await self._file.rows(
            "SELECT count(*) FILTER (WHERE NOT dead AND NOT quiet AND stage != 'accepted'), "
            "count(*) FILTER (WHERE NOT dead AND quiet), "
            "count(*) FILTER (WHERE NOT dead AND stage = 'accepted'), "
            "count(*) FILTER (WHERE dead), "
            f"min(max(due, lease_until)) FILTER (WHERE NOT dead AND NOT quiet AND {_FIRST}), "
            "(SELECT count(*) FROM ledger WHERE there) FROM parcel"
        )
        dead_letters = await self._file.rows(
            f"SELECT record, op, error FROM parcel WHERE dead ORDER BY seq DESC LIMIT {_NAMED_MAX}"
        )
        return OutboxCounts(
            pending=pending,
            quiet=quiet,
            checking=checking,
            delivered=delivered,
            dead=dead,
            dead_letters=tuple(DeadLetter(RecordId(r), op, error) for r, op, error in dead_letters),
            next_due=next_due,
            circuit=await self.circuit(),
        )

    async def circuit(self) -> CircuitState:
        rows = await self._file.rows("SELECT failures, paused_until, blocked, reason FROM standing")
        return CircuitState(*rows[0]) if rows else CircuitState()

    async def save_circuit(self, circuit: CircuitState) -> None:
        await self._file.rows(
            "INSERT OR REPLACE INTO standing VALUES (1, ?, ?, ?, ?)",
            (circuit.failures, circuit.paused_until, circuit.blocked, circuit.reason),
        )

    async def findings(self, *, repair: bool) -> list[Finding]:
        if not self.path.exists():
            return []
        try:
            verdict = await self._file.check_integrity()
            counts = await self.counts() if verdict == "ok" else OutboxCounts()
        except StoreDamagedError as error:
            verdict, counts = str(error), OutboxCounts()
        except StoreError as error:  # of a newer version, or held by another session
            return [Finding.of("outbox-unusable", "should", error, "Nothing is lost.")]
        found = [
            Finding(
                "undelivered", "should", f"{dead.op} of {dead.record} was refused: {dead.error}",
                "The memory is safe here. `memory-mcp cloud sync --push-all` tries once more.",
            )
            for dead in counts.dead_letters
        ]  # fmt: skip
        if verdict != "ok":
            if repair:
                await self._file.replace()
            found.append(
                Finding(
                    "outbox-damaged", "should", f"{self.path}: {verdict}",
                    "`memory-mcp doctor --repair` begins it anew; then `memory-mcp cloud sync "
                    "--push-all` finds out what the cloud lacks.", repaired=repair,
                )
            )  # fmt: skip
        return found

    async def aclose(self) -> None:
        await self._file.aclose()


def _outcome_row(outcome: DeliveryOutcome) -> tuple[str, float, str, int, int]:
    """The rest of a row of the view `fate`: what, due, error, unsent, alone."""
    match outcome:
        case Accepted(due):
            return "accepted", due, "", 0, 0
        case Confirmed():
            return "done", 0, "", 0, 0
        case RetryLater(due, error, unsent, alone):
            return "later", due, error, int(unsent), int(alone)
        case Vanished(due, error):
            return "lost", due, error, 0, 0
        case DeadLettered(error):
            return "dead", 0, error, 0, 0
        case Dropped():
            return "dropped", 0, "", 0, 0
        case _:
            assert_never(outcome)


async def _read_ids(file: Database, query: str) -> set[RecordId]:
    return {RecordId(row[0]) for row in await file.rows(query)}


async def _write_ids(file: Database, statement: str, record_ids: Collection[RecordId]) -> None:
    if record_ids:
        await file.write(statement, [(record_id,) for record_id in sorted(record_ids)])


class SqlitePulledRecords:
    """Implements `ports.PulledRecords`. `prepare` makes the folder before the file is created."""

    def __init__(self, path: Path, prepare: Callable[[], None]) -> None:
        self._file = Database(path, OUTBOX_DATABASE, prepare, setting=_SETTING)

    async def note(self, record_ids: Collection[RecordId]) -> None:
        await _write_ids(self._file, "INSERT OR IGNORE INTO pulled VALUES (?)", record_ids)

    async def ids(self) -> set[RecordId]:
        if not self._file.path.exists():  # nothing ever came in: no file for that
            return set()
        return await _read_ids(self._file, "SELECT record FROM pulled")

    async def aclose(self) -> None:
        await self._file.aclose()
