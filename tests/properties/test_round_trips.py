"""What is written to a file comes back as it was, whatever it says."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fakes import START, Scribe
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import to_json

from memory_mcp.disk import Disk
from memory_mcp.domain.fields import find_branch_fault
from memory_mcp.domain.ids import (
    MAIN,
    ROOT,
    BranchName,
    SegmentId,
    derive_id,
    make_checkpoint_id,
    make_line_id,
)
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.record import Move, Origin, Record
from memory_mcp.domain.timeline import Head
from memory_mcp.storage.files.heads import LocalHeads
from memory_mcp.storage.files.records import LocalRecords, RecordFolder
from memory_mcp.storage.stored import dump_record, load_record
from memory_mcp.timeline.moves import fold_moves

pytestmark = pytest.mark.anyio

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(normalise)
"""Any Unicode as it is stored: what no reader sees is taken out before."""

NAME = TEXT.filter(bool)
BRANCH = st.text(min_size=1, max_size=60).filter(lambda name: not find_branch_fault(name))
META = st.dictionaries(TEXT, st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False,
    allow_infinity=False) | TEXT, lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8), max_size=3)  # fmt: skip
"""Labels, null and empty ones included."""
CHECKPOINTS = st.builds(make_checkpoint_id, st.none() | st.integers(0, 9_999), st.just(START))
LINES = st.just(make_line_id(START))
WRITTEN = st.datetimes(datetime(1, 1, 2), datetime(2099, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
IDS = st.builds(derive_id, WRITTEN, TEXT)
PLACES = st.just(ROOT) | IDS.map(SegmentId)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def steps(draw: st.DrawFn, scribe: Scribe) -> Move:
    return Move(
        act="backtrack",
        branch=BranchName(draw(BRANCH)),
        opens={BranchName(draw(BRANCH)): SegmentId(scribe.ids.new(START))},
        leaves=(draw(PLACES),),
        line=draw(st.none() | LINES),
        phase=draw(st.none() | st.integers(0, 9_999)),
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    scribe = Scribe()
    moves = draw(st.booleans())
    step = draw(steps(scribe)) if moves else None
    return scribe.record(
        draw(NAME),
        kind="move" if moves else draw(st.sampled_from(["fact", "episode", "tombstone"])),
        title=draw(TEXT),
        category=draw(TEXT),
        key=draw(TEXT),
        tags=draw(st.lists(TEXT, max_size=3)),
        importance=draw(st.integers(1, 5)),
        pinned=draw(st.booleans()),
        phase=draw(st.none() | st.integers(0, 9_999)),
        segment=draw(st.none() | PLACES),
        branch=draw(st.none() | BRANCH),
        supersedes=draw(st.lists(IDS, max_size=2)),
        derived_from=draw(st.lists(IDS, max_size=2)),
        erases=draw(st.lists(IDS, max_size=2)) if moves else (),
        meta=draw(META),
        expires_at=draw(st.none() | TIMES),
        created_at=START if moves else draw(WRITTEN),
        move=step,
        origin=Origin(client=draw(TEXT), session=draw(TEXT)),
    )


@example(record=Scribe().record("\n\t\u200d\ufe0f\U0010ffff \\u0041 \\ud800 null {}"))
@example(record=Scribe().record(" ", title="\n"))
@given(record=records())
async def test_a_record_comes_back_from_its_file_as_it_was(tmp_path: Path, record: Record) -> None:
    """Byte for byte: the promise of every restore."""
    store = LocalRecords(RecordFolder(tmp_path), Disk())
    await store.put(record)

    assert await store.get(record.id) == record
    assert record.list_json() == record.model_dump(mode="json")
    assert dump_record(record) == to_json(record.as_json(), indent=1) + b"\n"
    await store.put(record)
    await store.erase({record.id})


@given(record=records())
async def test_what_this_program_formatted_is_parsed_the_quick_way_as_any_other(
    record: Record,
) -> None:
    """There are two ways to read a record, and one truth."""
    data = dump_record(record)
    quick = load_record(data, "a record", record.id, formatted=True)

    assert quick == load_record(data, "a record", record.id) == record
    assert dump_record(quick) == data


@st.composite
def moves(draw: st.DrawFn) -> list[Record]:
    """Moves with any names and texts, made one after the other."""
    scribe = Scribe()
    found: list[Record] = []
    opened = [ROOT]
    for _ in range(draw(st.integers(0, 5))):
        new = SegmentId(scribe.ids.new(START))
        given: dict[str, Any] = {
            "branch": draw(st.just(MAIN) | BRANCH.map(BranchName)),
            "opens": {draw(st.just(MAIN) | BRANCH.map(BranchName)): new},
            "parents": (draw(st.sampled_from(opened)),),
            "leaves": (draw(st.sampled_from(opened)),),
            "forgets": tuple(draw(st.lists(st.sampled_from(opened), max_size=1))),
            "checkpoint": draw(st.none() | CHECKPOINTS),
            "approval": draw(st.sampled_from([None, "approved", "auto", "pending", "skipped"])),
            "carries": tuple(draw(st.lists(IDS, max_size=2))),
            "line": draw(st.none() | LINES),
            "phase": draw(st.none() | st.integers(0, 9_999)),
        }
        act: Any = draw(st.sampled_from(["checkpoint", "decide", "fork", "backtrack", "restore"]))
        opened.append(new)
        kind = "checkpoint" if act in ("checkpoint", "decide") else "move"
        found.append(scribe.record(draw(NAME), kind=kind, move=Move(act=act, **given)))
    return found


@given(made=moves(), project=NAME)
async def test_a_head_comes_back_from_its_file_as_it_was(
    tmp_path: Path, made: list[Record], project: str
) -> None:
    """The file has the shape that people and programs look for; nothing may get lost in it."""
    timeline = fold_moves(made)
    gone = timeline.left | timeline.forgotten
    standing = {s.branch for s in timeline.segments.values() if s.id not in gone}
    standing |= {MAIN} - ({MAIN} if ROOT in gone else set())
    assume(standing.issuperset(timeline.branches))  # else it is no head
    heads = LocalHeads(tmp_path, Disk())
    present = await heads.read()
    expected = present.revision if present else 0
    last = made[-1] if made else None
    head = Head(
        project=project,
        revision=expected + 1,
        timeline=timeline,
        last=last,
        with_last=tuple(made[:2]),
    )

    await heads.replace(head, expected=expected)

    again = await LocalHeads(tmp_path, Disk()).read()
    assert again is not None
    assert again.model_dump() == head.model_dump()


def test_a_record_that_says_nothing_cannot_be_made() -> None:
    """What is empty is left out of the file, so it could not be read again."""
    with pytest.raises(ValidationError):
        Scribe().record("")
