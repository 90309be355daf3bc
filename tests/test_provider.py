"""Which provider is used, with which key, and whose namespace it writes to."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from cloud import Cloud
from doors import Era, Json, add, agent, call, files_with, records
from mirrors import KEY, mirrored, pending, synced

from memory_mcp.settings import Settings

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


async def test_local_means_that_nothing_is_sent_although_there_is_a_key(
    mine: Settings, cloud: Cloud
) -> None:
    """A session can be kept off the cloud without unsetting anything."""
    async with agent(replace(mine, provider="local"), "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        found = await call(client, "search_memories", query="orders")
        await asyncio.sleep(0.3)

    assert found["mode"] == "lexical"
    assert cloud.requests == []


async def test_the_cloud_or_nothing_without_a_key_says_what_to_do(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """Every tool answers with the sentence; nothing is written as if all were well."""
    calls: dict[str, Json] = {
        "add_memory": {"content": "x"},
        "search_memories": {"query": "x"},
        "memory_context": {},
        "memory_head": {},
        "checkpoint": {"summary": "x"},
        "backtrack": {"to": 1, "mode": "continue"},
        "update_memory": {"memory_id": "x", "content": "x"},
        "forget_memory": {"memory_id": "x"},
    }
    async with agent(replace(settings, provider="supermemory"), era) as client:
        answers = [await call(client, tool, **arguments) for tool, arguments in calls.items()]

    assert {answer["success"] for answer in answers} == {False}
    (sentence,) = {answer["message"] for answer in answers}
    assert "SUPERMEMORY_API_KEY" in sentence
    assert "memory-mcp login" in sentence
    assert records(tmp_path) == []


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
