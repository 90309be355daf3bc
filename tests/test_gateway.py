"""What comes in is compared with what is known: kept once, brought up to date, or left alone."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, add, agent, call, files_with, recalled, records, seal

from memory_mcp.config.settings import Settings
from memory_mcp.domain.deduplication import Merging

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("again", ["The API listens on 8080.", "the  API\nlistens on 8080"])
async def test_the_same_statement_is_kept_once(
    settings: Settings, era: Era, project: Path, again: str
) -> None:
    """Stores of others are full of the same sentence a hundred times."""
    async with agent(settings, era) as client:
        known = await add(client, "The API listens on 8080.")
        said = await call(client, "add_memory", content=again)

    assert (said["success"], said["outcome"], said["memoryId"]) == (True, "known", known)
    assert len(records(project)) == 1


async def test_a_title_may_name_what_is_meant(settings: Settings, era: Era, project: Path) -> None:
    """The staging key and the production key may be told in the same words: both are kept."""
    text = "Rotate it every 90 days."
    async with agent(settings, era) as client:
        known = await add(client, text, metadata={"title": "Staging key"})
        other = await call(client, "add_memory", content=text, metadata={"title": "Production key"})
        again = await call(client, "add_memory", content=text, metadata={"title": "staging key"})

    assert other["outcome"] not in ("known", "merged", "replaced")
    assert (again["outcome"], again["memoryId"]) == ("known", known)
    assert len(records(project)) == 2


async def test_a_newer_value_takes_the_place_of_the_old_one_and_is_reported(
    settings: Settings, era: Era
) -> None:
    """Both kept side by side is what agents trip over; replaced in silence would be as bad."""
    async with agent(settings, era) as client:
        old = await add(client, "Mia is 3 years old.")
        start = await seal(client, "before her birthday")
        said = await call(client, "add_memory", content="Mia is 4 years old.")
        assert await recalled(client, "Mia") == ["Mia is 4 years old."]
        await call(client, "backtrack", to=start, mode="continue")
        assert await recalled(client, "how old is Mia") == ["Mia is 3 years old."]

    assert (said["outcome"], said["replaced"]) == ("replaced", [old])
    assert said["contradictions"] == [{
        "memoryId": old, "old": "Mia is 3 years old.", "new": "Mia is 4 years old.",
    }]  # fmt: skip


async def test_a_merged_memory_keeps_what_was_not_said_again_and_names_both(
    settings: Settings, era: Era, project: Path
) -> None:
    """The newest value wins, and nothing else is lost."""
    async with agent(settings, era) as client:
        old = await add(client, "Ada lives in Berlin. Her dog is called Rex.", metadata={
            "tags": ["people"], "importance": 5,
        })  # fmt: skip
        start = await seal(client, "before the move")
        said = await call(client, "add_memory", content="Ada lives in Hamburg.")
        assert await recalled(client, "Ada") == ["Ada lives in Hamburg. Her dog is called Rex."]
        left = await call(client, "backtrack", to=start, mode="continue")
        assert await recalled(client, "Ada") == ["Ada lives in Berlin. Her dog is called Rex."]
        await call(client, "backtrack", to=left["line"])
        assert await recalled(client, "Ada") == ["Ada lives in Hamburg. Her dog is called Rex."]

    assert (said["outcome"], said["replaced"]) == ("merged", [old])
    given, whole = (r for r in records(project) if r["kind"] == "fact" and r["id"] != old)
    assert given["content"] == "Ada lives in Hamburg."
    assert whole["id"] == said["memoryId"]
    assert whole["derived_from"] == whole["supersedes"] == [old, given["id"]]
    assert (whole["tags"], whole["importance"]) == (["people"], 5)


async def test_in_update_mode_the_new_text_is_kept_as_it_came(
    settings: Settings, era: Era, project: Path
) -> None:
    """Who composes for themselves wants no help."""
    settings = replace(settings, merging=Merging(mode="update"))
    async with agent(settings, era) as client:
        old = await add(client, "Ada lives in Berlin. Her dog is called Rex.")
        said = await call(client, "add_memory", content="Ada lives in Hamburg.")
        assert await recalled(client, "Ada") == ["Ada lives in Hamburg."]

    assert (said["outcome"], said["replaced"]) == ("replaced", [old])
    assert len(records(project)) == 2


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The staging database is db-1.", "The production database is db-1."),
        ("Service A listens on port 8080.", "Service B listens on port 8081."),
        ("We do not use Redis for sessions.", "We use Redis for the queue."),
        ("Ada prefers tea.", "Bob prefers coffee."),
    ],
)
async def test_near_misses_stay_two(settings: Settings, era: Era, known: str, new: str) -> None:
    """A wrong merge hides a memory; two that are alike only take room."""
    async with agent(settings, era) as client:
        await add(client, known)
        said = await call(client, "add_memory", content=new)
        assert sorted(await recalled(client)) == sorted([known, new])

    assert said["outcome"] == "inserted"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"metadata": {"category": "a"}}, {"metadata": {"category": "b"}}),
        ({"scope": "user"}, {}),
        ({}, {"kind": "preference"}),
        ({"kind": "event"}, {"kind": "event"}),
        ({"metadata": {"expires_at": "2999-01-01T00:00:00Z"}}, {}),
        ({}, {"metadata": {"expires_at": "2999-01-01T00:00:00Z"}}),
    ],
    ids=["category", "scope", "durable", "event", "old expires", "new expires"],
)
async def test_what_lives_elsewhere_or_otherwise_is_not_replaced(
    settings: Settings, era: Era, first: dict[str, object], second: dict[str, object]
) -> None:
    """What outlives the other must not go with it; what happened stays true."""
    async with agent(settings, era) as client:
        await add(client, "Mia is 3 years old.", **first)
        said = await call(client, "add_memory", content="Mia is 4 years old.", **second)
        assert len(await recalled(client)) == 2

    assert (said["outcome"], "replaced" in said) == ("inserted", False)


async def test_what_lasts_longer_is_stored_although_the_same_is_known(
    settings: Settings, era: Era
) -> None:
    """A backtrack hides the fact; the preference must survive it."""
    async with agent(settings, era) as client:
        start = await seal(client, "the start")
        await add(client, "Tabs, not spaces.")
        kept = await call(client, "add_memory", content="Tabs, not spaces.", kind="preference")
        known = await call(client, "add_memory", content="tabs, not spaces")
        await call(client, "backtrack", to=start, mode="continue")
        assert await recalled(client, "tabs") == ["Tabs, not spaces."]

    assert (kept["outcome"], known["outcome"]) == ("inserted", "known")


async def test_nothing_abandoned_is_known_or_replaced(settings: Settings, era: Era) -> None:
    """A road that was left must not swallow what is learnt on the new one."""
    async with agent(settings, era) as client:
        start = await seal(client, "the start")
        await add(client, "The API listens on 8080.")
        await add(client, "Mia is 3 years old.")
        await call(client, "backtrack", to=start, mode="continue")
        first = await call(client, "add_memory", content="The API listens on 8080.")
        second = await call(client, "add_memory", content="Mia is 4 years old.")

    assert (first["outcome"], second["outcome"]) == ("inserted", "inserted")
    assert "contradictions" not in second


async def test_what_nobody_can_tell_is_left_to_the_caller(
    settings: Settings, era: Era, project: Path
) -> None:
    """The agent is a model: it gets what it needs to judge, and what to call."""
    known_text = "The frontend is written in React."
    new_text = "The frontend is written in Vue."
    async with agent(settings, era) as client:
        known = await add(client, known_text)
        said = await call(client, "add_memory", content=new_text)
        assert said["outcome"] == "inserted"
        (similar,) = said["similar"]
        assert (similar["memoryId"], similar["content"]) == (known, known_text)
        assert 0.6 <= similar["score"] < 0.85
        assert "update_memory" in said["message"]
        merged = await call(client, "update_memory", memory_id=known, content=new_text)
        assert await recalled(client) == [new_text]

    assert sorted(merged["replaced"]) == sorted([known, said["memoryId"]])
    assert len(files_with(project / ".claude" / "memory", "Vue")) == 3, "two records and a page"


async def test_with_nothing_to_compare_everything_is_kept(settings: Settings, era: Era) -> None:
    """MEMORY_MERGE_TOPK=0 and no fallback: only the very same statement is known."""
    settings = replace(settings, merging=Merging(topk=0, fallback_enabled=False))
    async with agent(settings, era) as client:
        await add(client, "Mia is 3 years old.")
        said = await call(client, "add_memory", content="Mia is 4 years old.")
        same = await call(client, "add_memory", content="Mia is 4 years old.")

    assert (said["outcome"], same["outcome"]) == ("inserted", "known")


async def test_below_an_importance_only_what_is_known_is_brought_up_to_date(
    settings: Settings, era: Era
) -> None:
    """Trifles do not pile up, but a trifle that is kept must not be wrong."""
    settings = replace(settings, merging=Merging(min_importance=3))
    low = {"importance": 2}
    async with agent(settings, era) as client:
        await add(client, "Mia is 3 years old.")
        updated = await call(client, "add_memory", content="Mia is 4 years old.", metadata=low)
        said = await call(client, "add_memory", content="Bob likes jazz.", metadata=low)
        assert await recalled(client) == ["Mia is 4 years old."]

    assert updated["outcome"] == "replaced"
    assert (said["success"], said["outcome"]) == (False, "declined")
    assert "importance 2, and what is below 3" in said["message"]


async def test_the_gate_keeps_chatter_out_where_it_is_asked_for(
    settings: Settings, era: Era
) -> None:
    """Hooks store what comes along; an agent that calls by itself has judged already."""
    async with agent(settings, era) as client:
        chat = await call(client, "add_memory", content="ok, sounds good, thanks!", gate=True)
        fact = await call(
            client, "add_memory", content="We decided to keep orders in PostgreSQL.", gate=True
        )
        meant = await call(client, "add_memory", content="ok, sounds good, thanks!")

    assert (chat["success"], chat["outcome"]) == (False, "declined")
    assert "small talk" in chat["message"]
    assert (fact["outcome"], meant["outcome"]) == ("inserted", "inserted")


async def test_what_memory_recalled_is_never_stored_again(
    settings: Settings, era: Era, project: Path
) -> None:
    """A store that feeds on itself is junk after a month."""
    async with agent(settings, era) as client:
        await add(client, "Orders rest in PostgreSQL.")
        block = (await client.call_tool("memory_context", {})).content[0]
        text = getattr(block, "text", "")
        assert "PostgreSQL" in text
        echo = await call(client, "add_memory", content=text)
        said = await call(client, "add_memory", content=f"{text}\nCarts rest in Redis.")

    assert (echo["success"], echo["outcome"]) == (False, "declined")
    assert "own recall" in echo["message"]
    assert said["outcome"] == "inserted"
    assert [r["content"] for r in records(project)] == [
        "Orders rest in PostgreSQL.", "Carts rest in Redis.",
    ]  # fmt: skip
