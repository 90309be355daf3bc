"""The contract of `ports.VectorIndex`, for every adapter."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes import MILLISECOND, Scribe
from vector_doors import ANY, ASKED, HERE, MODEL, Door, away, doors_to, view_of

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Candidate, Filters
from memory_mcp.errors import IndexDamagedError

pytestmark = pytest.mark.anyio

ELSEWHERE = SegmentId("elsewhere")
LEASE = timedelta(seconds=60)
OTHER = "another-model/1"


@pytest.fixture(params=["sqlite", "postgres", "memory"])
async def doors(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[list[Door]]:
    """Two processes' doors to one index."""
    where = {
        "sqlite": lambda: tmp_path / "index.sqlite3",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
        "memory": lambda: None,
    }[request.param]()
    async with doors_to(where, 2) as found:
        yield found


@pytest.fixture
def door(doors: list[Door]) -> Door:
    return doors[0]


@pytest.fixture
def other(doors: list[Door]) -> Door:
    return doors[1]


def written(scribe: Scribe, count: int) -> list[Record]:
    return [scribe.record(f"memory {n}", segment=HERE) for n in range(count)]


async def claimed(
    door: Door, scribe: Scribe, limit: int = 99, embedder: str = MODEL
) -> list[RecordId]:
    now = scribe.clock.now()
    return await door.vectors.claim(embedder, limit, now, now + LEASE)


async def test_the_newest_are_leased_first_and_each_once(
    door: Door, other: Door, scribe: Scribe
) -> None:
    """What was just written is what will be asked for; two sessions must not do the same work."""
    records = written(scribe, 7)
    ids = [record.id for record in records]
    await door.index.add(records[:5])
    assert await claimed(door, scribe, 2) == [ids[4], ids[3]]
    await other.index.add(records[5:])

    assert await claimed(other, scribe, 3) == [ids[6], ids[5], ids[2]]
    assert await claimed(door, scribe) == [ids[1], ids[0]]
    assert await claimed(other, scribe) == []


async def test_two_that_claim_at_once_share_the_work(
    door: Door, other: Door, scribe: Scribe
) -> None:
    """Each record goes to exactly one of them, however their calls cross."""
    records = written(scribe, 60)
    await door.index.add(records)

    shares = await asyncio.gather(
        *(claimed(each, scribe, 3) for _ in range(15) for each in (door, other))
    )

    got = [record_id for share in shares for record_id in share]
    assert len(got) == len(set(got))
    assert set(got) == {record.id for record in records}


async def test_a_lease_that_ran_out_is_taken_over(door: Door, other: Door, scribe: Scribe) -> None:
    """A session may be killed in the middle; what it claimed must not wait for ever."""
    [record] = written(scribe, 1)
    await door.index.add([record])
    assert await claimed(door, scribe) == [record.id]
    scribe.clock.advance(LEASE - MILLISECOND)
    assert await claimed(other, scribe) == []
    scribe.clock.advance(2 * MILLISECOND)

    assert await claimed(other, scribe) == [record.id]
    assert await claimed(door, scribe) == []


async def test_what_is_kept_is_claimed_by_nobody_any_more(door: Door, scribe: Scribe) -> None:
    """Not under this lease, and not when it has run out."""
    one, two = written(scribe, 2)
    await door.index.add([one, two])
    await claimed(door, scribe)
    assert await door.vectors.missing(MODEL) == 2, "a lease is not a vector"
    await door.vectors.keep(MODEL, {one.id: (away(1),)})
    scribe.clock.advance(2 * LEASE)

    assert await door.vectors.missing(MODEL) == 1
    assert await claimed(door, scribe) == [two.id]


async def test_keeping_twice_is_once_and_the_last_one_counts(
    door: Door, other: Door, scribe: Scribe
) -> None:
    """After a lease ran out, both may come back with what they made."""
    record, beside = written(scribe, 2)
    await door.put([(record, (away(1), away(2), away(3))), (beside, (away(5),))])
    assert await door.near(view_of(scribe)) == [record.id, beside.id]
    for _ in range(2):
        await other.vectors.keep(MODEL, {record.id: (away(9, b"tokens"),)})

    assert await door.near(view_of(scribe)) == [beside.id, record.id]
    read = await door.vectors.vectors(MODEL, [record.id, beside.id])
    assert read.passages == {record.id: (away(9, b"tokens"),), beside.id: (away(5),)}
    assert read.damaged == await door.vectors.damaged() == 0


async def test_what_was_erased_in_between_is_not_stored(
    door: Door, other: Door, scribe: Scribe
) -> None:
    """A forget must not be undone by whoever was encoding it, nor land in another's place."""
    old, late, new = written(scribe, 3)
    await door.index.add([old, late])
    await claimed(door, scribe)
    await other.index.remove({late.id})
    await other.index.add([new])  # takes the place in the table that became free
    await door.vectors.keep(MODEL, {late.id: (away(1), away(1)), old.id: (away(2),)})

    assert await door.near(view_of(scribe)) == [old.id]
    read = await door.vectors.vectors(MODEL, [old.id, late.id, new.id])
    assert set(read.passages) == {old.id}
    assert await door.vectors.missing(MODEL) == 1
    assert await claimed(other, scribe) == [new.id]


async def test_what_comes_back_is_encoded_anew(door: Door, scribe: Scribe) -> None:
    """A record whose file was lost and found again has no vectors until somebody makes them."""
    [record] = written(scribe, 1)
    await door.put([(record, (away(1),))])
    await door.index.remove({record.id})
    assert await door.vectors.missing(MODEL) == 0
    await door.index.add([record])

    assert await door.vectors.missing(MODEL) == 1
    assert await door.near(view_of(scribe)) == []
    assert await claimed(door, scribe) == [record.id]


async def test_only_what_a_search_may_find_is_encoded(door: Door, scribe: Scribe) -> None:
    """Tombstones and moves have nothing to say."""
    memory, grave = scribe.record(segment=HERE), scribe.record(kind="tombstone", segment=HERE)
    await door.index.add([grave, memory])

    assert await door.vectors.missing(MODEL) == 1
    assert await claimed(door, scribe) == [memory.id]


async def test_an_embedder_that_nobody_knew_has_everything_yet_to_encode(
    door: Door, scribe: Scribe
) -> None:
    """A switch of models is said honestly from the first search on."""
    records = written(scribe, 3)
    await door.put([(record, (away(1),)) for record in records])

    assert await door.vectors.missing(MODEL) == 0
    assert await door.vectors.missing(OTHER) == 3
    assert await claimed(door, scribe, 2, OTHER) == [records[2].id, records[1].id]
    assert await door.vectors.missing(OTHER) == 3


async def test_vectors_of_different_embedders_are_never_compared(
    door: Door, scribe: Scribe
) -> None:
    """DESIGN 3.9: their numbers mean different things."""
    one, two, both = written(scribe, 3)
    await door.put([(one, (away(3),)), (both, (away(4, b"mine"),))])
    await door.put([(two, (away(1),)), (both, (away(0, b"theirs"),))], OTHER)

    assert await door.near(view_of(scribe)) == [one.id, both.id]
    assert await door.near(view_of(scribe), embedder=OTHER) == [both.id, two.id]
    assert await door.near(view_of(scribe), embedder="unheard-of/1") == []
    read = await door.vectors.vectors(MODEL, [one.id, two.id, both.id])
    assert read.passages == {one.id: (away(3),), both.id: (away(4, b"mine"),)}


async def test_only_vectors_that_nobody_used_are_let_go(door: Door, scribe: Scribe) -> None:
    """Two sessions may have different models; neither may take the other's vectors."""
    records = written(scribe, 2)
    for embedder in (MODEL, OTHER, "long-gone/1"):
        await door.put([(record, (away(1),)) for record in records], embedder)
    scribe.clock.advance(timedelta(days=3))
    await claimed(door, scribe, 1, OTHER)
    scribe.clock.advance(timedelta(days=3))
    await door.vectors.drop_unused(MODEL, scribe.clock.now() - timedelta(days=4))

    assert await door.vectors.missing(MODEL) == 0, "its own are never let go"
    assert await door.vectors.missing(OTHER) == 0
    assert await door.vectors.missing("long-gone/1") == 2
    assert await door.near(view_of(scribe), embedder="long-gone/1") == []
    assert len(await door.near(view_of(scribe))) == 2


async def test_what_another_process_adds_and_removes_is_seen_at_once(
    door: Door, other: Door, scribe: Scribe
) -> None:
    """The signs that one process remembers must not hide what another one does."""
    first, second, third, fourth = written(scribe, 4)
    await door.put([(first, (away(3),))])
    assert await door.near(view_of(scribe)) == await other.near(view_of(scribe)) == [first.id]
    await other.put([(second, (away(2),))])
    assert await door.near(view_of(scribe)) == [second.id, first.id]
    await door.put([(third, (away(1),))])
    assert await other.near(view_of(scribe)) == [third.id, second.id, first.id]
    await other.index.remove({second.id, third.id})
    await other.put([(fourth, (away(9),))])  # must not be taken for what was there before

    assert await door.near(view_of(scribe)) == [first.id, fourth.id]
    assert set((await door.vectors.vectors(MODEL, [second.id])).passages) == set()


async def test_an_index_that_is_not_complete_answers_nothing(door: Door, scribe: Scribe) -> None:
    """Half of the memories must not pass for all of them."""
    [record] = written(scribe, 1)
    await door.put([(record, (away(1),))])
    await door.index.reset()
    await door.index.add([record])

    for asking in (
        lambda: claimed(door, scribe),
        lambda: door.vectors.missing(MODEL),
        lambda: door.near(view_of(scribe)),
    ):
        with pytest.raises(IndexDamagedError):
            await asking()


async def test_a_candidate_says_what_the_ranking_needs(door: Door, scribe: Scribe) -> None:
    """The same as a match by words: the two lists are ranked as one."""
    record = scribe.record("Crates are packed", segment=HERE, importance=5, pinned=True)
    await door.put([(record, (away(1),))])
    corpus = await door.index.corpus(["crate"], view_of(scribe))
    by_words = await door.index.match(["crate"], corpus, view_of(scribe), ANY, 5)

    found: list[Candidate] = await door.vectors.near(MODEL, ASKED, view_of(scribe), Filters(), 5)
    assert found == by_words != []
