"""The power goes at every single step of the disk, in every use case that writes."""

import itertools
import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from zlib import crc32

import pytest
from depth import depth
from operations import LESSON, OPERATIONS, Operation
from power import FailingDisk, PowerCut, Remembered
from project import (
    Seen,
    all_records,
    copy_project,
    doctor_is_content,
    head_agrees_with_records,
    opened,
    see,
    text_on_disk,
    told,
)

from memory_mcp import sessions
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.record import Record
from memory_mcp.errors import InvalidRequestError

pytestmark = [pytest.mark.anyio, pytest.mark.files]

STEPS_MIN = 5
"""Fewer would mean that the loop cut nothing worth cutting: one durable file is five steps."""

STRIDE = depth(25, 1)
"""By default every so many steps one is cut, and of the operations every fourth one is told."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "forgetful",
    [
        pytest.param(False, id="keeping all that was written", marks=pytest.mark.nightly),
        pytest.param(
            True,
            id="keeping only what was synced",
            marks=pytest.mark.skipif(
                sys.platform == "win32", reason="folders cannot be synced on Windows"
            ),
        ),
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
async def test_a_power_cut_at_any_step_leaves_all_or_nothing_of_a_call(
    operation: Operation,
    *,
    forgetful: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DESIGN 3.1 to 3.3: what was acknowledged stays, and no call is ever half done."""
    template = tmp_path / "template"
    await operation.begin(template)
    before = await _seen_in_a_copy(template, tmp_path / "before")
    records = await _records_in(tmp_path / "before")
    after = await _seen_in_a_copy(template, tmp_path / "after", operation)
    assert before != after

    for cut_at in itertools.count(_first_cut(operation, forgetful=forgetful), STRIDE):
        root = tmp_path / f"cut-{cut_at}"
        copy_project(template, root)
        with _synced_only(root, monkeypatch) if forgetful else nullcontext():
            acknowledged = await _cut(operation, root, cut_at)
        if acknowledged:  # what was said to be erased is, before anybody completes anything
            _is_erased(operation, root)
        await _examine(operation, root, before, after, records, acknowledged=acknowledged)
        if acknowledged:
            assert cut_at >= STEPS_MIN
            return
        shutil.rmtree(root)


def _first_cut(operation: Operation, *, forgetful: bool) -> int:
    """The same in every run, and not the same step of every operation."""
    return crc32(f"{operation.name} {forgetful}".encode()) % STRIDE


@contextmanager
def _synced_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """After the block the folder holds what the disk was bound to keep, and no more."""
    with Remembered(root) as remembered:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", remembered.watching(os.fsync))
            yield
        remembered.forget_the_rest()


async def _cut(operation: Operation, root: Path, cut_at: int) -> bool:
    """Run until the power goes; whether the call could still answer."""
    try:
        async with opened(root, FailingDisk(cut_at)) as built:
            await operation.run(built.workspace)
    except PowerCut:
        return False
    return True


async def _seen_in_a_copy(template: Path, copy: Path, operation: Operation | None = None) -> Seen:
    copy_project(template, copy)
    if operation:
        async with opened(copy) as built:
            await operation.run(built.workspace)
    async with opened(copy) as built:
        return await see(built.workspace)


async def _records_in(root: Path) -> list[Record]:
    async with opened(root) as built:
        return await all_records(built)


async def _examine(
    operation: Operation,
    root: Path,
    before: Seen,
    after: Seen,
    records: list[Record],
    *,
    acknowledged: bool,
) -> None:
    async with opened(root) as built:
        at_first = await see(built.workspace)
        assert _all_or_nothing(at_first, before, after, operation.late, operation.hides)
        await sessions.catch_up(built.workspace)
        seen = await see(built.workspace)
        if seen != before:
            _is_in_no_rendered_file(operation, root)
        # the head holds a checkpoint's record until it is written; a lesson is a second memory
        assert _all_or_nothing(seen, before, after, (LESSON,))
        assert seen in (at_first, after), "catching up only ever completes"
        assert not acknowledged or at_first == after
        await _all_is_kept(operation, built, records, erased=seen != before)
        await head_agrees_with_records(built)
        await _the_history_is_told(built)
        await doctor_is_content(built.workspace)
        assert await see(built.workspace) == seen
    if seen != before:
        _is_erased(operation, root)
    await _runs_again(operation, root, seen, before, after)


def _is_erased(operation: Operation, root: Path) -> None:
    for text in operation.erases:
        assert text_on_disk(root, text) == []


def _is_in_no_rendered_file(operation: Operation, root: Path) -> None:
    """The next start has seen to that, before any doctor."""
    for text in operation.erases:
        files = text_on_disk(root, text)
        assert [f for f in files if f.suffix == ".md" or f.parent.name == "rendered"] == []


def _all_or_nothing(
    seen: Seen, before: Seen, after: Seen, late: tuple[str, ...], hides: tuple[str, ...] = ()
) -> bool:
    """Whether the call took place or did not, but for the texts that may come, or go, late."""
    waiting = tuple(text for text in late if text not in seen.recalled)
    lingering = tuple(text for text in hides if text in seen.recalled)
    if seen == before or not (waiting or lingering):
        return seen in (before, after)
    recalled = tuple(
        sorted([*(text for text in after.recalled if text not in waiting), *lingering])
    )
    return seen.position == after.position and seen.recalled == recalled


async def _all_is_kept(
    operation: Operation, built: BuiltWorkspace, records: list[Record], *, erased: bool
) -> None:
    """Every record there was can be read, unless the call erases it and took place."""
    present = {record.id: record for record in await all_records(built)}
    for record in records:
        gone = erased and record.content.startswith(operation.erases or ("\0",))
        assert present.get(record.id) == (None if gone else record)


async def _the_history_is_told(built: BuiltWorkspace) -> None:
    """At most the line of the very last move is missing, and the doctor can fill that in."""
    head = await built.workspace.heads.read()
    assert head is not None
    assert head.timeline.moves.issuperset(told(built))
    last = {head.last.id} if head.last else set[str]()
    assert head.timeline.moves.difference(told(built)) <= last


async def _runs_again(
    operation: Operation, root: Path, seen: Seen, before: Seen, after: Seen
) -> None:
    """What did not take place can be done now; what did is refused with a reason, or done again."""
    async with opened(root) as built:
        try:
            await operation.run(built.workspace)
        except InvalidRequestError:
            assert seen == after
        if seen == before:
            assert await see(built.workspace) == after
        await head_agrees_with_records(built)
