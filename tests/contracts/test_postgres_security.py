"""Row-level security: what a session sees and writes that says whose memories it is about."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from fakes import Scribe
from postgres import beside, execute, new_bank, open_bank

from memory_mcp.domain.ids import ROOT, BranchName
from memory_mcp.domain.record import Move, Scope
from memory_mcp.domain.search import Chunk, Filters, View
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.index_sync import SelfHealingIndex
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.storage.postgres import records
from memory_mcp.storage.postgres.database import Postgres, Principal, connect
from memory_mcp.storage.postgres.heads import (
    PostgresErasedLog,
    PostgresHeads,
    PostgresImportJournal,
)
from memory_mcp.storage.postgres.index import PostgresIndex
from memory_mcp.storage.postgres.records import PostgresRecords
from memory_mcp.storage.postgres.rows import Bank, count_terms
from memory_mcp.storage.postgres.schema import NAMESPACE, TEAM
from memory_mcp.storage.postgres.vectors import PostgresVectors

pytestmark = pytest.mark.anyio

_TABLES = f"SELECT tablename FROM pg_tables WHERE schemaname = '{NAMESPACE}' ORDER BY 1"
_COLUMNS = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = $1 "
    "AND table_name = $2 AND is_generated = 'NEVER'"
)


@pytest.fixture
async def bank(postgres_url: str, scribe: Scribe) -> AsyncGenerator[Bank]:
    """Somebody's bank with a row of theirs in every table, and words that only they know."""
    bank = new_bank(postgres_url)
    store, index, vectors = (
        PostgresRecords(bank, make_fields),
        PostgresIndex(bank, make_fields),
        PostgresVectors(bank),
    )
    first = scribe.record("Kilimanjaro starts in autumn.", tags=("launch",))
    for record in (
        first,
        scribe.record("It starts in winter.", supersedes=(first.id,), derived_from=(first.id,)),
        scribe.record(kind="tombstone", supersedes=(first.id,), erases=(scribe.record().id,)),
    ):
        await store.put(record)
    await index.mark_complete()
    await count_terms(bank)
    await store.put(scribe.record("Not counted yet."))
    await vectors.claim("e", 1, first.created_at, first.created_at)
    await vectors.keep("e", {first.id: (Chunk(b"\1" * 64, b""),)})
    move = scribe.record("x", kind="move", move=Move(act="fork", branch=BranchName("b")))
    await PostgresHeads(bank).replace(Head(project="shop", revision=1, last=move), expected=0)
    await bank.rows("INSERT INTO head_set_aside (bank, json) VALUES (:bank, '{')")
    await PostgresErasedLog(bank).add([first.id])
    await PostgresImportJournal(bank).note([first])
    yield bank
    await bank.database.aclose()


@pytest.fixture
async def other(bank: Bank) -> AsyncGenerator[Bank]:
    """Somebody else's bank on the same server."""
    other = new_bank(bank.database.url)
    await other.number()
    yield other
    await other.database.aclose()


async def test_no_table_gives_or_takes_a_row_of_others(bank: Bank, other: Bank) -> None:
    """Whatever a statement asks for, the database shows a session what it named, and no more."""
    url = bank.database.url
    tables = sorted({name for (name,) in execute(url, _TABLES)} - {"migration", "bank"})
    for table in tables:
        row = execute(url, f"SELECT to_jsonb(t) FROM {NAMESPACE}.{table} t LIMIT 1")
        assert row, f"there is a row in {table}"
        with pytest.raises(StoreUnavailableError, match="row-level security"):
            await other.database.run(lambda db, at=table, row=row: _insert(db, at, row[0][0]))
        column = "bank" if "bank" in json.loads(row[0][0]) else "row"
        for statement in (
            f"SELECT 1 FROM {table}",
            f"UPDATE {table} SET {column} = {column} RETURNING 1",
            f"DELETE FROM {table} RETURNING 1",
        ):
            assert await other.database.rows(statement) == [], statement
        assert execute(url, f"SELECT to_jsonb(t) FROM {NAMESPACE}.{table} t LIMIT 1") == row


async def _insert(connection: Any, table: str, row: str) -> None:
    columns = ", ".join(name for (name,) in await connection.fetch(_COLUMNS, NAMESPACE, table))
    await connection.execute(
        f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE "
        f"SELECT {columns} FROM jsonb_populate_record(NULL::{NAMESPACE}.{table}, $1)",
        row,
    )


async def test_a_session_knows_no_bank_but_those_it_named(bank: Bank, other: Bank) -> None:
    """Names of projects and users are somebody's business, too."""
    assert [tuple(row) for row in await other.database.rows("SELECT owner, project FROM bank")] == [
        (other.owner, other.project)
    ]
    theirs = {"number": await bank.number(), "owner": bank.owner}
    for change in (
        "UPDATE bank SET complete = false WHERE number = :number RETURNING 1",
        "DELETE FROM bank WHERE number = :number RETURNING 1",
    ):
        assert await other.database.rows(change, {"number": theirs["number"]}) == []
    with pytest.raises(StoreUnavailableError, match="row-level security"):
        await other.database.rows(
            "INSERT INTO bank (owner, project) VALUES (:owner, 'mine')", {"owner": bank.owner}
        )


async def test_a_statement_that_forgets_the_bank_shows_nothing_of_others(
    bank: Bank, other: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake of ours in one statement must not open one team's memory to another."""
    (known, *_) = await PostgresRecords(bank, make_fields).ids()
    careless = "SELECT id, json FROM record WHERE id = ANY(:ids) ORDER BY id"
    monkeypatch.setattr(records, "_SOME", careless)

    assert await PostgresRecords(bank, make_fields).get(known) is not None
    assert await PostgresRecords(other, make_fields).get(known) is None


async def test_words_and_tags_lead_to_nobody_elses_rows(bank: Bank, other: Bank) -> None:
    """An index is a table too: that a word is in it tells what others know."""
    number = await bank.number()
    looked_up = "SELECT look_up(:query::tsquery)"
    for lexeme in (f"'{number}:kilimanjaro'", f"'{number}#launch'"):
        assert await bank.rows(looked_up, {"query": lexeme}), lexeme
        assert await other.rows(looked_up, {"query": lexeme}) == [], lexeme


async def test_a_connection_that_names_nobody_sees_nothing(bank: Bank) -> None:
    """A pooler that drops what a session said must close the memory, not open it."""
    connection = await connect(bank.database.url)
    try:
        for table in ("bank", "record", "entry", "head", "vector"):
            assert await connection.fetch(f"SELECT 1 FROM {NAMESPACE}.{table}") == []
    finally:
        await connection.close()


async def test_members_of_a_project_share_it_and_nothing_of_their_own(
    postgres_url: str, scribe: Scribe
) -> None:
    """What is the user's is seen by that user alone, also by a teammate's statement."""
    team = scribe.record().id
    ada, bob = (Postgres(postgres_url, Principal(f"{u}-{team}", "", team)) for u in ("ada", "bob"))
    shared, own = scribe.record("Orders are in PostgreSQL."), scribe.record("I like tea.")
    await PostgresRecords(Bank(ada, "", team), make_fields).put(shared)
    await PostgresRecords(Bank(ada, ada.principal.user, ""), make_fields).put(own)

    assert {row[0] for row in await bob.rows("SELECT id FROM record")} == {shared.id}
    assert {row[0] for row in await ada.rows("SELECT id FROM record")} == {shared.id, own.id}
    with pytest.raises(StoreUnavailableError, match="row-level security"):
        await PostgresRecords(Bank(bob, ada.principal.user, ""), make_fields).ids()
    for database in (ada, bob):
        await database.aclose()


async def test_members_of_a_team_share_what_it_keeps_and_no_other_team_sees_it(
    postgres_url: str, scribe: Scribe
) -> None:
    """Not by the name of the team as a user, an owner or a project either, nor without one."""
    acme = f"acme-{scribe.record().id}"
    held = scribe.record("Branches are rebased.").model_copy(
        update={"segment": None, "branch": None, "scope": Scope(user="ada", team=acme)}
    )
    members = [Postgres(postgres_url, Principal(u, "", "shop", acme)) for u in ("ada", "bob")]
    await PostgresRecords(Bank(members[0], acme, TEAM), make_fields).put(held)
    for member in members:
        assert {row[0] for row in await member.rows("SELECT id FROM record")} >= {held.id}
    strangers = [
        Principal("eve", "", "shop", f"{acme}-2"),
        Principal("eve", "", "shop"),
        Principal(acme, acme, TEAM),
        Principal(acme, acme, ""),
        Principal("eve", "", TEAM),
        Principal("eve", "", "shop", "%"),
    ]
    for principal in strangers:
        stranger = Postgres(postgres_url, principal)
        assert held.id not in {row[0] for row in await stranger.rows("SELECT id FROM record")}
        with pytest.raises(StoreUnavailableError, match="row-level security"):
            await PostgresRecords(Bank(stranger, acme, TEAM), make_fields).put(held)
        await stranger.aclose()
    for member in members:
        await member.aclose()


async def test_a_search_uses_the_index_over_words_under_the_policies(bank: Bank) -> None:
    """Operators that PostgreSQL does not trust lose their index where a policy stands before."""

    async def explain(connection: Any) -> str:
        async with connection.transaction():
            await connection.execute("SET LOCAL enable_seqscan = off")
            await connection.execute(
                "SELECT set_config('memory_mcp.query', $1, true)", f"'{number}:kilimanjaro'"
            )
            plan = await connection.fetch("EXPLAIN SELECT row FROM lookup")
        return "\n".join(row[0] for row in plan)

    number = await bank.number()
    assert "Bitmap Index Scan on lookup_by_lexeme" in await bank.database.run(explain)


async def test_an_index_without_its_words_is_made_anew(bank: Bank, scribe: Scribe) -> None:
    """A dump that was made under the policies lacks them, and would find nothing."""
    store, index = PostgresRecords(bank, make_fields), PostgresIndex(bank, make_fields)
    healing = SelfHealingIndex(index, store, in_step=index.is_in_step)
    await healing.catch_up()
    execute(bank.database.url, f"DELETE FROM {NAMESPACE}.lookup")
    view = View(chain=frozenset({ROOT}), now=scribe.record().created_at)
    tagged = Filters(tags=("launch",), history=True)
    assert await index.find(view, tagged, 9) == []

    await healing.catch_up()
    assert len(await index.find(view, tagged, 9)) == 1


async def test_the_doctor_names_a_role_that_no_policy_holds(bank: Bank, postgres_url: str) -> None:
    """A superuser sees every row, so nothing but our own statements would keep banks apart."""
    assert await PostgresHeads(bank).findings(repair=False) == []
    superuser = beside(postgres_url.rpartition("/")[2])
    (row,) = execute(superuser, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    if not row[0]:
        pytest.skip("MEMORY_TEST_POSTGRES is no superuser")
    above = open_bank(superuser, bank.owner)
    (finding,) = await PostgresHeads(above).findings(repair=False)
    await above.database.aclose()

    assert finding.code == "role-above-policies"
    assert "CREATE ROLE" in finding.remedy
