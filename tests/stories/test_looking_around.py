"""What a look around takes in, whatever the order in which it arrived and wherever it ends."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cloud import Cloud
from doors import add, agent, call, files_with, read, recalled, seal, trust
from mirrors import kept, machine, mirrored, synced

from memory_mcp import branches, maintenance, memories, sync
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import HeadReport
from memory_mcp.domain.record import Draft

pytestmark = pytest.mark.anyio


@pytest.fixture
def desk(tmp_path: Path, cloud: Cloud) -> Settings:
    return machine(tmp_path / "desk", cloud)


@pytest.fixture
def laptop(tmp_path: Path, cloud: Cloud) -> Settings:
    return machine(tmp_path / "laptop", cloud)


async def many(settings: Settings, count: int) -> None:
    """More than a page of the cloud's listings holds."""
    async with open_workspace(settings) as built:
        for number in range(count):
            await memories.add_memory(built.workspace, Draft(f"Rule {number} of the desk."))


def listing(page: int) -> Callable[[str, str], bool]:
    """That request, and none before it."""
    asked = 0

    def this(_method: str, path: str) -> bool:
        nonlocal asked
        asked += path.endswith("/list/documents")
        return path.endswith("/list/documents") and asked >= page

    return this


@pytest.mark.nightly
async def test_ones_own_documents_do_not_end_a_look(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """What was delivered from here in the meantime hides nothing of the others."""
    async with agent(desk, "auto") as client:
        await seal(client, "One", phase=1)
        await add(client, "Sessions live in Redis.")
    await synced(desk)
    await synced(laptop)
    async with agent(laptop, "auto") as client:
        await call(client, "backtrack", to=1, mode="continue")
        await add(client, "Sessions live in PostgreSQL.")
    await synced(laptop)
    await many(replace(desk, provider="auto"), 120)
    async with open_workspace(desk) as built:  # delivered without a look
        for bank in built.workspace.banks:
            await sync.drain(bank, lambda _done, _total: None)
    assert len(kept(cloud)) > 120
    async with agent(desk, "auto") as client:
        assert await recalled(client, "where do sessions live") == ["Sessions live in PostgreSQL."]


@pytest.mark.nightly
async def test_what_hides_comes_in_before_what_it_hides(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """Also if it was delivered long before: a batch may have been sent again later."""
    async with agent(replace(desk, provider="local"), "auto") as client:
        for number in range(20):
            await add(client, f"Sessions live in Redis {number}.")
        await call(client, "backtrack", to="start", mode="continue")
    await many(replace(desk, provider="local"), 110)
    cloud.faults.next("503", where=lambda _method, path: path.endswith("/batch"))
    await synced(desk, push_all=True)
    await synced(desk, push_all=True)
    assert len(kept(cloud)) == 131
    cloud.faults.always("503", where=listing(4))
    async with agent(laptop, "auto") as client:
        found = await recalled(client, "sessions redis")
    async with agent(replace(laptop, provider="local"), "auto") as client:
        found += await recalled(client, "sessions redis")

    assert found == []


async def test_a_look_that_failed_half_way_is_made_good_by_the_next(
    desk: Settings, laptop: Settings
) -> None:
    """The moves are here, and the head does not know them yet: whoever looks next tells it."""
    async with agent(laptop, "auto") as client:
        await add(client, "Here first.")
    async with agent(desk, "auto") as client:
        await add(client, "Sessions live in Redis.")
        await call(client, "backtrack", to="start", mode="continue")
        await add(client, "Sessions live in PostgreSQL.")
    await synced(desk)
    async with open_workspace(laptop) as built:
        heads = built.workspace.project.index
        moves, heads.moves = heads.moves, _broken
        with pytest.raises(OSError, match="in the middle"):
            await sync.sync(built.workspace, lambda _done, _total: None)
        heads.moves = moves
    await synced(laptop)
    async with agent(laptop, "auto") as client:
        assert await recalled(client, "where do sessions live") == ["Sessions live in PostgreSQL."]


async def _broken() -> list[RecordId]:
    raise OSError("in the middle")


@pytest.mark.nightly
async def test_a_line_given_up_for_good_leaves_what_others_wrote_on_it(
    desk: Settings, laptop: Settings
) -> None:
    """It was acknowledged there: it is hidden, and can be restored as a line of its own.

    What this machine did not give up itself goes with the user's word.
    """
    async with agent(desk, "auto") as client:
        await seal(client, "One", phase=1)
        redis = await add(client, "Sessions live in Redis.")
    await synced(desk)
    await synced(laptop)
    async with agent(laptop, "auto") as client:
        await add(client, "The door code is blue otter.")
    async with agent(replace(desk, provider="local"), "auto") as client:
        await call(client, "backtrack", to=1, mode="forget")
    await synced(laptop)
    for settings in (desk, laptop):
        await synced(settings, push_all=True)
    async with open_workspace(laptop) as built:
        waits = (await sync.report_sync(built.workspace)).waiting
        erased = (await sync.erase_forgotten_elsewhere(built.workspace)).erased
    assert [each.id for each in erased] == [each.id for each in waits] == [redis]
    for settings in (desk, laptop, desk, laptop):
        await synced(settings, push_all=True)

    for settings in (desk, laptop):
        assert settings.project_dir is not None
        assert files_with(settings.project_dir.parent, "in Redis") == []
        async with open_workspace(settings) as built:
            assert [f.code for f in await maintenance.run_doctor(built.workspace)] == [
                "forgotten-left"
            ]
            report = await branches.report_head(built.workspace)
            assert isinstance(report, HeadReport)
            assert [state.memories for state in report.lines] == [1]


async def test_another_address_knows_nothing_and_a_forget_is_done_at_both(
    desk: Settings, cloud: Cloud
) -> None:
    """What was delivered to one cloud is not there in the next."""
    async with agent(desk, "auto") as client:
        memory_id = await add(client, "The door code is blue otter.")
        await add(client, "Orders live in PostgreSQL.")
    await synced(desk)
    away = replace(desk, base_url=cloud.url.replace("127.0.0.1", "localhost"))
    async with agent(away, "auto") as client:
        await call(client, "forget_memory", memory_id=memory_id)
        cloud.faults.always("503", where=lambda method, _path: method == "DELETE")
    cloud.faults.heal()
    await synced(desk, push_all=True)

    assert memory_id not in kept(cloud)


@pytest.mark.nightly
async def test_a_namespace_that_was_emptied_is_filled_again(desk: Settings, cloud: Cloud) -> None:
    """Sending everything asks what is there, instead of believing what was."""
    await many(desk, 5)
    await synced(desk)
    async with open_workspace(desk) as built:
        for bank in built.workspace.banks:
            assert bank.mirror
            await bank.mirror.outbox.mark(await bank.records.ids())
    for namespace in cloud.namespaces():
        cloud.delete_namespace(namespace, None)
    await synced(desk, push_all=True)

    assert len(kept(cloud)) == 5


async def test_a_project_that_got_its_remote_later_is_read_by_the_others(
    tmp_path: Path, cloud: Cloud, laptop: Settings
) -> None:
    """The namespace says whose it is; what the project was called before does not matter."""
    old = tmp_path / "desk" / "shop"
    (old / ".git").mkdir(parents=True)
    alone = Settings(project_dir=old, home=tmp_path / "desk" / "home", user="ada", approval="auto")
    async with agent(alone, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
    assert laptop.project_dir is not None
    config = (laptop.project_dir / ".git" / "config").read_text("utf-8")
    (old / ".git" / "config").write_text(config, "utf-8")
    trust(old, tmp_path / "desk" / "home")
    await synced(mirrored(alone, cloud), push_all=True)
    async with agent(laptop, "auto") as client:
        assert await recalled(client, "orders") == ["Orders live in PostgreSQL."]


async def test_the_profile_keeps_out_what_was_corrected_or_is_being_forgotten(
    desk: Settings, cloud: Cloud
) -> None:
    """The cloud's words cannot be judged here, so what does not hold is not asked for."""
    extracting = replace(desk, extraction=True)
    async with agent(extracting, "auto") as client:
        old = await add(client, "The port is eighty.")
        secret = await add(client, "The door code is blue otter.")
        await call(client, "update_memory", memory_id=old, content="The port is 9000.")
        await synced(extracting)
        shown = await read(client, "memory_context")
        cloud.faults.always("503", where=lambda method, _path: method == "DELETE")
        await call(client, "forget_memory", memory_id=secret)
        later = await read(client, "memory_context")

    assert "The port is 9000." in shown.split("What the cloud")[1]
    assert "eighty" not in shown
    assert "otter" not in later


async def test_little_does_not_look_like_all_there_is(
    desk: Settings, laptop: Settings, cloud: Cloud
) -> None:
    """On a new machine, while the cloud is down: an outage is no empty memory."""
    async with agent(desk, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
    await synced(desk)
    cloud.faults.always("503")
    async with agent(laptop, "auto") as client:
        said = [
            await read(client, "memory_context"),
            await read(client, "memory_head"),
            (await call(client, "search_memories"))["message"],
        ]
    cloud.faults.heal()
    await synced(laptop)
    async with agent(laptop, "auto") as client:
        later = [await read(client, "memory_context"), await read(client, "memory_head")]

    assert all("may not be here yet" in words for words in said)
    assert not any("may not be here yet" in words for words in later)
