"""The tables, as numbered migrations that only go forwards.

A server brings the schema up to its own version when it first connects. One that is older than the
schema refuses to work with it. A migration that was released is never changed again. A release that
reads other terms out of a text brings a migration that deletes `entry` and `term` and clears what
`bank` says of them: then the index is made anew, and no older server mixes in terms of its own.

Policies show each session the rows of the banks that it named, in `memory_mcp.user`, `.team`,
`.owner` and `.project`, and let it write no others; the owner of the tables is held to them as
well. A migration names `memory_mcp.everyone`, because it works on everyone's rows.

    bank            memories of a project, a team or a user: everything else belongs to one of them
    record          the truth: the JSON of each record, as the files hold it
    head, history   where a project stands, and every move
    erased          the ids that were erased
    journal         what an import is about to write
    entry …         the index over the records, and their vectors, all of it a derivative

A record is added to `record` and to the index in one statement, so an index that was once complete
stays so. What all additions would have to change (how many records hold a term) is not counted by
them, or they would wait for each other: `uncounted` names the entries whose terms are not in `term`
yet, and whoever reads the counts adds those.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from memory_mcp.errors import NewerSchemaError

NAMESPACE: Final = "memory_mcp"
"""The schema, in PostgreSQL's sense, in which the tables are."""

_MIGRATING: Final = 7_305_812_004_411
"""The advisory lock of whoever changes the tables."""

_FIRST: Final = """
CREATE TABLE bank (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL,             -- the user whose memories they are; '': everyone's
    project text NOT NULL,           -- '': the user's, in every project
    complete boolean NOT NULL DEFAULT false,    -- every record is in the index
    -- of the entries that are counted: how many, the xor of their marks, the sum of their lengths
    records bigint NOT NULL DEFAULT 0,
    marks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,
    UNIQUE (owner, project)
);

CREATE TABLE record (
    bank integer NOT NULL REFERENCES bank,
    id text COLLATE "C" NOT NULL,
    json text NOT NULL,              -- the bytes of a record's file
    PRIMARY KEY (bank, id)
);

CREATE TABLE head (
    bank integer PRIMARY KEY REFERENCES bank,
    version bigint NOT NULL,         -- rises with each change, the revision only with some
    revision bigint NOT NULL,
    json text NOT NULL
);
CREATE TABLE history (
    number bigint GENERATED ALWAYS AS IDENTITY,
    bank integer NOT NULL REFERENCES bank,
    move text COLLATE "C" NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (bank, move)
);
CREATE TABLE head_set_aside (        -- damaged ones, for a person to look at
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bank integer NOT NULL REFERENCES bank,
    json text NOT NULL
);

CREATE TABLE erased (
    bank integer NOT NULL REFERENCES bank, id text COLLATE "C" NOT NULL, PRIMARY KEY (bank, id)
);

CREATE TABLE journal (
    bank integer NOT NULL REFERENCES bank, number integer NOT NULL, json text NOT NULL,
    PRIMARY KEY (bank, number)
);

-- the index: a row for each record
CREATE TABLE entry (
    row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bank integer NOT NULL REFERENCES bank,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    layer text COLLATE "C" NOT NULL,
    segment text COLLATE "C",        -- NULL: durable
    branch text COLLATE "C",
    key text COLLATE "C" NOT NULL,
    category text COLLATE "C" NOT NULL,
    tags text[] COLLATE "C" NOT NULL,
    phase integer,
    importance smallint NOT NULL,
    pinned boolean NOT NULL,
    recalled boolean NOT NULL,       -- a search may find it
    moves boolean NOT NULL,          -- it moves the head
    derived boolean NOT NULL,        -- it names its sources
    profile boolean NOT NULL,        -- a fact of the profile, which has its own place
    expires_at text COLLATE "C",
    created_at text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,  -- who wrote it, in one go
    day text COLLATE "C" NOT NULL,   -- the day that the text itself says it is of
    statement text COLLATE "C" NOT NULL,  -- digest of what it states, or says was rejected
    mark bigint NOT NULL,            -- of the id
    -- what is searched: terms with spaces between them; the same as lexemes `bank:term`; how many
    body text NOT NULL,
    names text NOT NULL,
    dates text NOT NULL,
    extra text NOT NULL,
    meaning bytea NOT NULL,
    outline bytea NOT NULL,          -- what its statements are compared by
    words tsvector NOT NULL,
    length integer NOT NULL,
    UNIQUE (bank, id)
);
CREATE INDEX entry_by_word ON entry USING gin (words) WHERE recalled;
CREATE INDEX entry_by_end ON entry (bank, reverse(id)) WHERE recalled;
CREATE INDEX entry_by_segment ON entry (bank, segment, id);
CREATE INDEX entry_by_layer ON entry (bank, segment, layer, id) WHERE layer <> 'archival';
CREATE INDEX entry_by_rank ON entry (bank, kind, pinned, importance, id) WHERE recalled;
CREATE INDEX entry_by_session ON entry (bank, session, id) WHERE recalled;
CREATE INDEX entry_by_statement ON entry (bank, statement) WHERE statement <> '';
CREATE INDEX entry_by_key ON entry (bank, key) WHERE key <> '';
CREATE INDEX entry_by_tag ON entry USING gin (tags) WHERE cardinality(tags) > 0;
CREATE INDEX entry_excluding ON entry (bank, segment) WHERE kind = 'exclusion' AND derived;
CREATE INDEX entry_that_moves ON entry (bank, id) WHERE moves;

-- `row` (in `segment`) supersedes `target`, or, being a tombstone, buries it
CREATE TABLE suppression (
    bank integer NOT NULL,
    target text COLLATE "C" NOT NULL,
    row bigint NOT NULL REFERENCES entry ON DELETE CASCADE,
    segment text COLLATE "C",
    buries boolean NOT NULL,
    PRIMARY KEY (bank, target, row)
);
CREATE INDEX suppression_by_segment ON suppression (bank, segment);
CREATE INDEX suppression_by_row ON suppression (row);

CREATE TABLE source (
    bank integer NOT NULL,
    row bigint NOT NULL REFERENCES entry ON DELETE CASCADE,
    source text COLLATE "C" NOT NULL,
    PRIMARY KEY (row, source)
);
CREATE INDEX source_by_source ON source (bank, source);

-- `row` erases `target`: its record must not exist any more
CREATE TABLE erasure (
    bank integer NOT NULL,
    target text COLLATE "C" NOT NULL,
    row bigint NOT NULL REFERENCES entry ON DELETE CASCADE,
    PRIMARY KEY (bank, target, row)
);
CREATE INDEX erasure_by_row ON erasure (row);

-- in how many records each term is; a term that is in none is not here
CREATE TABLE term (
    bank integer NOT NULL REFERENCES bank,
    term text COLLATE "C" NOT NULL,
    records bigint NOT NULL,
    trigrams text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (bank, term)
);
CREATE INDEX term_by_trigram ON term USING gin (trigrams);
CREATE TABLE uncounted (
    bank integer NOT NULL REFERENCES bank,
    row bigint NOT NULL REFERENCES entry ON DELETE CASCADE,
    PRIMARY KEY (bank, row)
);
CREATE INDEX uncounted_by_row ON uncounted (row);

-- whether an entry was made of something that is gone, not on the chain, or buried there; as a
-- function it is planned once for each session, and walks from one entry to the next by their keys
CREATE FUNCTION is_abandoned(of_bank integer, of_row bigint, chain text[]) RETURNS boolean
LANGUAGE plpgsql STABLE COST 1000
SET search_path = memory_mcp
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
AS $$ BEGIN RETURN EXISTS (
    WITH RECURSIVE up (id, made) AS (
        SELECT source, row FROM source WHERE row = of_row
        UNION
        SELECT source.source, o.row FROM up
            JOIN entry o ON o.bank = of_bank AND o.id = up.id
            JOIN source ON source.row = o.row)
    SELECT 1 FROM up LEFT JOIN entry o ON o.bank = of_bank AND o.id = up.id
    WHERE (o.id IS NULL AND NOT EXISTS (
            SELECT 1 FROM suppression s
            WHERE s.bank = of_bank AND s.target = up.id AND s.row = up.made))
        OR NOT (o.segment IS NULL OR o.segment = ANY(chain))
        OR EXISTS (
            SELECT 1 FROM suppression s
            WHERE s.bank = of_bank AND s.target = up.id AND s.buries
                AND (s.segment IS NULL OR s.segment = ANY(chain)))); END $$;
"""

_VECTORS: Final = """
-- vectors are bytes, see `domain.search`; those of different embedders are never compared
CREATE TABLE embedder (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bank integer NOT NULL REFERENCES bank,
    identity text COLLATE "C" NOT NULL,
    used_at text COLLATE "C" NOT NULL,
    UNIQUE (bank, identity)
);
CREATE TABLE vector (                -- a row for each chunk
    embedder integer NOT NULL REFERENCES embedder ON DELETE CASCADE,
    row bigint NOT NULL REFERENCES entry ON DELETE CASCADE,
    chunk integer NOT NULL,
    signs bit varying NOT NULL,      -- of the pooled vector: enough to find what is near
    pooled bytea NOT NULL,
    tokens bytea NOT NULL,
    crc bigint NOT NULL,             -- over signs, pooled and tokens
    PRIMARY KEY (row, embedder, chunk)
);
CREATE INDEX vector_by_embedder ON vector (embedder, row, chunk);
-- what an embedder has yet to encode, and until when somebody is at it
CREATE TABLE encoding (
    embedder integer NOT NULL REFERENCES embedder ON DELETE CASCADE,
    row bigint NOT NULL REFERENCES entry ON DELETE CASCADE,
    until text COLLATE "C" NOT NULL,
    PRIMARY KEY (embedder, row)
);
CREATE INDEX encoding_by_row ON encoding (row);
"""

CHANNEL: Final = "memory_mcp"
"""On which changes are announced, as `<number of the bank> <name of who made them>`."""

_NOTIFICATIONS: Final = f"""
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql SET search_path = {NAMESPACE} AS $$
BEGIN
    PERFORM pg_notify('{CHANNEL}', bank || ' ' || current_setting('application_name'))
    FROM (SELECT DISTINCT bank FROM changed) banks;
    RETURN NULL;
END $$;
CREATE TRIGGER announce_insert AFTER INSERT ON record
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION announce();
CREATE TRIGGER announce_delete AFTER DELETE ON record
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION announce();
CREATE TRIGGER announce_begin AFTER INSERT ON head
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION announce();
CREATE TRIGGER announce_move AFTER UPDATE ON head
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION announce();
"""

_TAGS: Final = """
CREATE FUNCTION name_tags(of_bank integer, tags text[]) RETURNS tsvector LANGUAGE sql IMMUTABLE
AS $$ SELECT array_to_tsvector(ARRAY(SELECT of_bank || '#' || tag FROM unnest(tags) tag)) $$;
CREATE FUNCTION ask_all(lexemes text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE
AS $$
    SELECT string_agg($q$'$q$ || doubled || $q$'$q$, ' & ')::tsquery FROM unnest(lexemes) lexeme,
        regexp_replace(lexeme, $q$([\\\\'])$q$, '\\1\\1', 'g') doubled
$$;
"""

_LEAKPROOF: Final = """
-- Where policies hold, an index serves only operators that PostgreSQL trusts to leak nothing of the
-- rows they reject. Those of tsvector and arrays are none, and functions are not; unless the policy
-- itself asks, as that of `lookup` does. Its rows are what words and tags lead from.
CREATE TABLE lookup (
    row bigint PRIMARY KEY REFERENCES entry ON DELETE CASCADE,
    bank integer NOT NULL,
    lexemes tsvector NOT NULL        -- `bank:term` and `bank#tag`
);
INSERT INTO lookup SELECT row, bank, strip(words) || name_tags(bank, tags) FROM entry;
CREATE INDEX lookup_by_lexeme ON lookup USING gin (lexemes);
DROP INDEX entry_by_word, entry_by_tag, entry_by_end;

CREATE FUNCTION look_up(query tsquery) RETURNS SETOF bigint LANGUAGE plpgsql STABLE ROWS 200
SET search_path = memory_mcp AS $$
BEGIN
    PERFORM set_config('memory_mcp.query', query::text, true);
    RETURN QUERY SELECT lookup.row FROM lookup WHERE lexemes @@ query;  -- a superuser has no policy
    PERFORM set_config('memory_mcp.query', '', true);
END $$;

ALTER TABLE entry ADD backwards text COLLATE "C" GENERATED ALWAYS AS (reverse(id)) STORED;
CREATE INDEX entry_by_end ON entry (bank, backwards) WHERE recalled;

-- with what else decides whether an entry is visible, so that neither a count nor a walk back in
-- time reads the entries themselves
ALTER TABLE entry DROP CONSTRAINT entry_bank_id_key;
CREATE UNIQUE INDEX entry_by_id ON entry (bank, id) INCLUDE (segment, recalled, row);
DROP INDEX entry_by_segment;
CREATE INDEX entry_by_segment ON entry (bank, segment, id)
    INCLUDE (recalled, kind, profile, derived, expires_at, row);
CREATE INDEX entry_by_category ON entry (bank, category, id) WHERE category <> '';

CREATE TABLE trigram (
    bank integer NOT NULL,
    trigram text COLLATE "C" NOT NULL,
    term text COLLATE "C" NOT NULL,
    PRIMARY KEY (bank, trigram, term),
    FOREIGN KEY (bank, term) REFERENCES term ON DELETE CASCADE
);
INSERT INTO trigram SELECT bank, unnest(trigrams), term FROM term;
CREATE INDEX trigram_by_term ON trigram (bank, term);
ALTER TABLE term DROP trigrams;
"""

_TABLES_OF_BANKS: Final = (
    "record", "head", "history", "head_set_aside", "erased", "journal", "entry", "suppression",
    "source", "erasure", "term", "trigram", "uncounted", "embedder",
)  # fmt: skip
_OWN_BANK: Final = "bank = ANY (ARRAY(SELECT number FROM bank))"
_OWN_EMBEDDER: Final = "embedder = ANY (ARRAY(SELECT number FROM embedder))"

_POLICIES: Final = "".join(
    f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
    f"CREATE POLICY {name} ON {table} {policy};"
    for table, name, policy in (
        (
            "bank",
            "named",
            """USING (
                (owner = current_setting('memory_mcp.user', true) AND project = '')
                OR (owner = current_setting('memory_mcp.owner', true)
                    AND project = current_setting('memory_mcp.project', true))
                OR current_setting('memory_mcp.everyone', true) = 'on')""",
        ),
        *((table, "own", f"USING ({_OWN_BANK})") for table in _TABLES_OF_BANKS),
        *((table, "own", f"USING ({_OWN_EMBEDDER})") for table in ("vector", "encoding")),
        ("lookup", "written", f"FOR INSERT WITH CHECK ({_OWN_BANK})"),
        (
            "lookup",
            "asked",
            f"""FOR SELECT USING ({_OWN_BANK}
                AND lexemes @@ nullif(current_setting('memory_mcp.query', true), '')::tsquery)""",
        ),
    )
)

TEAM: Final = "*team"
"""In place of a project in the bank of a team, which is its owner; no project is called so."""

_TEAMS: Final = f"""
ALTER POLICY named ON bank USING (
    (owner = current_setting('memory_mcp.user', true) AND project = '')
    OR (owner = nullif(current_setting('memory_mcp.team', true), '') AND project = '{TEAM}')
    OR (owner = current_setting('memory_mcp.owner', true)
        AND project = current_setting('memory_mcp.project', true) AND project <> '{TEAM}')
    OR current_setting('memory_mcp.everyone', true) = 'on');
"""

_STATEMENTS: Final = """
CREATE FUNCTION mark_statement(of_bank integer, stated text) RETURNS bigint LANGUAGE sql STABLE
SET search_path = memory_mcp AS $$
    SELECT coalesce(bit_xor(mark), 0) FROM entry
    WHERE bank = of_bank AND statement = stated AND statement <> ''
$$;

-- whether what states this is still as it was seen; nobody else adds to it until the transaction is
-- over. Volatile, so that it sees whatever was committed while it waited.
CREATE FUNCTION claim_statement(of_bank integer, stated text, seen bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = memory_mcp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(stated, of_bank));
    RETURN mark_statement(of_bank, stated) = seen;
END $$;
"""

_PLACES: Final = """
-- Where an entry stands, beside the words that lead to it: most of a long memory is on lines that
-- were left, and need not be read. Without the index, which would be written twice; and without the
-- policies, which let nobody change a row.
DROP INDEX lookup_by_lexeme;
ALTER TABLE lookup ADD segment text COLLATE "C", NO FORCE ROW LEVEL SECURITY;
UPDATE lookup SET segment = entry.segment FROM entry
WHERE entry.row = lookup.row AND entry.segment IS NOT NULL;
ALTER TABLE lookup FORCE ROW LEVEL SECURITY;
CREATE INDEX lookup_by_lexeme ON lookup USING gin (lexemes);

CREATE FUNCTION look_up(query tsquery, chain text[]) RETURNS SETOF bigint LANGUAGE plpgsql STABLE
ROWS 200 SET search_path = memory_mcp AS $$
BEGIN
    PERFORM set_config('memory_mcp.query', query::text, true);
    RETURN QUERY SELECT lookup.row FROM lookup WHERE lexemes @@ query
        AND (segment IS NULL OR segment IN (SELECT unnest(chain)));
    PERFORM set_config('memory_mcp.query', '', true);
END $$;
"""

_NEWEST_OF_LAYER: Final = """
-- the newest of a layer, wherever they stand; the other index has them segment by segment
CREATE INDEX entry_of_layer ON entry (bank, layer, id) WHERE layer <> 'archival';
"""

_LOOKED_UP: Final = """
-- Words lead to entries by the index alone. Row by row, the policy would read the words anew for
-- each; and what was added last would stand in a list that every search goes through.
ALTER FUNCTION look_up(tsquery) SET enable_seqscan = off;
ALTER FUNCTION look_up(tsquery, text[]) SET enable_seqscan = off;
ALTER INDEX lookup_by_lexeme SET (fastupdate = off);
SELECT gin_clean_pending_list('lookup_by_lexeme');
"""

_ABANDONED_WHERE_IT_STANDS: Final = """
-- what is buried in segments that are away is abandoned there alone
DROP FUNCTION IF EXISTS is_abandoned(integer, bigint, text[]);
CREATE FUNCTION is_abandoned(of_bank integer, of_row bigint, chain text[], away text[])
RETURNS boolean LANGUAGE plpgsql STABLE COST 1000
SET search_path = memory_mcp
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
AS $$ BEGIN RETURN EXISTS (
    WITH RECURSIVE up (id, made) AS (
        SELECT source, row FROM source WHERE row = of_row
        UNION
        SELECT source.source, o.row FROM up
            JOIN entry o ON o.bank = of_bank AND o.id = up.id
            JOIN source ON source.row = o.row)
    SELECT 1 FROM up LEFT JOIN entry o ON o.bank = of_bank AND o.id = up.id
    WHERE (o.id IS NULL AND NOT EXISTS (
            SELECT 1 FROM suppression s
            WHERE s.bank = of_bank AND s.target = up.id AND s.row = up.made))
        OR NOT (o.segment IS NULL OR o.segment = ANY(chain))
        OR EXISTS (
            SELECT 1 FROM suppression s
            WHERE s.bank = of_bank AND s.target = up.id AND s.buries
                AND (s.segment IS NULL
                    OR s.segment = ANY(chain) AND s.segment <> ALL(away)))); END $$;
"""

_CITING: Final = """
-- which records cite code, so that what became of it is looked up without reading the others
ALTER TABLE entry ADD citing boolean NOT NULL DEFAULT false;
UPDATE entry SET citing = true FROM record r
WHERE (r.bank, r.id) = (entry.bank, entry.id) AND r.json::json -> 'cites' IS NOT NULL;
CREATE INDEX entry_citing ON entry (bank, id) WHERE citing;
"""

MIGRATIONS: Final = (
    _FIRST, _VECTORS, _NOTIFICATIONS, _TAGS + _LEAKPROOF + _POLICIES, _TEAMS, _STATEMENTS, _PLACES,
    _NEWEST_OF_LAYER, _LOOKED_UP, _ABANDONED_WHERE_IT_STANDS, _CITING,
)  # fmt: skip
"""Each brings the schema to the next version, which is its place in this list."""


class Connection(Protocol):
    """What this package uses of asyncpg's connections."""

    async def execute(self, query: str, *values: Any) -> str: ...
    async def fetch(self, query: str, *values: Any) -> Sequence[Any]: ...
    async def fetchval(self, query: str, *values: Any) -> Any: ...
    def transaction(self, *, readonly: bool = False) -> AbstractAsyncContextManager[Any]: ...
    def get_server_version(self) -> Any: ...


async def is_up_to_date(connection: Connection, where: str) -> bool:
    """Whether the schema has the version of this server.

    Raises:
        NewerSchemaError: a newer memory-mcp made it.
    """
    version = await _find_version(connection)
    if version > len(MIGRATIONS):
        raise NewerSchemaError(where, version, len(MIGRATIONS))
    return version == len(MIGRATIONS)


async def migrate(connection: Connection, where: str) -> None:
    """Bring the schema up to date, unless another process does it first; all of it or nothing."""
    async with connection.transaction():
        await connection.execute(_BEGIN_MIGRATION)
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATING)
        if await is_up_to_date(connection, where):
            return
        await connection.execute(
            f"CREATE SCHEMA IF NOT EXISTS {NAMESPACE};"
            f"CREATE TABLE IF NOT EXISTS {NAMESPACE}.migration ("
            "    version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())"
        )
        done = await _find_version(connection)
        for version, script in enumerate(MIGRATIONS[done:], done + 1):
            await connection.execute(script)
            await connection.execute(f"INSERT INTO {NAMESPACE}.migration VALUES ($1)", version)


_BEGIN_MIGRATION: Final = f"""
    SET LOCAL search_path = {NAMESPACE};
    SET LOCAL statement_timeout = 0;
    SET LOCAL memory_mcp.everyone = 'on'"""


async def _find_version(connection: Connection) -> int:
    """The version of the schema; 0 if there is none."""
    if await connection.fetchval(f"SELECT to_regclass('{NAMESPACE}.migration')") is None:
        return 0
    return await connection.fetchval(f"SELECT coalesce(max(version), 0) FROM {NAMESPACE}.migration")
