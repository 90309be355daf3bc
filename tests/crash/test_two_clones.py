"""Two clones of one project that went on apart and exchange their record files."""

import shutil
from pathlib import Path

import pytest
from doors import trust
from operations import go_back, seal
from project import (
    WORD,
    add,
    copy_project,
    doctor_is_content,
    found,
    head_agrees_with_records,
    head_of,
    make_project,
    opened,
    record_files,
    see,
    text_on_disk,
)

from memory_mcp import branches, memories, sessions
from memory_mcp.domain.ids import MAIN
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft
from memory_mcp.domain.timeline import Timeline

pytestmark = pytest.mark.anyio

RECORDS = Path("shop", ".claude", "memory")


def _exchange(left: Path, right: Path) -> None:
    """What git does when both commit their records and merge: no name may be taken twice."""
    for root in (left, right):
        trust(root / "shop", root / "home")
    mine, theirs = _names(left), _names(right)
    for name in mine & theirs:
        assert (left / RECORDS / name).read_bytes() == (right / RECORDS / name).read_bytes()
    shutil.copytree(left / RECORDS, right / RECORDS, dirs_exist_ok=True)
    shutil.copytree(right / RECORDS, left / RECORDS, dirs_exist_ok=True)
    assert _names(left) == _names(right) == mine | theirs


def _names(root: Path) -> set[Path]:
    return {path.relative_to(root / RECORDS) for path in record_files(root)}


async def _meet(left: Path, right: Path) -> Timeline:
    """Exchange, make the indexes anew, and find the same in both; the timeline they share."""
    _exchange(left, right)
    timelines: list[Timeline] = []
    for root in (left, right):
        async with opened(root) as built:
            await sessions.reindex(built.workspace)
            await head_agrees_with_records(built)
            await doctor_is_content(built.workspace)
            head = await built.workspace.heads.read()
            assert head is not None
            timelines.append(head.timeline)
    async with opened(left) as built, opened(right) as other:
        assert await see(built.workspace) == await see(other.workspace)
    assert timelines[0].model_dump() == timelines[1].model_dump()
    return timelines[0]


async def _texts(root: Path) -> set[str]:
    async with opened(root) as built:
        return {r.content.removesuffix(" ledger") for r in await found(built.workspace)}


async def test_two_clones_that_went_on_apart_see_the_union_of_what_holds(tmp_path: Path) -> None:
    """Issue 2, 6: merging two folders and `reindex` gives the union, without a conflict."""
    left, right = make_project(tmp_path / "left"), tmp_path / "right"
    async with opened(left) as built:
        await add(built.workspace, "orders rest in PostgreSQL")
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
    copy_project(left, right)
    async with opened(left) as built:
        await add(built.workspace, "carts expire")
        await seal(built.workspace, "carts work", phase=2)
        await add(built.workspace, "left goes on")
    async with opened(right) as built:
        await add(built.workspace, "baskets have a voucher")
        await seal(built.workspace, "vouchers work", phase=2)
        await add(built.workspace, "right goes on")

    timeline = await _meet(left, right)

    assert await _texts(left) == {
        "orders rest in PostgreSQL", "the model stands", "carts rest in Redis", "carts expire",
        "carts work", "left goes on", "baskets have a voucher", "vouchers work", "right goes on",
    }  # fmt: skip
    sealed = [c.summary.removesuffix(" ledger") for c in timeline.valid(MAIN)]
    assert sealed == ["the model stands", "carts work", "vouchers work"]


async def test_what_one_clone_abandoned_is_hidden_in_both(tmp_path: Path) -> None:
    """A backtrack travels with its record, and takes along only what it left."""
    left, right = make_project(tmp_path / "left"), tmp_path / "right"
    async with opened(left) as built:
        await add(built.workspace, "orders rest in PostgreSQL")
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
        await seal(built.workspace, "carts work", phase=2)
        await add(built.workspace, "carts expire")
    copy_project(left, right)
    async with opened(left) as built:
        line = await go_back(built.workspace, "phase 1")
        await add(built.workspace, "carts rest in cookies")
    async with opened(right) as built:
        await add(built.workspace, "the model is documented", "lesson")

    await _meet(left, right)

    there = {
        "orders rest in PostgreSQL", "the model stands", "carts rest in cookies",
        "the model is documented",
    }  # fmt: skip
    assert await _texts(left) == await _texts(right) == there
    async with opened(right) as built:
        await branches.backtrack(built.workspace, line, "continue")
    assert {"carts rest in Redis", "carts expire"} <= await _texts(right)


async def test_what_one_clone_forgot_is_erased_in_both(tmp_path: Path) -> None:
    """Only `forget` erases, and it erases everywhere it comes to."""
    left, right = make_project(tmp_path / "left"), tmp_path / "right"
    async with opened(left) as built:
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
    copy_project(left, right)
    async with opened(left) as built:
        await branches.backtrack(built.workspace, "phase 1", "forget")

    # as git merges it: the left one's deletion reaches the right one only as a record
    trust(right / "shop", right / "home")
    for path in record_files(left):
        target = right / path.relative_to(left)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    async with opened(right) as built:
        await sessions.reindex(built.workspace)
        await head_agrees_with_records(built)

    assert await _texts(right) == {"the model stands"}
    assert text_on_disk(right, "carts rest in Redis") == []


async def test_two_folders_that_never_had_a_record_in_common_become_one(tmp_path: Path) -> None:
    """What both learnt before they met belongs together: the first segment has one name."""
    left, right = make_project(tmp_path / "left"), make_project(tmp_path / "right")
    for root, name in ((left, "left"), (right, "right")):
        async with opened(root) as built:
            await add(built.workspace, f"the {name} one begins")
            await seal(built.workspace, f"the {name} one is sealed", phase=1)
            await add(built.workspace, f"the {name} one goes on")

    timeline = await _meet(left, right)

    assert await _texts(left) == {
        "the left one begins", "the left one is sealed", "the left one goes on",
        "the right one begins", "the right one is sealed", "the right one goes on",
    }  # fmt: skip
    assert len(timeline.tips(MAIN)) == 2
    async with opened(left) as built:
        await seal(built.workspace, "together", phase=2)
    assert len((await _meet(left, right)).tips(MAIN)) == 1


async def test_a_line_stays_abandoned_when_the_other_clone_sealed_a_checkpoint_on_it(
    tmp_path: Path,
) -> None:
    """The other clone, unaware of the backtrack, went on with more than memories."""
    left, right = make_project(tmp_path / "left"), tmp_path / "right"
    async with opened(left) as built:
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
    copy_project(left, right)
    async with opened(left) as built:
        await go_back(built.workspace, "phase 1")
        await add(built.workspace, "carts rest in cookies")
    async with opened(right) as built:
        await add(built.workspace, "Redis has a replica")
        await seal(built.workspace, "carts work", phase=2)
        await add(built.workspace, "carts expire")

    await _meet(left, right)

    assert await _texts(left) == {"the model stands", "carts rest in cookies"}

    async with opened(left) as built:
        (line,) = (await head_of(built.workspace)).lines
        await branches.backtrack(built.workspace, line.line.id, "continue")
    await _meet(left, right)

    whole = {"the model stands", "carts rest in Redis", "Redis has a replica", "carts work",
             "carts expire"}  # fmt: skip
    assert await _texts(left) == whole == await _texts(right)


@pytest.mark.parametrize("erase", [True, False], ids=["erased", "hidden"])
async def test_a_forget_meets_a_merge_that_it_has_not_seen(tmp_path: Path, *, erase: bool) -> None:
    """The forgotten words go, wherever they were repeated; what else was said stays."""
    left, right = make_project(tmp_path / "left"), tmp_path / "right"
    async with opened(left) as built:
        added = await memories.add_memory(
            built.workspace, Draft(f"The {WORD} has 3 columns. It is kept by Rexword.")
        )
        assert isinstance(added, MemoryAdded)
    copy_project(left, right)
    async with opened(right) as built:
        merged = await memories.add_memory(built.workspace, Draft(f"The {WORD} has 4 columns."))
        assert isinstance(merged, MemoryAdded)
        assert merged.merged
    async with opened(left) as built:
        await memories.forget_memory(built.workspace, added.record.id, "", erase=erase)

    await _meet(left, right)

    for root in (left, right):
        async with opened(root) as built:
            assert [r.content for r in await found(built.workspace)] == [
                f"The {WORD} has 4 columns."
            ]
        if erase:
            assert text_on_disk(root, "Rexword") == []
