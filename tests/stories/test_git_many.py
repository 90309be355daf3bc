"""As many branches with memories as a team has open, and what a look at them costs."""

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from doors import agent
from git_world import A, GitWorld, in_git, make_world

from memory_mcp.config.settings import Settings
from memory_mcp.storage.files import git as local_git

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

THINGS = ("orders", "invoices", "sessions", "captchas", "exports", "webhooks", "tenants",
          "coupons", "avatars", "digests", "ledgers", "quotas")  # fmt: skip


@asynccontextmanager
async def on_main(settings: Settings, project: Path) -> AsyncGenerator[GitWorld]:
    make_world(project, ignored=True)
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        assert await w.recalled() == {A}
        yield w


async def open_branches(w: GitWorld, things: Sequence[str]) -> None:
    """A branch for each, with a memory and a commit; none of them is merged."""
    for thing in things:
        w.git("switch", "-q", "-c", thing, "main")
        await w.write(f"The table of {thing} is partitioned.")
        w.commit(thing)
    w.git("switch", "-q", "main")
    assert await w.recalled() == {A}


def squash(w: GitWorld, branch: str) -> None:
    w.git("merge", "-q", "--squash", branch)
    w.git("commit", "-q", "-m", f"{branch} (#1)")


@pytest.mark.nightly
async def test_a_proved_squash_of_the_oldest_of_many_open_branches_is_followed(
    settings: Settings, project: Path
) -> None:
    async with on_main(settings, project) as w:
        await open_branches(w, THINGS)
        squash(w, "orders")
        assert await w.recalled() == {A, "The table of orders is partitioned."}
        squash(w, "captchas")
        squash(w, "quotas")
        w.git("branch", "-q", "-D", "captchas", "quotas")
        w.told.clear()
        brought = {f"The table of {each} is partitioned." for each in ("captchas", "quotas")}
        assert brought <= await w.recalled()
        assert [note for note in w.told if "is gone" in note] == []


async def test_a_proved_squash_of_a_branch_that_took_in_main_again_is_followed(
    settings: Settings, project: Path
) -> None:
    """It parted from main where it was merged last, whatever else it has."""
    async with on_main(settings, project) as w:
        await open_branches(w, ("orders", "exports"))
        for name in ("one", "two"):
            w.commit(name)
            w.git("switch", "-q", "orders")
            w.git("merge", "-q", "--no-edit", "main")
            w.commit(f"after {name}", in_file=f"orders_{name}")
            w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        squash(w, "orders")
        assert await w.recalled() == {A, "The table of orders is partitioned."}


async def test_a_proved_squash_of_a_branch_on_another_that_was_merged_is_followed(
    settings: Settings, project: Path
) -> None:
    """Nothing looks between the merge of the lower one and the squash of the upper one."""
    async with on_main(settings, project) as w:
        await open_branches(w, ("orders",))
        w.git("switch", "-q", "orders")
        w.git("switch", "-q", "-c", "upper")
        await w.write("Exports are made on Sundays.")
        w.commit("upper")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("merge", "-q", "--no-ff", "--no-edit", "orders")
        squash(w, "upper")
        both = {"The table of orders is partitioned.", "Exports are made on Sundays."}
        assert await w.recalled() == {A, *both}


@pytest.mark.nightly
async def test_each_of_many_branches_that_are_gone_is_offered_once(
    settings: Settings, project: Path
) -> None:
    async with on_main(settings, project) as w:
        await open_branches(w, THINGS)
        w.git("branch", "-q", "-D", *THINGS)
        w.told.clear()
        for name in ("b", "c", "d"):
            w.commit(name)
            assert await w.recalled() == {A}
        said = Counter(each for note in w.told for each in THINGS if f"{each} is gone" in note)
        assert said == Counter(THINGS)


async def test_a_commit_starts_no_more_processes_with_many_open_branches(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Counter[str]()
    ask = local_git.ask_git

    def count(git_dir: str, environment: Any, arguments: Sequence[str], *rest: Any) -> str:
        started[arguments[0]] += 1
        return ask(git_dir, environment, arguments, *rest)

    monkeypatch.setattr(local_git, "ask_git", count)
    async with on_main(settings, project) as w:
        counts = list[Counter[str]]()
        for things in (THINGS[:2], THINGS[2:]):
            await open_branches(w, things)
            started.clear()
            w.commit("main")
            assert await w.recalled() == {A}
            counts.append(+started)
        few, many = counts
        assert many == few, "not one for each branch"
        assert few.total() <= 24
