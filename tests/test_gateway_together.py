"""Several at once, several old ones, and what the receipt of a known statement says."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, add, agent, call, recalled, records

from memory_mcp.config.settings import Settings
from memory_mcp.domain.deduplication import Merging

pytestmark = pytest.mark.anyio


async def test_calls_at_once_do_not_miss_each_other(
    settings: Settings, era: Era, project: Path
) -> None:
    """Agents send several calls in one turn."""
    async with agent(settings, era) as client:
        said = await asyncio.gather(
            *(call(client, "add_memory", content="The API listens on 8080.") for _ in range(6))
        )
        await asyncio.gather(
            *(call(client, "add_memory", content=f"Mia is {age} years old.") for age in range(4, 9))
        )
        ages = await recalled(client, "Mia")

    assert sorted(each["outcome"] for each in said) == ["inserted", *["known"] * 5]
    assert len({each["memoryId"] for each in said}) == 1
    assert len(ages) == 1
    assert len(records(project)) == 6


async def test_a_new_value_takes_the_place_of_every_old_one(settings: Settings, era: Era) -> None:
    """Two clones, or two sessions, may have left two: the next word on it is the last."""
    apart = replace(settings, merging=Merging(topk=0, fallback_enabled=False))
    async with agent(apart, era) as client:
        olds = [await add(client, f"Mia is {age} years old.") for age in (3, 4, 5)]
    async with agent(settings, era) as client:
        said = await call(client, "add_memory", content="Mia is 9 years old.")
        assert await recalled(client, "Mia") == ["Mia is 9 years old."]

    assert sorted(said["replaced"]) == sorted(olds)
    assert {each["memoryId"] for each in said["contradictions"]} == set(olds)


async def test_a_known_statement_is_shown_with_what_was_not_taken_over(
    settings: Settings, era: Era
) -> None:
    """A silent "known" would hide a pin, a decision, or a mistake of ours."""
    async with agent(settings, era) as client:
        known = await add(client, "The API listens on 8080.")
        said = await call(
            client, "add_memory", content="The API listens on 8080.", kind="decision",
            metadata={"pinned": True, "importance": 5, "tags": ["net"]},
        )  # fmt: skip
        again = await call(
            client, "add_memory", content="The API listens on 8080.", supersedes=[known],
            metadata={"pinned": True},
        )  # fmt: skip

    assert (said["outcome"], said["content"]) == ("known", "The API listens on 8080.")
    for label in ("tags", "importance", "pinned", "kind"):
        assert label in said["message"]
    assert known in said["message"]
    assert again["outcome"] == "replaced"


async def test_the_same_text_under_another_title_is_another_fact(
    settings: Settings, era: Era
) -> None:
    """The title may name what the text is about."""
    text = "Rotate it every 90 days."
    async with agent(settings, era) as client:
        await add(client, text, metadata={"title": "Staging key"})
        other = await call(client, "add_memory", content=text, metadata={"title": "Production key"})
        same = await call(client, "add_memory", content=text, metadata={"title": "staging key"})

    assert (other["outcome"], same["outcome"]) == ("inserted", "known")


async def test_what_was_recalled_is_known_without_its_fence(
    settings: Settings, era: Era, project: Path
) -> None:
    """A model quotes lines, not fences; an id of nobody's is no recall."""
    stranger = "0192f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"
    async with agent(settings, era) as client:
        known = await add(client, "Orders rest in PostgreSQL.")
        quoted = f"Head: branch main, no checkpoint yet.\n## Newest\n- Orders rest in it. [{known}]"
        echo = await call(client, "add_memory", content=quoted)
        found = await call(client, "search_memories", query="orders")
        pasted = await call(
            client, "add_memory",
            content='{"results":[{"content":"Orders rest in PostgreSQL.","memoryId":"'
            + found["results"][0]["memoryId"] + '"}]}',
        )  # fmt: skip
        own = await call(client, "add_memory", content=f"The ticket is [{stranger}]")

    assert (echo["outcome"], pasted["outcome"]) == ("declined", "declined")
    assert own["outcome"] == "inserted"
    assert len(records(project)) == 2


async def test_a_rejected_statement_that_is_stated_again_replaces_nothing(
    settings: Settings, era: Era
) -> None:
    """The tombstone is answered, and is no memory that was replaced; the rest is looked at anew."""
    async with agent(settings, era) as client:
        wrong = await add(client, "The retry limit is 3.")
        await call(client, "forget_memory", memory_id=wrong, reason="never was")
        now = await add(client, "The retry limit is 5.")
        said = await call(client, "add_memory", content="The retry limit is 3!")
        tombstone = said["message"].split("supersedes=['")[1].split("'")[0]
        again = await call(
            client, "add_memory", content="The retry limit is 3.", supersedes=[tombstone]
        )
        assert await recalled(client, "retry limit") == ["The retry limit is 3."]

    assert said["outcome"] == "rejected"
    assert again["replaced"] == [now]
