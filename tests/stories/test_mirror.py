"""The cloud as a second home: what is written here arrives there, whatever happens between."""

import asyncio
from pathlib import Path

import pytest
from cloud import Cloud
from doors import Era, add, agent, call, machine_dir, read, recalled, records, seal
from mirrors import eventually, kept, mirrored, synced, texts

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def mine(settings: Settings, cloud: Cloud) -> Settings:
    return mirrored(settings, cloud)


@pytest.mark.files
async def test_a_memory_arrives_verbatim_under_its_own_id(
    mine: Settings, era: Era, cloud: Cloud
) -> None:
    """One document a memory, kept word for word, with what a filter can ask for."""
    async with agent(mine, era) as client:
        memory_id = await add(
            client,
            "Orders live in PostgreSQL.",
            kind="decision",
            metadata={"category": "Storage", "tags": ["DB"]},
        )
        await eventually(lambda: memory_id in kept(cloud))

    document = kept(cloud)[memory_id]
    assert document.content == "Orders live in PostgreSQL."
    assert document.task_type == "superrag"
    assert document.given["date"].endswith("Z")
    assert document.metadata["memory_id"] == memory_id
    assert document.metadata["category"] == "storage"
    assert document.metadata["tags"] == ["db"]
    assert cloud.posted == {memory_id: 1}


@pytest.mark.files
async def test_a_receipt_and_the_head_say_what_is_still_on_its_way(
    mine: Settings, era: Era, cloud: Cloud
) -> None:
    """A plain word about what really happened: stored here, not there yet."""
    cloud.faults.always("hang")
    async with agent(mine, era) as client:
        receipt = await call(client, "add_memory", content="Orders live in PostgreSQL.")
        await call(client, "add_memory", content="Mine everywhere.", scope="user")
        head = await read(client, "memory_head")
        cloud.faults.heal()  # else the server waits for its delivery in the end

    assert receipt["success"] is True
    assert "sync pending (1)" in receipt["message"]
    assert "Supermemory: sync pending (2)" in head


@pytest.mark.files
async def test_a_session_that_only_starts_and_reads_here_asks_nothing(
    mine: Settings, era: Era, cloud: Cloud
) -> None:
    """A start is quick, and the cloud's business is nobody's before it is used."""
    async with agent(mine, era) as client:
        await client.list_tools()
        assert "nothing is pending" in await read(client, "memory_head")
        await asyncio.sleep(0.5)

    assert cloud.requests == []


@pytest.mark.files
async def test_a_bare_link_is_kept_and_not_fetched(mine: Settings, cloud: Cloud) -> None:
    """The service would store what is to be read there instead of what was said."""
    async with agent(mine, "auto") as client:
        memory_id = await add(client, "https://example.org/runbook")
    await synced(mine)

    assert cloud.fetched == []
    assert "https://example.org/runbook" in kept(cloud)[memory_id].content


@pytest.mark.files
async def test_a_backtrack_sends_nothing_and_goes_along_with_the_next_memory(
    mine: Settings, era: Era, cloud: Cloud
) -> None:
    """Hiding is decided here; the cloud needs to know only so that other machines learn of it."""
    async with agent(mine, era) as client:
        await seal(client, "One", phase=1)
        await add(client, "Sessions live in Redis.")
        await eventually(lambda: len(kept(cloud)) == 2)
        asked = [r.method for r in cloud.requests if r.path.endswith(("/document", "/batch"))]
        await call(client, "backtrack", to=1, mode="continue")
        await asyncio.sleep(0.5)
        again = [r.method for r in cloud.requests if r.path.endswith(("/document", "/batch"))]
        assert again == asked, "nothing was written or removed there"
        assert await recalled(client, "sessions redis") == []
        await add(client, "Sessions live in PostgreSQL.")
        await eventually(lambda: len(kept(cloud)) == 4)

    kinds = sorted(document.metadata["kind"] for document in kept(cloud).values())
    assert kinds == ["checkpoint", "fact", "fact", "move"]


@pytest.mark.files
async def test_forgetting_removes_the_document_and_says_so_there_too(
    mine: Settings, era: Era, cloud: Cloud
) -> None:
    """Other machines learn of it by the tombstone, which says nothing of the text."""
    async with agent(mine, era) as client:
        memory_id = await add(client, "The door code is 4711.")
        await synced(mine)
        assert memory_id in kept(cloud)
        await call(client, "forget_memory", memory_id=memory_id)
    await synced(mine)

    assert memory_id not in kept(cloud)
    (tombstone,) = kept(cloud).values()
    assert tombstone.metadata["kind"] == "tombstone"
    assert "4711" not in str(tombstone)


@pytest.mark.files
@pytest.mark.nightly
async def test_giving_up_a_line_for_good_removes_its_documents(
    mine: Settings, cloud: Cloud
) -> None:
    """`forget` erases everywhere, in as few requests as it can."""
    async with agent(mine, "auto") as client:
        await seal(client, "One", phase=1)
        doomed = {await add(client, f"Redis shard {number}.") for number in range(25)}
        await synced(mine)
        assert doomed <= kept(cloud).keys()
        await call(client, "backtrack", to=1, mode="forget")
    await synced(mine)

    assert not doomed & kept(cloud).keys()
    deletes = [r for r in cloud.requests if r.method == "DELETE"]
    assert sum(len(r.body["ids"]) for r in deletes) == len(doomed)
    assert len(deletes) <= 2


async def test_what_was_never_sent_need_not_be_removed(mine: Settings, cloud: Cloud) -> None:
    """A memory that was forgotten before it was delivered leaves nothing in the cloud at all."""
    cloud.faults.always("503")
    async with agent(mine, "auto") as client:
        memory_id = await add(client, "The door code is 4711.")
        await call(client, "forget_memory", memory_id=memory_id)
    cloud.faults.heal()
    await synced(mine)

    assert memory_id not in kept(cloud)
    assert not any("4711" in text for text in texts(cloud))


@pytest.mark.files
async def test_a_forget_made_offline_is_delivered_later_and_nothing_comes_back_meanwhile(
    mine: Settings, era: Era, cloud: Cloud
) -> None:
    """The tombstone wins over whatever the cloud still finds."""
    async with agent(mine, era) as client:
        memory_id = await add(client, "The door code is 4711.")
        await synced(mine)
        cloud.faults.always("503", where=lambda method, _path: method == "DELETE")
        await call(client, "forget_memory", memory_id=memory_id)
        found = await call(client, "search_memories", query="door code 4711")
        assert memory_id in kept(cloud), "it is still there"
        assert found["results"] == []
        assert "supermemory" in found["mode"] or found["degraded"]
    cloud.faults.heal()
    await synced(mine)

    assert memory_id not in kept(cloud)


@pytest.mark.files
async def test_a_forget_without_a_key_is_delivered_when_there_is_one_again(
    mine: Settings, settings: Settings, cloud: Cloud
) -> None:
    """Whoever forgets something on a bad day does not have to do it twice."""
    async with agent(mine, "auto") as client:
        memory_id = await add(client, "The door code is 4711.")
    await synced(mine)
    async with agent(settings, "auto") as client:
        await call(client, "forget_memory", memory_id=memory_id)
    assert memory_id in kept(cloud)
    await synced(mine)

    assert memory_id not in kept(cloud)


@pytest.mark.files
@pytest.mark.sampled(3)
@pytest.mark.parametrize("status", ["401", "402", "403"])
async def test_a_key_that_is_refused_stops_nothing_here(
    mine: Settings, cloud: Cloud, status: str
) -> None:
    """Said once in words, kept in the outbox, delivered when it is mended."""
    cloud.faults.always(status)  # pyright: ignore[reportArgumentType]  # the kinds of the parameters
    async with agent(mine, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        stopped = await synced(mine)
        found = await call(client, "search_memories", query="orders")
        head = await read(client, "memory_head")
    assert status in stopped.stopped
    assert status in found["degraded"]
    assert found["mode"] == "words+table"
    assert [result["content"] for result in found["results"]] == ["Orders live in PostgreSQL."]
    assert "sync pending (1)" in head
    assert status in head

    cloud.faults.heal()
    assert (await synced(mine)).stopped == ""
    assert texts(cloud) == ["Orders live in PostgreSQL."]


@pytest.mark.files
async def test_what_the_cloud_refuses_for_good_is_named_and_safe(
    mine: Settings, cloud: Cloud
) -> None:
    """One bad document keeps no others back, and nobody has to guess which one it is."""
    async with agent(mine, "auto") as client:
        cloud.faults.always("503")
        bad = await add(client, "Refused.")
        good = await add(client, "Taken.")
        cloud.refused_in_batch.add(bad)
        cloud.fails_processing.add(bad)
    cloud.faults.heal()
    await synced(mine)
    assert good in kept(cloud)
    assert [r["content"] for r in records(mine.project_dir or Path())] == ["Refused.", "Taken."]


@pytest.mark.files
async def test_a_broken_outbox_does_not_stop_a_memory(mine: Settings, cloud: Cloud) -> None:
    """Local work goes on; the receipt says that this one is not queued."""
    async with agent(mine, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
    await synced(mine)
    outbox = machine_dir(mine.project_dir or Path()) / "outbox.sqlite3"
    outbox.write_bytes(b"no database at all" * 500)
    async with agent(mine, "auto") as client:
        receipt = await call(client, "add_memory", content="Sessions live in Redis.")
        assert await recalled(client, "redis") == ["Sessions live in Redis."]
        assert "outbox.sqlite3" in await read(client, "memory_head")
        sealed = await call(client, "checkpoint", summary="One", phase=1)
        assert "outbox.sqlite3" in sealed["message"]

    assert receipt["success"] is True
    assert "sync --push-all" in receipt["message"]
    assert len(kept(cloud)) == 1
