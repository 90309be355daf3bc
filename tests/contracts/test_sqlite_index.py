"""What `ports.SearchIndex` promises about files and processes, for the index in SQLite."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from depth import depth
from fakes import Scribe
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stores_in_memory import MemoryIndex, MemoryRecords

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.limits import QUERY_CHARS_MAX
from memory_mcp.domain.search import Candidate, Filters, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.index_sync import SelfHealingIndex
from memory_mcp.errors import IndexDamagedError
from memory_mcp.ranking.query import parse_query
from memory_mcp.storage.sqlite.database import BoundedConnection, Database, Rows
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.stored import compute_record_digest

pytestmark = pytest.mark.anyio

HERE, THERE = SegmentId("here"), SegmentId("there")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite3"


@pytest.fixture
async def index(path: Path) -> AsyncGenerator[SqliteIndex]:
    found = SqliteIndex(path, make_fields, lambda: None)
    await found.mark_complete()
    yield found
    await found.aclose()


def seen(scribe: Scribe) -> View:
    return View(chain=frozenset({HERE}), now=scribe.clock.now())


def files(path: Path) -> list[Path]:
    return [p for p in (path, Path(f"{path}-wal"), Path(f"{path}-shm")) if p.exists()]


async def matched(
    index: SqliteIndex | SelfHealingIndex, text: str, scribe: Scribe, filters: Filters | None = None
) -> list[Candidate]:
    terms = parse_query(text, scribe.clock.now()).every
    corpus = await index.corpus(terms, seen(scribe))
    return await index.match(terms, corpus, seen(scribe), filters or Filters(), 60)


async def all_found(index: SqliteIndex | SelfHealingIndex, scribe: Scribe) -> int:
    return len(await matched(index, "apple", scribe))


async def test_two_processes_see_each_others_adds_and_removes_at_once(
    index: SqliteIndex, path: Path, scribe: Scribe
) -> None:
    """Any number of processes serve one project."""
    other = SqliteIndex(path, make_fields, lambda: None)
    mine, theirs = scribe.record("apple", segment=HERE), scribe.record("apple", segment=HERE)
    await index.add([mine])
    await other.add([theirs])
    assert await all_found(index, scribe) == await all_found(other, scribe) == 2

    await other.remove({mine.id})
    assert await index.ids() == {theirs.id}
    await other.aclose()


async def test_a_file_that_another_process_is_just_making_is_waited_for(
    path: Path, scribe: Scribe
) -> None:
    """SQLite itself would say at once that it is locked, without the usual patience."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE unfinished (x)")  # not shared yet: no WAL
        other.execute("DROP TABLE unfinished")
        other.execute("BEGIN IMMEDIATE")
        index = SqliteIndex(path, make_fields, lambda: None)
        asking = asyncio.create_task(index.add([scribe.record("apple", segment=HERE)]))
        done, _ = await asyncio.wait([asking], timeout=0.3)
        assert not done, "it waits, and does not give up"
        other.execute("ROLLBACK")
        await asking

    assert len(await index.ids()) == 1
    await index.aclose()


async def test_what_is_asked_together_sees_one_state(
    index: SqliteIndex, path: Path, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process adds between two questions is in neither answer."""
    real = BoundedConnection.execute

    def execute(db: BoundedConnection, statement: str, *values: Any) -> Any:
        found = real(db, statement, *values)
        if statement == "SELECT count(*) FROM known WHERE 1":
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("UPDATE known SET marks = marks + 1")
        return found

    await index.add([scribe.record("apple", segment=HERE)])
    before = await index.file.rows("SELECT marks FROM known")
    monkeypatch.setattr(BoundedConnection, "execute", execute)
    queries = ["SELECT marks FROM known", "SELECT count(*) FROM known WHERE 1"]
    *_, after = await index.file.rows_of_each([(query, {}) for query in [*queries, queries[0]]])
    assert after == before
    assert await index.file.rows("SELECT marks FROM known") != before


async def test_many_writers_at_once_lose_nothing(path: Path, scribe: Scribe) -> None:
    """Batches and single adds cross in one process and between several."""
    indexes = [SqliteIndex(path, make_fields, lambda: None) for _ in range(3)]
    batches = [[scribe.record("apple", segment=HERE) for _ in range(1 + n % 4)] for n in range(30)]

    await asyncio.gather(
        *(indexes[n % 3].add(batch) for n, batch in enumerate(batches)),
        *(door.ids() for door in indexes),
    )

    assert await indexes[0].ids() == {record.id for batch in batches for record in batch}
    for door in indexes:
        await door.aclose()


def pages(path: Path) -> list[bytes]:
    """The pages of the file, without its log."""
    data = path.read_bytes()
    return [data[at : at + 8_192] for at in range(0, len(data), 8_192)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
async def test_erased_text_is_in_none_of_the_index_files(
    index: SqliteIndex, path: Path, scribe: Scribe, seed: int
) -> None:
    """A forget is a promise about bytes: pages, full-text segments and the log included."""
    other = SqliteIndex(path, make_fields, lambda: None)
    said = {"title": "zzsecret title", "tags": ("zzsecret", "tag"), "category": "zzsecret"}
    secrets = [scribe.record(f"apple zzsecret{n} " * 40, **said) for n in range(30)]
    kept = [scribe.record(f"apple {n}", segment=HERE) for n in range(300)]
    await index.add(kept[:150])
    for secret in secrets:
        await index.add([secret])
    await other.add(kept[150:])
    assert any(b"zzsecret" in file.read_bytes() for file in files(path))

    await other.remove(Random(seed).sample([secret.id for secret in secrets], k=30))  # noqa: S311

    assert not any(b"zzsecret" in file.read_bytes() for file in files(path))
    await other.aclose()
    await index.aclose()
    assert not any(b"zzsecret" in file.read_bytes() for file in files(path))


async def test_what_is_forgotten_is_taken_out_without_rewriting_the_rest(
    index: SqliteIndex, path: Path, scribe: Scribe
) -> None:
    """The words of one record lie on few pages, and only these change, however many there are."""
    texts = [" ".join(f"w{(n * m) % 997}" for m in range(1, 40)) for n in range(600)]
    texts[300:302] = "apple pear", "apple plum"
    records = [scribe.record(text, segment=HERE) for text in texts]
    await index.add(records)
    await index.remove([records[300].id])  # the log is empty from here on
    before = pages(path)

    await index.remove([records[301].id])

    changed = sum(old != new for old, new in zip(before, pages(path), strict=True))
    assert 0 < changed < len(before) / 6


async def test_a_batch_that_is_given_up_leaves_the_index_usable(
    index: SqliteIndex, path: Path, scribe: Scribe
) -> None:
    """A search that waits too long for a rebuild is cancelled in the midst of a batch.

    The transaction must not stay open: it would lock out every other process, and the next batch.
    """
    other = SqliteIndex(path, make_fields, lambda: None)
    await other.ids()
    records = [scribe.record("apple", segment=HERE) for _ in range(400)]
    for waits in range(16):
        task = asyncio.create_task(index.add(records))
        for _ in range(waits):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await other.add(records[:1])
    await index.add(records)

    assert len(await other.ids()) == len(records)
    await other.aclose()


async def test_what_is_just_being_opened_is_closed_as_well(path: Path) -> None:
    """SQLite removes its log with the last connection."""
    for waits in range(8):
        index = SqliteIndex(path, make_fields, lambda: None)
        asking = asyncio.create_task(index.ids())
        for _ in range(waits):
            await asyncio.sleep(0)
        opening = index.file._opening.locked()  # pyright: ignore[reportPrivateUsage]  # it has begun
        await index.aclose()
        await asyncio.gather(asking, return_exceptions=True)
        if opening:
            assert files(path) == [path]
        else:
            await index.aclose()


async def test_a_batch_with_a_row_that_cannot_be_stored_changes_nothing(
    index: SqliteIndex, path: Path, scribe: Scribe
) -> None:
    """Whatever is wrong with one row, the others' transaction is not left open."""
    bad = scribe.record().model_copy(update={"tags": ("\ud800",)})
    with pytest.raises(ValueError, match="surrogates"):
        await index.add([scribe.record(), bad])

    other = SqliteIndex(path, make_fields, lambda: None)
    good = [scribe.record(), scribe.record()]
    await other.add(good)
    await index.add(good)

    assert await index.ids() == {record.id for record in good}
    await other.aclose()


def explain_reads(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of each query that the index asks from now on."""
    read = index.file.rows
    plans: list[str] = []

    async def explain(statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        plans.extend(str(row[-1]) for row in await read(f"EXPLAIN QUERY PLAN {statement}", values))
        return await read(statement, values)

    async def explain_each(queries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Rows]:
        return [await explain(*query) for query in queries]

    monkeypatch.setattr(index.file, "rows", explain)
    monkeypatch.setattr(index.file, "rows_of_each", explain_each)
    return plans


async def test_how_much_is_indexed_is_known_without_reading_it(
    index: SqliteIndex, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every search and every add asks: to go through all rows took 4 ms of each at 50,000."""
    await index.add([scribe.record(f"Note {number}.", segment=HERE) for number in range(3)])
    plans = explain_reads(index, monkeypatch)
    corpus = await index.corpus(["note"], seen(scribe))

    assert (corpus.records, corpus.counts) == (3, {"note": 3})
    assert not [plan for plan in plans if plan.startswith("SCAN record")]


async def test_what_cites_code_is_found_without_reading_the_rest(
    index: SqliteIndex, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few memories do, and `stale` asks for them with each look at the page."""
    await index.add([scribe.record(f"Note {number}.", segment=HERE) for number in range(3)])
    plans = explain_reads(index, monkeypatch)

    assert await index.find(seen(scribe), Filters(citing=True), 9) == []
    assert "SCAN r USING INDEX record_citing" in plans


@pytest.mark.parametrize("version", [1, 99, -1])
async def test_an_index_of_another_version_is_not_read(
    index: SqliteIndex, path: Path, scribe: Scribe, version: int
) -> None:
    """Its tables mean something else; it is a derivative, so it is made anew."""
    await index.add([scribe.record("apple", segment=HERE)])
    await index.aclose()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")

    with pytest.raises(IndexDamagedError, match="version"):
        await index.ids()
    await index.reset()
    assert await index.ids() == set()


DAMAGES = ["deleted", "emptied", "garbage", "replaced by garbage", "torn", "a page", "log only"]


def damage(path: Path, how: str) -> None:
    match how:
        case "deleted":
            for file in files(path):
                file.unlink()
        case "emptied":
            path.write_bytes(b"")
        case "garbage":
            path.write_bytes(b"garbage " * 2_000)
        case "replaced by garbage":
            other = path.with_suffix(".new")
            other.write_bytes(b"garbage " * 2_000)
            other.replace(path)
        case "torn":
            path.write_bytes(path.read_bytes()[:5_000])
        case "a page":
            data = bytearray(path.read_bytes())
            data[4_096:12_288] = b"\xa5" * 8_192
            path.write_bytes(data)
        case _:
            Path(f"{path}-wal").write_bytes(b"garbage " * 2_000)


class AskedIndex(MemoryIndex):
    """Counts how often it is asked what has to be erased."""

    asked = 0

    async def to_erase(
        self, among: Collection[RecordId] | None = None, also: Collection[RecordId] = ()
    ) -> dict[RecordId, set[RecordId]]:
        self.asked += 1
        return await super().to_erase(among, also)


async def test_catching_up_asks_once_what_has_to_be_erased() -> None:
    """Mostly nothing has, and the first call of each session waits for the answer."""
    index = AskedIndex()
    await SelfHealingIndex(index, MemoryRecords()).catch_up()

    assert index.asked == 1


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("running", [True, False])
async def test_a_damaged_index_heals_itself_from_the_records(
    path: Path, scribe: Scribe, how: str, *, running: bool
) -> None:
    """Deleting or damaging the index loses nothing, with the server running or not."""
    records = MemoryRecords()
    inner = SqliteIndex(path, make_fields, lambda: None)
    index = SelfHealingIndex(inner, records)
    for number in range(50):
        await records.put(scribe.record(f"apple {number}", segment=HERE))
    assert await all_found(index, scribe) == 50
    if not running:
        await index.aclose()
    damage(path, how)

    late = scribe.record("apple late", segment=HERE)
    await records.put(late)
    await index.add([late])
    found = await all_found(index, scribe)
    await index.aclose()
    again = SelfHealingIndex(SqliteIndex(path, make_fields, lambda: None), records)
    afresh = await all_found(again, scribe)
    await again.aclose()

    assert (found, afresh) == (51, 51)


@example(text='"apple" OR NEAR(pear, 3) NOT (content : kiwi*)')
@example(text="apple\0pear")
@example(text="'; DROP TABLE record; -- apple ^")
@example(text="🦊 apple 👩‍👩‍👧‍👦")
@example(text="apple " + "* ( ) : ^ - + { } [ ] \\ " * 400)
@example(text=" ".join(f"w{n}" for n in range(2_000)) + " apple")
@example(text="a" * QUERY_CHARS_MAX)
@example(text="ß İ ŉ e\u0301 \u0301 ² Ⅷ ½ \u0903")
@given(text=st.text(max_size=200))
@settings(max_examples=depth(10, 150))
async def test_a_query_of_any_characters_is_safe(
    index: SqliteIndex, scribe: Scribe, text: str
) -> None:
    """Nothing of the caller's text is ever syntax, and what is told in words is still found."""
    if not await index.ids():
        await index.add([scribe.record("apple", segment=HERE)])
    found = await matched(index, text, scribe)

    if "apple" in re.findall(r"[a-z]+", text[:QUERY_CHARS_MAX]):
        assert len(found) == 1
    assert await index.count(seen(scribe), Filters()) == 1


async def test_a_statement_that_sqlite_refuses_does_not_cost_the_index(
    index: SqliteIndex, scribe: Scribe
) -> None:
    """Making it anew takes every session seconds, and would fail the same way again."""
    await index.add([scribe.record("apple", segment=HERE)])
    healed = SelfHealingIndex(index, MemoryRecords())
    too_many = Filters(tags=tuple(f"tag{n}" for n in range(1_200)))
    with pytest.raises(sqlite3.OperationalError, match="too large"):
        await matched(healed, "apple", scribe, too_many)
    with pytest.raises(UnicodeEncodeError):
        await matched(healed, "apple", scribe, Filters(category="\udcff"))

    assert await healed.nearest("zz\udcff", seen(scribe)) != []
    assert await all_found(healed, scribe) == 1


async def test_a_list_holds_what_a_statement_names(index: SqliteIndex) -> None:
    """One chain too many would show what was abandoned, also where another call was rolled back."""
    listed = "SELECT value FROM chain ORDER BY value"

    async def look(*members: str) -> list[str]:
        rows = await index.file.rows(listed, {"chain": frozenset(members)})
        return [row[0] for row in rows]

    assert await look("a", "b") == ["a", "b"]
    assert await look("c") == ["c"]
    await index.file.rows("BEGIN")
    assert await look("d") == ["d"]
    await index.file.rows("ROLLBACK")

    assert await look("d") == ["d"]
    assert await look() == []


async def test_a_chain_that_grew_changes_one_row_of_its_list(index: SqliteIndex) -> None:
    """A move makes a chain of thousands longer by one, and a call looks from several of them."""

    async def fill(members: Sequence[str]) -> int:
        rows = await index.file.rows(
            "SELECT total_changes(), (SELECT count(*) FROM chain)", {"chain": frozenset(members)}
        )
        assert rows[0][1] == len(members)
        return rows[0][0]

    long = [f"{number:06}" for number in range(5_000)]
    before = await fill(long)
    assert await fill([*long, "opened"]) - before < 10
    assert await fill(long[:-2]) - before < 20


async def test_where_records_lie_is_told_without_looking_at_each(
    index: SqliteIndex, scribe: Scribe
) -> None:
    """Every backtrack asks for it: what it takes grows with the segments alone."""

    async def count_steps() -> int:
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        await index.file.rows("SELECT 1")
        db = index.file._db  # pyright: ignore[reportPrivateUsage]
        assert db is not None
        await db.set_progress_handler(count, 1)
        assert await index.holding() == {HERE}
        await db.set_progress_handler(count, 0)
        return steps

    await index.add([scribe.record("apple", segment=HERE)])
    few = await count_steps()
    await index.add([scribe.record("apple", segment=HERE) for _ in range(100)])
    assert await count_steps() < 2 * few


async def test_of_what_is_set_aside_the_newest_stay(
    index: SqliteIndex, path: Path, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Branches come and go for years; of the others no word is left."""
    monkeypatch.setattr("memory_mcp.storage.sqlite.index.INDEX_ASIDE_RECORDS_MAX", 2)
    words = ("zzfirst", "zzsecond", "zzthird", "zzfourth")
    records = [scribe.record(word, segment=HERE) for word in words]
    await index.add(records)
    await index.set_aside({record.id for record in records[:3]})
    digests = {record.id: compute_record_digest(record) for record in records}

    assert await index.list_aside(digests) == {records[1].id, records[2].id}
    assert (await index.kinds(digests)).keys() == {record.id for record in records[1:]}
    there = b"".join(file.read_bytes() for file in files(path))
    assert [word for word in words if word.encode() in there] == [*words[1:]]
    assert await index.take_up(digests) == {records[1].id, records[2].id}
    assert [len(await matched(index, word, scribe)) for word in words] == [0, 1, 1, 1]


async def test_what_is_set_aside_does_not_take_the_places_of_what_is_there(
    index: SqliteIndex, scribe: Scribe
) -> None:
    """A search looks at the newest thousand that hold a word: those of another branch are none."""
    old, *new = [scribe.record("apple pie", segment=HERE) for _ in range(1_002)]
    await index.add([old])
    await index.add(new)
    await index.set_aside({record.id for record in new})

    assert [each.id for each in await matched(index, "apple", scribe)] == [old.id]
    await index.set_aside({old.id})
    assert await index.spellings(["apple"]) == {"apple": []}


async def test_what_is_set_aside_is_found_without_a_list_of_all_that_is_missing(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost index asks of a hundred thousand, and nearly always nothing is set aside."""
    asked: list[object] = []
    rows = Database.rows

    async def note(self: Database, statement: str, values: object = ()) -> Any:
        asked.append(values)
        return await rows(self, statement, cast("Any", values))

    monkeypatch.setattr(Database, "rows", note)

    assert await index.list_aside({RecordId(f"{number}") for number in range(1_000)}) == set()
    assert len(str(asked)) < 100


async def test_a_statement_is_looked_up_in_one_visit(
    index: SqliteIndex, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each addition looks it up three times; under the lock it asks for the mark alone."""
    record = scribe.record("apple pear")
    await index.mark_complete()
    await index.add([record])
    visits: list[int] = []
    each, one = index.file.rows_of_each, index.file.rows

    async def count_each(queries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Rows]:
        visits.append(len(queries))
        return await each(queries)

    async def count_one(statement: str, values: Any = ()) -> Rows:
        visits.append(1)
        return await one(statement, values)

    monkeypatch.setattr(index.file, "rows_of_each", count_each)
    monkeypatch.setattr(index.file, "rows", count_one)
    await index.find_stated(seen(scribe), record.statement, 1)  # the first asks if all is in
    visits.clear()
    assert (await index.find_stated(seen(scribe), record.statement, 9)).ids == [record.id]
    assert not (await index.find_stated(seen(scribe), record.statement, 0)).ids
    assert visits == [2, 1]


@pytest.fixture
def tallied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that went through the tally."""
    queries: list[str] = []
    execute = BoundedConnection.execute

    def note(self: BoundedConnection, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        if "FROM tally" in statement:
            queries.append(statement)
        return execute(self, statement, values)

    monkeypatch.setattr(BoundedConnection, "execute", note)
    return queries


async def test_counts_are_kept_until_anybody_writes(
    index: SqliteIndex, path: Path, scribe: Scribe, tallied: list[str]
) -> None:
    """A head, a context and a prompt ask for the same, and a project may have 2,000 segments."""
    other = SqliteIndex(path, make_fields, lambda: None)
    await index.add([scribe.record("apple", segment=HERE)])

    async def count() -> tuple[int, int, int]:
        by_segment = await index.count_by_segment(seen(scribe), Filters())
        holding = await index.holding()
        return await index.count(seen(scribe), Filters()), by_segment[HERE], len(holding)

    assert await count() == (1, 1, 1)
    asked = len(tallied)
    scribe.clock.advance(timedelta(hours=1))
    assert await count() == (1, 1, 1)
    assert len(tallied) == asked

    await index.add([scribe.record("apple", segment=HERE)])
    assert await count() == (2, 2, 1)
    await other.add([scribe.record("apple", segment=HERE), scribe.record("a", segment=THERE)])
    assert await count() == (3, 3, 2)
    assert await index.count(View(chain=frozenset(), now=scribe.clock.now()), Filters()) == 0
    await other.aclose()


async def test_what_expires_counts_no_more_though_nobody_writes(
    index: SqliteIndex, scribe: Scribe
) -> None:
    """The time is no write."""
    ends = scribe.clock.now() + timedelta(hours=1)
    short = scribe.record("apple", segment=HERE).model_copy(update={"expires_at": ends})
    await index.add([short, scribe.record("apple", segment=HERE)])
    assert await index.count(seen(scribe), Filters()) == 2
    scribe.clock.advance(timedelta(hours=2))
    assert await index.count(seen(scribe), Filters()) == 1
    assert await index.count_by_segment(seen(scribe), Filters()) == {HERE: 1}


async def test_no_more_counts_are_kept_than_are_asked_for_again(
    index: SqliteIndex, scribe: Scribe, tallied: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is kept with the chain that it was asked about."""
    monkeypatch.setattr("memory_mcp.storage.sqlite.database._KEPT_MAX", 1)
    await index.add([scribe.record("apple", segment=HERE)])
    for _ in range(2):
        assert await index.count(seen(scribe), Filters()) == 1
        assert await index.holding() == {HERE}
    assert len(tallied) == 4


async def test_the_spellings_of_all_terms_are_looked_up_in_one_visit(
    index: SqliteIndex, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A visit to the thread of the file takes longer than the query."""
    await index.mark_complete()
    await index.add([scribe.record("apple swordfish")])
    await index.spellings(["pear"])  # the first asks if all is in
    visits: list[int] = []
    each = index.file.rows_of_each

    async def count(queries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Rows]:
        visits.append(len(queries))
        return await each(queries)

    monkeypatch.setattr(index.file, "rows_of_each", count)

    found = await index.spellings(["swordfesh", "appli"])

    assert found == {"swordfesh": ["swordfish"], "appli": ["appl"]}
    assert visits == [2]
