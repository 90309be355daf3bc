"""The doctor on single files: damaged, newer, misplaced, left over."""

import os
import shutil
from pathlib import Path

import pytest
from command_line import Run
from doors import agent, failed, head_file, machine_dir, recalled, record_file
from patient import examine, mended, rewrite, worked_on

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


async def test_head_damaged(settings: Settings, project: Path) -> None:
    """The damaged file is set aside, never deleted, and made anew from the records."""
    await worked_on(settings)
    path = project / ".state" / "memory-head.json"
    before = head_file(project)
    for number, damage in enumerate(["{", "[]", '{"schema_version": 1}'], start=1):
        path.write_text(damage)
        await mended(settings, "head-damaged", "must")
        assert path.with_name(f"memory-head.json.damaged-{number}").read_text() == damage
    after = head_file(project)
    for name in ("project", "head_phase", "head_checkpoint", "checkpoints", "branches", "lines"):
        assert after[name] == before[name], name


async def test_a_head_without_the_segments_of_its_moves_is_damaged(
    settings: Settings, project: Path
) -> None:
    """A branch that ends nowhere could take no memory in."""
    await worked_on(settings)
    rewrite(project / ".state" / "memory-head.json", lambda head: head.update(segments=[]))

    async with agent(settings, "auto") as client:
        said = await failed(client, "add_memory", content="x")
    assert "doctor --repair" in said
    await mended(settings, "head-damaged", "must")
    async with agent(settings, "auto") as client:
        assert "Port 9000." in await recalled(client)


async def test_head_newer(settings: Settings, project: Path) -> None:
    """What a newer version wrote is left to it."""
    await worked_on(settings)
    path = project / ".state" / "memory-head.json"
    rewrite(path, lambda head: head.update(schema_version=2))
    data = path.read_bytes()
    for repair in (False, True):
        found = await examine(settings, repair=repair)
        assert list(found) == ["head-newer"], "what rests on the head cannot be judged"
        assert "has schema version 2; this memory-mcp knows up to 1" in found["head-newer"].what
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("{", "no JSON: Expecting property name"),
        ("[]", "not a JSON object in UTF-8"),
        ("{}", "no field 'schema_version'"),
        ('{"schema_version": 1}', "Field required"),
        ('{"schema_version": 2}', "schema version 2; this memory-mcp knows up to 1"),
    ],
)
async def test_record_unreadable(settings: Settings, project: Path, damage: str, said: str) -> None:
    """It is named and left as it is; everything else works on."""
    ids = await worked_on(settings)
    path = record_file(project, ids["kept"])
    path.write_text(damage)
    for repair in (False, True):
        found = await examine(settings, repair=repair)
        assert found["record-unreadable"].severity == "must"
        assert str(path) in found["record-unreadable"].what
        assert said in found["record-unreadable"].what
        assert not found["record-unreadable"].repaired
    assert path.read_text() == damage
    async with agent(settings, "auto") as client:
        assert "Port 9000." in await recalled(client)


async def test_a_file_that_holds_another_record_is_unreadable_too(
    settings: Settings, project: Path
) -> None:
    """A file is named by its id; a copy under another name is not two memories."""
    ids = await worked_on(settings)
    shutil.copyfile(record_file(project, ids["new"]), record_file(project, ids["kept"]))

    found = await examine(settings)
    assert f"holds the record {ids['new']!r}" in found["record-unreadable"].what


@pytest.mark.parametrize("name", ["2001-02/{id}.json", "{month}/notes.json"])
async def test_record_misplaced(settings: Settings, project: Path, name: str) -> None:
    """A file that is not where its id says is not read; the doctor says where it belongs."""
    ids = await worked_on(settings)
    path = record_file(project, ids["later"])
    target = path.parent.parent / name.format(id=ids["later"], month=path.parent.name)
    target.parent.mkdir(exist_ok=True)
    path.rename(target)

    found = await examine(settings)
    assert str(target) in found["record-misplaced"].what
    target.rename(path)
    assert await examine(settings) == {}


async def test_litter(settings: Settings, project: Path) -> None:
    """What a cut left in the middle of a write."""
    await worked_on(settings)
    month = next((project / ".claude" / "memory").glob("*-*"))
    (month / ".x.json.0123abcd.tmp").write_text("{")

    await mended(settings, "litter", "should")
    assert not list(month.glob(".*"))


async def test_index_damaged(settings: Settings, project: Path) -> None:
    """The index is a derivative: a broken one costs a rebuild and nothing else."""
    await worked_on(settings)
    path = machine_dir(project) / "index.sqlite3"
    for repair in (False, True):
        path.write_bytes(b"This is no database. " * 500)
        found = await examine(settings, repair=repair)
        assert found["index-damaged"].severity == "should"
        assert found["index-damaged"].repaired is repair
    assert await examine(settings) == {}


async def test_index_unusable(settings: Settings, project: Path) -> None:
    """One that can neither be read nor replaced is named with the path to clear, and left."""
    await worked_on(settings)
    path = machine_dir(project) / "index.sqlite3"
    path.write_bytes(b"This is no database. " * 500)
    in_the_way = path.with_name("index.sqlite3-shm")
    in_the_way.mkdir()
    for repair in (False, True):
        found = await examine(settings, repair=repair)
        assert f"{in_the_way} is a link, a folder or a device" in found["index-unusable"].what
        assert not found["index-unusable"].repaired
    in_the_way.rmdir()
    await examine(settings, repair=True)
    assert await examine(settings) == {}


def test_what_a_cut_left_beside_the_head_is_named(run: Run, project: Path) -> None:
    """Nothing reads it, and git would show it."""
    run("add", "The tap drips")
    left = project / ".state" / ".memory-head.json.0a1b2c3d.tmp"
    left.write_bytes(b"{")
    os.utime(left, (1, 1))

    assert str(left) in run("doctor")[1]
    run("doctor", "--repair")
    assert not left.exists()
