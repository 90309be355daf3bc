"""Four processes on one project, killed in the middle of whatever they are doing."""

import random
from pathlib import Path

import pytest
from crew import Crew, crew_on
from depth import depth
from project import (
    all_records,
    doctor_is_content,
    head_agrees_with_records,
    head_of,
    make_project,
    opened,
    record_files,
    told,
)

from memory_mcp import search, sessions
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.search import Filters
from memory_mcp.engine.index_sync import CatchUpCounts

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("worker.py")
PROCESSES = depth(2, 4)


async def _kill_in_rounds(root: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    make_project(root)
    with crew_on(WORKER, str(root)) as crew:
        for _ in range(rounds):
            crew.start(PROCESSES)
            crew.hear(chance.randint(60, 120))
            crew.kill(PROCESSES // 2)
            crew.start(PROCESSES // 2)
            crew.hear(chance.randint(40, 80))
            crew.kill(PROCESSES)
            await _everything_is_safe(crew, root)
    assert len(crew.named("memory")) > 60 * rounds
    assert len(crew.named("sealed")) > rounds
    assert len(crew.named("line")) > rounds


async def _everything_is_safe(crew: Crew, root: Path) -> None:
    present = {path.stem for path in record_files(root)}
    assert present.issuperset(crew.named("memory"))
    async with opened(root) as built:
        await sessions.catch_up(built.workspace)
    async with opened(root) as built:
        assert await sessions.catch_up(built.workspace) == CatchUpCounts(), "nothing is left to do"
        await _the_head_is_valid(built)
        await _what_holds_is_found(crew, built)
        report = await head_of(built.workspace)
        every = {c.checkpoint.id for c in report.checkpoints} | {c.id for c in report.invalidated}
        head = await built.workspace.heads.read()
        assert head is not None
        assert head.timeline.checkpoints.keys() >= every | set(crew.named("sealed"))
        assert head.timeline.lines.keys() >= set(crew.named("line"))
        await doctor_is_content(built.workspace)


async def _the_head_is_valid(built: BuiltWorkspace) -> None:
    head = await built.workspace.heads.read()
    assert head is not None
    assert head.revision == len(head.timeline.moves) + 1, "each move, and the beginning"
    assert {r.id for r in await all_records(built) if r.move} == head.timeline.moves
    lines = told(built)
    assert len(lines) == len(set(lines))
    assert head.timeline.moves.issuperset(lines)
    await head_agrees_with_records(built)


async def _what_holds_is_found(crew: Crew, built: BuiltWorkspace) -> None:
    """Each acknowledged memory is found by its own words if, and only if, it is on the line."""
    head = await built.workspace.heads.read()
    assert head is not None
    chain = head.timeline.chain(built.workspace.caller.branch)
    for memory in crew.named("memory"):
        record = await built.workspace.project.records.get(RecordId(memory))
        assert record is not None
        found = await search.search_memories(built.workspace, record.content, Filters(), 10)
        assert isinstance(found, SearchResults)
        assert (memory in [h.record.id for h in found.hits]) == (record.segment in chain)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(depth(1, 4)))
async def test_nothing_acknowledged_is_lost_when_processes_are_killed_in_the_middle(
    seed: int, tmp_path: Path
) -> None:
    """DESIGN 3.4: any number of processes, ended at any moment, some of them started again.

    With many rounds the chain is long, and moves of many generations lie upon one another.
    """
    await _kill_in_rounds(tmp_path, rounds=depth(1, 15), seed=seed)
