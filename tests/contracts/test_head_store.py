"""The contract of `ports.HeadStore`, for every adapter."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from fakes import Scribe
from postgres import new_bank
from stores_in_memory import MemoryHeads

from memory_mcp.disk import Disk
from memory_mcp.domain.ids import MAIN, ROOT, BranchName, CheckpointId, LineId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Head
from memory_mcp.errors import ConflictError, NewerSchemaError, StoreDamagedError
from memory_mcp.ports import HeadStore
from memory_mcp.storage.files.heads import HEAD_FILE, HISTORY_FILE, LocalHeads
from memory_mcp.storage.postgres.heads import PostgresHeads
from memory_mcp.timeline.moves import apply_move, fold_moves

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["local", "postgres", "memory"])
async def heads(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[HeadStore]:
    match request.param:
        case "local":
            yield LocalHeads(tmp_path / ".state", Disk())
        case "postgres":
            bank = new_bank(request.getfixturevalue("postgres_url"))
            yield PostgresHeads(bank)
            await bank.database.aclose()
        case _:
            yield MemoryHeads()


@pytest.fixture
def local(tmp_path: Path) -> LocalHeads:
    return LocalHeads(tmp_path / ".state", Disk())


def a_checkpoint(scribe: Scribe, summary: str = "Sealed") -> Record:
    step = Move(
        act="checkpoint",
        branch=MAIN,
        opens={MAIN: SegmentId(scribe.ids.new(scribe.clock.now()))},
        parents=(ROOT,),
        leaves=(ROOT,),
        checkpoint=CheckpointId("phase1-20260131-143022"),
        phase=1,
        approval="approved",
    )
    return scribe.record(summary, kind="checkpoint", segment=ROOT, move=step)


def after(head: Head | None, record: Record) -> Head:
    """The head one move later."""
    head = head or Head(project="shop")
    return Head(
        project="shop",
        revision=head.revision + 1,
        timeline=apply_move(head.timeline, record),
        last=record,
    )


def said(head: Head | None) -> dict[str, Any] | None:
    """All that a head says; what it has computed meanwhile does not count."""
    return head.model_dump() if head else None


def history(folder: Path) -> list[str]:
    lines = (folder / HISTORY_FILE).read_text("utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


async def test_before_the_first_move_there_is_none(heads: HeadStore) -> None:
    """A first use is told from a damaged one."""
    assert await heads.read() is None


async def test_read_returns_exactly_the_newest_head(heads: HeadStore) -> None:
    """The head is small and replaced whole; nothing of it may change on the way."""
    scribe = Scribe()
    first = after(None, a_checkpoint(scribe, "Über \n\t 🦊"))
    opened, forked, left, forgotten = (
        SegmentId(scribe.ids.new(scribe.clock.now())) for _ in range(4)
    )
    second = after(
        first,
        scribe.record(
            "back",
            kind="move",
            move=Move(
                act="backtrack",
                branch=MAIN,
                opens={MAIN: opened, BranchName("x/y"): forked},
                leaves=(left,),
                forgets=(forgotten,),
                line=LineId("line-20260131-143022"),
            ),
        ),
    )
    await heads.replace(first, expected=0)
    assert said(await heads.read()) == said(first)
    await heads.replace(second, expected=1)

    assert said(await heads.read()) == said(second)


async def test_what_was_written_without_a_move_is_held_whole_and_not_logged(
    heads: HeadStore, tmp_path: Path
) -> None:
    """A step that moves nothing is no line of the history; its records are in no other file yet."""
    scribe = Scribe()
    first = after(None, a_checkpoint(scribe))
    await heads.replace(first, expected=0)
    records = (scribe.record("One"), scribe.record("Two \n 🦊"))
    second = first.model_copy(update={"revision": 2, "with_last": records})
    await heads.replace(second, expected=1)

    assert said(await heads.read()) == said(second)
    if isinstance(heads, LocalHeads):
        assert history(tmp_path / ".state") == [first.last.id if first.last else ""]


async def test_a_stale_revision_changes_nothing(heads: HeadStore) -> None:
    """Who planned from an older head must look again."""
    scribe = Scribe()
    first = after(None, a_checkpoint(scribe))
    await heads.replace(first, expected=0)

    for expected in (0, 2):
        with pytest.raises(ConflictError):
            await heads.replace(after(first, a_checkpoint(scribe)), expected=expected)

    assert said(await heads.read()) == said(first)


async def test_of_many_that_compete_exactly_one_succeeds(heads: HeadStore, tmp_path: Path) -> None:
    """N sessions plan from the same head; whoever is second must know that it was."""
    scribe = Scribe()
    competing = [after(None, a_checkpoint(scribe, f"session {n}")) for n in range(12)]

    def another_door() -> HeadStore:
        match heads:
            case LocalHeads():
                return LocalHeads(tmp_path / ".state", Disk())
            case PostgresHeads():
                return PostgresHeads(heads.bank)
            case _:
                return heads

    doors = [another_door() for _ in competing]

    answers = await asyncio.gather(
        *(door.replace(head, expected=0) for door, head in zip(doors, competing, strict=True)),
        return_exceptions=True,
    )

    winners = [h for h, answer in zip(competing, answers, strict=True) if answer is None]
    assert len(winners) == 1
    assert sum(isinstance(answer, ConflictError) for answer in answers) == len(competing) - 1
    for door in doors:
        assert said(await door.read()) == said(winners[0])


async def test_the_history_holds_every_move_once(heads: HeadStore) -> None:
    """It tells who moved the head and when; a gap is told, and can be filled."""
    scribe = Scribe()
    first, elsewhere = a_checkpoint(scribe), a_checkpoint(scribe)
    head = after(None, first)
    await heads.replace(head, expected=0)
    assert await heads.find_unlogged([first, elsewhere]) == [elsewhere]

    await heads.log([elsewhere])

    assert await heads.find_unlogged([first, elsewhere]) == []


async def test_joining_another_clones_moves_does_not_log_the_last_move_again(
    local: LocalHeads,
) -> None:
    """A head is also replaced without a move of its own: the history must not tell one twice."""
    scribe = Scribe()
    mine, theirs = a_checkpoint(scribe), a_checkpoint(scribe)
    head = after(None, mine)
    await local.replace(head, expected=0)
    joined = Head(project="shop", revision=2, timeline=fold_moves([mine, theirs]), last=head.last)
    await local.replace(joined, expected=1)

    assert history(local.folder) == [mine.id]


async def test_another_process_sees_the_newest_head_at_once(local: LocalHeads) -> None:
    """What was seen is kept in memory; a change of the file must still be noticed."""
    scribe = Scribe()
    other = LocalHeads(local.folder, Disk())
    head: Head | None = None
    for revision in range(5):
        head = after(head, a_checkpoint(scribe))
        await local.replace(head, expected=revision)
        assert said(await other.read()) == said(head)


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"null", b"[]", b'{"schema_version": 1}', b"\xff", b"[" * 200_000],
    ids=lambda damage: repr(damage[:8]),
)  # fmt: skip
async def test_a_head_that_cannot_be_read_is_kept_until_the_doctor_sets_it_aside(
    local: LocalHeads, damage: bytes
) -> None:
    """It can be made anew from the records, but that is a decision, not an accident."""
    await local.replace(after(None, a_checkpoint(Scribe())), expected=0)
    (local.folder / HEAD_FILE).write_bytes(damage)

    with pytest.raises(StoreDamagedError, match="doctor --repair"):
        await local.read()
    with pytest.raises(StoreDamagedError):
        await local.replace(Head(project="shop", revision=1), expected=0)
    assert [f.code for f in await local.findings(repair=False)] == ["head-damaged"]
    assert (local.folder / HEAD_FILE).read_bytes() == damage

    await local.findings(repair=True)
    assert await local.read() is None
    assert [p.read_bytes() for p in local.folder.glob(f"{HEAD_FILE}.damaged*")] == [damage]


async def test_a_newer_head_says_update_and_is_never_set_aside(local: LocalHeads) -> None:
    """An old program must not judge a new format, nor repair it away."""
    await local.replace(after(None, a_checkpoint(Scribe())), expected=0)
    path = local.folder / HEAD_FILE
    newer = json.dumps({**json.loads(path.read_bytes()), "schema_version": 2}).encode()
    path.write_bytes(newer)

    with pytest.raises(NewerSchemaError, match="Update memory-mcp"):
        await local.read()
    await local.findings(repair=True)

    assert path.read_bytes() == newer
