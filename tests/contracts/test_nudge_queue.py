"""The contract of `ports.NudgeQueue`, for every adapter: memory, files, both kinds of SQS queue."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fakes import START, FakeIds
from nudges_in_memory import MemoryNudges
from sqs import Queues

from memory_mcp.disk import Disk
from memory_mcp.domain.nudges import Nudge, NudgeHandover, NudgeId, NudgeRemoval
from memory_mcp.errors import RemoteUnavailableError, StoreError
from memory_mcp.ports import NudgeQueue
from memory_mcp.storage.files.nudges import LocalNudges
from memory_mcp.storage.sqs import SqsNudges

pytestmark = pytest.mark.anyio

Door = Callable[[], NudgeQueue]
"""Another session's way to the same queue."""

MINUTE = timedelta(minutes=1)
IDS = FakeIds()


@pytest.fixture(params=["memory", "local", "sqs", pytest.param("fifo", marks=pytest.mark.nightly)])
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Door:
    def folder_of(user: str) -> Path:
        return tmp_path / user / "nudges"

    match request.param:
        case "memory":
            queue = MemoryNudges()
            return lambda: queue
        case "local":
            return lambda: LocalNudges(folder_of, Disk())
        case kind:
            queues: Queues = request.getfixturevalue("sqs")
            url = queues(fifo=kind == "fifo")
            return lambda: SqsNudges(url, folder_of, Disk(), wait_seconds=0, seconds_max=60)


@pytest.fixture
def queue(door: Door) -> NudgeQueue:
    return door()


def nudge(text: str, after: int = 0, **fields: Any) -> Nudge:
    """A nudge that was left so many minutes after the start."""
    at = START + after * MINUTE
    given: dict[str, Any] = {"id": NudgeId(IDS.new(at)), "user": "ann", "created_at": at}
    return Nudge(text=text, **{**given, **fields})


async def texts(queue: NudgeQueue, user: str = "ann") -> list[str]:
    return [each.text for each in (await queue.waiting(user, START)).nudges]


async def test_an_empty_queue_gives_nothing(queue: NudgeQueue) -> None:
    """Most sessions begin like this."""
    assert (await queue.waiting("ann", START)).nudges == ()
    assert await queue.take("ann", START) is None
    assert await queue.clear("ann") == NudgeRemoval(0)
    assert queue.place("ann")


async def test_what_was_left_comes_out_as_it_was(queue: NudgeQueue, door: Door) -> None:
    """Whoever left it chose the words."""
    left = nudge(
        'Über "naïve" \\ tea 🍵?\n\tSoon.',
        priority=9,
        expires_at=START + MINUTE,
        by="a-program/1.0",
    )
    await queue.add(left)

    assert (await door().waiting("ann", START)).nudges == (left,)
    assert await door().take("ann", START) == left


async def test_the_best_comes_first_and_looking_takes_nothing(queue: NudgeQueue) -> None:
    """What matters most, then what has waited longest."""
    await queue.add(nudge("late", 2))
    await queue.add(nudge("minor", 0, priority=1))
    await queue.add(nudge("early", 1))
    await queue.add(nudge("urgent", 3, priority=10))

    for _ in range(2):
        assert await texts(queue) == ["urgent", "early", "late", "minor"]


async def test_taking_one_clears_the_queue(queue: NudgeQueue, door: Door) -> None:
    """One is an icebreaker, a list is homework."""
    for number in range(12):  # more than SQS hands out or deletes at once
        await queue.add(nudge(f"number {number}", number, priority=7 if number == 7 else 5))
    taken = await door().take("ann", START)

    assert taken is not None
    assert taken.text == "number 7"
    assert await texts(queue) == []
    assert await door().take("ann", START) is None


async def test_what_has_expired_is_neither_shown_nor_taken_and_goes_as_well(
    queue: NudgeQueue,
) -> None:
    """ "The meeting starts in five minutes" is no good an hour later."""
    await queue.add(nudge("expired", priority=10, expires_at=START))
    assert await texts(queue) == []
    assert await queue.take("ann", START - MINUTE) is not None, "it held until then"

    await queue.add(nudge("expired", priority=10, expires_at=START))
    await queue.add(nudge("holds", expires_at=START + MINUTE))
    taken = await queue.take("ann", START)
    assert taken is not None
    assert taken.text == "holds"
    assert await queue.take("ann", START - MINUTE) is None


async def test_users_never_see_each_others(queue: NudgeQueue, door: Door) -> None:
    """Several may share a queue, or a machine."""
    await queue.add(nudge("for ann"))
    await queue.add(nudge("for bob", user="bob", priority=10))

    assert await texts(queue) == ["for ann"]
    taken = await door().take("ann", START)
    assert taken is not None
    assert taken.text == "for ann"
    assert await door().clear("ann") == NudgeRemoval(0)
    assert await texts(queue, "bob") == ["for bob"]
    assert (await door().take("bob", START)) is not None


async def test_of_sessions_that_start_together_one_gets_it(queue: NudgeQueue, door: Door) -> None:
    """Nobody wants to hear it from four windows."""
    for number in range(3):
        await queue.add(nudge(f"number {number}", number))
    answers = await asyncio.gather(
        *(door().take("ann", START) for _ in range(6)), return_exceptions=True
    )

    # on a slow machine one may have waited for the lock for too long: it shows nothing
    taken = [found for found in answers if found is not None and not isinstance(found, StoreError)]
    assert [found.text for found in taken if isinstance(found, Nudge)] == ["number 0"]
    assert len(taken) == 1
    assert await texts(queue) == []


async def test_nothing_is_removed_for_a_session_that_has_left(
    queue: NudgeQueue, door: Door
) -> None:
    """Nobody could show it; and whom a removal has begun for must wait for it."""
    await queue.add(nudge("Tea?"))
    left, waits = NudgeHandover(), NudgeHandover()
    assert left.leaves()
    with suppress(RemoteUnavailableError):  # or it says so
        assert await door().take("ann", START, left) is None
    assert await texts(queue) == ["Tea?"]

    assert await door().take("ann", START, waits) is not None
    assert not waits.leaves()


async def test_clearing_removes_what_waits_unseen(queue: NudgeQueue) -> None:
    """A program gone wild must not greet the user for a week."""
    for number in range(11):
        await queue.add(nudge(f"number {number}", number))

    assert await queue.clear("ann") == NudgeRemoval(11)
    assert await queue.take("ann", START) is None
