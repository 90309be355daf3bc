"""What can be asked of a search besides words: whose, when, where, how sure, and why."""

import math
from dataclasses import replace

import pytest
from command_line import Run, as_json
from doors import Era, add, agent, call, recalled, refused, seal

from memory_mcp.config.settings import Settings
from memory_mcp.domain.deduplication import Merging

pytestmark = pytest.mark.anyio


async def test_only_the_scope_that_was_asked_for_is_searched(settings: Settings, era: Era) -> None:
    """What the user likes everywhere is no fact of this project."""
    async with agent(settings, era) as client:
        await add(client, "Tests run in parallel.")
        await add(client, "I like parallel tests.", kind="preference", scope="user")

        assert await recalled(client, "parallel tests", scope="project") == [
            "Tests run in parallel."
        ]
        assert await recalled(client, "parallel tests", scope="user") == ["I like parallel tests."]
        assert await recalled(client, scope="user") == ["I like parallel tests."]
        assert len(await recalled(client, "parallel tests")) == 2


async def test_times_and_branches_bound_what_is_searched(settings: Settings, era: Era) -> None:
    """From the one time, before the other; a branch is where something was written."""
    async with agent(settings, era) as client:
        await add(client, "Builds take nine minutes.")
        await seal(client, "Measured.")

        assert await recalled(client, "builds", since="2000-01-01", branch="main") != []
        assert await recalled(client, "builds", until="2000-01-01") == []
        assert await recalled(client, "builds", since="2999-01-01T00:00:00+02:00") == []
        nowhere = await refused(client, "search_memories", query="builds", branch="elsewhere")
        assert "main" in nowhere
        spelt = await call(client, "search_memories", query="builds", category="bilds")
        assert "check how they are spelt" in spelt["message"]
        said = await refused(
            client, "search_memories", query="builds", since="2001-01-01", until="2000-01-01"
        )
        assert "since (2001-01-01" in said


async def test_a_least_score_leaves_out_what_is_hardly_meant(settings: Settings, era: Era) -> None:
    """An agent that would rather know nothing than something wrong says how sure it must be."""
    async with agent(settings, era) as client:
        await add(client, "Orders are exported by the flamingo job at night.")
        await add(client, "Orders of the last year are paid.")
        all_of_them = await call(client, "search_memories", query="flamingo orders")
        sure = await call(client, "search_memories", query="flamingo orders", min_score=0.5)
        never = await call(client, "search_memories", query="orders last", min_score=1)

        assert len(all_of_them["results"]) == 2
        assert [r["content"] for r in sure["results"]] == [all_of_them["results"][0]["content"]]
        assert never["results"] == []
        assert "The best of what was found scores" in never["message"]
        said = await refused(client, "search_memories", query="orders", min_score=1.5)
        assert "min_score is 1.5; choose 0 to 1" in said


async def test_near_twins_are_left_out_only_when_asked(settings: Settings, era: Era) -> None:
    """Nothing may vanish by itself; who wants five different memories says so."""
    settings = replace(settings, merging=Merging(topk=0, fallback_enabled=False))
    async with agent(settings, era) as client:
        for text in ("The login token expires hourly.", "Hourly the login token expires."):
            await add(client, text)
        await add(client, "The login page has a dark theme.")

        assert len(await recalled(client, "login token expires")) == 3
        assert len(await recalled(client, "login token expires", diverse=True)) == 2


async def test_why_shows_what_a_score_is_made_of(settings: Settings, era: Era) -> None:
    """Whoever doubts an answer can look; whoever does not, pays nothing for it."""
    async with agent(settings, era) as client:
        await add(client, "Deploys happen on Mondays.", metadata={"importance": 5, "pinned": True})
        (plain,) = (await call(client, "search_memories", query="deploys"))["results"]
        (told,) = (await call(client, "search_memories", query="deploys", why=True))["results"]

    assert "why" not in plain
    assert told["why"].keys() >= {"words", "importance", "pinned"}
    logit = sum(told["why"].values())
    assert told["score"] == pytest.approx(1 / (1 + math.exp(-logit)), abs=0.001)


async def test_weights_can_put_the_pinned_first(settings: Settings, era: Era) -> None:
    """MEMORY_RERANK_WEIGHTS: who pins much may want to see it first."""

    async def order(given: Settings) -> list[str]:
        async with agent(given, era) as client:
            return await recalled(client, "release notes deadline")

    async with agent(settings, era) as client:
        await add(client, "The release notes have a deadline.")
        await add(client, "Release on Fridays.", metadata={"pinned": True})
    heavy = replace(settings, weights=replace(settings.weights, pinned=10))

    assert await order(settings) == ["The release notes have a deadline.", "Release on Fridays."]
    assert await order(heavy) == ["Release on Fridays.", "The release notes have a deadline."]


async def test_a_key_of_the_schema_is_read_whole_or_by_its_beginning(
    settings: Settings, era: Era
) -> None:
    """A later session asks for what an earlier one handed on, without guessing its words."""
    async with agent(replace(settings, toolsets=("session",)), era) as client:
        await add(client, "Tests run in parallel.", kind="decision")
        about = {"title": "Editor"}
        liked = await add(client, "I use Helix.", kind="preference", scope="user", metadata=about)
        await call(client, "consolidate", memory_update="Auth is done.", final=True)
        await call(client, "checkpoint", summary="Sealed.", phase=3, issues=["Rate limits"])

        async def found(key: str, query: str = "") -> list[str]:
            return await recalled(client, query, key=key)

        assert await found("user:preferences:editor") == ["I use Helix."]
        assert await found("user:preferences:edit") == []
        assert await found("user:preferences:*", "what editor do I use") == ["I use Helix."]
        assert await found("user:preferences:*", "parallel tests") == []
        assert await found("gardener:*") == ["Auth is done."]
        assert any("Rate limits" in text for text in await found("phase:*"))
        shown = await call(client, "search_memories", key="user:preferences:*")
        assert shown["results"][0]["metadata"]["key"] == "user:preferences:editor"
        assert shown["results"][0]["memoryId"] == liked
        assert "a * stands at its end" in await refused(client, "search_memories", key="a:*:b")


def test_search_by_key_on_the_command_line(run: Run) -> None:
    """`--key`, and the key is shown with what was found."""
    as_json(run, "add", "A web shop.", "--kind", "identity")
    _, out, _ = run("search", "--key", "project:*")

    assert "A web shop." in out
    assert ":identity] " in out
