"""The contract of `ports.Outbox`: who may carry out what, and when."""

import pytest
from outboxes import LEASE, claim, left, named, note, settle, some

from memory_mcp.domain.cloud import Accepted, Dead, Done, Later, Lost
from memory_mcp.domain.limits import BATCH_ADDS_MAX, BATCH_IDS_MAX
from memory_mcp.ports import Outbox

pytestmark = pytest.mark.anyio

A, B, C, D = some(4)


async def test_the_oldest_go_first_as_many_as_one_request_takes(outbox: Outbox) -> None:
    """Adds are refused as a batch, so a batch is small; ids are cheap."""
    records = some(BATCH_IDS_MAX + BATCH_ADDS_MAX + 5)
    await note(outbox, *records)
    first = await claim(outbox)
    assert named(first) == records[:BATCH_ADDS_MAX]
    assert (first.op, first.stage) == ("add", "new")
    await settle(outbox, first, Later(1))
    for _ in range((len(records) - 1) // BATCH_ADDS_MAX):
        await settle(outbox, await claim(outbox), Accepted(1))

    again = await claim(outbox, 1)
    assert (again.stage, named(again)) == ("sent", records[:BATCH_ADDS_MAX])
    looked = await claim(outbox, 1)
    assert (looked.stage, named(looked)) == (
        "accepted", records[BATCH_ADDS_MAX : BATCH_ADDS_MAX + BATCH_IDS_MAX],
    )  # fmt: skip
    assert len((await claim(outbox, 1)).parcels) == 5
    assert await outbox.claim(1, 2) is None


async def test_deletes_go_by_the_hundred(outbox: Outbox) -> None:
    """The service takes a hundred ids and no more."""
    records = some(BATCH_IDS_MAX + 1)
    await note(outbox, *records, op="delete")

    assert named(await claim(outbox)) == records[:BATCH_IDS_MAX]
    assert named(await claim(outbox)) == records[BATCH_IDS_MAX:]


async def test_a_claim_is_of_one_op_and_stage(outbox: Outbox) -> None:
    """One claim is one request."""
    for record, fate in ((A, Accepted(9)), (B, Later(9))):
        await note(outbox, record)
        await settle(outbox, await claim(outbox), fate)
    await note(outbox, C, op="delete")
    await note(outbox, D)

    found = [await claim(outbox, 9) for _ in range(4)]
    assert [(c.op, c.stage, named(c)) for c in found] == [
        ("add", "accepted", [A]),
        ("add", "sent", [B]),
        ("delete", "new", [C]),
        ("add", "new", [D]),
    ]
    assert len({c.token for c in found}) == 4
    assert [p.stage for c in found for p in c.parcels] == ["accepted", "sent", "new", "new"]


async def test_nothing_is_claimed_before_it_is_due(outbox: Outbox) -> None:
    """A pause is a promise."""
    await note(outbox, A, now=5)
    assert await outbox.claim(4.9, 60) is None
    await settle(outbox, await claim(outbox, 5), Later(10))
    assert await outbox.claim(9.9, 60) is None
    assert named(await outbox.claim(10, 60)) == [A]


async def test_a_record_is_never_overtaken_by_itself(outbox: Outbox, other: Outbox) -> None:
    """A delete that is faster than its add would bring the forgotten back."""
    await note(outbox, A, B)
    adds = await claim(outbox)
    await note(other, A, op="delete", now=1)
    await note(other, C, op="delete", now=2)
    assert named(await claim(other, 5)) == [C], "leased, so it waits; others need not"
    for waits in (Later(50), Later(51, unsent=True), Accepted(52), Lost(53, "lost")):
        await settle(outbox, adds, waits)
        assert (A, "delete") not in await left(other, 49)
        adds = await claim(outbox, waits.due)
        assert set(named(adds)) == {A, B}
    await settle(outbox, adds, Done())

    assert await left(other, 54) == {(A, "delete")}


async def test_the_dead_keep_nothing_back(outbox: Outbox) -> None:
    """An add that will never be taken must not keep its deletion waiting for ever."""
    await note(outbox, A)
    adds = await claim(outbox)
    await note(outbox, A, op="delete")
    await settle(outbox, adds, Dead("no"))

    assert await left(outbox) == {(A, "delete")}


async def test_quiet_parcels_go_only_along_with_others(outbox: Outbox) -> None:
    """Hiding asks nothing of the cloud by itself, but arrives before what is written after it."""
    await note(outbox, A, quiet=True)
    await note(outbox, B, op="delete", now=1)
    assert named(await claim(outbox, 1)) == [B], "of another op"
    assert await outbox.claim(9, 60) is None
    assert (await outbox.tally()).next_due == 1 + LEASE

    await note(outbox, C, now=2)
    await note(outbox, D, quiet=True, now=3)
    assert named(await claim(outbox, 2)) == [A, C]
    assert await outbox.claim(9, 60) is None
    assert (await outbox.tally()).quiet == 1


async def test_many_quiet_ones_go_first_and_in_order(outbox: Outbox) -> None:
    """What hides a memory is never behind what was written after it, however much there is."""
    *moves, memory = some(BATCH_ADDS_MAX + 3)
    await note(outbox, *moves, quiet=True)
    await note(outbox, memory)

    assert named(await claim(outbox)) == moves[:BATCH_ADDS_MAX]
    assert named(await claim(outbox)) == [*moves[BATCH_ADDS_MAX:], memory]


async def test_what_was_claimed_once_is_quiet_no_more(outbox: Outbox) -> None:
    """It is under way: if it fails, it is tried again by itself."""
    await note(outbox, A, quiet=True)
    await note(outbox, B)
    claimed = await claim(outbox)
    first, second = claimed.parcels
    await outbox.settle(claimed, {first.seq: Later(3), second.seq: Done()})

    assert (await outbox.tally()).next_due == 3
    assert named(await claim(outbox, 3)) == [A]


async def test_hurry_makes_everything_due(outbox: Outbox) -> None:
    """`memory-mcp sync` waits for nothing that waits, and leaves nothing behind."""
    await note(outbox, A, now=100)
    await note(outbox, B, quiet=True, now=100)
    await note(outbox, C)
    leased = await claim(outbox)
    await outbox.hurry(7)

    assert (await outbox.tally()).quiet == 0
    assert named(await claim(outbox, 7)) == [A, B]
    assert named(leased) == [C]
    assert await outbox.claim(7, 60) is None, "a lease is kept"


async def test_a_parcel_whose_batch_was_refused_travels_alone(outbox: Outbox) -> None:
    """Else one document that the cloud does not take would keep nineteen others back."""
    await note(outbox, A, B, C)
    claimed = await claim(outbox)
    await settle(outbox, claimed, Later(0, "400", unsent=True, alone=True))
    await note(outbox, D)

    found = [await claim(outbox) for _ in range(4)]
    assert [named(c) for c in found] == [[A], [B], [C], [D]]
    assert [p.alone for c in found for p in c.parcels] == [True, True, True, False]
    await settle(outbox, found[0], Later(1, "busy"))
    assert (await claim(outbox, 1)).parcels[0].alone


async def test_a_lease_keeps_others_away_until_it_ends(outbox: Outbox, other: Outbox) -> None:
    """Two sessions share a file; none of them sends what the other is sending."""
    await note(outbox, A)
    mine = await claim(outbox, 0, 10)
    assert await other.claim(9.9, 60) is None
    theirs = await claim(other, 10)
    assert (named(theirs), theirs.stage, theirs.parcels[0].attempts) == ([A], "sent", 2)

    for fate in (Done(), Accepted(0), Later(0), Lost(0, "x")):
        await settle(outbox, mine, fate)
        assert await outbox.claim(11, 60) is None
    assert (await outbox.tally()).delivered == 0
    await settle(other, theirs, Done())
    assert (await outbox.tally()).delivered == 1
    await settle(other, theirs, Later(0))
    assert await other.claim(99, 999) is None


async def test_a_lease_that_ran_out_and_nobody_took_over_still_settles(outbox: Outbox) -> None:
    """A slow answer is an answer."""
    await note(outbox, A)
    mine = await claim(outbox, 0, 10)
    await settle(outbox, mine, Done())

    assert await outbox.claim(99, 999) is None
    assert (await outbox.tally()).delivered == 1


async def test_a_claim_settles_its_own_parcels_only(outbox: Outbox, other: Outbox) -> None:
    """What a process makes up about a parcel of another counts for nothing."""
    await note(outbox, A)
    mine = await claim(outbox)
    await note(outbox, B)
    theirs = await claim(other)
    await other.settle(theirs, {mine.parcels[0].seq: Done(), 999: Done()})

    assert (await outbox.tally()).delivered == 0
