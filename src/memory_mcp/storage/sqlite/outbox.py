"""The outbox in SQLite: what the cloud has not confirmed yet, and what it is known to hold.

    parcel      a record on its way (add) or on its way out (delete)
    ledger      records that the cloud is known to hold, or to hold no longer
    standing    whether the cloud may be asked at all
    pulled      records that came in from a cloud, whichever it was

Write order, and why: a parcel is noted before its record is written, so that no acknowledged record
is ever missing here. A cut in between leaves a parcel without a record, which the delivery drops.
No text is kept here: what is forgotten need not be looked for in this file.

Notes and fates go in through views, one row each, so that a set of them is one transaction, and
triggers keep the rules whichever process writes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Final, assert_never
from uuid import uuid4

from memory_mcp.domain.cloud import (
    Accepted,
    Claim,
    Dead,
    Done,
    Dropped,
    Fate,
    Later,
    Letter,
    Lost,
    Parcel,
    Standing,
    Tally,
    Undelivered,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_ADDS_MAX, BATCH_IDS_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.errors import StoreDamagedError, StoreError, StoreUnavailableError
from memory_mcp.storage.sqlite.database import Database, Make

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

ADDRESSED: Final = (
    f"""UPDATE parcel SET stage = 'new', was = 'new', alone = 0, attempts = 0, lost = 0, dead = 0,
        lease = NULL, lease_until = 0 {_ELSEWHERE}""",
    f"DELETE FROM ledger {_ELSEWHERE}",
    f"DELETE FROM seen_until {_ELSEWHERE}",
    f"DELETE FROM standing {_ELSEWHERE}",
    f"INSERT OR REPLACE INTO address SELECT 1, :at {_ELSEWHERE}",
)
"""Run when the file is opened: what is known of one cloud says nothing of another."""

OUTBOX: Final = Make(
    schema=_SCHEMA,
    version=_VERSION,
    full=True,
    busy=StoreUnavailableError,
    damaged=StoreDamagedError,
    comfort="Another session is delivering; try again.",
)
"""How its file is made and opened, whoever looks into it."""


OUTBOX_FILE: Final = "outbox.sqlite3"
_SETTING: Final = "MEMORY_HOME"

_SHOWN: Final = 10
"""Dead parcels named one by one; the others are counted."""


_FIRST: Final = """NOT EXISTS (SELECT 1 FROM parcel older
    WHERE older.record = parcel.record AND older.seq < parcel.seq AND NOT older.dead)"""
"""Of the parcels of one record: what is noted later waits for what was noted before."""

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

    `address` names the cloud and the namespace. With another one than before, nothing is known of
    what is there, and everything that is on its way begins anew.
    """

    def __init__(self, path: Path, prepare: Callable[[], None], address: str = "") -> None:
        self.path = path
        self._file = Database(
            path, replace(OUTBOX, opening=ADDRESSED), prepare, {"at": address}, setting=_SETTING
        )

    async def note(self, letters: Sequence[Letter], now: float) -> None:
        if letters:
            rows = [(letter.record, letter.op, int(letter.quiet), now) for letter in letters]
            await self._file.write("INSERT INTO letter VALUES (?, ?, ?, ?)", rows)

    async def claim(self, now: float, until: float) -> Claim | None:
        token = uuid4().hex
        rows = await self._file.change(_CLAIM, {"now": now, "until": until, "token": token})
        if not rows:
            return None
        parcels = tuple(
            Parcel(
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
        return Claim(token, parcels[0].op, parcels[0].stage, parcels)

    async def settle(self, claim: Claim, fates: Mapping[int, Fate]) -> None:
        rows = [(seq, claim.token, *_fields(fate)) for seq, fate in fates.items()]
        if rows:
            await self._file.write("INSERT INTO fate VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    async def hurry(self, now: float) -> None:
        await self._file.change(
            "UPDATE parcel SET quiet = 0, due = min(due, :now) WHERE NOT dead", {"now": now}
        )

    async def known(self) -> set[RecordId]:
        rows = await self._file.rows(
            "SELECT record FROM ledger WHERE there UNION "
            "SELECT record FROM parcel WHERE op = 'add' AND NOT dead"
        )
        return {RecordId(row[0]) for row in rows}

    async def gone(self) -> set[RecordId]:
        rows = await self._file.rows(
            "SELECT record FROM ledger WHERE NOT there "
            "UNION SELECT record FROM parcel WHERE op = 'delete' AND NOT dead"
        )
        return {RecordId(row[0]) for row in rows}

    async def mark(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            rows = [(record_id,) for record_id in sorted(record_ids)]
            await self._file.write("INSERT OR IGNORE INTO ledger VALUES (?, 1)", rows)

    async def unmark(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            rows = [(record_id,) for record_id in sorted(record_ids)]
            await self._file.write("DELETE FROM ledger WHERE record = ? AND there", rows)

    async def seen_until(self) -> str:
        rows = await self._file.rows("SELECT at FROM seen_until")
        return rows[0][0] if rows else ""

    async def see_until(self, at: str) -> None:
        await self._file.change("INSERT OR REPLACE INTO seen_until VALUES (1, ?)", (at,))

    async def tally(self) -> Tally:
        ((pending, quiet, checking, dead, next_due, delivered),) = await self._file.rows(
            "SELECT count(*) FILTER (WHERE NOT dead AND NOT quiet AND stage != 'accepted'), "
            "count(*) FILTER (WHERE NOT dead AND quiet), "
            "count(*) FILTER (WHERE NOT dead AND stage = 'accepted'), "
            "count(*) FILTER (WHERE dead), "
            f"min(max(due, lease_until)) FILTER (WHERE NOT dead AND NOT quiet AND {_FIRST}), "
            "(SELECT count(*) FROM ledger WHERE there) FROM parcel"
        )
        lost = await self._file.rows(
            f"SELECT record, op, error FROM parcel WHERE dead ORDER BY seq DESC LIMIT {_SHOWN}"
        )
        return Tally(
            pending=pending,
            quiet=quiet,
            checking=checking,
            delivered=delivered,
            dead=dead,
            undelivered=tuple(Undelivered(RecordId(r), op, error) for r, op, error in lost),
            next_due=next_due,
            standing=await self.standing(),
        )

    async def standing(self) -> Standing:
        rows = await self._file.rows("SELECT failures, paused_until, blocked, reason FROM standing")
        return Standing(*rows[0]) if rows else Standing()

    async def stand(self, standing: Standing) -> None:
        await self._file.change(
            "INSERT OR REPLACE INTO standing VALUES (1, ?, ?, ?, ?)",
            (standing.failures, standing.paused_until, standing.blocked, standing.reason),
        )

    async def findings(self, *, repair: bool) -> list[Finding]:
        """SQLite's own word on the file, and what the cloud will never take."""
        if not self.path.exists():
            return []
        try:
            said = await self._file.integrity()
            tally = await self.tally() if said == "ok" else Tally()
        except StoreDamagedError as error:
            said, tally = str(error), Tally()
        except StoreError as error:  # of a newer version, or held by another session
            return [Finding("outbox-unusable", "should", str(error), "Nothing is lost.")]
        found = [
            Finding(
                "undelivered", "should", f"{dead.op} of {dead.record} was refused: {dead.error}",
                "The memory is safe here. `memory-mcp sync --push-all` tries once more.",
            )
            for dead in tally.undelivered
        ]  # fmt: skip
        if said != "ok":
            if repair:
                await self._file.replace()
            found.append(
                Finding(
                    "outbox-damaged", "should", f"{self.path}: {said}",
                    "`memory-mcp doctor --repair` begins it anew; then `memory-mcp sync "
                    "--push-all` finds out what the cloud lacks.", repaired=repair,
                )
            )  # fmt: skip
        return found

    async def aclose(self) -> None:
        await self._file.aclose()


def _fields(fate: Fate) -> tuple[str, float, str, int, int]:
    """A fate as the rest of a row of the view `fate`: what, due, error, unsent, alone."""
    match fate:
        case Accepted(due):
            return "accepted", due, "", 0, 0
        case Done():
            return "done", 0, "", 0, 0
        case Later(due, error, unsent, alone):
            return "later", due, error, int(unsent), int(alone)
        case Lost(due, error):
            return "lost", due, error, 0, 0
        case Dead(error):
            return "dead", 0, error, 0, 0
        case Dropped():
            return "dropped", 0, "", 0, 0
        case _:
            assert_never(fate)


class SqlitePulledRecords:
    """Implements `ports.PulledRecords`. `prepare` makes the folder before the file is created."""

    def __init__(self, path: Path, prepare: Callable[[], None]) -> None:
        self._file = Database(path, OUTBOX, prepare, setting=_SETTING)

    async def note(self, record_ids: Collection[RecordId]) -> None:
        if record_ids:
            rows = [(record_id,) for record_id in sorted(record_ids)]
            await self._file.write("INSERT OR IGNORE INTO pulled VALUES (?)", rows)

    async def ids(self) -> set[RecordId]:
        if not self._file.path.exists():  # nothing ever came in: no file for that
            return set()
        return {RecordId(row[0]) for row in await self._file.rows("SELECT record FROM pulled")}

    async def aclose(self) -> None:
        await self._file.aclose()
