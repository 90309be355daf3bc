"""Records are committed with code: whatever files a clone has, they place themselves.

Memories and moves are made in any order; git may have committed each of them on another branch. So
a clone has any of their files, and not the others.
"""

import asyncio
from dataclasses import dataclass, field
from random import Random

import pytest
from depth import depth
from fakes import FakeClock, FakeIds, fake_workspace, forked, switched
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp import branches, sessions
from memory_mcp.domain.ids import ROOT, BranchName, RecordId, SegmentId
from memory_mcp.domain.limits import LINKS_MAX
from memory_mcp.domain.outcomes import HeadReport
from memory_mcp.domain.record import Draft, Record
from memory_mcp.engine.head import load_head
from memory_mcp.engine.workspace import Workspace
from memory_mcp.memories import add_memory
from memory_mcp.timeline.moves import fold_moves

ACTS = ["add", "add", "add", "seal", "seal", "back", "back", "restore", "erase-road", "fork",
        "switch"]  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 30)), min_size=3, max_size=16)

MANY_ROADS = LINKS_MAX + 8
"""More than a memory may name others: the two limits were one once."""

Held = dict[BranchName, frozenset[SegmentId]]


@dataclass
class Project:
    """A project, every record it ever wrote, and what each branch held after each of them."""

    workspace: Workspace = field(default_factory=lambda: fake_workspace(FakeClock(), FakeIds()))
    written: dict[RecordId, tuple[Record, Held]] = field(
        default_factory=dict[RecordId, tuple[Record, Held]]
    )

    async def step(self, what: str, number: int) -> None:
        report = await branches.report_head(self.workspace)
        assert isinstance(report, HeadReport)
        points = [*(s.checkpoint.id for s in report.checkpoints), "start"]
        lines = [state.line.id for state in report.lines]
        match what:
            case "add":
                words = f"Word {len(self.written)} is w{len(self.written)}."
                await add_memory(self.workspace, Draft(words))
            case "seal":
                await branches.checkpoint(
                    self.workspace, f"Sealed {number}.", None, again=True, approval="approved"
                )
            case "back" | "erase-road":
                then = "continue" if what == "back" else "forget"
                await branches.backtrack(self.workspace, points[number % len(points)], then)
            case "restore" if lines:
                await branches.backtrack(self.workspace, lines[number % len(lines)], "continue")
            case "fork" if len(report.branches) < 3:
                self.workspace = await forked(self.workspace, f"side-{len(report.branches)}", "")
            case "switch":
                self.workspace = await switched(
                    self.workspace, report.branches[number % len(report.branches)]
                )
            case _:
                return
        await self.note()

    async def note(self) -> None:
        timeline = (await load_head(self.workspace)).timeline
        held = {branch: timeline.chain(branch) for branch in timeline.branches}
        store = self.workspace.project.records
        fresh = await store.ids() - self.written.keys()
        async for record in store.scan(fresh):
            self.written[record.id] = (record, held)


async def clone_of(files: list[Record]) -> Workspace:
    workspace = fake_workspace(FakeClock(), FakeIds(9))
    for record in files:
        await workspace.project.records.put(record)
    await sessions.reindex(workspace)
    return workspace


@settings(max_examples=depth(15, 300))
@given(STEPS, st.randoms(use_true_random=False), st.sampled_from([0.2, 0.5, 0.8]))
def test_what_held_holds_in_a_clone_and_what_was_abandoned_does_not(
    steps: list[tuple[str, int]], random: Random, share: float
) -> None:
    """As the branch stood when the newest of the files was written, however few there are."""

    async def story() -> None:
        project = Project()
        for what, number in steps:
            await project.step(what, number)
        files = [r for r, _ in project.written.values() if random.random() < share]
        timeline = (await load_head(await clone_of(files))).timeline
        folded = fold_moves(files)
        for branch in folded.branches:
            assert folded.drop_spare_bases().chain(branch) == folded.chain(branch)
        placed = [record for record in files if record.branch is not None]
        for branch in {record.branch for record in placed}:
            assert branch is not None
            newest = max((r for r in placed if r.branch == branch), key=lambda r: r.id)
            held = project.written[newest.id][1][branch]
            here = timeline.chain(branch) if branch in timeline.branches else frozenset[SegmentId]()
            for record in placed:
                if record.segment is not None and record.id <= newest.id:
                    assert (record.segment in held) == (record.segment in here), (
                        record.id, record.segment, sorted(here), sorted(held), newest.move
                    )  # fmt: skip

    asyncio.run(story())


@pytest.mark.anyio
async def test_a_branch_that_was_forked_after_a_backtrack_brings_nothing_of_before_it() -> None:
    """The clone has the fork and the abandoned memory, and not the move that went back."""
    project = Project()
    for what in ("add", "back", "fork"):
        await project.step(what, 0)
    every = [record for record, _ in project.written.values()]
    files = [r for r in every if r.move is None or r.move.act == "fork"]

    timeline = (await load_head(await clone_of(files))).timeline

    assert len(files) == 2
    assert ROOT not in timeline.chain(BranchName("side-1"))


@pytest.mark.anyio
async def test_a_branch_that_lacks_its_own_beginning_brings_nothing_of_another() -> None:
    """The clone has what was abandoned, and a memory of a branch whose fork and first segment it
    lacks: what is unknown was begun on the branch of what stands on it."""
    project = Project()
    for what in ("add", "back", "fork", "seal", "add"):
        await project.step(what, 0)
    files = [record for record, _ in project.written.values() if record.move is None]

    timeline = (await load_head(await clone_of(files))).timeline

    assert [record.branch for record in files] == ["main", "side-1"]
    assert ROOT not in timeline.chain(BranchName("side-1"))


@pytest.mark.anyio
async def test_a_branch_that_gave_up_many_roads_still_remembers_and_a_clone_shows_none() -> None:
    """A record names what was given up, however often the user went back."""
    project = Project()
    for _ in range(MANY_ROADS):
        await project.step("add", 0)
        await project.step("back", 0)
    await project.step("add", 0)
    memories = [record for record, _ in project.written.values() if record.move is None]

    timeline = (await load_head(await clone_of(memories))).timeline

    assert len(memories) == MANY_ROADS + 1
    held = timeline.chain(BranchName("main"))
    assert [r.id for r in memories if r.segment in held] == [max(r.id for r in memories)]
