"""A merged memory holds the words of its parts: forgetting one takes it apart again."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, add, agent, call, files_with, recalled, records, seal
from mcp import Client

from memory_mcp.config.settings import Settings
from memory_mcp.domain.deduplication import MergePolicy

pytestmark = pytest.mark.anyio

OLD = "Ada lives in Berlin. Her dog is called Rex."
NEW = "Ada lives in Hamburg."
BOTH = "Ada lives in Hamburg. Her dog is called Rex."


@pytest.fixture
def eager(settings: Settings) -> Settings:
    """The rule decides where the likeness of a short text and a long one would not do."""
    return replace(settings, merging=MergePolicy(check_low=0.3))


def id_of(project: Path, content: str) -> str:
    """The id of the record that says this."""
    (found,) = (record["id"] for record in records(project) if record["content"] == content)
    return found


async def test_forgetting_the_newer_part_brings_the_older_one_back(
    eager: Settings, era: Era, project: Path
) -> None:
    """Whoever never wants to hear of Hamburg again still has a dog."""
    async with agent(eager, era) as client:
        old = await add(client, OLD)
        whole = await add(client, NEW)
        said = await call(client, "forget_memory", memory_id=id_of(project, NEW))
        assert await recalled(client, "Ada") == [OLD]

    assert files_with(project.parent, "Hamburg") == []
    assert whole in said["message"]
    assert f"holds again: {old}" in said["message"]


async def test_forgetting_the_older_part_leaves_the_newer_one(
    eager: Settings, era: Era, project: Path
) -> None:
    """A fact that nobody gave up must not go with another one."""
    async with agent(eager, era) as client:
        old = await add(client, OLD)
        await add(client, NEW)
        await call(client, "forget_memory", memory_id=old)
        assert await recalled(client, "Ada") == [NEW]

    assert files_with(project.parent, "Berlin") + files_with(project.parent, "Rex") == []


async def test_forgetting_the_whole_and_its_parts_leaves_no_byte(
    eager: Settings, era: Era, project: Path
) -> None:
    """Nothing of it is recalled; what was said before goes by the calls that the receipt names."""
    async with agent(eager, era) as client:
        old = await add(client, OLD)
        whole = await add(client, NEW)
        said = await call(client, "forget_memory", memory_id=whole)
        assert await recalled(client) == []
        parts = [old, id_of(project, NEW)]
        for part in parts:
            await call(client, "forget_memory", memory_id=part)
        assert await recalled(client) == []

    assert all(f"forget_memory(memory_id='{part}')" in said["message"] for part in parts)
    for word in ("Hamburg", "Berlin", "Rex"):
        assert files_with(project.parent, word) == []


async def test_what_several_parts_say_is_put_together_anew(
    eager: Settings, era: Era, project: Path
) -> None:
    """Three became one, the middle one goes: two are one still, and the newest value counts."""
    async with agent(eager, era) as client:
        first = await add(client, "Ada lives in Berlin. Ada is 30 years old. Ada plays chess.")
        await add(client, "Ada lives in Hamburg.")
        await add(client, "Ada is 31 years old.")
        assert await recalled(client) == [
            "Ada lives in Hamburg. Ada is 31 years old. Ada plays chess."
        ]
        await call(client, "forget_memory", memory_id=id_of(project, "Ada lives in Hamburg."))
        assert await recalled(client) == [
            "Ada lives in Berlin. Ada is 31 years old. Ada plays chess."
        ]

    assert files_with(project.parent, "Hamburg") == []
    (whole,) = (record for record in records(project) if "derived_from" in record)
    last = id_of(project, "Ada is 31 years old.")
    assert whole["derived_from"] == [first, last]
    (said,) = (record for record in records(project) if record["id"] == last)
    assert whole["stated_at"] == said["created_at"], "put together now, and said then"


async def test_a_correction_of_the_whole_is_not_undone_by_forgetting_a_part(
    eager: Settings, era: Era, project: Path
) -> None:
    """What was corrected since must not come back to life."""
    async with agent(eager, era) as client:
        await add(client, OLD)
        whole = await add(client, NEW)
        await call(client, "update_memory", memory_id=whole, content="Ada lives in Rome alone.")
        await call(client, "forget_memory", memory_id=id_of(project, NEW))
        assert await recalled(client) == ["Ada lives in Rome alone."]

    assert files_with(project.parent, "Hamburg") == []


async def test_a_part_that_is_forgotten_after_a_backtrack_stays_forgotten_on_the_left_road(
    eager: Settings, era: Era, project: Path
) -> None:
    """Erased is erased, also for whoever restores the road on which it was merged."""
    async with agent(eager, era) as client:
        old = await add(client, OLD)
        start = await seal(client, "before the move")
        await add(client, NEW)
        left = await call(client, "backtrack", to=start, mode="continue")
        await call(client, "forget_memory", memory_id=old)
        assert await recalled(client, "Ada") == []
        await call(client, "backtrack", to=left["line"])
        assert await recalled(client, "Ada") == [NEW]

    assert files_with(project.parent, "Rex") == []


async def test_a_rejected_statement_is_met_by_the_next_one_who_states_it(
    settings: Settings, era: Era
) -> None:
    """Without this a wrong value comes back with the next session that infers it."""
    async with agent(settings, era) as client:
        wrong = await add(client, "The office is in Kiel.")
        await call(client, "forget_memory", memory_id=wrong, reason="the user never had one")
        said = await call(client, "add_memory", content="the office is in  Kiel")
        assert await recalled(client) == []
        tombstone = said["message"].split("supersedes=['")[1].split("'")[0]
        again = await call(
            client, "add_memory", content="The office is in Kiel.", supersedes=[tombstone]
        )
        assert await recalled(client) == ["The office is in Kiel."]

    assert (said["success"], said["outcome"]) == (False, "rejected")
    assert "the user never had one" in said["message"]
    assert again["outcome"] == "inserted"


async def test_a_correction_with_a_reason_rejects_the_old_statement(
    settings: Settings, era: Era
) -> None:
    """The old value is what the next session reads in an old log."""
    async with agent(settings, era) as client:
        start = await seal(client, "the start")
        wrong = await add(client, "The port is 8000.")
        await call(
            client, "update_memory", memory_id=wrong, content="The port is 9000.", reason="a typo"
        )
        said = await call(client, "add_memory", content="The port is 8000.")
        assert await recalled(client, "port") == ["The port is 9000."]
        back = await call(
            client, "update_memory", memory_id=(await newest(client)), content="The port is 8000."
        )
        assert await recalled(client, "port") == ["The port is 8000."]
        await call(client, "backtrack", to=start, mode="continue")
        free = await call(client, "add_memory", content="The port is 8000.")

    assert "a typo" in said["message"]
    assert "was rejected on" in back["message"]
    assert free["outcome"] == "inserted", "the road on which it was rejected is left"


async def test_without_a_reason_nothing_is_rejected(settings: Settings, era: Era) -> None:
    """Tidying up is no statement about what is true."""
    async with agent(settings, era) as client:
        await call(client, "forget_memory", memory_id=await add(client, "The port is 8000."))
        said = await call(client, "add_memory", content="The port is 8000.")

    assert said["outcome"] == "inserted"


async def newest(client: Client) -> str:
    """The id of the newest memory."""
    found = await call(client, "search_memories", limit=1)
    return found["results"][0]["memoryId"]
