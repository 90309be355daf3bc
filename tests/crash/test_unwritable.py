"""Folders that are files, folders that are read-only, and disks that are full."""

import itertools
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from depth import depth
from operations import OPERATIONS, Operation, begin, go_back, seal
from power import FullDisk, ReadOnlyDisk
from project import (
    add,
    copy_project,
    doctor_is_content,
    head_agrees_with_records,
    opened,
    record_files,
    see,
)

from memory_mcp import branches, sessions
from memory_mcp.disk import Disk
from memory_mcp.domain.outcomes import Backtracked
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.maintenance import run_doctor

pytestmark = pytest.mark.anyio

WRITES: dict[str, Callable[[Workspace], Awaitable[object]]] = {
    "add": lambda workspace: add(workspace, "vouchers expire"),
    "checkpoint": lambda workspace: seal(workspace, "vouchers work", phase=3),
    "backtrack": lambda workspace: go_back(workspace, "phase 1"),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


@pytest.mark.parametrize(
    "folder", [".claude", ".claude/memory", ".state", ".claude/memory/<month>"]
)
async def test_a_file_where_a_folder_must_be_is_named_and_left_alone(
    folder: str, tmp_path: Path
) -> None:
    """Issue 2, 10. The project's folder is the user's: what stands there is not ours to move."""
    await begin(tmp_path)
    month = record_files(tmp_path)[0].parent.name
    path = tmp_path / "shop" / folder.replace("<month>", month)
    aside = tmp_path / "aside"
    path.rename(aside)
    path.write_text("mine", encoding="ascii")

    async with opened(tmp_path) as built:
        with pytest.raises(StoreUnavailableError) as caught:
            await add(built.workspace, "vouchers expire")
    assert str(path) in str(caught.value)
    assert "Move that file away" in str(caught.value)
    assert path.read_text("ascii") == "mine"

    path.unlink()
    aside.rename(path)
    async with opened(tmp_path) as built:
        await sessions.reindex(built.workspace)
        assert len((await see(built.workspace)).recalled) == 5
        await add(built.workspace, "vouchers expire")


async def test_a_file_where_the_users_folder_must_be_does_not_stop_the_project(
    tmp_path: Path,
) -> None:
    """The two banks are two places: one that cannot be used takes nothing from the other."""
    await begin(tmp_path)
    users = tmp_path / "home" / "user-ann"
    shutil.rmtree(users, ignore_errors=True)
    users.write_text("mine", encoding="ascii")

    async with opened(tmp_path) as built:
        await add(built.workspace, "vouchers expire")
        await seal(built.workspace, "vouchers work", phase=3)
        with pytest.raises(StoreUnavailableError) as caught:
            await see(built.workspace)
    assert str(users) in str(caught.value)
    assert "Move that file away" in str(caught.value)


@every_write
async def test_a_read_only_project_can_be_read_and_says_why_it_is_not_written(
    write: Callable[[Workspace], Awaitable[object]], tmp_path: Path
) -> None:
    """Issue 2, 10."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        before = await see(built.workspace)

    async with opened(tmp_path, ReadOnlyDisk()) as built:
        assert await see(built.workspace) == before
        with pytest.raises(StoreUnavailableError, match="may not be written") as caught:
            await write(built.workspace)
        assert str(tmp_path) in str(caught.value)
        assert "or set MEMORY_" in str(caught.value)
        assert await see(built.workspace) == before


async def test_who_reads_where_no_index_can_be_made_is_not_told_of_storing(tmp_path: Path) -> None:
    """Nothing was to be stored; what is missing is a folder."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        machine = built.places.machine_dir
    shutil.rmtree(machine)

    async with opened(tmp_path, ReadOnlyDisk()) as built:
        with pytest.raises(StoreUnavailableError, match=r"^Cannot make .*nothing is lost\.$"):
            await see(built.workspace)


@pytest.mark.files
@pytest.mark.parametrize("disk", [ReadOnlyDisk, lambda: FullDisk(0)], ids=["read-only", "full"])
async def test_the_doctor_names_each_folder_that_takes_no_write(
    disk: Callable[[], Disk], tmp_path: Path
) -> None:
    """All would look well otherwise, and the next memory would be the one that finds out."""
    await begin(tmp_path)
    async with opened(tmp_path, disk()) as built:
        found = await run_doctor(built.workspace)
        places = built.places

    named = [finding for finding in found if finding.code == "folder-unwritable"]
    assert {finding.severity for finding in named} == {"must"}
    folders = places.memory_dir, places.state_dir, places.user_memory_dir, places.machine_dir
    for folder, finding in zip(folders, named, strict=True):
        assert str(folder) in finding.what
        assert finding.remedy


def list_all(folder: Path) -> list[Path]:
    """All files and folders below it."""
    return sorted(folder.rglob("*"))


async def test_what_the_doctor_tries_leaves_nothing_behind(tmp_path: Path) -> None:
    """No file, and no folder where nothing was stored yet."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        await run_doctor(built.workspace)
        shutil.rmtree(built.places.user_memory_dir, ignore_errors=True)
        before = list_all(tmp_path)
        assert not await built.workspace.folders.find_unwritable()
        assert list_all(tmp_path) == before


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root is not held back by modes"
)
async def test_a_folder_without_the_right_to_write_says_so(tmp_path: Path) -> None:
    """The same with the file system itself, where we are not root."""
    await begin(tmp_path)
    month = record_files(tmp_path)[0].parent
    month.chmod(0o500)
    try:
        async with opened(tmp_path) as built:
            with pytest.raises(StoreUnavailableError, match="Make the folder writable"):
                await add(built.workspace, "vouchers expire")
            assert len((await see(built.workspace)).recalled) == 5
    finally:
        month.chmod(0o700)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_a_disk_that_is_full_at_any_write_refuses_the_call_or_lets_it_be_whole(
    operation: Operation, tmp_path: Path
) -> None:
    """Whoever reads that nothing was changed may repeat the call: so it must be true."""
    template = tmp_path / "template"
    await operation.begin(template)
    async with opened(template) as built:
        before = await see(built.workspace)
    for full_after in itertools.count(0, depth(15, 1)):
        root = tmp_path / f"full-{full_after}"
        copy_project(template, root)
        disk = FullDisk(full_after)
        async with opened(root, disk) as built:
            if refusal := await _refused(operation, built.workspace):
                assert str(root) in refusal
                assert "the disk is full. Free some space and try again" in refusal
                assert "nothing was changed" in refusal
                assert await see(built.workspace) == before
        assert not list(root.rglob("*.tmp"))
        async with opened(root) as built:
            await sessions.catch_up(built.workspace)
            await head_agrees_with_records(built)
            await doctor_is_content(built.workspace)
        if disk.left > 0:
            assert full_after > 0
            return


async def _refused(operation: Operation, workspace: Workspace) -> str:
    try:
        await operation.run(workspace)
    except StoreUnavailableError as error:
        return str(error)
    return ""


async def test_a_lesson_that_finds_the_disk_full_is_said_to_be_missing(tmp_path: Path) -> None:
    """The head was moved by then, so the call must not fail; nor may the lesson be lost unseen."""
    await begin(tmp_path)
    head_line_and_record = 3
    async with opened(tmp_path, FullDisk(head_line_and_record)) as built:
        outcome = await branches.backtrack(
            built.workspace, "phase 1", "continue", lesson="Redis forgets"
        )
        assert isinstance(outcome, Backtracked)
        assert outcome.lesson is None
        assert "kind='lesson')" in " ".join(outcome.notes)
    async with opened(tmp_path) as built:
        assert (await see(built.workspace)).lines == (2,)
