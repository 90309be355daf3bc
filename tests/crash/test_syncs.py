"""Each fsync is there for something: without it, what was acknowledged is lost in a power cut."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from operations import begin, seal
from power import Remembered
from project import add, doctor_is_content, found, head_of, opened, record_files, told

from memory_mcp import sessions, trust
from memory_mcp.disk import Access, Disk

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be synced on Windows"),
]


class WithoutFileSync(Disk):
    """Trusts that what was written will reach the disk by itself."""

    @contextmanager
    def _temporary(self, path: Path, access: Access | None) -> Generator[Callable[[bytes], None]]:
        assert access is None
        with path.open("wb") as file:

            def put(data: bytes) -> None:
                file.write(data)

            yield put


class WithoutFolderSync(Disk):
    """Trusts that a rename will reach the disk by itself."""

    def _sync_folder(self, path: Path) -> None:
        """Nothing."""


class WithoutLogSync(Disk):
    """Trusts that a line appended to the log of that name will reach the disk by itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def append(self, path: Path, line: bytes) -> None:
        if path.name != self._name:
            super().append(path, line)
            return
        with path.open("ab") as log:
            log.write(line + b"\n")


async def _acknowledged_then_cut(
    root: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """A memory and a checkpoint that were acknowledged right before the power went."""
    await begin(root)
    with Remembered(root) as remembered:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", remembered.watching(os.fsync))
            async with opened(root, disk) as built:
                memory = await add(built.workspace, "baskets have a voucher")
                sealed = await seal(built.workspace, "vouchers work", phase=3)
        remembered.forget_the_rest()
    return memory, sealed


async def test_what_was_acknowledged_right_before_the_power_went_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 3.1, on a disk that keeps only what was synced."""
    memory, sealed = await _acknowledged_then_cut(tmp_path, Disk(), monkeypatch)

    async with opened(tmp_path) as built:
        await sessions.catch_up(built.workspace)
        assert memory in [record.id for record in await found(built.workspace)]
        assert sealed in [c.checkpoint.id for c in (await head_of(built.workspace)).checkpoints]
        head = await built.workspace.heads.read()
        assert head is not None
        assert head.timeline.moves == set(told(built))
        assert (await trust.report_trust(built.workspace)).waiting == 0


async def test_without_the_fsync_of_the_file_an_acknowledged_memory_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: a renamed file that was never synced may be empty."""
    memory, _ = await _acknowledged_then_cut(tmp_path, WithoutFileSync(), monkeypatch)

    assert [f.stat().st_size for f in record_files(tmp_path) if f.stem == memory] == [0]


async def test_without_the_fsync_of_the_folder_an_acknowledged_memory_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: a rename that was never synced may not have happened."""
    memory, sealed = await _acknowledged_then_cut(tmp_path, WithoutFolderSync(), monkeypatch)

    assert memory not in [f.stem for f in record_files(tmp_path)]
    async with opened(tmp_path) as built:
        await sessions.catch_up(built.workspace)
        assert memory not in [record.id for record in await found(built.workspace)]
        assert sealed not in [c.checkpoint.id for c in (await head_of(built.workspace)).checkpoints]


async def test_without_the_fsync_of_the_history_a_line_of_it_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail; here nothing is lost for good, since the head names the move."""
    await _acknowledged_then_cut(tmp_path, WithoutLogSync("history.jsonl"), monkeypatch)

    async with opened(tmp_path) as built:
        head = await built.workspace.heads.read()
        assert head is not None
        assert len(head.timeline.moves.difference(told(built))) == 1
        await doctor_is_content(built.workspace)
        assert head.timeline.moves == set(told(built))


async def test_without_the_fsync_of_the_ledger_ones_own_memory_is_a_stranger_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail; the file is there, but nothing says that this machine wrote it."""
    memory, _ = await _acknowledged_then_cut(tmp_path, WithoutLogSync("ledger"), monkeypatch)

    assert memory in [f.stem for f in record_files(tmp_path)]
    async with opened(tmp_path) as built:
        await sessions.catch_up(built.workspace)
        report = await trust.report_trust(built.workspace)
        assert any("voucher" in title for title in report.titles)
