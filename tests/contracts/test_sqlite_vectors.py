"""What `ports.VectorIndex` promises about files and processes, for the vectors in SQLite."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from fakes import Scribe
from vector_doors import ASKED, HERE, MODEL, Door, away, doors_to, view_of

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Chunk, Filters
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.sqlite.vectors import SqliteVectors
from memory_mcp.storage.stored import compute_record_digest

pytestmark = pytest.mark.anyio

SECRET = b"zzsecret" * 24


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite3"


@pytest.fixture
async def doors(path: Path) -> AsyncGenerator[list[Door]]:
    """Two processes' doors to one file."""
    async with doors_to(path, 2) as found:
        yield found


def written(scribe: Scribe, count: int) -> list[Record]:
    return [scribe.record(f"memory {n}", segment=HERE) for n in range(count)]


async def run(door: Door, statement: str, *values: object) -> None:
    """Something is done to the file by hand."""
    assert isinstance(door.index, SqliteIndex)
    await door.index.file.rows(statement, values)


def changed(change: str, *numbers: int) -> tuple[str, int]:
    """A statement that changes the whole vectors of these numbers, and how many they are."""
    names = ", ".join(map(str, numbers))
    return f"UPDATE vector_whole SET {change} WHERE number IN ({names})", len(numbers)


DAMAGES: dict[str, tuple[str, int]] = {
    "pooled": changed("pooled = CAST(x'00' || substr(pooled, 2) AS BLOB)", 1, 4),
    "tokens": changed("tokens = CAST(x'ff' || substr(tokens, 2) AS BLOB)", 2),
    "pooled became text": changed("pooled = x'ff' || substr(pooled, 2)", 3),
    "tokens became text": changed("tokens = x'ff' || substr(tokens, 2)", 3),
    "length": changed("pooled = x'7f'", 4),
    "checksum": changed("crc = crc + 1", 3),
    "gone": ("DELETE FROM vector_whole WHERE number IN (1, 2, 4)", 3),
    "signs": ("UPDATE vector SET signs = zeroblob(length(signs)) WHERE number = 1", 1),
    "signs became text": (
        "UPDATE vector SET signs = x'80' || substr(signs, 2) WHERE number = 1",
        1,
    ),
    "length of signs": ("UPDATE vector SET signs = x'00' WHERE number = 1", 1),
}


@pytest.mark.parametrize(("statement", "rows"), DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("known", [True, False])
async def test_a_damaged_row_is_left_out_and_counted(
    doors: list[Door], scribe: Scribe, statement: str, rows: int, *, known: bool
) -> None:
    """Wherever a bit was flipped, the rest is still compared; whether read before or not."""
    door = doors[0]
    records = written(scribe, 2)
    whole = [(away(n, b"tokens"), away(n + 40, b"tokens")) for n in (1, 2)]
    ids = await door.put(list(zip(records, whole, strict=True)))
    if known:
        assert await door.near(view_of(scribe)) == ids
    assert await door.vectors.damaged() == 0
    await run(door, statement)

    read = await door.vectors.vectors(MODEL, ids)
    assert read.damaged == await door.vectors.damaged() == rows
    assert sum(len(passage) for passage in read.passages.values()) == 4 - rows
    assert {chunk for p in read.passages.values() for chunk in p} <= {c for p in whole for c in p}
    assert set(await door.near(view_of(scribe))) == set(ids)


async def test_a_record_that_lost_all_its_rows_is_counted_as_damaged(
    doors: list[Door], scribe: Scribe
) -> None:
    """It is neither found by meaning nor waiting to be encoded: somebody must say so."""
    door = doors[0]
    one, two, waiting = written(scribe, 3)
    await door.put([(one, (away(1),)), (two, (away(2), away(3)))])
    await door.index.add([waiting])
    await run(
        door, "DELETE FROM vector WHERE record = (SELECT rowid FROM record WHERE id = ?)", two.id
    )

    assert await door.vectors.damaged() == 1
    assert (await door.vectors.vectors(MODEL, [one.id, two.id])).damaged == 0


async def test_damage_is_counted_in_more_rows_than_are_read_at_once(
    doors: list[Door], scribe: Scribe
) -> None:
    """The whole index is looked at."""
    door = doors[0]
    records = written(scribe, 30)
    await door.put([(record, (away(1),) * 100) for record in records])
    await run(door, "UPDATE vector_whole SET crc = 0 WHERE number % 10 = 0")

    assert await door.vectors.damaged() == 300


async def test_an_index_made_anew_is_noticed(doors: list[Door], scribe: Scribe) -> None:
    """Another process found it broken: the numbers begin again, and mean other records."""
    door, other = doors
    old = written(scribe, 5)
    await door.put([(record, (away(n),)) for n, record in enumerate(old)])
    assert len(await door.near(view_of(scribe))) == len(await other.near(view_of(scribe))) == 5
    await other.index.reset()
    new = written(scribe, 3)
    await other.index.mark_complete()
    await other.put([(record, (away(20 - n),)) for n, record in enumerate(new)])

    assert await door.near(view_of(scribe)) == [record.id for record in reversed(new)]
    assert await other.near(view_of(scribe)) == [record.id for record in reversed(new)]


async def test_what_is_kept_for_an_index_that_was_made_anew_meanwhile_is_made_again(
    doors: list[Door], scribe: Scribe
) -> None:
    """The lease went with the old file; the new one knows nothing of it."""
    door, other = doors
    [record] = written(scribe, 1)
    now = scribe.clock.now()
    await door.index.add([record])
    await door.vectors.claim(MODEL, 1, now, now)
    await other.index.reset()
    await other.index.mark_complete()
    await other.index.add([record])
    await door.vectors.keep(MODEL, {record.id: (away(1),)})

    assert await other.vectors.missing(MODEL) == 1
    assert await door.vectors.claim(MODEL, 1, now, now) == [record.id]


async def test_erased_vectors_are_in_none_of_the_index_files(
    doors: list[Door], path: Path, scribe: Scribe
) -> None:
    """A text can be guessed from its vectors, so a forget takes their bytes too."""
    door, other = doors
    records = written(scribe, 60)
    secret = [(r, (Chunk(SECRET, SECRET * 20), Chunk(SECRET, SECRET))) for r in records[:20]]
    await door.put(secret)
    await other.put([(r, (away(1, b"t" * 900),)) for r in records[20:]])
    files = [path, Path(f"{path}-wal")]
    assert any(b"zzsecret" in file.read_bytes() for file in files)

    await other.index.remove({record.id for record in records[:20]})

    assert not any(b"zzsecret" in file.read_bytes() for file in files)
    assert isinstance(door.index, SqliteIndex)
    for table in ("vector", "vector_whole"):
        rows = await door.index.file.rows(f"SELECT count(*) FROM {table}")
        assert rows[0][0] == 40
    assert set(await door.near(view_of(scribe))) == {record.id for record in records[20:]}


async def test_a_batch_that_is_taken_back_leaves_no_signs_behind(
    doors: list[Door], scribe: Scribe
) -> None:
    """Searches go on while a batch is written; the numbers of one that failed are given again."""
    door = doors[0]
    first, second, third = written(scribe, 3)
    await door.put([(first, (away(30),))])
    bad = RecordId("\udcff")  # half a character: the batch fails when it comes to it
    keeping = asyncio.create_task(
        door.vectors.keep(MODEL, {first.id: (away(0),) * 3_000, bad: (away(0),)})
    )
    while not keeping.done():
        await asyncio.gather(*(door.near(view_of(scribe)) for _ in range(3)))
    with pytest.raises(UnicodeEncodeError):
        await keeping
    await door.put([(second, (away(20),) * 2), (third, (away(25),))])

    assert await door.near(view_of(scribe), limit=1) == [second.id]
    assert await door.near(view_of(scribe)) == [second.id, third.id, first.id]


async def test_only_so_many_signs_are_in_memory_as_are_asked_for(
    doors: list[Door], scribe: Scribe
) -> None:
    """A process that never searches by meaning holds none, and needs no numpy."""
    door, other = doors
    assert isinstance(other.vectors, SqliteVectors)
    await door.put([(record, (away(1),)) for record in written(scribe, 5)])
    await other.vectors.missing(MODEL)

    assert other.vectors._signs == {}  # pyright: ignore[reportPrivateUsage]
    await other.vectors.near(MODEL, ASKED, view_of(scribe), Filters(), 5)
    [signs] = other.vectors._signs.values()  # pyright: ignore[reportPrivateUsage]
    assert len(signs) == 5


async def test_what_git_took_and_brought_back_keeps_its_vectors(
    doors: list[Door], scribe: Scribe
) -> None:
    """To encode a thousand memories again would take minutes; what has none yet gets some."""
    door, other = doors
    one, two, late = written(scribe, 3)
    await door.put([(one, (away(1),)), (two, (away(2),))])
    await door.index.add([late])
    assert await door.near(view_of(scribe)) == [one.id, two.id]
    records = {record.id: compute_record_digest(record) for record in (two, late)}
    await other.index.set_aside(records)
    for each in doors:
        assert await each.near(view_of(scribe)) == [one.id]
        assert await each.vectors.missing(MODEL) == 0

    assert await other.index.take_up(records) == set(records)
    for each in doors:
        assert await each.near(view_of(scribe)) == [one.id, two.id]
        assert await each.vectors.missing(MODEL) == 1
        assert await each.vectors.damaged() == 0
