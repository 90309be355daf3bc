"""What only PostgreSQL can do wrong: its schema, its connections, what is said of its failures."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from typing import Any

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest
from fakes import Scribe
from index_doors import ANY, ELSEWHERE, HERE, matched, seen
from postgres import beside, execute, new_bank, open_bank

from memory_mcp.domain.hosts import name_database
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.limits import DATABASE_POOL_SECONDS_MAX
from memory_mcp.domain.record import Citation, Move
from memory_mcp.domain.search import Filters, Stated
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.index_sync import SelfHealingIndex
from memory_mcp.errors import (
    ConflictError,
    NewerSchemaError,
    StoreDamagedError,
    StoreUnavailableError,
)
from memory_mcp.storage.postgres import follow_changes, schema
from memory_mcp.storage.postgres.database import (
    Postgres,
    Principal,
    _number_parameters,  # pyright: ignore[reportPrivateUsage]  # EXPLAIN takes no named values
    connect,
    fetch,
)
from memory_mcp.storage.postgres.heads import PostgresHeads, PostgresImportJournal
from memory_mcp.storage.postgres.index import PostgresIndex
from memory_mcp.storage.postgres.records import PostgresRecords
from memory_mcp.storage.postgres.rows import Bank, quote_lexeme
from memory_mcp.storage.stored import dump_timeline

pytestmark = pytest.mark.anyio

VERSION = len(schema.MIGRATIONS)


@pytest.fixture
def empty_url(postgres_url: str) -> str:
    """A database of this test, without any table."""
    execute(postgres_url, f"DROP SCHEMA IF EXISTS {schema.NAMESPACE} CASCADE")
    return postgres_url


@pytest.fixture
async def bank(postgres_url: str) -> AsyncGenerator[Bank]:
    bank = new_bank(postgres_url, connections_max=2)
    yield bank
    await bank.database.aclose()


@pytest.fixture
def database(bank: Bank) -> Postgres:
    return bank.database


NOBODY = Principal("nobody", "nobody", "nowhere")


async def test_many_that_come_first_make_the_tables_once(empty_url: str) -> None:
    """A team updates at once: whoever is second waits, and finds everything done."""
    databases = [Postgres(empty_url, NOBODY) for _ in range(5)]
    rows = await asyncio.gather(*(each.rows("SELECT version FROM migration") for each in databases))
    for each in databases:
        await each.aclose()

    assert [[row["version"] for row in found] for found in rows] == [
        list(range(1, VERSION + 1)) for _ in databases
    ]


@pytest.mark.parametrize("version", range(VERSION))
async def test_each_older_schema_is_brought_forward(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Whoever skips releases gets the same tables as whoever took each, and keeps the records."""
    with monkeypatch.context() as older:
        older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
        before = Postgres(empty_url, NOBODY)
        await before.rows("SELECT 1")
        await before.aclose()
    record = Scribe().record()
    bank = new_bank(empty_url)
    database, store = bank.database, PostgresRecords(bank, make_fields)
    await store.put(record)

    assert await store.get(record.id) == record
    assert [row[0] for row in await database.rows("SELECT version FROM migration")] == [
        *range(1, VERSION + 1)
    ]
    await database.aclose()


async def test_words_that_were_stored_before_lead_to_where_their_entries_stand(
    empty_url: str, scribe: Scribe
) -> None:
    """The seventh version notes it beside the words: a search reads no others."""
    here, left, durable = (
        scribe.record("apple", segment=segment) for segment in (HERE, ELSEWHERE, None)
    )
    bank = new_bank(empty_url)
    before = PostgresIndex(bank, make_fields)
    await before.add([here, left, durable])
    await before.aclose()
    execute(
        empty_url,
        f"ALTER TABLE {schema.NAMESPACE}.lookup DROP segment",
        f"DROP FUNCTION {schema.NAMESPACE}.look_up(tsquery, text[])",
        f"DROP INDEX {schema.NAMESPACE}.entry_of_layer",
        f"DROP FUNCTION {schema.NAMESPACE}.is_abandoned(integer, bigint, text[], text[])",
        f"ALTER TABLE {schema.NAMESPACE}.entry DROP citing",
        f"DELETE FROM {schema.NAMESPACE}.migration WHERE version > 6",
    )

    index = PostgresIndex(open_bank(empty_url, bank.owner, bank.project), make_fields)
    await index.mark_complete()
    assert await matched(index, "apple", seen(scribe)) == [durable.id, here.id]
    assert await matched(index, "apple", seen(scribe, ELSEWHERE)) == [durable.id, left.id]
    await index.aclose()


async def test_what_cited_code_before_is_found_by_that(empty_url: str) -> None:
    """The eleventh version notes it beside the record: `stale` reads no others."""
    scribe, bank = Scribe(), new_bank(empty_url)
    citing = scribe.record("apple", cites=(Citation(path="a.py"),))
    before = PostgresRecords(bank, make_fields)
    for record in (citing, scribe.record("pear")):
        await before.put(record)
    await bank.database.aclose()
    execute(
        empty_url,
        f"ALTER TABLE {schema.NAMESPACE}.entry DROP citing",
        f"DELETE FROM {schema.NAMESPACE}.migration WHERE version > 10",
    )

    index = PostgresIndex(open_bank(empty_url, bank.owner, bank.project), make_fields)
    await index.mark_complete()
    assert await index.find(seen(scribe), Filters(citing=True), 9) == [citing.id]
    await index.aclose()


async def test_an_older_server_refuses_a_newer_schema(empty_url: str) -> None:
    """It would write rows that the newer one takes for broken."""
    database = Postgres(empty_url, NOBODY)
    await database.rows("INSERT INTO migration VALUES (99)")
    await database.aclose()

    with pytest.raises(NewerSchemaError, match=r"schema version 99.*Update memory-mcp"):
        await database.rows("SELECT 1")
    await database.aclose()
    execute(empty_url, f"DROP SCHEMA {schema.NAMESPACE} CASCADE")


async def test_a_connection_that_is_lost_in_a_statement_is_replaced(
    database: Postgres,
) -> None:
    """An administrator, a failover or a proxy ends connections; that alone loses nothing."""
    ended: list[int] = []

    async def work(connection: Any) -> int:
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        if not ended:
            ended.append(pid)
            execute(database.url, f"SELECT pg_terminate_backend({pid})")
        return await connection.fetchval("SELECT pg_backend_pid()")

    assert await database.run(work) not in ended


def lose_first_answer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lose the answer to the first statement that stores a record; the statement, once it is."""
    lost: list[str] = []

    async def lose_answer(connection: Any, statement: str, values: Any) -> Any:
        rows = await fetch(connection, statement, values)
        if "INSERT INTO record" in statement and not lost:
            lost.append(statement)
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle")
        return rows

    monkeypatch.setattr("memory_mcp.storage.postgres.database.fetch", lose_answer)
    return lost


async def test_a_record_whose_answer_was_lost_is_stored_once(
    bank: Bank, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit may have arrived although its answer did not."""
    store = PostgresRecords(bank, make_fields)
    record = scribe.record()
    await store.ids()
    lost = lose_first_answer(monkeypatch)
    await store.put(record)

    assert lost
    assert await store.ids() == {record.id}
    assert await store.get(record.id) == record


async def test_a_new_statement_whose_answer_was_lost_is_stored_once(
    bank: Bank, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second try finds what the first one stored, and takes it for its own."""
    store = PostgresRecords(bank, make_fields)
    record = scribe.record()
    lost = lose_first_answer(monkeypatch)

    assert await store.put_new([record], Stated(record.statement, [], 0))
    assert lost
    assert not await store.put_new([scribe.record()], Stated(record.statement, [], 0))
    assert await store.ids() == {record.id}


async def test_of_many_that_store_one_statement_one_does(
    postgres_url: str, bank: Bank, scribe: Scribe
) -> None:
    """Each has seen that nobody states it; whoever waited sees what was committed meanwhile."""
    doors = [open_bank(postgres_url, bank.owner, bank.project) for _ in range(8)]
    records = [scribe.record() for _ in doors]
    seen = Stated(records[0].statement, [], 0)
    stored = await asyncio.gather(
        *(
            PostgresRecords(door, make_fields).put_new([record], seen)
            for door, record in zip(doors, records, strict=True)
        )
    )
    for door in doors:
        await door.database.aclose()

    assert sorted(stored) == [False] * 7 + [True]
    assert await PostgresRecords(bank, make_fields).ids() == {
        record.id for record, there in zip(records, stored, strict=True) if there
    }


async def test_a_transaction_that_is_lost_leaves_nothing_of_itself(
    bank: Bank, database: Postgres, scribe: Scribe
) -> None:
    """Half of an erasure, or of a move, must not be seen by anybody."""
    store = PostgresRecords(bank, make_fields)
    record = scribe.record()
    await store.put(record)
    number = await bank.number()

    async def work(connection: Any) -> None:
        await fetch(connection, "DELETE FROM record WHERE bank = :bank", {"bank": number})
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        execute(database.url, f"SELECT pg_terminate_backend({pid})")
        await connection.fetchval("SELECT 1")

    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        await database.transact(work)
    assert await store.get(record.id) == record


async def test_a_busy_pool_is_said_to_be_busy(
    database: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for a connection must not wait for ever, nor take it for an outage."""
    release, held = asyncio.Event(), asyncio.Semaphore(0)

    async def hold(_connection: Any) -> None:
        held.release()
        await release.wait()

    holders = [asyncio.create_task(database.run(hold)) for _ in range(2)]
    for _ in holders:
        await held.acquire()
    monkeypatch.setattr("memory_mcp.storage.postgres.database.DATABASE_POOL_SECONDS_MAX", 0.1)
    with pytest.raises(StoreUnavailableError, match=r"All 2 connections.*busy.*try again"):
        await database.rows("SELECT 1")
    release.set()
    await asyncio.gather(*holders)


async def test_a_statement_that_takes_too_long_is_ended(database: Postgres) -> None:
    """A call ends in a sentence, and the server does not go on working for nobody."""

    async def work(connection: Any) -> None:
        async with connection.transaction():
            await connection.execute("SET LOCAL statement_timeout = '20ms'")
            await connection.execute("SELECT pg_sleep(20)")

    with pytest.raises(StoreUnavailableError, match=r"in time.*Nothing was changed"):
        await database.run(work)


async def test_what_only_reads_is_refused(database: Postgres) -> None:
    """After a failover the old address may lead to a standby, which would only look like memory."""

    async def work(connection: Any) -> None:
        async with connection.transaction(readonly=True):
            await connection.execute("INSERT INTO migration VALUES (0)")

    with pytest.raises(StoreUnavailableError, match=r"read-only standby.*primary"):
        await database.run(work)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://ada:hunter2@127.0.0.1:1/memory", "cannot be reached"),
        ("postgresql://ada:hunter2@[::1]:1/memory?sslmode=disable&x=hunter2", "cannot be reached"),
    ],
)
async def test_no_error_shows_the_password(url: str, says: str) -> None:
    """Errors go to models, logs and issues."""
    with pytest.raises(StoreUnavailableError, match=says) as raised:
        await Postgres(url, NOBODY).rows("SELECT 1")
    assert not re.search("hunter2|ada", str(raised.value))


async def test_a_database_that_is_not_there_is_named(postgres_url: str) -> None:
    """A misspelt name is no outage: it says what to correct."""
    del postgres_url
    with pytest.raises(StoreUnavailableError, match=r"nowhere_at_all.*MEMORY_POSTGRES_URL"):
        await Postgres(beside("nowhere_at_all"), NOBODY).rows("SELECT 1")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://u:p@db.example.org/memory", "postgresql://db.example.org:5432/memory"),
        ("postgres://u:p@h:6432/m?password=q", "postgresql://h:6432/m"),
        ("postgresql://u:p@a:1,b:2/m", "postgresql://a:1,b:2/m"),
    ],
)
def test_an_address_is_shown_without_secrets(url: str, name: str) -> None:
    """Status and errors name the database so that people know which one is meant."""
    assert name_database(url) == name


async def test_two_banks_share_nothing(bank: Bank, scribe: Scribe) -> None:
    """A project's memories and a user's are in the same tables."""
    banks = [bank, Bank(bank.database, bank.owner, "")]
    stores = [PostgresRecords(bank, make_fields) for bank in banks]
    record = scribe.record()
    await stores[0].put(record)

    assert await stores[1].get(record.id) is None
    assert await stores[1].ids() == set()
    await stores[1].erase({record.id})
    assert await stores[0].get(record.id) == record


def a_head(scribe: Scribe, revision: int = 1) -> Head:
    """A head that some move led to."""
    step = Move(act="fork", branch=BranchName(f"b{revision}"))
    return Head(project="shop", revision=revision, last=scribe.record("x", kind="move", move=step))


async def test_a_move_whose_answer_was_lost_has_succeeded(
    bank: Bank, database: Postgres, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told that it failed, the session would move the head a second time."""
    heads = PostgresHeads(bank)
    assert await heads.read() is None
    head = a_head(scribe)
    real, lost = database.transact, list[int]()

    async def lose_answer(work: Any) -> Any:
        async def run_twice(connection: Any) -> Any:
            async with connection.transaction():
                answer = await work(connection)
            if not lost:
                lost.append(answer)
                raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle")
            return answer

        return await database.run(run_twice)

    monkeypatch.setattr(database, "transact", lose_answer)
    await heads.replace(head, expected=0)
    monkeypatch.setattr(database, "transact", real)

    assert lost == [1]
    assert await PostgresHeads(heads.bank).read() == head
    with pytest.raises(ConflictError):
        await heads.replace(head, expected=0)


@pytest.mark.parametrize("damage", ["", "{", "null", '{"schema_version": 1}'])
async def test_a_damaged_head_is_kept_until_the_doctor_sets_it_aside(
    bank: Bank, scribe: Scribe, damage: str
) -> None:
    """It can be made anew from the records, but that is a decision, not an accident."""
    heads = PostgresHeads(bank)
    await heads.replace(a_head(scribe), expected=0)
    await bank.rows(
        "UPDATE head SET json = :json, version = version + 1 WHERE bank = :bank", {"json": damage}
    )

    with pytest.raises(StoreDamagedError, match="doctor --repair"):
        await heads.read()
    with pytest.raises(StoreDamagedError):
        await heads.replace(a_head(scribe, 2), expected=1)
    assert [f.code for f in await heads.findings(repair=False)] == ["head-damaged"]
    assert [f.repaired for f in await heads.findings(repair=True)] == [True]
    assert await heads.read() is None
    kept = await bank.rows("SELECT json FROM head_set_aside WHERE bank = :bank")
    assert [row[0] for row in kept] == [damage]


async def test_half_a_journal_is_not_completed(bank: Bank, scribe: Scribe) -> None:
    """Half of an import must not be taken for the whole of it."""
    journal = PostgresImportJournal(bank)
    await journal.note([scribe.record(), scribe.record()])
    await bank.rows("DELETE FROM journal WHERE bank = :bank AND number = 2")

    with pytest.raises(StoreDamagedError, match="import again"):
        await journal.noted()
    assert await journal.waiting()


async def test_whoever_dies_lets_go_of_the_journal(bank: Bank, postgres_url: str) -> None:
    """The lock of a process that was killed must keep nobody out."""
    other = new_bank(postgres_url)
    journals = [PostgresImportJournal(bank), PostgresImportJournal(other)]
    async with journals[0].alone() as first:
        assert first
        execute(
            bank.database.url,
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
            f"AND objid = {await bank.number()}",
        )
        async with journals[1].alone() as second:
            assert second
    await other.database.aclose()


async def test_a_start_reads_neither_index_nor_records_where_both_are_in_step(
    bank: Bank, scribe: Scribe
) -> None:
    """A team's memory may be a million records, and each command is a start."""
    store, index = PostgresRecords(bank, make_fields), PostgresIndex(bank, make_fields)
    assert not await index.is_in_step(), "nobody has made it"
    await index.mark_complete()
    records = [scribe.record(f"number {n}") for n in range(3)]
    for record in records:
        await store.put(record)
    assert await index.is_in_step()

    await index.remove({records[0].id})
    assert not await index.is_in_step()
    await SelfHealingIndex(index, store, in_step=index.is_in_step).catch_up()
    assert await index.ids() == {record.id for record in records}
    assert await index.is_in_step()


async def test_words_are_counted_in_one_statement(
    bank: Bank, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every search and every addition asks for counts, of each bank."""
    index = PostgresIndex(bank, make_fields)
    await index.mark_complete()
    await index.add(
        [scribe.record("lemon pear", segment=HERE), scribe.record("pear", segment=HERE)]
    )
    asked: list[str] = []

    async def note(connection: Any, statement: str, values: Any) -> Any:
        asked.append(statement)
        return await fetch(connection, statement, values)

    monkeypatch.setattr("memory_mcp.storage.postgres.database.fetch", note)
    corpus = await index.corpus(["kiwi", "pear", "lemon"], seen(scribe))
    assert corpus.counts == {"kiwi": 0, "pear": 2, "lemon": 1}
    assert len(asked) == 1


async def test_words_lead_to_entries_by_the_index_alone(bank: Bank, scribe: Scribe) -> None:
    """Row by row, the policy would read the words that are asked for anew for each."""
    index = PostgresIndex(bank, make_fields)
    await index.mark_complete()
    await index.add([scribe.record("apple pear", segment=HERE)])
    await bank.rows("ANALYZE lookup")  # of a page the planner would read every row

    async def look_up(connection: Any) -> list[int]:
        values = {"query": quote_lexeme(await bank.number(), "pear"), "chain": [HERE]}
        found = await fetch(connection, "SELECT look_up(:query::tsquery, :chain)", values)
        asked = "SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'lookup'"
        return [len(found), *(await fetch(connection, asked, {}))[0]]

    assert await bank.transact(look_up) == [1, 0, 1]


async def test_a_connection_plans_a_statement_once(postgres_url: str, scribe: Scribe) -> None:
    """To plan a search takes as long as to run it."""
    bank = new_bank(postgres_url, connections_max=1)
    index = PostgresIndex(bank, make_fields)
    await index.mark_complete()
    await index.add([scribe.record("apple pear", segment=HERE)])
    for _ in range(2):
        assert await matched(index, "apple", seen(scribe))
        assert await index.find(seen(scribe), ANY, 10)
    plans = await bank.rows(
        "SELECT custom_plans FROM pg_prepared_statements WHERE strpos(statement, 'chain') > 0"
    )
    assert len(plans) >= 3
    assert {row[0] for row in plans} == {0}
    await bank.database.aclose()


@pytest.mark.parametrize(
    ("wanted", "index_used"),
    [
        (Filters(kinds=frozenset({"pattern"})), "entry_by_rank"),
        (Filters(layer="core"), "entry_of_layer"),
    ],
)
async def test_a_plan_that_is_kept_knows_what_is_rare(
    empty_url: str,
    scribe: Scribe,
    monkeypatch: pytest.MonkeyPatch,
    wanted: Filters,
    index_used: str,
) -> None:
    """Else it walks back through all memories for the few of a kind, a second among a million."""
    bank = new_bank(empty_url, connections_max=1)
    index = PostgresIndex(bank, make_fields)
    await index.mark_complete()
    common = scribe.record("apple", segment=HERE)
    rare = scribe.record("pear", kind="pattern", layer="core", segment=None)
    await index.add([common, rare])
    _multiply(empty_url, common.id, 20_000)
    asked: list[tuple[str, Any]] = []

    async def note(connection: Any, statement: str, values: Any) -> Any:
        asked.append((statement, values))
        return await fetch(connection, statement, values)

    monkeypatch.setattr("memory_mcp.storage.postgres.database.fetch", note)
    assert await index.find(seen(scribe), wanted, 200) == [rare.id]
    ((statement, values),) = asked
    text, names = _number_parameters(statement)
    quoted = [f"'{values[name]}'" for name in names]

    async def explain(connection: Any) -> str:
        await connection.execute(f"PREPARE kept AS {text}")
        rows = await connection.fetch(f"EXPLAIN EXECUTE kept ({', '.join(quoted)})")
        return "\n".join(row[0] for row in rows)

    plan = await bank.database.run(explain)
    assert f"using {index_used} on entry r" in plan or f"on {index_used} " in plan
    await bank.database.aclose()


def _multiply(url: str, record_id: str, times: int) -> None:
    """Let there be so many more entries like this one."""
    columns = execute(
        url,
        "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns "
        f"WHERE table_schema = '{schema.NAMESPACE}' AND table_name = 'entry' "
        "AND is_generated = 'NEVER' AND is_identity = 'NO' AND column_name <> 'id'",
    )[0][0]
    execute(
        url,
        f"INSERT INTO {schema.NAMESPACE}.entry (id, {columns}) "
        f"SELECT id || '-' || n, {columns} FROM {schema.NAMESPACE}.entry, "
        f"generate_series(1, {times}) n WHERE id = '{record_id}'",
        f"ANALYZE {schema.NAMESPACE}.entry",
    )


async def test_of_a_timeline_most_of_the_head_is_made_once(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A move writes its head with its records, and then without: a long timeline takes time."""
    made: list[Timeline] = []
    dump = dump_timeline

    def count(timeline: Timeline, beyond: Timeline) -> bytes:
        made.append(timeline)
        return dump(timeline, beyond)

    monkeypatch.setattr("memory_mcp.storage.postgres.heads.dump_timeline", count)
    bank = new_bank(postgres_url)
    store, held = PostgresHeads(bank), Scribe().record()
    first = Head(project="shop", revision=1, with_last=(held,))
    released = first.model_copy(update={"with_last": ()})
    await store.replace(first, expected=0)
    await store.replace(released, expected=1)

    assert made == [first.timeline]
    assert await PostgresHeads(bank).read() == released
    moved = released.model_copy(update={"revision": 2, "timeline": Timeline()})
    await store.replace(moved, expected=1)
    assert len(made) == 2
    await bank.database.aclose()


async def test_who_holds_a_lock_has_a_connection_left_to_work_with(postgres_url: str) -> None:
    """A user of a server for many has two: corrections in several banks must not take both."""
    bank = new_bank(postgres_url, connections_max=2)
    await bank.number()
    done: list[int] = []

    async def correct(number: int) -> None:
        async with bank.database.hold_lock(730_599, number) as free:
            assert free
            await asyncio.sleep(0)  # the others hold theirs, if they can
            await bank.rows("SELECT 1")
            done.append(number)

    async with asyncio.timeout(DATABASE_POOL_SECONDS_MAX / 2), asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(correct(number))

    assert sorted(done) == [0, 1, 2]
    await bank.database.aclose()


async def test_what_changes_before_it_is_listened_for_is_noted_too(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that takes a while, as at load, must not hide what others forget meanwhile."""
    may_listen, asked = asyncio.Event(), asyncio.Event()
    listen = Postgres.listen

    async def listen_late(self: Postgres, channel: str, hear: Callable[[str], None]) -> None:
        asked.set()
        await may_listen.wait()
        await listen(self, channel, hear)

    monkeypatch.setattr(Postgres, "listen", listen_late)
    here, leaving = new_bank(postgres_url), asyncio.Event()
    there = open_bank(postgres_url, here.owner)
    early, late = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(follow_changes([there], early.set, leaving))
        await asked.wait()
        await PostgresRecords(here, make_fields).put(Scribe().record())
        assert not early.is_set()
        may_listen.set()
        await early.wait()
        group.create_task(follow_changes([there], late.set, leaving))
        await late.wait()
        leaving.set()
    for bank in (here, there):
        await bank.database.aclose()


async def test_a_connection_that_nobody_wants_any_more_is_opened_and_closed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that leaves as soon as it came would else log an error of asyncpg's."""
    opened: list[Any] = []
    begin: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    async def watched(*arguments: Any, **named: Any) -> Any:
        opened.append(await begin(*arguments, **named))
        return opened[-1]

    monkeypatch.setattr(asyncpg, "connect", watched)
    connecting = asyncio.create_task(connect(postgres_url))
    for _ in range(3):  # it is under way
        await asyncio.sleep(0)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting

    (connection,) = opened
    assert connection.is_closed()
