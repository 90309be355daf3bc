"""The contract of `ports.Outbox`: many at once, in one process and in several."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from threading import Lock

import pytest
from outboxes import LEASE, Doors, claim, delivered, named, note, settle, some

from memory_mcp.domain.cloud import Accepted, Done, Standing
from memory_mcp.domain.ids import RecordId
from memory_mcp.ports import Outbox

pytestmark = pytest.mark.anyio

A, B = some(2)


@pytest.mark.parametrize("turns", range(6))
async def test_that_it_is_sent_is_durable_before_anything_is_sent(
    doors: Doors, outbox: Outbox, turns: int
) -> None:
    """Also in the midst of a batch of notes: whoever is killed now must find it sent."""
    await note(outbox, A)
    noting = asyncio.create_task(note(outbox, *some(500)[4:], quiet=True))
    for _ in range(turns):
        await asyncio.sleep(0)
    with closing(sqlite3.connect(doors.path)) as reader:
        await claim(outbox)
        stages = reader.execute("SELECT stage FROM parcel WHERE record = ?", (A,)).fetchall()
    await noting

    assert stages == [("sent",)]


@pytest.mark.parametrize("turns", range(6))
async def test_a_batch_that_fails_takes_nothing_else_with_it(
    outbox: Outbox, other: Outbox, turns: int
) -> None:
    """Notes of one call, and a claim or a standing of another, are different transactions."""
    await note(outbox, A)
    noting = asyncio.create_task(note(outbox, B, RecordId("\ud800")))
    for _ in range(turns):
        await asyncio.sleep(0)
    claimed, *_ = await asyncio.gather(
        outbox.claim(0, 60), outbox.stand(Standing(failures=3)), outbox.see_until("1")
    )
    with pytest.raises(UnicodeEncodeError):
        await noting

    assert named(claimed) == [A]
    assert await other.claim(1, 61) is None
    assert (await other.standing()).failures == 3
    assert await other.seen_until() == "1"


async def test_many_processes_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """Each thread is a process's worth: its own loop, its own connection."""
    path, records, writers = tmp_path / "outbox.sqlite3", some(240), 4
    claimed: Counter[tuple[RecordId, str]] = Counter()
    lock = Lock()

    async def work(number: int) -> None:
        doors = Doors(path)
        outbox = doors.open()
        mine = records[number::writers]
        for start in range(0, len(mine), 7):
            await note(outbox, *mine[start : start + 7])
            await once(outbox)
        await note(outbox, *mine[::3], op="delete", now=0)
        while (await outbox.tally()).next_due is not None:
            await once(outbox)
        await doors.aclose()

    async def once(outbox: Outbox) -> None:
        found = await outbox.claim(0, LEASE)
        if found is None:
            return
        with lock:
            claimed.update((p.record, f"{p.op} {p.stage}") for p in found.parcels)
        await settle(outbox, found, Done() if found.stage == "accepted" else Accepted(0))

    def process(number: int) -> None:
        asyncio.run(work(number))

    await asyncio.gather(*(asyncio.to_thread(process, number) for number in range(writers)))

    deleted = {record for number in range(writers) for record in records[number::writers][::3]}
    doors = Doors(path)
    outbox = doors.open()
    assert await outbox.gone() == deleted
    assert await outbox.known() == set(records) - deleted
    assert set(claimed.values()) == {1}
    sent = {record for record, what in claimed if what == "add new"}
    assert sent >= set(records) - deleted
    assert {r for r, what in claimed if what == "delete new"} == sent & deleted
    await doors.aclose()


async def test_tasks_of_one_process_share_an_outbox(outbox: Outbox) -> None:
    """The delivery and the calls of one session use one connection."""
    records = some(120)

    async def write(mine: list[RecordId]) -> None:
        for start in range(0, len(mine), 5):
            await note(outbox, *mine[start : start + 5])

    async def carry() -> list[RecordId]:
        done: list[RecordId] = []
        for _ in range(200):
            found = await outbox.claim(0, LEASE)
            if found:
                done += named(found)
                await settle(outbox, found, Done())
            elif len(await outbox.known()) == len(records):
                break
        return done

    lists = await asyncio.gather(
        carry(), carry(), carry(), *(write(records[n::4]) for n in range(4))
    )
    found = [record for carried in lists[:3] for record in carried or ()]
    assert len(found) == len(set(found))
    await delivered(outbox)
    assert await outbox.known() == set(records)
    assert (await outbox.tally()).delivered == len(records)
