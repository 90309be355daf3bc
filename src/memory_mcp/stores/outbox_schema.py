"""The tables of the outbox, and the rules that its triggers keep."""

from typing import Final

from memory_mcp.database import Make
from memory_mcp.errors import StoreDamagedError, StoreUnavailableError

__all__ = ["ADDRESSED", "OUTBOX"]

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
