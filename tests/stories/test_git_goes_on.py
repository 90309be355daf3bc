"""Git works on while servers run: it is never in our way, nor we in its."""

import re
import shutil
from pathlib import Path
from typing import Final

import pytest
from doors import Era, add, agent, call, failed, head_file, history, names_in, read, recalled, seal
from mcp import Client
from patient import examine
from project_story import page
from real_git import commit_all, git, make_repository

from memory_mcp import bootstrap
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio

FIRST: Final = "Orders live in PostgreSQL."
SECOND: Final = "Sessions live in Redis."
_RECORD: Final = re.compile(r"\?\? \.claude/memory/\d{4}-\d\d/[0-9a-f-]{36}\.json")


@pytest.fixture
def repository(project: Path) -> Path:
    """A clone with one commit, and a branch `bare` on which there is no record."""
    make_repository(project)
    git(project, "branch", "bare")
    return project


async def counted(client: Client) -> int:
    """How many memories the head counts."""
    found = re.search(r"(\d+) memor(?:y|ies) on this line", await read(client, "memory_head"))
    assert found is not None
    return int(found.group(1))


async def rendered(settings: Settings) -> None:
    """The pages as they are now, by another process."""
    async with open_workspace(settings) as built:
        assert await bootstrap.render_views(built.workspace) == ()


@pytest.mark.files
async def test_a_checkout_takes_records_away_and_brings_them_back(
    settings: Settings, repository: Path, era: Era
) -> None:
    """What is counted and found is what lies there, at the very next call."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        await seal(client, "Storage chosen", phase=1)
        await add(client, SECOND)
        await rendered(settings)
        commit_all(repository, "what we learnt")
        before = head_file(repository)
        assert await counted(client) == 2
        git(repository, "checkout", "--quiet", "bare")
        assert await counted(client) == 0
        assert await recalled(client) == []
        assert FIRST not in await read(client, "memory_context")
        assert "Storage chosen" not in await recalled(client, "storage")
        assert git(repository, "status", "--porcelain", "--untracked-files=all") == ""

        git(repository, "checkout", "--quiet", "main")
        assert await counted(client) == 2
        assert set(await recalled(client)) == {FIRST, "Storage chosen", SECOND}
        assert FIRST in await read(client, "memory_context", task="where orders live")
    assert head_file(repository)["checkpoints"] == before["checkpoints"]
    assert git(repository, "status", "--porcelain", "--untracked-files=all") == ""
    assert await examine(settings) == {}


@pytest.mark.files
async def test_each_branch_of_git_has_the_records_that_lie_on_it(
    settings: Settings, repository: Path, era: Era
) -> None:
    """Written on the one, they are not on the other before it is merged."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        commit_all(repository, "on main")
        git(repository, "checkout", "--quiet", "bare")
        await add(client, SECOND)
        commit_all(repository, "on bare")
        assert (await counted(client), await recalled(client)) == (1, [SECOND])
        git(repository, "checkout", "--quiet", "main")
        assert (await counted(client), await recalled(client)) == (1, [FIRST])
        git(repository, "merge", "--quiet", "--no-edit", "bare")
        assert await counted(client) == 2
        assert set(await recalled(client)) == {FIRST, SECOND}
    assert await examine(settings) == {}


@pytest.mark.files
async def test_a_stash_takes_what_is_not_committed_and_gives_it_back(
    settings: Settings, repository: Path, era: Era
) -> None:
    """`stash pop` refuses to overwrite any file: so nothing may have been made anew meanwhile."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        commit_all(repository, "what we learnt")
        await add(client, SECOND)
        await seal(client, "Storage chosen", phase=1)
        await rendered(settings)
        git(repository, "stash", "push", "--quiet", "--include-untracked")
        assert await counted(client) == 1
        assert await recalled(client) == [FIRST]
        await rendered(settings)
        assert SECOND not in page(repository)
        assert git(repository, "status", "--porcelain", "--untracked-files=all") == ""
        git(repository, "stash", "pop", "--quiet")
        assert await counted(client) == 2
        assert set(await recalled(client)) == {FIRST, SECOND, "Storage chosen"}
    assert await examine(settings) == {}


@pytest.mark.files
async def test_memories_go_on_after_a_stash_and_both_are_there_after_the_pop(
    settings: Settings, repository: Path
) -> None:
    """Work does not wait for what was put aside."""
    async with agent(settings, "auto") as client:
        await add(client, FIRST)
        git(repository, "stash", "push", "--quiet", "--include-untracked")
        await add(client, SECOND)
        sealed = await seal(client, "Sessions chosen", phase=1)
        git(repository, "stash", "pop", "--quiet")
        assert await counted(client) == 2
        assert sealed in await read(client, "memory_head")
    assert await examine(settings) == {}


@pytest.mark.files
async def test_a_clean_takes_what_is_not_committed_and_no_more(
    settings: Settings, repository: Path, era: Era
) -> None:
    """`git clean -xdf` takes ignored files too: the head is made anew from the records."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        sealed = await seal(client, "Storage chosen", phase=1)
        commit_all(repository, "what we learnt")
        await add(client, SECOND)
        await rendered(settings)
        git(repository, "clean", "-xdff", "--quiet")
        assert not (repository / ".state").exists()
        assert await counted(client) == 1
        assert set(await recalled(client)) == {FIRST, "Storage chosen"}
        assert sealed in await read(client, "memory_head")
        later = await seal(client, "Later", phase=2)
        await add(client, SECOND)
    assert [c["id"] for c in head_file(repository)["checkpoints"]] == [sealed, later]
    assert [move["move"]["checkpoint"] for move in history(repository)] == [sealed, later]
    assert await examine(settings) == {}


@pytest.mark.files
async def test_a_clean_of_a_repository_in_which_nothing_was_committed(
    settings: Settings, repository: Path, era: Era
) -> None:
    """All is gone, as whoever typed it wanted; the session that runs goes on with nothing."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        await seal(client, "Storage chosen", phase=1)
        git(repository, "clean", "-xdff", "--quiet")
        assert await recalled(client) == []
        await add(client, SECOND)
        assert (await counted(client), await recalled(client)) == (1, [SECOND])
    async with agent(settings, era) as client:
        assert await recalled(client) == [SECOND]
    assert await examine(settings) == {}


@pytest.mark.files
async def test_git_sees_nothing_of_ours_but_records(
    settings: Settings, repository: Path, era: Era
) -> None:
    """No page, no head, no lock, and nothing that a write leaves for a moment."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        await seal(client, "Storage chosen", phase=1)
        await call(client, "backtrack", to="start", mode="continue")
        await rendered(settings)
        said = git(repository, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert {"MEMORY.md", "HISTORY.md", "session-context.md"} <= set(names_in(repository))
    assert said != []
    assert [line for line in said if not _RECORD.fullmatch(line)] == []


@pytest.mark.files
async def test_pages_that_somebody_added_block_no_checkout(
    settings: Settings, repository: Path, era: Era
) -> None:
    """They are left as they were committed: a change would be lost work in git's eyes."""
    async with agent(settings, era) as client:
        await add(client, FIRST)
        await rendered(settings)
        pages = (".claude/memory/MEMORY.md", ".claude/memory/HISTORY.md")
        git(repository, "add", "--force", *pages, ".claude/session-context.md")
        commit_all(repository, "with the pages")
        await add(client, SECOND)
        await rendered(settings)
        commit_all(repository, "more")
        assert git(repository, "status", "--porcelain") == ""
        assert SECOND not in page(repository)
        git(repository, "checkout", "--quiet", "bare")
        assert await counted(client) == 0
        await add(client, "Carts live in cookies.")
        await rendered(settings)
        assert "Carts" in page(repository), "here git does not track it"
        git(repository, "checkout", "--quiet", "main")
        assert await counted(client) == 3
        assert FIRST in page(repository)
        assert SECOND not in page(repository)


def _moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def _removed(folder: Path) -> None:
    shutil.rmtree(folder)


def _replaced(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()


@pytest.mark.files
@pytest.mark.parametrize("goes", [_moved, _removed, _replaced])
async def test_a_project_that_goes_under_a_running_session_is_said_to_be_gone(
    settings: Settings, repository: Path, goes: object, era: Era
) -> None:
    """Nothing is acknowledged into a folder that was made anew where it was."""
    assert callable(goes)
    async with agent(settings, era) as client:
        await add(client, FIRST)
        await rendered(settings)  # what is rendered beside the calls is on its way no more
        goes(repository)
        for tool, given in (
            ("add_memory", {"content": SECOND}),
            ("checkpoint", {"summary": "One"}),
            ("search_memories", {"query": "orders"}),
            ("memory_head", {}),
            ("memory_context", {}),
        ):
            assert "is gone" in await failed(client, tool, **given)
    assert names_in(repository) == []
