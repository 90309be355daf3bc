"""The contract of `ports.Views`, for every adapter: files, and in memory."""

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from doors import names_in
from views_in_memory import MemoryViews

from memory_mcp.disk import Disk
from memory_mcp.domain.comparisons import Compared
from memory_mcp.domain.sessions import PAGE_MARK, Page
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.ports import Views
from memory_mcp.ports.sessions import Rendering
from memory_mcp.rendered import Rendered, Watched, bootstrap_path
from memory_mcp.storage.files.views import LocalViews

pytestmark = pytest.mark.anyio

PAGE = f"{PAGE_MARK} -->\nIt is so.\n"


@dataclass
class World:
    """Views, and a way to change what they are made from."""

    views: Views
    change: Callable[[], None]


def local_views(folder: Path, *, project: bool = True) -> LocalViews:
    """Another process's way to the same files."""
    users = folder.parent / "user" / ".state", folder.parent / "user" / "memory"
    return LocalViews(
        folder / "machine",
        folder / "memory",
        users,
        Disk(),
        head_file=folder / ".state" / "memory-head.json",
        project=folder if project else None,
        wait_seconds=0.5,
    )


@pytest.fixture(params=["memory", "local"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param == "memory":
        views = MemoryViews()
        return World(views, views.changed)
    numbers = count(1)

    def change() -> None:
        month = tmp_path / "memory" / "2026-01"
        month.mkdir(parents=True, exist_ok=True)
        os.utime(month, ns=(0, next(numbers) * 10**9))  # the clock of a disk is coarse

    return World(local_views(tmp_path), change)


def bootstrap(watched: Watched, branch: str = "main", text: str = "It is so.") -> Rendered:
    return Rendered(
        branch=branch, revision=1, text=text, tokens=3, zone="", until=None, watched=watched
    )


async def shown(world: World, *branches: str, text: str = PAGE) -> Rendering:
    watched = await world.views.watch()
    pages: dict[Page, str] = {"MEMORY.md": text, "session-context.md": PAGE}
    return Rendering(pages, tuple(bootstrap(watched, branch) for branch in branches or ("main",)))


async def texts(views: Views) -> dict[str, str]:
    return {f.branch or Path(f.place).name: f.text for f in await views.list_rendered()}


async def test_it_begins_with_the_first_record(world: World) -> None:
    """A server that is only started must not leave pages in somebody's project."""
    assert not await world.views.has_records()
    assert await world.views.list_rendered() == []
    world.change()

    assert await world.views.has_records()


async def test_what_was_written_lies_there_and_holds_until_something_changes(world: World) -> None:
    """Whoever finds that it holds need not render again, and a hook may print it."""
    assert not await world.views.are_current("main")
    async with world.views.alone():
        assert await world.views.write(await shown(world, "main", "try/redis")) == []

    assert await world.views.are_current("main", "try/redis")
    assert await texts(world.views) == {
        "MEMORY.md": PAGE, "session-context.md": PAGE,
        "main": "It is so.", "try/redis": "It is so.",
    }  # fmt: skip
    assert not await world.views.are_current("main", "other")
    world.change()
    assert not await world.views.are_current("main")


async def test_what_was_read_before_a_change_does_not_hold(world: World) -> None:
    """The change may have come between looking and reading; nobody can tell."""
    early = await shown(world)
    world.change()
    await world.views.write(early)

    assert not await world.views.are_current("main")


async def test_bootstraps_of_other_branches_go(world: World) -> None:
    """What one of them shows may have been forgotten meanwhile."""
    await world.views.write(await shown(world, "main", "try/idle"))
    assert await world.views.branches() == ["main", "try/idle"]
    await world.views.write(await shown(world, "main"))

    assert await world.views.branches() == ["main"]

    assert sorted(await texts(world.views)) == ["MEMORY.md", "main", "session-context.md"]


async def test_a_page_somebody_else_wrote_stays_and_is_named(world: World) -> None:
    """It may be all that a person has of their notes."""
    await world.views.write(await shown(world, text="# My own notes\n"))
    (named,) = await world.views.write(await shown(world))

    assert named.endswith("MEMORY.md")
    lying = {Path(f.place).name: f for f in await world.views.list_rendered()}
    assert lying["MEMORY.md"].text == "# My own notes\n"
    assert not lying["MEMORY.md"].ours
    assert lying["session-context.md"].ours


async def test_one_renders_at_a_time(world: World) -> None:
    """Of two that render at once, the one that read later must write later."""
    inside = 0

    async def render() -> None:
        nonlocal inside
        async with world.views.alone():
            inside += 1
            assert inside == 1
            await asyncio.sleep(0.01)
            inside -= 1

    async with asyncio.timeout(60):
        await asyncio.gather(*(render() for _ in range(3)))


async def test_processes_take_turns_as_well(tmp_path: Path) -> None:
    """The lock is the file's, not the process's; whoever waits too long says so."""
    one, other = local_views(tmp_path), local_views(tmp_path)
    async with asyncio.timeout(60):
        async with one.alone():
            with pytest.raises(StoreUnavailableError, match=r"held for 0\.5 s by another process"):
                async with other.alone():
                    pass
        async with other.alone():
            pass


async def test_a_file_whose_bytes_are_the_same_is_not_touched(tmp_path: Path) -> None:
    """Editors and watchers would take it for news."""
    views = local_views(tmp_path)
    await views.write(Rendering({"MEMORY.md": PAGE}, ()))
    before = (tmp_path / "memory" / "MEMORY.md").stat().st_ino  # a new file would have another
    await views.write(Rendering({"MEMORY.md": PAGE}, ()))

    assert (tmp_path / "memory" / "MEMORY.md").stat().st_ino == before


async def test_what_a_cut_left_of_an_earlier_write_goes(tmp_path: Path) -> None:
    """It may hold what was forgotten since."""
    views = local_views(tmp_path)
    litter = tmp_path / "memory" / ".MEMORY.md.0f0f0f0f.tmp"
    litter.parent.mkdir()
    litter.write_text("forgotten", "utf-8")
    await views.write(Rendering({"MEMORY.md": PAGE}, ()))

    assert not litter.exists()


async def test_what_fell_for_the_user_leaves_their_other_projects(tmp_path: Path) -> None:
    """Their next session cannot know that it fell: it reads the page before any server starts."""
    one, two = local_views(tmp_path / "one"), local_views(tmp_path / "two")
    for views in (one, two):
        pages: dict[Page, str] = {"MEMORY.md": PAGE, "session-context.md": PAGE}
        await views.write(Rendering(pages, (bootstrap(await views.watch()),)))
    (tmp_path / "user" / ".state" / "rendered-in" / "damaged.json").write_text("{", "utf-8")
    await one.withdraw_elsewhere(f"{PAGE_MARK} -->\nAsk.\n")
    shutil.rmtree(tmp_path / "two" / "machine")
    await one.withdraw_elsewhere(f"{PAGE_MARK} -->\nGone.\n")

    assert sorted(await texts(one)) == ["MEMORY.md", "main", "session-context.md"]
    assert await one.are_current("main")
    assert await texts(two) == {
        "MEMORY.md": PAGE, "session-context.md": f"{PAGE_MARK} -->\nAsk.\n",
    }  # fmt: skip


async def test_a_page_that_is_withdrawn_says_no_more_than_it_is_told(tmp_path: Path) -> None:
    """Clients read pages without a check; a bootstrap that is gone is asked for."""
    views = local_views(tmp_path)
    await views.withdraw("main", f"{PAGE_MARK} -->\nAsk.\n")
    assert await texts(views) == {}
    pages: dict[Page, str] = {"MEMORY.md": PAGE, "session-context.md": PAGE}
    await views.write(Rendering(pages, (bootstrap(await views.watch()),)))
    await views.withdraw("elsewhere")
    assert sorted(await texts(views)) == ["MEMORY.md", "main", "session-context.md"]
    await views.withdraw("main", f"{PAGE_MARK} -->\nAsk.\n")

    asks = f"{PAGE_MARK} -->\nAsk.\n"
    assert await texts(views) == {"MEMORY.md": asks, "session-context.md": asks}
    assert not await views.are_current("main")


async def test_a_copy_of_a_project_does_not_hold(tmp_path: Path) -> None:
    """It says what it was made from, and that is the other project, which may live on."""
    views = local_views(tmp_path / "one")
    await views.write(Rendering({}, (bootstrap(await views.watch()),)))
    shutil.copytree(tmp_path / "one", tmp_path / "two")

    assert await views.are_current("main")
    assert not await local_views(tmp_path / "two").are_current("main")


async def test_without_a_project_there_is_no_page_for_its_instructions(tmp_path: Path) -> None:
    """No CLAUDE.md could reference it."""
    views = local_views(tmp_path, project=False)
    await views.write(Rendering({"MEMORY.md": PAGE, "session-context.md": PAGE}, ()))

    assert sorted(await texts(views)) == ["MEMORY.md"]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The bootstrap of main, cut in the middle, beside one of a branch that is none."""
    path = Path(bootstrap_path(str(tmp_path / "machine"), "main"))
    path.parent.mkdir(parents=True)
    path.write_text('{"branch": "main"', "utf-8")
    path.with_name("gone.json").write_text("{}", "utf-8")
    return path


async def test_a_damaged_bootstrap_is_none_and_is_taken_away(tmp_path: Path, damaged: Path) -> None:
    """A hook prints what it can read; half a file is nothing."""
    views = local_views(tmp_path)
    assert not await views.are_current("main")
    await views.write(Rendering({}, (bootstrap(await views.watch()),)))

    assert await views.are_current("main")
    assert names_in(damaged.parent) == ["main.json"]
    assert [each.text for each in await views.list_rendered()] == ["It is so."]


async def test_a_file_that_refuses_stops_none_of_the_others(tmp_path: Path) -> None:
    """What was forgotten must leave every file that can be written."""
    views = local_views(tmp_path)
    (tmp_path / "memory" / "MEMORY.md").mkdir(parents=True)
    pages: dict[Page, str] = {"MEMORY.md": PAGE, "HISTORY.md": PAGE, "session-context.md": PAGE}
    with pytest.raises(StoreUnavailableError, match=r"MEMORY\.md"):
        await views.write(Rendering(pages, (bootstrap(await views.watch()),)))

    assert await texts(views) == {
        "MEMORY.md": "", "HISTORY.md": PAGE, "session-context.md": PAGE, "main": "It is so.",
    }  # fmt: skip
    assert [Path(f.place).name for f in await views.list_rendered() if f.unreadable] == [
        "MEMORY.md"
    ]


async def test_a_folder_that_refuses_says_why(tmp_path: Path) -> None:
    """Whoever renders goes on without."""
    (tmp_path / "memory").write_text("a file in the way", "utf-8")

    with pytest.raises(StoreUnavailableError):
        await local_views(tmp_path).write(Rendering({"MEMORY.md": PAGE}, ()))


async def test_what_was_compared_is_there_for_the_next_process(world: World) -> None:
    """It renders after one write, and to compare all again takes longer than everything else."""
    assert not await world.views.load_compared()
    two = Compared(frozenset({"a", "b"}), frozenset({("a", "b")}))
    one = Compared(frozenset("c"), frozenset())
    for sets in ((two, one), (one,), ()):
        await world.views.write(Rendering({}, (), sets))
        assert (*await world.views.load_compared(),) == sets


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"version": 0, "sets": [{"keys": [], "outdated": []}]}',
        '{"version": 1, "sets": 1}', '{"version": 1, "sets": [{"keys": [[]], "outdated": []}]}',
        '{"version": 1, "sets": [{"keys": ["a"], "outdated": [["a"]]}]}',
    ],
)  # fmt: skip
async def test_what_is_damaged_or_of_another_version_is_found_anew(
    tmp_path: Path, text: str
) -> None:
    views = local_views(tmp_path)
    sets = (Compared(frozenset("a"), frozenset()),)
    await views.write(Rendering({}, (), sets))
    (tmp_path / "machine" / "compared.json").write_text(text)

    assert not await views.load_compared()
    await views.write(Rendering({}, (), sets))
    assert (*await views.load_compared(),) == sets
