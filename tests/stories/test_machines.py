"""Several machines and one project: what one of them learnt, sealed, left or forgot, all know."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from cloud import Cloud
from doors import (
    Era,
    add,
    agent,
    call,
    files_with,
    machine_dir,
    read,
    recalled,
    records,
    seal,
    trust,
    trust_cloud,
)
from mirrors import KEY, eventually, kept, machine, mirrored, synced

from memory_mcp import maintenance, sync
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.files]


@pytest.fixture
def desk(tmp_path: Path, cloud: Cloud) -> Settings:
    return machine(tmp_path / "desk", cloud)


@pytest.fixture
def laptop(tmp_path: Path, cloud: Cloud) -> Settings:
    return machine(tmp_path / "laptop", cloud)


def folder(settings: Settings) -> Path:
    assert settings.project_dir is not None
    return settings.project_dir


async def erased_by_the_user(settings: Settings) -> sync.SyncReport:
    """As `memory-mcp cloud sync --erase` does it."""
    async with open_workspace(settings) as built:
        return await sync.erase_forgotten_elsewhere(built.workspace)


def kept_of(settings: Settings) -> Path:
    """What this machine keeps of the project."""
    assert settings.home is not None
    return machine_dir(folder(settings), settings.home)


async def content(settings: Settings) -> bool:
    """Whether the doctor finds everything as it must be."""
    async with open_workspace(settings) as built:
        return await maintenance.run_doctor(built.workspace) == []


async def test_a_memory_of_another_machine_is_found_and_taken_in_under_its_own_id(
    desk: Settings, laptop: Settings, era: Era
) -> None:
    """It says where it was written; from then on it is here, also without the cloud."""
    async with agent(desk, era) as client:
        sealed = await seal(client, "Storage is settled.", phase=1)
        memory_id = await add(client, "Orders live in PostgreSQL.")
    await synced(desk)
    async with agent(laptop, era) as client:
        found = await call(client, "search_memories", query="where do orders live")
        head = await read(client, "memory_head")
    async with agent(replace(laptop, provider="local"), era) as client:
        alone = await call(client, "search_memories", query="orders")

    (result,) = found["results"]
    assert result["memoryId"] == memory_id
    assert result["metadata"]["place"] == f"another machine, branch main, after {sealed}"
    assert sealed in head
    assert [r["memoryId"] for r in alone["results"]] == [memory_id]
    assert "place" not in alone["results"][0]["metadata"]
    assert await content(laptop)


async def test_what_one_machine_abandoned_is_not_recalled_on_the_other(
    desk: Settings, laptop: Settings, era: Era
) -> None:
    """The other one never saw the road, only its end: a backtrack to before everything."""
    async with agent(desk, era) as client:
        await add(client, "Sessions live in Redis.")
        await call(client, "backtrack", to="start", mode="continue")
        await add(client, "Sessions live in PostgreSQL.")
    await synced(desk)
    async with agent(laptop, era) as client:
        assert await recalled(client, "where do sessions live") == ["Sessions live in PostgreSQL."]
        assert await recalled(client) == ["Sessions live in PostgreSQL."]


async def test_a_backtrack_reaches_a_machine_that_knew_the_memory_already(
    desk: Settings, laptop: Settings, era: Era
) -> None:
    """With the next memory of the one, and the next search of the other."""
    async with agent(desk, era) as client:
        await seal(client, "One", phase=1)
        await add(client, "Sessions live in Redis.")
        await synced(desk)
        async with agent(laptop, era) as other:
            assert await recalled(other, "sessions") == ["Sessions live in Redis."]
        await call(client, "backtrack", to=1, mode="continue")
        await add(client, "Sessions live in PostgreSQL.")
    await synced(desk)
    async with agent(laptop, era) as other:
        assert await recalled(other, "sessions") == ["Sessions live in PostgreSQL."]
    assert await content(laptop)


async def test_what_one_machine_forgot_is_hidden_on_the_other_until_the_user_erases_it(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """The cloud erases nothing here; and no machine brings the text back to it."""
    async with agent(desk, "auto") as client:
        memory_id = await add(client, "The door code is 4711.")
        await synced(desk)
        async with agent(laptop, "auto") as other:
            assert await recalled(other, "door code") == ["The door code is 4711."]
        await call(client, "forget_memory", memory_id=memory_id)
    await synced(desk)
    waits = (await synced(laptop, pull_all=True)).waiting
    async with agent(laptop, "auto") as other:
        assert await recalled(other, "door code") == []
        head = await read(other, "memory_head")
    async with open_workspace(laptop) as built:
        codes = [finding.code for finding in await maintenance.run_doctor(built.workspace)]
    await synced(laptop, push_all=True)
    still = files_with(folder(laptop), "4711")
    erased = await erased_by_the_user(laptop)
    (kept_of(laptop) / "outbox.sqlite3").unlink()
    await synced(laptop, push_all=True)

    assert [waiting.id for waiting in waits] == [memory_id]
    assert "1 memory that another machine forgot is hidden here" in head
    assert "memory-mcp cloud sync --erase" in head
    assert codes == ["erasing-waits"]
    assert still
    assert [gone.id for gone in erased.erased] == [memory_id]
    assert erased.waiting == ()
    assert memory_id not in kept(cloud)
    assert files_with(folder(laptop).parent, "4711") == []
    assert await content(laptop)


async def test_a_machine_that_knows_a_forgotten_memory_does_not_send_it_again(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """Sending everything looks first at what was forgotten elsewhere."""
    async with agent(desk, "auto") as client:
        memory_id = await add(client, "The door code is 4711.")
        await synced(desk)
        await synced(laptop, pull_all=True)
        await call(client, "forget_memory", memory_id=memory_id)
    await synced(desk)
    await synced(laptop, push_all=True)

    assert memory_id not in kept(cloud)
    assert files_with(folder(laptop), "4711")


async def test_a_session_learns_of_the_others_beside_its_own_work(
    desk: Settings, laptop: Settings, era: Era
) -> None:
    """Nobody has to search for what they do not know: the session looks around by itself."""
    async with agent(desk, era) as client:
        await add(client, "Short commits, please.", kind="preference", scope="user")
        await add(client, "Orders live in PostgreSQL.")
    await synced(desk)
    home = laptop.home
    assert home is not None
    async with agent(laptop, era) as client:
        await read(client, "memory_context")
        await eventually(lambda: len(records(folder(laptop))) == 1 and len(records(home)) == 1)
        context = await read(client, "memory_context")

    assert "Short commits, please." in context
    assert "Orders live in PostgreSQL." in context


async def test_a_lost_store_comes_back_from_the_cloud_as_it_was(
    desk: Settings, cloud: Cloud, era: Era, tmp_path: Path
) -> None:
    """Byte for byte, checkpoints and roads that were left included."""
    async with agent(desk, era) as client:
        await add(client, "Orders live in PostgreSQL.")
        await add(client, "https://example.org/runbook")
        await add(client, "Short commits, please.", kind="preference", scope="user")
        await seal(client, "One", phase=1)
        await add(client, "Sessions live in Redis.")
        line = (await call(client, "backtrack", to=1, mode="continue"))["line"]
        await add(client, "Sessions live in PostgreSQL.")
        await synced(desk)
        head = await read(client, "memory_head")
    before = records(tmp_path / "desk")
    shutil.rmtree(folder(desk) / ".claude")
    shutil.rmtree(folder(desk) / ".state")
    shutil.rmtree(tmp_path / "desk" / "home")
    trust(folder(desk), tmp_path / "desk" / "home")
    trust_cloud(cloud.url, tmp_path / "desk" / "home")
    restored = await synced(desk, pull_all=True)

    assert restored.pulled.records == len(before)
    assert records(tmp_path / "desk") == before
    assert await content(desk)
    async with agent(desk, era) as client:
        assert "Sessions live in Redis." not in await recalled(client)
        assert await read(client, "memory_head") == head
        await call(client, "backtrack", to=line, mode="continue")
        assert "Sessions live in Redis." in await recalled(client)


@pytest.mark.nightly
async def test_a_project_that_was_local_so_far_moves_in_whole_and_only_when_told(
    desk: Settings, cloud: Cloud
) -> None:
    """Having a key is no leave to upload what was written before there was one."""
    async with agent(replace(desk, provider="local"), "auto") as client:
        ids = {await add(client, f"Old rule {number}.") for number in range(130)}
    async with agent(desk, "auto") as client:
        ids.add(await add(client, "A new rule."))
    first = await synced(desk)
    assert len(kept(cloud)) == 1
    assert first.unmirrored == 130

    cloud.faults.next("503", where=lambda _method, path: path.endswith("/batch"))
    await synced(desk, push_all=True)
    done = await synced(desk, push_all=True)

    assert kept(cloud).keys() == ids
    assert done.unmirrored == 0
    assert set(cloud.posted.values()) == {1}
    assert cloud.appended == []


@pytest.mark.nightly
async def test_sending_everything_again_sends_nothing_twice(desk: Settings, cloud: Cloud) -> None:
    """Also after the outbox, and with it the knowledge of what is there, was lost."""
    async with agent(desk, "auto") as client:
        for number in range(30):
            await add(client, f"Rule {number}.")
    await synced(desk)
    (kept_of(desk) / "outbox.sqlite3").unlink()
    await synced(desk, push_all=True)

    assert len(kept(cloud)) == 30
    assert set(cloud.posted.values()) == {1}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("own_ids", [True, False], ids=["own ids", "vendor ids"])
async def test_it_does_not_matter_what_the_cloud_calls_a_document(
    desk: Settings,
    laptop: Settings,
    cloud: Cloud,
    own_ids: bool,  # noqa: FBT001
) -> None:
    """Its answers may name our ids or its own."""
    cloud.answers_own_ids = own_ids
    async with agent(desk, "auto") as client:
        ids = {await add(client, f"Rule {number} of the house.") for number in range(5)}
        gone = await add(client, "The door code is 4711.")
        await synced(desk)
        await call(client, "forget_memory", memory_id=gone)
    await synced(desk)
    async with agent(laptop, "auto") as client:
        found = await call(client, "search_memories", query="rule house", limit=10)

    assert {r["memoryId"] for r in found["results"]} == ids
    assert gone not in kept(cloud)
    assert set(cloud.posted.values()) == {1}
    assert await content(laptop)


async def test_a_changed_document_is_left_there_and_named(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """What is not the text that was remembered is no memory."""
    async with agent(desk, "auto") as client:
        bad = await add(client, "Orders live in PostgreSQL.")
        good = await add(client, "Sessions live in Redis.")
    await synced(desk)
    kept(cloud)[bad].content = "Orders live nowhere."
    done = await synced(laptop, pull_all=True)

    assert done.pulled.unreadable == (bad,)
    assert [record["id"] for record in records(folder(laptop))] == [good]


async def test_a_meta_session_takes_nothing_in_and_delivers_nothing(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """It leaves no trace, on either side."""
    async with agent(desk, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
    await synced(desk)
    posted = cloud.posted.copy()
    async with agent(replace(laptop, meta=True), "auto") as client:
        found = await call(client, "search_memories", query="orders")

    assert found["results"] == []
    assert "1 matching memories of another machine are not shown" in found["message"]
    assert records(folder(laptop)) == []
    assert cloud.posted == posted


async def test_a_container_that_was_named_holds_the_project_whatever_it_is_called(
    tmp_path: Path, cloud: Cloud
) -> None:
    """Two folders without a common remote share it; the user's own memories keep their place."""
    tag = "repo_shop:1"
    for name in ("desk", "laptop"):
        (tmp_path / name / "shop").mkdir(parents=True)
    desk, laptop = (
        mirrored(
            Settings(
                project_dir=tmp_path / name / "shop", home=tmp_path / name / "home", user="ada"
            ),
            cloud,
            container_tag=tag,
        )
        for name in ("desk", "laptop")
    )
    strange: dict[str, Any] = {"content": "Somebody else's note.", "metadata": {}, "id": "note-1"}
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=cloud.url, headers=headers) as remote:
        assert (await remote.post(f"/ns/{tag}/document", json=strange)).status_code == 200
    async with agent(desk, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        await add(client, "Short commits, please.", kind="preference", scope="user")
    await synced(desk)
    done = await synced(laptop, pull_all=True)
    async with agent(laptop, "auto") as client:
        assert await recalled(client, "orders") == ["Orders live in PostgreSQL."]

    assert set(cloud.namespaces()) == {tag, "cc_u-ada_p-none"}
    assert len(cloud.documents("cc_u-ada_p-none")) == 1
    assert (done.pulled.records, done.pulled.unreadable) == (2, ())
    assert "note-1" in cloud.documents(tag)
