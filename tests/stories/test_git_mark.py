"""What does not stand on this commit takes no place from what does: on a page, in a context."""

import json
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doors import call, read
from git_world import A, GitWorld, in_git, parted
from real_git import git

from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.domain.limits import CANDIDATES_MAX
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.search import Filters
from memory_mcp.search import search_memories
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

_HERE = "The deploy script restarts the queue workers."
_THERE = [
    f"The deploy script {does} the queue workers in the {where} cluster."
    for does, where in [
        ("drains", "first"), ("warms", "second"), ("pings", "third"),
        ("scales", "fourth"), ("labels", "fifth"), ("watches", "sixth"),
    ]
]  # fmt: skip


async def _crowd(w: GitWorld) -> None:
    """One memory on main, then six on feature about the same; HEAD is on main."""
    w.git("switch", "-q", "main")
    await w.write(_HERE)
    w.commit("deploy")
    w.git("switch", "-q", "feature")
    for text in _THERE:
        await w.write(text)
    w.commit("clusters")
    w.git("switch", "-q", "main")


async def _search(w: GitWorld, limit: int, query: str, **more: bool) -> list[str]:
    found = await call(w.client, "search_memories", query=query, limit=limit, **more)
    return [each["content"] for each in found["results"]]


@pytest.mark.parametrize("ways", [{}, {"diverse": True}], ids=["plain", "diverse"])
async def test_a_page_is_cut_after_what_stands_elsewhere_was_put_behind(
    settings: Settings, project: Path, ways: dict[str, bool]
) -> None:
    """However few are asked for, and however well those of the other branch match."""
    async with parted(settings, project, "mark") as w:
        await _crowd(w)
        question = "deploy script queue workers cluster"

        for limit in (1, 2, 5):
            found = await _search(w, limit, question, **ways)
            assert found[0] == _HERE
            assert len(found) == limit
        assert set(await _search(w, 7, question)) == {_HERE, *_THERE}, "nothing is hidden"


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["mark", "follow"])
async def test_more_of_another_branch_than_a_search_compares_crowd_out_nothing_of_this_one(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """All of them match better, and are newer."""
    async with parted(settings, project, mode) as w:
        w.git("switch", "-q", "main")
        await w.write("The deploy script is old.")
        w.commit("deploy")
        w.git("switch", "-q", "feature")
        for number in range(CANDIDATES_MAX + 5):
            await w.write(f"Deploy script {number} drains queue {number} of cluster {number}.")
        w.commit("clusters")
        w.git("switch", "-q", "main")

        found = await _search(w, 5, "deploy script queue cluster drains")
        assert found[0] == "The deploy script is old."
        assert len(found) == (5 if mode == "mark" else 1)


async def test_of_the_newest_those_of_this_commit_come_first(
    settings: Settings, project: Path
) -> None:
    """Without a query the page is filled by age, and another branch may be busier."""
    async with parted(settings, project, "mark") as w:
        await _crowd(w)

        assert await _search(w, 1, "") == [_HERE]
        assert await _search(w, 2, "") == [_HERE, A]
        assert (await _search(w, 4, ""))[:2] == [_HERE, A]


async def test_a_context_has_room_for_what_stands_here_first(
    settings: Settings, project: Path
) -> None:
    """Twenty of each kind compete for it: a busy branch must not take all places."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "main")
        await w.write("We deploy on Mondays only.", kind="decision")
        w.commit("mondays")
        w.git("switch", "-q", "feature")
        for number in range(21):
            await w.write(
                f"Shard {number} of the catalogue moves to rack {number}.", kind="decision"
            )
        w.commit("racks")
        assert "We deploy on Mondays only." not in await w.context()
        w.git("switch", "-q", "main")

        context = await w.context()
        assert "We deploy on Mondays only." in context
        assert context.index("on Mondays only") < context.index("to rack")


async def test_git_that_is_off_puts_nothing_behind(settings: Settings, project: Path) -> None:
    """The branch's memories are as near as any."""
    async with parted(settings, project, "off") as w:
        await _crowd(w)
        assert await _search(w, 1, "") == [_THERE[-1]]


async def test_what_stands_elsewhere_outdates_nothing_here(
    settings: Settings, project: Path
) -> None:
    """It is newer, and the code of this commit does not know of it; where it stands, it holds."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "main")
        await w.write("The repo uses yarn.")
        w.commit("yarn")
        w.git("switch", "-q", "feature")
        await w.write("The repo uses pnpm.")
        w.commit("pnpm")

        for branch, own, other in (("main", "yarn", "pnpm"), ("feature", "pnpm", "yarn")):
            w.git("switch", "-q", branch)
            for query in ("what does the repo use", ""):
                found = await call(w.client, "search_memories", query=query, limit=10)
                hits = [each for each in found["results"] if "The repo uses" in each["content"]]
                assert [each["content"] for each in hits] == [
                    f"The repo uses {own}.",
                    f"The repo uses {other}.",
                ], (branch, query)
                assert not any("outdated_by" in each for each in hits), (branch, query)
            context = await w.context()
            assert f"The repo uses {own}." in context


@pytest.mark.files
@pytest.mark.parametrize("mode", ["off", "mark"])
async def test_the_index_is_asked_once_more_only_where_something_stands_elsewhere(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch, mode: GitMode
) -> None:
    """Whoever has no branches, or wants nothing of git, pays nothing for it."""
    counted = ContextVar[list[str] | None]("counted", default=None)
    answer = SqliteIndex.read

    async def count(self: SqliteIndex, statement: str, values: Any = None) -> Any:
        if (asked := counted.get()) is not None:  # others work beside
            asked.append(statement)
        return await answer(self, statement, values)

    monkeypatch.setattr(SqliteIndex, "read", count)
    async with parted(settings, project, mode):
        pass
    async with open_workspace(in_git(settings, mode)) as built:
        counts: list[int] = []
        for branch in ("feature", "main"):
            git(project, "switch", "-q", branch)
            asked = list[str]()
            for each in (None, asked):  # first git is looked at
                token = counted.set(each)
                found = await search_memories(built.workspace, "orders sessions", Filters(), 5)
                counted.reset(token)
                assert isinstance(found, SearchResults)
                assert len(found.hits) == 2
            counts.append(len(asked))
        here, elsewhere = counts
        assert here > 0
        assert elsewhere - here == (mode == "mark")


async def test_a_prompt_is_given_what_stands_here_first(settings: Settings, project: Path) -> None:
    """It is given few memories, so those of another branch would take all of the room."""
    asking = replace(settings, toolsets=("session", "hooks"), session="before")
    async with parted(asking, project, "mark") as w:
        await _crowd(w)
        prompt = "What does the deploy script do with the queue workers in the cluster?"
        said = json.loads(
            await read(w.client, "prompt_context", prompt=prompt, session_id="another")
        )
        told = said["hookSpecificOutput"]["additionalContext"]
        assert _HERE in told
        assert told.index(_HERE) < min(told.index(each) for each in _THERE if each in told)


async def test_what_stands_elsewhere_is_not_judged_by_the_files_of_this_commit(
    settings: Settings, project: Path
) -> None:
    """On its branch it holds: nobody is to correct or to forget it for what main says."""
    async with parted(settings, project, "mark") as w:
        (project / "b.py").write_text("def f():\n    return other(1)\n", "utf-8")
        text = "On feature f() calls other()."
        await w.write(text, cites=["b.py#f"])
        w.commit("cited")
        assert "No memory rests on code" in await _review(w)
        w.git("switch", "-q", "main")

        (hit,) = (each for each in await w.search() if each["content"] == text)
        assert hit["standing"] == "written on feature, not merged here"
        assert "cites" not in hit
        assert "The code under" not in await w.context()
        assert "No memory rests on code that has changed (0 memories cite code)" in await _review(w)
        w.git("switch", "-q", "feature")
        (hit,) = (each for each in await w.search() if each["content"] == text)
        assert hit["cites"] == ["b.py#f holds"]


async def test_what_was_reverted_is_reviewed_with_its_mark(
    settings: Settings, project: Path
) -> None:
    """This commit has its history and its code no more."""
    async with parted(settings, project, "mark") as w:
        (project / "c.py").write_text("def g():\n    return 1\n", "utf-8")
        await w.write("g() returns one.", cites=["c.py#g"])
        w.commit("cited")
        w.git("revert", "--no-edit", "HEAD")

        assert "its commit was reverted; c.py#g" in await _review(w)


async def _review(w: GitWorld) -> str:
    prompt = await w.client.get_prompt("review_stale", {})
    return str(prompt.messages[0].content)
