"""The tables of the index, and the projection of a record onto them.

A record goes in through the view `incoming`, one row each; triggers spread it over the tables, so
that adding a record is one statement and therefore atomic. Deleting from `record` takes the rest
along.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from memory_mcp.domain.record import Record, iso

__all__ = ["INSERT", "SCHEMA", "VERSION", "row"]

VERSION: Final = 1
"""Kept in PRAGMA user_version. Another number: the index is made anew from the records."""

SCHEMA: Final = """
CREATE TABLE record (
    rowid INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    segment TEXT,                    -- NULL: durable
    branch TEXT,
    category TEXT NOT NULL,
    phase INTEGER,
    importance INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    recalled INTEGER NOT NULL,       -- 1: a search may find it
    moves INTEGER NOT NULL,          -- 1: it moves the head
    derived INTEGER NOT NULL,        -- 1: it names its sources
    expires_at TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX record_by_segment ON record (segment, id);
CREATE INDEX record_moves ON record (id) WHERE moves = 1;

CREATE TABLE tag (tag TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (tag, record))
    WITHOUT ROWID;
CREATE INDEX tag_by_record ON tag (record);

-- `record` (in `segment`) supersedes `target`, or, being a tombstone, buries it
CREATE TABLE suppression (
    target TEXT NOT NULL, record INTEGER NOT NULL, segment TEXT, buries INTEGER NOT NULL,
    PRIMARY KEY (target, record)
) WITHOUT ROWID;
CREATE INDEX suppression_by_segment ON suppression (segment);
CREATE INDEX suppression_by_record ON suppression (record);

CREATE TABLE source (record INTEGER NOT NULL, source TEXT NOT NULL, PRIMARY KEY (record, source))
    WITHOUT ROWID;

-- `record` erases `target`: its file must not exist any more
CREATE TABLE erasure (target TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (target, record))
    WITHOUT ROWID;
CREATE INDEX erasure_by_record ON erasure (record);

CREATE TABLE complete (since TEXT NOT NULL);     -- one row once every record is in

CREATE VIRTUAL TABLE text USING fts5 (
    content, title, tags, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE VIEW incoming AS
    SELECT id, kind, segment, branch, category, phase, importance, pinned, recalled, moves,
        expires_at, created_at, '' AS content, '' AS title, '[]' AS tags, '[]' AS supersedes,
        '[]' AS derived_from, '[]' AS erases
    FROM record;

CREATE TRIGGER incoming_insert INSTEAD OF INSERT ON incoming
WHEN NOT EXISTS (SELECT 1 FROM record WHERE id = NEW.id)
BEGIN
    INSERT INTO record (id, kind, segment, branch, category, phase, importance, pinned, recalled,
            moves, derived, expires_at, created_at)
        VALUES (NEW.id, NEW.kind, NEW.segment, NEW.branch, NEW.category, NEW.phase,
            NEW.importance, NEW.pinned, NEW.recalled, NEW.moves, NEW.derived_from != '[]',
            NEW.expires_at, NEW.created_at);
    INSERT OR IGNORE INTO tag
        SELECT value, (SELECT rowid FROM record WHERE id = NEW.id) FROM json_each(NEW.tags);
    INSERT OR IGNORE INTO suppression
        SELECT value, (SELECT rowid FROM record WHERE id = NEW.id), NEW.segment,
            NEW.kind = 'tombstone'
        FROM json_each(NEW.supersedes);
    INSERT OR IGNORE INTO source
        SELECT (SELECT rowid FROM record WHERE id = NEW.id), value
        FROM json_each(NEW.derived_from);
    INSERT OR IGNORE INTO erasure
        SELECT value, (SELECT rowid FROM record WHERE id = NEW.id) FROM json_each(NEW.erases);
    INSERT INTO text (rowid, content, title, tags)
        SELECT rowid, NEW.content, NEW.title,
            (SELECT group_concat(value, ' ') FROM json_each(NEW.tags))
        FROM record WHERE id = NEW.id AND recalled;
END;

CREATE TRIGGER record_delete AFTER DELETE ON record
BEGIN
    DELETE FROM tag WHERE record = OLD.rowid;
    DELETE FROM suppression WHERE record = OLD.rowid;
    DELETE FROM source WHERE record = OLD.rowid;
    DELETE FROM erasure WHERE record = OLD.rowid;
    DELETE FROM text WHERE rowid = OLD.rowid;
END;
"""

INSERT: Final = f"INSERT INTO incoming VALUES ({', '.join('?' * 18)})"

_Value = str | int | None
_BETWEEN_WORDS: Final = re.compile(r"[^\w\u0300-\u036f]+")


def row(record: Record) -> Sequence[_Value]:
    """The record as a row of `incoming`. Categories and tags are folded: filters ignore case."""
    return (
        record.id,
        record.kind,
        record.segment,
        record.branch,
        record.category.casefold(),
        record.phase,
        record.importance,
        int(record.pinned),
        int(record.recalled),
        int(record.move is not None),
        iso(record.expires_at) if record.expires_at else None,
        iso(record.created_at),
        _words(record.content),
        _words(record.title),
        json.dumps([tag.casefold() for tag in record.tags], ensure_ascii=False),
        json.dumps(record.supersedes),
        json.dumps(record.derived_from),
        json.dumps(record.erases),
    )


def _words(text: str) -> str:
    """The text without emoji and signs: SQLite takes those newer than 2012 for letters."""
    return text if text.isascii() else _BETWEEN_WORDS.sub(" ", text)
