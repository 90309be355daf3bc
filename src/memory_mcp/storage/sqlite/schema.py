"""The tables of the index and its vectors, and a record as a row of them.

A record goes in through the view `incoming`, one row each. Triggers spread it over the tables, so
that adding a record is one statement and therefore atomic; the same statement queues it for every
known embedder. Its vectors go in through the view `encoded`, one row for each chunk. Deleting from
`record` removes the rest.

A record whose file git took away moves to `aside`, and back when the file returns. Its words and
vectors, which are what an index costs, stay where they are: no query finds them without `record`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import PassageVectors, SearchFields
from memory_mcp.storage.stored import (
    compute_checksum,
    compute_record_digest,
    describe_entry,
    pack_signs,
)

VECTORS: Final = """
-- vectors are bytes, see `domain.search`; those of different embedders are never compared
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

INSERT_ENCODED: Final = f"INSERT INTO encoded VALUES ({', '.join('?' * 7)})"

_Row = tuple[str, str, int, bytes, bytes, bytes, int]


def encoded_rows(embedder: str, made: Mapping[RecordId, PassageVectors]) -> Iterator[_Row]:
    """The chunks as rows of the view `encoded`."""
    for record_id, passage in made.items():
        for number, chunk in enumerate(passage):
            signs = pack_signs(chunk)
            crc = compute_checksum(signs, chunk)
            yield embedder, record_id, number, signs, chunk.pooled, chunk.tokens, crc


VERSION: Final = 23
"""Kept in PRAGMA user_version. An index of another version is rebuilt from the records."""

DIGEST: Final = "73eaa86cff7994ae168cf03ef4b2bb4a47d203380324ff30aea4366bc9d7e2e6"
"""Of the tables that `SCHEMA` makes: to make them takes as long as all else that opening does."""

BLOCK_BITS: Final = 11
"""The postings of 2,048 records lie together: a search looks each term up once in each block."""

_TRIGRAMS: Final = """WITH RECURSIVE place (at) AS (
        SELECT 1 WHERE length({term}) > 2
        UNION ALL SELECT at + 1 FROM place WHERE at < length({term}) - 2)
        SELECT DISTINCT substr({term}, at, 3) AS trigram FROM place"""

_LETTERS: Final = (
    "length(replace({row}.body || {row}.names || {row}.dates || {row}.extra, ' ', ''))"
)
"""How long a text is, in letters; 0 once it is blanked."""

# 1 while the record is set aside, and its words count nowhere
_AWAY: Final = "(SELECT count(*) FROM aside WHERE rowid = OLD.record)"

_TAKE_OUT_TERMS: Final = f"""
    UPDATE held SET letters = letters - {_LETTERS.format(row="OLD")} WHERE NOT {_AWAY};
    DELETE FROM posting WHERE block = OLD.record >> {BLOCK_BITS} AND record = OLD.record
        AND term IN (SELECT number FROM term
            WHERE term IN (SELECT term FROM terms WHERE record = OLD.record));
    UPDATE term SET records = records - 1 + {_AWAY}, away = away - {_AWAY}
        WHERE term IN (SELECT term FROM terms WHERE record = OLD.record);
    DELETE FROM term WHERE records + away < 1
        AND term IN (SELECT term FROM terms WHERE record = OLD.record);"""

_DROP_CONTENT: Final = """
    DELETE FROM tag WHERE record = OLD.rowid;
    DELETE FROM source WHERE record = OLD.rowid;
    DELETE FROM fields WHERE record = OLD.rowid;
    DELETE FROM vector WHERE record = OLD.rowid;"""

# the segment of the only record that suppresses this one, '-' if that is durable, '' if none does;
# '?' if it takes more to say whether this one is visible
_HIDER: Final = """
    CASE WHEN derived OR expires_at IS NOT NULL THEN '?' ELSE (
        SELECT CASE WHEN count(*) = 0 THEN '' WHEN count(*) > 1 OR max(made) THEN '?'
            ELSE coalesce(max(segment), '-') END
        FROM (SELECT s.segment, EXISTS (
                SELECT 1 FROM source WHERE source.record = s.record AND source.source = s.target
            ) OR EXISTS (
                SELECT 1 FROM record e
                WHERE e.rowid = s.record AND e.kind = 'exclusion' AND e.derived
            ) AS made FROM suppression s WHERE s.target = record.id)) END"""

_TALLIED: Final = """ifnull(segment, '') = ifnull(OLD.segment, '') AND kind = OLD.kind
        AND layer = OLD.layer AND recalled = OLD.recalled AND profile = OLD.profile
        AND hider = OLD.hider"""

# what is durable has no segment, and NULL is like no other NULL to an index
_SORT: Final = "ifnull(segment, ''), kind, layer, recalled, profile, hider"

_ADD_TO_TALLY: Final = f"""
    INSERT INTO tally
        VALUES (NEW.segment, NEW.kind, NEW.layer, NEW.recalled, NEW.profile, NEW.hider, 1)
        ON CONFLICT ({_SORT}) DO UPDATE SET records = records + 1;"""

_TAKE_FROM_TALLY: Final = f"""
    UPDATE tally SET records = records - 1 WHERE {_TALLIED};
    DELETE FROM tally WHERE records < 1 AND {_TALLIED};"""

_COLUMNS: Final = """rowid INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    layer TEXT NOT NULL,
    segment TEXT,                    -- NULL: durable
    branch TEXT,
    key TEXT NOT NULL,
    category TEXT NOT NULL,
    phase INTEGER,
    importance INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    recalled INTEGER NOT NULL,       -- 1: a search may find it
    moves INTEGER NOT NULL,          -- 1: it moves the head
    derived INTEGER NOT NULL,        -- 1: it names its sources
    expires_at TEXT,
    created_at TEXT NOT NULL,
    session TEXT NOT NULL,           -- who wrote it, in one go
    day TEXT NOT NULL,               -- the day that the text itself says it is of
    statement TEXT NOT NULL,         -- digest of what it states, or says was rejected
    profile INTEGER NOT NULL,        -- 1: a fact of the profile, which has its own place
    mark INTEGER NOT NULL,           -- of the id
    -- of all it says
    digest TEXT NOT NULL"""

COLUMNS: Final = (
    "rowid, id, kind, layer, segment, branch, key, category, phase, importance, pinned, recalled, "
    "moves, derived, expires_at, created_at, session, day, statement, profile, mark, digest"
)
"""What `record` and `aside` have in common."""

SCHEMA: Final = f"""
CREATE TABLE record (
    {_COLUMNS},
    hider TEXT NOT NULL DEFAULT ''   -- see `tally`
);
CREATE INDEX record_by_statement ON record (statement) WHERE statement != '';
CREATE INDEX record_by_key ON record (key) WHERE key != '';
CREATE INDEX record_by_session ON record (session, id) WHERE recalled;
CREATE INDEX record_by_segment ON record (segment, id);
-- what a node of a tree sees of its core and its events, without all else on its chain
CREATE INDEX record_by_layer ON record (segment, layer, id) WHERE layer != 'archival';
CREATE INDEX record_by_rank ON record (kind, pinned, importance, id) WHERE recalled;
CREATE INDEX record_doubtful ON record (segment) WHERE hider = '?';
CREATE INDEX record_excluding ON record (segment) WHERE kind = 'exclusion' AND derived;
CREATE INDEX record_moves ON record (id) WHERE moves = 1;

-- one row: the xor of the marks of all records, so that nobody has to read them
CREATE TABLE known (marks INTEGER NOT NULL);
INSERT INTO known VALUES (0);
CREATE TRIGGER known_insert AFTER INSERT ON record
BEGIN
    UPDATE known SET marks = (marks | NEW.mark) - (marks & NEW.mark);
END;
CREATE TRIGGER known_delete AFTER DELETE ON record
BEGIN
    UPDATE known SET marks = (marks | OLD.mark) - (marks & OLD.mark);
END;

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
CREATE INDEX source_by_source ON source (source);

-- `record` erases `target`: its file must not exist any more
CREATE TABLE erasure (target TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (target, record))
    WITHOUT ROWID;
CREATE INDEX erasure_by_record ON erasure (record);

-- records whose files are away, with what they suppress and erase, which counts nowhere meanwhile
CREATE TABLE aside (
    {_COLUMNS},
    supersedes TEXT NOT NULL, erases TEXT NOT NULL
);
CREATE TRIGGER aside_delete BEFORE DELETE ON aside
WHEN NOT EXISTS (SELECT 1 FROM record WHERE rowid = OLD.rowid)
BEGIN{_DROP_CONTENT}
END;

CREATE TABLE complete (since TEXT NOT NULL);     -- one row once every record is in

-- what is searched, as terms with spaces between them
CREATE TABLE fields (
    record INTEGER PRIMARY KEY, body TEXT NOT NULL, names TEXT NOT NULL, dates TEXT NOT NULL,
    extra TEXT NOT NULL, meaning BLOB NOT NULL, outline BLOB NOT NULL
);
-- in how many records each term is, and in how many that are away; one that is in none is not here
CREATE TABLE term (
    number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, records INTEGER NOT NULL,
    away INTEGER NOT NULL DEFAULT 0
);
-- every three consecutive characters of a term
CREATE TABLE spelling (trigram TEXT NOT NULL, term INTEGER NOT NULL, PRIMARY KEY (trigram, term))
    WITHOUT ROWID;
-- which records hold a term, how much that counts, and how long the record is. What is of the same
-- block of records lies together, so a new record changes few pages however many there are
CREATE TABLE posting (
    block INTEGER NOT NULL, term INTEGER NOT NULL, record INTEGER NOT NULL,
    weight INTEGER NOT NULL, length INTEGER NOT NULL, PRIMARY KEY (block, term, record)
) WITHOUT ROWID;
-- one row: how many texts there are, and how long they are all together
CREATE TABLE held (texts INTEGER NOT NULL, letters INTEGER NOT NULL);
INSERT INTO held VALUES (0, 0);
-- the weights are those of the ranking's own BM25, ten times
CREATE VIEW terms AS
    SELECT record, word.value AS term,
        sum(CASE field.key WHEN 0 THEN 10 WHEN 2 THEN 5 ELSE 6 END) AS weight
    FROM fields CROSS JOIN json_each(json_array(body, names, dates, extra)) field
    CROSS JOIN json_each('[' || replace(json_quote(field.value), ' ', '","') || ']') word
    WHERE word.value != '' GROUP BY record, word.value;

CREATE TRIGGER fields_insert AFTER INSERT ON fields
BEGIN
    INSERT INTO term (term, records) SELECT term, 1 FROM terms WHERE record = NEW.record
        ON CONFLICT (term) DO UPDATE SET records = records + 1;
    INSERT OR REPLACE INTO posting
        SELECT NEW.record >> {BLOCK_BITS}, number, NEW.record, weight, {_LETTERS.format(row="NEW")}
        FROM terms CROSS JOIN term USING (term) WHERE terms.record = NEW.record ORDER BY number;
    UPDATE held SET texts = texts + 1, letters = letters + {_LETTERS.format(row="NEW")};
END;
-- a row is blanked before it is deleted (`BLANK_FIELDS`): then its terms are taken out already
CREATE TRIGGER fields_update BEFORE UPDATE ON fields
WHEN (OLD.body, OLD.names, OLD.dates, OLD.extra) IS NOT (NEW.body, NEW.names, NEW.dates, NEW.extra)
BEGIN{_TAKE_OUT_TERMS}
END;
CREATE TRIGGER fields_delete BEFORE DELETE ON fields
BEGIN{_TAKE_OUT_TERMS}
    UPDATE held SET texts = texts - 1 WHERE NOT {_AWAY};
END;
CREATE TRIGGER term_insert AFTER INSERT ON term
BEGIN
    INSERT INTO spelling SELECT trigram, NEW.number FROM ({_TRIGRAMS.format(term="NEW.term")});
END;
CREATE TRIGGER term_delete AFTER DELETE ON term
BEGIN
    DELETE FROM spelling
        WHERE term = OLD.number AND trigram IN ({_TRIGRAMS.format(term="OLD.term")});
END;

-- how many records there are of each sort, so that a count need not look at all of them: those with
-- a `hider` on the chain are hidden, and only those with '?' must be looked at one by one
CREATE TABLE tally (
    segment TEXT, kind TEXT NOT NULL, layer TEXT NOT NULL, recalled INTEGER NOT NULL,
    profile INTEGER NOT NULL, hider TEXT NOT NULL, records INTEGER NOT NULL
);
CREATE UNIQUE INDEX tally_by_sort ON tally ({_SORT});
CREATE INDEX tally_by_segment ON tally (segment, kind, layer, recalled, profile, hider, records);
CREATE TRIGGER tally_insert AFTER INSERT ON record
BEGIN{_ADD_TO_TALLY}
END;
CREATE TRIGGER tally_delete AFTER DELETE ON record
BEGIN{_TAKE_FROM_TALLY}
END;
CREATE TRIGGER tally_update AFTER UPDATE OF hider ON record
BEGIN{_TAKE_FROM_TALLY}{_ADD_TO_TALLY}
END;
CREATE TRIGGER suppression_insert AFTER INSERT ON suppression
BEGIN
    UPDATE record SET hider = {_HIDER} WHERE id = NEW.target;
END;
CREATE TRIGGER suppression_delete AFTER DELETE ON suppression
BEGIN
    UPDATE record SET hider = {_HIDER} WHERE id = OLD.target;
END;

CREATE VIEW incoming AS
    SELECT id, kind, layer, segment, branch, key, category, phase, importance, pinned, recalled,
        moves, expires_at, created_at, session, day, statement, profile, mark, '[]' AS tags,
        '[]' AS supersedes, '[]' AS derived_from, '[]' AS erases, '' AS body, '' AS names,
        '' AS dates, '' AS extra, x'' AS meaning, x'' AS outline, digest, NULL AS number
    FROM record;

CREATE TRIGGER incoming_insert INSTEAD OF INSERT ON incoming
WHEN NOT EXISTS (SELECT 1 FROM record WHERE id = NEW.id)
BEGIN
    DELETE FROM aside WHERE id = NEW.id;  -- it came back and says something else
    INSERT INTO record ({COLUMNS})
        VALUES (
            coalesce(
                -- if another process has not taken the number meanwhile
                (SELECT NEW.number WHERE NOT EXISTS (SELECT 1 FROM record WHERE rowid = NEW.number)
                    AND NOT EXISTS (SELECT 1 FROM aside WHERE rowid = NEW.number)),
                1 + max((SELECT coalesce(max(rowid), 0) FROM record),
                        (SELECT coalesce(max(rowid), 0) FROM aside))),
            NEW.id, NEW.kind, NEW.layer, NEW.segment, NEW.branch, NEW.key, NEW.category, NEW.phase,
            NEW.importance, NEW.pinned, NEW.recalled, NEW.moves, NEW.derived_from != '[]',
            NEW.expires_at, NEW.created_at, NEW.session, NEW.day, NEW.statement, NEW.profile,
            NEW.mark, NEW.digest);
    INSERT OR IGNORE INTO tag
        SELECT value, (SELECT rowid FROM record WHERE id = NEW.id) FROM json_each(NEW.tags);
    INSERT OR IGNORE INTO source
        SELECT (SELECT rowid FROM record WHERE id = NEW.id), value
        FROM json_each(NEW.derived_from);
    INSERT OR IGNORE INTO suppression
        SELECT value, (SELECT rowid FROM record WHERE id = NEW.id), NEW.segment,
            NEW.kind = 'tombstone'
        FROM json_each(NEW.supersedes);
    UPDATE record SET hider = {_HIDER} WHERE id = NEW.id AND hider != {_HIDER};
    INSERT OR IGNORE INTO erasure
        SELECT value, (SELECT rowid FROM record WHERE id = NEW.id) FROM json_each(NEW.erases);
    INSERT INTO fields
        SELECT rowid, NEW.body, NEW.names, NEW.dates, NEW.extra, NEW.meaning, NEW.outline
        FROM record WHERE id = NEW.id AND recalled;
    INSERT INTO encoding (embedder, record)
        SELECT number, (SELECT rowid FROM record WHERE id = NEW.id) FROM embedder
        WHERE EXISTS (SELECT 1 FROM record WHERE id = NEW.id AND recalled);
END;

CREATE TRIGGER record_delete AFTER DELETE ON record
BEGIN
    DELETE FROM suppression WHERE record = OLD.rowid;
    DELETE FROM erasure WHERE record = OLD.rowid;
    DELETE FROM encoding WHERE record = OLD.rowid;
END;
CREATE TRIGGER record_gone AFTER DELETE ON record
WHEN NOT EXISTS (SELECT 1 FROM aside WHERE rowid = OLD.rowid)
BEGIN{_DROP_CONTENT}
END;
{VECTORS}"""

_BLANKS: Final = ", ".join(
    f"{column} = printf('%*s', length(CAST({column} AS BLOB)), '')"
    for column in ("body", "names", "dates", "extra")
)
BLANK_FIELDS: Final = (
    f"UPDATE fields SET {_BLANKS}, meaning = zeroblob(length(meaning)), "
    "outline = zeroblob(length(outline)) "
    "WHERE record = coalesce((SELECT rowid FROM record WHERE id = ?1), "
    "(SELECT rowid FROM aside WHERE id = ?1))"
)
"""What goes before the deletion of records: as many spaces as there were letters.

A deletion moves rows from page to page and leaves what stood there in the gaps, which not even
`secure_delete` overwrites. Whatever moves then is blank.
"""

INSERT_RECORD: Final = f"INSERT INTO incoming VALUES ({', '.join('?' * 31)})"


def record_row(record: Record, fields: SearchFields) -> Sequence[object]:
    """The record as a row of `incoming`, without a number.

    Its columns are those of `describe_entry`, in order, and the digest.
    """
    values = (*describe_entry(record, fields).values(), compute_record_digest(record))
    return [
        json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
        for value in values
    ]


_IN_LIST: Final = "id IN (SELECT value FROM json_each(:ids))"

# the postings of a term lie by block: what many records hold is read block by block, not one by one
_MOVE_WORDS: Final = f"""
    UPDATE term SET records = records {{sign}} moved.n, away = away - ({{sign}} moved.n) FROM (
        SELECT p.term AS number, count(*) AS n FROM posting p
        WHERE p.block IN (SELECT DISTINCT rowid >> {BLOCK_BITS} FROM {{of}} WHERE {_IN_LIST})
            AND p.record IN (SELECT rowid FROM {{of}} WHERE {_IN_LIST})
        GROUP BY p.term) moved
    WHERE term.number = moved.number"""

_MOVE_LETTERS: Final = f"""
    UPDATE held SET texts = texts {{sign}} moved.n, letters = letters {{sign}} moved.length
    FROM (SELECT count(*) AS n, coalesce(sum({_LETTERS.format(row="f")}), 0) AS length
        FROM {{of}} JOIN fields f ON f.record = {{of}}.rowid WHERE {_IN_LIST}) moved"""

SET_ASIDE: Final = (
    _MOVE_WORDS.format(sign="-", of="record"),
    _MOVE_LETTERS.format(sign="-", of="record"),
    f"""INSERT INTO aside SELECT {COLUMNS},
        (SELECT json_group_array(target) FROM suppression s WHERE s.record = record.rowid),
        (SELECT json_group_array(target) FROM erasure e WHERE e.record = record.rowid)
        FROM record WHERE {_IN_LIST}""",
    f"DELETE FROM record WHERE {_IN_LIST}",
)
"""Sets the records `:ids` aside, in one transaction."""

TAKE_UP: Final = (
    _MOVE_WORDS.format(sign="+", of="aside"),
    _MOVE_LETTERS.format(sign="+", of="aside"),
    f"INSERT INTO record ({COLUMNS}) SELECT {COLUMNS} FROM aside WHERE {_IN_LIST}",
    f"""INSERT OR IGNORE INTO suppression
        SELECT each.value, aside.rowid, aside.segment, aside.kind = 'tombstone'
        FROM aside CROSS JOIN json_each(aside.supersedes) each WHERE aside.{_IN_LIST}""",
    f"""INSERT OR IGNORE INTO erasure
        SELECT each.value, aside.rowid FROM aside CROSS JOIN json_each(aside.erases) each
        WHERE aside.{_IN_LIST}""",
    f"UPDATE record SET hider = {_HIDER} WHERE {_IN_LIST} AND hider != {_HIDER}",
    f"""INSERT OR IGNORE INTO encoding (embedder, record)
        SELECT e.number, a.rowid FROM embedder e CROSS JOIN aside a
        WHERE a.{_IN_LIST} AND a.recalled AND NOT EXISTS (
            SELECT 1 FROM vector v WHERE v.record = a.rowid AND v.embedder = e.number)""",
    f"DELETE FROM aside WHERE {_IN_LIST}",
)
"""Takes the records `:ids` up again, in one transaction."""
