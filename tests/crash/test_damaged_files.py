"""Records, head and history that were cut short, overwritten or written by a later version."""

from collections.abc import Callable
from pathlib import Path

import pytest
from operations import begin, go_back, seal
from project import (
    add,
    doctor_is_content,
    found,
    head_agrees_with_records,
    head_of,
    opened,
    record_files,
    see,
    told,
)

from memory_mcp import branches, maintenance, search, sessions
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.search import Filters
from memory_mcp.errors import NewerSchemaError, StoreDamagedError, StoreError
from memory_mcp.storage.files.heads import HEAD_FILE, HISTORY_FILE

pytestmark = pytest.mark.anyio

Damage = Callable[[bytes], bytes]

DAMAGES: dict[str, tuple[Damage, type[StoreError], str]] = {
    "cut short": (lambda data: data[: len(data) // 2], StoreDamagedError, "damaged"),
    "empty": (lambda _: b"", StoreDamagedError, "damaged"),
    "no text": (lambda _: bytes(range(256)), StoreDamagedError, "damaged"),
    "another shape": (lambda _: b'["not", "ours"]', StoreDamagedError, "damaged"),
    "nested without end": (lambda _: b"[" * 200_000, StoreDamagedError, "damaged"),
    "of a later version": (
        lambda data: data.replace(b'"schema_version": 1', b'"schema_version": 99', 1),
        NewerSchemaError,
        "Update memory-mcp",
    ),
}

damaged_in_every_way = pytest.mark.parametrize(
    ("damage", "error", "advice"),
    DAMAGES.values(),
    ids=DAMAGES,
)


def _head(root: Path) -> Path:
    return root / "shop" / ".state" / HEAD_FILE


@pytest.mark.sampled(5)
@damaged_in_every_way
async def test_a_damaged_record_is_named_and_kept_and_hides_no_other(
    damage: Damage, error: type[StoreError], advice: str, tmp_path: Path
) -> None:
    """Issue 2, 10: one sentence, nothing lost, and everything else still answers."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        before = await see(built.workspace)
        victim = await add(built.workspace, "vouchers expire")
    path = next(path for path in record_files(tmp_path) if path.stem == victim)
    path.write_bytes(damage(path.read_bytes()))
    wreck = path.read_bytes()

    async with opened(tmp_path) as built:
        workspace = built.workspace
        with pytest.raises(error, match=advice) as caught:
            await workspace.project.records.get(RecordId(victim))
        assert str(path) in str(caught.value)
        outcome = await search.search_memories(workspace, "vouchers expire", Filters(), 10)
        assert isinstance(outcome, SearchResults)
        assert outcome.unreadable == {victim}
        await sessions.reindex(workspace)
        assert await see(workspace) == before
        await add(workspace, "baskets have a limit")
        await seal(workspace, "limits work", phase=3)
        report = await head_of(workspace)
        assert report.checkpoints[-1].checkpoint.phase == 3
    assert path.read_bytes() == wreck


async def test_a_record_under_the_name_of_another_is_not_believed(tmp_path: Path) -> None:
    """A file is named by its id; a copy under another name would be two memories of one id."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        before = await see(built.workspace)
        victim = await add(built.workspace, "vouchers expire")
    paths = record_files(tmp_path)
    path = next(path for path in paths if path.stem == victim)
    path.write_bytes(paths[0].read_bytes())

    async with opened(tmp_path) as built:
        with pytest.raises(StoreDamagedError, match="named by its id") as caught:
            await built.workspace.project.records.get(RecordId(victim))
        assert str(path) in str(caught.value)
        assert paths[0].stem in str(caught.value)
        await sessions.reindex(built.workspace)
        assert await see(built.workspace) == before
    assert path.read_bytes() == paths[0].read_bytes()


@pytest.mark.sampled(5)
@damaged_in_every_way
async def test_a_damaged_head_says_so_and_is_rebuilt_once_it_is_set_aside(
    damage: Damage, error: type[StoreError], advice: str, tmp_path: Path
) -> None:
    """DESIGN 3.3: it can be rebuilt from the records; until then nothing is written over it."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        await go_back(built.workspace, "phase 1")
        before = await see(built.workspace)
    path = _head(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    wreck, records = path.read_bytes(), record_files(tmp_path)

    async with opened(tmp_path) as built:
        for call in (
            lambda: found(built.workspace),
            lambda: add(built.workspace, "too early"),
            lambda: seal(built.workspace, "too early"),
            lambda: go_back(built.workspace, "phase 1"),
        ):
            with pytest.raises(error, match=advice) as caught:
                await call()
            assert str(path) in str(caught.value)
    assert path.read_bytes() == wreck
    assert record_files(tmp_path) == records

    async with opened(tmp_path) as built:
        if error is NewerSchemaError:  # nothing of ours is broken, so the doctor keeps away from it
            assert [f.code for f in await maintenance.run_doctor(built.workspace, repair=True)] == [
                "head-newer"
            ]
            assert path.read_bytes() == wreck
            return
        await doctor_is_content(built.workspace)
        assert await see(built.workspace) == before
        await head_agrees_with_records(built)
    assert wreck in [path.read_bytes() for path in path.parent.glob(f"{HEAD_FILE}.damaged*")]


async def test_a_lost_head_is_rebuilt_without_being_asked(tmp_path: Path) -> None:
    """As in a fresh clone, where `.state` is not there either."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        await go_back(built.workspace, "phase 1")
        before = await see(built.workspace)
    _head(tmp_path).unlink()

    async with opened(tmp_path) as built:
        assert await see(built.workspace) == before
        await head_agrees_with_records(built)


async def test_a_head_that_is_rebuilt_is_the_one_that_was_lost(tmp_path: Path) -> None:
    """What records say of where a branch was forked is not kept beside what their moves say."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        await branches.fork_branch(built.workspace, "idea", "")
        idea = built.workspace.at(BranchName("idea"))
        await seal(idea, "the idea works", phase=7)
        await seal(idea, "the idea is tested", phase=8)
        before = await built.workspace.heads.read()
    _head(tmp_path).unlink()

    async with opened(tmp_path) as built:
        await see(built.workspace)
        after = await built.workspace.heads.read()
    assert before is not None
    assert after is not None
    assert after.timeline == before.timeline
    assert not after.timeline.bases


async def test_a_torn_last_line_of_the_history_costs_no_other_line(tmp_path: Path) -> None:
    """The power went while a line was being appended."""
    await begin(tmp_path)
    history = tmp_path / "shop" / ".state" / HISTORY_FILE
    whole = history.read_bytes()
    history.write_bytes(whole + whole[: len(whole) // 3].rstrip(b"\n"))

    async with opened(tmp_path) as built:
        before = told(built)
        assert len(before) == 2
        await seal(built.workspace, "vouchers work", phase=3)
        assert told(built)[:2] == before
        assert len(told(built)) == 3
        await doctor_is_content(built.workspace)
    assert history.read_bytes().startswith(whole)


async def test_litter_and_foreign_files_are_not_memories(tmp_path: Path) -> None:
    """What a cut left behind, and what somebody put there, is neither read nor removed."""
    await begin(tmp_path)
    async with opened(tmp_path) as built:
        before = await see(built.workspace)
    path = record_files(tmp_path)[0]
    strangers = {
        path.with_name(f".{path.name}.1a2b3c4d.tmp"): path.read_bytes()[:40],
        path.with_name("notes.json"): b"{}",
        path.with_name("README.md"): b"# Mine",
        path.parent.parent / "MEMORY.md": b"# Memory",
        _head(tmp_path).with_name(f".{HEAD_FILE}.1a2b3c4d.tmp"): b"{",
    }
    for stranger, data in strangers.items():
        stranger.write_bytes(data)

    async with opened(tmp_path) as built:
        await sessions.reindex(built.workspace)
        assert await see(built.workspace) == before
    assert {stranger: stranger.read_bytes() for stranger in strangers} == strangers
