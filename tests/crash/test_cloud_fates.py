"""What becomes of a delivery that went wrong at the worst moment: each of them once, by script."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from arrived import (
    drained,
    handed_over,
    hands_over,
    later,
    mirror_of,
    project_documents,
    remembered,
    until,
)
from cloud import Cloud
from cloud_faults import Kind
from mirrored import mirrored
from project import make_project

from memory_mcp import branches, search, sessions
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.cloud import Lease, NewEntry
from memory_mcp.domain.outcomes import MemoryForgotten, SearchResults
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.cloud import count_outboxes
from memory_mcp.engine.head import load_head, make_writing
from memory_mcp.memories import forget_memory
from memory_mcp.sync.pull import pull
from memory_mcp.sync.push import deliver_claim
from memory_mcp.text.drafts import build_tombstone

pytestmark = pytest.mark.anyio


def gets(method: str, path: str) -> bool:
    """Asking for one document."""
    return method == "GET" and "/document/" in path


def lists(method: str, path: str) -> bool:
    """Looking at many."""
    return method == "POST" and path.endswith("/list/documents")


async def forget(built: BuiltWorkspace, record: Record) -> None:
    """Erase a memory everywhere."""
    assert isinstance(
        await forget_memory(built.workspace, record.id, "", erase=True), MemoryForgotten
    )


@pytest.mark.parametrize("kind", ["429", "401", "500"])
async def test_a_refused_question_does_not_make_an_add_unsent(
    kind: Kind, tmp_path: Path, cloud: Cloud
) -> None:
    """That the question was refused says nothing about the add before it, which had arrived."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        cloud.faults.next("lost", where=hands_over)
        cloud.faults.next(kind, where=gets)
        record = await remembered(built, "orders rest in PostgreSQL")
        clock = later(built)
        for _ in range(3):
            await handed_over(built)
            clock.advance(timedelta(minutes=10))

        assert cloud.faults.injected == {"lost": 1, kind: 1}
        assert cloud.posted == {record.id: 1}
        assert (await count_outboxes(built.workspace)).delivered == 1


async def test_what_had_arrived_stays_arrived_when_the_rest_is_refused(
    tmp_path: Path, cloud: Cloud
) -> None:
    """Of two whose answer was lost one is there; handing over the other one is refused."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        there = await remembered(built, "orders rest in PostgreSQL")
        missing = await remembered(built, "carts rest in Redis")
        cloud.refused_in_batch.add(missing.id)
        cloud.faults.next("lost", "429", where=hands_over)
        await handed_over(built)

        assert cloud.faults.injected == {"lost": 1, "429": 1}
        assert cloud.posted == {there.id: 1, missing.id: 1}


async def test_of_two_hand_overs_in_one_go_the_first_counts_when_the_second_is_refused(
    tmp_path: Path, cloud: Cloud
) -> None:
    """With extraction, memories and what only moves the head go separately."""
    async with mirrored(make_project(tmp_path), cloud.url, extraction=True) as built:
        memories = [await remembered(built, f"orders have {n} lines") for n in range(2)]
        await branches.fork_branch(built.workspace, "experiment", "")
        refusals = iter([False, True])
        cloud.faults.next("429", where=lambda m, p: hands_over(m, p) and next(refusals, False))
        await handed_over(built)

        assert cloud.faults.injected == {"429": 1}
        assert {record.id: cloud.posted[record.id] for record in memories} == {
            record.id: 1 for record in memories
        }
        assert set(cloud.posted.values()) == {1}


@pytest.mark.parametrize("kind", ["lost", "reset"])
async def test_what_is_forgotten_before_its_lost_answer_is_cleared_up_is_removed_at_once(
    kind: Kind, tmp_path: Path, cloud: Cloud
) -> None:
    """Its record is gone, so nothing is left to send; the removal must not wait for that."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        cloud.faults.next(kind, where=hands_over)
        record = await remembered(built, "the password is in the safe")
        clock = later(built)
        await deliver_claim(built.workspace.project)
        assert (record.id in project_documents(cloud, built)) == (kind == "lost")
        await forget(built, record)
        for _ in range(5):
            clock.advance(timedelta(seconds=30))
            await handed_over(built)

        assert record.id not in project_documents(cloud, built)
        tally = await count_outboxes(built.workspace)
        assert (tally.pending, tally.dead) == (0, 0)


async def test_what_another_clone_forgot_is_removed_although_its_answer_was_lost(
    tmp_path: Path, cloud: Cloud
) -> None:
    """Nobody here noted a removal before the record was gone, and it counted as never sent."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        cloud.faults.next("lost", where=hands_over)
        record = await remembered(built, "the password is in the safe")
        clock = later(built)
        await deliver_claim(built.workspace.project)
        await _forgotten_elsewhere(built, record)
        clock.advance(timedelta(seconds=30))
        await deliver_claim(built.workspace.project)
    async with mirrored(tmp_path, cloud.url) as built:
        await drained(built)

        assert record.id not in project_documents(cloud, built)


async def _forgotten_elsewhere(built: BuiltWorkspace, record: Record) -> None:
    """A tombstone came in with the files of another clone."""
    head = await load_head(built.workspace)
    at = built.workspace.clock.now()
    tombstone = build_tombstone(
        record, "", make_writing(built.workspace, head.timeline, at), erase=True
    )
    await built.workspace.project.records.put(tombstone)
    await built.workspace.project.records.erase({record.id})
    await built.workspace.project.index.catch_up()


async def test_catching_up_removes_from_the_cloud_what_another_clone_forgot(
    tmp_path: Path, cloud: Cloud
) -> None:
    """A forget that was cut short, or made elsewhere, is completed in the cloud as well."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        record = await remembered(built, "the password is in the safe")
        await handed_over(built)
        assert cloud.posted == {record.id: 1}
        head = await load_head(built.workspace)
        written = make_writing(built.workspace, head.timeline, built.workspace.clock.now())
        await built.workspace.project.records.put(build_tombstone(record, "", written, erase=True))
        await sessions.catch_up(built.workspace)
        await handed_over(built)

        assert record.id not in project_documents(cloud, built)


@pytest.mark.parametrize("forgotten", [False, True])
async def test_a_session_that_slept_past_its_lease_sends_nothing_of_it(
    forgotten: bool,  # noqa: FBT001  # the parameter's name is what is asked
    tmp_path: Path,
    cloud: Cloud,
) -> None:
    """A laptop that wakes up: others have delivered that long ago, or it was forgotten since."""
    make_project(tmp_path)
    async with mirrored(tmp_path, cloud.url) as sleeper, mirrored(tmp_path, cloud.url) as other:
        cloud.faults.next("reset", where=hands_over)
        record = await remembered(sleeper, "orders rest in PostgreSQL")
        await deliver_claim(sleeper.workspace.project)
        clock = later(sleeper, timedelta(seconds=10))
        mirror_of(other).clock = clock
        cloud.faults.next("lost-hang", where=gets)
        asleep = anyio.Event()

        async def sleep() -> None:
            await deliver_claim(sleeper.workspace.project)
            asleep.set()

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(sleep)
                await until(lambda: cloud.faults.injected["lost-hang"])
                clock.advance(timedelta(minutes=2))
                await handed_over(other)
                if forgotten:
                    await forget(other, record)
                    for _ in range(5):
                        clock.advance(timedelta(minutes=2))
                        await handed_over(other)
                    assert project_documents(cloud, other).keys().isdisjoint([record.id])
                cloud.faults.heal()
        assert asleep.is_set()

        assert cloud.posted[record.id] == 1
        assert (record.id in project_documents(cloud, other)) is not forgotten


async def test_looks_that_were_not_answered_do_not_make_a_document_count_as_lost(
    tmp_path: Path, cloud: Cloud
) -> None:
    """After a long outage there is a long queue over there; what waits in it was not lost."""
    cloud.processing_seconds = 3600
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        record = await remembered(built, "orders rest in PostgreSQL")
        clock = later(built)
        await handed_over(built)
        unanswered: list[Kind] = ["503"] * 40
        cloud.faults.next(*unanswered, where=lists)
        for _ in range(60):
            clock.advance(timedelta(minutes=10))
            await deliver_claim(built.workspace.project)
            if cloud.faults.injected["503"] == 40:
                break
        for _ in range(3):
            clock.advance(timedelta(minutes=10))
            await handed_over(built)
        assert cloud.faults.injected == {"503": 40}

        assert cloud.posted == {record.id: 1}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("turns", range(8))
async def test_a_claim_stands_whatever_becomes_of_what_is_noted_beside_it(
    turns: int, tmp_path: Path, cloud: Cloud
) -> None:
    """Marked as sent before it is sent: a note that fails must not take the mark back."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        record = await remembered(built, "orders rest in PostgreSQL")
        outbox = mirror_of(built).outbox
        bad = NewEntry(record, "add")  # pyright: ignore[reportArgumentType]  # nothing SQLite can keep

        async def note() -> None:
            with pytest.raises(sqlite3.Error):
                await outbox.note([NewEntry(record.id, "add"), bad], 0)

        now = mirror_of(built).now()
        claims: list[Lease | None] = []
        async with anyio.create_task_group() as group:
            group.start_soon(note)
            for _ in range(turns):  # of the loop: somewhere in there the transaction is open
                await anyio.lowlevel.checkpoint()
            claims.append(await outbox.claim(now, now + 60))
        assert claims != [None]
        assert await outbox.claim(now, now + 60) is None


async def test_what_is_on_its_way_out_is_not_taken_in_again(tmp_path: Path, cloud: Cloud) -> None:
    """A look around between the erasing here and the erasing there."""
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        kept = await remembered(built, "carts rest in Redis")
        record = await remembered(built, "the password is in the safe")
        await handed_over(built)
        await built.workspace.project.erase(
            {record.id}
        )  # late on a line that was given up: no tombstone
        await pull(built.workspace, built.workspace.project, whole=True)

        assert await built.workspace.project.records.ids() == {kept.id}
        await handed_over(built)
        assert project_documents(cloud, built).keys() == {kept.id}


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "socks5://127.0.0.1:1080"), ("SSL_CERT_FILE", "/nowhere")]
)
async def test_a_connection_that_cannot_even_be_made_does_not_stop_a_search(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the environment is set up for other programs: the memories are here all the same."""
    monkeypatch.setenv(name, value)
    async with mirrored(make_project(tmp_path), "https://api.supermemory.ai") as built:
        record = await remembered(built, "orders rest in PostgreSQL")
        found = await search.search_memories(built.workspace, "orders", Filters(), 5)
        assert isinstance(found, SearchResults)
        assert [hit.record.id for hit in found.hits] == [record.id]
        assert "SSL_CERT_FILE" in found.degraded
        await handed_over(built)
        tally = await count_outboxes(built.workspace)

    assert tally.pending == 1
    assert "leave no way to api.supermemory.ai" in tally.circuit.blocked
