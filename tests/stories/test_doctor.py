"""The doctor: every finding provoked once on real files, and mended where it says so."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Run
from doors import (
    add,
    agent,
    call,
    failed,
    head_file,
    history,
    machine_dir,
    recalled,
    record_file,
    records,
    seal,
    trust,
)
from patient import LATER, examine, mended, rewrite, worked_on

from memory_mcp import sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.limits import TEMPORARY_FILE_SECONDS_MAX

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("lone_doctor")]


async def test_a_clean_project_has_no_finding(settings: Settings) -> None:
    """A doctor that cries wolf is not asked again."""
    assert await examine(settings) == {}
    await worked_on(settings)
    assert await examine(settings) == {}
    async with agent(settings, "auto") as client:
        await call(client, "backtrack", to="start", mode="forget")
    assert await examine(settings) == {}
    assert await examine(settings, repair=True) == {}


@pytest.mark.files
async def test_orphans(settings: Settings, tmp_path: Path, project: Path) -> None:
    """Records that came by copying or merging."""
    trust(project)
    (tmp_path / "other").mkdir()
    other = replace(settings, project_dir=tmp_path / "other")
    async with agent(other, "auto") as client:
        await add(client, "From the other clone.")
    await worked_on(settings)
    shutil.copytree(tmp_path / "other" / ".claude", project / ".claude", dirs_exist_ok=True)

    await mended(settings, "orphans", "should")
    async with agent(settings, "auto") as client:
        assert "From the other clone." in await recalled(client)


@pytest.mark.files
async def test_index_ghosts(settings: Settings, project: Path) -> None:
    """Rows of records whose files somebody deleted by hand."""
    ids = await worked_on(settings)
    record_file(project, ids["kept"]).unlink()

    await mended(settings, "index-ghosts", "should")


@pytest.mark.files
async def test_forget_unfinished(settings: Settings, project: Path) -> None:
    """A forgotten memory that another clone, or a cut, left on disk."""
    ids = await worked_on(settings)
    path = record_file(project, ids["kept"])
    data = path.read_bytes()
    async with agent(settings, "auto") as client:
        await call(client, "forget_memory", memory_id=ids["kept"])
    path.write_bytes(data)

    await mended(settings, "forget-unfinished", "must")
    assert not path.exists()


@pytest.mark.files
async def test_move_unwritten(settings: Settings, project: Path) -> None:
    """A cut between the head and the record of its last move."""
    trust(project)
    await worked_on(settings)
    last = record_file(project / ".claude", max(head_file(project)["moves"]))
    data = last.read_bytes()
    last.unlink()
    rewrite(project / ".state" / "memory-head.json", lambda h: h.update(last=json.loads(data)))

    await mended(settings, "move-unwritten", "must")
    assert last.read_bytes() == data


@pytest.mark.files
async def test_moves_unknown(settings: Settings, tmp_path: Path, project: Path) -> None:
    """Checkpoints of another clone that came with its records."""
    trust(project)
    await worked_on(settings)
    clone = tmp_path / "clone"
    shutil.copytree(project, clone)
    trust(clone)
    async with agent(replace(settings, project_dir=clone), "auto") as client:
        name = await seal(client, "Sealed in the clone", phase=7)
    shutil.copytree(clone / ".claude", project / ".claude", dirs_exist_ok=True)

    await mended(settings, "moves-unknown", "should")
    assert name in [c["id"] for c in head_file(project)["checkpoints"]]
    assert "phase7" in str(history(project)[-1])


@pytest.mark.files
async def test_history_gap(settings: Settings, project: Path) -> None:
    """A cut before the line was written, or a log that was tidied away."""
    await worked_on(settings)
    before = history(project)
    (project / ".state" / "history.jsonl").unlink()

    await mended(settings, "history-gap", "should")
    assert history(project) == before


@pytest.mark.files
async def test_the_next_start_fills_the_history_and_removes_old_litter(
    settings: Settings, project: Path
) -> None:
    """What the remedies promise; litter of a moment ago may be a write that is under way."""
    await worked_on(settings)
    before = history(project)
    (project / ".state" / "history.jsonl").unlink()
    month = next((project / ".claude" / "memory").glob("*-*"))
    old, young = month / ".x.json.0123abcd.tmp", month / ".y.json.0123abcd.tmp"
    for litter in (old, young):
        litter.write_text("{")
    hour_ago = young.stat().st_mtime - TEMPORARY_FILE_SECONDS_MAX - 60
    os.utime(old, (hour_ago, hour_ago))

    async with open_workspace(settings) as built:
        await sessions.catch_up(built.workspace)
        await sessions.catch_up(built.workspace)

    assert history(project) == before
    assert not old.exists()
    assert young.exists()


@pytest.mark.files
async def test_head_differs(settings: Settings, project: Path) -> None:
    """Somebody edited the head: every move is on record, so it can be made anew."""
    trust(project)
    await worked_on(settings)
    path = project / ".state" / "memory-head.json"
    before = head_file(project)
    rewrite(path, lambda head: head.update(given_up=[], lines=[]))

    await mended(settings, "head-differs", "must")
    after = head_file(project)
    for name in ("segments", "left", "lines", "moves", "checkpoints", "last"):
        assert after[name] == before[name], name
    assert after["revision"] == before["revision"] + 1


@pytest.mark.files
async def test_head_differs_and_a_move_is_missing(settings: Settings, project: Path) -> None:
    """Then the head may be the only one that knows it: a person decides."""
    trust(project)
    await worked_on(settings)
    path = project / ".state" / "memory-head.json"
    sealed = next(r for r in records(project) if r["kind"] == "checkpoint")
    record_file(project / ".claude", sealed["id"]).unlink()
    rewrite(path, lambda head: head.update(given_up=[], lines=[]))
    edited = path.read_bytes()
    found = await examine(settings, repair=True)

    assert found["head-differs"].severity == "must"
    assert not found["head-differs"].repaired
    assert f"move {path} away" in found["head-differs"].remedy
    assert path.read_bytes() == edited


@pytest.mark.files
async def test_checkpoint_unrecorded(settings: Settings, project: Path) -> None:
    """A checkpoint's record was deleted; git or a backup has it."""
    ids = await worked_on(settings)
    sealed = next(r for r in records(project) if r["kind"] == "checkpoint")
    path = record_file(project / ".claude", sealed["id"])
    data = path.read_bytes()
    path.unlink()
    found = await examine(settings)

    assert ids["one"] in found["checkpoint-unrecorded"].what
    assert found["checkpoint-unrecorded"].severity == "must"
    path.write_bytes(data)
    await examine(settings, repair=True)
    assert await examine(settings) == {}


@pytest.mark.files
async def test_a_segment_of_which_no_move_is_here(
    settings: Settings, tmp_path: Path, project: Path
) -> None:
    """Memories were copied without the checkpoints that they come after: they place themselves."""
    trust(project)
    (tmp_path / "other").mkdir()
    await worked_on(settings)
    other = replace(settings, project_dir=tmp_path / "other")
    async with agent(other, "auto") as client:
        await seal(client, "Elsewhere", phase=1)
        stray = await add(client, "After a checkpoint that is not here.")
    path = record_file(tmp_path / "other", stray)
    home = project / ".claude" / "memory" / path.parent.name / path.name
    home.write_bytes(path.read_bytes())

    await examine(settings, repair=True)
    assert await examine(settings) == {}
    async with agent(settings, "auto") as client:
        assert "After a checkpoint that is not here." in await recalled(client)
    assert stray in home.name


@pytest.mark.files
async def test_forgotten_left(settings: Settings, project: Path) -> None:
    """A clone wrote on a line that was given up here for good."""
    trust(project)
    ids = await worked_on(settings)
    path = record_file(project, ids["later"])
    written = json.loads(path.read_bytes())
    async with agent(settings, "auto") as client:
        await call(client, "backtrack", to=ids["line"], mode="continue")
        await call(client, "backtrack", to=1, mode="forget")
    last = ids["later"][-1]
    late = ids["later"][:-1] + ("0" if last != "0" else "1")
    path.with_name(f"{late}.json").write_text(json.dumps({**written, "id": late}))

    await examine(settings, repair=True)
    found = await examine(settings)
    assert list(found) == ["forgotten-left"]
    assert late in found["forgotten-left"].what
    async with agent(settings, "auto") as client:
        assert LATER not in await recalled(client, "sessions redis")


@pytest.mark.files
async def test_link_dangling(settings: Settings, project: Path) -> None:
    """A correction whose original is gone."""
    ids = await worked_on(settings)
    record_file(project, ids["old"]).unlink()

    await examine(settings, repair=True)
    found = await examine(settings)
    assert list(found) == ["link-dangling"]
    assert f"{ids['new']} names {ids['old']}" in found["link-dangling"].what


# The doctor on single files: damaged, newer, misplaced, left over.


@pytest.mark.files
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


@pytest.mark.files
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


@pytest.mark.files
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


@pytest.mark.files
@pytest.mark.sampled(3)
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


@pytest.mark.files
async def test_a_file_that_holds_another_record_is_unreadable_too(
    settings: Settings, project: Path
) -> None:
    """A file is named by its id; a copy under another name is not two memories."""
    ids = await worked_on(settings)
    shutil.copyfile(record_file(project, ids["new"]), record_file(project, ids["kept"]))

    found = await examine(settings)
    assert f"holds the record {ids['new']!r}" in found["record-unreadable"].what


@pytest.mark.files
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


@pytest.mark.files
async def test_litter(settings: Settings, project: Path) -> None:
    """What a cut left in the middle of a write."""
    await worked_on(settings)
    month = next((project / ".claude" / "memory").glob("*-*"))
    (month / ".x.json.0123abcd.tmp").write_text("{")

    await mended(settings, "litter", "should")
    assert not list(month.glob(".*"))


@pytest.mark.files
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


@pytest.mark.files
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


@pytest.mark.files
def test_what_a_cut_left_beside_the_head_is_named(run: Run, project: Path) -> None:
    """Nothing reads it, and git would show it."""
    run("add", "The tap drips")
    left = project / ".state" / ".memory-head.json.0a1b2c3d.tmp"
    left.write_bytes(b"{")
    os.utime(left, (1, 1))

    assert str(left) in run("doctor")[1]
    run("doctor", "--repair")
    assert not left.exists()
