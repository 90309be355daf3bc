"""A head with a long timeline: the earlier part of it lies in a file beside the head's own."""

import gc
import itertools
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import Scribe
from postgres import new_bank
from power import FailingDisk, PowerCut

from memory_mcp.disk import Disk
from memory_mcp.domain.ids import MAIN, ROOT, CheckpointId, LineId, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Checkpoint, Head, Timeline
from memory_mcp.errors import StoreDamagedError
from memory_mcp.ports import HeadStore
from memory_mcp.storage.files.heads import HEAD_FILE, LocalHeads
from memory_mcp.storage.postgres.heads import PostgresHeads
from memory_mcp.timeline.moves import apply_move

pytestmark = pytest.mark.anyio

_SMALL_BYTES = 120_000


@pytest.fixture(params=["local", "postgres"])
async def heads(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[HeadStore]:
    if request.param == "local":
        yield LocalHeads(tmp_path, Disk())
        return
    bank = new_bank(request.getfixturevalue("postgres_url"))
    yield PostgresHeads(bank)
    await bank.database.aclose()


def seal(scribe: Scribe, head: Head, summary: str = "Sealed") -> Head:
    """The head one checkpoint later."""
    opened = SegmentId(scribe.ids.new(scribe.clock.now()))
    tips = head.timeline.tips(MAIN)
    number = len(head.timeline.moves)
    step = Move(
        act="checkpoint",
        branch=MAIN,
        opens={MAIN: opened},
        parents=tips,
        leaves=tips,
        checkpoint=CheckpointId(f"phase1-20260131-{number:06}"),
        phase=1,
        approval="approved",
    )
    return move(head, scribe.record(summary, kind="checkpoint", segment=tips[-1], move=step))


def forget_all(scribe: Scribe, head: Head) -> Head:
    """The head after a backtrack to the start that erases everything."""
    gone = tuple(sorted(head.timeline.chain(MAIN) - {ROOT}))
    step = Move(
        act="backtrack",
        branch=MAIN,
        opens={MAIN: SegmentId(scribe.ids.new(scribe.clock.now()))},
        leaves=gone,
        gives_up=gone,
        forgets=(ROOT, *gone),
    )
    return move(head, scribe.record("start over", kind="move", move=step))


def move(head: Head, record: Record) -> Head:
    timeline = apply_move(head.timeline, record)
    return Head(project="shop", revision=head.revision + 1, timeline=timeline, last=record)


def grow(scribe: Scribe, head: Head, moves: int) -> Head:
    for _ in range(moves):
        head = seal(scribe, head)
    return head.model_copy(update={"revision": 1})


def said(head: Head | None) -> dict[str, Any] | None:
    return head.model_dump() if head else None


def parts(folder: Path, pattern: str = "memory-head-*.jsonl") -> list[Path]:
    return sorted(folder.glob(pattern))


def holds(folder: Path, text: bytes) -> bool:
    """Whether any file of the folder has the text."""
    return any(text in path.read_bytes() for path in folder.iterdir())


async def test_whoever_moves_it_everyone_reads_the_same(heads: HeadStore, tmp_path: Path) -> None:
    """Two processes move a long head in turn; a third has never seen it before."""
    scribe = Scribe()
    other = LocalHeads(tmp_path, Disk()) if isinstance(heads, LocalHeads) else heads
    head = grow(scribe, Head(project="shop"), 300)
    await heads.replace(head, expected=0)
    for number in range(120):
        head = seal(scribe, head)
        await (heads, other)[number % 2].replace(head, expected=head.revision - 1)
        assert await heads.read() == await other.read() == head
    third = LocalHeads(tmp_path, Disk()) if isinstance(heads, LocalHeads) else heads
    assert said(await third.read()) == said(head)


async def test_a_head_stays_small_and_its_earlier_part_only_grows(tmp_path: Path) -> None:
    """A move writes what it changes, however long the timeline is."""
    scribe, heads = Scribe(), LocalHeads(tmp_path, Disk())
    head = grow(scribe, Head(project="shop"), 1_000)
    await heads.replace(head, expected=0)
    (part,) = parts(tmp_path)
    before = part.read_bytes()
    assert len(before) > 2 * _SMALL_BYTES
    for _ in range(100):
        head = seal(scribe, head)
        await heads.replace(head, expected=head.revision - 1)
        assert (tmp_path / HEAD_FILE).stat().st_size < _SMALL_BYTES

    assert parts(tmp_path) == [part]
    assert part.read_bytes().startswith(before)
    assert part.stat().st_size > len(before)


def test_a_move_of_a_long_timeline_goes_through_none_of_it() -> None:
    """Every checkpoint, backtrack and fork of a project of years would pay for all before it."""
    scribe = Scribe()

    def count_lines(head: Head) -> int:
        """The lines of Python that a move and its head take."""
        count = 0

        def trace(_frame: object, event: str, _arg: object) -> Any:
            nonlocal count
            count += event == "line"
            return trace

        part = head.timeline
        part.chain(MAIN)  # as whoever plans a move asks
        part.find_beyond(part)
        sys.settrace(trace)
        try:
            seal(scribe, head).timeline.find_beyond(part)
        finally:
            sys.settrace(None)
        return count

    short = grow(scribe, Head(project="shop"), 40)
    long = grow(scribe, short, 400)
    assert count_lines(long) < 1.5 * count_lines(short)


async def test_what_is_forgotten_is_in_no_file_of_the_head(tmp_path: Path) -> None:
    """A checkpoint's summary is text; with the checkpoint it goes everywhere."""
    scribe, heads = Scribe(), LocalHeads(tmp_path, Disk())
    head = grow(scribe, seal(scribe, Head(project="shop"), "The safe is behind the fox"), 300)
    await heads.replace(head, expected=0)
    assert holds(tmp_path, b"behind the fox")

    forgot = forget_all(scribe, head)
    await heads.replace(forgot, expected=1)

    assert not holds(tmp_path, b"behind the fox")
    assert said(await LocalHeads(tmp_path, Disk()).read()) == said(forgot)


@pytest.mark.parametrize("step", [forget_all, seal])
async def test_a_power_cut_at_any_step_leaves_the_old_head_or_the_new_one(
    tmp_path: Path, step: Callable[[Scribe, Head], Head]
) -> None:
    """Both by themselves, and for the next write: what a cut left behind the earlier part is none.

    With a forget, what a cut left of the old part is gone after the next write.
    """
    scribe = Scribe()
    old = grow(scribe, seal(scribe, Head(project="shop"), "behind the fox"), 300)
    new = step(scribe, grow(scribe, old, 100))
    for cut_at in itertools.count():
        folder = tmp_path / str(cut_at)
        await LocalHeads(folder, Disk()).replace(old, expected=0)
        done = False
        try:
            await LocalHeads(folder, FailingDisk(cut_at)).replace(new, expected=1)
            done = True
        except PowerCut:
            pass
        read = await LocalHeads(folder, Disk()).read()
        assert said(read) in ([said(new)] if done else [said(old), said(new)])
        assert read is not None

        last = seal(scribe, read)
        await LocalHeads(folder, Disk()).replace(last, expected=read.revision)
        assert said(await LocalHeads(folder, Disk()).read()) == said(last)
        assert len(parts(folder)) <= 1
        if read.timeline.forgotten:
            assert not holds(folder, b"behind the fox")
        if done:
            assert cut_at > 8, "the loop never cut anything worth cutting"
            return


@pytest.mark.parametrize("damage", ["gone", "changed", "shorter"])
async def test_a_damaged_earlier_part_is_named_and_set_aside_with_the_head(
    tmp_path: Path, damage: str
) -> None:
    """No head is believed that goes on from something else."""
    heads = LocalHeads(tmp_path, Disk())
    await heads.replace(grow(Scribe(), Head(project="shop"), 300), expected=0)
    (part,) = parts(tmp_path)
    data = part.read_bytes()
    match damage:
        case "gone":
            part.unlink()
        case "changed":
            part.write_bytes(data.replace(b"Sealed", b"Leaked", 1))
        case _:
            part.write_bytes(data[:-1])

    with pytest.raises(StoreDamagedError, match="doctor --repair"):
        await LocalHeads(tmp_path, Disk()).read()
    assert [f.code for f in await LocalHeads(tmp_path, Disk()).findings(repair=True)] == [
        "head-damaged"
    ]

    assert await LocalHeads(tmp_path, Disk()).read() is None
    assert parts(tmp_path) == []
    aside = parts(tmp_path, "memory-head*.damaged-*")
    assert len(aside) == (1 if damage == "gone" else 2)


async def test_a_part_that_no_head_may_name_is_not_opened(tmp_path: Path) -> None:
    """The name stands in a file that a stranger may have made."""
    heads = LocalHeads(tmp_path / "state", Disk())
    await heads.replace(grow(Scribe(), Head(project="shop"), 300), expected=0)
    (part,) = parts(tmp_path / "state")
    part.rename(tmp_path / "memory-head-00000000.jsonl")
    path = tmp_path / "state" / HEAD_FILE
    path.write_bytes(
        path.read_bytes().replace(part.name.encode(), b"../memory-head-00000000.jsonl")
    )

    with pytest.raises(StoreDamagedError, match="has a form that no name"):
        await LocalHeads(tmp_path / "state", Disk()).read()


async def test_a_process_keeps_no_timeline_that_is_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server moves the head for weeks, and a timeline of 2,000 segments takes a megabyte."""
    monkeypatch.setattr("memory_mcp.storage.files.heads.HEAD_ENTRIES_MAX", 20)
    heads, scribe = LocalHeads(tmp_path, Disk()), Scribe()

    async def move_on() -> None:
        head = await heads.read() or Head(project="shop")
        await heads.replace(seal(scribe, head), expected=head.revision)

    async def count_after(moves: int) -> int:
        for _ in range(moves):
            await move_on()
        gc.collect()
        return sum(isinstance(each, Timeline) for each in gc.get_objects())

    before = await count_after(30)
    assert await count_after(60) <= before + 10


def test_of_a_long_line_no_checkpoint_that_holds_is_asked_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each backtrack looks for those that hold, among thousands; those it left are asked."""
    scribe, asked = Scribe(), list[str]()
    head = grow(scribe, Head(project="shop"), 30)
    tips, back = head.timeline.tips(MAIN), head.timeline.valid(MAIN)[9]
    gone = head.timeline.chain(MAIN) - head.timeline.ancestors(back.seals)
    opened = SegmentId(scribe.ids.new(scribe.clock.now()))
    step = Move(
        act="backtrack", branch=MAIN, opens={MAIN: opened}, parents=back.seals, leaves=tips,
        gives_up=tuple(sorted(gone)), line=LineId("line-20260131-143022"),
    )  # fmt: skip
    timeline = move(head, scribe.record("back", kind="move", move=step)).timeline
    lies_on = Timeline._lies_on  # pyright: ignore[reportPrivateUsage]

    def ask(self: Timeline, chain: frozenset[SegmentId], checkpoint: Checkpoint) -> bool:
        asked.append(checkpoint.id)
        return lies_on(self, chain, checkpoint)

    monkeypatch.setattr(Timeline, "_lies_on", ask)

    assert len(timeline.valid(MAIN)) == 10
    assert len(asked) == 20
    assert [c.id for c in timeline.invalidated(MAIN)] == asked[:20]
    assert len(asked) == 40
    assert timeline.invalidated(MAIN)
    assert len(asked) == 40, "of the same timeline it is known"
    (line,) = timeline.left_lines()
    assert timeline.find_restore_effect(MAIN, line) is timeline.find_restore_effect(MAIN, line)
    for tip in sorted(gone):
        timeline.find_restore_effect(MAIN, line.model_copy(update={"tips": (tip,)}))
    known = timeline._cache.effects  # pyright: ignore[reportPrivateUsage]
    assert len(gone) > len(known) == 10
