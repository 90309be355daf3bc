"""The contract of `ports.Outbox`: what is noted, what is known, and what a fate makes of it."""

import asyncio
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Lock

import pytest
from outboxes import LEASE, Doors, claim, delivered, left, named, note, settle, some

from memory_mcp.domain.cloud import (
    Accepted,
    CircuitState,
    Confirmed,
    DeadLetter,
    DeadLettered,
    DeliveryOutcome,
    Dropped,
    NewEntry,
    OutboxCounts,
    RetryLater,
    Vanished,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_ADDS_MAX, BATCH_IDS_MAX
from memory_mcp.errors import NewerSchemaError, StoreDamagedError, StoreUnavailableError
from memory_mcp.ports import Outbox
from memory_mcp.storage.sqlite import database
from memory_mcp.storage.sqlite.outbox import OUTBOX_DATABASE, SqliteOutbox

pytestmark = pytest.mark.anyio


A, B, C, D = some(4)


async def test_an_empty_outbox_has_nothing_to_do_and_knows_nothing(outbox: Outbox) -> None:
    """The state of whoever has just set a key."""
    await outbox.note([], 0)
    await outbox.mark([])

    assert await outbox.claim(0, 60) is None
    assert await outbox.known() == await outbox.gone() == set()
    assert await outbox.counts() == OutboxCounts()
    assert await outbox.circuit() == CircuitState()
    assert await outbox.load_pull_cursor() == ""


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
    await outbox.note([NewEntry(A, "add"), NewEntry(A, "add")], 1)
    await note(other, A, now=2)
    assert (await outbox.counts()).pending == 1
    claimed = await claim(outbox, 3)
    assert (named(claimed), claimed.entries[0].noted_at) == ([A], 1)

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
    letters = [NewEntry(record, "add") for record in (A, RecordId("\ud800"), B)]
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
    await settle(outbox, await claim(outbox), RetryLater(5, "429", unsent=True))
    await note(outbox, A, op="delete", now=5)

    assert await left(outbox, 9) == set()
    assert await outbox.gone() == {A}


@pytest.mark.parametrize(
    "fate",
    [RetryLater(5), Accepted(5), Vanished(5, "gone"), DeadLettered("no")],
    ids=["answer lost", "accepted", "lost", "dead"],
)
async def test_a_deletion_follows_what_may_have_been_sent(
    outbox: Outbox, fate: DeliveryOutcome
) -> None:
    """What might be in the cloud has to be removed from it, after whatever is still under way."""
    await note(outbox, A)
    await settle(outbox, await claim(outbox), fate)
    await note(outbox, A, op="delete", now=1)
    under_way = not isinstance(fate, DeadLettered)

    assert A in await outbox.gone()
    assert await outbox.known() == ({A} if under_way else set())
    if under_way:
        first = await claim(outbox, 9)
        assert first.op == "add"
        assert await outbox.claim(9, 60) is None
        await settle(outbox, first, Confirmed())
    assert await left(outbox, 9) == {(A, "delete")}


@pytest.mark.parametrize(
    "fate", [RetryLater(50, "429", unsent=True), RetryLater(50, unsent=True, alone=True)]
)
async def test_unsent_takes_back_only_the_last_try(outbox: Outbox, fate: DeliveryOutcome) -> None:
    """A first answer was lost, and a second try was refused unseen: the first may be there.

    Taken for never sent, it would be forgotten here and stay in the cloud for good.
    """
    await note(outbox, A)
    await settle(outbox, await claim(outbox), RetryLater(1))
    again = await claim(outbox, 1)
    await settle(outbox, again, fate)
    assert again.stage == "sent"

    await note(outbox, A, op="delete", now=2)
    assert (await claim(outbox, 60)).stage == "sent"
    assert (await outbox.counts()).pending == 2


async def test_a_try_of_a_process_that_was_killed_counts_as_sent(
    outbox: Outbox, other: Outbox
) -> None:
    """Whoever takes over may be refused unseen; the one before may not have been."""
    await note(outbox, A)
    await claim(outbox, 0, 10)
    await settle(other, await claim(other, 10), RetryLater(11, "429", unsent=True))
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
    """`memory-mcp cloud sync --push-all` tries once more, with all the patience of a first time."""
    await note(outbox, A, B)
    claimed = await claim(outbox)
    await settle(outbox, claimed, Vanished(0, "gone"))
    await settle(outbox, await claim(outbox), DeadLettered("too blue"))
    told = await outbox.counts()
    assert (told.dead, told.pending, told.next_due) == (2, 0, None)
    assert set(told.dead_letters) == {DeadLetter(id_, "add", "too blue") for id_ in (A, B)}
    assert await outbox.claim(10**9, 10**9 + 1) is None
    assert await outbox.known() == set()

    await note(outbox, A, now=7)
    claimed = await claim(outbox, 7)
    assert named(claimed) == [A]
    assert (claimed.entries[0].attempts, claimed.entries[0].lost, claimed.stage) == (1, 0, "sent")
    assert (await outbox.counts()).dead == 1


async def test_a_dead_deletion_is_not_gone_and_is_revived_by_a_note(outbox: Outbox) -> None:
    """What the cloud would not delete is still there: whoever looks for it must find it missing."""
    await delivered(outbox, A)
    await note(outbox, A, op="delete")
    await settle(outbox, await claim(outbox), DeadLettered("forbidden"))
    assert await outbox.gone() == set()

    await note(outbox, A, op="delete")
    assert await left(outbox) == {(A, "delete")}


async def test_a_deletion_takes_back_the_dead_whenever_they_die(outbox: Outbox) -> None:
    """Else a memory that was forgotten would be reported as undeliverable for ever, or revived."""
    await note(outbox, A, B)
    first = await claim(outbox)
    await settle(outbox, first, DeadLettered("no"))
    await note(outbox, A, op="delete")
    assert [dead.record for dead in (await outbox.counts()).dead_letters] == [B]

    await note(outbox, C)
    under_way = await claim(outbox)
    assert under_way.op == "delete"
    under_way = await claim(outbox)
    await note(outbox, C, op="delete")
    await settle(outbox, under_way, DeadLettered("no"))
    await note(outbox, C)
    assert [dead.record for dead in (await outbox.counts()).dead_letters] == [B]
    assert await left(outbox) == {(C, "delete")}


# The contract of `ports.Outbox`: who may carry out what, and when.


async def test_the_oldest_go_first_as_many_as_one_request_takes(outbox: Outbox) -> None:
    """Adds are refused as a batch, so a batch is small; ids are cheap."""
    records = some(BATCH_IDS_MAX + BATCH_ADDS_MAX + 5)
    await note(outbox, *records)
    first = await claim(outbox)
    assert named(first) == records[:BATCH_ADDS_MAX]
    assert (first.op, first.stage) == ("add", "new")
    await settle(outbox, first, RetryLater(1))
    for _ in range((len(records) - 1) // BATCH_ADDS_MAX):
        await settle(outbox, await claim(outbox), Accepted(1))

    again = await claim(outbox, 1)
    assert (again.stage, named(again)) == ("sent", records[:BATCH_ADDS_MAX])
    looked = await claim(outbox, 1)
    assert (looked.stage, named(looked)) == (
        "accepted", records[BATCH_ADDS_MAX : BATCH_ADDS_MAX + BATCH_IDS_MAX],
    )  # fmt: skip
    assert len((await claim(outbox, 1)).entries) == 5
    assert await outbox.claim(1, 2) is None


async def test_deletes_go_by_the_hundred(outbox: Outbox) -> None:
    """The service takes a hundred ids and no more."""
    records = some(BATCH_IDS_MAX + 1)
    await note(outbox, *records, op="delete")

    assert named(await claim(outbox)) == records[:BATCH_IDS_MAX]
    assert named(await claim(outbox)) == records[BATCH_IDS_MAX:]


async def test_a_claim_is_of_one_op_and_stage(outbox: Outbox) -> None:
    """One claim is one request."""
    for record, fate in ((A, Accepted(9)), (B, RetryLater(9))):
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
    assert [p.stage for c in found for p in c.entries] == ["accepted", "sent", "new", "new"]


async def test_nothing_is_claimed_before_it_is_due(outbox: Outbox) -> None:
    """A pause is a promise."""
    await note(outbox, A, now=5)
    assert await outbox.claim(4.9, 60) is None
    await settle(outbox, await claim(outbox, 5), RetryLater(10))
    assert await outbox.claim(9.9, 60) is None
    assert named(await outbox.claim(10, 60)) == [A]


async def test_a_record_is_never_overtaken_by_itself(outbox: Outbox, other: Outbox) -> None:
    """A delete that is faster than its add would bring the forgotten back."""
    await note(outbox, A, B)
    adds = await claim(outbox)
    await note(other, A, op="delete", now=1)
    await note(other, C, op="delete", now=2)
    assert named(await claim(other, 5)) == [C], "leased, so it waits; others need not"
    for waits in (RetryLater(50), RetryLater(51, unsent=True), Accepted(52), Vanished(53, "lost")):
        await settle(outbox, adds, waits)
        assert (A, "delete") not in await left(other, 49)
        adds = await claim(outbox, waits.due)
        assert set(named(adds)) == {A, B}
    await settle(outbox, adds, Confirmed())

    assert await left(other, 54) == {(A, "delete")}


async def test_the_dead_keep_nothing_back(outbox: Outbox) -> None:
    """An add that will never be taken must not keep its deletion waiting for ever."""
    await note(outbox, A)
    adds = await claim(outbox)
    await note(outbox, A, op="delete")
    await settle(outbox, adds, DeadLettered("no"))

    assert await left(outbox) == {(A, "delete")}


async def test_quiet_parcels_go_only_along_with_others(outbox: Outbox) -> None:
    """Hiding asks nothing of the cloud by itself, but arrives before what is written after it."""
    await note(outbox, A, quiet=True)
    await note(outbox, B, op="delete", now=1)
    assert named(await claim(outbox, 1)) == [B], "of another op"
    assert await outbox.claim(9, 60) is None
    assert (await outbox.counts()).next_due == 1 + LEASE

    await note(outbox, C, now=2)
    await note(outbox, D, quiet=True, now=3)
    assert named(await claim(outbox, 2)) == [A, C]
    assert await outbox.claim(9, 60) is None
    assert (await outbox.counts()).quiet == 1


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
    first, second = claimed.entries
    await outbox.record_outcomes(claimed, {first.seq: RetryLater(3), second.seq: Confirmed()})

    assert (await outbox.counts()).next_due == 3
    assert named(await claim(outbox, 3)) == [A]


async def test_hurry_makes_everything_due(outbox: Outbox) -> None:
    """`memory-mcp cloud sync` waits for nothing that waits, and leaves nothing behind."""
    await note(outbox, A, now=100)
    await note(outbox, B, quiet=True, now=100)
    await note(outbox, C)
    leased = await claim(outbox)
    await outbox.make_all_due(7)

    assert (await outbox.counts()).quiet == 0
    assert named(await claim(outbox, 7)) == [A, B]
    assert named(leased) == [C]
    assert await outbox.claim(7, 60) is None, "a lease is kept"


async def test_a_parcel_whose_batch_was_refused_travels_alone(outbox: Outbox) -> None:
    """Else one document that the cloud does not take would keep nineteen others back."""
    await note(outbox, A, B, C)
    claimed = await claim(outbox)
    await settle(outbox, claimed, RetryLater(0, "400", unsent=True, alone=True))
    await note(outbox, D)

    found = [await claim(outbox) for _ in range(4)]
    assert [named(c) for c in found] == [[A], [B], [C], [D]]
    assert [p.alone for c in found for p in c.entries] == [True, True, True, False]
    await settle(outbox, found[0], RetryLater(1, "busy"))
    assert (await claim(outbox, 1)).entries[0].alone


async def test_a_lease_keeps_others_away_until_it_ends(outbox: Outbox, other: Outbox) -> None:
    """Two sessions share a file; none of them sends what the other is sending."""
    await note(outbox, A)
    mine = await claim(outbox, 0, 10)
    assert await other.claim(9.9, 60) is None
    theirs = await claim(other, 10)
    assert (named(theirs), theirs.stage, theirs.entries[0].attempts) == ([A], "sent", 2)

    for fate in (Confirmed(), Accepted(0), RetryLater(0), Vanished(0, "x")):
        await settle(outbox, mine, fate)
        assert await outbox.claim(11, 60) is None
    assert (await outbox.counts()).delivered == 0
    await settle(other, theirs, Confirmed())
    assert (await outbox.counts()).delivered == 1
    await settle(other, theirs, RetryLater(0))
    assert await other.claim(99, 999) is None


async def test_a_lease_that_ran_out_and_nobody_took_over_still_settles(outbox: Outbox) -> None:
    """A slow answer is an answer."""
    await note(outbox, A)
    mine = await claim(outbox, 0, 10)
    await settle(outbox, mine, Confirmed())

    assert await outbox.claim(99, 999) is None
    assert (await outbox.counts()).delivered == 1


async def test_a_claim_settles_its_own_parcels_only(outbox: Outbox, other: Outbox) -> None:
    """What a process makes up about a parcel of another counts for nothing."""
    await note(outbox, A)
    mine = await claim(outbox)
    await note(outbox, B)
    theirs = await claim(other)
    await other.record_outcomes(theirs, {mine.entries[0].seq: Confirmed(), 999: Confirmed()})

    assert (await outbox.counts()).delivered == 0


# The contract of `ports.Outbox`: the file, what may happen to it, and what is said then.


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from memory_mcp.domain.cloud import NewEntry
from memory_mcp.storage.sqlite.outbox import SqliteOutbox

async def main():
    outbox = SqliteOutbox(Path(sys.argv[1]), lambda: None)
    await outbox.note([NewEntry(record, "add") for record in sys.argv[2:]], 0)
    await outbox.claim(0, 10)
    os._exit(3)

asyncio.run(main())
"""


async def test_what_a_killed_process_noted_and_claimed_is_there(doors: Doors) -> None:
    """Durable when it returns: nothing is left to an orderly end."""
    command = [sys.executable, "-c", _KILLED, str(doors.path), A, B]
    killed = await asyncio.create_subprocess_exec(*command)
    assert await killed.wait() == 3

    outbox = doors.open()
    assert await outbox.claim(9, 60) is None
    claimed = await claim(outbox, 10)
    assert (named(claimed), claimed.stage) == ([A, B], "sent")


async def test_no_text_of_a_memory_can_be_in_it(doors: Doors) -> None:
    """What is forgotten need not be looked for in this file: it holds ids and states."""
    await note(doors.open(), A)
    with closing(sqlite3.connect(doors.path)) as db:
        names = {row[1] for row in db.execute("PRAGMA table_info(parcel)")}
    assert names == {
        "seq", "record", "op", "stage", "was", "quiet", "alone", "attempts", "lost", "noted_at",
        "due", "lease", "lease_until", "dead", "error",
    }  # fmt: skip


async def test_a_healthy_outbox_has_no_findings_and_the_undeliverable_are_some(
    doors: Doors,
) -> None:
    """What the cloud will never take is said where people look."""
    outbox = doors.open()
    assert await outbox.findings(repair=True) == []
    assert not doors.path.exists(), "to look at it makes no file"
    await note(outbox, A, B)
    assert await outbox.findings(repair=False) == []
    claimed = await claim(outbox)
    await settle(outbox, claimed, DeadLettered("too blue"))

    found = await outbox.findings(repair=True)
    assert [f.code for f in found] == ["undelivered", "undelivered"]
    assert all("too blue" in f.what for f in found)
    assert {word for f in found for word in f.what.split()} >= {A, B}
    assert (await outbox.counts()).dead == 2


def overwrite(path: Path) -> None:
    path.write_bytes(b"nothing that SQLite knows" * 400)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def forget_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE ledger")
        db.commit()


def be_of_tomorrow(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("damage", [overwrite, cut, forget_a_table])
async def test_a_damaged_file_says_so_and_is_begun_anew_by_a_repair(
    doors: Doors, damage: Callable[[Path], None]
) -> None:
    """The memories are safe without it; delivery goes on once somebody looked."""
    outbox = doors.open()
    await note(outbox, A)
    await outbox.aclose()
    damage(doors.path)

    for call in (outbox.known(), note(outbox, B), delivered(outbox, B)):
        with pytest.raises(StoreDamagedError, match=r"outbox\.sqlite3"):
            await call
    (found,) = await outbox.findings(repair=False)
    assert (found.code, found.repaired) == ("outbox-damaged", False)
    with pytest.raises(StoreDamagedError):
        await outbox.counts()

    (found,) = await outbox.findings(repair=True)
    assert (found.code, found.repaired) == ("outbox-damaged", True)
    assert await outbox.findings(repair=True) == []
    await note(outbox, B)
    assert await left(outbox) == {(B, "add")}


async def test_a_repair_reaches_the_sessions_that_are_running(doors: Doors) -> None:
    """The file is another one then: they must not go on writing into the old."""
    running, doctor = doors.open(), doors.open()
    await note(running, A)
    forget_a_table(doors.path)
    assert [f.repaired for f in await doctor.findings(repair=True)] == [True]
    await note(running, B)

    assert await doctor.known() == {B}


async def test_a_file_of_a_newer_version_is_left_as_it_is(doors: Doors) -> None:
    """What it holds is waiting to be delivered by whoever wrote it."""
    outbox = doors.open()
    await note(outbox, A)
    await outbox.aclose()
    be_of_tomorrow(doors.path)
    with pytest.raises(NewerSchemaError, match="Update memory-mcp"):
        await note(outbox, B)
    (found,) = await outbox.findings(repair=True)
    assert (found.code, found.repaired) == ("outbox-unusable", False)
    with closing(sqlite3.connect(doors.path)) as db:
        db.execute(f"PRAGMA user_version = {OUTBOX_DATABASE.version}")

    assert await outbox.known() == {A}


async def test_what_is_known_of_one_cloud_says_nothing_of_another(tmp_path: Path) -> None:
    """Another address, another namespace: what is on its way begins anew, and no forget is done."""
    path = tmp_path / "outbox.sqlite3"
    here = SqliteOutbox(path, lambda: None, "https://a/ns/x")
    there = SqliteOutbox(path, lambda: None, "https://b/ns/x")
    await here.mark([A])
    await note(here, B)
    await claim(here)
    await here.save_pull_cursor("1")
    await here.save_circuit(CircuitState(failures=3))
    await here.aclose()

    assert await there.known() == {B}
    assert await there.load_pull_cursor() == ""
    assert await there.circuit() == CircuitState()
    (parcel,) = (await claim(there)).entries
    assert parcel.stage == "new"
    await there.aclose()
    assert await here.known() == {B}
    await here.aclose()


async def test_a_file_that_vanished_is_begun_anew(doors: Doors) -> None:
    """The folder is a derivative that people delete."""
    outbox = doors.open()
    await note(outbox, A)
    for path in doors.path.parent.glob("outbox.sqlite3*"):
        path.unlink()
    await note(outbox, B)

    assert await doors.open().known() == {B}


async def test_a_file_that_is_locked_for_too_long_is_said_to_be(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's transaction is waited for, but not for ever."""
    first = doors.open()
    await note(first, A)
    monkeypatch.setattr(database, "INDEX_BUSY_SECONDS_MAX", 0.05)
    outbox = doors.open()
    await outbox.known()
    with closing(sqlite3.connect(doors.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for call in (note(outbox, B), outbox.claim(0, 60), outbox.make_all_due(0)):
            with pytest.raises(StoreUnavailableError, match="try again"):
                await call
        assert await outbox.known() == {A}, "readers need not wait"
        other.execute("ROLLBACK")

    await note(outbox, B)
    assert await first.known() == {A, B}


async def test_what_the_file_system_refuses_is_said_in_one_sentence(tmp_path: Path) -> None:
    """A file where the folder should be, a folder where the file should be.

    No thread is left behind that would answer to an event loop which has ended by then.
    """
    (tmp_path / "a file").write_text("")
    (tmp_path / "a folder").mkdir()
    for path in (tmp_path / "a file" / "outbox.sqlite3", tmp_path / "a folder"):
        outbox = SqliteOutbox(path, lambda: None)
        with pytest.raises(StoreUnavailableError, match=path.name):
            await note(outbox, RecordId("x"))
        working = [thread.name for thread in threading.enumerate()]
        assert not [name for name in working if name.endswith("(_connection_worker_thread)")]


async def test_the_folder_is_made_before_the_file(tmp_path: Path) -> None:
    """Nobody makes a folder for a cloud that is never used."""
    folder = tmp_path / "state"
    outbox = SqliteOutbox(folder / "outbox.sqlite3", folder.mkdir)
    assert not folder.exists()
    await note(outbox, A)
    assert (folder / "outbox.sqlite3").is_file()
    await outbox.aclose()


# The contract of `ports.Outbox`: what becomes of a parcel, and what is told of all of them.


async def test_known_and_gone_follow_a_record_through_its_life(outbox: Outbox) -> None:
    """Both are asked which records still have to be noted."""

    async def both() -> tuple[bool, bool]:
        return A in await outbox.known(), A in await outbox.gone()

    assert await both() == (False, False)
    await note(outbox, A)
    assert await both() == (True, False)
    await settle(outbox, await claim(outbox), Accepted(0))
    assert await both() == (True, False)
    await settle(outbox, await claim(outbox), Confirmed())
    assert await both() == (True, False)
    await note(outbox, A, op="delete")
    assert await both() == (True, True)
    await settle(outbox, await claim(outbox), Accepted(0))
    await settle(outbox, await claim(outbox), Confirmed())
    assert await both() == (False, True)
    await outbox.mark([A])
    assert await both() == (False, True), "a listing that lags brings nothing back"


async def test_each_fate_does_what_it_says(outbox: Outbox) -> None:
    """One claim, six fates: each parcel has its own."""
    records = some(6)
    await note(outbox, *records)
    claimed = await claim(outbox)
    fates: list[DeliveryOutcome] = [
        Accepted(10), Confirmed(), RetryLater(20, "busy"), Vanished(30, "vanished"),
        DeadLettered("no"), Dropped(),
    ]  # fmt: skip
    await outbox.record_outcomes(
        claimed, {p.seq: f for p, f in zip(claimed.entries, fates, strict=True)}
    )

    told = await outbox.counts()
    assert (told.pending, told.checking, told.delivered, told.dead) == (2, 1, 1, 1)
    assert told.dead_letters == (DeadLetter(records[4], "add", "no"),)
    assert await outbox.known() == set(records[:4])
    assert await outbox.gone() == set()
    await note(outbox, records[5])
    assert named(await outbox.claim(0, 60)) == [records[5]], "what was dropped may be noted again"
    assert await outbox.claim(9, 60) is None
    again = [(await claim(outbox, at)) for at in (10, 20, 30)]
    assert [named(found) for found in again] == [[records[0]], [records[2]], [records[3]]]
    assert [found.stage for found in again] == ["accepted", "sent", "new"]
    parcels = [found.entries[0] for found in again]
    assert [(p.attempts, p.lost) for p in parcels] == [(1, 0), (2, 0), (2, 1)]


async def test_how_far_was_seen_is_known_to_all(outbox: Outbox, other: Outbox) -> None:
    """A look goes on where the last whole one, whoever's it was, began."""
    for at in ("0", "2026-11-21T08:00:00.000Z", "2026-11-21T08:00:00.000Z", ""):
        await outbox.save_pull_cursor(at)
        assert await other.load_pull_cursor() == at


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
    first = CircuitState(failures=2, paused_until=99.5, blocked="no credit", reason="402")
    await outbox.save_circuit(first)
    assert await other.circuit() == (await other.counts()).circuit == first
    await other.save_circuit(CircuitState())
    assert await outbox.circuit() == CircuitState()


async def test_the_tally_counts_everything_once(outbox: Outbox) -> None:
    """What the status shows; when to wake up next."""
    records = some(5)
    await delivered(outbox, *records[:3])
    await note(outbox, records[3], now=5)
    await note(outbox, records[4], quiet=True, now=1)
    assert await outbox.counts() == OutboxCounts(pending=1, quiet=1, delivered=3, next_due=5)

    await settle(outbox, await claim(outbox, 5), Accepted(40))
    await note(outbox, records[0], op="delete", now=6)
    assert await outbox.counts() == OutboxCounts(pending=1, checking=2, delivered=3, next_due=6)
    claimed = await claim(outbox, 6, 20)
    assert (await outbox.counts()).next_due == 26, "leased"
    await settle(outbox, claimed, RetryLater(30))
    assert (await outbox.counts()).next_due == 30


async def test_of_many_dead_the_newest_are_named_and_all_are_counted(outbox: Outbox) -> None:
    """A list is to be read; the number says how long it would be."""
    records = some(12)
    await note(outbox, *records)
    await settle(outbox, await claim(outbox), DeadLettered("no"))

    told = await outbox.counts()
    assert told.dead == 12
    assert [dead.record for dead in told.dead_letters] == records[:1:-1]


async def test_what_waits_for_another_parcel_wakes_nobody(outbox: Outbox) -> None:
    """A delete behind an add that is looked at in a minute: until then there is nothing to do."""
    await note(outbox, A)
    await settle(outbox, await claim(outbox), Accepted(60))
    await note(outbox, A, op="delete", now=1)

    assert await outbox.claim(2, 62) is None
    assert (await outbox.counts()).next_due == 60


# The contract of `ports.Outbox`: many at once, in one process and in several.


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
        outbox.claim(0, 60),
        outbox.save_circuit(CircuitState(failures=3)),
        outbox.save_pull_cursor("1"),
    )
    with pytest.raises(UnicodeEncodeError):
        await noting

    assert named(claimed) == [A]
    assert await other.claim(1, 61) is None
    assert (await other.circuit()).failures == 3
    assert await other.load_pull_cursor() == "1"


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
        while (await outbox.counts()).next_due is not None:
            await once(outbox)
        await doors.aclose()

    async def once(outbox: Outbox) -> None:
        found = await outbox.claim(0, LEASE)
        if found is None:
            return
        with lock:
            claimed.update((p.record, f"{p.op} {p.stage}") for p in found.entries)
        await settle(outbox, found, Confirmed() if found.stage == "accepted" else Accepted(0))

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
                await settle(outbox, found, Confirmed())
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
    assert (await outbox.counts()).delivered == len(records)
