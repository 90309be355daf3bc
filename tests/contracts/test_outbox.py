"""The contract of `ports.Outbox`: what is noted, what is known, and what a fate makes of it.

Claims and leases are in `test_outbox_claims`, the file itself in `test_outbox_file`.
"""

import pytest
from outboxes import Doors, claim, delivered, left, named, note, settle, some

from memory_mcp.domain.cloud import (
    Accepted,
    Dead,
    Done,
    Fate,
    Later,
    Letter,
    Lost,
    Standing,
    Tally,
    Undelivered,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.ports import Outbox

pytestmark = pytest.mark.anyio

A, B, C, D = some(4)


async def test_an_empty_outbox_has_nothing_to_do_and_knows_nothing(outbox: Outbox) -> None:
    """The state of whoever has just set a key."""
    await outbox.note([], 0)
    await outbox.mark([])

    assert await outbox.claim(0, 60) is None
    assert await outbox.known() == await outbox.gone() == set()
    assert await outbox.tally() == Tally()
    assert await outbox.standing() == Standing()
    assert await outbox.seen_until() == ""


async def test_a_note_is_there_for_every_process_and_after_the_next_start(
    doors: Doors, outbox: Outbox, other: Outbox
) -> None:
    """What was noted must not depend on the life of who noted it."""
    await note(outbox, A)
    assert await other.known() == {A}
    await outbox.aclose()
    await other.aclose()

    assert named(await doors.open().claim(0, 60)) == [A]


async def test_a_note_twice_is_one_parcel(outbox: Outbox, other: Outbox) -> None:
    """A write that is repeated must not be sent twice, nor begin again where it stands."""
    await outbox.note([Letter(A, "add"), Letter(A, "add")], 1)
    await note(other, A, now=2)
    assert (await outbox.tally()).pending == 1
    claimed = await claim(outbox, 3)
    assert (named(claimed), claimed.parcels[0].noted_at) == ([A], 1)

    await note(outbox, A, now=4)
    assert await other.claim(4, 60) is None
    await settle(outbox, claimed, Accepted(9))
    await note(outbox, A, now=5)
    assert await other.claim(5, 60) is None
    await delivered(outbox, B, op="delete")
    await note(outbox, C, op="delete")
    await note(outbox, B, C, op="delete")
    assert await left(outbox) == {(C, "delete")}


async def test_a_set_of_notes_is_noted_whole_or_not_at_all(outbox: Outbox) -> None:
    """A forget of many must not be carried out by half."""
    letters = [Letter(record, "add") for record in (A, RecordId("\ud800"), B)]
    with pytest.raises(UnicodeEncodeError):
        await outbox.note(letters, 0)

    assert await outbox.known() == set()
    await note(outbox, C)
    assert await left(outbox) == {(C, "add")}


@pytest.mark.parametrize("quiet", [False, True])
async def test_a_deletion_takes_back_what_was_never_sent(outbox: Outbox, quiet: bool) -> None:  # noqa: FBT001  # parametrised
    """A memory that is forgotten before it left this machine must never leave it."""
    await note(outbox, A, quiet=quiet)
    await note(outbox, A, op="delete")

    assert await left(outbox) == set()
    assert await outbox.gone() == {A}
    assert await outbox.known() == set()
    await note(outbox, A)
    await note(outbox, A, op="delete")
    assert await left(outbox) == set()


async def test_what_the_cloud_refused_unseen_counts_as_never_sent(outbox: Outbox) -> None:
    """After a 429 nothing is there, so nothing need be deleted."""
    await note(outbox, A)
    await settle(outbox, await claim(outbox), Later(5, "429", unsent=True))
    await note(outbox, A, op="delete", now=5)

    assert await left(outbox, 9) == set()
    assert await outbox.gone() == {A}


@pytest.mark.parametrize(
    "fate",
    [Later(5), Accepted(5), Lost(5, "gone"), Dead("no")],
    ids=["answer lost", "accepted", "lost", "dead"],
)
async def test_a_deletion_follows_what_may_have_been_sent(outbox: Outbox, fate: Fate) -> None:
    """What might be in the cloud has to be removed from it, after whatever is still under way."""
    await note(outbox, A)
    await settle(outbox, await claim(outbox), fate)
    await note(outbox, A, op="delete", now=1)
    under_way = not isinstance(fate, Dead)

    assert A in await outbox.gone()
    assert await outbox.known() == ({A} if under_way else set())
    if under_way:
        first = await claim(outbox, 9)
        assert first.op == "add"
        assert await outbox.claim(9, 60) is None
        await settle(outbox, first, Done())
    assert await left(outbox, 9) == {(A, "delete")}


@pytest.mark.parametrize(
    "fate", [Later(50, "429", unsent=True), Later(50, unsent=True, alone=True)]
)
async def test_unsent_takes_back_only_the_last_try(outbox: Outbox, fate: Fate) -> None:
    """A first answer was lost, and a second try was refused unseen: the first may be there.

    Taken for never sent, it would be forgotten here and stay in the cloud for good.
    """
    await note(outbox, A)
    await settle(outbox, await claim(outbox), Later(1))
    again = await claim(outbox, 1)
    await settle(outbox, again, fate)
    assert again.stage == "sent"

    await note(outbox, A, op="delete", now=2)
    assert (await claim(outbox, 60)).stage == "sent"
    assert (await outbox.tally()).pending == 2


async def test_a_try_of_a_process_that_was_killed_counts_as_sent(
    outbox: Outbox, other: Outbox
) -> None:
    """Whoever takes over may be refused unseen; the one before may not have been."""
    await note(outbox, A)
    await claim(outbox, 0, 10)
    await settle(other, await claim(other, 10), Later(11, "429", unsent=True))
    await note(other, A, op="delete", now=11)

    assert (await claim(other, 11)).stage == "sent"


async def test_a_deletion_reaches_what_another_machine_sent(outbox: Outbox) -> None:
    """Seen there although it was never sent from here: it has to be removed."""
    await note(outbox, A)
    await outbox.mark([A])
    await note(outbox, A, op="delete")

    assert await left(outbox) == {(A, "delete")}


async def test_deletions_of_what_is_not_known_here_are_carried_out(outbox: Outbox) -> None:
    """Forgotten in another clone, or before this file was begun anew: it may be there."""
    await note(outbox, A, op="delete")
    assert await outbox.gone() == {A}
    assert await outbox.known() == set()
    assert await left(outbox) == {(A, "delete")}


async def test_an_addition_is_not_noted_again_once_delivered_gone_or_being_deleted(
    outbox: Outbox,
) -> None:
    """Noting everything there is must not send it all again, nor bring back the forgotten."""
    await delivered(outbox, A)
    await delivered(outbox, B)
    await delivered(outbox, B, op="delete")
    await outbox.mark([C])
    await note(outbox, D, op="delete")
    await note(outbox, A, B, C, D)

    assert await left(outbox) == {(D, "delete")}
    assert await outbox.known() == {A, C}
    assert await outbox.gone() == {B, D}


async def test_the_dead_are_kept_and_shown_until_a_new_note_revives_them(outbox: Outbox) -> None:
    """`memory-mcp sync --push-all` tries once more, with all the patience of a first time."""
    await note(outbox, A, B)
    claimed = await claim(outbox)
    await settle(outbox, claimed, Lost(0, "gone"))
    await settle(outbox, await claim(outbox), Dead("too blue"))
    told = await outbox.tally()
    assert (told.dead, told.pending, told.next_due) == (2, 0, None)
    assert set(told.undelivered) == {Undelivered(id_, "add", "too blue") for id_ in (A, B)}
    assert await outbox.claim(10**9, 10**9 + 1) is None
    assert await outbox.known() == set()

    await note(outbox, A, now=7)
    claimed = await claim(outbox, 7)
    assert named(claimed) == [A]
    assert (claimed.parcels[0].attempts, claimed.parcels[0].lost, claimed.stage) == (1, 0, "sent")
    assert (await outbox.tally()).dead == 1


async def test_a_dead_deletion_is_not_gone_and_is_revived_by_a_note(outbox: Outbox) -> None:
    """What the cloud would not delete is still there: whoever looks for it must find it missing."""
    await delivered(outbox, A)
    await note(outbox, A, op="delete")
    await settle(outbox, await claim(outbox), Dead("forbidden"))
    assert await outbox.gone() == set()

    await note(outbox, A, op="delete")
    assert await left(outbox) == {(A, "delete")}


async def test_a_deletion_takes_back_the_dead_whenever_they_die(outbox: Outbox) -> None:
    """Else a memory that was forgotten would be reported as undeliverable for ever, or revived."""
    await note(outbox, A, B)
    first = await claim(outbox)
    await settle(outbox, first, Dead("no"))
    await note(outbox, A, op="delete")
    assert [dead.record for dead in (await outbox.tally()).undelivered] == [B]

    await note(outbox, C)
    under_way = await claim(outbox)
    assert under_way.op == "delete"
    under_way = await claim(outbox)
    await note(outbox, C, op="delete")
    await settle(outbox, under_way, Dead("no"))
    await note(outbox, C)
    assert [dead.record for dead in (await outbox.tally()).undelivered] == [B]
    assert await left(outbox) == {(C, "delete")}
