"""Which provider is used, with which key, and whose namespace it writes to."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cloud import Cloud
from doors import Era, add, agent, call, files_with, read
from mirrors import KEY, mirrored, pending, synced

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def mine(settings: Settings, cloud: Cloud) -> Settings:
    return mirrored(settings, cloud)


async def test_the_key_is_in_no_file_of_ours(mine: Settings, cloud: Cloud, tmp_path: Path) -> None:
    """Not in a record, not in the outbox, not in an error that was kept."""
    cloud.keys = {"another"}
    async with agent(mine, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        await synced(mine)
        await call(client, "search_memories", query="orders")

    assert files_with(tmp_path, KEY) == []


@pytest.mark.parametrize(
    "local", [{"provider": "local"}, {"cloud_off": "SUPERMEMORY_CONTAINER_TAG"}], ids=str
)
async def test_local_means_that_nothing_is_sent_although_there_is_a_key(
    mine: Settings, cloud: Cloud, local: dict[str, Any]
) -> None:
    """A session can be kept off the cloud without unsetting anything; a wrong tag does it, too."""
    async with agent(replace(mine, **local), "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        found = await call(client, "search_memories", query="orders")
        await asyncio.sleep(0.3)

    assert found["mode"] == "words+table"
    assert cloud.requests == []


async def test_the_cloud_without_a_key_works_here_and_every_answer_says_so(
    settings: Settings, era: Era
) -> None:
    """A missing key must not cost the memory; nor may anybody believe that it is mirrored."""
    async with agent(replace(settings, provider="supermemory"), era) as client:
        answers = [
            await call(client, "add_memory", content="Orders live in PostgreSQL."),
            await call(client, "search_memories", query="orders"),
        ]
        head = await read(client, "memory_head")

    assert answers[1]["results"][0]["content"] == "Orders live in PostgreSQL."
    (note,) = {answer["note"] for answer in answers}
    assert note in head
    assert "SUPERMEMORY_API_KEY" in note
    assert "memory-mcp cloud login" in note


@pytest.mark.files
async def test_two_projects_and_the_user_have_a_namespace_each(
    mine: Settings, cloud: Cloud, tmp_path: Path
) -> None:
    """Scope is enforced by where a memory is, not by a filter that might be overlooked."""
    other = tmp_path / "other"
    other.mkdir()
    async with agent(mine, "auto") as client:
        await add(client, "Orders of the shop.")
        await add(client, "I like short commits.", kind="preference", scope="user")
    async with agent(replace(mine, project_dir=other), "auto") as client:
        await add(client, "Orders of the other.")
        await synced(replace(mine, project_dir=other))
        found = await call(client, "search_memories", query="orders commits")
    await synced(mine)

    assert sorted(r["content"] for r in found["results"]) == [
        "I like short commits.",
        "Orders of the other.",
    ]
    assert len(cloud.namespaces()) == 3
    assert [d.content for d in cloud.documents("cc_u-ada_p-none").values()] == [
        "I like short commits."
    ]
    assert await pending(mine) == 0
