"""What git and other clones do to the files of a memory, between two looks at it."""

import shutil
from pathlib import Path

import pytest
from doors import trust
from operations import go_back, seal
from project import add, found, head_of, make_project, opened, text_on_disk

from memory_mcp import branches, maintenance, memories, sessions, transfer
from memory_mcp.disk import Disk
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Backtracked, MemoryAdded, MemoryRejected
from memory_mcp.domain.record import Draft, Kind
from memory_mcp.storage.files.trust import ERASED_FILE, LocalErasedLog
from memory_mcp.transfer.export import ExportSelection

pytestmark = pytest.mark.anyio

RECORDS = Path("shop", ".claude", "memory")


def trusted(root: Path) -> Path:
    """A clone of a project whose user trusts what comes with it."""
    trust(root / "shop", root / "home")
    return root


def two_clones(folder: Path) -> tuple[Path, Path]:
    """Two clones in which nobody has worked yet."""
    left, right = (trusted(make_project(folder / name)) for name in ("left", "right"))
    return left, right


def records(root: Path) -> dict[str, bytes]:
    """The files of the memory, as a commit holds them."""
    folder = root / RECORDS
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.glob("*-*/*.json")}


def check_out(root: Path, files: dict[str, bytes]) -> None:
    """What `git checkout` makes of the work tree: these files, and no others."""
    for name in records(root).keys() - files.keys():
        (root / RECORDS / name).unlink()
    for name, data in files.items():
        (root / RECORDS / name).parent.mkdir(parents=True, exist_ok=True)
        (root / RECORDS / name).write_bytes(data)


def union(left: Path, right: Path) -> None:
    """The folders copied together, both ways."""
    both = {**records(left), **records(right)}
    check_out(left, both)
    check_out(right, both)


async def texts(root: Path) -> set[str]:
    async with opened(root) as built:
        await sessions.catch_up(built.workspace)
        return {r.content.removesuffix(" ledger") for r in await found(built.workspace)}


async def test_a_memory_on_main_is_seen_without_the_files_of_the_feature(tmp_path: Path) -> None:
    """Issue 11, 2.2: the checkpoint that began its segment is on another git branch."""
    left, right = two_clones(tmp_path)
    async with opened(left) as built:
        await add(built.workspace, "orders rest in PostgreSQL")
        main = records(left)
        await seal(built.workspace, "on the feature", phase=1)
        await add(built.workspace, "carts rest in Redis")
        feature = records(left)
    check_out(left, main)
    async with opened(left) as built:
        await sessions.catch_up(built.workspace)
        await add(built.workspace, "written on main")
    check_out(right, records(left))

    assert await texts(right) == {"orders rest in PostgreSQL", "written on main"}
    async with opened(right) as built:
        assert await maintenance.run_doctor(built.workspace) == []
        await seal(built.workspace, "sealed in the clone", phase=2)
        await add(built.workspace, "after it")
    check_out(right, {**records(right), **feature})  # the feature is merged
    both = {"orders rest in PostgreSQL", "written on main", "sealed in the clone", "after it",
            "on the feature", "carts rest in Redis"}  # fmt: skip
    assert await texts(right) == both


async def test_what_a_backtrack_on_the_feature_left_stays_left_on_main(tmp_path: Path) -> None:
    """The move is on the feature; what is written on main afterwards says so by itself."""
    left, right = two_clones(tmp_path)
    async with opened(left) as built:
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
        main = records(left)
        await go_back(built.workspace, "phase 1")
    check_out(left, main)
    async with opened(left) as built:
        await add(built.workspace, "carts rest in cookies")
    check_out(right, records(left))

    assert await texts(right) == {"the model stands", "carts rest in cookies"}
    async with opened(right) as built:
        (line,) = (await head_of(built.workspace)).lines
        await branches.backtrack(built.workspace, line.line.id, "continue")
    assert await texts(right) == {"the model stands", "carts rest in Redis"}


async def test_a_file_that_git_took_away_is_not_written_again(tmp_path: Path) -> None:
    """Issue 11, 2.5: git refuses to check out over a file that it does not know."""
    root = trusted(make_project(tmp_path / "left"))
    async with opened(root) as built:
        await add(built.workspace, "orders rest in PostgreSQL")
        main = records(root)
        await seal(built.workspace, "on the feature", phase=1)
        await go_back(built.workspace, "start")
    check_out(root, main)
    async with opened(root) as built:
        await sessions.catch_up(built.workspace)
        await branches.report_head(built.workspace)
        await maintenance.run_doctor(built.workspace, repair=True)

        assert records(root) == main
        await add(built.workspace, "written on main")
    assert len(records(root)) == len(main) + 1


async def test_what_was_forgotten_stays_so_after_its_tombstone_was_given_up(
    tmp_path: Path,
) -> None:
    """Issue 11, 2.1: the tombstone lies on a road that is forgotten later, with its reason."""
    left, right = trusted(make_project(tmp_path / "left")), tmp_path / "right"
    async with opened(left) as built:
        await seal(built.workspace, "the model stands", phase=1)
        secret = await memories.add_memory(built.workspace, Draft("The vault opens with Zanzibar."))
        assert isinstance(secret, MemoryAdded)
    trusted(shutil.copytree(left, right))
    async with opened(left) as built:
        await memories.forget_memory(
            built.workspace, secret.record.id, "Kilimanjaro said so", erase=True
        )
        await branches.backtrack(built.workspace, "phase 1", "forget")

    for _ in range(2):
        union(left, right)
        for root in (left, right):
            assert await texts(root) == {"the model stands"}
            assert text_on_disk(root, "Zanzibar") == text_on_disk(root, "Kilimanjaro") == []


async def test_a_running_server_exports_nothing_that_git_brought_back(tmp_path: Path) -> None:
    """Issue 11, 2.1: the file is there again, and the index has not looked yet."""
    root = trusted(make_project(tmp_path / "left"))
    async with opened(root) as built:
        secret = await memories.add_memory(built.workspace, Draft("The vault opens with Zanzibar."))
        assert isinstance(secret, MemoryAdded)
        before = records(root)
        await memories.forget_memory(built.workspace, secret.record.id, "", erase=True)
        check_out(root, {**records(root), **before})
        chosen = await transfer.select_export(built.workspace, ("project",), history=True)
        assert isinstance(chosen, ExportSelection)
        left = [record.content async for record in transfer.read_selected(chosen)]
        assert not any("Zanzibar" in content for content in left)


async def test_this_machine_knows_what_it_erased_though_git_took_the_tombstone(
    tmp_path: Path,
) -> None:
    """Issue 11, 2.1: the tombstone is on a branch, and the text is back with another one."""
    root = trusted(make_project(tmp_path / "left"))
    async with opened(root) as built:
        secret = await memories.add_memory(built.workspace, Draft("The vault opens with Zanzibar."))
        assert isinstance(secret, MemoryAdded)
        main = records(root)
        await memories.forget_memory(built.workspace, secret.record.id, "", erase=True)
    check_out(root, main)

    assert await texts(root) == set()
    assert text_on_disk(root, "Zanzibar") == []
    for path in root.rglob("index.sqlite3*"):
        path.unlink()
    check_out(root, main)
    assert await texts(root) == set()


@pytest.mark.parametrize("sealed", [False, True], ids=["added", "sealed and added"])
async def test_what_another_clone_wrote_on_a_forgotten_road_can_be_restored(
    tmp_path: Path, *, sealed: bool
) -> None:
    """Issue 11, 2.3: it was acknowledged there; what was erased stays erased."""
    left, right = trusted(make_project(tmp_path / "left")), tmp_path / "right"
    async with opened(left) as built:
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
    trusted(shutil.copytree(left, right))
    async with opened(left) as built:
        await branches.backtrack(built.workspace, "phase 1", "forget")
        await add(built.workspace, "carts rest in cookies")
    async with opened(right) as built:
        await add(built.workspace, "baskets have a voucher")
        if sealed:
            await seal(built.workspace, "vouchers work", phase=2)
            await add(built.workspace, "vouchers expire")

    union(left, right)

    theirs = {"baskets have a voucher"}
    if sealed:
        theirs |= {"vouchers work", "vouchers expire"}
    for root in (left, right):
        assert await texts(root) == {"the model stands", "carts rest in cookies"}
        async with opened(root) as built:
            report = await head_of(built.workspace)
            (line,) = report.lines
            assert line.memories == (2 if sealed else 1)
            done = await branches.backtrack(built.workspace, line.line.id, "continue")
            assert isinstance(done, Backtracked)
        assert await texts(root) == {"the model stands"} | theirs
        assert text_on_disk(root, "carts rest in Redis") == []


async def test_a_line_on_which_something_was_only_hidden_has_its_name(tmp_path: Path) -> None:
    """Issue 11, 2.4: to hide is something to come back to."""
    root = trusted(make_project(tmp_path / "left"))
    async with opened(root) as built:
        added = await memories.add_memory(built.workspace, Draft("Orders rest in PostgreSQL."))
        assert isinstance(added, MemoryAdded)
        await seal(built.workspace, "the model stands", phase=1)
        await memories.forget_memory(built.workspace, added.record.id, "", erase=False)
        done = await branches.backtrack(built.workspace, "phase 1", "continue")

        assert isinstance(done, Backtracked)
        assert done.preview.leaves
        (state,) = (await head_of(built.workspace)).lines
        assert (state.line.id, state.memories, state.hides) == (done.line, 0, 1)


@pytest.mark.parametrize("kind", ["fact", "preference"])
@pytest.mark.parametrize("erase", [True, False], ids=["erased", "hidden"])
async def test_a_reason_stays_on_the_road_on_which_it_was_given(
    tmp_path: Path, *, erase: bool, kind: Kind
) -> None:
    """Issue 11, 2.4: the rejection may outlive the road, its words do not."""
    root = trusted(make_project(tmp_path / "left"))
    draft = Draft("Carts rest in Redis.", kind=kind)
    async with opened(root) as built:
        added = await memories.add_memory(built.workspace, draft)
        assert isinstance(added, MemoryAdded)
        await seal(built.workspace, "the model stands", phase=1)
        await memories.forget_memory(
            built.workspace, added.record.id, "Kilimanjaro said so", erase=erase
        )
        again = await memories.add_memory(built.workspace, draft)
        assert isinstance(again, MemoryRejected)
        assert again.tombstone.content == "Kilimanjaro said so"
        await branches.backtrack(built.workspace, "phase 1", "continue")
        once_more = await memories.add_memory(built.workspace, draft)
        if isinstance(once_more, MemoryRejected):
            assert "Kilimanjaro" not in once_more.tombstone.content
            back = await memories.add_memory(
                built.workspace, Draft(draft.content, supersedes=(once_more.tombstone.id,))
            )
            assert isinstance(back, MemoryAdded)
        await branches.backtrack(built.workspace, "start", "forget")
    assert text_on_disk(root, "Kilimanjaro") == []


async def test_an_id_is_enough_for_the_log(tmp_path: Path) -> None:
    """A torn line names nothing, and what follows it counts."""
    first, second = (RecordId(f"0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b7{n}") for n in (1, 2))
    log = LocalErasedLog(tmp_path, Disk())
    assert await log.ids() == frozenset()
    await log.add({first})
    path = tmp_path / ERASED_FILE
    path.write_bytes(path.read_bytes()[:-5])
    await log.add({second})
    path.write_bytes(path.read_bytes() + b'{"a": 1}\n[1, "x"]\n')

    assert await log.ids() == {second}


async def test_what_a_clone_adds_after_everything_was_forgotten_can_be_brought_back(
    tmp_path: Path,
) -> None:
    """Issue 11, 2.3: the road from the start itself; every name of a line is a name."""
    left, right = two_clones(tmp_path)
    async with opened(left) as built:
        await add(built.workspace, "orders rest in PostgreSQL")
    check_out(right, records(left))
    async with opened(right) as built:
        await sessions.catch_up(built.workspace)
        await add(built.workspace, "carts rest in Redis")
    async with opened(left) as built:
        await branches.backtrack(built.workspace, "start", "forget")
    union(left, right)

    for root in (left, right):
        assert await texts(root) == set()
        async with opened(root) as built:
            (line,) = (await head_of(built.workspace)).lines
            assert line.memories == 1
            await branches.backtrack(built.workspace, line.line.id[:-4], "continue")
        assert await texts(root) == {"carts rest in Redis"}


async def test_what_came_after_two_roads_is_listed_whichever_of_them_is_left(
    tmp_path: Path,
) -> None:
    """Issue 11, 2.3: one clone seals what it stood on and what it took in; the other goes back."""
    left, right = two_clones(tmp_path)
    async with opened(left) as built:
        await add(built.workspace, "orders rest in PostgreSQL")
        await seal(built.workspace, "zero", phase=1)
    check_out(right, records(left))
    async with opened(left) as built:
        sealed = await seal(built.workspace, "sealed on the left", phase=2)
        await add(built.workspace, "carts rest in Redis")
    async with opened(right) as built:
        await sessions.catch_up(built.workspace)
        await seal(built.workspace, "sealed on the right", phase=3)
        await add(built.workspace, "mails go by Postmark")
    check_out(right, {**records(right), **records(left)})
    async with opened(right) as built:
        await sessions.catch_up(built.workspace)
        joined = await seal(built.workspace, "sealed over both", phase=4)
        await add(built.workspace, "the shop is live")
    async with opened(left) as built:
        await branches.backtrack(built.workspace, sealed, "continue")
    union(left, right)

    for root in (left, right):
        assert "the shop is live" not in await texts(root)
        async with opened(root) as built:
            report = await head_of(built.workspace)
            assert joined in [checkpoint.id for checkpoint in report.invalidated]
            assert sum(each.memories for each in report.lines) >= 2
            await branches.backtrack(built.workspace, joined, "continue")
        everything = {"orders rest in PostgreSQL", "carts rest in Redis", "mails go by Postmark",
                      "the shop is live"}  # fmt: skip
        assert everything <= await texts(root)
