"""The tables of the vectors, beside those of the records they are of.

A record is queued for every embedder that is known, by the same statement that adds it; what an
embedder made of it goes in through the view `encoded`, one row for each chunk.
"""

import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.vectors import Chunk, Passage

__all__ = ["KEEP", "VECTORS", "checksum", "kept", "signs_of"]

VECTORS: Final = """
-- vectors are bytes, see `domain.vectors`; those of different embedders are never compared
CREATE TABLE embedder (
    number INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, used_at TEXT NOT NULL
);
-- a row for each chunk; numbers rise and are never used again, so that what is new can be asked for
CREATE TABLE vector (
    number INTEGER PRIMARY KEY AUTOINCREMENT, record INTEGER NOT NULL, embedder INTEGER NOT NULL,
    signs BLOB NOT NULL              -- of the pooled vector: enough to find what is near
);
CREATE INDEX vector_by_record ON vector (record, embedder);
CREATE TABLE vector_whole (
    number INTEGER PRIMARY KEY, pooled BLOB NOT NULL, tokens BLOB NOT NULL,
    crc INTEGER NOT NULL             -- over signs, pooled and tokens
);
-- what an embedder has yet to encode, and until when somebody is at it
CREATE TABLE encoding (
    embedder INTEGER NOT NULL, record INTEGER NOT NULL, until TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (embedder, record)
) WITHOUT ROWID;
CREATE INDEX encoding_by_record ON encoding (record);

CREATE TRIGGER embedder_insert AFTER INSERT ON embedder
BEGIN
    INSERT INTO encoding (embedder, record) SELECT NEW.number, rowid FROM record WHERE recalled;
END;
CREATE TRIGGER embedder_delete AFTER DELETE ON embedder
BEGIN
    DELETE FROM vector WHERE embedder = OLD.number;
    DELETE FROM encoding WHERE embedder = OLD.number;
END;
CREATE TRIGGER vector_delete AFTER DELETE ON vector
BEGIN
    DELETE FROM vector_whole WHERE number = OLD.number;
END;

CREATE VIEW encoded AS
    SELECT '' AS identity, '' AS id, 0 AS chunk, x'' AS signs, x'' AS pooled, x'' AS tokens,
        0 AS crc;
CREATE TRIGGER encoded_insert INSTEAD OF INSERT ON encoded
WHEN EXISTS (SELECT 1 FROM record WHERE id = NEW.id)
    AND EXISTS (SELECT 1 FROM embedder WHERE identity = NEW.identity)
BEGIN
    DELETE FROM vector WHERE NEW.chunk = 0
        AND record = (SELECT rowid FROM record WHERE id = NEW.id)
        AND embedder = (SELECT number FROM embedder WHERE identity = NEW.identity);
    INSERT INTO vector (record, embedder, signs)
        SELECT (SELECT rowid FROM record WHERE id = NEW.id), number, NEW.signs
        FROM embedder WHERE identity = NEW.identity;
    INSERT INTO vector_whole
        SELECT max(v.number), NEW.pooled, NEW.tokens, NEW.crc FROM vector v
        WHERE v.record = (SELECT rowid FROM record WHERE id = NEW.id)
            AND v.embedder = (SELECT number FROM embedder WHERE identity = NEW.identity);
    DELETE FROM encoding WHERE record = (SELECT rowid FROM record WHERE id = NEW.id)
        AND embedder = (SELECT number FROM embedder WHERE identity = NEW.identity);
END;
"""

KEEP: Final = f"INSERT INTO encoded VALUES ({', '.join('?' * 7)})"

_Row = tuple[str, str, int, bytes, bytes, bytes, int]


def kept(embedder: str, made: Mapping[RecordId, Passage]) -> Iterator[_Row]:
    """Rows of `encoded`."""
    for record_id, passage in made.items():
        for number, chunk in enumerate(passage):
            signs = signs_of(chunk)
            crc = checksum(signs, chunk)
            yield embedder, record_id, number, signs, chunk.pooled, chunk.tokens, crc


def signs_of(chunk: Chunk) -> bytes:
    """A bit for each dimension of the pooled vector, set where it is positive; big-endian."""
    bits = "".join("1" if 0 < value < 128 else "0" for value in chunk.pooled)  # noqa: PLR2004
    bits += "0" * (-len(bits) % 64)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def checksum(signs: bytes, chunk: Chunk) -> int:
    """What a row must add up to."""
    return zlib.crc32(signs + chunk.pooled + chunk.tokens)
