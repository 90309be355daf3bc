"""The contract of `ports.Outbox`: what becomes of a parcel, and what is told of all of them."""

import pytest
from outboxes import claim, delivered, named, note, settle, some

from memory_mcp.domain.cloud import (
    Accepted,
    Dead,
    Done,
    Dropped,
    Fate,
    Later,
    Lost,
    Standing,
    Tally,
    Undelivered,
)
from memory_mcp.ports import Outbox

pytestmark = pytest.mark.anyio

A, B = some(2)


async def test_known_and_gone_follow_a_record_through_its_life(outbox: Outbox) -> None:
    """Both are asked which records still have to be noted."""

    async def both() -> tuple[bool, bool]:
        return A in await outbox.known(), A in await outbox.gone()

    assert await both() == (False, False)
    await note(outbox, A)
    assert await both() == (True, False)
    await settle(outbox, await claim(outbox), Accepted(0))
    assert await both() == (True, False)
    await settle(outbox, await claim(outbox), Done())
    assert await both() == (True, False)
    await note(outbox, A, op="delete")
    assert await both() == (True, True)
    await settle(outbox, await claim(outbox), Accepted(0))
    await settle(outbox, await claim(outbox), Done())
    assert await both() == (False, True)
    await outbox.mark([A])
    assert await both() == (False, True), "a listing that lags brings nothing back"


async def test_each_fate_does_what_it_says(outbox: Outbox) -> None:
    """One claim, six fates: each parcel has its own."""
    records = some(6)
    await note(outbox, *records)
    claimed = await claim(outbox)
    fates: list[Fate] = [
        Accepted(10), Done(), Later(20, "busy"), Lost(30, "vanished"), Dead("no"), Dropped(),
    ]  # fmt: skip
    await outbox.settle(claimed, {p.seq: f for p, f in zip(claimed.parcels, fates, strict=True)})

    told = await outbox.tally()
    assert (told.pending, told.checking, told.delivered, told.dead) == (2, 1, 1, 1)
    assert told.undelivered == (Undelivered(records[4], "add", "no"),)
    assert await outbox.known() == set(records[:4])
    assert await outbox.gone() == set()
    await note(outbox, records[5])
    assert named(await outbox.claim(0, 60)) == [records[5]], "what was dropped may be noted again"
    assert await outbox.claim(9, 60) is None
    again = [(await claim(outbox, at)) for at in (10, 20, 30)]
    assert [named(found) for found in again] == [[records[0]], [records[2]], [records[3]]]
    assert [found.stage for found in again] == ["accepted", "sent", "new"]
    parcels = [found.parcels[0] for found in again]
    assert [(p.attempts, p.lost) for p in parcels] == [(1, 0), (2, 0), (2, 1)]


async def test_how_far_was_seen_is_known_to_all(outbox: Outbox, other: Outbox) -> None:
    """A look goes on where the last whole one, whoever's it was, began."""
    for at in ("0", "2026-11-21T08:00:00.000Z", "2026-11-21T08:00:00.000Z", ""):
        await outbox.see_until(at)
        assert await other.seen_until() == at


async def test_what_is_no_longer_known_to_be_there_can_be_noted_again(outbox: Outbox) -> None:
    """Somebody emptied the namespace; a deletion that was carried out stays known."""
    await outbox.mark([A, B])
    await note(outbox, B, op="delete")
    await outbox.unmark([A, B])
    await note(outbox, A)

    assert await outbox.known() == {A}
    assert await outbox.gone() == {B}


async def test_the_standing_is_one_for_all(outbox: Outbox, other: Outbox) -> None:
    """A pause that one session was asked for is a pause of all of them."""
    first = Standing(failures=2, paused_until=99.5, blocked="no credit", reason="402")
    await outbox.stand(first)
    assert await other.standing() == (await other.tally()).standing == first
    await other.stand(Standing())
    assert await outbox.standing() == Standing()


async def test_the_tally_counts_everything_once(outbox: Outbox) -> None:
    """What the status shows; when to wake up next."""
    records = some(5)
    await delivered(outbox, *records[:3])
    await note(outbox, records[3], now=5)
    await note(outbox, records[4], quiet=True, now=1)
    assert await outbox.tally() == Tally(pending=1, quiet=1, delivered=3, next_due=5)

    await settle(outbox, await claim(outbox, 5), Accepted(40))
    await note(outbox, records[0], op="delete", now=6)
    assert await outbox.tally() == Tally(pending=1, checking=2, delivered=3, next_due=6)
    claimed = await claim(outbox, 6, 20)
    assert (await outbox.tally()).next_due == 26, "leased"
    await settle(outbox, claimed, Later(30))
    assert (await outbox.tally()).next_due == 30


async def test_of_many_dead_the_newest_are_named_and_all_are_counted(outbox: Outbox) -> None:
    """A list is to be read; the number says how long it would be."""
    records = some(12)
    await note(outbox, *records)
    await settle(outbox, await claim(outbox), Dead("no"))

    told = await outbox.tally()
    assert told.dead == 12
    assert [dead.record for dead in told.undelivered] == records[:1:-1]


async def test_what_waits_for_another_parcel_wakes_nobody(outbox: Outbox) -> None:
    """A delete behind an add that is looked at in a minute: until then there is nothing to do."""
    await note(outbox, A)
    await settle(outbox, await claim(outbox), Accepted(60))
    await note(outbox, A, op="delete", now=1)

    assert await outbox.claim(2, 62) is None
    assert (await outbox.tally()).next_due == 60
