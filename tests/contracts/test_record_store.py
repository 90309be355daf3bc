"""The contract of `ports.RecordStore`, for every adapter."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes import FakeIds, Scribe
from postgres import new_bank
from stores_in_memory import MemoryRecords

from memory_mcp.disk import Access, Disk
from memory_mcp.domain.ids import ROOT, BranchName, RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Move, Record
from memory_mcp.engine.fields import make_fields
from memory_mcp.errors import NewerSchemaError, StoreDamagedError, StoreUnavailableError
from memory_mcp.ports import RecordStore
from memory_mcp.safe_files import read_file
from memory_mcp.storage.files.kept import KeptRecords
from memory_mcp.storage.files.records import LocalRecords, RecordFolder
from memory_mcp.storage.postgres.records import PostgresRecords
from memory_mcp.storage.stored import dump_record

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["local", "postgres", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[RecordStore]:
    match request.param:
        case "local":
            yield LocalRecords(RecordFolder(tmp_path / "memory"), Disk())
        case "postgres":
            bank = new_bank(request.getfixturevalue("postgres_url"))
            yield PostgresRecords(bank, make_fields)
            await bank.database.aclose()
        case _:
            yield MemoryRecords()


@pytest.fixture
def local(tmp_path: Path) -> LocalRecords:
    return LocalRecords(RecordFolder(tmp_path / "memory"), Disk())


def full(scribe: Scribe) -> Record:
    """A record in which no field is what it would be by itself."""
    others = [scribe.record().id for _ in range(3)]
    fields = scribe.record("Wörter\n\t und 🦊", title="T", category="C", tags=("a", "B"))
    return fields.model_copy(
        update={
            "kind": "move", "layer": "recall", "key": "k", "importance": 5, "pinned": True,
            "expires_at": scribe.clock.now(), "phase": 0, "segment": ROOT, "branch": "b",
            "supersedes": (others[0],), "derived_from": (others[1],), "erases": (others[2],),
            "stated_at": scribe.clock.now(), "holds_beside": (others[0],),
            "move": Move(act="fork", branch=BranchName("b")),
        }
    )  # fmt: skip


async def test_get_returns_exactly_what_was_put(store: RecordStore, scribe: Scribe) -> None:
    """A memory comes back byte for byte, with every field it was given."""
    plain, rich = scribe.record(), full(scribe)
    await store.put(plain)
    await store.put(rich)

    assert await store.get(plain.id) == plain
    assert await store.get(rich.id) == rich


async def test_the_same_record_twice_is_one(store: RecordStore, scribe: Scribe) -> None:
    """A retry after a lost answer must be harmless."""
    record = scribe.record()
    await store.put(record)
    await store.put(record)

    assert await store.ids() == {record.id}


async def test_a_taken_id_is_refused_and_the_first_record_stays(
    store: RecordStore, scribe: Scribe
) -> None:
    """Records are written once: whatever wants their place is wrong."""
    first = scribe.record("first")
    await store.put(first)

    with pytest.raises(StoreDamagedError):
        await store.put(first.model_copy(update={"content": "second"}))

    assert await store.get(first.id) == first


async def test_what_was_never_put_is_none(store: RecordStore, scribe: Scribe) -> None:
    """An absent record is an answer, also under a name that no record can have."""
    assert await store.get(scribe.record().id) is None
    assert await store.get(RecordId("../../etc/passwd")) is None
    assert await store.get(RecordId("")) is None
    assert await store.ids() == set()


async def test_one_at_a_time_corrects(store: RecordStore) -> None:
    """Whoever comes meanwhile is told so, and may once the first has ended."""
    async with store.alone() as first, store.alone() as second:
        assert (first, second) == (True, False)
    async with store.alone() as later:
        assert later


async def test_ids_and_scan_name_everything_there_is(store: RecordStore) -> None:
    """The index is rebuilt from these two, so nothing may be left out, over months and batches."""
    scribe = Scribe()
    written: list[Record] = []
    for number in range(510):  # more than one batch of a scan
        scribe.clock.advance(timedelta(hours=6))
        written.append(scribe.record(f"memory {number}"))
    for start in range(0, len(written), 8):  # no more than a database has connections for
        await asyncio.gather(*(store.put(record) for record in written[start : start + 8]))

    assert await store.ids() == {record.id for record in written}
    asked = {*(record.id for record in written), scribe.record().id}
    assert sorted([r async for r in store.scan(asked)], key=lambda r: r.id) == written
    assert [r async for r in store.scan({written[3].id})] == [written[3]]


async def test_erase_leaves_nothing_and_is_content_with_what_is_gone(
    store: RecordStore, scribe: Scribe
) -> None:
    """A forget that was cut short is repeated, so erasing twice is no error."""
    gone, kept = scribe.record("gone"), scribe.record("kept")
    await store.put(gone)
    await store.put(kept)

    await store.erase({gone.id, scribe.record().id})
    await store.erase({gone.id})

    assert await store.get(gone.id) is None
    assert await store.ids() == {kept.id}
    assert [r async for r in store.scan({gone.id, kept.id})] == [kept]


async def test_a_second_store_over_the_same_folder_sees_it_at_once(
    local: LocalRecords, scribe: Scribe
) -> None:
    """Durable means: in the file when `put` returns, not in this process's memory."""
    record = full(scribe)
    await local.put(record)

    assert await LocalRecords(RecordFolder(local.root), Disk()).get(record.id) == record


async def test_what_another_process_writes_meanwhile_is_named(
    tmp_path: Path, scribe: Scribe
) -> None:
    """That this process changed a folder says nothing of others: it is listed again, if later."""
    seconds = [0.0]
    mine, theirs = scribe.record("mine"), scribe.record("theirs")
    folder = tmp_path / "memory"

    class Crowded(Disk):
        def write(self, path: Path, data: bytes, access: Access | None = None) -> None:
            Disk().write(path.with_name(f"{theirs.id}.json"), data)
            super().write(path, data, access)

    store = LocalRecords(RecordFolder(folder, seconds=lambda: seconds[0]), Crowded())
    await store.put(scribe.record("the first"))
    (folder / "2026-01" / f"{theirs.id}.json").unlink()
    assert theirs.id not in await store.ids()

    await store.put(mine)
    seconds[0] += 1

    assert store.changed()
    assert {mine.id, theirs.id} <= await store.ids()
    assert not store.changed()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read; what was written a moment ago may be kept, too."""
    names: list[str] = []

    def note(path: str, bytes_max: int, root: str = "") -> bytes:
        names.append(Path(path).stem)
        return read_file(path, bytes_max, root)

    monkeypatch.setattr("memory_mcp.storage.files.records.read_file", note)
    monkeypatch.setattr("memory_mcp.storage.files.kept._FINE_TICK_NS_MAX", 0)
    return names


async def test_a_record_is_read_once_as_long_as_its_file_is_the_same(
    local: LocalRecords, scribe: Scribe, read: list[str]
) -> None:
    """A session reads the same ones again and again, and nobody changes them."""
    record, changed = full(scribe), full(scribe)
    await local.put(record)
    read.clear()
    for _ in range(3):
        assert [r async for r in local.scan({record.id})] == [record]
    assert read == [record.id]

    other = changed.model_copy(update={"id": record.id, "content": "Wörter\n\t und 🐺"})
    path = local.path(record.id)
    data = dump_record(other)
    assert len(data) == path.stat().st_size, "no size tells it"
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [r async for r in local.scan({record.id})] == [other]

    await local.erase({record.id})
    assert [r async for r in local.scan({record.id})] == []


async def test_what_may_have_changed_in_the_same_moment_is_read_again(
    local: LocalRecords, scribe: Scribe, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that has not ticked since does not tell one text from the next."""
    monkeypatch.setattr("memory_mcp.storage.files.kept._FINE_TICK_NS_MAX", 10**15)
    record = scribe.record("apple")
    await local.put(record)
    read.clear()
    for _ in range(2):
        assert [r async for r in local.scan({record.id})] == [record]
    assert read == [record.id, record.id]


def test_what_was_read_by_other_rules_is_not_kept(scribe: Scribe) -> None:
    """A project may be trusted no more while its records are being read."""
    kept, record, stamp = KeptRecords(), scribe.record("apple"), (1, 1, 1, 1, 1)
    kept.keep(record.id, stamp, record, None)
    assert kept.find(record.id, stamp) == record
    kept.follow("others")
    assert kept.find(record.id, stamp) is None
    kept.keep(record.id, stamp, record, None)
    assert kept.find(record.id, stamp) is None


async def test_of_many_records_the_last_ones_are_kept(
    local: LocalRecords, scribe: Scribe, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server runs for weeks, and what it looks at may be all there is."""
    records = [scribe.record("apple") for _ in range(4)]
    for record in records:
        await local.put(record)
    size = local.path(records[0].id).stat().st_size
    monkeypatch.setattr("memory_mcp.storage.files.kept._BYTES_MAX", 2 * size + size // 2)
    every = {record.id for record in records}
    assert [r async for r in local.scan(every)] == records
    read.clear()
    assert [r async for r in local.scan({records[2].id, records[3].id})] == records[2:]
    assert read == []
    assert [r async for r in local.scan({records[0].id})] == records[:1]
    assert read == [records[0].id]


async def test_erased_text_is_in_no_file(local: LocalRecords, scribe: Scribe) -> None:
    """An explicit forget is a promise about the disk."""
    record = scribe.record("unsayable")
    await local.put(record)
    await local.erase({record.id})

    left = [path.read_bytes() for path in local.root.rglob("*") if path.is_file()]
    assert not any(b"unsayable" in data for data in left)


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"null", b"[]", b"3", b"{}", b'{"schema_version": 1}', b"\xff\xfe\x00",
        b'{"schema_version": null}', b'{"schema_version": "1"}', b"[" * 200_000,
    ],
    ids=lambda damage: repr(damage[:25]),
)  # fmt: skip
async def test_a_file_that_is_no_record_is_said_to_be_damaged_and_left_alone(
    local: LocalRecords, scribe: Scribe, damage: bytes
) -> None:
    """Half a record is worse than none: it is named, kept, and does not hide the others."""
    bad, good = scribe.record("bad"), scribe.record("good")
    await local.put(bad)
    await local.put(good)
    local.path(bad.id).write_bytes(damage)

    with pytest.raises(StoreDamagedError, match=bad.id):
        await local.get(bad.id)
    assert await local.ids() == {bad.id, good.id}
    assert [r async for r in local.scan({bad.id, good.id})] == [good]
    assert local.path(bad.id).read_bytes() == damage


@pytest.mark.parametrize(
    "change",
    [
        {"content": "\ud800"}, {"created_at": "0001-01-01T00:00:00+10:00"}, {"phase": 10**30},
        {"expires_at": "9999-12-31T23:59:59-10:00"}, {"kind": "poem"}, {"importance": 9},
        {"content": None}, {"scope": {}}, {"tags": ["\udfff"]}, {"supersedes": ["\ud800"]},
    ],
    ids=repr,
)  # fmt: skip
async def test_a_record_that_could_not_be_indexed_is_damaged(
    local: LocalRecords, scribe: Scribe, change: dict[str, object]
) -> None:
    """Records arrive by git from anywhere: one that no index can hold must not stop the others."""
    bad = scribe.record("bad")
    await local.put(bad)
    local.path(bad.id).write_text(json.dumps({**bad.as_json(), **change}), "utf-8")

    with pytest.raises(StoreDamagedError, match=bad.id):
        await local.get(bad.id)
    assert [r async for r in local.scan({bad.id})] == []


async def test_a_newer_record_says_update_and_is_left_alone(
    local: LocalRecords, scribe: Scribe
) -> None:
    """An old program must not judge a new format."""
    record = scribe.record()
    await local.put(record)
    newer = json.dumps({**record.as_json(), "schema_version": 2, "kind": "new"}).encode()
    local.path(record.id).write_bytes(newer)

    with pytest.raises(NewerSchemaError, match="Update memory-mcp"):
        await local.get(record.id)
    assert [r async for r in local.scan({record.id})] == []
    assert local.path(record.id).read_bytes() == newer


async def test_a_record_under_another_name_is_damaged(local: LocalRecords, scribe: Scribe) -> None:
    """The name is the id: a copy under a new name would be a second truth."""
    record, other = scribe.record(), scribe.record()
    await local.put(record)
    local.path(record.id).rename(local.path(other.id))

    with pytest.raises(StoreDamagedError, match=record.id):
        await local.get(other.id)


async def test_a_name_of_a_time_that_cannot_be_is_no_record(
    local: LocalRecords, scribe: Scribe
) -> None:
    """A UUIDv7 can name the year 10889; a calendar cannot. One such file must not stop a scan."""
    good = scribe.record()
    await local.put(good)
    strange = RecordId("ffffffff-ffff-7fff-bfff-ffffffffffff")
    (local.path(good.id).parent / f"{strange}.json").write_text("{}")

    assert await local.get(strange) is None
    assert [r async for r in local.scan({strange, *await local.ids()})] == [good]


async def test_what_the_file_system_refuses_is_said_in_one_sentence(
    tmp_path: Path, scribe: Scribe
) -> None:
    """A folder that is a file, a file that is a folder: the path and the next step are named."""
    (tmp_path / "memory").write_text("a file")
    record = scribe.record()
    with pytest.raises(StoreUnavailableError, match="memory"):
        await LocalRecords(RecordFolder(tmp_path / "memory"), Disk()).put(record)
    assert (tmp_path / "memory").read_text() == "a file"

    store = LocalRecords(RecordFolder(tmp_path / "other"), Disk())
    store.path(record.id).mkdir(parents=True)
    with pytest.raises(StoreUnavailableError, match=record.id):
        await store.put(record)
    with pytest.raises(StoreUnavailableError, match=record.id):
        await store.get(record.id)


async def test_a_check_reads_the_records_while_they_are_taken(
    store: RecordStore, scribe: Scribe
) -> None:
    """However many there are, only a part of them is in memory at once."""
    records = [scribe.record(str(number)) for number in range(501)]
    for start in range(0, len(records), 100):
        await asyncio.gather(*map(store.put, records[start : start + 100]))
    looked_at = aiter(store.check(repair=False))
    assert await anext(looked_at) == records[0]

    await store.erase({records[-1].id})
    assert [each async for each in looked_at][-1] == records[-2]


async def test_a_healthy_store_has_no_findings_and_litter_is_one(
    local: LocalRecords, scribe: Scribe
) -> None:
    """The doctor hears of what the store alone can tell."""
    record = scribe.record()
    await local.put(record)
    assert [each async for each in local.check(repair=False)] == [record]

    litter = local.path(record.id).with_name(".cut.tmp")
    litter.write_text("half")
    stored, found = [each async for each in local.check(repair=True)]
    assert (stored, isinstance(found, Finding) and found.code) == (record, "litter")
    assert [each async for each in local.check(repair=False)] == [record]
    assert FakeIds().new(record.created_at) == record.id
